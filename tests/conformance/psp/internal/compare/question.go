// Package compare puts random policies and pods to the real code and to another process, and shows where they differ.
package compare

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"bailiwick.dev/conformance/psp/internal/cases"
	"bailiwick.dev/conformance/psp/internal/kube"
)

// question is one of the kinds that are asked.
type question struct {
	kind string
	body cases.Object
}

// kinds are the kinds of questions: one policy and a pod, many policies of which some may be used, a policy that changes, and
// policies to merge; the pods of the last two are not for the other side, which says nothing about pods.
const (
	admit   = "psp-admit"
	choose  = "psp-choose"
	meaning = "psp-compare"
	merge   = "psp-merge"
)

// random makes a question whose policies an API server would take.
func random(source *rand.Rand) question {
	switch {
	case source.IntN(10) < 6:
		return question{admit, cases.Object{"psp": valid(source, "p"), "pod": cases.Pod(source)}}
	case source.IntN(4) == 0:
		return question{meaning, change(source)}
	case source.IntN(3) == 0:
		policies := []any{}
		for _, name := range []string{"a", "b", "c"}[:2+source.IntN(2)] {
			policies = append(policies, valid(source, name))
		}
		return question{merge, cases.Object{"psps": policies, "pod": cases.Pod(source)}}
	}
	names := []string{"d", "a", "c", "b"}[:1+source.IntN(4)]
	policies, usable := []any{}, []any{}
	for _, name := range names {
		policies = append(policies, valid(source, name))
		if source.IntN(3) > 0 {
			usable = append(usable, name)
		}
	}
	body := cases.Object{"psps": policies, "usable": usable, "pod": cases.Pod(source)}
	if source.IntN(3) == 0 {
		body["update"] = true
		record(source, body["pod"].(cases.Object), names)
	}
	return question{choose, body}
}

// record notes a policy in a pod, as it stands in one that was admitted before.
func record(source *rand.Rand, pod cases.Object, names []string) {
	metadata := pod["metadata"].(cases.Object)
	annotations, ok := metadata["annotations"].(cases.Object)
	if !ok {
		annotations = cases.Object{}
		metadata["annotations"] = annotations
	}
	annotations["kubernetes.io/psp"] = names[source.IntN(len(names))]
}

// change makes a policy, and the same with some fields of another.
func change(source *rand.Rand) cases.Object {
	old := valid(source, "p")
	for {
		other := cases.Policy(source, "p")
		spec := cases.Object{}
		for key, value := range old["spec"].(cases.Object) {
			spec[key] = value
		}
		keys := []string{}
		for key := range other["spec"].(cases.Object) {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for range 1 + source.IntN(3) {
			key := keys[source.IntN(len(keys))]
			spec[key] = other["spec"].(cases.Object)[key]
		}
		metadata := old["metadata"]
		if source.IntN(4) == 0 {
			metadata = other["metadata"]
		}
		changed := cases.Object{"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": metadata, "spec": spec}
		if text, err := json.Marshal(changed); err == nil && kube.IsValid(text) {
			if source.IntN(2) == 0 {
				old, changed = changed, old
			}
			return cases.Object{"old": old, "new": changed, "pod": cases.Pod(source)}
		}
	}
}

// valid makes a policy that an API server would take.
func valid(source *rand.Rand, name string) cases.Object {
	for {
		policy := cases.Policy(source, name)
		if text, err := json.Marshal(policy); err == nil && kube.IsValid(text) {
			return policy
		}
	}
}

// asked returns the question as the program gets it.
func (q question) asked() cases.Object {
	body := q.body
	switch q.kind {
	case meaning:
		body = cases.Object{"old": q.body["old"], "new": q.body["new"]}
	case merge:
		body = cases.Object{"psps": q.body["psps"]}
	}
	return cases.Object{q.kind: body}
}

// Answer is what `bailiwick ask` says to either kind.
type Answer struct {
	Error   string `json:"error,omitempty"`
	Allowed bool   `json:"allowed"`
	// PSP is the name of a policy, or a merged policy.
	PSP     json.RawMessage `json:"psp,omitempty"`
	Mutated bool            `json:"mutated"`
	Broken  json.RawMessage `json:"broken,omitempty"`
	Errors  []Violation     `json:"errors"`
	Invalid []Violation     `json:"invalid"`
	Pod     json.RawMessage `json:"pod,omitempty"`

	Widened  []string `json:"widened,omitempty"`
	Narrowed []string `json:"narrowed,omitempty"`
	Defaults []string `json:"defaults,omitempty"`
}

// Violation is what is not allowed, and why; the reason is each side's own.
type Violation struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// differences compares an answer with the real code's, and tells each point in which it differs.
func differences(q question, text []byte) ([]string, error) {
	var found Answer
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	if found.Error != "" {
		return []string{"error: " + found.Error}, nil
	}
	pod, err := json.Marshal(q.body["pod"])
	if err != nil {
		return nil, err
	}
	if q.kind == choose {
		return differentChoice(q, pod, found)
	}
	if q.kind == meaning {
		return differentMeaning(q, pod, found)
	}
	if q.kind == merge {
		return differentMerge(q, pod, found)
	}
	policy, err := json.Marshal(q.body["psp"])
	if err != nil {
		return nil, err
	}
	real, err := kube.Admit(policy, pod)
	if err != nil {
		return nil, err
	}
	return differentAdmission(q, real, found)
}

func differentAdmission(q question, real *kube.Answer, found Answer) ([]string, error) {
	if broken := found.Broken != nil; broken || real.Broken {
		return told("broken", real.Broken, broken), nil
	}
	fields := []string{}
	for _, violation := range found.Errors {
		fields = append(fields, violation.Field)
	}
	slices.Sort(fields)
	all := told("fields", real.Fields, slices.Compact(fields))
	all = append(all, told("mutated", real.Mutated, found.Mutated)...)
	parts, err := kube.Parts(found.Pod)
	if err != nil {
		return nil, err
	}
	all = append(all, told("pod", real.Pod, parts)...)
	// No new pod may have them, which is no business of policies.
	if spec, ok := q.body["pod"].(cases.Object)["spec"].(cases.Object); ok && spec["ephemeralContainers"] == nil {
		all = append(all, told("invalid", real.Invalid, len(found.Invalid) > 0)...)
		all = append(all, told("allowed", len(real.Fields) == 0 && !real.Invalid, found.Allowed)...)
	}
	return all, nil
}

// told tells a difference in one point.
func told(point string, real, found any) []string {
	if fmt.Sprint(real) == fmt.Sprint(found) {
		return nil
	}
	return []string{fmt.Sprintf("%s: Kubernetes says %v, the other side %v", point, real, found)}
}

// count counts what an answer comes to, so that a run in which nothing happens is seen.
func (r *Report) count(text []byte) {
	r.Asked++
	var found Answer
	if err := json.Unmarshal(text, &found); err != nil {
		return
	}
	if found.Mutated {
		r.Mutated++
	}
	if found.Allowed {
		r.Admitted++
	} else {
		r.Refused++
	}
}
