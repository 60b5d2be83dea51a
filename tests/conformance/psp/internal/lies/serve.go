// Package lies serves the protocol with the real code, truthfully or not. A comparison that does not notice each of
// these lies would prove nothing.
package lies

import (
	"encoding/json"
	"fmt"
	"io"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/psp/internal/cases"
	"bailiwick.dev/conformance/psp/internal/compare"
	"bailiwick.dev/conformance/psp/internal/kube"
)

// Serve answers each line until there are no more; the truth if there is no lie.
func Serve(input io.Reader, output io.Writer, lie *Lie) error {
	return ask.Serve(input, output, func(line []byte) (any, error) {
		answer, err := answer(line, lie)
		if err != nil {
			answer = cases.Object{"error": err.Error()}
		}
		return answer, nil
	})
}

func answer(line []byte, lie *Lie) (cases.Object, error) {
	var asked map[string]cases.Object
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	for kind, body := range asked {
		if kind == "psp-compare" {
			return meaning(lie), nil
		}
		if kind == "psp-merge" {
			return merged(body["psps"].([]any), lie), nil
		}
		pod, _ := body["pod"].(cases.Object)
		policies, _ := body["psps"].([]any)
		if policy, ok := body["psp"].(cases.Object); ok {
			policies = []any{policy}
		}
		if lie != nil && lie.question != nil {
			for _, policy := range policies {
				lie.question(policy.(cases.Object), pod)
			}
		}
		texts, err := kube.Texts(append([]any{pod}, policies...))
		if err != nil {
			return nil, err
		}
		if kind == "psp-admit" {
			return admit(texts[1], texts[0], lie)
		}
		return choose(body, texts[1:], texts[0])
	}
	return nil, fmt.Errorf("no question")
}

// meaning says that a change widens and narrows, for which there is no real code; or a lie: that it means nothing.
func meaning(lie *Lie) cases.Object {
	if lie != nil && lie.blind {
		return cases.Object{"widened": []string{}, "narrowed": []string{}, "defaults": []string{}}
	}
	return cases.Object{"widened": []string{"something"}, "narrowed": []string{"something"}}
}

// merged answers with a policy that allows everything, for which there is no real code; or a lie: with the first policy.
func merged(policies []any, lie *Lie) cases.Object {
	if lie != nil && lie.first {
		return cases.Object{"psp": policies[0]}
	}
	anything := cases.Object{"rule": "RunAsAny"}
	spec := cases.Object{
		"privileged": true, "hostNetwork": true, "hostPID": true, "hostIPC": true, "volumes": []string{"*"},
		"hostPorts": []cases.Object{{"min": 0, "max": 65535}}, "allowedCapabilities": []string{"*"},
		"allowedUnsafeSysctls": []string{"*"}, "allowedProcMountTypes": []string{"Default", "Unmasked"},
		"runAsUser": anything, "fsGroup": anything, "supplementalGroups": anything, "seLinux": anything,
	}
	metadata := cases.Object{"name": "anything", "annotations": cases.Object{seccompAllowed: "*"}}
	return cases.Object{"psp": cases.Object{"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": metadata, "spec": spec}}
}

func admit(policy, pod []byte, lie *Lie) (cases.Object, error) {
	real, err := kube.Admit(policy, pod)
	if err != nil {
		return nil, err
	}
	if real.Broken {
		return cases.Object{"allowed": false, "broken": []string{"it is"}}, nil
	}
	if lie != nil && lie.answer != nil {
		lie.answer(real)
	}
	fields := []cases.Object{}
	for _, name := range real.Fields {
		fields = append(fields, cases.Object{"field": name})
	}
	invalid := []cases.Object{}
	if real.Invalid {
		invalid = append(invalid, cases.Object{"field": "somewhere"})
	}
	return cases.Object{
		"allowed": len(fields) == 0 && !real.Invalid, "mutated": real.Mutated, "errors": fields, "invalid": invalid, "pod": json.RawMessage(real.Whole),
	}, nil
}

func choose(body cases.Object, policies [][]byte, pod []byte) (cases.Object, error) {
	usable := []string{}
	names, _ := body["usable"].([]any)
	for _, name := range names {
		usable = append(usable, name.(string))
	}
	if body["update"] == true {
		name, err := kube.Keep(policies, usable, pod)
		if err != nil || name == "" {
			return cases.Object{"allowed": false}, err
		}
		return cases.Object{"allowed": true, "psp": name}, nil
	}
	real, err := kube.Choose(policies, usable, pod)
	if err != nil {
		return nil, err
	}
	answer := cases.Object{"allowed": real.Allowed}
	if real.PSP != "" {
		answer["psp"] = real.PSP
	}
	if real.Allowed {
		answer["pod"] = json.RawMessage(real.Whole)
	}
	return answer, nil
}

// SelfTest compares the real code with itself, and then with every lie, which has to be noticed.
func SelfTest(out io.Writer, program string, pods int) error {
	// The truth needs no search.
	options := compare.Options{Command: []string{program, "serve"}, Seed: 1, Pods: min(pods, 2000), Rough: true}
	report, err := compare.Run(options)
	if err != nil {
		return err
	}
	if report.Differs() {
		report.Print(out)
		return fmt.Errorf("self-test: the real code differs from itself")
	}
	options.Pods = pods
	for _, lie := range All {
		options.Command = []string{program, "serve", "--lie", lie.Name}
		report, err := compare.Run(options)
		if err != nil {
			return fmt.Errorf("self-test: %s: %w", lie.Name, err)
		}
		if !report.Differs() {
			return fmt.Errorf("self-test: nobody notices `%s`", lie.Name)
		}
		fmt.Fprintf(out, "%-28s noticed within %d pods\n", lie.Name, report.Asked)
	}
	fmt.Fprintf(out, "self-test: %d lies, all noticed\n", len(All))
	return nil
}
