package cluster

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"bailiwick.dev/conformance/internal/kubectl"
)

// ReadText returns the objects of a text.
func ReadText(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, document := range kubectl.Split(text) {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			return nil, err
		}
		if content != nil {
			objects = append(objects, &unstructured.Unstructured{Object: content})
		}
	}
	return objects, nil
}

// ReadPath returns the objects of a file or of the files of a folder, in the order of the paths. A folder that is not there has no
// objects.
func ReadPath(path string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".yaml") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found, err := ReadText(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, found...)
		return nil
	})
	return objects, err
}

// Keys returns the keys of objects.
func Keys(objects []*unstructured.Unstructured) []Key {
	keys := make([]Key, len(objects))
	for i, object := range objects {
		keys[i] = KeyOf(object)
	}
	return keys
}
