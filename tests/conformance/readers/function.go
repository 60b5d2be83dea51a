package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"bailiwick.dev/conformance/readers/wire"
)

const (
	// generator has the settings of `fn` that add the objects of a workspace to a list.
	generator = "{apiVersion: bailiwick.dev/v1alpha1, kind: Bailiwick, metadata: {name: f}, spec: {directory: w, target: production}}"
	// requests are asked below `must` and below `mustNot`, so that one of both fails.
	requests = "[{verbs: [get], resources: [pods], namespaces: [team-a]}, {verbs: [get], resources: [pods], namespaces: [default]}," +
		" {verbs: [delete], resources: [secrets], namespaces: [kube-system]}]"
	// tested is a workspace with these questions.
	tested = "{apiVersion: bailiwick.dev/v1alpha1, kind: Workspace, metadata: {name: w}, spec: {targets: [{name: t, version: '1.37'}], " +
		"known: {users: ['*'], groups: ['*'], namespaces: [team-a, team-b], roles: ['*']}}}"
)

// itemsOf has the objects of the manifests of another random workspace. Their names end otherwise than those of the first one.
func itemsOf(seed, number uint64) []string {
	other := makeHostile(seed, number+1<<40)
	var texts []string
	for _, objects := range other.manifests {
		for _, one := range objects {
			if metadata, is := one["metadata"].(map[string]any); is {
				if name, is := metadata["name"].(string); is && name != "" {
					metadata["name"] = name + "-item"
				}
			}
			texts = append(texts, yamlOf(one))
		}
	}
	return texts
}

// testOf is an AccessTest about the users and groups of the bindings among some objects; none without one.
func testOf(objects []wire.Object) string {
	subjects := map[string]map[string]bool{"User": {}, "Group": {}}
	for _, one := range objects {
		var binding struct {
			Subjects []struct{ Kind, Name string } `json:"subjects"`
		}
		if json.Unmarshal(one.Content, &binding) != nil {
			continue
		}
		for _, subject := range binding.Subjects {
			if names, is := subjects[subject.Kind]; is && subject.Name != "" {
				names[subject.Name] = true
			}
		}
	}
	who := map[string]any{}
	for field, names := range map[string]map[string]bool{"users": subjects["User"], "groups": subjects["Group"]} {
		if len(names) > 0 {
			who[field] = words(slices.Sorted(maps.Keys(names))...)
		}
	}
	if len(who) == 0 {
		return ""
	}
	return "{apiVersion: bailiwick.dev/v1alpha1, kind: AccessTest, metadata: {name: f}, spec: {who: " + yamlOf(who) +
		", must: " + requests + ", mustNot: " + requests + "}}"
}

// listOf is a ResourceList with settings and items.
func listOf(settings string, items []string) string {
	text := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: " + settings + "\nitems:\n"
	return text + "- " + strings.Join(items, "\n- ") + "\n"
}

// readText reads a text as `kubectl apply -f` does.
func readText(fence, text string) wire.Reading {
	folder, err := os.MkdirTemp(fence, "text-")
	if err == nil {
		defer os.RemoveAll(folder)
		err = os.WriteFile(filepath.Join(folder, "objects.yaml"), []byte(text), 0o644)
	}
	if err != nil {
		cannot("%v", err)
	}
	return wire.Guarded(func() ([]wire.Object, error) { return readKubectl(wire.Request{Root: folder, Path: "."}) })
}

// contentsOf are the objects of a reading, each as JSON. Characters that do not print are escaped: YAML has another meaning for some.
func contentsOf(reading wire.Reading) []string {
	var texts []string
	for _, one := range reading.Objects {
		var text strings.Builder
		for _, character := range string(one.Content) {
			if unicode.IsPrint(character) {
				text.WriteRune(character)
				continue
			}
			for _, unit := range utf16.Encode([]rune{character}) {
				fmt.Fprintf(&text, "\\u%04x", unit)
			}
		}
		texts = append(texts, text.String())
	}
	return texts
}

// compareFunction puts objects to `fn`: as the list of a generator, which has to keep them and to add those of the workspace, and as the
// list and the stream of a validator, which has to answer about them as about the objects that kubectl makes of them.
func (w *worker) compareFunction(binary program, items []string, root, fence string, made *outcome) {
	if len(w.only) > 0 && !w.only["fn"] || len(items) == 0 {
		return
	}
	stream := strings.Join(items, "\n---\n") + "\n"
	read := readText(fence, stream)
	list := listOf(generator, items)
	ofList := readText(fence, list)
	if read.Error != "" || ofList.Error != "" || slices.ContainsFunc(read.Objects, isNameless) {
		return
	}
	var details []string
	generated := binary.feed(filepath.Dir(root), list, "fn")
	switch {
	case generated.problem != "" || generated.code != 0 && generated.code != 2:
		made.Failed = append(made.Failed, fmt.Sprintf("fn ends with %d %s: %s", generated.code, generated.problem, firstLine(generated.stderr)))
	case generated.code == 0 && made.Refused != "" && !isOfOutput(made.Refused):
		made.Failed = append(made.Failed, "fn generates what render refuses: "+made.Refused)
	case generated.code == 0 && made.Refused == "":
		printed := binary.run(root, "render", "--stdout", "--format", "json", "--target", "production")
		compiled, _, err := viewOf(printed.stdout)
		if err != nil {
			made.Failed = append(made.Failed, "render --stdout: "+err.Error())
			return
		}
		reading := readText(fence, string(generated.stdout))
		reading.Objects = withoutPlaces(reading.Objects, len(ofList.Objects))
		details = append(details, differ(reading, append(ofList.Objects, compiled...))...)
		made.Inputs++
	}
	test := testOf(read.Objects)
	if test != "" {
		ran := func(items []string) ran {
			return binary.feed(fence, listOf(test, items), "fn", "--default-namespace", "default")
		}
		first, second := ran(items), ran(contentsOf(read))
		details = append(details, answerOf(first, made).differs("fn", answerOf(second, made))...)
		made.Inputs++
	}
	if len(details) > 0 {
		made.Differences = append(made.Differences, difference{Folder: "items", Reader: "fn", Details: shortened(details, fence)})
	}
	if test != "" {
		w.compareStream(binary, test, stream, contentsOf(read), fence, made)
	}
}

// compareStream puts manifests to `fn --stream`, as they are and as kubectl reads them.
func (w *worker) compareStream(binary program, test, stream string, canonical []string, fence string, made *outcome) {
	workspace := filepath.Join(fence, "tested")
	if err := writeFiles(workspace, map[string]string{"bailiwick.yaml": tested, "policies/test.yaml": test}); err != nil {
		cannot("%v", err)
	}
	defer os.RemoveAll(workspace)
	ran := func(text string) ran {
		return binary.feed(workspace, text, "fn", "--stream", "--default-namespace", "default")
	}
	first, second := ran(stream), ran(strings.Join(canonical, "\n---\n")+"\n")
	details := answerOf(first, made).differs("fn --stream", answerOf(second, made))
	if first.code == 0 && string(first.stdout) != stream {
		details = append(details, "fn --stream prints other bytes")
	}
	made.Inputs++
	if len(details) > 0 {
		made.Differences = append(made.Differences, difference{Folder: "stream", Reader: "fn", Details: shortened(details, fence)})
	}
}

// isOfOutput tells whether a refusal is about the files in the output folder, which `fn` does not read.
func isOfOutput(refusal string) bool {
	return strings.Contains(refusal, ": ") || slices.Contains([]string{"foreign-file", "link-in-output", "folder-in-output"}, refusal)
}

// isNameless tells whether no server has a path for an object, and whether the program counts it in a note.
func isNameless(one wire.Object) bool {
	return one.Group == "" && one.Version == "" || one.Name == "" || one.Group == "bailiwick.dev" || one.Group == "kustomize.config.k8s.io"
}

// withoutPlaces takes the annotations with the places of files from the objects behind the first ones.
func withoutPlaces(objects []wire.Object, first int) []wire.Object {
	var made []wire.Object
	for index, one := range objects {
		if index < first {
			made = append(made, one)
			continue
		}
		var content map[string]any
		decoder := json.NewDecoder(bytes.NewReader(one.Content))
		decoder.UseNumber()
		if err := decoder.Decode(&content); err != nil {
			cannot("%v", err)
		}
		metadata, _ := content["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		delete(annotations, "internal.config.kubernetes.io/path")
		delete(annotations, "internal.config.kubernetes.io/index")
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		plain, err := wire.NewObject(content)
		if err != nil {
			cannot("%v", err)
		}
		made = append(made, plain)
	}
	return made
}

// answer is what an AccessTest comes to.
type answer struct {
	code   int
	failed []string
	// first is the first line of standard error.
	first string
}

// answerOf reads the failed questions of a run: a line each in standard error.
func answerOf(ran ran, made *outcome) answer {
	if ran.problem != "" || ran.code < 0 || ran.code > 2 {
		made.Failed = append(made.Failed, fmt.Sprintf("fn ends with %d %s: %s", ran.code, ran.problem, firstLine(ran.stderr)))
	}
	found := answer{code: ran.code, first: firstLine(ran.stderr)}
	for _, line := range lines(ran.stderr) {
		if strings.HasPrefix(line, "FAIL ") {
			found.failed = append(found.failed, line)
		}
	}
	return found
}

// differs lists what a run says otherwise of the objects of kubectl. The program refuses some texts that kubectl reads.
func (a answer) differs(command string, ofKubectl answer) []string {
	for _, code := range []string{"key-not-string", "yaml-tag"} {
		if a.code == 2 && strings.HasPrefix(a.first, "error["+code+"]") {
			return nil
		}
	}
	if a.code != ofKubectl.code {
		return []string{fmt.Sprintf("%s ends with %d (%s), and with %d for the objects of kubectl (%s)", command, a.code, a.first, ofKubectl.code, ofKubectl.first)}
	}
	var found []string
	for _, line := range a.failed {
		if !slices.Contains(ofKubectl.failed, line) {
			found = append(found, command+" fails, and not for the objects of kubectl: "+line)
		}
	}
	for _, line := range ofKubectl.failed {
		if !slices.Contains(a.failed, line) {
			found = append(found, command+" fails for the objects of kubectl alone: "+line)
		}
	}
	return found
}
