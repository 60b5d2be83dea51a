package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// object is a Kubernetes object as decoded JSON.
type object map[string]any

// clusterScoped has the built-in kinds without a namespace. Custom kinds are decided by their definitions.
var clusterScoped = map[string]bool{
	"APIService": true, "CSIDriver": true, "ClusterRole": true, "ClusterRoleBinding": true, "CustomResourceDefinition": true,
	"FlowSchema": true, "IngressClass": true, "MutatingAdmissionPolicy": true, "MutatingAdmissionPolicyBinding": true,
	"MutatingWebhookConfiguration": true, "Namespace": true, "PersistentVolume": true, "PriorityClass": true,
	"PriorityLevelConfiguration": true, "RuntimeClass": true, "StorageClass": true, "ValidatingAdmissionPolicy": true,
	"ValidatingAdmissionPolicyBinding": true, "ValidatingWebhookConfiguration": true,
}

// text returns the text at a path, or "".
func (o object) text(path ...string) string {
	var value any = map[string]any(o)
	for _, key := range path {
		inner, _ := value.(map[string]any)
		value = inner[key]
	}
	found, _ := value.(string)
	return found
}

// key returns the identity as the reports have it.
func (o object) key() string {
	if namespace := o.text("metadata", "namespace"); namespace != "" {
		return fmt.Sprintf("%s/%s/%s", o.text("kind"), namespace, o.text("metadata", "name"))
	}
	return fmt.Sprintf("%s/%s", o.text("kind"), o.text("metadata", "name"))
}

// readRendered reads the documents as kubectl does, and puts namespaced objects without a namespace into `namespace`.
func readRendered(path, namespace string) ([]object, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var objects []object
	reader := utilyaml.NewYAMLReader(bufio.NewReader(file))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		text, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if objects, err = appendJSON(objects, text); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	place(objects, namespace)
	return objects, nil
}

// appendJSON appends an object, or the items of a List. An empty document has none.
func appendJSON(objects []object, text []byte) ([]object, error) {
	var found object
	if err := decode(text, &found); err != nil || len(found) == 0 {
		return objects, err
	}
	items, isList := found["items"].([]any)
	if !isList || found.text("kind") != "List" {
		return append(objects, found), nil
	}
	for _, item := range items {
		inner, isObject := item.(map[string]any)
		if !isObject {
			return nil, errors.New("an item of a List is no object")
		}
		objects = append(objects, inner)
	}
	return objects, nil
}

// decode decodes JSON and keeps the digits of its numbers.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// place gives namespaced objects without a namespace the default one, as `kubectl -n` does. Other objects have none: the API
// server drops it.
func place(objects []object, namespace string) {
	custom := map[string]bool{}
	for _, found := range objects {
		if found.text("kind") == "CustomResourceDefinition" {
			custom[found.text("spec", "group")+"/"+found.text("spec", "names", "kind")] = found.text("spec", "scope") == "Namespaced"
		}
	}
	for _, found := range objects {
		metadata, hasMetadata := found["metadata"].(map[string]any)
		if !hasMetadata {
			continue
		}
		isNamespaced, isKnown := custom[groupOf(found.text("apiVersion"))+"/"+found.text("kind")]
		if isClusterScoped := clusterScoped[found.text("kind")]; !isKnown && (isClusterScoped || isBuiltIn(found)) {
			isNamespaced, isKnown = !isClusterScoped, true
		}
		switch {
		case isKnown && !isNamespaced:
			delete(metadata, "namespace")
		case isNamespaced && found.text("metadata", "namespace") == "":
			metadata["namespace"] = namespace
		}
	}
}

// readOutput reads the lines of `render --stdout --format json`.
func readOutput(path string) ([]object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var record struct {
			Object object `json:"object"`
		}
		if err := decode(line, &record); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, record.Object)
	}
	return objects, nil
}
