package lies

import (
	"slices"
	"strings"

	"bailiwick.dev/conformance/psp/internal/cases"
	"bailiwick.dev/conformance/psp/internal/kube"
)

// Lie is a way to be wrong: a policy or pod that is misread before the question is put, or an answer that is wrong
// after it.
type Lie struct {
	Name     string
	question func(policy, pod cases.Object)
	answer   func(*kube.Answer)
	// blind sees no meaning in any change of a policy.
	blind bool
	// first merges policies into the first one.
	first bool
}

// spec misreads the spec of the policy.
func spec(change func(spec cases.Object)) func(policy, pod cases.Object) {
	return func(policy, _ cases.Object) {
		if spec, ok := policy["spec"].(cases.Object); ok {
			change(spec)
		}
	}
}

// strategy misreads a strategy of the policy.
func strategy(field string, change func(strategy cases.Object)) func(policy, pod cases.Object) {
	return spec(func(spec cases.Object) {
		if strategy, ok := spec[field].(cases.Object); ok {
			change(strategy)
		}
	})
}

// annotation misreads an annotation of the policy.
func annotation(name string, change func(string) string) func(policy, pod cases.Object) {
	return func(policy, _ cases.Object) {
		metadata, _ := policy["metadata"].(cases.Object)
		if annotations, ok := metadata["annotations"].(cases.Object); ok {
			if value, ok := annotations[name].(string); ok {
				annotations[name] = change(value)
			}
		}
	}
}

func rule(field, from, to string) func(policy, pod cases.Object) {
	return strategy(field, func(strategy cases.Object) {
		if strategy["rule"] == from {
			strategy["rule"] = to
		}
	})
}

func without(field string) func(policy, pod cases.Object) {
	return spec(func(spec cases.Object) { delete(spec, field) })
}

// context misreads the security context of the pod.
func context(change func(context cases.Object)) func(policy, pod cases.Object) {
	return func(_, pod cases.Object) {
		spec, _ := pod["spec"].(cases.Object)
		if context, ok := spec["securityContext"].(cases.Object); ok {
			change(context)
		}
	}
}

func forget(list string) func(policy, pod cases.Object) {
	return func(_, pod cases.Object) {
		if spec, ok := pod["spec"].(cases.Object); ok {
			delete(spec, list)
		}
	}
}

// not answers without a field that has such an end.
func not(end string) func(*kube.Answer) {
	return func(answer *kube.Answer) {
		answer.Fields = slices.DeleteFunc(answer.Fields, func(name string) bool { return strings.HasSuffix(name, end) })
	}
}

const (
	seccompAllowed  = "seccomp.security.alpha.kubernetes.io/allowedProfileNames"
	seccompDefault  = "seccomp.security.alpha.kubernetes.io/defaultProfileName"
	appArmorAllowed = "apparmor.security.beta.kubernetes.io/allowedProfileNames"
	appArmorDefault = "apparmor.security.beta.kubernetes.io/defaultProfileName"
)

// All are the lies, from misunderstandings of the policy to fields that are never checked.
var All = []Lie{
	{Name: "escalation-is-forbidden", question: spec(func(spec cases.Object) {
		if spec["allowPrivilegeEscalation"] == nil {
			spec["allowPrivilegeEscalation"] = false
		}
	})},
	{Name: "escalation-is-not-mutated", question: spec(func(spec cases.Object) {
		if spec["allowPrivilegeEscalation"] == false && spec["defaultAllowPrivilegeEscalation"] == nil {
			spec["allowPrivilegeEscalation"] = true
		}
	})},
	{Name: "no-default-escalation", question: without("defaultAllowPrivilegeEscalation")},
	{Name: "may-is-must", question: rule("fsGroup", "MayRunAs", "MustRunAs")},
	{Name: "must-is-may", question: rule("supplementalGroups", "MustRunAs", "MayRunAs")},
	{Name: "non-root-is-any", question: rule("runAsUser", "MustRunAsNonRoot", "RunAsAny")},
	{Name: "ranges-end-before-max", question: strategy("runAsUser", func(strategy cases.Object) {
		ranges, _ := strategy["ranges"].([]any)
		for _, entry := range ranges {
			entry, _ := entry.(cases.Object)
			least, _ := entry["min"].(float64)
			if most, ok := entry["max"].(float64); ok && most > least {
				entry["max"] = most - 1
			}
		}
	})},
	{Name: "first-range-only", question: strategy("fsGroup", func(strategy cases.Object) {
		if ranges, ok := strategy["ranges"].([]any); ok && len(ranges) > 1 {
			strategy["ranges"] = ranges[:1]
		}
	})},
	{Name: "no-run-as-group", question: without("runAsGroup")},
	{Name: "level-by-letter", question: strategy("seLinux", func(strategy cases.Object) {
		if options, ok := strategy["seLinuxOptions"].(cases.Object); ok && options["level"] == "s0:c2,c1" {
			options["level"] = "s0:c1,c2,"
		}
	})},
	{Name: "drops-are-not-required", question: without("requiredDropCapabilities")},
	{Name: "adds-are-not-given", question: without("defaultAddCapabilities")},
	{Name: "no-star-for-capabilities", question: spec(func(spec cases.Object) {
		if list, ok := spec["allowedCapabilities"].([]any); ok {
			spec["allowedCapabilities"] = slices.DeleteFunc(list, func(name any) bool { return name == "*" })
		}
	})},
	{Name: "no-volumes-is-all", question: spec(func(spec cases.Object) {
		if list, ok := spec["volumes"].([]any); ok && len(list) == 0 {
			spec["volumes"] = []any{"*"}
		}
	})},
	{Name: "cephfs-by-its-field", question: spec(func(spec cases.Object) {
		if list, ok := spec["volumes"].([]any); ok {
			spec["volumes"] = slices.DeleteFunc(list, func(name any) bool { return name == "cephFS" })
		}
	})},
	{Name: "tokens-are-projected", question: spec(func(spec cases.Object) {
		if list, ok := spec["volumes"].([]any); ok && slices.Contains(list, any("secret")) {
			spec["volumes"] = append(list, "projected")
		}
	})},
	{Name: "paths-are-not-compared", question: without("allowedHostPaths")},
	{Name: "paths-may-be-written", question: spec(func(spec cases.Object) {
		list, _ := spec["allowedHostPaths"].([]any)
		for _, path := range list {
			path.(cases.Object)["readOnly"] = false
		}
	})},
	{Name: "paths-by-letter", question: spec(func(spec cases.Object) {
		list, _ := spec["allowedHostPaths"].([]any)
		for _, path := range list {
			if path.(cases.Object)["pathPrefix"] == "/data/project/" {
				path.(cases.Object)["pathPrefix"] = "/data/project//"
			}
		}
	})},
	{Name: "flex-drivers", question: without("allowedFlexVolumes")},
	{Name: "csi-drivers", question: without("allowedCSIDrivers")},
	{Name: "unsafe-sysctls", question: without("allowedUnsafeSysctls")},
	{Name: "forbidden-sysctls", question: without("forbiddenSysctls")},
	{Name: "proc-mounts", question: without("allowedProcMountTypes")},
	{Name: "runtime-classes", question: without("runtimeClass")},
	{Name: "host-ports", question: without("hostPorts")},
	{Name: "seccomp-docker", question: annotation(seccompAllowed, func(list string) string { return strings.ReplaceAll(list, "docker/default", "localhost/none") })},
	{Name: "seccomp-default", question: annotation(seccompDefault, func(string) string { return "" })},
	{Name: "app-armor-list", question: annotation(appArmorAllowed, func(list string) string { return list + ",localhost/b" })},
	{Name: "app-armor-empty-list", question: func(policy, _ cases.Object) {
		metadata, _ := policy["metadata"].(cases.Object)
		if annotations, ok := metadata["annotations"].(cases.Object); ok && annotations[appArmorAllowed] == "" {
			delete(annotations, appArmorAllowed)
		}
	}},
	{Name: "app-armor-default", question: annotation(appArmorDefault, func(string) string { return "" })},
	{Name: "empty-groups-are-none", question: context(func(context cases.Object) {
		if list, ok := context["supplementalGroups"].([]any); ok && len(list) == 0 {
			delete(context, "supplementalGroups")
		}
	})},
	{Name: "seccomp-field", question: context(func(context cases.Object) { delete(context, "seccompProfile") })},
	{Name: "no-init-containers", question: forget("initContainers")},
	{Name: "no-ephemeral-containers", question: forget("ephemeralContainers")},
	{Name: "host-network", answer: not("hostNetwork")},
	{Name: "host-pid", answer: not("hostPID")},
	{Name: "read-only-root", answer: not("readOnlyRootFilesystem")},
	{Name: "privileged", answer: not("privileged")},
	{Name: "always-mutated", answer: func(answer *kube.Answer) { answer.Mutated = true }},
	{Name: "changes-mean-nothing", blind: true},
	{Name: "first-policy-is-merged", first: true},
	{Name: "recorded-policy-is-forgotten", question: func(_, pod cases.Object) {
		metadata, _ := pod["metadata"].(cases.Object)
		if annotations, ok := metadata["annotations"].(cases.Object); ok {
			delete(annotations, "kubernetes.io/psp")
		}
	}},
	{Name: "always-valid", answer: func(answer *kube.Answer) { answer.Invalid = false }},
}

// Find is the lie of a name; none if there is none.
func Find(name string) *Lie {
	for index := range All {
		if All[index].Name == name {
			return &All[index]
		}
	}
	return nil
}
