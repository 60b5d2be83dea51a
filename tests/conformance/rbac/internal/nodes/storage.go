package nodes

import "fmt"

// storage is what stands between pods and secrets, or between nodes and what is attached to them.
func (i *inventory) storage() []deed {
	var deeds []deed
	for number := range 160 {
		volume := fmt.Sprintf("volume-%d", number)
		namespace, claim := i.one(crowded...), i.name("claim")
		spec := object{
			"capacity": object{"storage": "1Gi"}, "accessModes": []any{"ReadWriteOnce"},
			"persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
		}
		for source, value := range i.persistent() {
			spec[source] = value
		}
		if i.chance(85) {
			spec["claimRef"] = object{"namespace": namespace, "name": claim}
		}
		deeds = append(deeds, create("/api/v1/persistentvolumes", "PersistentVolume", object{"metadata": named(volume), "spec": spec}))
	}
	for _, namespace := range crowded {
		for number := range referable / 2 {
			claim := object{
				"metadata": object{"name": fmt.Sprintf("claim-%d", number), "namespace": namespace},
				"spec": object{
					"accessModes": []any{"ReadWriteOnce"}, "storageClassName": "", "resources": object{"requests": object{"storage": "1Gi"}},
				},
			}
			if i.chance(80) {
				claim["spec"].(object)["volumeName"] = fmt.Sprintf("volume-%d", i.random.IntN(170))
			}
			deeds = append(deeds, create("/api/v1/namespaces/"+namespace+"/persistentvolumeclaims", "PersistentVolumeClaim", claim))
		}
	}
	for number := range 60 {
		attachment, node := fmt.Sprintf("attachment-%d", number), i.one(i.nodes...)
		i.refer("volumeattachments", "", attachment, node)
		deeds = append(deeds, create("/apis/storage.k8s.io/v1/volumeattachments", "VolumeAttachment", object{
			"metadata": named(attachment),
			"spec":     object{"attacher": "driver-0.example.org", "nodeName": node, "source": object{"persistentVolumeName": fmt.Sprintf("volume-%d", number)}},
		}))
	}
	for number := range 40 {
		slice := fmt.Sprintf("slice-%d", number)
		spec := object{"driver": "disks.example.org", "pool": object{"name": slice, "generation": int64(1), "resourceSliceCount": int64(1)}}
		if i.chance(75) {
			node := i.one(i.nodes...)
			spec["nodeName"] = node
			i.refer("resourceslices", "", slice, node)
		} else {
			spec["allNodes"] = true
		}
		i.slices = append(i.slices, slice)
		deeds = append(deeds, create("/apis/resource.k8s.io/v1/resourceslices", "ResourceSlice", object{"metadata": named(slice), "spec": spec}))
	}
	return deeds
}

// secretIn is a reference to a secret, of a namespace or without one.
func (i *inventory) secretIn(always bool) object {
	reference := named(i.name("secret"))
	if always || i.chance(50) {
		reference["namespace"] = i.one(crowded...)
	}
	return reference
}

// persistent is the source of a volume of the cluster.
func (i *inventory) persistent() object {
	switch i.random.IntN(8) {
	case 0:
		file := object{"secretName": i.name("secret"), "shareName": "share"}
		if i.chance(50) {
			file["secretNamespace"] = i.one(crowded...)
		}
		return object{"azureFile": file}
	case 1:
		return object{"cephfs": object{"monitors": []any{"192.0.2.1"}, "secretRef": i.secretIn(false)}}
	case 2:
		return object{"flexVolume": object{"driver": "example.org/flex", "secretRef": i.secretIn(false)}}
	case 3:
		return object{"iscsi": object{
			"targetPortal": "192.0.2.1:3260", "iqn": "iqn.2001-04.com.example:storage", "lun": int64(0),
			"chapAuthSession": true, "secretRef": i.secretIn(false),
		}}
	case 4:
		return object{"nfs": object{"server": "192.0.2.1", "path": "/"}}
	case 5:
		return object{"rbd": object{"monitors": []any{"192.0.2.1"}, "image": "disk", "secretRef": i.secretIn(false)}}
	}
	source := object{"driver": fmt.Sprintf("driver-%d.example.org", i.random.IntN(4)), "volumeHandle": "disk"}
	for _, key := range []string{"controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"} {
		if i.chance(40) {
			source[key] = i.secretIn(true)
		}
	}
	return object{"csi": source}
}
