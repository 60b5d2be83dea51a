// Package lies answers with the code of Kubernetes, but wrong in a way that has to be noticed.
package lies

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"bailiwick.dev/conformance/admissionpolicy/internal/compare"
	"bailiwick.dev/conformance/admissionpolicy/internal/kube"
	"bailiwick.dev/conformance/admissionpolicy/internal/protocol"
	"bailiwick.dev/conformance/ask"
)

// Lie is a way to be wrong: the question is misread, or the answer is changed.
type Lie struct {
	Name    string
	body    func(*protocol.Body)
	request func(*protocol.Request)
	verdict func(*protocol.Verdict)
	// after so many answers there are no more.
	after int
}

// All are the lies, each of which has to be noticed.
var All = []Lie{
	{Name: "always-fail", body: without("failurePolicy")},
	{Name: "no-conditions", body: without("matchConditions")},
	{Name: "no-annotations", body: without("auditAnnotations")},
	{Name: "no-exclusions", body: constraint("excludeResourceRules")},
	{Name: "no-object-selector", body: constraint("objectSelector")},
	{Name: "no-namespace-selector", body: constraint("namespaceSelector")},
	{Name: "no-names", body: rule("resourceNames")},
	{Name: "no-scope", body: rule("scope")},
	{Name: "no-message-expression", body: validation("messageExpression")},
	{Name: "no-message", body: validation("message")},
	{Name: "no-reason", body: validation("reason")},
	{Name: "no-binding-rules", body: func(body *protocol.Body) { delete(spec(body.Binding), "matchResources") }},
	{Name: "deny-only", body: func(body *protocol.Body) { spec(body.Binding)["validationActions"] = []any{"Deny"} }},
	{Name: "warn-is-nothing", verdict: func(verdict *protocol.Verdict) { verdict.Warnings = nil }},
	{Name: "no-extra", request: func(request *protocol.Request) { request.Extra = nil }},
	{Name: "empty-extra", request: func(request *protocol.Request) {
		if request.Extra == nil {
			request.Extra = map[string][]string{"": {}}
		}
	}},
	{Name: "no-groups", request: func(request *protocol.Request) { request.Groups = nil }},
	{Name: "no-dry-run", request: func(request *protocol.Request) { request.DryRun = false }},
	{Name: "no-old-object", request: func(request *protocol.Request) { request.OldObject = nil }},
	{Name: "numbers-are-texts", request: each(func(fields map[string]any) {
		if number, ok := fields["num"]; ok {
			fields["num"] = fmt.Sprint(number)
		}
	})},
	{Name: "null-is-missing", request: each(func(fields map[string]any) { delete(fields, "none") })},
	{Name: "halves-are-texts", request: each(func(fields map[string]any) {
		if number, ok := fields["half"]; ok {
			fields["half"] = fmt.Sprint(number)
		}
	})},
	{Name: "no-namespace-labels", body: func(body *protocol.Body) {
		metadata, _ := body.Namespace["metadata"].(map[string]any)
		delete(metadata, "labels")
	}},
	{Name: "errors-allow", verdict: func(verdict *protocol.Verdict) {
		if strings.Contains(verdict.Message, "resulted in error") {
			verdict.Answer = "allow"
		}
	}},
	{Name: "other-error", verdict: func(verdict *protocol.Verdict) {
		verdict.Message = strings.Replace(verdict.Message, "no such key: ", "no such field: ", 1)
	}},
	{Name: "other-overload", verdict: func(verdict *protocol.Verdict) {
		verdict.Message = strings.Replace(verdict.Message, "no such overload", "no such key", 1)
	}},
	{Name: "always-matched", verdict: func(verdict *protocol.Verdict) { verdict.Matched = true }},
	{Name: "knows-nothing", verdict: func(verdict *protocol.Verdict) { verdict.Answer = "unknown" }},
	{Name: "ends-early", after: 150},
}

// Find gives the lie of a name, or nil.
func Find(name string) *Lie {
	for index := range All {
		if All[index].Name == name {
			return &All[index]
		}
	}
	return nil
}

// Serve answers each line until there are no more; the truth if there is no lie.
func Serve(input io.Reader, output io.Writer, lie *Lie) error {
	if lie == nil {
		lie = &Lie{}
	}
	count := 0
	return ask.Serve(input, output, func(line []byte) (any, error) {
		if count++; lie.after > 0 && count > lie.after {
			return nil, io.EOF
		}
		question := &protocol.Question{}
		if err := json.Unmarshal(line, question); err != nil {
			return nil, err
		}
		if lie.body != nil {
			lie.body(question.Policy)
		}
		for _, request := range question.Policy.Requests {
			if lie.request != nil {
				lie.request(request)
			}
		}
		answer, err := kube.Answer(question)
		if err != nil {
			return nil, err
		}
		for index := range answer.Answers {
			if lie.verdict != nil {
				lie.verdict(&answer.Answers[index])
			}
		}
		return answer, nil
	})
}

// SelfTest demands that the truth agrees with itself and that every lie is noticed.
func SelfTest(out io.Writer, program string, count int) error {
	truth, err := compare.Run(compare.Options{Command: []string{program, "serve"}, Seed: 1, Policies: count})
	if err != nil {
		return err
	}
	if truth.Differ() {
		return fmt.Errorf("the truth differs from itself in %d answers", len(truth.Differences))
	}
	for _, lie := range All {
		options := compare.Options{Command: []string{program, "serve", "--lie", lie.Name}, Seed: 1, Policies: count, Enough: true}
		report, err := compare.Run(options)
		if err == nil && !report.Differ() {
			return fmt.Errorf("the lie %q is not noticed", lie.Name)
		}
		if err != nil && lie.after == 0 {
			return fmt.Errorf("the lie %q: %w", lie.Name, err)
		}
	}
	fmt.Fprintf(out, "self-test: all %d lies are noticed\n", len(All))
	return nil
}

func spec(object map[string]any) map[string]any {
	found, _ := object["spec"].(map[string]any)
	return found
}

func without(field string) func(*protocol.Body) {
	return func(body *protocol.Body) { delete(spec(body.Policy), field) }
}

func constraint(field string) func(*protocol.Body) {
	return func(body *protocol.Body) {
		constraints, _ := spec(body.Policy)["matchConstraints"].(map[string]any)
		delete(constraints, field)
	}
}

func rule(field string) func(*protocol.Body) {
	return func(body *protocol.Body) {
		constraints, _ := spec(body.Policy)["matchConstraints"].(map[string]any)
		deleteEach(constraints["resourceRules"], field)
	}
}

func validation(field string) func(*protocol.Body) {
	return func(body *protocol.Body) { deleteEach(spec(body.Policy)["validations"], field) }
}

func deleteEach(list any, field string) {
	items, _ := list.([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			delete(fields, field)
		}
	}
}

// each changes an object and its spec.
func each(change func(map[string]any)) func(*protocol.Request) {
	return func(request *protocol.Request) {
		for _, object := range []map[string]any{request.Object, request.OldObject} {
			if object != nil {
				change(object)
				if inner := spec(object); inner != nil {
					change(inner)
				}
			}
		}
	}
}
