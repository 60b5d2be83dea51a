package worlds

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// claimStatus is an update of the status of a claim, as the kubelet makes it after it grew a file system.
func (b *builder) claimStatus() *draft {
	d := b.on("update claim status", "UPDATE", "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
	old := &corev1.PersistentVolumeClaim{ObjectMeta: meta("a", "data")}
	old.UID, old.ResourceVersion, old.Generation = "uid-data", "7", 1
	old.Labels = map[string]string{"app": "web"}
	old.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	old.Spec.Resources.Requests = storage("2Gi")
	old.Spec.VolumeName = "pv"
	old.Spec.VolumeMode = pointer(corev1.PersistentVolumeFilesystem)
	old.Status.Phase = corev1.ClaimBound
	old.Status.AccessModes = old.Spec.AccessModes
	old.Status.Capacity = storage("1Gi")
	claim := old.DeepCopy()
	d.subresource, d.namespace, d.name, d.object, d.old = "status", "a", "data", claim, old
	d.can("capacity", func() { claim.Status.Capacity = storage("2Gi") })
	d.can("capacity removed", func() { claim.Status.Capacity = nil })
	d.can("conditions", func() {
		claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "FileSystemResizePending", Status: "True", LastTransitionTime: metav1.Time{Time: time.Unix(1700000000, 0).UTC()}}}
	})
	d.can("allocated resources", func() { claim.Status.AllocatedResources = storage("2Gi") })
	d.can("allocated resource statuses", func() {
		claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{"storage": "NodeResizeInProgress"}
	})
	d.can("phase", func() { claim.Status.Phase = corev1.ClaimLost })
	d.can("modes of the status", func() { claim.Status.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany} })
	d.can("attributes class of the status", func() { claim.Status.CurrentVolumeAttributesClassName = pointer("gold") })
	d.can("modification in the status", func() {
		claim.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{Status: "Pending", TargetVolumeAttributesClassName: "gold"}
	})
	d.can("label added", func() { claim.Labels["more"] = "x" })
	d.can("labels removed", func() { claim.Labels = nil })
	d.can("annotation", func() { claim.Annotations = map[string]string{"a": "b"} })
	d.can("annotations empty for none", func() { claim.Annotations = map[string]string{} })
	d.can("finalizer", func() { claim.Finalizers = []string{"example.com/f"} })
	d.can("finalizers empty for none", func() { claim.Finalizers = []string{} })
	d.can("owner", func() {
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "u"}}
	})
	d.can("resource version", func() { claim.ResourceVersion = "" })
	d.can("managed fields", func() { claim.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: "Update"}} })
	d.can("UID", func() { claim.UID = "other" })
	d.can("generation", func() { claim.Generation = 2 })
	d.can("name in the object", func() { claim.Name = "other" })
	d.can("deletion", func() { claim.DeletionTimestamp = &metav1.Time{Time: time.Unix(1700000000, 0).UTC()} })
	d.can("creation time", func() {
		old.CreationTimestamp = metav1.Time{Time: time.Unix(1700000000, 0).UTC()}
		claim.CreationTimestamp = metav1.Time{Time: time.Unix(1700000001, 0).UTC()}
	})
	d.can("volume", func() { claim.Spec.VolumeName = "other" })
	d.can("modes", func() { claim.Spec.AccessModes = nil })
	d.can("volume mode", func() { claim.Spec.VolumeMode = pointer(corev1.PersistentVolumeBlock) })
	d.can("class", func() { claim.Spec.StorageClassName = pointer("gold") })
	d.can("requested size", func() { claim.Spec.Resources.Requests = storage("3Gi") })
	d.can("requested size in another form", func() { d.late = append(d.late, resized(b.pick("2048Mi", "2097152Ki", "2.0Gi", "2147483648"))) })
	d.can("requested size as a number", func() { d.late = append(d.late, resized(2147483648)) })
	d.can("requested limit", func() { claim.Spec.Resources.Limits = storage("9Gi") })
	d.can("selector", func() { claim.Spec.Selector = &metav1.LabelSelector{} })
	return d
}

func (b *builder) claimCreate() *draft {
	d := b.on("change claim", b.pick("CREATE", "UPDATE", "DELETE"), "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("a", "data")}
	claim.Status.Phase = corev1.ClaimPending
	d.namespace, d.name, d.object, d.old = "a", "data", claim, claim
	d.can("of no node", func() { d.user = "alice" })
	d.can("finalizers", func() { d.subresource = "finalizers" })
	return d
}

// resized writes the size that a claim asks for in a form of its own.
func resized(size any) func(body Object) {
	return func(body Object) {
		object, _ := body["object"].(Object)
		spec, _ := object["spec"].(Object)
		if spec["resources"] != nil {
			spec["resources"] = Object{"requests": Object{"storage": size}}
		}
	}
}
