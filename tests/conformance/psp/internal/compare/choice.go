package compare

import (
	"fmt"

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
		name = *found.PSP
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
