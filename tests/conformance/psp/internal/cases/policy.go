package cases

import (
	"math/rand/v2"
	"strings"
)

const (
	seccompPrefix  = "seccomp.security.alpha.kubernetes.io"
	appArmorPrefix = "apparmor.security.beta.kubernetes.io"
)

// Policy makes a PodSecurityPolicy. It need not be valid: the caller has the real validation.
func Policy(random *rand.Rand, name string) Object {
	s := source{random}
	// A policy of which everything is tight admits nothing, and a loose one everything.
	tight := pick(s, 3, 10, 25, 50)
	spec := Object{
		"runAsUser":          s.strategy(tight, "MustRunAs", "MustRunAsNonRoot"),
		"fsGroup":            s.strategy(tight, "MustRunAs", "MayRunAs"),
		"supplementalGroups": s.strategy(tight, "MustRunAs", "MayRunAs"),
		"seLinux":            Object{"rule": "RunAsAny"},
	}
	if s.chance(tight) {
		spec["seLinux"] = Object{"rule": "MustRunAs", "seLinuxOptions": s.seLinux()}
		if s.chance(3) {
			spec["seLinux"] = Object{"rule": "MustRunAs"}
		}
	}
	maybe(s, spec, tight, "runAsGroup", func() any { return s.strategy(70, "MustRunAs", "MayRunAs") })
	for _, key := range []string{"privileged", "hostNetwork", "hostPID", "hostIPC"} {
		spec[key] = !s.chance(tight)
	}
	s.flag(spec, tight/2, "readOnlyRootFilesystem")
	s.flag(spec, tight, "allowPrivilegeEscalation")
	s.flag(spec, tight, "defaultAllowPrivilegeEscalation")
	maybe(s, spec, tight, "defaultAddCapabilities", func() any { return some(s, 2, capabilities...) })
	maybe(s, spec, tight, "requiredDropCapabilities", func() any { return some(s, 2, capabilities...) })
	spec["allowedCapabilities"] = []any{"*"}
	if s.chance(tight + 20) {
		spec["allowedCapabilities"] = some(s, 4, capabilities...)
	}
	spec["volumes"] = []any{"*"}
	if s.chance(tight) {
		spec["volumes"] = s.kinds()
	}
	maybe(s, spec, tight+20, "allowedHostPaths", func() any { return s.hostPaths() })
	maybe(s, spec, tight, "allowedFlexVolumes", func() any { return s.named("driver") })
	maybe(s, spec, tight, "allowedCSIDrivers", func() any { return s.named("name") })
	maybe(s, spec, 100-tight, "hostPorts", func() any { return s.ports() })
	maybe(s, spec, 40, "allowedUnsafeSysctls", func() any { return some(s, 2, append(sysctls, "*", "kernel.*", "net.*")...) })
	maybe(s, spec, tight, "forbiddenSysctls", func() any { return some(s, 2, append(sysctls, "*", "kernel.*", "net.ipv4.*")...) })
	maybe(s, spec, 40, "allowedProcMountTypes", func() any { return some(s, 2, "Default", "Unmasked") })
	maybe(s, spec, tight, "runtimeClass", func() any { return s.classes() })
	metadata := Object{"name": name}
	annotations := Object{}
	// The API refuses an empty entry among others here, and an AppArmor one has no effect.
	s.profiles(annotations, seccompPrefix, 60+tight/2, append(seccomp, "*", "*"), seccomp)
	s.profiles(annotations, appArmorPrefix, tight, append(appArmor, ""), appArmor)
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return Object{"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": metadata, "spec": spec}
}

func (s source) strategy(tight int, rules ...string) Object {
	if !s.chance(tight) {
		return Object{"rule": "RunAsAny"}
	}
	rule := pick(s, rules...)
	strategy := Object{"rule": rule}
	if ranges := s.ids(); rule != "MustRunAsNonRoot" && (len(ranges) > 0 || s.chance(10)) {
		strategy["ranges"] = ranges
	} else if rule != "MustRunAsNonRoot" {
		strategy["ranges"] = []any{Object{"min": 1, "max": 65535}}
	}
	return strategy
}

func (s source) kinds() []any {
	kinds := some(s, 12, append(volumes, "secret", "secret", "secret")...)
	for index, kind := range kinds {
		if kind == "cephfs" {
			kinds[index] = "cephFS"
		}
	}
	return kinds
}

func (s source) hostPaths() []any {
	list := make([]any, s.IntN(4))
	for index := range list {
		path := Object{"pathPrefix": pick(s, paths...)}
		s.flag(path, 60, "readOnly")
		list[index] = path
	}
	return list
}

func (s source) named(key string) []any {
	list := make([]any, s.IntN(3))
	for index := range list {
		list[index] = Object{key: pick(s, drivers...)}
	}
	return list
}

func (s source) ports() []any {
	list := make([]any, s.IntN(3))
	for index := range list {
		least := pick(s, 0, 80, 443, 8000)
		list[index] = Object{"min": least, "max": least + pick(s, 0, 1, 1000)}
	}
	return list
}

func (s source) classes() Object {
	allowed := some(s, 2, classes...)
	if s.chance(30) {
		allowed = []any{"*"}
	}
	class := Object{"allowedRuntimeClassNames": allowed}
	maybe(s, class, 50, "defaultRuntimeClassName", func() any { return pick(s, classes...) })
	return class
}

func (s source) profiles(annotations Object, prefix string, percent int, allowed, defaults []string) {
	maybe(s, annotations, percent, prefix+"/allowedProfileNames", func() any {
		names := make([]string, s.IntN(4))
		for index := range names {
			names[index] = pick(s, allowed...)
		}
		return strings.Join(names, ",")
	})
	maybe(s, annotations, percent/2, prefix+"/defaultProfileName", func() any { return pick(s, append(defaults, "")...) })
}
