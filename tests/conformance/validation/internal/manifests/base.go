// Package manifests makes random manifests of built-in kinds: valid ones, changed in a few places.
package manifests

import (
	_ "embed"
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed valid.yaml
var valid string

// Valid returns the manifests that the others are made of.
func Valid() ([]map[string]any, error) {
	var all []map[string]any
	for _, document := range strings.Split(valid, "\n---\n") {
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return nil, err
		}
		object, err := decode(text)
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}

// decode keeps numbers as they are written.
func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var object map[string]any
	return object, decoder.Decode(&object)
}

func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, inner := range value {
			copied[key] = clone(inner)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for index, inner := range value {
			copied[index] = clone(inner)
		}
		return copied
	}
	return value
}
