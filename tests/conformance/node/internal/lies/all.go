package lies

import (
	"maps"
	"slices"
	"strings"

	"bailiwick.dev/conformance/node/internal/worlds"
)

// All are all lies.
var All = slices.Concat(paths, requests, plugin, validation)

// about is a part of what is asked; empty where it is missing.
func about(item worlds.Object, keys ...string) string {
	var value any = item
	for _, key := range keys {
		part, _ := value.(worlds.Object)
		value = part[key]
	}
	text, _ := value.(string)
	return text
}

// self is the node that asks.
func self(item worlds.Object) string { return strings.TrimPrefix(about(item, "user"), "system:node:") }

func items(question worlds.Object, sort string) []worlds.Object {
	list, _ := question[sort].([]any)
	typed := []worlds.Object{}
	for _, each := range list {
		typed = append(typed, each.(worlds.Object))
	}
	return typed
}

// stored changes the objects of a kind before requests are decided.
func stored(name, kind string, change func(object, spec worlds.Object)) Lie {
	return Lie{Name: name, sort: "requests", twist: func(question worlds.Object) {
		for _, object := range items(question, "objects") {
			if spec, ok := object["spec"].(worlds.Object); ok && object["kind"] == kind {
				change(object, spec)
			}
		}
	}}
}

// without forgets objects of a kind, all or some.
func without(name, kind string, which func(object worlds.Object) bool) Lie {
	return Lie{Name: name, sort: "requests", twist: func(question worlds.Object) {
		question["objects"] = slices.DeleteFunc(question["objects"].([]any), func(each any) bool {
			object := each.(worlds.Object)
			return object["kind"] == kind && (which == nil || which(object))
		})
	}}
}

// blind does not look into a field of pods.
func blind(name, key string) Lie {
	return stored(name, "Pod", func(_, spec worlds.Object) { delete(spec, key) })
}

func containers(name, kind, field, reference string) Lie {
	return stored(name, "Pod", func(_, spec worlds.Object) {
		list, _ := spec[kind].([]any)
		for _, each := range list {
			entries, _ := each.(worlds.Object)[field].([]any)
			for _, entry := range entries {
				source := entry.(worlds.Object)
				if field == "env" {
					source, _ = source["valueFrom"].(worlds.Object)
				}
				delete(source, reference)
			}
		}
	})
}

func volumes(name, source string) Lie {
	return stored(name, "Pod", func(_, spec worlds.Object) {
		list, _ := spec["volumes"].([]any)
		for _, each := range list {
			delete(each.(worlds.Object), source)
		}
	})
}

func projections(name, source string) Lie {
	return stored(name, "Pod", func(_, spec worlds.Object) {
		list, _ := spec["volumes"].([]any)
		for _, each := range list {
			projected, _ := each.(worlds.Object)["projected"].(worlds.Object)
			sources, _ := projected["sources"].([]any)
			for _, each := range sources {
				delete(each.(worlds.Object), source)
			}
		}
	})
}

func source(name, kind string, change func(source, spec worlds.Object)) Lie {
	return stored(name, "PersistentVolume", func(_, spec worlds.Object) {
		if source, ok := spec[kind].(worlds.Object); ok {
			change(source, spec)
		}
	})
}

func nameless(source, _ worlds.Object) {
	delete(source, "secretRef")
	delete(source, "secretName")
}

// paths are mistakes about what leads to what.
var paths = slices.Concat([]Lie{
	blind("secrets for images do not count", "imagePullSecrets"),
	blind("init containers do not count", "initContainers"),
	blind("ephemeral containers do not count", "ephemeralContainers"),
	blind("accounts do not count", "serviceAccountName"),
	projections("projected secrets do not count", "secret"),
	projections("projected configmaps do not count", "configMap"),
	stored("direct claims do not count", "Pod", func(_, spec worlds.Object) {
		list, _ := spec["resourceClaims"].([]any)
		for _, each := range list {
			delete(each.(worlds.Object), "resourceClaimName")
		}
	}),
	stored("claims of templates do not count", "Pod", func(object, _ worlds.Object) {
		status, _ := object["status"].(worlds.Object)
		delete(status, "resourceClaimStatuses")
	}),
	stored("claims of extended resources do not count", "Pod", func(object, _ worlds.Object) {
		status, _ := object["status"].(worlds.Object)
		delete(status, "extendedResourceClaimStatus")
	}),
	stored("claims count that nobody declares", "Pod", func(object, spec worlds.Object) {
		status, _ := object["status"].(worlds.Object)
		list, _ := status["resourceClaimStatuses"].([]any)
		for _, each := range list {
			claims, _ := spec["resourceClaims"].([]any)
			spec["resourceClaims"] = append(claims, worlds.Object{"name": each.(worlds.Object)["name"], "resourceClaimTemplateName": "t"})
		}
	}),
	stored("ephemeral volumes have the claims of their name", "Pod", func(_, spec worlds.Object) {
		list, _ := spec["volumes"].([]any)
		for _, each := range list {
			volume := each.(worlds.Object)
			if volume["ephemeral"] != nil {
				delete(volume, "ephemeral")
				volume["persistentVolumeClaim"] = worlds.Object{"claimName": volume["name"]}
			}
		}
	}),
	stored("mirror pods lead as others do", "Pod", func(object, _ worlds.Object) {
		metadata := object["metadata"].(worlds.Object)
		delete(metadata, "annotations")
	}),
	stored("pods without a node lead to the first", "Pod", func(_, spec worlds.Object) {
		if spec["nodeName"] == nil {
			spec["nodeName"] = "n1"
		}
	}),
	without("mirror pods do not lead to themselves", "Pod", func(object worlds.Object) bool {
		metadata := object["metadata"].(worlds.Object)
		return metadata["annotations"] != nil
	}),
	without("finished pods do not count", "Pod", func(object worlds.Object) bool {
		return about(object, "status", "phase") == "Succeeded" || about(object, "status", "phase") == "Failed"
	}),
	without("terminating pods do not count", "Pod", func(object worlds.Object) bool {
		return about(object, "metadata", "deletionTimestamp") != ""
	}),
	without("only bound volumes count", "PersistentVolume", func(object worlds.Object) bool {
		return about(object, "status", "phase") != "Bound"
	}),
	without("volumes do not count", "PersistentVolume", nil),
	without("attachments do not count", "VolumeAttachment", nil),
	without("slices do not count", "ResourceSlice", nil),
	without("certificate requests do not count", "PodCertificateRequest", nil),
	source("azureFile knows no namespace", "azureFile", func(source, _ worlds.Object) { delete(source, "secretNamespace") }),
	source("azureFile takes an empty namespace", "azureFile", func(source, _ worlds.Object) {
		if source["secretNamespace"] == "" {
			nameless(source, nil)
		}
	}),
	source("cephfs takes an empty namespace", "cephfs", func(source, _ worlds.Object) {
		if about(source, "secretRef", "namespace") == "" {
			nameless(source, nil)
		}
	}),
	source("kubelets see the secrets of attaching", "csi", func(source, _ worlds.Object) {
		if hidden := source["controllerPublishSecretRef"]; hidden != nil {
			source["nodeStageSecretRef"] = hidden
		}
	}),
	source("kubelets see the secrets of growing", "csi", func(source, _ worlds.Object) {
		if hidden := source["controllerExpandSecretRef"]; hidden != nil {
			source["nodeStageSecretRef"] = hidden
		}
	}),
	source("secrets for publishing do not count", "csi", func(source, _ worlds.Object) { delete(source, "nodePublishSecretRef") }),
	source("secrets for staging do not count", "csi", func(source, _ worlds.Object) { delete(source, "nodeStageSecretRef") }),
	source("secrets for node expansion do not count", "csi", func(source, _ worlds.Object) { delete(source, "nodeExpandSecretRef") }),
}, kinds())

// kinds forget one kind of container, volume or source each.
func kinds() []Lie {
	var all []Lie
	for _, kind := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, reference := range []string{"secretKeyRef", "configMapKeyRef"} {
			all = append(all, containers(reference+" of "+kind+" does not count", kind, "env", reference))
		}
		for _, reference := range []string{"secretRef", "configMapRef"} {
			all = append(all, containers(reference+" of "+kind+" does not count", kind, "envFrom", reference))
		}
	}
	for _, kind := range []string{"secret", "configMap", "azureFile", "cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi",
		"storageos", "csi", "persistentVolumeClaim", "ephemeral"} {
		all = append(all, volumes(kind+" volumes do not count", kind))
	}
	for _, kind := range []string{"azureFile", "cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"} {
		all = append(all, source("secrets of "+kind+" volumes do not count", kind, nameless))
	}
	return all
}

// asked changes requests before they are decided.
func asked(name string, change func(item worlds.Object)) Lie {
	return Lie{Name: name, sort: "requests", twist: func(question worlds.Object) {
		for _, item := range items(question, "requests") {
			change(item)
		}
	}}
}

// decide decides some requests itself.
func decide(name string, allowed bool, which func(item worlds.Object) bool) Lie {
	return Lie{Name: name, sort: "requests", tell: func(item worlds.Object, truth bool, _ string) bool {
		if which(item) {
			return allowed
		}
		return truth
	}}
}

// is tells whether a request is about a resource, with one of some verbs.
func is(resource, subresource string, verbs ...string) func(item worlds.Object) bool {
	return func(item worlds.Object) bool {
		return about(item, "resource") == resource && about(item, "subresource") == subresource &&
			(len(verbs) == 0 || slices.Contains(verbs, about(item, "verb")))
	}
}

func on(resource string, change func(item worlds.Object)) func(item worlds.Object) {
	return func(item worlds.Object) {
		if about(item, "resource") == resource {
			change(item)
		}
	}
}

// requests are mistakes about what may be asked.
var requests = []Lie{
	asked("groups do not matter", func(item worlds.Object) { item["groups"] = []any{"system:nodes"} }),
	asked("capitals do not matter", func(item worlds.Object) {
		item["user"] = strings.Replace(about(item, "user"), "System:node:", "system:node:", 1)
	}),
	decide("a node without a name may use its role", true, func(item worlds.Object) bool {
		return about(item, "user") == "system:node:"
	}),
	decide("secrets can only be got", false, is("secrets", "", "list", "watch")),
	decide("configmaps can only be got", false, is("configmaps", "", "list", "watch")),
	asked("subresources of secrets are secrets", on("secrets", func(item worlds.Object) { delete(item, "subresource") })),
	asked("subresources of volumes are volumes", on("persistentvolumes", func(item worlds.Object) { delete(item, "subresource") })),
	asked("subresources of slices are slices", on("resourceslices", func(item worlds.Object) { delete(item, "subresource") })),
	asked("subresources of csinodes are csinodes", on("csinodes", func(item worlds.Object) { delete(item, "subresource") })),
	asked("claims can be changed", on("persistentvolumeclaims", func(item worlds.Object) {
		if item["verb"] == "update" {
			item["verb"] = "get"
		}
	})),
	decide("the status of claims can be read", true, is("persistentvolumeclaims", "status", "get")),
	decide("the status of claims cannot be patched", false, is("persistentvolumeclaims", "status", "patch")),
	asked("volumes are listed like secrets", on("persistentvolumes", func(item worlds.Object) {
		if item["verb"] == "list" {
			item["verb"] = "get"
		}
	})),
	decide("attachments are not read", false, is("volumeattachments", "", "get")),
	decide("resource claims are not read", false, is("resourceclaims", "", "get")),
	decide("tokens are not made", false, is("serviceaccounts", "token", "create")),
	decide("accounts are not read", false, is("serviceaccounts", "", "get")),
	asked("leases are anywhere", on("leases", func(item worlds.Object) { item["namespace"] = "kube-node-lease" })),
	asked("leases have any name", on("leases", func(item worlds.Object) { item["name"] = self(item) })),
	decide("leases are created by name", false, func(item worlds.Object) bool {
		return is("leases", "", "create")(item) && about(item, "name") != self(item)
	}),
	asked("csinodes have any name", on("csinodes", func(item worlds.Object) { item["name"] = self(item) })),
	decide("csinodes are created by name", false, func(item worlds.Object) bool {
		return is("csinodes", "", "create")(item) && about(item, "name") != self(item)
	}),
	decide("leases are listed", true, func(item worlds.Object) bool {
		return is("leases", "", "list", "watch", "deletecollection")(item) && about(item, "namespace") == "kube-node-lease"
	}),
	decide("slices are created by nobody", false, is("resourceslices", "", "create")),
	decide("slices are not deleted together", false, is("resourceslices", "", "deletecollection")),
	decide("slices are not patched", false, is("resourceslices", "", "patch")),
	asked("any slice can be listed", on("resourceslices", selecting)),
	asked("any pod can be listed", on("pods", selecting)),
	asked("any certificate request can be listed", on("podcertificaterequests", selecting)),
	decide("certificate requests are created by nobody", false, is("podcertificaterequests", "", "create")),
	decide("certificate requests are not read", false, is("podcertificaterequests", "", "get")),
	asked("other nodes can be read", on("nodes", func(item worlds.Object) { item["name"] = self(item) })),
	decide("nodes can be deleted", true, is("nodes", "", "delete")),
	decide("nodes cannot be patched", false, is("nodes", "", "patch")),
	decide("the status of nodes can be read", true, is("nodes", "status", "get")),
	decide("the status of nodes cannot be patched", false, is("nodes", "status", "patch")),
	decide("a named pod cannot be watched", false, func(item worlds.Object) bool {
		return is("pods", "", "watch")(item) && about(item, "fieldSelector") == ""
	}),
	decide("pods cannot be created", false, is("pods", "", "create")),
	decide("pods can be updated", true, is("pods", "", "update")),
	decide("the status of pods cannot be patched", false, is("pods", "status", "patch")),
	decide("pods cannot be evicted", false, is("pods", "eviction", "create")),
	asked("unequal is equal", func(item worlds.Object) {
		if text := about(item, "fieldSelector"); text != "" {
			item["fieldSelector"] = strings.ReplaceAll(text, "!=", "=")
		}
	}),
	asked("two signs are not equal", func(item worlds.Object) {
		if strings.Contains(about(item, "fieldSelector"), "==") {
			delete(item, "fieldSelector")
		}
	}),
	asked("only the first term counts", func(item worlds.Object) {
		if first, _, more := strings.Cut(about(item, "fieldSelector"), ","); more {
			item["fieldSelector"] = first
		}
	}),
	asked("nonsense in a selector does not matter", func(item worlds.Object) {
		if text := about(item, "fieldSelector"); text != "" {
			item["fieldSelector"] = strings.TrimSuffix(text, ",nonsense")
		}
	}),
	asked("commas cannot be escaped", func(item worlds.Object) {
		if text := about(item, "fieldSelector"); text != "" {
			item["fieldSelector"] = strings.ReplaceAll(text, `\,`, ",")
		}
	}),
	decide("the role has no services", false, is("services", "")),
	decide("the role has no newer events", false, func(item worlds.Object) bool {
		return is("events", "")(item) && about(item, "apiGroup") == "events.k8s.io"
	}),
	decide("the role has no endpoints", false, is("endpoints", "")),
	decide("the role has no reviews", false, is("tokenreviews", "")),
	decide("the role has no signing requests", false, is("certificatesigningrequests", "")),
	decide("the role has no drivers", false, is("csidrivers", "")),
	decide("the role has no runtime classes", false, is("runtimeclasses", "")),
	decide("the role has no trust bundles", false, is("clustertrustbundles", "")),
	decide("the role has storage classes", true, is("storageclasses", "")),
	{Name: "gates are always as usual", sort: "requests", twist: func(question worlds.Object) { delete(question, "gates") }},
}

func selecting(item worlds.Object) {
	if slices.Contains([]string{"list", "watch", "deletecollection"}, about(item, "verb")) {
		item["fieldSelector"] = "spec.nodeName=" + self(item)
	}
}

// forget lets pass what is refused for a reason.
func forget(name string, which func(item worlds.Object) bool, parts ...string) Lie {
	return Lie{Name: name, sort: "admission", tell: func(item worlds.Object, truth bool, text string) bool {
		return truth || which(item) && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	}}
}

// invent refuses what is fine.
func invent(name string, which func(item worlds.Object) bool) Lie {
	return Lie{Name: name, sort: "admission", tell: func(item worlds.Object, truth bool, _ string) bool { return truth && !which(item) }}
}

func does(operation, resource, subresource string) func(item worlds.Object) bool {
	return func(item worlds.Object) bool {
		return about(item, "operation") == operation && about(item, "resource") == resource && about(item, "subresource") == subresource
	}
}

var (
	creates  = does("CREATE", "pods", "")
	reports  = does("UPDATE", "pods", "status")
	updates  = does("UPDATE", "nodes", "")
	mints    = does("CREATE", "serviceaccounts", "token")
	reclaims = does("UPDATE", "persistentvolumeclaims", "status")
	certify  = does("CREATE", "podcertificaterequests", "")
	signs    = does("CREATE", "certificatesigningrequests", "")
)

// edited changes admission questions before they are decided.
func edited(name string, change func(item, object, old worlds.Object)) Lie {
	return Lie{Name: name, sort: "admission", twist: func(question worlds.Object) {
		for _, item := range items(question, "admission") {
			object, _ := item["object"].(worlds.Object)
			old, _ := item["oldObject"].(worlds.Object)
			if object != nil && object["kind"] == item["kind"] {
				change(item, object, old)
			}
		}
	}}
}

// same makes a field of an update as it was before.
func same(name string, which func(item worlds.Object) bool, path ...string) Lie {
	return edited(name, func(item, object, old worlds.Object) {
		if !which(item) || old == nil || old["kind"] != object["kind"] {
			return
		}
		for _, key := range path[:len(path)-1] {
			if object[key] == nil {
				object[key] = worlds.Object{}
			}
			object, _ = object[key].(worlds.Object)
			old, _ = old[key].(worlds.Object)
		}
		last := path[len(path)-1]
		delete(object, last)
		if old[last] != nil {
			object[last] = old[last]
		}
	})
}

// owner changes the owners of a pod.
func owner(name string, change func(item, owner worlds.Object)) Lie {
	return edited(name, func(item, object, _ worlds.Object) {
		metadata := object["metadata"].(worlds.Object)
		owners, _ := metadata["ownerReferences"].([]any)
		if creates(item) && len(owners) == 1 {
			change(item, owners[0].(worlds.Object))
		}
	})
}

func unmounted(name string, sources ...string) Lie {
	return edited(name, func(item, object, _ worlds.Object) {
		spec, _ := object["spec"].(worlds.Object)
		list, _ := spec["volumes"].([]any)
		for _, each := range list {
			volume := each.(worlds.Object)
			projected, _ := volume["projected"].(worlds.Object)
			if inner, ok := projected["sources"].([]any); ok && creates(item) {
				projected["sources"] = slices.DeleteFunc(inner, func(each any) bool {
					return slices.ContainsFunc(sources, func(source string) bool { return each.(worlds.Object)[source] != nil })
				})
			}
			maps.DeleteFunc(volume, func(key string, _ any) bool { return creates(item) && slices.Contains(sources, key) })
		}
	})
}

// validation are mistakes about the annotation of mirror pods.
var validation = []Lie{
	{Name: "a mirror pod needs no node", sort: "validation", tell: func(item worlds.Object, truth bool, _ string) bool {
		return truth || item["oldObject"] == nil
	}},
	{Name: "updates are not validated", sort: "validation", tell: func(item worlds.Object, truth bool, _ string) bool {
		return truth || item["oldObject"] != nil
	}},
	{Name: "the annotation can be taken away", sort: "validation", tell: func(item worlds.Object, truth bool, text string) bool {
		return truth || strings.Contains(text, "remove or update")
	}},
	{Name: "the annotation can be added", sort: "validation", tell: func(item worlds.Object, truth bool, text string) bool {
		return truth || strings.Contains(text, "not add")
	}},
	{Name: "everything is refused", sort: "validation", tell: func(worlds.Object, bool, string) bool { return false }},
}
