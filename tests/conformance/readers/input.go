package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"bailiwick.dev/conformance/readers/wire"
)

// compareInput compares the objects that `import --from` makes of a folder with those of kubectl: the sets of their names, and then the
// contents that the imported workspace compiles. A folder at which one of both stops is not compared. The program counts hidden files in a
// note, and kubectl gets a copy without them.
func (w *worker) compareInput(binary program, from, fence string, made *outcome) {
	if len(w.only) > 0 && !w.only["from"] {
		return
	}
	visible := filepath.Join(fence, "visible")
	defer os.RemoveAll(visible)
	hidden, err := copyVisible(from, visible)
	if err != nil {
		cannot("%v", err)
	}
	reading := wire.Guarded(func() ([]wire.Object, error) {
		return readKubectl(wire.Request{Root: fence, Path: "visible"})
	})
	ran := binary.run(fence, "import", "--from", from, "--into", filepath.Join(fence, "imported"), "--dry-run", "--format", "json", "--kubernetes-version", "1.37")
	if ran.problem != "" || ran.code > 2 {
		made.Failed = append(made.Failed, fmt.Sprintf("import ends with %d %s: %s", ran.code, ran.problem, firstLine(ran.stderr)))
		return
	}
	if ran.code == 2 || reading.Error != "" {
		return
	}
	if hidden > 0 && !strings.Contains(string(ran.stderr), fmt.Sprintf("%d hidden path", hidden)) {
		made.Failed = append(made.Failed, fmt.Sprintf("import does not count %d hidden files", hidden))
	}
	var printed struct {
		Targets []struct {
			Homes   map[string]string `json:"homes"`
			Omitted []struct {
				Object string `json:"object"`
			} `json:"omitted"`
			Refused []struct {
				Object string `json:"object"`
				Reason string `json:"reason"`
			} `json:"refused"`
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
		// An item of a list; the program counts a document in a note.
		for _, one := range target.Refused {
			if strings.Contains(one.Reason, "kustomize.config.k8s.io/") {
				delete(program, one.Object)
			}
		}
	}
	kubectl := map[string]bool{}
	for _, one := range reading.Objects {
		// The program counts them in a note, or refuses them.
		if one.Group == "bailiwick.dev" || one.Group == "kustomize.config.k8s.io" && (one.Kind == "Kustomization" || one.Kind == "Component") {
			continue
		}
		// The builder accepts an object without an API version or name, and no server has a path for it.
		if one.Group == "" && one.Version == "" || one.Name == "" {
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
	if len(details) == 0 && !slices.ContainsFunc(reading.Objects, isNameless) {
		details = compareContents(binary, from, fence, contentsOf(reading), made)
	}
	if len(details) > 0 {
		sort.Strings(details)
		made.Differences = append(made.Differences, difference{Folder: filepath.Base(from), Reader: "from", Details: shortened(details, fence)})
	}
}

// compareContents compares what two imports compile: of a folder, and of the objects that kubectl makes of it.
func compareContents(binary program, from, fence string, objects []string, made *outcome) []string {
	read := filepath.Join(fence, "read")
	defer os.RemoveAll(read)
	if err := writeFiles(read, map[string]string{"objects.yaml": strings.Join(objects, "\n---\n") + "\n"}); err != nil {
		cannot("%v", err)
	}
	var views [2][]wire.Object
	for index, folder := range []string{from, read} {
		into := filepath.Join(fence, "imported")
		ran := binary.run(fence, "import", "--from", folder, "--into", into, "--kubernetes-version", "1.37")
		// 1 says that objects are left out.
		if ran.code <= 1 {
			ran = binary.run(into, "render", "--stdout", "--format", "json")
		}
		var err error
		if views[index], _, err = viewOf(ran.stdout); err == nil {
			err = os.RemoveAll(into)
		}
		if ran.code != 0 || err != nil {
			made.Failed = append(made.Failed, fmt.Sprintf("the imported workspace ends with %d %s (%v): %s", ran.code, ran.problem, err, firstLine(ran.stderr)))
			return nil
		}
	}
	return differ(wire.Reading{Objects: views[1]}, views[0])
}

// copyVisible copies the files of a folder that are not hidden, and counts the hidden manifests and folders.
func copyVisible(from, to string) (hidden int, err error) {
	if err := copyFolder(from, to); err != nil {
		return 0, err
	}
	err = filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == to || !strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		if name := strings.ToLower(entry.Name()); entry.IsDir() || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".json") {
			hidden++
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if entry.IsDir() {
			return filepath.SkipDir
		}
		return nil
	})
	return hidden, err
}

// clusterScoped are the kinds of random manifests that have no namespace. The server clears the namespace of such an object:
// `EnsureObjectNamespaceMatchesRequestNamespace` in `staging/src/k8s.io/apiserver/pkg/registry/rest/meta.go` (1.37).
var clusterScoped = map[string]bool{
	"/Namespace": true, "/Node": true, "rbac.authorization.k8s.io/ClusterRole": true, "rbac.authorization.k8s.io/ClusterRoleBinding": true,
	"scheduling.k8s.io/PriorityClass": true, "admissionregistration.k8s.io/ValidatingAdmissionPolicy": true,
	"admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": true, "apiextensions.k8s.io/CustomResourceDefinition": true,
}

// inputName is the name of an object as `import` lists it, without the namespace `default`.
func inputName(one wire.Object) string {
	if one.Namespace == "" || one.Namespace == "default" || clusterScoped[one.Group+"/"+one.Kind] {
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
