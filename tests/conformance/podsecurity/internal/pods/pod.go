package pods

import (
	"math/rand/v2"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maker makes one pod.
type maker struct {
	*rand.Rand
	// odd is how often, in percent, something is not as it should be.
	odd int
	// strict pods start out as restricted wants them.
	strict bool
}

// template is a random pod, or the template of one.
func template(r *rand.Rand) corev1.PodTemplateSpec {
	m := maker{Rand: r, odd: pick(r, []int{0, 1, 4, 15, 50}), strict: chance(r, 60)}
	return corev1.PodTemplateSpec{ObjectMeta: m.metadata(), Spec: m.spec()}
}

// is tells whether something odd is to be.
func (m maker) is() bool { return chance(m.Rand, m.odd) }

func some[T any](value T) *T { return &value }

// flag is a truth that may be absent.
func (m maker) flag() *bool {
	if chance(m.Rand, 30) {
		return nil
	}
	return some(chance(m.Rand, 50))
}

func (m maker) metadata() metav1.ObjectMeta {
	metadata := metav1.ObjectMeta{}
	for range m.IntN(4) {
		if !m.is() {
			continue
		}
		value := pick(m.Rand, annotations)
		if chance(m.Rand, 40) {
			value = strange(m.Rand)
		}
		metav1.SetMetaDataAnnotation(&metadata, pick(m.Rand, annotationKeys), value)
	}
	return metadata
}

func (m maker) spec() corev1.PodSpec {
	spec := corev1.PodSpec{HostNetwork: m.is(), HostPID: m.is(), HostIPC: m.is()}
	if m.is() {
		spec.OS = &corev1.PodOS{Name: corev1.OSName(pick(m.Rand, systems))}
	}
	if m.is() {
		spec.HostUsers = m.flag()
	}
	if m.is() {
		spec.RuntimeClassName = some(pick(m.Rand, runtimeClasses))
	}
	if m.strict || chance(m.Rand, 60) {
		spec.SecurityContext = m.podContext()
	}
	for range m.IntN(4) {
		spec.Volumes = append(spec.Volumes, m.volume())
	}
	for range m.IntN(3) {
		spec.InitContainers = append(spec.InitContainers, m.container())
	}
	for range m.IntN(4) {
		spec.Containers = append(spec.Containers, m.container())
	}
	if chance(m.Rand, 25) {
		for range 1 + m.IntN(2) {
			common := corev1.EphemeralContainerCommon(m.container())
			spec.EphemeralContainers = append(spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: common})
		}
	}
	return spec
}

func (m maker) podContext() *corev1.PodSecurityContext {
	context := &corev1.PodSecurityContext{}
	if m.strict && chance(m.Rand, 70) {
		context.RunAsNonRoot = some(true)
		context.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	if m.is() {
		context.RunAsNonRoot = m.flag()
	}
	if m.is() {
		context.RunAsUser = some(pick(m.Rand, []int64{0, 0, 1, -1, 1 << 40}))
	}
	if m.is() {
		context.SELinuxOptions = m.seLinux()
	}
	if m.is() {
		context.SeccompProfile = m.seccomp()
	}
	if m.is() {
		context.AppArmorProfile = m.appArmor()
	}
	for range m.IntN(4) {
		if m.is() {
			context.Sysctls = append(context.Sysctls, corev1.Sysctl{Name: pick(m.Rand, sysctls), Value: "1"})
		}
	}
	if m.is() {
		context.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: m.flag()}
	}
	return context
}

func (m maker) container() corev1.Container {
	container := corev1.Container{Name: pick(m.Rand, containerNames), Image: "i"}
	for range m.IntN(3) {
		port := corev1.ContainerPort{ContainerPort: int32(pick(m.Rand, []int{80, 8080, 9, 443}))}
		if m.is() {
			port.HostPort = int32(pick(m.Rand, []int{80, 8080, 9, 10, 0, -1}))
		}
		container.Ports = append(container.Ports, port)
	}
	for _, probe := range []**corev1.Probe{&container.LivenessProbe, &container.ReadinessProbe, &container.StartupProbe} {
		if m.is() {
			*probe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: m.get(), TCPSocket: m.socket()}}
		}
	}
	if m.is() {
		container.Lifecycle = &corev1.Lifecycle{}
		for _, handler := range []**corev1.LifecycleHandler{&container.Lifecycle.PostStart, &container.Lifecycle.PreStop} {
			if chance(m.Rand, 60) {
				*handler = &corev1.LifecycleHandler{HTTPGet: m.get(), TCPSocket: m.socket()}
			}
		}
	}
	if m.strict || chance(m.Rand, 60) {
		container.SecurityContext = m.context()
	}
	if m.is() {
		container.SecurityContext = nil
	}
	return container
}

func (m maker) get() *corev1.HTTPGetAction {
	if chance(m.Rand, 40) {
		return nil
	}
	return &corev1.HTTPGetAction{Host: pick(m.Rand, hosts), Path: "/"}
}

func (m maker) socket() *corev1.TCPSocketAction {
	if chance(m.Rand, 70) {
		return nil
	}
	return &corev1.TCPSocketAction{Host: pick(m.Rand, hosts)}
}

func (m maker) context() *corev1.SecurityContext {
	context := &corev1.SecurityContext{}
	if m.strict {
		context.AllowPrivilegeEscalation = some(false)
		context.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		if chance(m.Rand, 40) {
			context.RunAsNonRoot = some(true)
			context.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: some("p")}
		}
	}
	if m.is() {
		context.AllowPrivilegeEscalation = m.flag()
	}
	if m.is() {
		context.Privileged = m.flag()
	}
	if m.is() {
		context.RunAsNonRoot = m.flag()
	}
	if m.is() {
		context.RunAsUser = some(pick(m.Rand, []int64{0, 0, 1, -1}))
	}
	if m.is() {
		context.Capabilities = &corev1.Capabilities{}
		if chance(m.Rand, 60) {
			context.Capabilities.Drop = m.names(drops)
		}
	}
	if m.is() && context.Capabilities != nil {
		context.Capabilities.Add = m.names(capabilities)
	}
	if m.is() {
		context.ProcMount = some(corev1.ProcMountType(pick(m.Rand, mounts)))
	}
	if m.is() {
		context.SELinuxOptions = m.seLinux()
	}
	if m.is() {
		context.SeccompProfile = m.seccomp()
	}
	if m.is() {
		context.AppArmorProfile = m.appArmor()
	}
	if m.is() {
		context.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: m.flag()}
	}
	return context
}

func (m maker) names(from []string) []corev1.Capability {
	names := make([]corev1.Capability, 0)
	for range m.IntN(4) {
		names = append(names, corev1.Capability(pick(m.Rand, from)))
	}
	return names
}

func (m maker) seLinux() *corev1.SELinuxOptions {
	options := &corev1.SELinuxOptions{}
	if chance(m.Rand, 60) {
		options.Type = pick(m.Rand, types)
	}
	if chance(m.Rand, 20) {
		options.User = "u"
	}
	if chance(m.Rand, 20) {
		options.Role = "r"
	}
	if chance(m.Rand, 20) {
		options.Level = "s0:c1,c2"
	}
	return options
}

func (m maker) seccomp() *corev1.SeccompProfile {
	if chance(m.Rand, 20) {
		return nil
	}
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileType(pick(m.Rand, profiles))}
}

func (m maker) appArmor() *corev1.AppArmorProfile {
	return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileType(pick(m.Rand, profiles))}
}

// usual are the sources that most volumes have.
var usual = []string{"EmptyDir", "ConfigMap", "Secret", "Projected", "PersistentVolumeClaim", "CSI", "Ephemeral", "DownwardAPI", "Image"}

// volume has the source that the API has a field for, rarely none, and rarely several, which no server would accept.
func (m maker) volume() corev1.Volume {
	volume := corev1.Volume{Name: pick(m.Rand, volumeNames)}
	sources := reflect.ValueOf(&volume.VolumeSource).Elem()
	if chance(m.Rand, 5) {
		return volume
	}
	for first := true; first || chance(m.Rand, 5); first = false {
		field := sources.FieldByName(pick(m.Rand, usual))
		if m.is() {
			field = sources.Field(m.IntN(sources.NumField()))
		}
		field.Set(reflect.New(field.Type().Elem()))
	}
	return volume
}
