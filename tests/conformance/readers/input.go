package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"bailiwick.dev/conformance/readers/wire"
)

// compareInput compares the objects that `import --from` makes of a folder with those of kubectl: the sets of their names. A folder at which
// one of both stops is not compared.
func (w *worker) compareInput(binary program, from, fence string, made *outcome) {
	if len(w.only) > 0 && !w.only["from"] {
		return
	}
	reading := wire.Guarded(func() ([]wire.Object, error) {
		return readKubectl(wire.Request{Root: filepath.Dir(from), Path: filepath.Base(from)})
	})
	ran := binary.run(fence, "import", "--from", from, "--into", filepath.Join(fence, "imported"), "--dry-run", "--format", "json", "--kubernetes-version", "1.37")
	if ran.problem != "" || ran.code > 2 {
		made.Failed = append(made.Failed, fmt.Sprintf("import ends with %d %s: %s", ran.code, ran.problem, firstLine(ran.stderr)))
		return
	}
	if ran.code == 2 || reading.Error != "" {
		return
	}
	var printed struct {
		Targets []struct {
			Homes   map[string]string `json:"homes"`
			Omitted []struct {
				Object string `json:"object"`
			} `json:"omitted"`
		} `json:"targets"`
	}
	if err := json.Unmarshal(ran.stdout, &printed); err != nil {
		made.Failed = append(made.Failed, "import prints no JSON: "+err.Error())
		return
	}
	program := map[string]bool{}
	for _, target := range printed.Targets {
		for object := range target.Homes {
			program[object] = true
		}
		for _, one := range target.Omitted {
			program[one.Object] = true
		}
	}
	kubectl := map[string]bool{}
	for _, one := range reading.Objects {
		// The program counts them in a note.
		if one.Group == "bailiwick.dev" || one.Group == "kustomize.config.k8s.io" && (one.Kind == "Kustomization" || one.Kind == "Component") {
			continue
		}
		kubectl[inputName(one)] = true
	}
	// The program knows which kinds have a namespace.
	for object := range program {
		if parts := strings.SplitN(object, "/", 3); len(parts) == 3 && parts[1] == "default" {
			delete(program, object)
			program[parts[0]+"/"+parts[2]] = true
		}
	}
	made.Inputs++
	var details []string
	for object := range kubectl {
		if !program[object] {
			details = append(details, "missing: "+shown(object))
		}
	}
	for object := range program {
		if !kubectl[object] {
			details = append(details, "too much: "+shown(object))
		}
	}
	if len(details) > 0 {
		sort.Strings(details)
		made.Differences = append(made.Differences, difference{Folder: filepath.Base(from), Reader: "from", Details: shortened(details, fence)})
	}
}

// inputName is the name of an object as `import` lists it, without the namespace `default`.
func inputName(one wire.Object) string {
	if one.Namespace == "" || one.Namespace == "default" {
		return one.Kind + "/" + one.Name
	}
	return one.Kind + "/" + one.Namespace + "/" + one.Name
}

// compareManifests compares the folders of manifests of a random workspace.
func (w *worker) compareManifests(binary program, root, fence string, made *outcome) {
	for _, name := range []string{"m", "m2"} {
		folder := filepath.Join(root, "policies", name)
		if information, err := os.Stat(folder); err == nil && information.IsDir() {
			w.compareInput(binary, folder, fence, made)
		}
	}
}
