package nodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// errUnknown says that the other side has no such question.
var errUnknown = errors.New("there is no such question")

// put asks one question after the other, each made of its kind and its body, and gives the answers.
func put(command []string, kind string, bodies []any, answers func(index int, answer []byte) error) error {
	session, err := ask.Start(command...)
	if err != nil {
		return err
	}
	for index, body := range bodies {
		var answer json.RawMessage
		if err := session.Ask(kind, body, &answer); err != nil {
			return err
		}
		failure := protocol.Failure{}
		if err := json.Unmarshal(answer, &failure); err == nil && failure.Error != "" {
			if strings.HasPrefix(failure.Error, "there is no question") {
				return errUnknown
			}
			return errors.New(failure.Error)
		}
		if err := answers(index, answer); err != nil {
			return err
		}
	}
	return session.Close()
}

// What the other side says of the policies.
type policyAnswers struct {
	known          bool
	asked, unknown int
	differences    []string
}

func (p *policyAnswers) print(out io.Writer) {
	if !p.known {
		fmt.Fprintln(out, "the program has no question `admission-policy`: its own evaluation of policies is not compared")
		return
	}
	fmt.Fprintf(out, "%d of the writes by `admission-policy` (%d unknown): %d differ\n", p.asked, p.unknown, len(p.differences))
	show(out, p.differences)
}

// askPolicies puts every attempt that its role lets pass to the other side, with each of the policies.
func (t *trial) askPolicies(command []string, policies []*unstructured.Unstructured) (*policyAnswers, error) {
	var asked []*attempt
	var requests []any
	var origins []int
	for _, attempt := range t.attempts {
		if !attempt.byPolicy() && !attempt.given.passed() {
			continue
		}
		for _, change := range attempt.changes {
			requests = append(requests, attempt.review(change))
			origins = append(origins, len(asked))
		}
		asked = append(asked, attempt)
	}
	var bodies []any
	for _, policy := range policies {
		bodies = append(bodies, object{"policy": policy.Object, "requests": requests})
	}
	refused, unknown := make([]bool, len(asked)), make([]bool, len(asked))
	err := put(command, "admission-policy", bodies, func(_ int, line []byte) error {
		answer := struct {
			Answers []struct {
				Answer string `json:"answer"`
			} `json:"answers"`
		}{}
		if err := json.Unmarshal(line, &answer); err != nil {
			return err
		}
		if len(answer.Answers) != len(requests) {
			return fmt.Errorf("%d requests about a policy have %d answers: %.200s", len(requests), len(answer.Answers), line)
		}
		for index, one := range answer.Answers {
			switch one.Answer {
			case "allow":
			case "deny":
				refused[origins[index]] = true
			default:
				unknown[origins[index]] = true
			}
		}
		return nil
	})
	if errors.Is(err, errUnknown) {
		return &policyAnswers{}, nil
	}
	if err != nil {
		return nil, err
	}
	result := &policyAnswers{known: true, asked: len(asked)}
	for index, attempt := range asked {
		switch {
		case unknown[index] && !refused[index]:
			result.unknown++
		case refused[index] == attempt.given.passed():
			result.differences = append(result.differences, fmt.Sprintf("refused by the program: %t: %s", refused[index], attempt))
		}
	}
	return result, nil
}

// review is what admission sees of a change.
func (a *attempt) review(change change) object {
	who := a.identity()
	name := a.name
	if name == "" && change.new != nil {
		name = at(change.new, "metadata", "name")
	}
	review := object{
		"user": who.user, "groups": who.groups, "operation": operation(a.verb),
		"apiGroup": a.place.kind.Group, "version": a.place.kind.Version, "kind": a.place.kind.Kind,
		"resource": a.place.resource, "subresource": a.subresource, "namespace": a.namespace, "name": name,
	}
	if who.extra != nil {
		review["extra"] = who.extra
	}
	if change.old != nil {
		review["oldObject"] = change.old
	}
	if change.new != nil {
		review["object"] = change.new
	}
	return review
}
