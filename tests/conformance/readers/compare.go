package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"bailiwick.dev/conformance/readers/wire"
	"sigs.k8s.io/yaml"
)

// readers are all readers in the order of reports.
var readers = []string{
	"files", "kubectl", "argocd", "argocd-kinds", "argocd-folders", "kustomize", "flux", "flux-variables", "inventory", "inventory-configmap", "server", "from", "fn",
}

// rare are readers that are asked by name alone.
var rare = map[string]bool{"inventory-configmap": true}

// worker has the programs of the readers.
type worker struct {
	flux, argocd *process
	only         map[string]bool
}

func newWorker(tools string, only map[string]bool) *worker {
	return &worker{flux: &process{path: tools + "-flux"}, argocd: &process{path: tools + "-argocd"}, only: only}
}

func (w *worker) stop() {
	w.flux.stop()
	w.argocd.stop()
}

// unit is one folder with what the program says that it holds.
type unit struct {
	root, path string
	expected   []wire.Object
	// files are the files of the program, below the folder or as whole paths.
	files []string
	// variables says that the delivery is Flux, which replaces variables where the Kustomization has some.
	variables bool
	// without are the readers that are not asked.
	without map[string]bool
}

// difference is what one reader makes otherwise.
type difference struct {
	Folder  string   `json:"folder,omitempty"`
	Reader  string   `json:"reader"`
	Details []string `json:"details"`
}

// compare asks every reader.
func (w *worker) compare(one unit) []difference {
	request := wire.Request{Root: one.root, Path: one.path}
	folder := filepath.Join(one.root, one.path)
	if _, err := os.Stat(folder); err != nil {
		if len(one.expected) == 0 {
			return nil
		}
		return []difference{{Reader: "files", Details: []string{"there is no folder " + one.path}}}
	}
	empty := true
	if held, err := os.ReadDir(folder); err == nil && len(held) > 0 {
		empty = false
	}
	if empty && len(one.expected) == 0 {
		return nil
	}
	// A kustomization of exactly the files of the program is for the readers of kustomizations; the others get the folder without it.
	plain := request
	if name := one.wholeKustomization(folder); name != "" {
		copied, err := os.MkdirTemp("", "plain-")
		if err == nil {
			defer os.RemoveAll(copied)
			if err = copyFolder(one.root, copied); err == nil {
				err = os.Remove(filepath.Join(copied, one.path, name))
			}
		}
		if err != nil {
			cannot("%v", err)
		}
		plain.Root = copied
	}
	var ofArgoCD wire.Reading
	local := func(request wire.Request, read func(wire.Request) ([]wire.Object, error)) func() wire.Reading {
		return func() wire.Reading {
			return wire.Guarded(func() ([]wire.Object, error) { return read(request) })
		}
	}
	asked := map[string]func() wire.Reading{
		"files": func() wire.Reading {
			return wire.Guarded(func() ([]wire.Object, error) {
				var paths []string
				for _, path := range one.files {
					if !filepath.IsAbs(path) {
						path = filepath.Join(folder, path)
					}
					paths = append(paths, path)
				}
				return documents(paths)
			})
		},
		"kubectl":   local(plain, readKubectl),
		"kustomize": local(request, readKustomize),
		"argocd": func() wire.Reading {
			ofArgoCD = w.readArgoCD(plain)
			return ofArgoCD
		},
		"argocd-folders": func() wire.Reading { return w.readArgoCDFolders(plain) },
		"argocd-kinds": func() wire.Reading {
			var left wire.Reading
			for _, one := range ofArgoCD.Objects {
				if !one.Excluded {
					left.Objects = append(left.Objects, one)
				}
			}
			return left
		},
		"flux": func() wire.Reading { return w.flux.read(request) },
		"inventory": func() wire.Reading {
			return wire.Guarded(func() ([]wire.Object, error) { return readInventory(one.expected) })
		},
		"inventory-configmap": func() wire.Reading {
			return wire.Guarded(func() ([]wire.Object, error) { return readInventoryOfConfigMap(one.expected) })
		},
		"server": func() wire.Reading {
			return wire.Guarded(func() ([]wire.Object, error) { return readServer(one.expected) })
		},
	}
	if one.variables {
		asked["flux-variables"] = func() wire.Reading {
			with := request
			with.Variables = map[string]string{"X": "replaced", "HOME": "replaced"}
			return w.flux.read(with)
		}
	}
	var found []difference
	for _, name := range readers {
		read, is := asked[name]
		if !is || one.without[name] || len(w.only) > 0 && !w.only[name] || len(w.only) == 0 && rare[name] {
			continue
		}
		// The kinds that are excluded are told from the objects of `argocd`, and only where it agrees.
		if name == "argocd-kinds" && (len(w.only) > 0 && !w.only["argocd"] || len(found) > 0 && found[len(found)-1].Reader == "argocd") {
			continue
		}
		if details := differ(read(), one.expected); len(details) > 0 {
			found = append(found, difference{Reader: name, Details: shortened(details, one.root)})
		}
	}
	return found
}

// wholeKustomization names the kustomization of the folder when it lists each file of the program once, and does nothing else.
func (one unit) wholeKustomization(folder string) string {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		var held map[string]any
		if yaml.Unmarshal(text, &held) != nil {
			return ""
		}
		listed := map[string]bool{}
		for key, value := range held {
			switch key {
			case "apiVersion", "kind", "metadata":
			case "resources":
				names, _ := value.([]any)
				for _, each := range names {
					path, _ := each.(string)
					path = filepath.Clean(path)
					if listed[path] {
						return ""
					}
					listed[path] = true
				}
			default:
				return ""
			}
		}
		own := 0
		for _, path := range one.files {
			if filepath.IsAbs(path) {
				path, _ = filepath.Rel(folder, path)
			}
			if path == name {
				continue
			}
			if own++; !listed[path] {
				return ""
			}
		}
		if own != len(listed) {
			return ""
		}
		return name
	}
	return ""
}

// readArgoCD reads the folder as an Application with `recurse`. A file `.argocd-source-NAME.yaml` is for the Application NAME.
func (w *worker) readArgoCD(request wire.Request) wire.Reading {
	request.Application = applicationOf(filepath.Join(request.Root, request.Path))
	return w.argocd.read(request)
}

func applicationOf(folder string) string {
	held, _ := filepath.Glob(filepath.Join(folder, ".argocd-source-*.yaml"))
	for _, path := range held {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), ".argocd-source-"), ".yaml")
		if name != "" {
			return name
		}
	}
	return "w"
}

// readArgoCDFolders reads each folder below by an Application of its own, which finds the type of the source.
func (w *worker) readArgoCDFolders(request wire.Request) wire.Reading {
	var together wire.Reading
	var folders []string
	base := filepath.Join(request.Root, request.Path)
	err := filepath.WalkDir(base, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	if err != nil {
		return wire.Reading{Error: err.Error()}
	}
	for _, folder := range folders {
		relative, err := filepath.Rel(request.Root, folder)
		if err != nil {
			return wire.Reading{Error: err.Error()}
		}
		reading := w.argocd.read(wire.Request{Root: request.Root, Path: relative, Detect: true, Application: applicationOf(folder)})
		together.Objects = append(together.Objects, reading.Objects...)
		if reading.Error != "" && together.Error == "" {
			together.Error = relative + ": " + reading.Error
		}
	}
	return together
}

// differ lists what a reading has otherwise than the objects of the program.
func differ(reading wire.Reading, expected []wire.Object) []string {
	var found []string
	if reading.Error != "" {
		found = append(found, "stops: "+reading.Error)
	}
	wanted := map[string][]wire.Object{}
	for _, one := range expected {
		wanted[one.Identity()] = append(wanted[one.Identity()], one)
	}
	var more []wire.Object
	for _, one := range reading.Objects {
		identity := one.Identity()
		if taken := take(wanted[identity], one.Digest); taken >= 0 {
			wanted[identity] = append(wanted[identity][:taken:taken], wanted[identity][taken+1:]...)
			continue
		}
		more = append(more, one)
	}
	for _, one := range more {
		identity := one.Identity()
		if left := wanted[identity]; len(left) > 0 {
			found = append(found, "other content: "+identity+": "+firstPlace(left[0].Content, one.Content))
			wanted[identity] = left[1:]
			continue
		}
		found = append(found, "too much: "+identity)
	}
	if reading.Error == "" || len(reading.Objects) > 0 {
		for identity, left := range wanted {
			for range left {
				found = append(found, "missing: "+identity)
			}
		}
	}
	sort.Strings(found)
	return found
}

func take(objects []wire.Object, digest string) int {
	for index, one := range objects {
		if one.Digest == digest {
			return index
		}
	}
	return -1
}

// firstPlace says where two contents differ first, in the order of their keys.
func firstPlace(wanted, got json.RawMessage) string {
	var left, right any
	if json.Unmarshal(wanted, &left) != nil || json.Unmarshal(got, &right) != nil {
		return "no JSON"
	}
	return placeOf("", left, right)
}

func placeOf(path string, left, right any) string {
	if before, is := left.(map[string]any); is {
		if after, is := right.(map[string]any); is {
			keys := map[string]bool{}
			for key := range before {
				keys[key] = true
			}
			for key := range after {
				keys[key] = true
			}
			sorted := make([]string, 0, len(keys))
			for key := range keys {
				sorted = append(sorted, key)
			}
			sort.Strings(sorted)
			for _, key := range sorted {
				one, has := before[key]
				other, hasToo := after[key]
				here := path + "." + shown(key)
				switch {
				case !hasToo:
					return here + " is gone"
				case !has:
					return here + " is new"
				}
				if found := placeOf(here, one, other); found != "" {
					return found
				}
			}
			return ""
		}
	}
	if before, is := left.([]any); is {
		if after, is := right.([]any); is {
			for index := range before {
				if index >= len(after) {
					break
				}
				if found := placeOf(fmt.Sprintf("%s[%d]", path, index), before[index], after[index]); found != "" {
					return found
				}
			}
			if len(before) != len(after) {
				return fmt.Sprintf("%s has %d items, not %d", path, len(after), len(before))
			}
			return ""
		}
	}
	one, _ := json.Marshal(left)
	other, _ := json.Marshal(right)
	if string(one) == string(other) {
		return ""
	}
	return fmt.Sprintf("%s is %s, not %s", path, shown(string(other)), shown(string(one)))
}

// shown is a text without invisible characters, and not too long.
func shown(text string) string {
	quoted := fmt.Sprintf("%+q", text)
	quoted = quoted[1 : len(quoted)-1]
	if len(quoted) > 90 {
		quoted = quoted[:90] + "..."
	}
	return quoted
}

// temporary are the folders of the readers.
var temporary = regexp.MustCompile(`/[^ '":]*/(kustomize|flux)-[0-9]+/(source/)?`)

// shortened keeps the first details, without the folder of the run.
func shortened(details []string, root string) []string {
	const most = 6
	left := len(details) - most
	if left > 0 {
		details = append(details[:most:most], fmt.Sprintf("and %d more", left))
	}
	for index, text := range details {
		text = temporary.ReplaceAllString(strings.ReplaceAll(text, root+"/", ""), "")
		text = strings.ReplaceAll(text, "\n", " ")
		if len(text) > 400 {
			text = text[:400] + "..."
		}
		details[index] = text
	}
	return details
}
