package nodes

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// A kubelet makes the writes of one node.
type kubelet struct {
	*restriction
	node, other string
	who         identity
	failure     error
}

// fill makes the writes of some nodes, and of some who are not quite a node.
func (r *restriction) fill() error {
	for index, node := range r.inventory.nodes[:4] {
		k := &kubelet{restriction: r, node: node, other: r.inventory.nodes[(index+1)%len(r.inventory.nodes)], who: nodeUser(node)}
		k.nodes()
		k.registration(fmt.Sprintf("coming-%d", index))
		k.mirrors()
		k.pods()
		k.tokens()
		k.namesakes()
		k.slices()
		k.claims()
		k.certificates()
		k.rest()
		if k.failure != nil {
			return k.failure
		}
	}
	first := r.inventory.nodes[0]
	for _, who := range []identity{
		{user: "system:node:", groups: []string{"system:nodes"}}, {user: "system:node:" + first}, {user: first, groups: []string{"system:nodes"}},
		{user: "system:node:Crowd-0", groups: []string{"system:nodes"}},
	} {
		k := &kubelet{restriction: r, node: first, other: r.inventory.nodes[1], who: who}
		k.label("team", "x")
		k.mirrors()
		k.namesakes()
		if k.failure != nil {
			return k.failure
		}
	}
	return nil
}

func (k *kubelet) fail(err error) {
	if k.failure == nil {
		k.failure = err
	}
}

// held is what the server holds of a kind.
func (k *kubelet) held(kind string, wanted func(object object) bool) []object {
	return slices.DeleteFunc(slices.Clone(k.objects), func(object object) bool { return object["kind"] != kind || !wanted(object) })
}

func (k *kubelet) theOne(kind, name string) object {
	found := k.held(kind, func(object object) bool { return at(object, "metadata", "name") == name })
	if len(found) == 0 {
		k.fail(fmt.Errorf("there is no %s %s", kind, name))
		return object{}
	}
	return found[0]
}

func (k *kubelet) at(group, resource string) place {
	place, err := k.placeOfResource(group, resource)
	if err != nil {
		k.fail(err)
	}
	return place
}

func (k *kubelet) add(made *write) {
	made.who = k.who
	k.writes = append(k.writes, made)
}

// creates makes an object, or a subresource of the one that is named.
func (k *kubelet) creates(place place, namespace, name, subresource, what string, made object) {
	url := place.all(namespace)
	if subresource != "" {
		url = place.one(namespace, name, subresource)
	}
	k.add(&write{
		verb: "create", place: place, namespace: namespace, name: name, subresource: subresource, what: what,
		request: request{http.MethodPost, url + "?" + dryRun, plain, made}, changes: []change{{new: made}},
	})
}

// changed patches an object, and puts what becomes of it.
func (k *kubelet) changed(place place, old object, subresource, what string, patch object) {
	namespace, name := at(old, "metadata", "namespace"), at(old, "metadata", "name")
	url, after := place.one(namespace, name, subresource)+"?"+dryRun, merged(old, patch)
	k.add(&write{
		verb: "patch", place: place, namespace: namespace, name: name, subresource: subresource, what: what,
		request: request{http.MethodPatch, url, mergePatch, patch}, changes: []change{{old, after}},
	})
	k.add(&write{
		verb: "update", place: place, namespace: namespace, name: name, subresource: subresource, what: what,
		request: request{http.MethodPut, url, plain, after}, changes: []change{{old, after}},
	})
}

func (k *kubelet) deletes(place place, old object) {
	namespace, name := at(old, "metadata", "namespace"), at(old, "metadata", "name")
	k.add(&write{
		verb: "delete", place: place, namespace: namespace, name: name,
		request: request{http.MethodDelete, place.one(namespace, name, "") + "?" + dryRun, "", nil}, changes: []change{{old: old}},
	})
}

// everyLabel is one of every sort: those a kubelet sets, others of Kubernetes, restricted ones, and look-alikes.
var everyLabel = []string{
	"team", "example.org/x", "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/role", "node.kubernetes.io/instance-type",
	"node.kubernetes.io/anything", "a.node.kubernetes.io/x", "xnode.kubernetes.io/x", "kubelet.kubernetes.io/size", "a.kubelet.kubernetes.io/x",
	"node-restriction.kubernetes.io/pool", "node-restriction.kubernetes.io/other", "a.node-restriction.kubernetes.io/x",
	"node-role.kubernetes.io/worker", "node-role.kubernetes.io/master", "beta.kubernetes.io/arch", "topology.kubernetes.io/zone",
	"topology.kubernetes.io/other", "failure-domain.beta.kubernetes.io/region", "k8s.io/x", "a.k8s.io/x", "xk8s.io/x", "mykubernetes.io/x",
}

func labelled(key string, value any) object {
	return object{"metadata": object{"labels": object{key: value}}}
}

func (k *kubelet) label(key string, value any) {
	k.changed(k.at("", "nodes"), k.theOne("Node", k.node), "", fmt.Sprintf("label %s: %v", key, value), labelled(key, value))
}

// nodes are changed in all that steers pods, the own one and another.
func (k *kubelet) nodes() {
	place, own, other := k.at("", "nodes"), k.theOne("Node", k.node), k.theOne("Node", k.other)
	for _, key := range everyLabel {
		k.label(key, "changed")
	}
	for _, key := range []string{"team", "kubernetes.io/hostname", "node-restriction.kubernetes.io/pool", "node-role.kubernetes.io/worker", "kubelet.kubernetes.io/size"} {
		k.label(key, nil)
	}
	taint := object{"key": "example.org/pool", "value": "x", "effect": "NoSchedule"}
	for _, change := range []patch{
		{"annotation", object{"metadata": object{"annotations": object{"example.org/a": "b"}}}},
		{"another taint", object{"spec": object{"taints": []any{taint}}}},
		{"no taints", object{"spec": object{"taints": nil}}},
		{"cordon", object{"spec": object{"unschedulable": true}}},
		{"another owner", object{"metadata": object{"ownerReferences": []any{owner("after")}}}},
		{"no owners", object{"metadata": object{"ownerReferences": nil}}},
		{"config source", object{"spec": object{"configSource": object{"configMap": object{
			"namespace": "default", "name": "kubelet", "kubeletConfigKey": "kubelet",
		}}}}},
		{"labels of two sorts", object{"metadata": object{"labels": object{"team": "x", "k8s.io/x": "y"}}}},
		{"status", object{"status": object{"capacity": object{"cpu": "4"}}}},
	} {
		for _, subresource := range []string{"", "status"} {
			k.changed(place, own, subresource, change.what, change.patch)
			if change.what == "annotation" || change.what == "status" {
				k.changed(place, other, subresource, change.what, change.patch)
			}
		}
	}
	for _, key := range []string{"team", "node-restriction.kubernetes.io/pool", "kubernetes.io/role"} {
		k.changed(place, own, "status", "label "+key, labelled(key, "changed"))
	}
	k.deletes(place, own)
	k.deletes(place, other)
}

// registration makes Nodes: its own as one that is not there yet, and another.
func (k *kubelet) registration(name string) {
	place := k.at("", "nodes")
	own := k.who
	k.who = nodeUser(name)
	defer func() { k.who = own }()
	node := func() object { return object{"apiVersion": "v1", "kind": "Node", "metadata": named(name)} }
	k.creates(place, "", "", "", "", node())
	for _, key := range everyLabel {
		k.creates(place, "", "", "", "label "+key, merged(node(), labelled(key, "new")))
	}
	k.creates(place, "", "", "", "taint", merged(node(), object{"spec": object{"taints": []any{object{"key": "a", "effect": "NoExecute"}}}}))
	k.creates(place, "", "", "", "config source", merged(node(), object{"spec": object{"configSource": object{"configMap": object{
		"namespace": "default", "name": "kubelet", "kubeletConfigKey": "kubelet",
	}}}}))
	k.creates(place, "", "", "", "owner", merged(node(), object{"metadata": object{"ownerReferences": []any{owner("x")}}}))
	k.creates(place, "", "", "", "of another name", merged(node(), object{"metadata": named("other-" + name)}))
}

// namesakes are objects that a node has one of, of its own name.
func (k *kubelet) namesakes() {
	leases, csi := k.at("coordination.k8s.io", "leases"), k.at("storage.k8s.io", "csinodes")
	for _, name := range []string{"coming-0", k.other + "x"} {
		lease := func(namespace string) object {
			return object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": object{"name": name, "namespace": namespace}}
		}
		k.creates(leases, "kube-node-lease", "", "", name, lease("kube-node-lease"))
		k.creates(leases, crowded[0], "", "", name, lease(crowded[0]))
		k.creates(csi, "", "", "", name, object{
			"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": named(name), "spec": object{"drivers": []any{}},
		})
	}
	// Under its own name, as one that is not there yet.
	who := k.who
	k.who = nodeUser("coming-0")
	for _, name := range []string{"coming-0", "coming-1"} {
		k.creates(leases, "kube-node-lease", "", "", name, object{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": object{"name": name, "namespace": "kube-node-lease"},
		})
		k.creates(csi, "", "", "", name, object{
			"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": named(name), "spec": object{"drivers": []any{}},
		})
	}
	k.who = who
	note := object{"metadata": object{"annotations": object{"example.org/a": "b"}}}
	for _, node := range []string{k.node, k.other} {
		for _, old := range k.held("CSINode", func(object object) bool { return at(object, "metadata", "name") == node }) {
			k.changed(csi, old, "", "annotation", note)
			k.deletes(csi, old)
		}
		for _, old := range k.held("Lease", func(object object) bool { return at(object, "metadata", "name") == node }) {
			k.changed(leases, old, "", "annotation", note)
			k.deletes(leases, old)
		}
	}
}

// slices are of a node, of another or of all, one by one and many.
func (k *kubelet) slices() {
	place := k.at("resource.k8s.io", "resourceslices")
	slice := func(spec object) object {
		spec = merged(object{"driver": "disks.example.org", "pool": object{"name": "p", "generation": int64(1), "resourceSliceCount": int64(1)}}, spec)
		return object{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": named("new"), "spec": spec}
	}
	for _, spec := range []object{{"nodeName": k.node}, {"nodeName": k.other}, {"allNodes": true}} {
		k.creates(place, "", "", "", fmt.Sprint(spec), slice(spec))
	}
	note := object{"metadata": object{"annotations": object{"example.org/a": "b"}}}
	own := k.held("ResourceSlice", func(object object) bool { return at(object, "spec", "nodeName") == k.node })
	others := k.held("ResourceSlice", func(object object) bool { return at(object, "spec", "nodeName") != k.node })
	for _, old := range slices.Concat(first(own, 1), first(others, 3)) {
		k.changed(place, old, "", "annotation", note)
		k.deletes(place, old)
	}
	for _, selector := range []string{"", "spec.nodeName=" + k.node, "spec.nodeName=" + k.other} {
		var changes []change
		if selector == "spec.nodeName="+k.node {
			for _, old := range own {
				changes = append(changes, change{old: old})
			}
		}
		k.add(&write{
			verb: "deletecollection", place: place, selector: selector, what: selector, changes: changes,
			request: request{http.MethodDelete, place.all("") + "?fieldSelector=" + url.QueryEscape(selector) + "&" + dryRun, "", nil},
		})
	}
}

// claims have a status of which a kubelet may write a part, of those that a pod of its own uses.
func (k *kubelet) claims() {
	place := k.at("", "persistentvolumeclaims")
	var reached, others []object
	for _, claim := range k.held("PersistentVolumeClaim", func(object) bool { return true }) {
		isReached := slices.ContainsFunc(k.inventory.references, func(reference reference) bool {
			return reference.resource == place.resource && reference.node == k.node &&
				reference.namespace == at(claim, "metadata", "namespace") && reference.name == at(claim, "metadata", "name")
		})
		if isReached {
			reached = append(reached, claim)
		} else {
			others = append(others, claim)
		}
	}
	if len(reached) == 0 || len(others) == 0 {
		k.fail(errors.New("every node reaches all claims, or none"))
		return
	}
	for _, claim := range slices.Concat(first(reached, 3), first(others, 1)) {
		for _, change := range []patch{
			{"capacity", object{"status": object{"capacity": object{"storage": "1Gi"}}}},
			{"conditions", object{"status": object{"conditions": []any{object{"type": "FileSystemResizePending", "status": "True"}}}}},
			{"phase", object{"status": object{"phase": "Lost"}}},
			{"allocated", object{"status": object{"allocatedResources": object{"storage": "1Gi"}}}},
			{"label", labelled("team", "x")},
			{"annotation", object{"metadata": object{"annotations": object{"example.org/a": "b"}}}},
		} {
			k.changed(place, claim, "status", change.what, change.patch)
		}
		k.changed(place, claim, "", "label", labelled("team", "x"))
	}
}

// rest are writes at which the plugin does not look.
func (k *kubelet) rest() {
	k.creates(k.at("", "events"), crowded[0], "", "", "", object{
		"apiVersion": "v1", "kind": "Event", "metadata": object{"name": "event", "namespace": crowded[0]},
		"involvedObject": object{"kind": "Pod", "namespace": crowded[0], "name": "x"},
	})
	k.creates(k.at("", "secrets"), crowded[0], "", "", "", object{
		"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "new", "namespace": crowded[0]},
	})
}

func first(list []object, count int) []object { return list[:min(count, len(list))] }
