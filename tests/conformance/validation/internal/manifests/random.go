package manifests

import (
	"encoding/json"
	"math/rand/v2"
	"sort"
	"strings"
)

// Source makes manifests of a seed.
type Source struct {
	random *rand.Rand
	fields *Fields
	valid  []map[string]any
}

// NewSource returns a source; the same seed makes the same manifests.
func NewSource(seed uint64, fields *Fields) (*Source, error) {
	valid, err := Valid()
	return &Source{rand.New(rand.NewPCG(seed, 18)), fields, valid}, err
}

// Next returns a manifest with up to three changes.
func (source *Source) Next() map[string]any {
	object := clone(source.valid[source.random.IntN(len(source.valid))]).(map[string]any)
	for range source.random.IntN(4) {
		source.change(object)
	}
	// These are for the server to set: Bailiwick refuses them wherever they are written.
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		delete(metadata, "generation")
		// A few kinds of 1.37 no longer look at a prefix beside a name.
		if metadata["name"] != nil {
			delete(metadata, "generateName")
		}
	}
	return object
}

// place is a value inside an object, with what holds it.
type place struct {
	parent any
	key    string
	index  int
	form   string
}

func (at place) value() any {
	if list, ok := at.parent.([]any); ok {
		return list[at.index]
	}
	return at.parent.(map[string]any)[at.key]
}

func (at place) set(value any) {
	if list, ok := at.parent.([]any); ok {
		list[at.index] = value
	} else {
		at.parent.(map[string]any)[at.key] = value
	}
}

// places lists all values with the forms that the table has for them.
func (source *Source) places(object map[string]any) []place {
	var found []place
	var visit func(parent any, form string)
	visit = func(parent any, form string) {
		switch parent := parent.(type) {
		case map[string]any:
			for _, key := range keys(parent) {
				inner := source.form(form, key)
				found = append(found, place{parent: parent, key: key, form: inner})
				visit(parent[key], inner)
			}
		case []any:
			for index, value := range parent {
				inner := strings.TrimPrefix(form, "[]")
				found = append(found, place{parent: parent, index: index, form: inner})
				visit(value, inner)
			}
		}
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	visit(object, source.fields.kinds[apiVersion+" "+kind])
	return found
}

func (source *Source) form(outer, key string) string {
	if values, ok := strings.CutPrefix(outer, "{}"); ok {
		return values
	}
	for _, field := range source.fields.types[outer] {
		if field.name == key {
			return field.form
		}
	}
	return "any"
}

func (source *Source) change(object map[string]any) {
	places := source.places(object)
	if len(places) == 0 {
		return
	}
	at := places[source.random.IntN(len(places))]
	// The names of a kind and its metadata are few among many places.
	if source.random.IntN(5) == 0 {
		source.changeMetadata(object)
		return
	}
	switch source.random.IntN(9) {
	case 0:
		source.remove(at)
	case 1:
		source.rename(at)
	case 2:
		at.set(source.any())
	case 3, 4:
		at.set(source.of(at.form, 2))
	case 5:
		at.set(source.near(at.value()))
	case 6:
		source.add(object, places)
	case 7:
		if list, ok := at.value().([]any); ok && len(list) > 0 {
			at.set(append(list, clone(list[source.random.IntN(len(list))])))
		} else {
			source.add(object, places)
		}
	case 8:
		if versions := source.fields.versions(text(object["kind"])); len(versions) > 0 && source.random.IntN(3) == 0 {
			object["apiVersion"] = pick(source, versions)
		} else {
			at.set(source.near(at.value()))
		}
	}
}

func (source *Source) remove(at place) {
	if parent, ok := at.parent.(map[string]any); ok {
		delete(parent, at.key)
	} else {
		at.set(nil)
	}
}

// rename misspells the key of a value.
func (source *Source) rename(at place) {
	parent, ok := at.parent.(map[string]any)
	if !ok || at.key == "" {
		return
	}
	value, letter := parent[at.key], source.random.IntN(len(at.key))
	delete(parent, at.key)
	switch source.random.IntN(4) {
	case 0:
		parent[at.key+"s"] = value
	case 1:
		parent[at.key[:letter]+at.key[letter+1:]] = value
	case 2:
		parent[strings.ToUpper(at.key[:1])+at.key[1:]] = value
	case 3:
		parent[at.key[:letter]+strings.ToUpper(at.key[letter:letter+1])+at.key[letter+1:]] = value
	}
}

// add puts a field of the type to a map.
func (source *Source) add(object map[string]any, places []place) {
	at := places[source.random.IntN(len(places))]
	parent, ok := at.value().(map[string]any)
	form := at.form
	if !ok || len(source.fields.types[form]) == 0 {
		parent, form = object, source.fields.kinds[text(object["apiVersion"])+" "+text(object["kind"])]
	}
	if fields := source.fields.types[form]; len(fields) > 0 {
		chosen := fields[source.random.IntN(len(fields))]
		parent[chosen.name] = source.of(chosen.form, 3)
	}
}

func (source *Source) changeMetadata(object map[string]any) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return
	}
	switch source.random.IntN(8) {
	case 0, 1:
		metadata["name"] = pick(source, texts)
	case 2:
		metadata["namespace"] = pick(source, texts)
	case 3:
		metadata["labels"] = map[string]any{pick(source, texts): pick(source, texts)}
	case 4:
		metadata["annotations"] = map[string]any{pick(source, texts): pick(source, texts), "long": strings.Repeat("x", source.random.IntN(2)*262141)}
	case 5:
		metadata["finalizers"] = []any{pick(source, []string{"a.b/c", "foo", "orphan", "foregroundDeletion", "kubernetes", "A.b/c", "a b"}), pick(source, []string{"a.b/c", "orphan", "foregroundDeletion"})}
	case 6:
		owner := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true}
		second := clone(owner).(map[string]any)
		second["controller"] = source.random.IntN(2) == 0
		delete(second, pick(source, []string{"apiVersion", "kind", "name", "uid", "none"}))
		metadata["ownerReferences"] = []any{owner, second}[source.random.IntN(2):]
	case 7:
		delete(metadata, pick(source, []string{"name", "none"}))
		metadata["generateName"] = pick(source, texts)
	}
}

// near returns a value of the same JSON type, or one that is easily taken for it.
func (source *Source) near(value any) any {
	switch value := value.(type) {
	case string:
		if source.random.IntN(4) == 0 {
			return value + pick(source, []string{" ", "x", "/", ".", "-", "1", "\n", "*"})
		}
		return pick(source, texts)
	case json.Number:
		if source.random.IntN(4) == 0 {
			return value.String()
		}
		return json.Number(pick(source, numbers))
	case bool:
		return []any{!value, "true", nil, json.Number("1")}[source.random.IntN(4)]
	case []any:
		return []any{[]any{}, nil, map[string]any{}, "x", append([]any{nil}, value...)}[source.random.IntN(5)]
	case map[string]any:
		return []any{map[string]any{}, nil, []any{value}, "x"}[source.random.IntN(4)]
	}
	return source.any()
}

func (source *Source) any() any {
	return []any{nil, true, "x", "", json.Number("1"), json.Number("1.5"), []any{}, []any{"x"}, map[string]any{}, map[string]any{"x": "y"}}[source.random.IntN(10)]
}

// of returns a value of a form of the table.
func (source *Source) of(form string, depth int) any {
	if items, ok := strings.CutPrefix(form, "[]"); ok {
		list := []any{}
		for range source.random.IntN(3) {
			list = append(list, source.of(items, depth-1))
		}
		return list
	}
	if values, ok := strings.CutPrefix(form, "{}"); ok {
		object := map[string]any{}
		for range source.random.IntN(3) {
			object[pick(source, texts)] = source.of(values, depth-1)
		}
		return object
	}
	if words, ok := strings.CutPrefix(form, "="); ok {
		return pick(source, append(strings.Split(strings.ReplaceAll(words, "%20", " "), "|"), "", "Foo"))
	}
	switch form {
	case "boolean":
		return source.random.IntN(2) == 0
	case "int32", "int64", "number":
		return json.Number(pick(source, numbers))
	case "int-or-string":
		return []any{json.Number(pick(source, numbers)), pick(source, texts)}[source.random.IntN(2)]
	case "quantity":
		return []any{json.Number(pick(source, numbers)), pick(source, quantities)}[source.random.IntN(2)]
	case "time", "micro-time":
		return pick(source, times)
	case "bytes":
		return pick(source, []string{"aGVsbG8=", "aGVsbG8", "", "aGVs\nbG8=", "a", "aGVsbG8=\n", "-_8="})
	case "string", "any", "object":
		return pick(source, texts)
	case "schema-or-bool", "schema-or-list", "schema-or-strings":
		return []any{true, map[string]any{"type": "string"}, []any{"x"}, []any{map[string]any{"type": "x", "no": "y"}}, map[string]any{"type": json.Number("1")}, "x"}[source.random.IntN(6)]
	}
	object := map[string]any{}
	if fields := source.fields.types[form]; depth > 0 && len(fields) > 0 {
		for range source.random.IntN(4) {
			chosen := fields[source.random.IntN(len(fields))]
			object[chosen.name] = source.of(chosen.form, depth-1)
		}
	}
	return object
}

var texts = []string{
	"a", "", "a b", "A", "a.b", "a.b/c", "a/b/c", "-a", "a_b", "1a", "x:y", "%41", "ü", "İ/x", "kubernetes.io/metadata.name", "a..b",
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126) + "a", strings.Repeat("a", 254), "system:x", "In", "Exists", "Foo",
	"10.0.0.0/8", "010.0.0.0/8", "10.0.0.1/8", "::ffff:1.2.3.4/120", "2001:db8::/32", "10.0.0.1", "80", "TCP", "-", "*", "true", "null", "~", "a\tb",
	"orphan", "Deny", "v1", "pods", "object.x ==", "true && 1 == 1", "builder-", " -",
}

var numbers = []string{
	"0", "1", "-1", "2", "80", "65535", "65536", "2147483647", "2147483648", "-2147483649", "9223372036854775807", "1.5", "80.0", "1e3", "1e21", "0.1", "-0",
}

var quantities = []string{
	"1", "0", "-1", "500m", "1500u", "1n", "1Gi", ".5", "5.", ".Ei", "", "1 ", " 1", "1e3", "1E3", ".E-10", "1.5Gi", "99999999999999999999", "1Zi", "+1", "1e", "9Ei", "8Ei", "1k", "1K", "10 cores", "0x1", "1_000",
}

var times = []string{
	"2026-01-02T15:04:05Z", "2026-01-02T15:04:05.000000Z", "2026-01-02", "", "2026-02-30T00:00:00Z", "2026-01-02T15:04:05+01:00", "2026-01-02T15:04:05.5Z", "2026-01-02T5:04:05Z", "x",
}

func text(value any) string {
	found, _ := value.(string)
	return found
}

func pick[T any](source *Source, from []T) T { return from[source.random.IntN(len(from))] }

func keys(object map[string]any) []string {
	found := make([]string, 0, len(object))
	for key := range object {
		found = append(found, key)
	}
	sortTexts(found)
	return found
}

func sortTexts(texts []string) { sort.Strings(texts) }
