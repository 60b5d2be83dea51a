package nodes

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A change is what a write does to one object: there is no old one when it is made, and no new one when it is removed.
type change struct{ old, new object }

// mayWrite is what a policy NodeAccess means, written without its expressions: an agent has its verbs, and only on what
// belongs to its own node before and after. One without a node has nothing.
func (a *agent) mayWrite(node, group, resource, verb string, changes []change) bool {
	granted := func(own ownNode) bool { return own.lists(group, resource) && slices.Contains(own.Verbs, verb) }
	if !slices.ContainsFunc(a.OwnNode, granted) {
		return false
	}
	for index := range a.OwnNode {
		own := &a.OwnNode[index]
		if !own.lists(group, resource) || !own.covers(verb) {
			continue
		}
		for _, change := range changes {
			if node == "" || !own.admits(node, change) {
				return false
			}
		}
	}
	return true
}

func (o *ownNode) admits(node string, change change) bool {
	for _, side := range []object{change.old, change.new} {
		if side != nil && at(side, o.field()...) != node {
			return false
		}
	}
	if o.Labels == nil || change.new == nil {
		return true
	}
	for _, key := range changedLabels(change.old, change.new) {
		if !strings.HasPrefix(key, *o.Labels) {
			return false
		}
	}
	return change.old == nil ||
		same(change, "spec", "taints") && same(change, "metadata", "ownerReferences")
}

func same(change change, path ...string) bool {
	old, _, _ := unstructured.NestedSlice(change.old, path...)
	new, _, _ := unstructured.NestedSlice(change.new, path...)
	return len(old) == 0 && len(new) == 0 || reflect.DeepEqual(old, new)
}

// changedLabels are the keys that only one has, or with another value.
func changedLabels(old, new object) []string {
	before, _, _ := unstructured.NestedStringMap(old, "metadata", "labels")
	after, _, _ := unstructured.NestedStringMap(new, "metadata", "labels")
	changed := map[string]bool{}
	for key, value := range before {
		if other, found := after[key]; !found || other != value {
			changed[key] = true
		}
	}
	for key := range after {
		if _, found := before[key]; !found {
			changed[key] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// stored is what validation sees of an update: who writes a subresource does not change the rest, whatever is sent. What
// the server has itself keeps its metadata as sent, and what is defined does not.
func stored(place place, subresource string, old, sent object) object {
	if subresource == "" {
		return sent
	}
	kept := clone(old)
	kept[subresource] = sent[subresource]
	if !strings.Contains(place.kind.Group, ".") || strings.HasSuffix(place.kind.Group, ".k8s.io") {
		kept["metadata"] = sent["metadata"]
	}
	return kept
}
