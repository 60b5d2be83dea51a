// Package cluster compares with a server that runs.
package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// ReadFolder gives every object of the manifests below a folder, in the order of paths and documents.
func ReadFolder(folder string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, document := range strings.Split("\n"+string(text), "\n---") {
			object := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if len(object) > 0 {
				objects = append(objects, &unstructured.Unstructured{Object: object})
			}
		}
		return nil
	})
	return objects, err
}

// Namespaces gives those that have to be there before anything in them: the ones of the folder, or the bare ones that
// the folder takes as given.
func Namespaces(objects []*unstructured.Unstructured, bare bool) []*unstructured.Unstructured {
	own, used := map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			own[object.GetName()] = object
		}
	}
	for _, object := range objects {
		if name := object.GetNamespace(); name != "" && own[name] == nil {
			used[name] = &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
			}}
		}
	}
	chosen := own
	if bare {
		chosen = used
	}
	namespaces := make([]*unstructured.Unstructured, 0, len(chosen))
	for _, namespace := range chosen {
		namespaces = append(namespaces, namespace)
	}
	sort.Slice(namespaces, func(i, j int) bool { return namespaces[i].GetName() < namespaces[j].GetName() })
	return namespaces
}

// EncodeRBAC leaves out what is none of the authorizer's business.
func EncodeRBAC(objects []*unstructured.Unstructured) ([]json.RawMessage, error) {
	var encoded []json.RawMessage
	for _, object := range objects {
		if !strings.HasPrefix(object.GetAPIVersion(), "rbac.authorization.k8s.io/") {
			continue
		}
		text, err := json.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, text)
	}
	return encoded, nil
}
