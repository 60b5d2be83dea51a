package worlds

import (
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
)

// tokenRequest asks for a token of a pod's account. Why the audience is fine differs.
func (b *builder) tokenRequest() *draft {
	d := b.on("", "CREATE", "", "v1", "serviceaccounts", "TokenRequest")
	pod := b.running(d.node)
	pod.Spec.ServiceAccountName = b.fresh("account")
	audience := b.fresh("aud")
	asked := &authv1.TokenRequest{ObjectMeta: meta(pod.Namespace, pod.Spec.ServiceAccountName)}
	asked.Spec.Audiences = []string{audience}
	asked.Spec.ExpirationSeconds = pointer(int64(3600))
	asked.Spec.BoundObjectRef = &authv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	d.subresource, d.namespace, d.name, d.object = "token", pod.Namespace, pod.Spec.ServiceAccountName, asked
	d.group, d.version = "", "v1"
	reference := asked.Spec.BoundObjectRef
	b.audience(d, pod, asked, audience)
	d.can("not bound", func() { asked.Spec.BoundObjectRef = nil })
	d.can("bound to another kind", func() { reference.Kind = b.pick("Secret", "Node", "") })
	d.can("bound in another version", func() { reference.APIVersion = b.pick("", "v1beta1") })
	d.can("bound without a name", func() { reference.Name = "" })
	d.can("bound without a UID", func() { reference.UID = "" })
	d.can("bound with another UID", func() { reference.UID = "other" })
	d.can("pod is not there", func() { b.drop(pod) })
	d.can("pod is elsewhere", func() { pod.Spec.NodeName = b.other(d.node, nodeNames) })
	d.can("pod of another account", func() { pod.Spec.ServiceAccountName = "other" })
	d.can("in another namespace", func() { d.namespace = b.other(d.namespace, namespaces) })
	d.can("two audiences", func() { asked.Spec.Audiences = append(asked.Spec.Audiences, asked.Spec.Audiences...) })
	d.can("two audiences, one granted", func() {
		asked.Spec.Audiences, d.granted = []string{audience, "granted"}, []string{audience, "granted"}
	})
	d.can("other audience", func() { asked.Spec.Audiences = []string{"other"} })
	d.can("other audience", func() { asked.Spec.Audiences = []string{"other"} })
	d.can("no audience", func() { asked.Spec.Audiences = nil })
	d.can("empty audience", func() { asked.Spec.Audiences = []string{""} })
	d.can("other audience that is granted", func() { asked.Spec.Audiences, d.granted = []string{"other"}, []string{"x", "other"} })
	d.can("all audiences are granted", func() { asked.Spec.Audiences, d.all = []string{"other"}, true })
	d.can("granted in capitals", func() { asked.Spec.Audiences, d.granted = []string{"other"}, []string{"Other"} })
	d.can("all granted as a star", func() { asked.Spec.Audiences, d.granted = []string{"other"}, []string{"*"} })
	return d
}

// audience gives the request a reason to ask for its audience.
func (b *builder) audience(d *draft, pod *corev1.Pod, asked *authv1.TokenRequest, audience string) {
	name := b.fresh("d") + ".example.com"
	kind := b.pick("default token", "projected token", "projected token", "granted", "inline driver", "volume of a driver", "volume of a driver",
		"ephemeral volume of a driver", "azureFile volume", "inline azureFile", "migrated volume")
	d.recipe = "token for a " + kind
	for range b.IntN(2) {
		b.volume(pod, harmless[b.pick("emptyDir", "hostPath", "nfs", "projected nothing")])
	}
	switch kind {
	case "default token":
		asked.Spec.Audiences = nil
		if b.chance(50) {
			asked.Spec.Audiences = []string{""}
		}
		b.volume(pod, projected(token("")))
		d.can("token of another audience", func() { pod.Spec.Volumes = nil; b.volume(pod, projected(token("vault"))) })
	case "projected token":
		b.volume(pod, projected(token("vault"), corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}, token(audience)))
		d.can("token of another audience", func() { pod.Spec.Volumes = nil; b.volume(pod, projected(token("vault"))) })
	case "granted":
		d.granted = []string{"x", audience}
		if b.chance(30) {
			d.granted, d.all = nil, true
		}
		d.can("not granted", func() { d.granted, d.all = nil, false })
	case "inline driver":
		b.volume(pod, corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: name}})
		b.asking(d, pod, name, audience)
	case "volume of a driver", "azureFile volume", "migrated volume":
		source := b.behind(kind, &name)
		if b.taken[name] {
			kind, name = "volume of a driver", b.fresh("d")+".example.com"
			source = b.behind(kind, &name)
		}
		b.taken[name] = true
		d.recipe = "token for a " + kind
		claim := b.fresh("claim")
		b.volume(pod, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
		b.bound(d, pod, claim, source)
		b.asking(d, pod, name, audience)
	case "ephemeral volume of a driver":
		claim := pod.Name + "-" + b.volume(pod, ephemeralVolume())
		b.bound(d, pod, claim, b.behind(kind, &name))
		b.asking(d, pod, name, audience)
	case "inline azureFile":
		name = "file.csi.azure.com"
		if b.taken[name] {
			d.recipe = "token for a projected token"
			b.volume(pod, projected(token(audience)))
			return
		}
		b.taken[name] = true
		b.volume(pod, corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "azure-storage-account-x-secret", ShareName: "s"}})
		b.asking(d, pod, name, audience)
	}
}

// behind is the source of a volume, and the name of its driver after all translation.
func (b *builder) behind(kind string, driver *string) corev1.PersistentVolumeSource {
	switch kind {
	case "azureFile volume":
		*driver = "file.csi.azure.com"
		return corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "s", SecretNamespace: pointer("a")}}
	case "migrated volume":
		sources := map[string]corev1.PersistentVolumeSource{
			"ebs.csi.aws.com":          {AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}},
			"pd.csi.storage.gke.io":    {GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "p"}},
			"disk.csi.azure.com":       {AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: "/subscriptions/x", Kind: pointer(corev1.AzureManagedDisk)}},
			"cinder.csi.openstack.org": {Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v"}},
			"csi.vsphere.vmware.com":   {VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "[a] b"}},
			"pxd.portworx.com":         {PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "v"}},
		}
		*driver = b.pick("ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org", "csi.vsphere.vmware.com", "pxd.portworx.com")
		return sources[*driver]
	}
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: *driver, VolumeHandle: "h"}}
}

// bound adds a claim and its volume.
func (b *builder) bound(d *draft, pod *corev1.Pod, name string, source corev1.PersistentVolumeSource) {
	volume := &corev1.PersistentVolume{ObjectMeta: meta("", b.fresh("vol"))}
	volume.Spec.PersistentVolumeSource = source
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: pod.Namespace, Name: name}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(pod.Namespace, name)}
	claim.Spec.VolumeName = volume.Name
	b.add(volume)
	b.add(claim)
	d.can("claim is not there", func() { b.drop(claim) })
	d.can("claim is not bound", func() { claim.Spec.VolumeName = "" })
	d.can("claim of another namespace", func() { claim.Namespace = b.other(pod.Namespace, namespaces) })
	d.can("volume is not there", func() { b.drop(volume) })
	d.can("volume of another claim", func() { volume.Spec.ClaimRef.Name = "other" })
	if disk := volume.Spec.AzureDisk; disk != nil {
		// Only one kind of these disks can be translated, and it is not the one that is meant when none is given.
		d.can("disk that is not managed", func() { disk.Kind = pointer(corev1.AzureSharedBlobDisk) })
		d.can("disk of no kind", func() { disk.Kind = nil })
	}
	d.can("volume of no driver", func() {
		volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}}
	})
}

// asking adds a driver that asks for tokens of an audience.
func (b *builder) asking(d *draft, pod *corev1.Pod, name, audience string) {
	// Which other drivers of this name there are must not matter.
	for _, each := range b.drivers(name) {
		b.drop(each)
	}
	asking := driver(name, "vault", audience)
	b.add(asking)
	d.can("driver is not there", func() { b.drop(asking) })
	d.can("driver of another name", func() { asking.Name = "other.example.com" })
	d.can("driver asks for another audience", func() { asking.Spec.TokenRequests = asking.Spec.TokenRequests[:1] })
	d.can("driver asks for nothing", func() { asking.Spec.TokenRequests = nil })
	d.can("an unknown driver before", func() {
		first := corev1.Volume{Name: "first", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "unknown.example.com"}}}
		pod.Spec.Volumes = append([]corev1.Volume{first}, pod.Spec.Volumes...)
	})
}
