package worlds

import (
	"maps"
	"slices"
	"time"

	certsv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const mirrorKey = "kubernetes.io/config.mirror"

// audiences are those that volumes and drivers ask for.
var audiences = []string{"vault", "sts", ""}

// cluster fills a world with objects, and notes to what they should lead.
func (b *builder) cluster() {
	for _, name := range nodeNames {
		if b.chance(90) {
			node := &corev1.Node{ObjectMeta: meta("", name)}
			node.UID = uid("node", name)
			b.add(node)
			if b.chance(25) {
				name := b.name("kubelet")
				node.Spec.ConfigSource = &corev1.NodeConfigSource{ConfigMap: &corev1.ConfigMapNodeConfigSource{
					Namespace: "kube-system", Name: name, KubeletConfigKey: "kubelet"}}
				b.links = append(b.links, link{"node configSource", "", "configmaps", "kube-system", name, node.Name, true})
			}
		}
	}
	for range 2 + b.IntN(3) {
		b.addPod()
	}
	for range 1 + b.IntN(3) {
		b.lonelyObjects()
	}
}

// addPod adds a pod with some references.
func (b *builder) addPod() {
	namespace := b.pick(namespaces...)
	name := b.pick("web", "db", "job")
	for _, pod := range b.pods {
		if pod.Namespace == namespace && pod.Name == name {
			return
		}
	}
	pod := &corev1.Pod{ObjectMeta: meta(namespace, name)}
	pod.UID = uid("pod", b.fresh(""))
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "i"}}
	pod.Spec.NodeName = b.pick(nodeNames...)
	b.pods = append(b.pods, pod)
	b.add(pod)
	state := b.pick("running", "running", "running", "running", "running", "running", "unbound", "mirror", "finished", "terminating")
	leads := true
	switch state {
	case "unbound":
		leads, pod.Spec.NodeName = false, ""
	case "mirror":
		leads = false
		pod.Annotations = map[string]string{mirrorKey: b.pick("h", "")}
	case "finished":
		pod.Status.Phase = corev1.PodPhase(b.pick("Succeeded", "Failed"))
	case "terminating":
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1700000000, 0).UTC()}
		pod.DeletionGracePeriodSeconds = pointer(int64(30))
	}
	// A mirror pod leads nowhere, yet it may itself be read.
	wouldBe := pod.Spec.NodeName
	if state == "unbound" {
		wouldBe = b.pick(nodeNames...)
	}
	b.links = append(b.links, link{"pod " + state, "", "pods", namespace, name, wouldBe, state != "unbound"})
	for range 2 + b.IntN(5) {
		b.refer(pod, state, wouldBe, leads)
	}
	for range b.IntN(3) {
		b.volume(pod, harmless[b.pick(slices.Sorted(maps.Keys(harmless))...)])
	}
	if b.chance(30) {
		b.volume(pod, projected(token(b.pick(audiences...)), token(b.pick(audiences...))))
	}
	if b.chance(10) {
		// Where only the older name of the field is given, it counts.
		pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
	}
}

// refer makes a pod name something.
func (b *builder) refer(pod *corev1.Pod, state, node string, leads bool) {
	kind := references[b.IntN(len(references))]
	if b.chance(25) {
		// Claims for volumes lead further than all else.
		wanted := b.pick("volume claim", "volume ephemeral")
		kind = references[slices.IndexFunc(references, func(r reference) bool { return r.edge == wanted })]
	}
	if kind.edge == "service account" && pod.Spec.ServiceAccountName != "" ||
		kind.edge == "claim of extended resources" && pod.Status.ExtendedResourceClaimStatus != nil {
		return
	}
	edge := kind.edge
	if state != "running" {
		edge = edge + " of a pod that is " + state
	}
	name := kind.put(b, pod, b.name("x"))
	group := ""
	switch kind.resource {
	case "resourceclaims":
		group = "resource.k8s.io"
		b.oddClaims(pod, node)
	case "persistentvolumeclaims":
		for range b.IntN(3) {
			b.addVolume(pod.Namespace, name, node, leads)
		}
	case "serviceaccounts":
		account := &corev1.ServiceAccount{ObjectMeta: meta(pod.Namespace, name)}
		account.UID = uid("sa", name)
		b.addOnce(account)
	}
	b.links = append(b.links, link{edge, group, kind.resource, pod.Namespace, name, node, leads})
}

// addOnce adds a service account unless there is one of its name.
func (b *builder) addOnce(account *corev1.ServiceAccount) {
	for _, each := range b.stored {
		if other, ok := each.(*corev1.ServiceAccount); ok && other.Namespace == account.Namespace && other.Name == account.Name {
			return
		}
	}
	b.add(account)
}

// oddClaims adds claims that lead to nothing.
func (b *builder) oddClaims(pod *corev1.Pod, node string) {
	switch b.IntN(5) {
	case 0:
		b.templated(pod, nil)
	case 1:
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: b.fresh("r"), ResourceClaimTemplateName: pointer("template")})
	case 2:
		name := b.fresh("x")
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: b.fresh("r"), ResourceClaimName: &name})
		b.links = append(b.links, link{"claim that the pod does not declare", "resource.k8s.io", "resourceclaims", pod.Namespace, name, node, false})
	}
}

// lonelyObjects adds objects that name a node themselves.
func (b *builder) lonelyObjects() {
	node := b.pick(nodeNames...)
	attachment := &storagev1.VolumeAttachment{ObjectMeta: meta("", b.fresh("va"))}
	attachment.Spec.Attacher, attachment.Spec.NodeName = "d", node
	attachment.Spec.Source.PersistentVolumeName = pointer("pv")
	b.add(attachment)
	b.links = append(b.links, link{"attachment", "storage.k8s.io", "volumeattachments", "", attachment.Name, node, true})

	slice := &resourcev1.ResourceSlice{ObjectMeta: meta("", b.fresh("slice")), Spec: sliceOf(node)}
	leads := true
	switch b.IntN(4) {
	case 0:
		slice.Spec.NodeName, slice.Spec.AllNodes, leads = nil, pointer(true), false
	}
	b.add(slice)
	edge := "slice"
	if !leads {
		edge = "slice of all nodes"
	}
	b.links = append(b.links, link{edge, "resource.k8s.io", "resourceslices", "", slice.Name, node, leads})

	if b.minor >= 34 {
		request := &certsv1beta1.PodCertificateRequest{ObjectMeta: meta(b.pick(namespaces...), b.fresh("pcr"))}
		request.Spec.NodeName = nodeName(node)
		request.Spec.SignerName, request.Spec.PodName, request.Spec.ServiceAccountName = "example.com/signer", "web", "default"
		b.add(request)
		b.links = append(b.links, link{"certificate", "certificates.k8s.io", "podcertificaterequests", request.Namespace, request.Name, node, true})
	}
	for _, name := range []string{"d0.example.com", "file.csi.azure.com"} {
		if b.chance(30) && !b.hasDriver(name) {
			b.add(driver(name, b.pick(audiences...)))
		}
	}
}

func (b *builder) hasDriver(name string) bool {
	return slices.ContainsFunc(b.stored, func(each any) bool {
		driver, ok := each.(*storagev1.CSIDriver)
		return ok && driver.Name == name
	})
}

func driver(name string, audiences ...string) *storagev1.CSIDriver {
	driver := &storagev1.CSIDriver{ObjectMeta: meta("", name)}
	for _, audience := range audiences {
		driver.Spec.TokenRequests = append(driver.Spec.TokenRequests, storagev1.TokenRequest{Audience: audience})
	}
	return driver
}

func sliceOf(node string) resourcev1.ResourceSliceSpec {
	return resourcev1.ResourceSliceSpec{Driver: "d.example.com", NodeName: &node,
		Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}
}
