package worlds

import (
	certsv1 "k8s.io/api/certificates/v1"
	certsv1beta1 "k8s.io/api/certificates/v1beta1"
	coordv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// drivers are those of a name.
func (b *builder) drivers(name string) []*storagev1.CSIDriver {
	var found []*storagev1.CSIDriver
	for _, each := range b.stored {
		if driver, ok := each.(*storagev1.CSIDriver); ok && driver.Name == name {
			found = append(found, driver)
		}
	}
	return found
}

func (b *builder) lease() *draft {
	operation := b.pick("CREATE", "UPDATE", "DELETE")
	d := b.on(words[operation]+" lease", operation, "coordination.k8s.io", "v1", "leases", "Lease")
	lease := &coordv1.Lease{ObjectMeta: meta("kube-node-lease", d.node)}
	d.namespace, d.name, d.object, d.old = "kube-node-lease", d.node, lease, lease
	d.can("in another namespace", func() { d.namespace = b.pick("", "a", "kube-system") })
	d.can("of another name", func() { d.name, lease.Name = "n9", "n9" })
	d.can("another name in the object", func() { lease.Name = "n9" })
	d.can("another name in the request", func() { d.name = "n9" })
	d.can("no name in the request", func() { d.name = "" })
	return d
}

var words = map[string]string{"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}

func (b *builder) csiNode() *draft {
	operation := b.pick("CREATE", "UPDATE", "DELETE")
	d := b.on(words[operation]+" csinode", operation, "storage.k8s.io", "v1", "csinodes", "CSINode")
	node := &storagev1.CSINode{ObjectMeta: meta("", d.node)}
	d.name, d.object, d.old = d.node, node, node
	d.can("of another name", func() { d.name, node.Name = "n9", "n9" })
	d.can("another name in the object", func() { node.Name = "n9" })
	d.can("another name in the request", func() { d.name = "n9" })
	d.can("no name in the request", func() { d.name = "" })
	return d
}

func (b *builder) slice() *draft {
	operation := b.pick("CREATE", "UPDATE", "DELETE", "DELETE")
	d := b.on(words[operation]+" slice", operation, "resource.k8s.io", "v1", "resourceslices", "ResourceSlice")
	slice := &resourcev1.ResourceSlice{ObjectMeta: meta("", "slice"), Spec: sliceOf(d.node)}
	old := slice.DeepCopy()
	d.name, d.object, d.old = "slice", slice, old
	if operation == "DELETE" {
		slice = old
	}
	d.can("of another node", func() { slice.Spec.NodeName = pointer("n9") })
	d.can("of no node", func() { slice.Spec.NodeName = nil })
	d.can("of an empty node", func() { slice.Spec.NodeName = pointer("") })
	d.can("of all nodes", func() { slice.Spec.NodeName, slice.Spec.AllNodes = nil, pointer(true) })
	d.can("of another pool", func() { slice.Spec.Pool.Name = "n9" })
	d.can("no name", func() { d.name = "" })
	return d
}

// signing asks for a certificate of the node itself.
func (b *builder) signing() *draft {
	d := b.on("create signing request", "CREATE", "certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest")
	asked := &certsv1.CertificateSigningRequest{ObjectMeta: meta("", "csr")}
	asked.Spec.SignerName = b.pick("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
	asked.Spec.Usages = []certsv1.KeyUsage{certsv1.UsageDigitalSignature}
	asked.Spec.Request = certificateRequest("system:node:" + d.node)
	d.name, d.object = "csr", asked
	d.can("of another node", func() { asked.Spec.Request = certificateRequest("system:node:n9") })
	d.can("of a longer name", func() { asked.Spec.Request = certificateRequest("system:node:" + d.node + "0") })
	d.can("of the name without prefix", func() { asked.Spec.Request = certificateRequest(d.node) })
	d.can("of nobody", func() { asked.Spec.Request = certificateRequest("") })
	d.can("of two names, own last", func() { asked.Spec.Request = certificateRequest("system:node:n9", "system:node:"+d.node) })
	d.can("of two names, own first", func() { asked.Spec.Request = certificateRequest("system:node:"+d.node, "system:node:n9") })
	d.can("of another signer", func() {
		asked.Spec.SignerName = b.pick("kubernetes.io/kube-apiserver-client", "example.com/signer", "kubernetes.io/legacy-unknown")
		asked.Spec.Request = certificateRequest("system:node:n9")
	})
	d.can("nonsense for another signer", func() { asked.Spec.SignerName, asked.Spec.Request = "example.com/signer", []byte("nonsense") })
	d.can("nonsense", func() { asked.Spec.Request = []byte("nonsense") })
	d.can("empty", func() { asked.Spec.Request = nil })
	d.can("PEM of another type", func() {
		asked.Spec.Request = retyped(asked.Spec.Request, b.pick("CERTIFICATE", "NEW CERTIFICATE REQUEST"))
	})
	d.can("PEM of nonsense", func() { asked.Spec.Request = broken(asked.Spec.Request) })
	d.can("text before the PEM", func() { asked.Spec.Request = append([]byte("Subject: x\n"), asked.Spec.Request...) })
	d.can("text after the PEM", func() { asked.Spec.Request = append(append([]byte{}, asked.Spec.Request...), "more\n"...) })
	d.can("two PEM blocks, own first", func() {
		asked.Spec.Request = append(append([]byte{}, asked.Spec.Request...), certificateRequest("system:node:n9")...)
	})
	d.can("two PEM blocks, own last", func() {
		asked.Spec.Request = append(append([]byte{}, certificateRequest("system:node:n9")...), asked.Spec.Request...)
	})
	d.can("update", func() { d.operation, d.old = "UPDATE", asked; asked.Spec.Request = []byte("nonsense") })
	return d
}

// podCertificate asks for a certificate of a pod. Where its gate is off, all are refused.
func (b *builder) podCertificate() *draft {
	if b.minor < 34 {
		return b.tokenRequest()
	}
	d := b.on("create pod certificate", "CREATE", "certificates.k8s.io", "v1beta1", "podcertificaterequests", "PodCertificateRequest")
	node := b.ownNode(d)
	pod := b.running(d.node)
	account := &corev1.ServiceAccount{ObjectMeta: meta(pod.Namespace, b.fresh("account"))}
	account.UID = uid("sa", account.Name)
	pod.Spec.ServiceAccountName = account.Name
	b.add(account)
	asked := &certsv1beta1.PodCertificateRequest{ObjectMeta: meta(pod.Namespace, "pcr")}
	asked.Spec = certsv1beta1.PodCertificateRequestSpec{SignerName: "example.com/signer", PodName: pod.Name, PodUID: pod.UID,
		ServiceAccountName: account.Name, ServiceAccountUID: account.UID, NodeName: types.NodeName(d.node), NodeUID: node.UID}
	d.namespace, d.name, d.object = pod.Namespace, "pcr", asked
	b.volume(pod, projected(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/other"}},
		corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/signer"}}))
	if on, set := b.gates["PodCertificateRequest"]; set && !on || !set && !b.usual["PodCertificateRequest"] {
		d.recipe += " without the gate"
	}
	d.can("of a signer that is not mounted", func() { asked.Spec.SignerName = "example.com/strange" })
	d.can("of another signer that is granted", func() {
		asked.Spec.SignerName, d.signers = "example.com/a/b", []string{"x", "example.com:a:b"}
	})
	d.can("of a signer that is granted with a slash", func() {
		asked.Spec.SignerName, d.signers = "example.com/strange", []string{"example.com/strange"}
	})
	d.can("of another node", func() { asked.Spec.NodeName = types.NodeName(b.other(d.node, nodeNames)) })
	d.can("node of another UID", func() { asked.Spec.NodeUID = "other" })
	d.can("node is not there", func() { b.drop(node) })
	d.can("pod is not there", func() { b.drop(pod) })
	d.can("pod of another UID", func() { asked.Spec.PodUID = "other" })
	d.can("pod is elsewhere", func() { pod.Spec.NodeName = b.other(d.node, nodeNames) })
	d.can("pod is a mirror pod", func() { pod.Annotations = map[string]string{mirrorKey: "h"} })
	d.can("pod of another account", func() { pod.Spec.ServiceAccountName = "other" })
	d.can("another account", func() { asked.Spec.ServiceAccountName = "other" })
	d.can("account of another UID", func() { asked.Spec.ServiceAccountUID = "other" })
	d.can("account is not there", func() { b.drop(account) })
	d.can("in another namespace", func() { d.namespace = b.other(d.namespace, namespaces) })
	d.can("update", func() { d.operation, d.old = "UPDATE", asked })
	d.can("status", func() { d.subresource = "status" })
	return d
}

// elsewhere is something that the plugin does not look at.
func (b *builder) elsewhere() *draft {
	resource := b.pick("configmaps", "services", "events", "secrets", "volumeattachments")
	d := b.on("something else", b.pick("CREATE", "UPDATE", "DELETE", "CONNECT"), "", "v1", resource, "ConfigMap")
	object := &corev1.ConfigMap{ObjectMeta: meta("a", "x")}
	d.namespace, d.name, d.object, d.old = "a", "x", object, object
	d.can("no name", func() { d.name = "" })
	d.can("node without name", func() { d.user = "system:node:" })
	return d
}
