package paths

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// A path is an escalation path as `bailiwick explain` reports it.
type path struct {
	Reaches   string `json:"reaches"`
	Certainty string `json:"certainty"`
	Steps     []step `json:"steps"`
}

type step struct {
	Edge      string            `json:"edge"`
	To        map[string]string `json:"to"`
	Namespace string            `json:"namespace"`
}

func (p path) String() string {
	words := []string{}
	for _, step := range p.Steps {
		label := step.Edge
		if step.Namespace != "" {
			label += "@" + step.Namespace
		}
		words = append(words, label, step.end())
	}
	return fmt.Sprintf("%s (%s): %s", p.Reaches, p.Certainty, strings.Join(words, " -> "))
}

// end returns the subject or the power that a step leads to.
func (s step) end() string { return s.To["subject"] + s.To["power"] }

// takes reports whether a path has a step of a kind and, after or by that step, a subject or power.
func (p path) takes(edge, through string) bool {
	taken := slices.IndexFunc(p.Steps, func(step step) bool { return step.Edge == edge })
	if taken < 0 {
		return false
	}
	return through == "" || slices.ContainsFunc(p.Steps[taken:], func(step step) bool { return step.end() == through })
}

// edgeKinds returns every kind of step that the program has, from the schema of its output.
func edgeKinds(binary string) ([]string, error) {
	text, err := exec.Command(binary, "schema", "explain").Output()
	if err != nil {
		return nil, fmt.Errorf("bailiwick schema explain: %w", err)
	}
	var schema any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	kinds := constantsOf(schema, "edge")
	if len(kinds) == 0 {
		return nil, fmt.Errorf("the schema of explain lists no kinds of steps")
	}
	return kinds, nil
}

// constantsOf returns the constants of the first property with a name.
func constantsOf(schema any, name string) []string {
	switch schema := schema.(type) {
	case []any:
		for _, inner := range schema {
			if found := constantsOf(inner, name); found != nil {
				return found
			}
		}
	case object:
		if properties, is := schema["properties"].(object); is {
			if property, is := properties[name].(object); is {
				var found []string
				choices, _ := property["oneOf"].([]any)
				for _, choice := range choices {
					if constant := at(choice.(object), "const"); constant != "" {
						found = append(found, constant)
					}
				}
				return found
			}
		}
		for _, inner := range schema {
			if found := constantsOf(inner, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// pathsOf returns the paths of the attacker in the manifests of a file.
func pathsOf(binary, file string) ([]path, error) {
	command := exec.Command(binary, "explain", "User/"+attacker, "--from", file, "--baseline="+baseline, "--format", "json")
	var complaints strings.Builder
	command.Stderr = &complaints
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("bailiwick explain --from %s: %w: %s", file, err, complaints.String())
	}
	explained := struct {
		Paths []path `json:"paths"`
	}{}
	return explained.Paths, json.Unmarshal(text, &explained)
}
