// Package expressions makes admission policies whose expressions are slightly wrong.
package expressions

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// seeds has expressions with every function, one in a line.
//
//go:embed seeds.txt
var seeds string

// Corpus reads the admission policies of folders, and adds policies with the seeds.
func Corpus(folders []string) ([]map[string]any, error) {
	var found []map[string]any
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found = append(found, policies(text)...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return append(found, seeded()...), nil
}

var separator = regexp.MustCompile(`(?m)^---.*$`)

// policies reads the admission policies of a file. Files of other things are passed over.
func policies(text []byte) []map[string]any {
	var found []map[string]any
	if !bytes.Contains(text, []byte("AdmissionPolicy")) {
		return nil
	}
	for _, document := range separator.Split(string(text), -1) {
		var value any
		if yaml.Unmarshal([]byte(document), &value) == nil {
			found = append(found, inside(value)...)
		}
	}
	return found
}

// inside finds policies at any depth, and in texts.
func inside(value any) []map[string]any {
	var found []map[string]any
	switch value := value.(type) {
	case map[string]any:
		if isPolicy(value) {
			return []map[string]any{value}
		}
		for _, key := range sortedKeys(value) {
			found = append(found, inside(value[key])...)
		}
	case []any:
		for _, item := range value {
			found = append(found, inside(item)...)
		}
	case string:
		if strings.Contains(value, "AdmissionPolicy\n") {
			found = policies([]byte(value))
		}
	}
	return found
}

func isPolicy(object map[string]any) bool {
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	_, hasSpec := object["spec"].(map[string]any)
	return hasSpec && strings.HasPrefix(apiVersion, "admissionregistration.k8s.io/") &&
		(kind == "ValidatingAdmissionPolicy" || kind == "MutatingAdmissionPolicy")
}

// seeded makes a policy of each seed: as a variable, so that every type will do, and as what needs a type.
func seeded() []map[string]any {
	var found []map[string]any
	for _, line := range strings.Split(seeds, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		found = append(found, policy(line))
		if strings.HasPrefix(line, "[JSONPatch") || strings.HasPrefix(line, "Object") {
			found = append(found, mutating(line))
		}
	}
	return found
}

func policy(expression string) map[string]any {
	return read(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {
  failurePolicy: Fail, paramKind: {apiVersion: v1, kind: ConfigMap},
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]},
  variables: [{name: text, expression: "request.name + 'x'"}, {name: list, expression: "[1, 2]"}, {name: seed, expression: SEED}],
  validations: [{expression: "variables.seed == dyn(1)", messageExpression: "variables.text"}]}}`, expression)
}

func mutating(expression string) map[string]any {
	patch := `patchType: JSONPatch, jsonPatch: {expression: SEED}`
	if strings.HasPrefix(expression, "Object") {
		patch = `patchType: ApplyConfiguration, applyConfiguration: {expression: SEED}`
	}
	return read(`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: p}, spec: {
  failurePolicy: Fail, reinvocationPolicy: Never,
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]},
  variables: [{name: text, expression: "request.name + 'x'"}], mutations: [{`+patch+`}]}}`, expression)
}

func read(text, expression string) map[string]any {
	quoted, err := json.Marshal(expression)
	if err != nil {
		panic(err)
	}
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "SEED", string(quoted))), &object); err != nil {
		panic(err)
	}
	return object
}
