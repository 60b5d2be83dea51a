package main

import (
	"math/rand/v2"

	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The kernel parameters that later releases count as safe, and this one does not, are left out.
var sysctls = []string{"kernel.shm_rmid_forced", "net.ipv4.tcp_syncookies", "kernel.msgmax", "net.core.somaxconn"}

type maker struct{ *rand.Rand }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

func (m maker) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m maker) some(most int, from ...string) []string {
	var list []string
	for range m.IntN(most + 1) {
		list = append(list, m.pick(from...))
	}
	return list
}

func maybe[T any](m maker, percent int, value T) *T {
	if m.chance(percent) {
		return &value
	}
	return nil
}

func typed[T ~string](list []string) []T {
	var typed []T
	for _, text := range list {
		typed = append(typed, T(text))
	}
	return typed
}

func (m maker) annotations() map[string]string {
	all := map[string]string{}
	if m.chance(97) {
		all[securityv1.UIDRangeAnnotation] = m.pick("1000/100", "1000/100", "1000/100", "1000/100", "1000-1099", "0/10", "", "x", "5/0")
	}
	if m.chance(97) {
		all[securityv1.MCSAnnotation] = m.pick("s0:c1,c0", "s0:c1,c0", "s0:c1,c0", "")
	}
	if m.chance(70) {
		all[securityv1.SupplementalGroupsAnnotation] = m.pick("1000/100", "1000/100", "1000/100,5/2", "7-9,1/1", "", "x", "1/1,x")
	}
	return all
}

func (m maker) id() int64 { return []int64{0, 1, 1000, 1000, 1000, 1050, 1100, 5}[m.IntN(8)] }

func (m maker) ranges() []securityv1.IDRange {
	var ranges []securityv1.IDRange
	for range m.IntN(3) {
		ranges = append(ranges, securityv1.IDRange{Min: m.id(), Max: m.id() + 50})
	}
	return ranges
}

func (m maker) constraints() *securityv1.SecurityContextConstraints {
	scc := &securityv1.SecurityContextConstraints{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	loose := m.chance(40)
	often := 15
	if loose {
		often = 85
	}
	scc.AllowPrivilegedContainer = m.chance(often)
	scc.AllowHostNetwork, scc.AllowHostPorts = m.chance(often), m.chance(often)
	scc.AllowHostPID, scc.AllowHostIPC = m.chance(often), m.chance(often)
	scc.ReadOnlyRootFilesystem = m.chance(20)
	scc.DefaultAddCapabilities = typed[corev1.Capability](m.some(1, "CHOWN", "KILL", "CAP_SYS_ADMIN"))
	scc.RequiredDropCapabilities = typed[corev1.Capability](m.some(1, "ALL", "MKNOD"))
	scc.AllowedCapabilities = typed[corev1.Capability](m.some(3, "CHOWN", "KILL", "NET_ADMIN", "NET_BIND_SERVICE", "SYS_ADMIN"))
	if loose && m.chance(30) {
		scc.AllowedCapabilities = []corev1.Capability{"*"}
	}
	scc.Volumes = typed[securityv1.FSType](m.some(6, "secret", "configMap", "emptyDir", "projected", "hostPath", "flexVolume", "csi", "cephFS", "storageOS", "vsphere", "none"))
	if m.chance(often) {
		scc.Volumes = []securityv1.FSType{"*"}
	}
	for range m.IntN(2) {
		scc.AllowedFlexVolumes = append(scc.AllowedFlexVolumes, securityv1.AllowedFlexVolume{Driver: m.pick("a/b", "c/d")})
	}
	if m.chance(60) {
		scc.SeccompProfiles = m.some(2, "runtime/default", "docker/default", "localhost/a", "*", "unconfined")
	}
	scc.AllowedUnsafeSysctls = m.some(1, "kernel.msgmax", "net.*", "*")
	scc.ForbiddenSysctls = m.some(1, "kernel.shm*", "net.ipv4.tcp_syncookies")
	scc.AllowPrivilegeEscalation = maybe(m, 70, m.chance(60))
	scc.DefaultAllowPrivilegeEscalation = maybe(m, 30, m.chance(50))
	scc.RunAsUser = securityv1.RunAsUserStrategyOptions{
		Type:        securityv1.RunAsUserStrategyType(m.pick("MustRunAs", "MustRunAsRange", "MustRunAsRange", "MustRunAsNonRoot", "RunAsAny", "RunAsAny")),
		UID:         maybe(m, 90, m.id()),
		UIDRangeMin: maybe(m, 40, m.id()),
	}
	if scc.RunAsUser.UIDRangeMin != nil || m.chance(5) {
		scc.RunAsUser.UIDRangeMax = maybe(m, 90, m.id()+100)
	}
	scc.SELinuxContext.Type = securityv1.SELinuxContextStrategyType(m.pick("MustRunAs", "RunAsAny", "RunAsAny"))
	if m.chance(40) {
		scc.SELinuxContext.SELinuxOptions = m.seLinux()
	}
	scc.FSGroup = securityv1.FSGroupStrategyOptions{Type: securityv1.FSGroupStrategyType(m.pick("MustRunAs", "RunAsAny", "RunAsAny")), Ranges: m.ranges()}
	groups := securityv1.SupplementalGroupsStrategyType(m.pick("MustRunAs", "RunAsAny", "RunAsAny"))
	scc.SupplementalGroups = securityv1.SupplementalGroupsStrategyOptions{Type: groups, Ranges: m.ranges()}
	if m.chance(2) {
		scc.FSGroup.Type = "Odd"
	}
	if m.chance(2) {
		scc.RunAsUser.Type = ""
	}
	return scc
}

func (m maker) seLinux() *corev1.SELinuxOptions {
	return &corev1.SELinuxOptions{
		User: m.pick("", "", "", "", "", "u"), Role: m.pick("", "", "", "", "", "r"), Type: m.pick("", "", "", "container_t"),
		Level: m.pick("", "s0:c1,c0", "s0:c0,c1", "s0:c1", "s0"),
	}
}

func (m maker) profile() *corev1.SeccompProfile {
	switch m.IntN(5) {
	case 0:
		file := m.pick("a", "b")
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: &file}
	case 1:
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
	}
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
}

func (m maker) pod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{}}}
	spec := &pod.Spec
	spec.HostNetwork, spec.HostPID, spec.HostIPC = m.chance(10), m.chance(5), m.chance(5)
	for _, name := range m.some(2, "a", "b", "c") {
		spec.Volumes = append(spec.Volumes, m.volume(name))
	}
	for range m.IntN(2) {
		spec.InitContainers = append(spec.InitContainers, m.container("i"))
	}
	spec.Containers = append(spec.Containers, m.container("c"))
	// A profile by field or by annotation: which of both goes first has changed between releases.
	byField := m.chance(70)
	if m.chance(50) {
		context := &corev1.PodSecurityContext{}
		context.RunAsUser = maybe(m, 30, m.id())
		context.RunAsNonRoot = maybe(m, 20, m.chance(70))
		context.FSGroup = maybe(m, 30, m.id())
		if m.chance(30) {
			context.SupplementalGroups = []int64{m.id()}
		}
		if m.chance(20) {
			context.SELinuxOptions = m.seLinux()
		}
		if byField && m.chance(30) {
			context.SeccompProfile = m.profile()
		}
		for _, name := range m.some(1, sysctls...) {
			context.Sysctls = append(context.Sysctls, corev1.Sysctl{Name: name, Value: "1"})
		}
		spec.SecurityContext = context
	}
	if !byField {
		const prefix = "seccomp.security.alpha.kubernetes.io/"
		if m.chance(50) {
			pod.Annotations[prefix+"pod"] = m.pick("runtime/default", "docker/default", "localhost/a", "unconfined", "odd")
		}
		if m.chance(30) {
			pod.Annotations["container."+prefix+"c"] = m.pick("runtime/default", "docker/default", "localhost/a", "unconfined")
		}
	}
	return pod
}

func (m maker) volume(name string) corev1.Volume {
	sources := []corev1.VolumeSource{
		{},
		{Secret: &corev1.SecretVolumeSource{SecretName: "s"}},
		{HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
		{FlexVolume: &corev1.FlexVolumeSource{Driver: m.pick("a/b", "c/d")}},
		{CephFS: &corev1.CephFSVolumeSource{}},
		{StorageOS: &corev1.StorageOSVolumeSource{}},
		{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{}},
		{CSI: &corev1.CSIVolumeSource{}},
		{ConfigMap: &corev1.ConfigMapVolumeSource{}},
		{Projected: &corev1.ProjectedVolumeSource{Sources: m.token()}},
		{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{}}}}},
	}
	return corev1.Volume{Name: name, VolumeSource: sources[m.IntN(len(sources))]}
}

// token is the volume with the token of a service account, or some of it.
func (m maker) token() []corev1.VolumeProjection {
	root := &corev1.ConfigMapProjection{Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}
	root.Name = "kube-root-ca.crt"
	namespace := corev1.DownwardAPIVolumeFile{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}
	all := []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
		{ConfigMap: root},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{namespace}}},
	}
	return all[:m.IntN(4)]
}

func (m maker) container(name string) corev1.Container {
	container := corev1.Container{Name: name}
	if m.chance(20) {
		port := corev1.ContainerPort{ContainerPort: 80}
		if m.chance(40) {
			port.HostPort = 80
		}
		container.Ports = append(container.Ports, port)
	}
	if m.chance(40) {
		return container
	}
	context := &corev1.SecurityContext{}
	context.Privileged = maybe(m, 15, m.chance(50))
	context.RunAsUser = maybe(m, 30, m.id())
	context.RunAsNonRoot = maybe(m, 20, m.chance(70))
	context.ReadOnlyRootFilesystem = maybe(m, 20, m.chance(70))
	context.AllowPrivilegeEscalation = maybe(m, 20, m.chance(50))
	if m.chance(40) {
		context.Capabilities = &corev1.Capabilities{
			Add:  typed[corev1.Capability](m.some(1, "CHOWN", "KILL", "NET_ADMIN", "CAP_SYS_ADMIN")),
			Drop: typed[corev1.Capability](m.some(1, "ALL", "MKNOD", "CHOWN")),
		}
	}
	if m.chance(15) {
		context.SELinuxOptions = m.seLinux()
	}
	if m.chance(15) {
		context.SeccompProfile = m.profile()
	}
	container.SecurityContext = context
	return container
}
