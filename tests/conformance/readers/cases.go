package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"bailiwick.dev/conformance/readers/wire"
)

// caseWorkspace is the workspace of a case of tests/cases without one.
const caseWorkspace = `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: case
spec:
  targets:
  - name: t
    version: "1.21"
`

// header begins each file of the program.
const header = "# Made by Bailiwick."

// scratch makes a folder some levels below another one, so that a path with a few steps up stays below.
func (h *harness) scratch(name string) (root, fence string) {
	fence, err := os.MkdirTemp(h.work, name+"-")
	if err != nil {
		cannot("%v", err)
	}
	root = filepath.Join(fence, "a", "b", "c", "d", "w")
	if err := os.MkdirAll(root, 0o755); err != nil {
		cannot("%v", err)
	}
	return root, fence
}

// done keeps or removes a workspace.
func (h *harness) done(root, fence string, made outcome) outcome {
	if *keepFolder != "" && len(made.Differences)+len(made.Failed) > 0 {
		name := strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(made.Label)
		if err := copyFolder(root, filepath.Join(*keepFolder, name)); err != nil {
			cannot("%v", err)
		}
	}
	os.RemoveAll(fence)
	return made
}

// ofNumber is the task of one random workspace.
func (h *harness) ofNumber(seed, number uint64) task {
	return func(w *worker) outcome {
		random := makeHostile(seed, number)
		random.tables()
		made := outcome{Label: fmt.Sprintf("seed %d, number %d", seed, number), Changed: random.changed}
		root, fence := h.scratch("random")
		if err := writeFiles(root, random.files()); err != nil {
			// A path that this file system does not take.
			made.Refused = "not written"
			return h.done(root, fence, made)
		}
		w.compareWorkspace(h.binary, root, fence, &made)
		w.compareManifests(h.binary, root, fence, &made)
		w.compareFunction(h.binary, itemsOf(seed, number), root, fence, &made)
		return h.done(root, fence, made)
	}
}

// ofCases has a task for each folder with a workspace.
func (h *harness) ofCases(folder string) []task {
	held, err := filepath.Glob(filepath.Join(escaped(folder), "*", "bailiwick.yaml"))
	if err != nil || len(held) == 0 {
		cannot("no workspace in the folders of %s", folder)
	}
	var tasks []task
	for _, path := range held {
		tasks = append(tasks, func(w *worker) outcome {
			made := outcome{Label: filepath.Base(filepath.Dir(path))}
			root, fence := h.scratch("case")
			if err := copyFolder(filepath.Dir(path), root); err != nil {
				cannot("%v", err)
			}
			w.compareWorkspace(h.binary, root, fence, &made)
			return h.done(root, fence, made)
		})
	}
	return tasks
}

// ofRoot has the task of the workspace itself, and one for each case of its tests with an output folder.
func (h *harness) ofRoot(root string) []task {
	found, err := settingsOf(root)
	if err != nil {
		cannot("%s: %v", root, err)
	}
	tasks := []task{func(w *worker) outcome {
		made := outcome{Label: "ROOT"}
		repository, fence := h.scratch("root")
		for _, name := range []string{found.Spec.Output, found.Spec.Delivery.Folder} {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				continue
			}
			if err := copyFolder(filepath.Join(root, name), filepath.Join(repository, name)); err != nil {
				cannot("%v", err)
			}
		}
		for _, name := range []string{".sourceignore", "bailiwick.yaml"} {
			if text, err := os.ReadFile(filepath.Join(root, name)); err == nil {
				if err := os.WriteFile(filepath.Join(repository, name), text, 0o644); err != nil {
					cannot("%v", err)
				}
			}
		}
		w.compareOutput(h.binary, root, repository, found, &made)
		return h.done(repository, fence, made)
	}}
	held, err := filepath.Glob(filepath.Join(escaped(root), "tests", "cases", "*", "*", "out"))
	if err != nil {
		cannot("%v", err)
	}
	for _, folder := range held {
		tasks = append(tasks, h.ofCase(filepath.Dir(folder)))
	}
	return tasks
}

// ofCase compares the output folder of a case, and renders it again where the case is no more than that.
func (h *harness) ofCase(folder string) task {
	return func(w *worker) outcome {
		name := filepath.Join(filepath.Base(filepath.Dir(folder)), filepath.Base(folder))
		made := outcome{Label: "tests/cases/" + name}
		root, fence := h.scratch("case")
		arguments, err := os.ReadFile(filepath.Join(folder, "args"))
		simple := err != nil || strings.TrimSpace(string(arguments)) == "render"
		for _, other := range []string{"setup", "before"} {
			if _, err := os.Stat(filepath.Join(folder, other)); err == nil {
				simple = false
			}
		}
		if !simple {
			if err := copyFolder(filepath.Join(folder, "out"), filepath.Join(root, "out")); err != nil {
				cannot("%v", err)
			}
			w.compareFiles(root, &made)
			return h.done(root, fence, made)
		}
		for _, part := range []string{"policies", "templates", "elsewhere"} {
			from := filepath.Join(folder, part)
			if _, err := os.Stat(from); err != nil {
				continue
			}
			if err := copyFolder(from, filepath.Join(root, part)); err != nil {
				cannot("%v", err)
			}
		}
		workspace, err := os.ReadFile(filepath.Join(folder, "bailiwick.yaml"))
		if err != nil {
			workspace = []byte(caseWorkspace)
		}
		if err := os.WriteFile(filepath.Join(root, "bailiwick.yaml"), workspace, 0o644); err != nil {
			cannot("%v", err)
		}
		w.compareWorkspace(h.binary, root, fence, &made)
		return h.done(root, fence, made)
	}
}

// compareFiles asks all readers for the folders below out/, by the files that have the header of the program.
func (w *worker) compareFiles(root string, made *outcome) {
	entries, err := os.ReadDir(filepath.Join(root, "out"))
	if err != nil {
		cannot("%v", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		folder := filepath.Join("out", entry.Name())
		paths, err := yamlFiles(filepath.Join(root, folder))
		if err != nil {
			cannot("%v", err)
		}
		var own []string
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil && bytes.HasPrefix(text, []byte(header)) {
				own = append(own, path)
			}
		}
		if len(own) == 0 {
			continue
		}
		expected, err := documents(own)
		if err != nil {
			made.Failed = append(made.Failed, err.Error())
			continue
		}
		w.ask(unit{root: root, path: folder, expected: expected, files: own}, made)
	}
}

// printReadings prints a line of JSON for each object that each reader makes of a folder.
func printReadings(w *worker, repository, folder string) int {
	defer w.stop()
	root, err := filepath.Abs(repository)
	if err != nil {
		cannot("%v", err)
	}
	request := wire.Request{Root: root, Path: folder}
	asked := map[string]func() wire.Reading{
		"kubectl": func() wire.Reading {
			return wire.Guarded(func() ([]wire.Object, error) { return readKubectl(request) })
		},
		"kustomize": func() wire.Reading {
			return wire.Guarded(func() ([]wire.Object, error) { return readKustomize(request) })
		},
		"argocd":         func() wire.Reading { return w.readArgoCD(request) },
		"argocd-folders": func() wire.Reading { return w.readArgoCDFolders(request) },
		"flux":           func() wire.Reading { return w.flux.read(request) },
	}
	status := 0
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for _, name := range readers {
		read, is := asked[name]
		if !is || len(w.only) > 0 && !w.only[name] {
			continue
		}
		reading := read()
		sort.Slice(reading.Objects, func(a, b int) bool { return reading.Objects[a].Identity() < reading.Objects[b].Identity() })
		for _, one := range reading.Objects {
			one.Content = nil
			_ = encoder.Encode(struct {
				Reader string `json:"reader"`
				wire.Object
			}{name, one})
		}
		if reading.Error != "" {
			status = 1
			_ = encoder.Encode(map[string]string{"reader": name, "error": reading.Error})
		}
	}
	return status
}
