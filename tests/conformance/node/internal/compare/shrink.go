package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/node/internal/worlds"
)

// attempts is how many smaller questions are tried at most.
const attempts = 4000

// Difference is a question that the sides answer differently.
type Difference struct {
	// Name tells what was made and changed, and Sort what was asked.
	Name, Sort string
	// Question is the smallest that was found.
	Question   worlds.Object
	Real, Ours Verdict
	// version and item are those in which it was found.
	version string
	item    worlds.Item
}

// explains tells whether another difference is the same with more changes.
func (d Difference) explains(version string, item worlds.Item, ours Verdict) bool {
	if d.version != version || d.item.Recipe != item.Recipe || d.Ours.Allowed != ours.Allowed || len(d.item.Changes) == 0 {
		return false
	}
	for _, change := range d.item.Changes {
		if !slices.Contains(item.Changes, change) {
			return false
		}
	}
	return true
}

func (d Difference) print(out io.Writer) error {
	line, err := json.Marshal(worlds.Object{"node": d.Question})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s\n  Kubernetes: %s\n  bailiwick:  %s\n%s\n", d.Name, d.Real.Text, d.Ours.Text, line)
	return err
}

// shrink takes away what a difference does not need. What cannot be asked is passed over.
func (d Difference) shrink(oracles *Oracles, other ask.Answerer) Difference {
	plain, err := Generic(d.Question)
	if err != nil {
		return d
	}
	d.Question = plain
	left := attempts
	for again := true; again; {
		again = false
		for _, candidate := range Smaller(d.Question) {
			left--
			if left < 0 {
				return d
			}
			question, _ := candidate.(worlds.Object)
			if !whole(question, d.Sort) {
				continue
			}
			var real, ours Answer
			if oracles.Ask("node", question, &real) != nil {
				continue
			}
			if err := other.Ask("node", question, &ours); err != nil {
				return d
			}
			theirs, own := real.Verdicts(d.Sort), ours.Verdicts(d.Sort)
			said := Verdict{Text: "error " + ours.Error}
			if len(own) == 1 {
				said = own[0]
			}
			// An error has to stay one, and anything else may not become one.
			if len(theirs) != 1 || (ours.Error != "") != strings.HasPrefix(d.Ours.Text, "error ") {
				continue
			}
			if ours.Error == "" && (theirs[0].Allowed == said.Allowed || theirs[0].Allowed != d.Real.Allowed) {
				continue
			}
			d.Question, d.Real, d.Ours, again = question, theirs[0], said, true
			break
		}
	}
	return d
}

// whole tells whether a question still asks one thing.
func whole(question worlds.Object, sort string) bool {
	if question == nil || question["version"] == nil {
		return false
	}
	items, ok := question[sort].([]any)
	if !ok || len(items) != 1 {
		return false
	}
	for _, part := range append([]string{"objects"}, worlds.Sorts...) {
		if _, ok := question[part].([]any); !ok {
			return false
		}
	}
	needed := map[string][]string{
		"requests":   {"user", "verb"},
		"admission":  {"user", "operation", "resource", "apiGroup", "version", "kind"},
		"validation": {"object"},
	}[sort]
	item, _ := items[0].(worlds.Object)
	for _, key := range needed {
		if item[key] == nil {
			return false
		}
	}
	return true
}

// Generic is a question as whoever reads its JSON sees it.
func Generic(question worlds.Object) (worlds.Object, error) {
	raw, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	plain := worlds.Object{}
	return plain, json.Unmarshal(raw, &plain)
}

// Smaller are the values with one part less, the largest parts first.
func Smaller(value any) []any {
	var all []any
	switch value := value.(type) {
	case worlds.Object:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			less := maps.Clone(value)
			delete(less, key)
			all = append(all, less)
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			for _, part := range Smaller(value[key]) {
				other := maps.Clone(value)
				other[key] = part
				all = append(all, other)
			}
		}
	case []any:
		for index := range value {
			all = append(all, slices.Delete(slices.Clone(value), index, index+1))
		}
		for index, part := range value {
			for _, part := range Smaller(part) {
				other := slices.Clone(value)
				other[index] = part
				all = append(all, other)
			}
		}
	}
	return all
}
