package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A change makes a spec of a pod more special.
type change func(*corev1.PodSpec)

// spec is a plain pod with changes.
func (b *builder) spec(account string, changes ...change) corev1.PodSpec {
	spec := corev1.PodSpec{ServiceAccountName: account}
	for number := range 1 + b.rand.IntN(4)/3 {
		spec.Containers = append(spec.Containers, b.container([]string{"main", "sidecar"}[number]))
	}
	if b.chance(20) {
		spec.InitContainers = append(spec.InitContainers, b.container("prepare"))
	}
	if b.chance(60) {
		b.volume(&spec, "config", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}}})
	}
	if b.chance(40) {
		b.volume(&spec, "scratch", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	}
	if b.chance(30) {
		b.volume(&spec, "keys", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}})
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

func (b *builder) container(name string) corev1.Container {
	container := corev1.Container{
		Name:  name,
		Image: fmt.Sprintf("registry.example.org/%s:%d.%d", one(b, "web", "worker", "proxy", "agent"), 1+b.rand.IntN(3), b.rand.IntN(20)),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
		},
	}
	if name == "main" && b.chance(60) {
		container.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
		container.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http")}}}
	}
	return container
}

// volume adds a volume, mounted by the first container.
func (b *builder) volume(spec *corev1.PodSpec, name string, source corev1.VolumeSource) {
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	first := &spec.Containers[0]
	readOnly := source.HostPath == nil && source.EmptyDir == nil && source.PersistentVolumeClaim == nil
	first.VolumeMounts = append(first.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/mnt/" + name, ReadOnly: readOnly})
}

// each changes the security context of every container.
func each(set func(*corev1.SecurityContext)) change {
	return func(spec *corev1.PodSpec) {
		for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for index := range list {
				if list[index].SecurityContext == nil {
					list[index].SecurityContext = &corev1.SecurityContext{}
				}
				set(list[index].SecurityContext)
			}
		}
	}
}

func contextOf(spec *corev1.PodSpec) *corev1.PodSecurityContext {
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	return spec.SecurityContext
}

// user sets the user of the pod.
func user(uid int64) change {
	return func(spec *corev1.PodSpec) { contextOf(spec).RunAsUser = &uid }
}

// nonRoot asks the kubelet to refuse root.
func nonRoot(spec *corev1.PodSpec) {
	yes := true
	contextOf(spec).RunAsNonRoot = &yes
}

// careful makes a pod fit for the restricted level.
func careful(spec *corev1.PodSpec) {
	nonRoot(spec)
	contextOf(spec).SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	each(func(context *corev1.SecurityContext) {
		no := false
		context.AllowPrivilegeEscalation = &no
		context.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	})(spec)
}

// noTokens leaves the token of the account out.
func noTokens(spec *corev1.PodSpec) {
	no := false
	spec.AutomountServiceAccountToken = &no
}

var asPrivileged = each(func(context *corev1.SecurityContext) {
	yes := true
	context.Privileged = &yes
})

func adding(capability corev1.Capability) change {
	return each(func(context *corev1.SecurityContext) {
		context.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{capability}}
	})
}

func onHostNetwork(spec *corev1.PodSpec) {
	spec.HostNetwork = true
	spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	for list := range spec.Containers {
		for port := range spec.Containers[list].Ports {
			spec.Containers[list].Ports[port].HostPort = spec.Containers[list].Ports[port].ContainerPort
		}
	}
}

func withHostPID(spec *corev1.PodSpec) { spec.HostPID = true }

func hostPort(number int32) change {
	return func(spec *corev1.PodSpec) {
		spec.Containers[0].Ports = append(spec.Containers[0].Ports, corev1.ContainerPort{Name: "host", ContainerPort: number, HostPort: number})
	}
}

// hostPath mounts a folder of the node.
func (b *builder) hostPath(path string, isReadOnly bool) change {
	return func(spec *corev1.PodSpec) {
		name := fmt.Sprintf("host-%d", len(spec.Volumes))
		b.volume(spec, name, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}})
		mounts := spec.Containers[0].VolumeMounts
		mounts[len(mounts)-1].ReadOnly = isReadOnly
	}
}

// disk mounts a claim.
func (b *builder) disk(spec *corev1.PodSpec) {
	b.volume(spec, "disk", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}})
}

// seLinux sets a level, which the baseline allows, or a type, which it does not.
func (b *builder) seLinux(spec *corev1.PodSpec) {
	contextOf(spec).SELinuxOptions = one(b, &corev1.SELinuxOptions{Level: "s0:c1,c2"}, &corev1.SELinuxOptions{Type: "spc_t"})
}

// unusual is a change that a team makes now and then.
func (b *builder) unusual() change {
	return one[change](b, user(1000), user(0), nonRoot, careful, careful, b.seLinux, adding("NET_ADMIN"), adding("CHOWN"), b.disk, noTokens,
		hostPort(8443), func(*corev1.PodSpec) {}, func(*corev1.PodSpec) {}, func(*corev1.PodSpec) {},
		func(spec *corev1.PodSpec) {
			contextOf(spec).Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ip_local_port_range", Value: "1024 65535"}}
		})
}
