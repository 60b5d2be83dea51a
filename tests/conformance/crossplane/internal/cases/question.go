// Package cases makes random questions about Crossplane, as JSON.
package cases

import "math/rand/v2"

// Object is a JSON object.
type Object = map[string]any

// Question is one of the kinds that are asked, and its body.
type Question struct {
	Kind string
	Body Object
}

// Random makes a question, more often one of those that have much in them.
func Random(random *rand.Rand) Question {
	s := source{random}
	switch s.IntN(20) {
	case 0:
		return Question{"composite", s.composite()}
	case 1:
		return Question{"namespace-personas", s.namespaces()}
	case 2:
		return Question{"truncate", s.truncate()}
	case 3, 4:
		return Question{"provider-family", s.family()}
	case 11:
		return Question{"gate", Object{"revision": "v0.9", "rule": s.gated()}}
	case 5, 6:
		if s.chance(60) {
			return Question{"permission-request", Object{"owner": several(s, 3, s.smallRule), "servant": several(s, 1, s.smallRule)}}
		}
		return Question{"permission-request", Object{"owner": s.rules(4), "servant": s.rules(2)}}
	case 7, 8, 9, 10:
		return Question{"provider", s.provider()}
	}
	return Question{"stack", s.stack()}
}

// needed are the parts without which a question is none.
var needed = map[string][]string{
	"stack": {"revision", "install", "app", "crds"}, "provider": {"revision", "providerRevision", "crds"},
	"composite": {"revision", "xrd"}, "namespace-personas": {"namespaces"}, "truncate": {},
	"provider-family": {"a", "b"}, "gate": {"revision", "rule"}, "permission-request": {"owner", "servant"},
}

// IsWhole is true where a question has not lost what makes it one.
func (q Question) IsWhole() bool {
	for _, key := range needed[q.Kind] {
		if q.Body[key] == nil {
			return false
		}
	}
	for _, path := range [][]string{{"install", "kind"}, {"install", "name"}, {"install", "namespace"}, {"app", "version"}, {"xrd", "name"}, {"xrd", "group"}, {"xrd", "plural"}} {
		if part, ok := q.Body[path[0]].(Object); ok && part[path[1]] == nil {
			return false
		}
	}
	for _, crd := range parts(q.Body, "crds") {
		if !isCRD(crd) {
			return false
		}
	}
	for _, member := range parts(q.Body, "family") {
		if member["package"] == nil || member["crds"] == nil {
			return false
		}
		for _, crd := range parts(member, "crds") {
			if !isCRD(crd) {
				return false
			}
		}
	}
	for _, entry := range append(parts(q.Body, "namespaces"), parts(q.Body, "serviceAccounts")...) {
		if entry["name"] == nil {
			return false
		}
	}
	if q.Kind != "truncate" {
		return true
	}
	pair, _ := q.Body["multiParent"].([]any)
	return len(pair) == 2 || (q.Body["in"] != nil && q.Body["len"] != nil)
}

func isCRD(crd Object) bool {
	spec, _ := crd["spec"].(Object)
	names, _ := spec["names"].(Object)
	metadata, _ := crd["metadata"].(Object)
	for _, version := range parts(spec, "versions") {
		if len(version) < 3 || version["name"] == nil {
			return false
		}
	}
	if spec["version"] == nil && len(parts(spec, "versions")) == 0 || crd["apiVersion"] == nil {
		return false
	}
	return crd["kind"] != nil && metadata["name"] != nil && spec["group"] != nil && names["kind"] != nil && names["plural"] != nil
}

// parts are the objects of a list.
func parts(of Object, key string) []Object {
	list, _ := of[key].([]any)
	all := []Object{}
	for _, part := range list {
		if part, ok := part.(Object); ok {
			all = append(all, part)
		}
	}
	return all
}

// source makes choices.
type source struct{ *rand.Rand }

// chance is true in so many of a hundred cases.
func (s source) chance(percent int) bool { return s.IntN(100) < percent }

// pick takes one of some values.
func pick[T any](s source, values ...T) T { return values[s.IntN(len(values))] }

// several makes up to so many values.
func several[T any](s source, count int, value func() T) []any {
	list := []any{}
	for range s.IntN(count + 1) {
		list = append(list, value())
	}
	return list
}
