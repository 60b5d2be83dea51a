// Package lies answers with the code of Kubernetes, but wrong in a way that has to be noticed.
package lies

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bailiwick.dev/conformance/podsecurity/internal/protocol"
)

// Lie is a way to be wrong: a pod is misread, a question is misread, or the answer is changed.
type Lie struct {
	Name     string
	pod      func(*metav1.ObjectMeta, *corev1.PodSpec)
	question func(*protocol.Question)
	answer   func(protocol.Answer)
	// after so many answers there are no more.
	after int
}

// All are the lies, each of which has to be noticed.
var All = []Lie{
	{Name: "no-init-containers", pod: func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) { spec.InitContainers = nil }},
	{Name: "no-ephemeral-containers", pod: func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) { spec.EphemeralContainers = nil }},
	{Name: "no-annotations", pod: func(metadata *metav1.ObjectMeta, _ *corev1.PodSpec) { metadata.Annotations = nil }},
	{Name: "no-windows", pod: func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) { spec.OS = nil }},
	{Name: "no-user-namespace", pod: func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) { spec.HostUsers = nil }},
	{Name: "empty-profile-is-none", pod: func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) {
		if context := spec.SecurityContext; context != nil && context.SeccompProfile != nil && context.SeccompProfile.Type == "" {
			context.SeccompProfile = nil
		}
	}},
	{Name: "minus-one-is-root", pod: eachContext(func(context *corev1.SecurityContext) {
		if context.RunAsUser != nil && *context.RunAsUser < 0 {
			*context.RunAsUser = 0
		}
	})},
	{Name: "drop-in-any-case", pod: eachContext(func(context *corev1.SecurityContext) {
		if context.Capabilities != nil {
			for index, name := range context.Capabilities.Drop {
				context.Capabilities.Drop[index] = corev1.Capability(strings.ToUpper(string(name)))
			}
		}
	})},
	{Name: "empty-mount-is-default", pod: eachContext(func(context *corev1.SecurityContext) {
		if context.ProcMount != nil && *context.ProcMount == "" {
			context.ProcMount = nil
		}
	})},
	{Name: "engine-never-allowed", pod: eachContext(func(context *corev1.SecurityContext) {
		if context.SELinuxOptions != nil && context.SELinuxOptions.Type == "container_engine_t" {
			context.SELinuxOptions.Type = "spc_t"
		}
	})},
	{Name: "one-volume-less", pod: func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) {
		if len(spec.Volumes) > 2 {
			spec.Volumes = spec.Volumes[1:]
		}
	}},
	{Name: "no-version-38", question: eachPolicy(func(policy string) string { return strings.Replace(policy, ":v1.38", ":v1.36", 1) })},
	{Name: "latest-is-old", question: eachPolicy(func(policy string) string { return strings.Replace(policy, ":latest", ":v1.31", 1) })},
	{Name: "one-version-late", question: eachPolicy(func(policy string) string { return strings.Replace(policy, ":v1.23", ":v1.22", 1) })},
	{Name: "no-defaults", question: func(question *protocol.Question) {
		if question.NamespacePolicy != nil {
			question.NamespacePolicy.Defaults = nil
		}
	}},
	{Name: "no-old-labels", question: func(question *protocol.Question) {
		if question.NamespacePolicy != nil {
			question.NamespacePolicy.Old = nil
		}
	}},
	{Name: "no-exemptions", question: func(question *protocol.Question) {
		if question.PodAdmission != nil {
			question.PodAdmission.Exemptions = nil
		}
	}},
	{Name: "warn-never-follows", question: func(question *protocol.Question) {
		const label = "pod-security.kubernetes.io/warn"
		if policy := question.NamespacePolicy; policy != nil && len(policy.Labels) > 0 && policy.Labels[label] == "" {
			policy.Labels[label] = "privileged"
		}
	}},
	{Name: "flip", answer: eachVerdict(func(verdict map[string]any) {
		if checks, _ := verdict["checks"].([]any); len(checks) == 1 && checks[0] == "privileged" {
			verdict["allowed"] = true
		}
	})},
	{Name: "plural", answer: eachText(func(text string) string { return strings.Replace(text, " use hostPort ", " uses hostPort ", 1) })},
	{Name: "numbers-in-order", answer: eachText(func(text string) string { return strings.Replace(text, "hostPorts 10, 9", "hostPorts 9, 10", 1) })},
	{Name: "quoting", answer: eachText(func(text string) string { return strings.ReplaceAll(text, `\u`, `\x`) })},
	{Name: "wrong-name", answer: eachVerdict(func(verdict map[string]any) {
		checks, _ := verdict["checks"].([]any)
		for index := range checks {
			if checks[index] == "procMount_restricted" {
				checks[index] = "procMount"
			}
		}
	})},
	{Name: "no-message", answer: eachVerdict(func(verdict map[string]any) { verdict["message"] = "" })},
	{Name: "fits-less", answer: func(answer protocol.Answer) {
		if answer["fits"] == "restricted" {
			answer["fits"] = "baseline"
		}
	}},
	{Name: "no-warnings", answer: func(answer protocol.Answer) {
		if _, known := answer["warnings"]; known {
			answer["warnings"] = []any{}
		}
	}},
	{Name: "no-audit", answer: func(answer protocol.Answer) {
		if audit, known := answer["audit"].(map[string]any); known {
			delete(audit, "audit-violations")
		}
	}},
	{Name: "no-label-errors", answer: func(answer protocol.Answer) {
		if _, known := answer["errors"]; known {
			answer["errors"] = []any{}
		}
	}},
	{Name: "always-accepted", answer: func(answer protocol.Answer) {
		if _, known := answer["accepted"]; known {
			answer["accepted"] = true
		}
	}},
	{Name: "ends-early", after: 500},
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

func eachContext(change func(*corev1.SecurityContext)) func(*metav1.ObjectMeta, *corev1.PodSpec) {
	return func(_ *metav1.ObjectMeta, spec *corev1.PodSpec) {
		for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for _, container := range containers {
				if container.SecurityContext != nil {
					change(container.SecurityContext)
				}
			}
		}
	}
}

func eachPolicy(change func(string) string) func(*protocol.Question) {
	return func(question *protocol.Question) {
		if question.PodSecurity != nil {
			for index, policy := range question.PodSecurity.Policies {
				question.PodSecurity.Policies[index] = change(policy)
			}
		}
	}
}

func eachVerdict(change func(map[string]any)) func(protocol.Answer) {
	return func(answer protocol.Answer) {
		verdicts, _ := answer["answers"].([]any)
		for _, verdict := range verdicts {
			if verdict, ok := verdict.(map[string]any); ok {
				change(verdict)
			}
		}
	}
}

func eachText(change func(string) string) func(protocol.Answer) {
	return eachVerdict(func(verdict map[string]any) {
		for _, key := range []string{"detail", "message"} {
			if text, ok := verdict[key].(string); ok {
				verdict[key] = change(text)
			}
		}
	})
}
