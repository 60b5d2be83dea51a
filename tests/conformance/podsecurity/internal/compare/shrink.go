package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/podsecurity/internal/kube"
	"bailiwick.dev/conformance/podsecurity/internal/protocol"
)

// Explain makes the first difference of each kind as small as it gets, and prints it.
func (r *Report) Explain(out io.Writer, options Options) error {
	server, err := kube.NewServer()
	if err != nil {
		return err
	}
	session, err := ask.Start(options.Command...)
	if err != nil {
		return err
	}
	for _, difference := range r.First {
		smallest, err := shrink(server, session, difference)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "--- %s, seed %d, pod %d\n", difference.Question.Kind(), options.Seed, difference.Pod)
		for _, part := range []struct {
			name  string
			value any
		}{{"question", smallest.Question}, {"kubernetes", smallest.Real}, {"other", smallest.Other}} {
			line, err := ask.Line(part.value)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%-11s %s\n", part.name+":", line)
		}
	}
	return session.Close()
}

// shrink takes away whatever the difference does not need.
func shrink(server *kube.Server, session *ask.Session, smallest *Difference) (*Difference, error) {
	line, err := ask.Line(smallest.Question)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(line, &tree); err != nil {
		return nil, err
	}
	for place := 0; ; {
		// Anew after each success, because the places have moved.
		smaller := losses(tree)
		if place >= len(smaller) {
			return smallest, nil
		}
		found, err := try(server, session, smaller[place])
		if err != nil {
			return nil, err
		}
		// Another question, or another reason to differ, is another difference.
		if found == nil || found.Question.Kind() != smallest.Question.Kind() || shape(found) != shape(smallest) {
			place++
			continue
		}
		smallest, tree, place = found, smaller[place], 0
	}
}

// shape tells what kinds of answers the sides gave.
func shape(difference *Difference) string {
	return fmt.Sprint(slices.Sorted(maps.Keys(difference.Real)), slices.Sorted(maps.Keys(difference.Other)))
}

// try asks both sides; nil when they agree, or when there is no sense in the question.
func try(server *kube.Server, session *ask.Session, tree any) (*Difference, error) {
	line, err := ask.Line(tree)
	if err != nil {
		return nil, err
	}
	question := &protocol.Question{}
	if json.Unmarshal(line, question) != nil {
		return nil, nil
	}
	real, err := server.Answer(question)
	if err != nil {
		return nil, nil
	}
	other, err := ask.All[protocol.Answer](session, []*protocol.Question{question})
	if err != nil || protocol.Same(real, other[0]) {
		return nil, err
	}
	return &Difference{Question: question, Real: real, Other: other[0]}, nil
}

// losses are all the trees that lack one key or item, the largest losses first.
func losses(tree any) []any {
	var all []any
	switch tree := tree.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(tree))
		for _, key := range keys {
			without := maps.Clone(tree)
			delete(without, key)
			all = append(all, without)
		}
		for _, key := range keys {
			for _, smaller := range losses(tree[key]) {
				with := maps.Clone(tree)
				with[key] = smaller
				all = append(all, with)
			}
		}
	case []any:
		for index := range tree {
			all = append(all, slices.Delete(slices.Clone(tree), index, index+1))
		}
		for index := range tree {
			for _, smaller := range losses(tree[index]) {
				with := slices.Clone(tree)
				with[index] = smaller
				all = append(all, with)
			}
		}
	}
	return all
}
