package worlds

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func nodeName(name string) types.NodeName { return types.NodeName(name) }

// volumeKind is a source of persistent volumes that names a secret.
type volumeKind struct {
	edge string
	// needs tells that the namespace is always given, and hidden that kubelets do not see the secret.
	needs, hidden bool
	source        func(namespace, name string) corev1.PersistentVolumeSource
}

func full(namespace, name string) *corev1.SecretReference {
	return &corev1.SecretReference{Namespace: namespace, Name: name}
}

var volumeKinds = []volumeKind{
	{"azureFile", false, false, func(namespace, name string) corev1.PersistentVolumeSource {
		source := &corev1.AzureFilePersistentVolumeSource{SecretName: name, ShareName: "s"}
		if namespace != "" {
			source.SecretNamespace = &namespace
		}
		return corev1.PersistentVolumeSource{AzureFile: source}
	}},
	{"azureFile with an empty namespace", false, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: name, ShareName: "s", SecretNamespace: &namespace}}
	}},
	{"cephfs", false, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{Monitors: []string{"m"}, SecretRef: full(namespace, name)}}
	}},
	{"cinder", true, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v", SecretRef: full(namespace, name)}}
	}},
	{"flexVolume", false, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "d", SecretRef: full(namespace, name)}}
	}},
	{"rbd", false, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{CephMonitors: []string{"m"}, RBDImage: "i", SecretRef: full(namespace, name)}}
	}},
	{"scaleIO", false, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{Gateway: "g", System: "s", SecretRef: full(namespace, name)}}
	}},
	{"iscsi", false, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "t", IQN: "q", SecretRef: full(namespace, name)}}
	}},
	{"storageos", true, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{VolumeName: "v", SecretRef: &corev1.ObjectReference{Namespace: namespace, Name: name}}}
	}},
	{"csi nodePublish", true, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return csi(corev1.CSIPersistentVolumeSource{NodePublishSecretRef: full(namespace, name)})
	}},
	{"csi nodeStage", true, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return csi(corev1.CSIPersistentVolumeSource{NodeStageSecretRef: full(namespace, name)})
	}},
	{"csi nodeExpand", true, false, func(namespace, name string) corev1.PersistentVolumeSource {
		return csi(corev1.CSIPersistentVolumeSource{NodeExpandSecretRef: full(namespace, name)})
	}},
	{"csi controllerPublish", true, true, func(namespace, name string) corev1.PersistentVolumeSource {
		return csi(corev1.CSIPersistentVolumeSource{ControllerPublishSecretRef: full(namespace, name)})
	}},
	{"csi controllerExpand", true, true, func(namespace, name string) corev1.PersistentVolumeSource {
		return csi(corev1.CSIPersistentVolumeSource{ControllerExpandSecretRef: full(namespace, name)})
	}},
}

func csi(source corev1.CSIPersistentVolumeSource) corev1.PersistentVolumeSource {
	source.Driver, source.VolumeHandle = "d0.example.com", "h"
	return corev1.PersistentVolumeSource{CSI: &source}
}

// addVolume adds a persistent volume for a claim that a pod uses.
func (b *builder) addVolume(namespace, claim, node string, leads bool) {
	kind := volumeKinds[b.IntN(len(volumeKinds))]
	given := b.pick("", "", namespaces[0], namespaces[1])
	if kind.needs && b.chance(85) {
		given = b.pick(namespaces...)
	}
	secret := b.name("pvsecret")
	volume := &corev1.PersistentVolume{ObjectMeta: meta("", b.fresh("pv"))}
	volume.Spec.PersistentVolumeSource = kind.source(given, secret)
	volume.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: claim}
	volume.Status.Phase = corev1.PersistentVolumePhase(b.pick("Bound", "Bound", "Released", "Failed", "Available", ""))
	edge := kind.edge
	switch {
	case b.chance(10):
		volume.Spec.ClaimRef, leads, edge = nil, false, kind.edge+" without a claim"
	case b.chance(8):
		volume.Spec.ClaimRef.Namespace = b.other(namespace, namespaces)
		leads, edge = false, kind.edge+" of a claim elsewhere"
	}
	if !leads && edge == kind.edge {
		edge += " of a pod that leads nowhere"
	}
	b.add(volume)
	b.links = append(b.links, link{"volume for a claim, " + edge, "", "persistentvolumes", "", volume.Name, node, leads})
	if given == "" {
		if kind.needs {
			leads, edge = false, edge+" without a namespace"
		}
		given = namespace
	}
	b.links = append(b.links, link{"secret of a volume, " + edge, "", "secrets", given, secret, node, leads && !kind.hidden})
}
