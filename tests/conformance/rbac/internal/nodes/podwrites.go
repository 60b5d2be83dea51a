package nodes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
)

// mirrors are pods that stand for a file on the node, made right, and wrong in one thing each.
func (k *kubelet) mirrors() {
	place := k.at("", "pods")
	owner := func(change object) any {
		return merged(object{
			"apiVersion": "v1", "kind": "Node", "name": k.node, "uid": at(k.theOne("Node", k.node), "metadata", "uid"), "controller": true,
		}, change)
	}
	base := object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{
			"name": "static-" + k.node, "namespace": crowded[0], "annotations": object{mirror: "hash"}, "ownerReferences": []any{owner(nil)},
		},
		"spec": object{"nodeName": k.node, "containers": []any{object{"name": "main", "image": "registry.example.org/static:1"}}},
	}
	add := func(what string, change object) { k.creates(place, crowded[0], "", "", what, merged(base, change)) }
	owned := func(owners ...any) object { return object{"metadata": object{"ownerReferences": owners}} }
	add("right", nil)
	add("no annotation", object{"metadata": object{"annotations": nil}})
	add("another node", object{"spec": object{"nodeName": k.other}})
	add("no owner", owned())
	add("two owners", owned(owner(nil), owner(object{"controller": false, "uid": "x"})))
	add("owned by another node", owned(owner(object{"name": k.other})))
	add("with another uid", owned(owner(object{"uid": at(k.theOne("Node", k.other), "metadata", "uid")})))
	add("owned by a pod", owned(owner(object{"kind": "Pod"})))
	add("of another version", owned(owner(object{"apiVersion": "v2"})))
	add("owner is no controller", owned(owner(object{"controller": nil})))
	add("owner blocks", owned(owner(object{"blockOwnerDeletion": true})))
	add("owner does not block", owned(owner(object{"blockOwnerDeletion": false})))
	add("account", object{"spec": object{"serviceAccountName": "default"}})
	add("pull secret", object{"spec": object{"imagePullSecrets": []any{named("s")}}})
	add("device", object{"spec": object{"resourceClaims": []any{object{"name": "d", "resourceClaimName": "d"}}}})
	template := object{"volumeClaimTemplate": object{"spec": object{"accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}}}}}
	projected := func(source object) object { return object{"projected": object{"sources": []any{source}}} }
	for _, source := range []object{
		{}, {"emptyDir": object{}}, {"hostPath": object{"path": "/etc"}}, {"nfs": object{"server": "192.0.2.1", "path": "/"}},
		{"downwardAPI": object{"items": []any{}}}, {"image": object{"reference": "registry.example.org/files:1", "pullPolicy": "Always"}},
		{"configMap": named("c")}, {"secret": object{"secretName": "s"}}, {"persistentVolumeClaim": object{"claimName": "c"}}, {"ephemeral": template},
		{"csi": object{"driver": "driver-0.example.org"}}, {"glusterfs": object{"endpoints": "e", "path": "p"}},
		{"azureFile": object{"secretName": "s", "shareName": "s"}}, {"iscsi": object{"targetPortal": "192.0.2.1:3260", "iqn": "iqn.2001-04.com.example:storage", "lun": int64(0)}},
		{"cephfs": object{"monitors": []any{"192.0.2.1"}}}, {"cephfs": object{"monitors": []any{"192.0.2.1"}, "secretRef": named("s")}},
		{"rbd": object{"monitors": []any{"192.0.2.1"}, "image": "d"}}, {"fc": object{"wwids": []any{"1"}}},
		projected(object{"downwardAPI": object{"items": []any{}}}), projected(object{"configMap": named("c")}), projected(object{"secret": named("s")}),
		projected(object{"serviceAccountToken": object{"path": "token"}}), projected(object{"clusterTrustBundle": object{"name": "b", "path": "b"}}),
	} {
		volume := merged(object{"name": "v"}, source)
		add(fmt.Sprint("volume ", source), object{"spec": object{"volumes": []any{volume}}})
	}
	variable := func(source object) object {
		container := merged(base["spec"].(object)["containers"].([]any)[0].(object), object{"env": []any{object{"name": "A", "valueFrom": source}}})
		return object{"spec": object{"containers": []any{container}}}
	}
	add("variable from a secret", variable(object{"secretKeyRef": object{"name": "s", "key": "k"}}))
	add("variable from a map", variable(object{"configMapKeyRef": object{"name": "c", "key": "k"}}))
	add("variable from itself", variable(object{"fieldRef": object{"fieldPath": "metadata.name"}}))
}

// onNode are the pods of a node that are to stay.
func (k *kubelet) onNode(node string, wanted func(pod object) bool) []object {
	return k.held("Pod", func(pod object) bool {
		return at(pod, "spec", "nodeName") == node && at(pod, "metadata", "deletionTimestamp") == "" && wanted(pod)
	})
}

func isMirror(pod object) bool { return at(pod, "metadata", "annotations", mirror) != "" }

// pods are removed, evicted and reported about: of the node, of another and of none.
func (k *kubelet) pods() {
	place := k.at("", "pods")
	var chosen []object
	chosen = append(chosen, first(k.onNode(k.node, func(pod object) bool { return !isMirror(pod) && pod["status"].(object)["resourceClaimStatuses"] == nil }), 2)...)
	chosen = append(chosen, first(k.onNode(k.node, func(pod object) bool { return pod["status"].(object)["resourceClaimStatuses"] != nil }), 1)...)
	chosen = append(chosen, first(k.onNode(k.node, func(pod object) bool { return pod["status"].(object)["extendedResourceClaimStatus"] != nil }), 1)...)
	chosen = append(chosen, first(k.onNode(k.node, isMirror), 1)...)
	chosen = append(chosen, first(k.onNode(k.other, func(object) bool { return true }), 1)...)
	chosen = append(chosen, first(k.onNode("", func(object) bool { return true }), 1)...)
	for _, pod := range chosen {
		namespace, name := at(pod, "metadata", "namespace"), at(pod, "metadata", "name")
		k.deletes(place, pod)
		k.creates(place, namespace, name, "eviction", "", object{
			"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": name, "namespace": namespace},
		})
		k.changed(place, pod, "", "label", labelled("app", "x"))
		for _, change := range []patch{
			{"message", object{"status": object{"message": "as it should be"}}},
			{"another label", labelled("app", "x")},
			{"a new label", labelled("new", "x")},
			{"annotation", object{"metadata": object{"annotations": object{"example.org/a": "b"}}}},
		} {
			k.changed(place, pod, "status", change.what, change.patch)
		}
		k.devices(place, pod)
	}
	k.deletes(place, object{"metadata": object{"name": "nowhere", "namespace": crowded[0]}})
	k.creates(place, crowded[0], "nowhere", "eviction", "", object{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": "nowhere", "namespace": crowded[0]},
	})
}

// devices are what the status of a pod says of its claims, which a kubelet may not.
func (k *kubelet) devices(place place, pod object) {
	if extended := pod["status"].(object)["extendedResourceClaimStatus"]; extended != nil {
		k.changed(place, pod, "status", "no extended claim", object{"status": object{"extendedResourceClaimStatus": nil}})
		k.changed(place, pod, "status", "the same extended claim", object{"status": object{"extendedResourceClaimStatus": extended}})
	}
	if pod["spec"].(object)["resourceClaims"] == nil {
		return
	}
	for _, claim := range pod["spec"].(object)["resourceClaims"].([]any) {
		name := at(claim.(object), "name")
		if name != "generated" {
			continue
		}
		for _, statuses := range [][]any{{object{"name": name, "resourceClaimName": "mine"}}, {object{"name": name}}, nil} {
			patch := object{"status": object{"resourceClaimStatuses": statuses}}
			if statuses == nil {
				patch = object{"status": object{"resourceClaimStatuses": nil}}
			}
			k.changed(place, pod, "status", fmt.Sprint("claims ", statuses), patch)
		}
	}
}

// tokens are asked for: for pods of the node and others, with every audience that somebody may need.
func (k *kubelet) tokens() {
	place := k.at("", "serviceaccounts")
	ask := func(pod object, what string, bound any, audiences ...any) {
		spec := object{"audiences": audiences}
		if bound != nil {
			spec["boundObjectRef"] = bound
		}
		k.creates(place, at(pod, "metadata", "namespace"), at(pod, "spec", "serviceAccountName"), "token", what, object{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec,
		})
	}
	reference := func(pod object, change object) any {
		return merged(object{"apiVersion": "v1", "kind": "Pod", "name": at(pod, "metadata", "name"), "uid": at(pod, "metadata", "uid")}, change)
	}
	own := k.onNode(k.node, func(pod object) bool { return !isMirror(pod) })
	other := k.onNode(k.other, func(pod object) bool { return !isMirror(pod) })
	for index, pod := range first(own, 12) {
		for _, audiences := range [][]any{nil, {"vault"}, {"bank"}, {"nobody"}} {
			ask(pod, fmt.Sprint("audiences ", audiences), reference(pod, nil), audiences...)
		}
		if index > 1 {
			continue
		}
		ask(pod, "two audiences", reference(pod, nil), "vault", "bank")
		ask(pod, "not bound", nil)
		ask(pod, "another uid", reference(pod, object{"uid": at(other[0], "metadata", "uid")}))
		ask(pod, "no uid", reference(pod, object{"uid": nil}))
		ask(pod, "no such pod", reference(pod, object{"name": "nowhere"}))
		ask(pod, "no name", reference(pod, object{"name": nil}))
		ask(pod, "bound to the node", object{"apiVersion": "v1", "kind": "Node", "name": k.node, "uid": at(k.theOne("Node", k.node), "metadata", "uid")})
		ask(pod, "bound to a secret", object{"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "x"})
		ask(pod, "bound to a pod of another version", reference(pod, object{"apiVersion": "v2"}))
	}
	for _, pod := range first(other, 3) {
		ask(pod, "for a pod of another node", reference(pod, nil))
	}
}

// certificates are asked for: of every signer, in the name of the node and in others.
func (k *kubelet) certificates() {
	place := k.at("certificates.k8s.io", "certificatesigningrequests")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		k.fail(err)
		return
	}
	own := "system:node:" + k.node
	for _, signer := range []string{"kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client", "example.org/signer"} {
		for _, name := range []string{own, "system:node:" + k.other, "", k.node, own + "x"} {
			template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: []string{"system:nodes"}}}
			request, err := x509.CreateCertificateRequest(rand.Reader, template, key)
			if err != nil {
				k.fail(err)
				return
			}
			text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})
			usage := "client auth"
			if signer == "kubernetes.io/kubelet-serving" {
				usage = "server auth"
			}
			k.creates(place, "", "", "", signer+" for "+name, object{
				"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": named("csr"),
				"spec": object{
					"signerName": signer, "request": base64.StdEncoding.EncodeToString(text), "usages": []any{"digital signature", usage},
				},
			})
		}
	}
}
