package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bailiwick.dev/conformance/psp/internal/cases"
	"bailiwick.dev/conformance/psp/internal/kube"
)

// differentMeaning compares what a change of a policy is said to mean with what the real code makes of a pod before and
// after it.
func differentMeaning(q question, pod []byte, found Answer) ([]string, error) {
	texts, err := kube.Texts([]any{q.body["old"], q.body["new"]})
	if err != nil {
		return nil, err
	}
	before, err := kube.Admit(texts[0], pod)
	if err != nil {
		return nil, err
	}
	after, err := kube.Admit(texts[1], pod)
	if err != nil {
		return nil, err
	}
	admits := func(answer *kube.Answer) bool { return !answer.Broken && len(answer.Fields) == 0 }
	// A change of what is filled in can go either way.
	if len(found.Defaults) > 0 {
		return nil, nil
	}
	if len(found.Widened) == 0 && admits(after) && !admits(before) {
		return []string{fmt.Sprintf("widened: Kubernetes refused the pod for %v, the other side sees nothing wider", before.Fields)}, nil
	}
	if len(found.Narrowed) == 0 && admits(before) && !admits(after) {
		return []string{fmt.Sprintf("narrowed: Kubernetes refuses the pod for %v, the other side sees nothing narrower", after.Fields)}, nil
	}
	if len(found.Widened) == 0 && len(found.Narrowed) == 0 && admits(before) && admits(after) {
		return told("same", before.Pod, after.Pod), nil
	}
	return nil, nil
}

// differentChoice compares which of many policies a pod gets.
func differentChoice(q question, pod []byte, found Answer) ([]string, error) {
	policies, err := kube.Texts(q.body["psps"].([]any))
	if err != nil {
		return nil, err
	}
	usable := []string{}
	for _, name := range q.body["usable"].([]any) {
		usable = append(usable, name.(string))
	}
	name := ""
	if found.PSP != nil {
		if err := json.Unmarshal(found.PSP, &name); err != nil {
			return nil, err
		}
	}
	if q.body["update"] == true {
		kept, err := kube.Keep(policies, usable, pod)
		return told("psp", kept, name), err
	}
	real, err := kube.Choose(policies, usable, pod)
	if err != nil {
		return nil, err
	}
	all := told("psp", real.PSP, name)
	all = append(all, told("allowed", real.Allowed, found.Allowed)...)
	if real.Allowed && found.Allowed {
		parts, err := kube.Parts(found.Pod)
		if err != nil {
			return nil, err
		}
		all = append(all, told("pod", real.Pod, parts)...)
	}
	return all, nil
}

// hasUserRanges tells whether a policy gives its pods a user id.
func hasUserRanges(policy any) bool {
	spec, _ := policy.(cases.Object)["spec"].(cases.Object)
	strategy, _ := spec["runAsUser"].(cases.Object)
	return strategy["rule"] == "MustRunAs"
}

// differentMerge puts the pods of each policy to the merged policy, as the policy stores them: it has to admit them.
func differentMerge(q question, pod []byte, found Answer) ([]string, error) {
	policies, err := kube.Texts(q.body["psps"].([]any))
	if err != nil {
		return nil, err
	}
	for _, policy := range policies {
		if alone, err := kube.Admit(policy, pod); err != nil || alone.Broken || !kube.IsValid(policy) {
			return nil, err
		}
	}
	if len(policies) > 0 && !kube.IsValid(found.PSP) {
		return []string{fmt.Sprintf("valid: an API server refuses the merged policy %s", found.PSP)}, nil
	}
	for index, policy := range policies {
		alone, err := kube.Admit(policy, pod)
		if err != nil {
			return nil, err
		}
		if alone.Broken || alone.Invalid || len(alone.Fields) > 0 {
			continue
		}
		merged, err := kube.Admit(found.PSP, alone.Whole)
		if err != nil {
			return nil, err
		}
		refused := merged.Fields
		if hasUserRanges(q.body["psps"].([]any)[index]) {
			// Beside `MustRunAsNonRoot`: the pod has an id of the ranges, and the merged policy refuses `runAsNonRoot: false` alone.
			refused = slices.DeleteFunc(refused, func(field string) bool { return strings.HasSuffix(field, ".runAsNonRoot") })
		}
		if merged.Broken || len(refused) > 0 {
			return []string{fmt.Sprintf("merged: policy %d admits the pod, the merged policy refuses %v", index, refused)}, nil
		}
	}
	return nil, nil
}
