package worlds

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// labels are keys of every family: what kubelets may set, what they may not, and what only looks like either.
var labels = []string{
	"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "topology.kubernetes.io/zone",
	"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
	"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	"kubelet.kubernetes.io/x", "sub.kubelet.kubernetes.io/x", "node.kubernetes.io/x", "sub.node.kubernetes.io/x",
	"a.sub.node.kubernetes.io/x", "plain", "example.com/x", "cloud.google.com/x", "notkubernetes.io/x", "xk8s.io/x",
	"kubernetes.io.example.com/x", "node-restriction.example.com/x", "kubernetes.iox/x", "",

	"node-restriction.kubernetes.io/x", "sub.node-restriction.kubernetes.io/x", "a.sub.node-restriction.kubernetes.io/x",
	"xnode-restriction.kubernetes.io/x", "kubernetes.io/x", "sub.kubernetes.io/x", "k8s.io/x", "sub.k8s.io/x",
	"node-role.kubernetes.io/worker", "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane",
	"node-role.kubernetes.io/etcd", "node-role.kubernetes.io/arbiter", "kubernetes.io/role", "topology.kubernetes.io/rack",
	"xnode.kubernetes.io/x", "xkubelet.kubernetes.io/x", "node.k8s.io/x", "kubelet.k8s.io/x", "beta.kubernetes.io/x",
	"kubernetes.io/cluster-service", "Kubernetes.io/hostname", "kubernetes.io/Hostname", "kubernetes.io/os/x", "/kubernetes.io",
	"node.kubernetes.io/", "kubelet.kubernetes.io.k8s.io/x",
}

func configSource(name string) *corev1.NodeConfigSource {
	return &corev1.NodeConfigSource{ConfigMap: &corev1.ConfigMapNodeConfigSource{Namespace: "kube-system", Name: name, KubeletConfigKey: "kubelet"}}
}

var taint = corev1.Taint{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}

func (b *builder) nodeCreate() *draft {
	d := b.on("create node", "CREATE", "", "v1", "nodes", "Node")
	node := &corev1.Node{ObjectMeta: meta("", d.node)}
	node.Labels = map[string]string{"kubernetes.io/hostname": d.node, "kubernetes.io/os": "linux"}
	d.name, d.object = d.node, node
	d.can("of another node", func() { d.name, node.Name = "n9", "n9" })
	d.can("another name in the object", func() { node.Name = "n9" })
	d.can("no name", func() { d.name = "" })
	d.can("config source", func() { node.Spec.ConfigSource = configSource("kubelet") })
	d.can("empty config source", func() { node.Spec.ConfigSource = &corev1.NodeConfigSource{} })
	d.can("taints", func() { node.Spec.Taints = []corev1.Taint{taint} })
	d.can("owners", func() {
		node.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "u"}}
	})
	d.can("no labels", func() { node.Labels = nil })
	for range 12 {
		key := b.pick(labels...)
		d.can("label "+key, func() { node.Labels[key] = "v" })
	}
	return d
}

func (b *builder) nodeUpdate() *draft {
	d := b.on("update node", "UPDATE", "", "v1", "nodes", "Node")
	old := &corev1.Node{ObjectMeta: meta("", d.node)}
	old.UID = uid("node", d.node)
	old.Labels = map[string]string{"kubernetes.io/hostname": d.node, "kubernetes.io/os": "linux", "node-role.kubernetes.io/worker": "",
		"node-restriction.kubernetes.io/team": "a", "plain": "x"}
	old.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "u"}}
	old.Spec.Taints = []corev1.Taint{taint, {Key: "more", Effect: corev1.TaintEffectNoExecute}}
	if b.chance(30) {
		old.Spec.ConfigSource = configSource("kubelet")
	}
	node := old.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	d.name, d.object, d.old = d.node, node, old
	if b.chance(40) {
		d.recipe, d.subresource = "update node status", "status"
	}
	d.can("of another node", func() { d.name, node.Name, old.Name = "n9", "n9", "n9" })
	d.can("another name in the object", func() { node.Name = "n9" })
	d.can("taint added", func() { node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "x", Effect: "NoSchedule"}) })
	d.can("taint changed", func() { node.Spec.Taints[0].Value = "web" })
	d.can("taint removed", func() { node.Spec.Taints = node.Spec.Taints[:1] })
	d.can("taints in another order", func() { slices.Reverse(node.Spec.Taints) })
	d.can("taints removed", func() { node.Spec.Taints = nil })
	d.can("taints empty for none", func() { old.Spec.Taints, node.Spec.Taints = nil, []corev1.Taint{} })
	if b.minor != 31 {
		// The first patches of that release had no such rule, and the later ones cannot be had as modules.
		d.can("owner added", func() {
			node.OwnerReferences = append(node.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "y", UID: "y"})
		})
		d.can("owner changed", func() { node.OwnerReferences[0].UID = "other" })
		d.can("owner blocks", func() { node.OwnerReferences[0].BlockOwnerDeletion = pointer(false) })
		d.can("owners removed", func() { node.OwnerReferences = nil })
	}
	d.can("owners empty for none", func() { old.OwnerReferences, node.OwnerReferences = nil, []metav1.OwnerReference{} })
	d.can("config source changed", func() { node.Spec.ConfigSource = configSource("other") })
	d.can("config source removed", func() { node.Spec.ConfigSource = nil })
	d.can("annotation", func() { node.Annotations = map[string]string{"a": "b"} })
	d.can("finalizer", func() { node.Finalizers = []string{"example.com/f"} })
	d.can("unschedulable", func() { node.Spec.Unschedulable = true })
	d.can("provider", func() { node.Spec.ProviderID = "p" })
	d.can("all labels removed", func() { node.Labels = nil })
	for range 5 {
		key := b.pick(labels...)
		d.can("label "+key, func() { node.Labels[key] = "v" })
		changed := b.pick(labels...)
		d.can("label changed "+changed, func() { node.Labels[changed], old.Labels[changed] = "v", "w" })
		removed := b.pick(slices.Sorted(maps.Keys(old.Labels))...)
		d.can("label removed "+removed, func() { delete(node.Labels, removed) })
		kept := b.pick(labels...)
		d.can("label kept "+kept, func() { node.Labels[kept], old.Labels[kept] = "v", "v" })
	}
	return d
}

func (b *builder) nodeDelete() *draft {
	d := b.on("delete node", "DELETE", "", "v1", "nodes", "Node")
	node := &corev1.Node{ObjectMeta: meta("", d.node)}
	d.name, d.old = d.node, node
	d.can("of another node", func() { d.name, node.Name = "n9", "n9" })
	d.can("no name", func() { d.name = "" })
	return d
}
