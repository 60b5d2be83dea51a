package worlds

import (
	"maps"
	"slices"
	"strings"
)

// request is what an authorizer is asked.
type request struct {
	user, verb, group, resource, subresource, namespace, name, selector, path string
	groups                                                                    []string
}

func (r request) body() Object {
	body := Object{"user": r.user, "groups": r.groups, "verb": r.verb, "apiGroup": r.group, "resource": r.resource,
		"subresource": r.subresource, "namespace": r.namespace, "name": r.name, "fieldSelector": r.selector, "path": r.path}
	maps.DeleteFunc(body, func(key string, value any) bool { return value == "" && key != "apiGroup" })
	return body
}

var nodeGroups = []string{"system:nodes", "system:authenticated"}

func ofNode(node string) request {
	return request{user: "system:node:" + node, groups: nodeGroups}
}

// static are rules of the role of nodes, and some that were never in it.
var static = []struct {
	group, resource string
	verbs           []string
}{
	{"authentication.k8s.io", "tokenreviews", []string{"create"}},
	{"authorization.k8s.io", "subjectaccessreviews", []string{"create"}},
	{"authorization.k8s.io", "localsubjectaccessreviews", []string{"create"}},
	{"", "services", []string{"get", "list", "watch"}},
	{"", "events", []string{"create", "update", "patch"}},
	{"events.k8s.io", "events", []string{"create", "update", "patch"}},
	{"", "endpoints", []string{"get"}},
	{"certificates.k8s.io", "certificatesigningrequests", []string{"create", "get", "list", "watch"}},
	{"storage.k8s.io", "csidrivers", []string{"get", "list", "watch"}},
	{"node.k8s.io", "runtimeclasses", []string{"get", "list", "watch"}},
	{"certificates.k8s.io", "clustertrustbundles", []string{"get", "list", "watch"}},
	{"", "nodes", []string{"create", "get", "list", "watch", "update", "patch", "delete"}},
	{"", "nodes/status", []string{"update", "patch", "get"}},
	{"", "pods", []string{"create", "delete", "get", "list", "watch", "update", "patch"}},
	{"", "pods/status", []string{"update", "patch", "get"}},
	{"", "pods/eviction", []string{"create"}},
	{"", "pods/exec", []string{"create"}},
	{"", "persistentvolumeclaims/status", []string{"get"}},
	{"", "serviceaccounts", []string{"list", "watch", "create"}},
	{"csi.storage.k8s.io", "csinodeinfos", []string{"get", "create", "update", "patch", "delete"}},
	{"storage.k8s.io", "storageclasses", []string{"get", "list"}},
	{"resource.k8s.io", "deviceclasses", []string{"get"}},
	{"discovery.k8s.io", "endpointslices", []string{"get", "list"}},
	{"apps", "deployments", []string{"get"}},
	{"", "namespaces", []string{"get", "list"}},
}

var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*", "GET"}

// request makes a request that is allowed if all is well, and then changes some of it.
func (b *builder) request() Item {
	var made request
	var recipe string
	switch at := b.IntN(100); {
	case at < 55:
		made, recipe = b.linked()
	case at < 82:
		made, recipe = b.own()
	default:
		rule := static[b.IntN(len(static))]
		made = ofNode(b.pick(nodeNames...))
		made.group, made.verb = rule.group, b.pick(rule.verbs...)
		made.resource, made.subresource, _ = strings.Cut(rule.resource, "/")
		made.namespace, made.name = b.pick("", "a"), b.pick("", "x", "n1")
		recipe = "role " + made.verb + " " + rule.resource
		if rule.group != "" && rule.resource == "events" {
			recipe += " of " + rule.group
		}
	}
	names := []string{}
	for range b.howMany() {
		if name, ok := b.changeRequest(&made); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return Item{made.body(), recipe, names}
}

func (b *builder) howMany() int {
	switch at := b.IntN(100); {
	case at < 45:
		return 0
	case at < 85:
		return 1
	default:
		return 2
	}
}

// linked asks for an object that a node may be led to.
func (b *builder) linked() (request, string) {
	found := b.links[b.IntN(len(b.links))]
	made := ofNode(found.node)
	made.group, made.resource, made.namespace, made.name = found.group, found.resource, found.namespace, found.name
	made.verb = "get"
	switch found.resource {
	case "secrets", "configmaps":
		made.verb = b.pick("get", "get", "list", "watch")
	case "pods":
		made.verb = b.pick("get", "list", "watch")
	case "persistentvolumeclaims":
		if b.chance(40) {
			made.subresource, made.verb = "status", b.pick("update", "patch")
		}
	case "serviceaccounts":
		if b.chance(70) {
			made.subresource, made.verb = "token", "create"
		}
	case "resourceslices":
		made.verb = b.pick("get", "update", "patch", "delete")
	}
	action := made.verb
	if made.subresource != "" {
		action += " " + made.subresource
	}
	if found.leads {
		return made, "path " + found.edge + ": " + action
	}
	return made, "no path " + found.edge + ": " + action
}

// own asks for what a node may do with its own objects, or with all of a kind.
func (b *builder) own() (request, string) {
	node := b.pick(append([]string{"unregistered"}, nodeNames...)...)
	made := ofNode(node)
	selected := "spec.nodeName=" + node
	switch b.IntN(10) {
	case 0, 1:
		made.group, made.resource, made.verb = "coordination.k8s.io", "leases", b.pick("get", "create", "update", "patch", "delete")
		made.namespace, made.name = "kube-node-lease", node
		if made.verb == "create" {
			made.name = b.pick("", node, "n9")
		}
	case 2:
		made.group, made.resource, made.verb = "storage.k8s.io", "csinodes", b.pick("get", "create", "update", "patch", "delete")
		made.name = node
		if made.verb == "create" {
			made.name = b.pick("", node, "n9")
		}
	case 3, 4:
		made.resource, made.verb, made.name = "nodes", b.pick("get", "list", "watch", "create", "update", "patch"), node
		if slices.Contains([]string{"create", "update", "patch"}, made.verb) {
			made.name = b.pick(node, "n9", "")
		}
		if slices.Contains([]string{"update", "patch"}, made.verb) && b.chance(50) {
			made.subresource = "status"
		}
	case 5, 6:
		made.resource, made.verb, made.selector = "pods", b.pick("list", "watch"), selected
		made.namespace = b.pick("", "", "a")
	case 7:
		made.resource, made.namespace, made.name = "pods", b.pick(namespaces...), "anything"
		switch b.IntN(3) {
		case 0:
			made.verb = b.pick("create", "delete")
		case 1:
			made.subresource, made.verb = "status", b.pick("update", "patch")
		default:
			made.subresource, made.verb = "eviction", "create"
		}
	case 8:
		made.group, made.resource, made.verb = "resource.k8s.io", "resourceslices", b.pick("list", "watch", "deletecollection", "create")
		if made.verb != "create" {
			made.selector = selected
		}
	default:
		made.group, made.resource, made.verb = "certificates.k8s.io", "podcertificaterequests", b.pick("list", "watch", "create")
		if made.verb != "create" {
			made.selector = selected
		} else {
			made.namespace = "a"
		}
	}
	action := made.verb + " " + made.resource
	if made.subresource != "" {
		action += "/" + made.subresource
	}
	return made, "own " + action
}

// changeRequest changes one thing, and tells which.
func (b *builder) changeRequest(made *request) (string, bool) {
	node := strings.TrimPrefix(made.user, "system:node:")
	set := func(field *string, to string) bool {
		changed := *field != to
		*field = to
		return changed
	}
	name := b.pick("other node", "other node", "other node", "node without group", "node without prefix", "node without name", "prefix in capitals", "more groups",
		"verb", "verb", "verb", "subresource", "no subresource", "no subresource", "other namespace", "other namespace", "no namespace", "no namespace", "other name", "other name", "no name", "no name",
		"other group", "other resource", "selector", "selector", "selector", "selector", "selector", "selector", "path")
	if made.selector != "" && b.chance(60) {
		name = "selector"
	}
	switch name {
	case "other node":
		return name, set(&made.user, "system:node:"+b.other(node, nodeNames))
	case "node without group":
		made.groups = []string{"system:authenticated"}
		return name, true
	case "node without prefix":
		return name, set(&made.user, b.pick(node, "kubelet", "system:node-problem-detector", "system:serviceaccount:a:web"))
	case "node without name":
		return name, set(&made.user, "system:node:")
	case "prefix in capitals":
		return name, set(&made.user, "System:node:"+node)
	case "more groups":
		made.groups = append([]string{"system:masters"}, made.groups...)
		return name, true
	case "verb":
		return "verb", set(&made.verb, b.pick(verbs...))
	case "subresource":
		return name, set(&made.subresource, b.pick("status", "token", "finalizers", "eviction", "exec", "proxy", "log", "ephemeralcontainers"))
	case "no subresource":
		return name, set(&made.subresource, "")
	case "other namespace":
		return name, made.namespace != "" && set(&made.namespace, b.other(made.namespace, append([]string{"kube-node-lease", "default"}, namespaces...)))
	case "no namespace":
		return name, set(&made.namespace, "")
	case "other name":
		return name, made.name != "" && set(&made.name, b.pick("nothing", "n1", "n2", "shared", "tls", "web"))
	case "no name":
		return name, set(&made.name, "")
	case "other group":
		return name, set(&made.group, b.pick("", "apps", "storage.k8s.io", "coordination.k8s.io", "resource.k8s.io", "events.k8s.io", "*"))
	case "other resource":
		return name, set(&made.resource, b.pick("secrets", "configmaps", "persistentvolumes", "persistentvolumeclaims", "serviceaccounts", "pods", "nodes", "services", "*"))
	case "path":
		made.path = b.pick("/healthz", "/api", "/metrics", "/")
		return name, true
	}
	return b.changeSelector(made, node)
}

// changeSelector writes another field selector, where one may matter.
func (b *builder) changeSelector(made *request, node string) (string, bool) {
	if made.selector == "" && b.chance(80) {
		return "", false
	}
	other := b.other(node, nodeNames)
	forms := map[string]string{
		"none":              "",
		"other":             "spec.nodeName=" + other,
		"not":               "spec.nodeName!=" + node,
		"not other":         "spec.nodeName!=" + other,
		"double":            "spec.nodeName==" + node,
		"and more":          "spec.nodeName=" + node + ",status.phase=Running",
		"more before":       "status.phase!=Failed,spec.nodeName=" + node,
		"both":              "spec.nodeName=" + other + ",spec.nodeName=" + node,
		"trailing comma":    "spec.nodeName=" + node + ",",
		"spaces":            "spec.nodeName = " + node,
		"space after comma": "status.phase=Running, spec.nodeName=" + node,
		"other field":       "metadata.name=" + node,
		"name":              "metadata.name=web",
		"capitals":          "spec.nodename=" + node,
		"empty value":       "spec.nodeName=",
		"no operator":       "spec.nodeName",
		"and nonsense":      "spec.nodeName=" + node + ",nonsense",
		"escaped":           "spec.nodeName=n\\=1",
		"escaped comma":     "status.phase=a\\,b,spec.nodeName=" + node,
		"bad escape":        "spec.nodeName=\\" + node,
		"quoted comma":      "status.phase=a\\,spec.nodeName=" + node,
		"prefix":            "spec.nodeName=" + node + "x",
		"in":                "spec.nodeName in (" + node + ")",
		"only comma":        ",",
	}
	name := b.pick(slices.Sorted(maps.Keys(forms))...)
	made.selector = forms[name]
	return "selector " + name, true
}
