// Package facts writes and merges the table of default policies.
package facts

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Object is an object of the policy as the table has it.
type Object struct {
	Kind, Namespace, Name string
	// Text is the document without its minors.
	Text string
}

// orders are those of the fields below a field; those that are not listed follow in the order of their names.
var orders = map[string][]string{
	"":         {"aggregationRule", "roleRef", "subjects", "rules"},
	"metadata": {"name", "namespace", "labels", "annotations"},
	"roleRef":  {"apiGroup", "kind", "name"},
	"subjects": {"kind", "apiGroup", "name", "namespace"},
	"rules":    {"apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs"},
}

// Write is an object of a kind in the form of the table.
func Write(object any, kind string) (Object, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return Object{}, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return Object{}, err
	}
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		return Object{}, fmt.Errorf("a %s has no metadata", kind)
	}
	delete(metadata, "creationTimestamp")
	delete(fields, "metadata")
	delete(fields, "apiVersion")
	delete(fields, "kind")
	if strings.HasSuffix(kind, "Role") && fields["rules"] == nil {
		fields["rules"] = []any{}
	}
	lines := []string{"apiVersion: rbac.authorization.k8s.io/v1", "kind: " + kind, "metadata:"}
	lines = append(lines, indented(mapping("metadata", metadata))...)
	lines = append(lines, mapping("", fields)...)
	text := func(key string) string { value, _ := metadata[key].(string); return value }
	return Object{Kind: kind, Namespace: text("namespace"), Name: text("name"), Text: strings.Join(lines, "\n") + "\n"}, nil
}

func mapping(parent string, fields map[string]any) []string {
	order := orders[parent]
	keys := []string{}
	for key, value := range fields {
		if value != nil {
			keys = append(keys, key)
		}
	}
	rank := func(key string) int {
		if index := slices.Index(order, key); index >= 0 {
			return index
		}
		return len(order)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if rank(a) != rank(b) {
			return rank(a) - rank(b)
		}
		return strings.Compare(a, b)
	})
	lines := []string{}
	for _, key := range keys {
		switch value := fields[key].(type) {
		case map[string]any:
			lines = append(append(lines, key+":"), indented(mapping(key, value))...)
		case []any:
			lines = append(lines, sequence(key, value)...)
		default:
			lines = append(lines, key+": "+scalar(fmt.Sprint(value)))
		}
	}
	return lines
}

func sequence(key string, values []any) []string {
	if len(values) == 0 {
		return []string{key + ": []"}
	}
	lines := []string{key + ":"}
	for _, value := range values {
		item, ok := value.(map[string]any)
		if !ok {
			lines = append(lines, "- "+scalar(fmt.Sprint(value)))
			continue
		}
		for index, line := range mapping(key, item) {
			mark := "  "
			if index == 0 {
				mark = "- "
			}
			lines = append(lines, mark+line)
		}
	}
	return lines
}

func indented(lines []string) []string {
	for index := range lines {
		lines[index] = "  " + lines[index]
	}
	return lines
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_/.][A-Za-z0-9_/.:*-]*$`)

// scalar is a text, quoted where a reader of YAML might take it for something else.
func scalar(text string) string {
	switch {
	case strings.HasSuffix(text, ":"):
		return "'" + text + "'"
	case text == "true" || text == "false" || !plain.MatchString(text):
		return `"` + text + `"`
	default:
		return text
	}
}
