package worlds

import (
	"encoding/json"
	"slices"

	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (m maker) namespace(name string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{"kubernetes.io/metadata.name": name},
		Annotations: map[string]string{},
	}}
	if m.chance(90) {
		namespace.Annotations[securityv1.UIDRangeAnnotation] = m.pick(ranges...)
		if m.chance(50) {
			namespace.Annotations[securityv1.UIDRangeAnnotation] = "1000660000/10000"
		}
	}
	if m.chance(40) {
		namespace.Labels[syncLabel] = m.pick("true", "true", "false", "False", "", "0", "true ")
	}
	if m.chance(4) {
		namespace.Status.Phase = corev1.NamespaceTerminating
	}
	// All six labels right, or all six foreign, would hardly ever come by chance alone.
	kind := m.pick("none", "some", "some", "all", "all", "right")
	level := m.pick("restricted", "baseline", "privileged")
	var present []string
	for _, mode := range modes {
		for _, suffix := range []string{"", "-version"} {
			key := labels + mode + suffix
			if kind == "none" || kind == "some" && m.chance(50) {
				continue
			}
			present = append(present, key)
			switch {
			case kind == "right" && suffix == "":
				namespace.Labels[key] = level
			case kind == "right":
				namespace.Labels[key] = "latest"
			default:
				namespace.Labels[key] = m.pick("restricted", "baseline", "privileged", "latest", "v1.24", "bogus", "")
			}
		}
	}
	namespace.ManagedFields = m.managedFields(present)
	return namespace
}

func (m maker) managedFields(present []string) []metav1.ManagedFieldsEntry {
	owned := map[string][]string{}
	single := m.pick(managers...)
	style := m.pick("nobody", "one", "one", "one", "each", "each", "shared")
	shared := false
	for _, key := range present {
		switch style {
		case "one":
			owned[single] = append(owned[single], key)
		case "each":
			if m.chance(80) {
				manager := m.pick(managers...)
				owned[manager] = append(owned[manager], key)
			}
		case "shared":
			// Two owners for one label at most: the real one asks for any of them, and every answer has to come up.
			manager := m.pick("kubectl-label", "argocd-controller")
			owned[manager] = append(owned[manager], key)
			if !shared && m.chance(25) {
				shared = true
				owned[managers[0]] = append(owned[managers[0]], key)
			}
		}
	}
	if !slices.Contains(present, labels+"warn") && m.chance(20) {
		// A label that is owned and not there.
		owned[managers[0]] = append(owned[managers[0]], labels+"warn")
	}
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range managers {
		if keys := owned[manager]; len(keys) > 0 {
			fields := map[string]any{".": map[string]any{}}
			for _, key := range keys {
				fields["f:"+key] = map[string]any{}
			}
			entries = append(entries, entry(manager, map[string]any{"f:metadata": map[string]any{"f:labels": fields}}))
		}
	}
	if m.chance(15) {
		entries = append(entries, entry("kube-controller-manager", map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{"f:a": map[string]any{}}}}))
	}
	if m.chance(5) {
		odd := []any{
			map[string]any{"f:metadata": []any{}},
			map[string]any{"f:metadata": nil},
			map[string]any{"f:metadata": map[string]any{"f:labels": nil}},
			map[string]any{"f:metadata": map[string]any{"f:labels": "x"}},
			map[string]any{"f:metadata": map[string]any{}},
			map[string]any{},
		}
		entries = append(entries, entry("odd", odd[m.IntN(len(odd))]))
	}
	return entries
}

func entry(manager string, fields any) metav1.ManagedFieldsEntry {
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return metav1.ManagedFieldsEntry{
		Manager:    manager,
		Operation:  metav1.ManagedFieldsOperationApply,
		APIVersion: "v1",
		FieldsType: "FieldsV1",
		FieldsV1:   &metav1.FieldsV1{Raw: raw},
	}
}
