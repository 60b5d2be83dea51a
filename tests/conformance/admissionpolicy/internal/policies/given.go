package policies

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Given reads the policies that are committed in the folders of output.
func Given(root string) ([]map[string]any, error) {
	files, err := filepath.Glob(filepath.Join(root, "*", "cluster", "validatingadmissionpolicy.yaml"))
	if err != nil {
		return nil, err
	}
	var found []map[string]any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			policy := map[string]any{}
			if err := yaml.Unmarshal(document, &policy); err != nil {
				return nil, err
			}
			if policy["kind"] == "ValidatingAdmissionPolicy" {
				found = append(found, policy)
			}
		}
	}
	return found, nil
}

func sorted[V any](fields map[string]V) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
