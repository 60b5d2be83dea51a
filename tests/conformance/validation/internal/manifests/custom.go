package manifests

import "encoding/json"

// Custom is a custom resource and the schema of its definition.
type Custom struct {
	Schema map[string]any `json:"schema"`
	Custom map[string]any `json:"custom"`
}

// Definition is the CustomResourceDefinition with the schema.
func (custom Custom) Definition() map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": custom.Schema}}},
		},
	}
}

// NextCustom returns a random schema with an object that mostly fits it.
func (source *Source) NextCustom() Custom {
	spec := source.objectSchema(3)
	schema := map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}
	if source.random.IntN(3) == 0 {
		schema["required"] = []any{"spec"}
	}
	object := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a", "namespace": "b"}}
	if source.random.IntN(10) > 0 {
		object["spec"] = source.fitting(spec)
	}
	for range source.random.IntN(3) {
		source.disturb(object["spec"])
	}
	return Custom{Schema: schema, Custom: object}
}

var fieldNames = []string{"a", "b", "c", "d", "e"}

func (source *Source) objectSchema(depth int) map[string]any {
	properties := map[string]any{}
	for _, name := range fieldNames[:1+source.random.IntN(len(fieldNames))] {
		properties[name] = source.schema(depth - 1)
	}
	schema := map[string]any{"type": "object", "properties": properties}
	switch source.random.IntN(8) {
	case 0:
		schema["x-kubernetes-preserve-unknown-fields"] = true
	case 1:
		schema["x-kubernetes-embedded-resource"] = true
		if source.random.IntN(2) == 0 {
			schema["x-kubernetes-preserve-unknown-fields"] = true
		}
	case 2, 3:
		schema["required"] = []any{pick(source, keys(properties))}
	}
	return schema
}

func (source *Source) schema(depth int) map[string]any {
	schema := source.plainSchema(depth)
	if source.random.IntN(6) == 0 {
		schema["nullable"] = true
	}
	return schema
}

func (source *Source) plainSchema(depth int) map[string]any {
	choices := 10
	if depth <= 0 {
		choices = 7
	}
	switch source.random.IntN(choices) {
	case 0:
		return map[string]any{"type": "string"}
	case 1:
		return map[string]any{"type": "string", "pattern": pick(source, patterns)}
	case 2:
		schema := map[string]any{"type": "string", "enum": []any{"a", "b"}}
		if source.random.IntN(2) == 0 {
			schema["default"] = "a"
		}
		return schema
	case 3:
		schema := map[string]any{"type": pick(source, []string{"integer", "number"}), "minimum": json.Number("1"), "maximum": json.Number("9")}
		if source.random.IntN(2) == 0 {
			schema["exclusiveMaximum"] = true
		}
		return schema
	case 4:
		return map[string]any{"x-kubernetes-int-or-string": true}
	case 5:
		return map[string]any{"type": "boolean"}
	case 6:
		return map[string]any{"type": "string", "minLength": json.Number("1"), "maxLength": json.Number("3")}
	case 7:
		return source.objectSchema(depth)
	case 8:
		return map[string]any{"type": "array", "maxItems": json.Number("2"), "items": source.schema(depth - 1)}
	}
	return map[string]any{"type": "object", "additionalProperties": source.schema(depth - 1)}
}

// patterns are those that Bailiwick can read.
var patterns = []string{`^[a-z]+$`, `^\d+$`, `^[\w.]+$`, `a`, `^(a|b){1,3}$`, `^[^/]+$`, `^\S*$`, `^.{2}$`}

var words = []string{"a", "b", "ab", "abc", "abcd", "", "12", "a b", "ä", "١", "a/b", "AB", "\n", "ab\n", "日本"}

// fitting returns a value that a schema mostly takes.
func (source *Source) fitting(schema map[string]any) any {
	if schema["x-kubernetes-int-or-string"] == true {
		return []any{json.Number("1"), "a"}[source.random.IntN(2)]
	}
	switch schema["type"] {
	case "string":
		if schema["enum"] != nil {
			return pick(source, []string{"a", "b"})
		}
		return pick(source, words)
	case "integer":
		return json.Number(pick(source, []string{"1", "5", "9", "2.0"}))
	case "number":
		return json.Number(pick(source, []string{"1", "5.5", "9"}))
	case "boolean":
		return true
	case "array":
		list := []any{}
		for range source.random.IntN(3) {
			list = append(list, source.fitting(schema["items"].(map[string]any)))
		}
		return list
	}
	object := map[string]any{}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		for range source.random.IntN(3) {
			object[pick(source, words)] = source.fitting(values)
		}
		return object
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range keys(properties) {
		if source.random.IntN(5) > 0 {
			object[name] = source.fitting(properties[name].(map[string]any))
		}
	}
	if schema["x-kubernetes-embedded-resource"] == true {
		object["apiVersion"], object["kind"], object["metadata"] = "v1", "Pod", map[string]any{"name": "a"}
	}
	return object
}

// disturb changes one value inside another.
func (source *Source) disturb(value any) {
	switch value := value.(type) {
	case map[string]any:
		names := keys(value)
		if len(names) == 0 || source.random.IntN(4) == 0 {
			value[pick(source, []string{"a", "b", "f", "unknown"})] = source.any()
			return
		}
		name := pick(source, names)
		if source.random.IntN(2) == 0 {
			source.disturb(value[name])
		} else if source.random.IntN(3) == 0 {
			delete(value, name)
		} else {
			value[name] = source.any()
		}
	case []any:
		if len(value) > 0 {
			index := source.random.IntN(len(value))
			if source.random.IntN(2) == 0 {
				source.disturb(value[index])
			} else {
				value[index] = source.any()
			}
		}
	}
}
