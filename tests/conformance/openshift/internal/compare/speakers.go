package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	securityv1 "github.com/openshift/api/security/v1"
	sccsort "github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/util/sort"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/openshift/internal/syncer"
	"bailiwick.dev/conformance/openshift/internal/worlds"
)

// release is that of the code that is compared with.
const release = "4.18"

// Program is a program with the verb `ask`.
type Program struct{ Session *ask.Session }

// ask puts a question, and fails where the program answers that it has none.
func (p Program) ask(kind string, body, answer any) error {
	var line json.RawMessage
	if err := p.Session.Ask(kind, body, &line); err != nil {
		return err
	}
	var problem struct{ Error string }
	if err := json.Unmarshal(line, &problem); err != nil {
		return err
	}
	if problem.Error != "" {
		return fmt.Errorf("question %s: %s", kind, problem.Error)
	}
	return json.Unmarshal(line, answer)
}

// Labels asks about every namespace at once.
func (p Program) Labels(world *worlds.World) (map[string]Answer, error) {
	var answer struct {
		Namespaces map[string]Answer `json:"namespaces"`
	}
	body := map[string]any{"release": release, "mode": world.Mode, "stored": true, "objects": world.Objects()}
	err := p.ask("namespace-labels", body, &answer)
	return answer.Namespaces, err
}

// Order asks for the order of constraints.
func (p Program) Order(list []*securityv1.SecurityContextConstraints) ([]string, error) {
	var answer struct{ Order []struct{ Name string } }
	err := p.ask("scc-order", map[string]any{"stored": true, "sccs": append([]*securityv1.SecurityContextConstraints{}, list...)}, &answer)
	names := []string{}
	for _, each := range answer.Order {
		names = append(names, each.Name)
	}
	return names, err
}

// Lie is a way to be wrong that has to be noticed.
type Lie struct {
	Name string
	tell func(name string, answer *Answer)
	sort func(names []string)
}

// Lies are all of them. Each is a mistake that somebody could make.
var Lies = []Lie{
	{Name: "the-exempt-are-synced", tell: func(name string, answer *Answer) {
		answer.Controlled = answer.Controlled || name == "openshift-monitoring"
	}},
	{Name: "the-prefix-does-not-matter", tell: func(name string, answer *Answer) {
		answer.Controlled = answer.Controlled || name == "openshift-own"
	}},
	{Name: "one-level-too-loose", tell: func(_ string, answer *Answer) {
		answer.replace("restricted", "baseline")
	}},
	{Name: "one-level-too-strict", tell: func(_ string, answer *Answer) {
		answer.replace("privileged", "baseline")
	}},
	{Name: "the-version-is-pinned", tell: func(_ string, answer *Answer) {
		answer.replace("latest", "v1.24")
	}},
	{Name: "always-by-force", tell: func(_ string, answer *Answer) { answer.Force = true }},
	{Name: "never-by-force", tell: func(_ string, answer *Answer) { answer.Force = false }},
	{Name: "enforce-is-left-out", tell: func(_ string, answer *Answer) { delete(answer.Writes, "enforce") }},
	{Name: "failures-are-silent", tell: func(_ string, answer *Answer) {
		if answer.Action == "error" {
			answer.Action = "skip"
		}
	}},
	{Name: "what-is-right-is-written-again", tell: func(_ string, answer *Answer) {
		if answer.Controlled && answer.Action == "none" {
			answer.Action = "write"
		}
	}},
	{Name: "an-scc-is-forgotten", tell: func(_ string, answer *Answer) {
		for account, list := range answer.Usable {
			if len(list) > 1 {
				answer.Usable[account] = list[1:]
			}
		}
	}},
	{Name: "others-may-use-it-too", tell: func(name string, answer *Answer) {
		if list, ok := answer.Usable["robot"]; ok && name == "team-c" && !slices.Contains(list, "scc-0") {
			answer.Usable["robot"] = append([]string{"scc-0"}, list...)
		}
	}},
	{Name: "the-order-is-by-name", sort: sort.Strings},
	{Name: "the-order-is-backwards", sort: func(names []string) { slices.Reverse(names) }},
}

// liar answers with the code of OpenShift itself, wrong in one way, or in none.
type liar struct{ lie Lie }

func (l liar) Labels(world *worlds.World) (map[string]Answer, error) {
	runner, err := syncer.New(world)
	if err != nil {
		return nil, err
	}
	answers := map[string]Answer{}
	for _, namespace := range world.Namespaces {
		outcome := runner.Run(namespace.Name)
		answer := Answer{Controlled: outcome.Controlled, Action: "none", Usable: map[string][]string{}, Writes: map[string]string{},
			Force: outcome.Forced, DependsOnOrder: true}
		maps.Copy(answer.Usable, outcome.Usable)
		for label, value := range outcome.Labels {
			answer.Writes[strings.TrimPrefix(label, "pod-security.kubernetes.io/")] = value
		}
		switch {
		case outcome.Failed:
			answer.Action = "error"
		case outcome.Wrote:
			answer.Action = "write"
		}
		// To run it again for each lie that is noticed would take for ever.
		answer.DependsOnOrder = l.lie.Name == ""
		if l.lie.tell != nil {
			l.lie.tell(namespace.Name, &answer)
		}
		answers[namespace.Name] = answer
	}
	return answers, nil
}

func (l liar) Order(list []*securityv1.SecurityContextConstraints) ([]string, error) {
	sorted := slices.Clone(list)
	sort.Sort(sccsort.ByPriority(sorted))
	names := []string{}
	for _, scc := range sorted {
		names = append(names, scc.Name)
	}
	if l.lie.sort != nil {
		l.lie.sort(names)
	}
	return names, nil
}

func (a *Answer) replace(from, to string) {
	for label, value := range a.Writes {
		if value == from {
			a.Writes[label] = to
		}
	}
}

// SelfTest proves that the truth passes and each lie is noticed for what it is.
func SelfTest(out io.Writer, namespaces int) error {
	honest, err := Run(liar{}, 1, namespaces)
	if err != nil {
		return err
	}
	if honest.Differ() {
		return fmt.Errorf("the code of OpenShift differs from itself: %s", honest.Example)
	}
	// Without asking again, the order of a map makes a few differences by itself.
	few, err := Run(liar{Lie{Name: "none"}}, 1, namespaces)
	if err != nil {
		return err
	}
	for _, lie := range Lies {
		report, err := Run(liar{lie}, 1, namespaces)
		if err != nil {
			return err
		}
		more := 0
		for kind, count := range report.Differences {
			more = max(more, count-few.Differences[kind])
		}
		if more < 5 {
			return fmt.Errorf("nobody notices %s", lie.Name)
		}
		fmt.Fprintf(out, "%s is noticed in %d namespaces or orders\n", lie.Name, more)
	}
	return nil
}
