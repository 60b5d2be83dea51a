package world

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/policy/install" // reading
	"sigs.k8s.io/yaml"
)

// WriteDump writes the objects as `kubectl get -A -o yaml` prints them.
func (w *World) WriteDump(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, "apiVersion: v1\nitems:")
	for _, object := range w.Objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		for number, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			start := "  "
			if number == 0 {
				start = "- "
			}
			fmt.Fprintln(out, start+line)
		}
	}
	fmt.Fprintln(out, "kind: List\nmetadata:\n  resourceVersion: \"\"")
	return errors.Join(out.Flush(), file.Close())
}

// WriteEntries writes the truth.
func WriteEntries(path string, entries []Entry) error {
	text, err := json.MarshalIndent(entries, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// ReadEntries reads the truth.
func ReadEntries(path string) ([]Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	return entries, json.Unmarshal(text, &entries)
}

// ReadObjects reads the objects that Kubernetes 1.24 knows from a file, or from all files of a folder.
func ReadObjects(root string) ([]runtime.Object, error) {
	var objects []runtime.Object
	err := eachDocument(root, func(text []byte) error {
		object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			return nil
		}
		objects = append(objects, object)
		return err
	})
	return objects, err
}

// eachDocument visits the JSON of each object in the YAML files of a folder, and the items of lists.
func eachDocument(root string, visit func([]byte) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		decoder := utilyaml.NewYAMLOrJSONDecoder(file, 1<<16)
		for {
			var document json.RawMessage
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if len(document) == 0 || bytes.Equal(document, []byte("null")) {
				continue
			}
			if err := visitItems(document, visit); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	})
}

func visitItems(document json.RawMessage, visit func([]byte) error) error {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(document, &list); err != nil {
		return err
	}
	if list.Kind != "List" {
		return visit(document)
	}
	for _, item := range list.Items {
		if err := visit(item); err != nil {
			return err
		}
	}
	return nil
}

// Patch applies strategic merge patches to workloads, and makes their pods again. It returns how many there are.
func Patch(entries []Entry, patches string) (int, error) {
	byKey := map[string]*Entry{}
	for index := range entries {
		byKey[entries[index].Key()] = &entries[index]
	}
	count := 0
	err := eachDocument(patches, func(text []byte) error {
		var header struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if err := json.Unmarshal(text, &header); err != nil {
			return err
		}
		key := header.Kind + " " + header.Metadata.Namespace + "/" + header.Metadata.Name
		entry := byKey[key]
		if entry == nil {
			return fmt.Errorf("the patch of %s has no workload in the dump", key)
		}
		count++
		return entry.patch(text)
	})
	return count, err
}

func (e *Entry) patch(patch []byte) error {
	object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(e.Object, nil, nil)
	if err != nil {
		return err
	}
	patched, err := strategicpatch.StrategicMergePatch(e.Object, patch, object)
	if err != nil {
		return err
	}
	object, _, err = legacyscheme.Codecs.UniversalDeserializer().Decode(patched, nil, nil)
	if err != nil {
		return err
	}
	workload, isWorkload := object.(workload)
	if !isWorkload {
		return fmt.Errorf("%T is no workload", object)
	}
	e.Object = patched
	e.Pod, err = json.Marshal(Remade(workload))
	return err
}
