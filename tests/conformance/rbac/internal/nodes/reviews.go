package nodes

import (
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A review asks whether somebody may do something, mostly a node.
type review struct {
	who  identity
	what authorizationv1.ResourceAttributes
	// selector is the field selector as it stands in a URL; what of it the server gets is in what.
	selector string
}

func nodeUser(node string) identity {
	return identity{user: "system:node:" + node, groups: []string{"system:nodes", "system:authenticated"}}
}

// reviewed are the resources that nodes read and write, and some that they do not, each with what is tried on it and how
// often. What stands there twice is tried twice as often.
var reviewed = []struct {
	group, resource string
	subresources    []string
	verbs           []string
	weight          int
}{
	{"", "secrets", []string{""}, []string{"get", "get", "list", "watch", "create", "update"}, 22},
	{"", "configmaps", []string{""}, []string{"get", "get", "list", "watch", "delete"}, 14},
	{"", "persistentvolumeclaims", []string{"", "", "status"}, []string{"get", "update", "patch", "list"}, 12},
	{"", "persistentvolumes", []string{""}, []string{"get", "get", "list", "update"}, 8},
	{"resource.k8s.io", "resourceclaims", []string{"", "", "status"}, []string{"get", "get", "list", "update"}, 10},
	{"storage.k8s.io", "volumeattachments", []string{"", "", "status"}, []string{"get", "get", "list"}, 6},
	{"", "serviceaccounts", []string{"", "token", "token"}, []string{"get", "create", "create", "list", "watch"}, 14},
	{"resource.k8s.io", "resourceslices", []string{"", "", "", "status"}, []string{"get", "create", "update", "patch", "delete", "list", "watch", "deletecollection"}, 10},
	{"", "nodes", []string{"", "", "status", "proxy"}, []string{"get", "list", "watch", "create", "update", "patch", "delete"}, 8},
	{"", "pods", []string{"", "", "status", "eviction", "log"}, []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}, 14},
	{"coordination.k8s.io", "leases", []string{""}, []string{"get", "create", "update", "patch", "delete", "list"}, 5},
	{"storage.k8s.io", "csinodes", []string{"", "", "status"}, []string{"get", "create", "update", "patch", "delete", "list"}, 5},
	{"certificates.k8s.io", "podcertificaterequests", []string{""}, []string{"get", "create", "list"}, 2},
	{"certificates.k8s.io", "certificatesigningrequests", []string{"", "approval"}, []string{"get", "create", "list", "watch", "update"}, 2},
	{"", "services", []string{"", "status"}, []string{"get", "list", "watch", "create"}, 2},
	{"", "endpoints", []string{""}, []string{"get", "list"}, 1},
	{"", "events", []string{""}, []string{"create", "update", "patch", "get"}, 2},
	{"events.k8s.io", "events", []string{""}, []string{"create", "update", "patch", "list"}, 1},
	{"node.k8s.io", "runtimeclasses", []string{""}, []string{"get", "list", "watch", "create"}, 1},
	{"storage.k8s.io", "csidrivers", []string{""}, []string{"get", "list", "watch", "update"}, 1},
	{"authentication.k8s.io", "tokenreviews", []string{""}, []string{"create"}, 1},
	{"authorization.k8s.io", "selfsubjectaccessreviews", []string{""}, []string{"create"}, 1},
	{"apps", "deployments", []string{""}, []string{"get", "list"}, 1},
	{"storage.k8s.io", "storageclasses", []string{""}, []string{"get", "list"}, 1},
}

var clusterWide = []string{
	"persistentvolumes", "volumeattachments", "resourceslices", "nodes", "csinodes", "certificatesigningrequests", "runtimeclasses",
	"csidrivers", "tokenreviews", "selfsubjectaccessreviews", "storageclasses",
}

// reviews are questions about what is there: about half of them of a node that something leads to.
func (i *inventory) reviews(count int) []*review {
	byResource := map[string][]reference{}
	for _, reference := range i.references {
		byResource[reference.resource] = append(byResource[reference.resource], reference)
	}
	total := 0
	for _, entry := range reviewed {
		total += entry.weight
	}
	var made []*review
	for len(made) < count {
		draw := i.random.IntN(total)
		for _, entry := range reviewed {
			if draw -= entry.weight; draw < 0 {
				made = append(made, i.review(entry.group, entry.resource, i.one(entry.subresources...), i.one(entry.verbs...), byResource[entry.resource]))
				break
			}
		}
	}
	return made
}

func (i *inventory) review(group, resource, subresource, verb string, known []reference) *review {
	node := i.one(i.nodes...)
	what := authorizationv1.ResourceAttributes{Verb: verb, Group: group, Version: "*", Resource: resource, Subresource: subresource}
	isWide := slices.Contains(clusterWide, resource)
	switch {
	case len(known) > 0 && i.chance(85):
		reference := known[i.random.IntN(len(known))]
		what.Namespace, what.Name = reference.namespace, reference.name
		if i.chance(60) {
			node = reference.node
		}
	case resource == "persistentvolumes":
		what.Name = "volume-" + i.name("x")[2:]
	case resource == "nodes" || resource == "csinodes" || resource == "leases":
		what.Name = i.one(node, node, i.one(i.nodes...), "")
		if resource == "leases" {
			what.Namespace = i.one("kube-node-lease", "kube-node-lease", crowded[0])
		}
	default:
		what.Name = i.name("secret")
	}
	if what.Namespace == "" && !isWide {
		what.Namespace = i.one(crowded...)
	}
	if !isWide && i.chance(3) {
		what.Namespace = ""
	}
	if i.chance(8) || verb == "create" && subresource == "" || slices.Contains([]string{"list", "watch", "deletecollection"}, verb) && i.chance(50) {
		what.Name = ""
	}
	made := &review{who: nodeUser(node), what: what}
	i.limit(made, node)
	switch i.random.IntN(40) {
	case 0:
		// Nobody says which node this is.
		made.who.user = "system:node:"
	case 1:
		made.who.groups = []string{"system:authenticated"}
	case 2:
		made.who.user = node
	case 3:
		made.who.user = "system:node:Crowd-1"
	case 4:
		made.who.groups = []string{"system:nodes"}
	}
	return made
}

// limit limits some of the requests for many objects, in both of the forms that a review has for it.
func (i *inventory) limit(review *review, node string) {
	if !slices.Contains([]string{"list", "watch", "deletecollection"}, review.what.Verb) || i.chance(25) {
		return
	}
	other := i.one(i.nodes...)
	require := func(key string, operator metav1.FieldSelectorOperator, values ...string) metav1.FieldSelectorRequirement {
		return metav1.FieldSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	own := require("spec.nodeName", metav1.FieldSelectorOpIn, node)
	type form struct {
		text         string
		requirements []metav1.FieldSelectorRequirement
	}
	running := require("status.phase", metav1.FieldSelectorOpIn, "Running")
	forms := []form{
		{"spec.nodeName=" + node, []metav1.FieldSelectorRequirement{own}},
		{"spec.nodeName=" + node, []metav1.FieldSelectorRequirement{own}},
		{"spec.nodeName=" + other, []metav1.FieldSelectorRequirement{require("spec.nodeName", metav1.FieldSelectorOpIn, other)}},
		{"spec.nodeName!=" + node, []metav1.FieldSelectorRequirement{require("spec.nodeName", metav1.FieldSelectorOpNotIn, node)}},
		{"spec.nodeName=" + node + ",status.phase=Running", []metav1.FieldSelectorRequirement{own, running}},
		{"status.phase=Running", []metav1.FieldSelectorRequirement{running}},
		{"metadata.name=" + node, []metav1.FieldSelectorRequirement{require("metadata.name", metav1.FieldSelectorOpIn, node)}},
	}
	chosen := forms[i.random.IntN(len(forms))]
	review.selector = chosen.text
	review.what.FieldSelector = &authorizationv1.FieldSelectorAttributes{}
	if i.chance(50) {
		review.what.FieldSelector.RawSelector = chosen.text
	} else {
		review.what.FieldSelector.Requirements = chosen.requirements
	}
}
