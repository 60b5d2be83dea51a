package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"sort"
	"strings"
)

// record is one object with the place it stands at.
type record struct {
	Path   string         `json:"path"`
	Index  *int           `json:"index"`
	Object map[string]any `json:"object"`
}

func readExpected(path string) ([]record, error) {
	input, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer input.Close()
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, 1<<28)
	var records []record
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var one record
		if err := decode(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if one.Path == "" || one.Object == nil {
			return nil, fmt.Errorf("%s:%d: path or object is missing", path, number)
		}
		records = append(records, one)
	}
	return records, lines.Err()
}

// decode keeps numbers as they are written.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// identity names an object the way a cluster does.
func identity(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	part := func(from map[string]any, key string) string {
		text, _ := from[key].(string)
		return text
	}
	return fmt.Sprintf("%s %s %q/%q", part(object, "apiVersion"), part(object, "kind"), part(metadata, "namespace"), part(metadata, "name"))
}

// place is what a record is looked up by.
func place(one record, byIndex bool) string {
	if byIndex {
		return fmt.Sprintf("%s [%d]", one.Path, *one.Index)
	}
	return fmt.Sprintf("%s %s", one.Path, identity(one.Object))
}

// compareRecords tells every object that is missing, too many or different.
func compareRecords(found, expected []record) []string {
	indexed := map[bool]map[string]map[string]any{true: {}, false: {}}
	var differences []string
	for _, one := range found {
		indexed[true][place(one, true)] = one.Object
		name := place(one, false)
		if _, doubled := indexed[false][name]; doubled {
			differences = append(differences, name+": is there twice")
		}
		indexed[false][name] = one.Object
	}
	for _, one := range expected {
		name := place(one, one.Index != nil)
		object, there := indexed[one.Index != nil][name]
		if !there {
			differences = append(differences, fmt.Sprintf("%s: %s is missing", name, identity(one.Object)))
			continue
		}
		differences = append(differences, compareValues(name, "", object, one.Object)...)
	}
	if len(found) != len(expected) {
		differences = append(differences, fmt.Sprintf("%d objects were read and %d expected", len(found), len(expected)))
	}
	return differences
}

// compareValues tells every difference below a path.
func compareValues(name, path string, found, expected any) []string {
	differ := []string{fmt.Sprintf("%s: %s: read %s, expected %s", name, strings.TrimPrefix(path, "."), shown(found), shown(expected))}
	switch expected := expected.(type) {
	case map[string]any:
		found, ok := found.(map[string]any)
		if !ok {
			return differ
		}
		keys := map[string]bool{}
		for key := range expected {
			keys[key] = true
		}
		for key := range found {
			keys[key] = true
		}
		sorted := make([]string, 0, len(keys))
		for key := range keys {
			sorted = append(sorted, key)
		}
		sort.Strings(sorted)
		var differences []string
		for _, key := range sorted {
			below := fmt.Sprintf("%s.%s", path, key)
			left, inFound := found[key]
			right, inExpected := expected[key]
			switch {
			case !inFound:
				differences = append(differences, fmt.Sprintf("%s: %s: is missing", name, strings.TrimPrefix(below, ".")))
			case !inExpected:
				differences = append(differences, fmt.Sprintf("%s: %s: is too much", name, strings.TrimPrefix(below, ".")))
			default:
				differences = append(differences, compareValues(name, below, left, right)...)
			}
		}
		return differences
	case []any:
		found, ok := found.([]any)
		if !ok || len(found) != len(expected) {
			return differ
		}
		var differences []string
		for index := range expected {
			differences = append(differences, compareValues(name, fmt.Sprintf("%s[%d]", path, index), found[index], expected[index])...)
		}
		return differences
	case json.Number:
		found, ok := found.(json.Number)
		if !ok || !sameNumber(found, expected) {
			return differ
		}
		return nil
	default:
		if found != expected {
			return differ
		}
		return nil
	}
}

func sameNumber(left, right json.Number) bool {
	first, ok := new(big.Rat).SetString(left.String())
	second, also := new(big.Rat).SetString(right.String())
	return ok && also && first.Cmp(second) == 0
}

func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > 200 {
		return string(text[:200]) + "..."
	}
	return string(text)
}
