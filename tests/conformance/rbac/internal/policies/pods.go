package policies

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A generator makes pods around the edges of a PodSecurityPolicy: most fields of a pod are as the policy wants them or
// not given, so that one wrong field decides, and the values are those at the ends of the policy's ranges.
type generator struct {
	random *rand.Rand
	policy *podSecurityPolicy
	// daring is how likely a field is set to something that may be refused, in percent.
	daring int
}

func (g *generator) chance(percent int) bool { return g.random.IntN(100) < percent }

func pick[T any](g *generator, values ...T) T { return values[g.random.IntN(len(values))] }

func pointer[T any](value T) *T { return &value }

// maybe gives a value now and then.
func maybe[T any](g *generator, values ...T) *T {
	if !g.chance(g.daring) {
		return nil
	}
	return pointer(pick(g, values...))
}

// ids are the ends of ranges and their neighbours.
func ids(ranges []idRange) []int64 {
	values := []int64{0, 1, 1000, 65535, 65536}
	for _, one := range ranges {
		values = append(values, one.Min, one.Max, one.Min, one.Max, one.Min+1, one.Max+1)
		if one.Min > 0 {
			values = append(values, one.Min-1)
		}
	}
	return values
}

func (g *generator) pod(number int) *corev1.Pod {
	g.daring = pick(g, 0, 5, 10, 10, 20, 40)
	spec := corev1.PodSpec{
		AutomountServiceAccountToken: pointer(false),
		SecurityContext:              g.podContext(),
		HostNetwork:                  g.chance(g.daring / 2),
		HostPID:                      g.chance(g.daring / 3),
		HostIPC:                      g.chance(g.daring / 3),
		RuntimeClassName:             maybe(g, "kata", "gvisor"),
	}
	if g.chance(g.daring / 3) {
		spec.HostUsers = pointer(false)
	}
	for index := range g.random.IntN(3) {
		spec.Volumes = append(spec.Volumes, g.volume(fmt.Sprintf("v%d", index)))
	}
	for index := range 1 + g.random.IntN(2) {
		spec.Containers = append(spec.Containers, g.container(fmt.Sprintf("c%d", index), spec.Volumes))
	}
	if g.chance(30) {
		spec.InitContainers = append(spec.InitContainers, g.container("init", spec.Volumes))
	}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", number)},
		Spec:       spec,
	}
}

func (g *generator) podContext() *corev1.PodSecurityContext {
	if g.chance(20) {
		return nil
	}
	context := &corev1.PodSecurityContext{
		RunAsUser:       maybe(g, ids(g.policy.Spec.RunAsUser.Ranges)...),
		RunAsGroup:      maybe(g, ids(g.policy.Spec.RunAsGroup.Ranges)...),
		RunAsNonRoot:    maybe(g, true, true, false),
		FSGroup:         maybe(g, ids(g.policy.Spec.FSGroup.Ranges)...),
		SELinuxOptions:  g.seLinux(),
		SeccompProfile:  g.seccomp(),
		AppArmorProfile: g.appArmor(),
	}
	if g.chance(g.daring) {
		for range 1 + g.random.IntN(2) {
			context.SupplementalGroups = append(context.SupplementalGroups, pick(g, ids(g.policy.Spec.SupplementalGroups.Ranges)...))
		}
	}
	if g.chance(g.daring) {
		names := []string{"kernel.shm_rmid_forced", "net.ipv4.tcp_syncookies", "net.core.somaxconn", "kernel.msgmax", "net.ipv4.ip_unprivileged_port_start"}
		context.Sysctls = append(context.Sysctls, corev1.Sysctl{Name: pick(g, names...), Value: "1"})
	}
	return context
}

func (g *generator) seLinux() *corev1.SELinuxOptions {
	if !g.chance(g.daring) {
		return nil
	}
	options := &corev1.SELinuxOptions{}
	if wanted := g.policy.Spec.SELinux.SELinuxOptions; wanted != nil && g.chance(70) {
		*options = *wanted
		if options.Level == "s0:c1,c2" && g.chance(40) {
			options.Level = "s0:c2,c1"
		}
	}
	switch g.random.IntN(8) {
	case 0:
		options.Type = pick(g, "spc_t", "container_t", "container_init_t")
	case 1:
		options.Level = pick(g, "s0", "s0:c1,c2,c3", "s1:c1,c2", "s0:c3,c4")
	case 2:
		options.User = "system_u"
	case 3:
		options.Role = "system_r"
	}
	return options
}

func (g *generator) seccomp() *corev1.SeccompProfile {
	if !g.chance(g.daring) {
		return nil
	}
	profile := &corev1.SeccompProfile{Type: pick(g, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeLocalhost)}
	if profile.Type == corev1.SeccompProfileTypeLocalhost {
		profile.LocalhostProfile = pointer(pick(g, "audit.json", "other.json"))
	}
	return profile
}

func (g *generator) appArmor() *corev1.AppArmorProfile {
	if !g.chance(g.daring) {
		return nil
	}
	profile := &corev1.AppArmorProfile{Type: pick(g, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined, corev1.AppArmorProfileTypeLocalhost)}
	if profile.Type == corev1.AppArmorProfileTypeLocalhost {
		profile.LocalhostProfile = pointer(pick(g, "tight", "other"))
	}
	return profile
}

func (g *generator) container(name string, volumes []corev1.Volume) corev1.Container {
	container := corev1.Container{
		Name:            name,
		Image:           "registry.example.com/image",
		SecurityContext: g.containerContext(),
		Resources:       corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}},
	}
	if g.chance(g.daring) {
		port := pick(g, int32(0), 80, 7999, 8000, 8500, 9000, 9001)
		container.Ports = append(container.Ports, corev1.ContainerPort{ContainerPort: 80 + int32(len(name)), HostPort: port})
	}
	for _, volume := range volumes {
		if g.chance(70) {
			container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{
				Name: volume.Name, MountPath: "/mnt/" + volume.Name, ReadOnly: g.chance(60),
			})
		}
	}
	return container
}

func (g *generator) containerContext() *corev1.SecurityContext {
	if g.chance(40) {
		return nil
	}
	context := &corev1.SecurityContext{
		RunAsUser:                maybe(g, ids(g.policy.Spec.RunAsUser.Ranges)...),
		RunAsGroup:               maybe(g, ids(g.policy.Spec.RunAsGroup.Ranges)...),
		RunAsNonRoot:             maybe(g, true, true, false),
		Privileged:               maybe(g, true, false, false),
		ReadOnlyRootFilesystem:   maybe(g, true, false),
		AllowPrivilegeEscalation: maybe(g, true, false),
		SELinuxOptions:           g.seLinux(),
		SeccompProfile:           g.seccomp(),
		AppArmorProfile:          g.appArmor(),
		ProcMount:                maybe(g, corev1.DefaultProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount),
	}
	if g.chance(g.daring) {
		names := []corev1.Capability{"NET_BIND_SERVICE", "CHOWN", "KILL", "SYS_TIME", "ALL"}
		context.Capabilities = &corev1.Capabilities{}
		for range g.random.IntN(3) {
			context.Capabilities.Add = append(context.Capabilities.Add, pick(g, names...))
		}
		for range g.random.IntN(3) {
			context.Capabilities.Drop = append(context.Capabilities.Drop, pick(g, names...))
		}
	}
	return context
}

func (g *generator) volume(name string) corev1.Volume {
	volume := corev1.Volume{Name: name}
	kind := g.random.IntN(4)
	if g.chance(g.daring) {
		kind = 4 + g.random.IntN(8)
	}
	switch kind {
	case 0:
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
	case 1:
		volume.Secret = &corev1.SecretVolumeSource{SecretName: "s"}
	case 2:
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}
	case 3:
		volume.HostPath = &corev1.HostPathVolumeSource{Path: g.path()}
		if len(g.policy.Spec.AllowedHostPaths) == 0 {
			volume.HostPath, volume.EmptyDir = nil, &corev1.EmptyDirVolumeSource{}
		}
	case 4, 5:
		volume.HostPath = &corev1.HostPathVolumeSource{Path: g.path()}
	case 6:
		volume.NFS = &corev1.NFSVolumeSource{Server: "server", Path: "/"}
	case 7:
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}
	case 8:
		volume.CSI = &corev1.CSIVolumeSource{Driver: pick(g, "csi.example.com", "other.example.com")}
	case 9:
		volume.FlexVolume = &corev1.FlexVolumeSource{Driver: pick(g, "example.com/lvm", "example.com/other")}
	case 10:
		volume.Projected = g.projected()
	case 11:
		volume.CephFS = &corev1.CephFSVolumeSource{Monitors: []string{"m"}}
	}
	return volume
}

func (g *generator) path() string {
	paths := []string{"/", "/etc/shadow", "/data", "/var/log/"}
	for _, allowed := range g.policy.Spec.AllowedHostPaths {
		path := allowed.PathPrefix
		paths = append(paths, path, path+"/", path+"/below", path+"more", path+"/a/b/")
	}
	return pick(g, paths...)
}

// projected is the token of a service account, or something like it.
func (g *generator) projected() *corev1.ProjectedVolumeSource {
	token := &corev1.ServiceAccountTokenProjection{Path: pick(g, "token", "token", "other"), ExpirationSeconds: pointer(int64(3607))}
	if g.chance(15) {
		token.Audience = "vault"
	}
	sources := []corev1.VolumeProjection{
		{ServiceAccountToken: token},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: pick(g, "kube-root-ca.crt", "kube-root-ca.crt", "mine")}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: pick(g, "metadata.namespace", "metadata.namespace", "metadata.name")},
		}}}},
	}
	if g.chance(15) {
		sources = append(sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}})
	}
	return &corev1.ProjectedVolumeSource{Sources: sources}
}
