package worlds

import (
	corev1 "k8s.io/api/core/v1"
)

// reference is a way in which a pod names another object.
type reference struct {
	edge, resource string
	// put names the object in the pod, and tells how it is called in fact.
	put func(b *builder, pod *corev1.Pod, name string) string
}

func local(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }

// container is a new one of some kind.
func container(pod *corev1.Pod, kind string) *corev1.Container {
	fresh := corev1.Container{Name: kind + "-" + string(rune('a'+len(pod.Spec.InitContainers)+len(pod.Spec.Containers)+len(pod.Spec.EphemeralContainers)%20)), Image: "i"}
	switch kind {
	case "init":
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, fresh)
		return &pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1]
	case "ephemeral":
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(fresh)})
		last := &pod.Spec.EphemeralContainers[len(pod.Spec.EphemeralContainers)-1]
		return (*corev1.Container)(&last.EphemeralContainerCommon)
	}
	pod.Spec.Containers = append(pod.Spec.Containers, fresh)
	return &pod.Spec.Containers[len(pod.Spec.Containers)-1]
}

func inContainer(edge, resource, kind string, fill func(container *corev1.Container, name string)) reference {
	return reference{edge, resource, func(_ *builder, pod *corev1.Pod, name string) string {
		fill(container(pod, kind), name)
		return name
	}}
}

func inVolume(edge, resource string, source func(name string) corev1.VolumeSource) reference {
	return reference{edge, resource, func(b *builder, pod *corev1.Pod, name string) string {
		b.volume(pod, source(name))
		return name
	}}
}

func (b *builder) volume(pod *corev1.Pod, source corev1.VolumeSource) string {
	name := b.fresh("v")
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	return name
}

func projected(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

func token(audience string) corev1.VolumeProjection {
	return corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: audience}}
}

func envSecret(container *corev1.Container, name string) {
	container.Env = append(container.Env, corev1.EnvVar{Name: "E", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: *local(name), Key: "k"}}})
}

func envFromSecret(container *corev1.Container, name string) {
	container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: *local(name)}})
}

func envConfig(container *corev1.Container, name string) {
	container.Env = append(container.Env, corev1.EnvVar{Name: "E", ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: *local(name), Key: "k"}}})
}

func envFromConfig(container *corev1.Container, name string) {
	container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: *local(name)}})
}

// references are all ways in which a pod leads to other objects.
var references = []reference{
	{"imagePullSecrets", "secrets", func(_ *builder, pod *corev1.Pod, name string) string {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, *local(name))
		return name
	}},
	inContainer("env secret", "secrets", "main", envSecret),
	inContainer("envFrom secret", "secrets", "main", envFromSecret),
	inContainer("env configmap", "configmaps", "main", envConfig),
	inContainer("envFrom configmap", "configmaps", "main", envFromConfig),
	inContainer("init env secret", "secrets", "init", envSecret),
	inContainer("init envFrom secret", "secrets", "init", envFromSecret),
	inContainer("init env configmap", "configmaps", "init", envConfig),
	inContainer("init envFrom configmap", "configmaps", "init", envFromConfig),
	inContainer("ephemeral env secret", "secrets", "ephemeral", envSecret),
	inContainer("ephemeral envFrom secret", "secrets", "ephemeral", envFromSecret),
	inContainer("ephemeral env configmap", "configmaps", "ephemeral", envConfig),
	inContainer("ephemeral envFrom configmap", "configmaps", "ephemeral", envFromConfig),
	inVolume("volume secret", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
	}),
	inVolume("volume projected secret", "secrets", func(name string) corev1.VolumeSource {
		return projected(token(""), corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: *local(name)}})
	}),
	inVolume("volume azureFile", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: name, ShareName: "s"}}
	}),
	inVolume("volume cephfs", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{CephFS: &corev1.CephFSVolumeSource{Monitors: []string{"m"}, SecretRef: local(name)}}
	}),
	inVolume("volume cinder", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{VolumeID: "v", SecretRef: local(name)}}
	}),
	inVolume("volume flexVolume", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{Driver: "d", SecretRef: local(name)}}
	}),
	inVolume("volume rbd", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{CephMonitors: []string{"m"}, RBDImage: "i", SecretRef: local(name)}}
	}),
	inVolume("volume scaleIO", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{ScaleIO: &corev1.ScaleIOVolumeSource{Gateway: "g", System: "s", SecretRef: local(name)}}
	}),
	inVolume("volume iscsi", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "t", IQN: "q", SecretRef: local(name)}}
	}),
	inVolume("volume storageos", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{StorageOS: &corev1.StorageOSVolumeSource{VolumeName: "v", SecretRef: local(name)}}
	}),
	inVolume("volume csi", "secrets", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d0.example.com", NodePublishSecretRef: local(name)}}
	}),
	inVolume("volume configMap", "configmaps", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: *local(name)}}
	}),
	inVolume("volume projected configMap", "configmaps", func(name string) corev1.VolumeSource {
		return projected(corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: *local(name)}})
	}),
	inVolume("volume claim", "persistentvolumeclaims", func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}),
	{"volume ephemeral", "persistentvolumeclaims", func(b *builder, pod *corev1.Pod, _ string) string {
		return pod.Name + "-" + b.volume(pod, ephemeralVolume())
	}},
	{"service account", "serviceaccounts", func(_ *builder, pod *corev1.Pod, name string) string {
		pod.Spec.ServiceAccountName = name
		return name
	}},
	{"claim direct", "resourceclaims", func(b *builder, pod *corev1.Pod, name string) string {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: b.fresh("r"), ResourceClaimName: &name})
		return name
	}},
	{"claim of a template", "resourceclaims", func(b *builder, pod *corev1.Pod, name string) string {
		b.templated(pod, &name)
		return name
	}},
	{"claim of extended resources", "resourceclaims", func(_ *builder, pod *corev1.Pod, name string) string {
		pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
			RequestMappings:   []corev1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: "example.com/gpu", RequestName: "r0"}},
			ResourceClaimName: name,
		}
		return name
	}},
}

// templated adds a claim of a template, and which claim was made of it.
func (b *builder) templated(pod *corev1.Pod, made *string) {
	own := b.fresh("r")
	pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: own, ResourceClaimTemplateName: pointer("template")})
	pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: own, ResourceClaimName: made})
}

func ephemeralVolume() corev1.VolumeSource {
	return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}}}}
}

// harmless are volumes that name no object of the API.
var harmless = map[string]corev1.VolumeSource{
	"emptyDir":             {EmptyDir: &corev1.EmptyDirVolumeSource{}},
	"hostPath":             {HostPath: &corev1.HostPathVolumeSource{Path: "/p"}},
	"downwardAPI":          {DownwardAPI: &corev1.DownwardAPIVolumeSource{}},
	"image":                {Image: &corev1.ImageVolumeSource{Reference: "r"}},
	"gitRepo":              {GitRepo: &corev1.GitRepoVolumeSource{Repository: "r"}},
	"nfs":                  {NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}},
	"fc":                   {FC: &corev1.FCVolumeSource{WWIDs: []string{"w"}}},
	"flocker":              {Flocker: &corev1.FlockerVolumeSource{DatasetName: "d"}},
	"quobyte":              {Quobyte: &corev1.QuobyteVolumeSource{Registry: "r", Volume: "v"}},
	"portworx":             {PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "v"}},
	"photon":               {PhotonPersistentDisk: &corev1.PhotonPersistentDiskVolumeSource{PdID: "p"}},
	"vsphere":              {VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "p"}},
	"gcePersistentDisk":    {GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "p"}},
	"awsElasticBlockStore": {AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "v"}},
	"azureDisk":            {AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: "u"}},
	"cephfs":               {CephFS: &corev1.CephFSVolumeSource{Monitors: []string{"m"}}},
	"cinder":               {Cinder: &corev1.CinderVolumeSource{VolumeID: "v"}},
	"flexVolume":           {FlexVolume: &corev1.FlexVolumeSource{Driver: "d"}},
	"rbd":                  {RBD: &corev1.RBDVolumeSource{CephMonitors: []string{"m"}, RBDImage: "i"}},
	"scaleIO":              {ScaleIO: &corev1.ScaleIOVolumeSource{Gateway: "g", System: "s"}},
	"iscsi":                {ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "t", IQN: "q"}},
	"storageos":            {StorageOS: &corev1.StorageOSVolumeSource{VolumeName: "v"}},
	"projected downward":   projected(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}),
	"projected nothing":    projected(),
	"no source":            {},
}
