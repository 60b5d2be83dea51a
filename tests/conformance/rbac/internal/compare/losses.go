package compare

import (
	"encoding/json"
	"slices"
	"sort"
)

// loss is something that can be taken from a tree of JSON: the key or the items at the end of a path.
type loss struct {
	path []any
	// count is the number of items, when the last step is a position in a list.
	count int
}

// needed are the keys without which an object is none.
var needed = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "name": true, "roleRef": true, "apiGroup": true, "clusterRoleSelectors": true}

// lossesOf lists what can be taken away, the biggest parts first.
func lossesOf(tree any) []loss {
	var losses []loss
	level := [][]any{{}}
	for len(level) > 0 {
		var below [][]any
		for _, path := range level {
			switch value := at(tree, path).(type) {
			case map[string]any:
				keys := make([]string, 0, len(value))
				for key := range value {
					keys = append(keys, key)
				}
				sort.Strings(keys)
				for _, key := range keys {
					step := extend(path, key)
					if !keep(path, key) {
						losses = append(losses, loss{path: step})
					}
					below = append(below, step)
				}
			case []any:
				for size := len(value) / 2; size > 1; size /= 2 {
					for first := 0; first+size <= len(value); first += size {
						losses = append(losses, loss{extend(path, first), size})
					}
				}
				for index := range value {
					// An aggregation rule without selectors is none that a server takes.
					if len(value) > 1 || path[len(path)-1] != "clusterRoleSelectors" {
						losses = append(losses, loss{extend(path, index), 1})
					}
					below = append(below, extend(path, index))
				}
			}
		}
		level = below
	}
	return losses
}

// keep spares what makes an object what it is. A question outside of its objects may lose anything.
func keep(path []any, key string) bool {
	inObject, inMetadata := false, false
	for _, step := range path {
		switch step {
		case "objects", "object", "old", "expected", "existing":
			inObject = true
		case "metadata":
			inMetadata = true
		}
	}
	return inObject && (needed[key] || inMetadata && key == "namespace") || len(path) == 0
}

func extend(path []any, step any) []any { return append(slices.Clone(path), step) }

func at(tree any, path []any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			tree = tree.(map[string]any)[step]
		case int:
			tree = tree.([]any)[step]
		}
	}
	return tree
}

// apply gives a tree without what is lost. The tree itself is not changed.
func (l loss) apply(tree any) any {
	if len(l.path) == 0 {
		return tree
	}
	rest := loss{l.path[1:], l.count}
	switch step := l.path[0].(type) {
	case string:
		copied := map[string]any{}
		for key, value := range tree.(map[string]any) {
			copied[key] = value
		}
		if len(rest.path) == 0 {
			delete(copied, step)
		} else {
			copied[step] = rest.apply(copied[step])
		}
		return copied
	default:
		list, index := slices.Clone(tree.([]any)), step.(int)
		if len(rest.path) == 0 {
			return slices.Delete(list, index, index+l.count)
		}
		list[index] = rest.apply(list[index])
		return list
	}
}

func asTree(value any) (any, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var tree any
	return tree, json.Unmarshal(encoded, &tree)
}
