package main

import (
	"fmt"
	"sort"
	"strings"

	"bailiwick.dev/conformance/internal/kubectl"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/yaml"
)

// kustomizeObjects is how many objects kustomize is given: its time grows faster than the square of their number.
const kustomizeObjects = 2000

// document is one object with the text it was read from.
type document struct {
	record
	text string
}

// readDocuments reads a file as kubectl does, only that a doubled key is an error.
func readDocuments(one file) ([]document, []string) {
	var documents []document
	var problems []string
	for _, text := range kubectl.Split(one.text) {
		value, err := kubectl.ReadStrict(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s [%d]: %v", one.path, len(documents), err))
			continue
		}
		if value == nil {
			continue
		}
		object, ok := value.(map[string]any)
		if !ok {
			problems = append(problems, fmt.Sprintf("%s [%d]: not an object: %s", one.path, len(documents), shown(value)))
			continue
		}
		index := len(documents)
		documents = append(documents, document{record{one.path, &index, object}, text})
	}
	return documents, problems
}

func withKubectl(files []file, expected []record) (string, []string) {
	var found []record
	var differences []string
	for _, one := range files {
		documents, problems := readDocuments(one)
		differences = append(differences, problems...)
		for _, document := range documents {
			found = append(found, document.record)
		}
	}
	differences = append(differences, compareRecords(found, expected)...)
	return fmt.Sprintf("%d files, %d objects", len(files), len(found)), differences
}

func withKyaml(files []file, expected []record) (string, []string) {
	var found []record
	var differences []string
	for _, one := range files {
		nodes, err := kio.FromBytes([]byte(one.text))
		if err != nil {
			differences = append(differences, fmt.Sprintf("%s: %v", one.path, err))
			continue
		}
		for index, node := range nodes {
			encoded, err := node.MarshalJSON()
			if err != nil {
				differences = append(differences, fmt.Sprintf("%s [%d]: %v", one.path, index, err))
				continue
			}
			var object map[string]any
			if err := decode(encoded, &object); err != nil {
				differences = append(differences, fmt.Sprintf("%s [%d]: %v", one.path, index, err))
				continue
			}
			found = append(found, record{one.path, &index, object})
		}
	}
	differences = append(differences, compareRecords(found, expected)...)
	return fmt.Sprintf("%d files, %d objects", len(files), len(found)), differences
}

// withKustomize builds the folder as one kustomization and compares by identity. Objects that kustomize's own reader
// cannot take are left out (see unreadable), and so is what goes beyond kustomizeObjects.
func withKustomize(files []file, expected []record) (string, []string) {
	wanted := map[string]map[string]any{}
	for _, one := range expected {
		wanted[identity(one.Object)] = one.Object
	}
	disk := filesys.MakeFsInMemory()
	var resources []string
	var differences []string
	given, left := map[string]bool{}, 0
	for _, one := range files {
		documents, _ := readDocuments(one)
		var kept []string
		for _, document := range documents {
			// What the compiler says decides, since a reader that garbled the object may have hidden the character.
			name := identity(document.Object)
			if unreadable(document.Object) || unreadable(wanted[name]) {
				left++
				continue
			}
			if len(given) < kustomizeObjects {
				given[name] = true
				kept = append(kept, document.text)
			}
		}
		if len(kept) == 0 {
			continue
		}
		resources = append(resources, one.path)
		if err := disk.WriteFile(one.path, []byte(strings.Join(kept, "\n---\n"))); err != nil {
			return one.path, []string{err.Error()}
		}
	}
	kustomization, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources,
	})
	if err == nil {
		err = disk.WriteFile("kustomization.yaml", kustomization)
	}
	if err != nil {
		return "kustomization.yaml", []string{err.Error()}
	}
	summary := fmt.Sprintf("%d objects, %d unreadable to it left out", len(given), left)
	if len(given) == 0 {
		return summary, nil
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, ".")
	if err != nil {
		return summary, []string{err.Error()}
	}
	text, err := built.AsYaml()
	if err != nil {
		return summary, []string{err.Error()}
	}
	documents, problems := readDocuments(file{path: "build", text: string(text)})
	differences = append(differences, problems...)
	for _, document := range documents {
		name := identity(document.Object)
		object, there := wanted[name]
		if !there || !given[name] {
			differences = append(differences, name+": is too much")
			continue
		}
		delete(given, name)
		differences = append(differences, compareValues(name, "", document.Object, object)...)
	}
	for name := range given {
		differences = append(differences, name+": is missing")
	}
	sort.Strings(differences)
	return summary, differences
}

// unreadable tells whether a value holds what kustomize loses whatever the quoting: DEL, a C1 control, U+FFFE or
// U+FFFF anywhere, or the key "<<". Text of several lines that begins with a tab is lost as well: kustomize writes
// it out as a block scalar between two of its steps and then cannot read it.
func unreadable(value any) bool {
	switch value := value.(type) {
	case string:
		return strings.HasPrefix(value, "\t") && strings.Contains(value, "\n") ||
			strings.ContainsFunc(value, func(character rune) bool {
				return character >= 0x7f && character <= 0x9f || character == 0xfffe || character == 0xffff
			})
	case []any:
		for _, item := range value {
			if unreadable(item) {
				return true
			}
		}
	case map[string]any:
		for key, item := range value {
			if key == "<<" || unreadable(key) || unreadable(item) {
				return true
			}
		}
	}
	return false
}
