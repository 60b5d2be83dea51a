package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// write writes the table up to its resources: a line for each resource, and a line for each of its versions.
func (t *table) write() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"lastMinor\": %d,\n\"resources\": [\n", t.LastMinor)
	for index, one := range t.Resources {
		if index > 0 {
			out.WriteString(",\n")
		}
		head := []string{entry("group", one.Group), entry("resource", one.Resource), entry("kind", one.Kind), entry("namespaced", one.Namespaced)}
		if one.Singular != "" {
			head = append(head, entry("singular", one.Singular))
		}
		head = appendWords(head, "shortNames", one.ShortNames)
		head = appendWords(head, "categories", one.Categories)
		fmt.Fprintf(&out, "{%s, \"versions\": [\n", strings.Join(head, ", "))
		for place, version := range one.Versions {
			if place > 0 {
				out.WriteString(",\n")
			}
			out.WriteString("  " + version.write())
		}
		out.WriteString("\n]}")
	}
	return out.Bytes()
}

func (v version) write() string {
	parts := []string{entry("version", v.Version), "\"in\": " + stretches(v.In)}
	if v.Default != nil {
		parts = append(parts, "\"default\": "+stretches(*v.Default))
	}
	if v.Verbs != nil {
		parts = append(parts, "\"verbs\": "+words(v.Verbs))
	}
	if len(v.VerbsBy) > 0 {
		var dates []string
		for _, one := range v.VerbsBy {
			dates = append(dates, fmt.Sprintf("{\"in\": %s, \"verbs\": %s}", stretches(one.In), words(one.Verbs)))
		}
		parts = append(parts, "\"verbsBy\": ["+strings.Join(dates, ", ")+"]")
	}
	if len(v.Subresources) > 0 {
		var found []string
		for _, one := range v.Subresources {
			text := fmt.Sprintf("{%s, \"verbs\": %s", entry("name", one.Name), words(one.Verbs))
			if one.In != nil {
				text += ", \"in\": " + stretches(one.In)
			}
			found = append(found, text+"}")
		}
		parts = append(parts, "\"subresources\": ["+strings.Join(found, ", ")+"]")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func entry(key string, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%q: %s", key, text)
}

func appendWords(parts []string, key string, list []string) []string {
	if len(list) == 0 {
		return parts
	}
	return append(parts, fmt.Sprintf("%q: %s", key, words(list)))
}

func words(list []string) string {
	quoted := make([]string, len(list))
	for index, word := range list {
		quoted[index] = fmt.Sprintf("%q", word)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func stretches(list []stretch) string {
	var found []string
	for _, one := range list {
		last := "null"
		if one[1] != nil {
			last = fmt.Sprint(*one[1])
		}
		found = append(found, fmt.Sprintf("[%d, %s]", *one[0], last))
	}
	return "[" + strings.Join(found, ", ") + "]"
}
