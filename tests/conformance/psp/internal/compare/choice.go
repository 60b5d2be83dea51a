package compare

import (
	"bailiwick.dev/conformance/psp/internal/kube"
)

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
	real, err := kube.Choose(policies, usable, pod)
	if err != nil {
		return nil, err
	}
	name := ""
	if found.PSP != nil {
		name = *found.PSP
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
