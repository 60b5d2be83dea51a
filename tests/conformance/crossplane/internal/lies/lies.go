// Package lies stands for a program with the verb `ask` that knows Crossplane's own answers, and tells them or not. A
// comparison that does not notice each of these lies would prove nothing.
package lies

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"bailiwick.dev/conformance/crossplane/internal/cases"
	"bailiwick.dev/conformance/crossplane/internal/compare"
)

// Lie is a way to be wrong about one kind of questions: a question that is misread, or an answer that is wrong.
type Lie struct {
	Name     string
	kind     string
	question func(body cases.Object)
	answer   func(body, answer cases.Object)
}

// Liar answers with the real code; the truth if there is no lie.
type Liar struct {
	Oracles *compare.Oracles
	Lie     *Lie
}

// Ask answers as `bailiwick ask` would, into the map that answer points to.
func (l Liar) Ask(kind string, body, answer any) error {
	answered, err := l.answer(kind, body)
	if err != nil {
		return err
	}
	*answer.(*map[string]any) = answered
	return nil
}

func (l Liar) answer(kind string, body any) (map[string]any, error) {
	asked, err := copied(body)
	if err != nil {
		return nil, err
	}
	lies := l.Lie != nil && l.Lie.kind == kind
	if lies && l.Lie.question != nil {
		l.Lie.question(asked)
	}
	answer, err := l.Oracles.Ask(kind, asked)
	if err != nil {
		return nil, err
	}
	rejected, _ := answer["rejected"].([]any)
	delete(answer, "rejected")
	switch {
	case len(rejected) > 0:
		answer = cases.Object{"error": "permission-request-rejected", "rejected": rejected}
	case answer["refused"] != nil:
		answer = cases.Object{"error": "refused"}
	case answer["gated"] != nil:
		answer["error"] = "gated"
	case kind == "provider" && len(answer["objects"].([]any)) == 1:
		answer = cases.Object{"objects": []any{}}
	}
	if lies && l.Lie.answer != nil {
		l.Lie.answer(asked, answer)
	}
	if answer["error"] != nil {
		delete(answer, "objects")
	}
	return answer, nil
}

func copied(body any) (cases.Object, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	copy := cases.Object{}
	return copy, json.Unmarshal(text, &copy)
}

// objects are those of an answer.
func objects(answer cases.Object) []cases.Object {
	all := []cases.Object{}
	list, _ := answer["objects"].([]any)
	for _, part := range list {
		all = append(all, part.(cases.Object))
	}
	return all
}

// field is a field of a field of an object.
func field(of cases.Object, path ...string) any {
	var value any = of
	for _, key := range path {
		part, _ := value.(cases.Object)
		value = part[key]
	}
	return value
}

// each changes the objects whose name has such an end.
func each(end string, change func(body, part cases.Object)) func(body, answer cases.Object) {
	return func(body, answer cases.Object) {
		for _, part := range objects(answer) {
			if name, _ := field(part, "metadata", "name").(string); strings.HasSuffix(name, end) {
				change(body, part)
			}
		}
	}
}

// rules changes the rules of the roles whose name has such an end.
func rules(end string, change func(rules []any) []any) func(body, answer cases.Object) {
	return each(end, func(_, part cases.Object) {
		if rules, ok := part["rules"].([]any); ok {
			part["rules"] = change(rules)
		}
	})
}

// rule changes each rule.
func rule(end string, change func(rule cases.Object)) func(body, answer cases.Object) {
	return rules(end, func(rules []any) []any {
		for _, rule := range rules {
			change(rule.(cases.Object))
		}
		return rules
	})
}

// without takes the texts with such an end from a list of each rule.
func without(end, key, text string) func(body, answer cases.Object) {
	return rule(end, func(rule cases.Object) {
		if list, ok := rule[key].([]any); ok {
			rule[key] = slices.DeleteFunc(list, func(entry any) bool { return strings.HasSuffix(entry.(string), text) })
		}
	})
}

// unlabelled takes away the labels with such a beginning.
func unlabelled(end, start string) func(body, answer cases.Object) {
	return each(end, func(_, part cases.Object) {
		labels, _ := field(part, "metadata", "labels").(cases.Object)
		for key := range labels {
			if strings.HasPrefix(key, start) {
				delete(labels, key)
			}
		}
	})
}

// renamed replaces a part of all names.
func renamed(from, to string) func(body, answer cases.Object) {
	return each("", func(_, part cases.Object) {
		metadata, _ := part["metadata"].(cases.Object)
		if name, ok := metadata["name"].(string); ok {
			metadata["name"] = strings.ReplaceAll(name, from, to)
		}
	})
}

// labelled changes the labels of CRDs.
func labelled(change func(labels cases.Object)) func(body, answer cases.Object) {
	return func(_, answer cases.Object) {
		for _, part := range objects(answer) {
			if labels, ok := part["labels"].(cases.Object); ok && part["crdLabels"] != nil {
				change(labels)
			}
		}
	}
}

// dropped forgets a field of the question.
func dropped(key string) func(body cases.Object) {
	return func(body cases.Object) { delete(body, key) }
}

func reversed(rules []any) []any {
	slices.Reverse(rules)
	return rules
}

func crds(change func(spec cases.Object)) func(body cases.Object) {
	return func(body cases.Object) {
		list, _ := body["crds"].([]any)
		for _, crd := range list {
			change(crd.(cases.Object)["spec"].(cases.Object))
		}
	}
}

func depends(change func(list []any) []any) func(body cases.Object) {
	return func(body cases.Object) {
		app := body["app"].(cases.Object)
		if list, ok := app["dependsOn"].([]any); ok {
			app["dependsOn"] = change(list)
		}
	}
}

// SelfTest compares the real code with itself, and then with every lie, which has to be noticed.
func SelfTest(out io.Writer, oracles *compare.Oracles, stacks int) error {
	// Most questions are the same for each lie.
	oracles.Keep()
	// The truth needs no search.
	options := compare.Options{Seed: 1, Stacks: min(stacks, 300), Rough: true}
	report, err := compare.Run(oracles, Liar{Oracles: oracles}, options)
	if err != nil {
		return err
	}
	if report.Differs() {
		report.Print(out)
		return fmt.Errorf("self-test: the real code differs from itself")
	}
	options.Stacks = stacks
	for index := range All {
		report, err := compare.Run(oracles, Liar{Oracles: oracles, Lie: &All[index]}, options)
		if err != nil {
			return fmt.Errorf("self-test: %s: %w", All[index].Name, err)
		}
		if !report.Differs() {
			return fmt.Errorf("self-test: nobody notices `%s`", All[index].Name)
		}
		fmt.Fprintf(out, "%-32s noticed within %d questions\n", All[index].Name, report.Asked)
	}
	fmt.Fprintf(out, "self-test: %d lies, all noticed\n", len(All))
	return nil
}

// Find is the lie of a name; none if there is none.
func Find(name string) *Lie {
	for index := range All {
		if All[index].Name == name {
			return &All[index]
		}
	}
	return nil
}
