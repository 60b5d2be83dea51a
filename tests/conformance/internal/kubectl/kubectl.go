// Package kubectl reads manifests the way kubectl and the API server do.
package kubectl

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// Values gives the JSON values of a text, one behind the other; nothing for a text that is not JSON. kubectl reads a text that
// begins with a brace as such values (k8s.io/apimachinery/pkg/util/yaml, YAMLOrJSONDecoder).
func Values(text string) []any {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var values []any
	for {
		var value any
		switch err := decoder.Decode(&value); err {
		case nil:
			values = append(values, value)
		case io.EOF:
			return values
		default:
			return nil
		}
	}
}

// Split cuts a file at the lines that begin with three dashes, as kubectl does before it parses.
func Split(text string) []string {
	var documents []string
	var current strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.HasPrefix(line, "---") {
			documents = append(documents, current.String())
			current.Reset()
			// What stands behind the dashes belongs to the next document.
			line = line[3:]
		}
		current.WriteString(line)
	}
	return append(documents, current.String())
}

// Read gives one document as data, numbers as they are written; nil for an empty one.
func Read(text string) (any, error) {
	return read(text, yaml.YAMLToJSON)
}

// ReadStrict is Read, only that a doubled key is an error.
func ReadStrict(text string) (any, error) {
	return read(text, yaml.YAMLToJSONStrict)
}

func read(text string, convert func([]byte) ([]byte, error)) (any, error) {
	encoded, err := convert([]byte(text))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var value any
	err = decoder.Decode(&value)
	return value, err
}
