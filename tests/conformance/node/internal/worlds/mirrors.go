package worlds

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownNode gives a question a node of its own, so that it can be taken away.
func (b *builder) ownNode(d *draft) *corev1.Node {
	d.node = b.fresh("worker")
	d.user = "system:node:" + d.node
	node := &corev1.Node{ObjectMeta: meta("", d.node)}
	node.UID = uid("node", d.node)
	b.add(node)
	return node
}

// podCreate is a mirror pod that names nothing, as the kubelet makes them.
func (b *builder) podCreate() *draft {
	d := b.on("create pod", "CREATE", "", "v1", "pods", "Pod")
	node := b.ownNode(d)
	pod := &corev1.Pod{ObjectMeta: meta("kube-system", b.fresh("static")+"-"+d.node)}
	pod.Annotations = map[string]string{mirrorKey: b.pick("h", "h", "")}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: d.node, UID: node.UID, Controller: pointer(true)}}
	if b.chance(30) {
		pod.OwnerReferences[0].BlockOwnerDeletion = pointer(false)
	}
	pod.Spec.NodeName = d.node
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "i"}}
	if b.chance(50) {
		b.volume(pod, harmless[b.pick("emptyDir", "hostPath", "downwardAPI", "nfs")])
	}
	d.namespace, d.name, d.object = pod.Namespace, pod.Name, pod
	owner := &pod.OwnerReferences[0]
	d.can("no annotation", func() { pod.Annotations = nil })
	d.can("annotation of another key", func() { pod.Annotations = map[string]string{"kubernetes.io/config.hash": "h"} })
	d.can("bound elsewhere", func() { pod.Spec.NodeName = b.other(d.node, nodeNames) })
	d.can("not bound", func() { pod.Spec.NodeName = "" })
	d.can("no owner", func() { pod.OwnerReferences = nil })
	d.can("two owners", func() { pod.OwnerReferences = append(pod.OwnerReferences, pod.OwnerReferences[0]) })
	d.can("owner of another version", func() { owner.APIVersion = b.pick("", "v1beta1", "core/v1") })
	d.can("owner of another kind", func() { owner.Kind = b.pick("Pod", "node") })
	d.can("owner of another name", func() { owner.Name = b.other(d.node, nodeNames) })
	d.can("owner of another UID", func() { owner.UID = "uid-node-old" })
	d.can("owner is no controller", func() { owner.Controller = pointer(false) })
	d.can("owner says nothing of control", func() { owner.Controller = nil })
	d.can("owner blocks deletion", func() { owner.BlockOwnerDeletion = pointer(true) })
	d.can("node is not there", func() { b.drop(node) })
	d.can("generated name", func() { pod.GenerateName, pod.Name, d.name = "static-", "", "" })
	// One at a time of what there are many of, so that the others keep their part.
	for range 4 {
		reference := references[b.IntN(len(references))]
		d.can("names "+reference.edge, func() { reference.put(b, pod, "x") })
	}
	for range 3 {
		kind := b.pick(slices.Sorted(maps.Keys(harmless))...)
		d.can("volume "+kind, func() { b.volume(pod, harmless[kind]) })
	}
	for range 3 {
		kind := b.pick(slices.Sorted(maps.Keys(naming))...)
		d.can("volume "+kind, func() { b.volume(pod, naming[kind]) })
	}
	d.can("names an empty secret", func() { envSecret(&pod.Spec.Containers[0], "") })
	d.can("names an empty configmap", func() { envFromConfig(container(pod, "init"), "") })
	d.can("pulls with an empty secret", func() { pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{}} })
	d.can("account by the older field", func() { pod.Spec.DeprecatedServiceAccount = "default" })
	return d
}

// naming are volumes that name objects of the API though no secret, configmap or claim.
var naming = map[string]corev1.VolumeSource{
	"csi without a secret":    {CSI: &corev1.CSIVolumeSource{Driver: "d0.example.com"}},
	"glusterfs":               {Glusterfs: &corev1.GlusterfsVolumeSource{EndpointsName: "e", Path: "p"}},
	"secret without a name":   {Secret: &corev1.SecretVolumeSource{}},
	"config without a name":   {ConfigMap: &corev1.ConfigMapVolumeSource{}},
	"projected token":         projected(token("vault")),
	"projected trust bundle":  projected(corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: pointer("t"), Path: "p"}}),
	"projected certificate":   projected(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/s", KeyType: "ED25519", CredentialBundlePath: "p"}}),
	"projected unknown":       projected(corev1.VolumeProjection{}),
	"projected second source": projected(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}, token("vault")),
	"claim without a name":    {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}},
}

// running adds a pod of a node.
func (b *builder) running(node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta(b.pick(namespaces...), b.fresh("pod"))}
	pod.UID = uid("pod", pod.Name)
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "i"}}
	b.add(pod)
	return pod
}

func (b *builder) podUpdate() *draft {
	d := b.on("update pod", "UPDATE", "", "v1", "pods", "Pod")
	pod := b.running(d.node)
	d.namespace, d.name, d.object, d.old = pod.Namespace, pod.Name, pod, pod
	d.can("of no node", func() { d.user = "alice" })
	return d
}

func (b *builder) podDelete() *draft {
	d := b.on("delete pod", "DELETE", "", "v1", "pods", "Pod")
	pod := b.running(d.node)
	d.namespace, d.name, d.old = pod.Namespace, pod.Name, pod
	d.can("bound elsewhere", func() { pod.Spec.NodeName = b.other(d.node, nodeNames) })
	d.can("not bound", func() { pod.Spec.NodeName = "" })
	d.can("not there", func() { b.drop(pod) })
	d.can("no name", func() { d.name = "" })
	d.can("in another namespace", func() { d.namespace = b.other(d.namespace, namespaces) })
	d.can("a mirror pod", func() { pod.Annotations = map[string]string{mirrorKey: "h"} })
	return d
}

// podStatus is an update of the status, in which some of the pod may change.
func (b *builder) podStatus() *draft {
	d := b.on("update pod status", "UPDATE", "", "v1", "pods", "Pod")
	old := b.running(d.node)
	old.Labels = map[string]string{"app": "web"}
	claims := b.chance(60)
	if claims {
		b.templated(old, pointer("made"))
		references[slices.IndexFunc(references, func(r reference) bool { return r.edge == "claim of extended resources" })].put(b, old, "extended")
	}
	pod := old.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	d.subresource, d.namespace, d.name, d.object, d.old = "status", pod.Namespace, pod.Name, pod, old
	d.can("bound elsewhere", func() { old.Spec.NodeName = b.other(d.node, nodeNames) })
	d.can("to be bound elsewhere", func() { pod.Spec.NodeName = b.other(d.node, nodeNames) })
	d.can("label added", func() { pod.Labels["more"] = "" })
	d.can("label changed", func() { pod.Labels["app"] = "db" })
	d.can("label of a node changed", func() { pod.Labels["node.kubernetes.io/x"] = "y" })
	d.can("labels removed", func() { pod.Labels = nil })
	d.can("labels empty for none", func() { old.Labels, pod.Labels = nil, map[string]string{} })
	d.can("annotation added", func() { pod.Annotations = map[string]string{"a": "b"} })
	d.can("finalizer added", func() { pod.Finalizers = []string{"example.com/f"} })
	d.can("claim status added", func() {
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: "more", ResourceClaimName: pointer("victim")})
	})
	if claims {
		first := &pod.Status.ResourceClaimStatuses[0]
		d.can("claim status renamed", func() { first.Name = "renamed" })
		d.can("claim status of another claim", func() { first.ResourceClaimName = pointer("victim") })
		d.can("claim status of no claim", func() { first.ResourceClaimName = nil })
		d.can("claim status of an empty claim", func() { first.ResourceClaimName = pointer("") })
		d.can("claim statuses removed", func() { pod.Status.ResourceClaimStatuses = nil })
		d.can("extended claim removed", func() { pod.Status.ExtendedResourceClaimStatus = nil })
		d.can("extended claim changed", func() { pod.Status.ExtendedResourceClaimStatus.ResourceClaimName = "victim" })
		d.can("extended mapping changed", func() { pod.Status.ExtendedResourceClaimStatus.RequestMappings[0].RequestName = "r1" })
		d.can("extended mapping removed", func() { pod.Status.ExtendedResourceClaimStatus.RequestMappings = nil })
	} else {
		d.can("extended claim added", func() {
			pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "victim"}
		})
	}
	return d
}

func (b *builder) podEviction() *draft {
	d := b.on("evict pod", "CREATE", "policy", "v1", "pods", "Eviction")
	pod := b.running(d.node)
	eviction := &policyv1.Eviction{ObjectMeta: meta(pod.Namespace, pod.Name)}
	d.group, d.subresource, d.namespace, d.name, d.object = "", "eviction", pod.Namespace, pod.Name, eviction
	d.can("bound elsewhere", func() { pod.Spec.NodeName = b.other(d.node, nodeNames) })
	d.can("not there", func() { b.drop(pod) })
	d.can("name only in the object", func() { d.name = "" })
	d.can("name only in the request", func() { eviction.Name = "" })
	d.can("no name", func() { d.name, eviction.Name = "", "" })
	d.can("another name in the object", func() { eviction.Name = b.running(b.other(d.node, nodeNames)).Name })
	d.can("another namespace in the object", func() { eviction.Namespace = b.other(pod.Namespace, namespaces) })
	d.can("in another namespace", func() { d.namespace = b.other(d.namespace, namespaces) })
	return d
}

// validation is a pod whose annotation is or is not what validation wants.
func (b *builder) validation() Item {
	pod := &corev1.Pod{ObjectMeta: meta("kube-system", "static")}
	pod.UID = uid("pod", "static")
	pod.Spec.NodeName = "n1"
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "i"}}
	if b.chance(75) {
		pod.Annotations = map[string]string{mirrorKey: b.pick("h", "")}
	}
	old := pod.DeepCopy()
	recipe, names := "validate create", []string{}
	note := func(percent int, name string, do func()) {
		if b.chance(percent) {
			do()
			names = append(names, name)
		}
	}
	if b.chance(60) {
		recipe = "validate update"
		note(15, "old without", func() { old.Annotations = nil })
		note(15, "old other value", func() { old.Annotations = map[string]string{mirrorKey: "h2"} })
	}
	note(15, "without", func() { pod.Annotations = nil })
	note(20, "not bound", func() { pod.Spec.NodeName, old.Spec.NodeName = "", "" })
	note(10, "other annotation", func() { pod.Annotations = map[string]string{"kubernetes.io/config.source": "file"} })
	body := Object{"object": encode(pod)}
	if recipe == "validate update" {
		body["oldObject"] = encode(old)
	}
	return Item{body, recipe, names}
}
