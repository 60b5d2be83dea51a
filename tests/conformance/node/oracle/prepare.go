package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// prepare makes a question fit this release: its objects without the fields that it does not know, in a version that it
// has. What it has no kind for is left out.
func (q *question) prepare() (interface{}, error) {
	if setGates(q.Gates) != nil {
		q.Gates = nil
	}
	objects := []json.RawMessage{}
	for _, raw := range q.Objects {
		if raw, ok := pruned(raw); ok {
			objects = append(objects, raw)
		}
	}
	keep := []int{}
	for index := range q.Admission {
		review := &q.Admission[index]
		object, first := pruned(review.Object)
		old, second := pruned(review.OldObject)
		if !first || !second {
			continue
		}
		review.Object, review.OldObject = object, old
		review.Version = version(schema.GroupVersion{Group: review.APIGroup, Version: review.Version})
		keep = append(keep, index)
	}
	for index := range q.Validation {
		q.Validation[index].Object, _ = pruned(q.Validation[index].Object)
		q.Validation[index].OldObject, _ = pruned(q.Validation[index].OldObject)
	}
	q.Objects = objects
	return object{"question": q, "kept": keep}, nil
}

// pruned is an object without unknown fields; false if its kind is unknown.
func pruned(raw json.RawMessage) (json.RawMessage, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	fields := object{}
	if json.Unmarshal(raw, &fields) != nil {
		return nil, false
	}
	text, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	group, err := schema.ParseGroupVersion(text)
	if err != nil {
		return nil, false
	}
	if !legacyscheme.Scheme.Recognizes(group.WithKind(kind)) {
		found := false
		for _, other := range legacyscheme.Scheme.PrioritizedVersionsForGroup(group.Group) {
			if legacyscheme.Scheme.Recognizes(other.WithKind(kind)) {
				group, found = other, true
				break
			}
		}
		if !found {
			return nil, false
		}
	}
	fields["apiVersion"] = group.String()
	again, err := json.Marshal(fields)
	if err != nil {
		return nil, false
	}
	typed, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(again, nil, nil)
	if err != nil {
		return nil, false
	}
	result, err := json.Marshal(typed)
	return result, err == nil
}

// version is a version of a group that there is, the wanted one if possible.
func version(wanted schema.GroupVersion) string {
	all := legacyscheme.Scheme.PrioritizedVersionsForGroup(wanted.Group)
	for _, each := range all {
		if each == wanted {
			return wanted.Version
		}
	}
	if len(all) > 0 {
		return all[0].Version
	}
	return wanted.Version
}

// usual is what gates were before anybody changed them.
var usual = map[string]bool{}

// setGates sets gates, and all others as they usually are.
func setGates(gates map[string]bool) error {
	if len(usual) > 0 {
		if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(usual); err != nil {
			return err
		}
	}
	if len(gates) == 0 {
		return nil
	}
	wanted := map[string]bool{}
	for name, on := range gates {
		wanted[name] = on
	}
	// What a node selects is only told to its authorizer if another gate is on, which nobody sets differently.
	if on, set := gates["AuthorizeNodeWithSelectors"]; set {
		if _, known := enabled("AuthorizeWithSelectors"); known {
			wanted["AuthorizeWithSelectors"] = on
		}
	}
	for name := range wanted {
		if _, seen := usual[name]; seen {
			continue
		}
		now, known := enabled(name)
		if known {
			usual[name] = now
		}
	}
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(wanted)
}

// changeable are the gates among these that can be changed here, and what they usually are.
func changeable(names []string) map[string]bool {
	result := map[string]bool{}
	for _, name := range names {
		if now, known := enabled(name); known && setGates(map[string]bool{name: !now}) == nil {
			result[name] = now
		}
	}
	_ = setGates(nil)
	return result
}
