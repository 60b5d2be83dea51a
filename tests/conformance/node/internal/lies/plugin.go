package lies

import (
	"slices"
	"strings"

	"bailiwick.dev/conformance/node/internal/worlds"
)

// plugin are mistakes about what nodes may write.
var plugin = []Lie{
	edited("any pod is a mirror pod", func(item, object, _ worlds.Object) {
		metadata := object["metadata"].(worlds.Object)
		if creates(item) {
			metadata["annotations"] = worlds.Object{"kubernetes.io/config.mirror": "h"}
		}
	}),
	edited("a mirror pod may be anywhere", func(item, object, _ worlds.Object) {
		if spec, ok := object["spec"].(worlds.Object); ok && creates(item) {
			spec["nodeName"] = self(item)
		}
	}),
	forget("a mirror pod needs no owner", creates, "with an owner"),
	forget("a mirror pod may have two owners", creates, "single owner"),
	owner("owners of any version", func(_, owner worlds.Object) { owner["apiVersion"] = "v1" }),
	owner("owners of any kind", func(_, owner worlds.Object) { owner["kind"] = "Node" }),
	owner("owners of any name", func(item, owner worlds.Object) { owner["name"] = self(item) }),
	owner("owners of any UID", func(item, owner worlds.Object) {
		if about(owner, "uid") == "uid-node-old" {
			owner["uid"] = "uid-node-" + self(item)
		}
	}),
	owner("owners need not control", func(_, owner worlds.Object) {
		if owner["controller"] == nil {
			owner["controller"] = true
		}
	}),
	owner("owners may say that they do not control", func(_, owner worlds.Object) {
		if owner["controller"] == false {
			owner["controller"] = true
		}
	}),
	owner("owners may block", func(_, owner worlds.Object) { delete(owner, "blockOwnerDeletion") }),
	forget("the owner need not be there", creates, "not found"),
	edited("mirror pods may have an account", func(item, object, _ worlds.Object) {
		if spec, ok := object["spec"].(worlds.Object); ok && creates(item) {
			delete(spec, "serviceAccountName")
		}
	}),
	forget("mirror pods may name secrets", creates, "reference secrets"),
	forget("mirror pods may name configmaps", creates, "reference configmaps"),
	forget("mirror pods may name claims", creates, "reference persistentvolumeclaims"),
	edited("mirror pods may name resource claims", func(item, object, _ worlds.Object) {
		if spec, ok := object["spec"].(worlds.Object); ok && creates(item) {
			delete(spec, "resourceClaims")
		}
	}),
	unmounted("mirror pods may have drivers", "csi"),
	unmounted("mirror pods may name endpoints", "glusterfs"),
	unmounted("mirror pods may have ephemeral volumes", "ephemeral"),
	unmounted("mirror pods may have tokens", "serviceAccountToken"),
	unmounted("mirror pods may have certificates", "podCertificate"),
	unmounted("mirror pods may have bundles", "clusterTrustBundle"),
	unmounted("mirror pods may have azureFile", "azureFile"),
	unmounted("mirror pods may have a secret without a name", "secret"),
	invent("empty names are names too", func(item worlds.Object) bool {
		object, _ := item["object"].(worlds.Object)
		spec, _ := object["spec"].(worlds.Object)
		return creates(item) && spec["imagePullSecrets"] != nil
	}),
	invent("images are objects", func(item worlds.Object) bool {
		object, _ := item["object"].(worlds.Object)
		spec, _ := object["spec"].(worlds.Object)
		list, _ := spec["volumes"].([]any)
		return creates(item) && slices.ContainsFunc(list, func(each any) bool { return each.(worlds.Object)["hostPath"] != nil })
	}),
	forget("pods can be updated by nodes", does("UPDATE", "pods", "")),
	forget("pods of others can be deleted", does("DELETE", "pods", ""), "spec.nodeName"),
	forget("missing pods can be deleted", does("DELETE", "pods", ""), "not found"),
	forget("pods of others can be evicted", does("CREATE", "pods", "eviction"), "spec.nodeName"),
	forget("missing pods can be evicted", does("CREATE", "pods", "eviction"), "not found"),
	invent("an eviction needs a name in the request", func(item worlds.Object) bool {
		return does("CREATE", "pods", "eviction")(item) && about(item, "name") == ""
	}),
	forget("other parts of pods can be written", func(item worlds.Object) bool { return about(item, "resource") == "pods" }, "subresource"),
	forget("the status of pods of others can be written", reports, "spec.nodeName"),
	same("labels can be written with the status", reports, "metadata", "labels"),
	same("claim statuses can be written", reports, "status", "resourceClaimStatuses"),
	same("extended claims can be written", reports, "status", "extendedResourceClaimStatus"),
	invent("annotations cannot be written with the status", func(item worlds.Object) bool {
		object, _ := item["object"].(worlds.Object)
		metadata, _ := object["metadata"].(worlds.Object)
		return reports(item) && metadata["annotations"] != nil
	}),
	forget("nodes may write other nodes", does("UPDATE", "nodes", ""), "modify node"),
	forget("nodes may create other nodes", does("CREATE", "nodes", ""), "modify node"),
	forget("nodes may delete other nodes", does("DELETE", "nodes", ""), "modify node"),
	edited("nodes may register with a configuration", func(item, object, _ worlds.Object) {
		if spec, ok := object["spec"].(worlds.Object); ok && does("CREATE", "nodes", "")(item) {
			delete(spec, "configSource")
		}
	}),
	same("nodes may change their configuration", updates, "spec", "configSource"),
	same("nodes may change their taints", updates, "spec", "taints"),
	same("nodes may change their owners", updates, "metadata", "ownerReferences"),
	same("nodes may change their labels", updates, "metadata", "labels"),
	forget("labels do not matter at registration", does("CREATE", "nodes", ""), "labels"),
	invent("taints cannot be registered", func(item worlds.Object) bool {
		object, _ := item["object"].(worlds.Object)
		spec, _ := object["spec"].(worlds.Object)
		return does("CREATE", "nodes", "")(item) && spec["taints"] != nil
	}),
	labelled("every label of the project is free", func(key string) bool {
		return strings.HasPrefix(key, "kubernetes.io/") || strings.HasPrefix(key, "k8s.io/")
	}),
	labelled("labels of restriction are free below", func(key string) bool {
		return strings.Contains(key, ".node-restriction.kubernetes.io/")
	}),
	labelled("labels of roles are free", func(key string) bool { return strings.HasPrefix(key, "node-role.") }),
	labelled("labels end like names of kubelets", func(key string) bool { return strings.HasPrefix(key, "xnode.") }),
	inventedLabel("labels of kubelets have no families", "sub.kubelet.kubernetes.io/x"),
	inventedLabel("labels of nodes have no families", "sub.node.kubernetes.io/x"),
	inventedLabel("names may not end like the project", "notkubernetes.io/x"),
	inventedLabel("zones are not of kubelets", "topology.kubernetes.io/zone"),
	forget("whole claims can be written", func(item worlds.Object) bool {
		return about(item, "resource") == "persistentvolumeclaims" && about(item, "subresource") == ""
	}),
	same("claims may change their labels", reclaims, "metadata", "labels"),
	same("claims may change their annotations", reclaims, "metadata", "annotations"),
	same("claims may change their phase", reclaims, "status", "phase"),
	same("claims may change what they ask for", reclaims, "spec", "resources"),
	same("claims may change their volume", reclaims, "spec", "volumeName"),
	same("claims may change their selector", reclaims, "spec", "selector"),
	invent("sizes are texts", func(item worlds.Object) bool {
		object, _ := item["object"].(worlds.Object)
		spec, _ := object["spec"].(worlds.Object)
		resources, _ := spec["resources"].(worlds.Object)
		return reclaims(item) && strings.HasSuffix(about(resources, "requests", "storage"), "i") && about(resources, "requests", "storage") != "2Gi"
	}),
	invent("claims may not change their size", func(item worlds.Object) bool {
		object, _ := item["object"].(worlds.Object)
		status, _ := object["status"].(worlds.Object)
		return reclaims(item) && about(status, "capacity", "storage") == "2Gi"
	}),
	forget("tokens need no pod", mints, "not bound to a pod"),
	forget("tokens need no UID", mints, "without a uid"),
	forget("tokens may have an old UID", mints, "UID in record"),
	forget("tokens may be of pods elsewhere", mints, "different node"),
	forget("tokens may be of missing pods", mints, "not found", "pod "),
	forget("tokens may have two audiences", mints, "0 or 1"),
	forget("tokens may have any audience", mints, "audience"),
	edited("nobody grants audiences", func(item, _, _ worlds.Object) {
		delete(item, "audiencesAllowed")
		delete(item, "authz")
	}),
	edited("an audience grants all", func(item, _, _ worlds.Object) {
		if item["audiencesAllowed"] != nil {
			item["authz"] = "allow"
		}
	}),
	drivers("drivers do not matter", func(each worlds.Object) bool { return each["kind"] == "CSIDriver" }),
	drivers("volumes of claims do not matter", func(each worlds.Object) bool { return each["kind"] == "PersistentVolume" }),
	forget("a missing driver does not matter", mints, "csidriver"),
	forget("leases are written anywhere", func(item worlds.Object) bool { return about(item, "resource") == "leases" }, "namespace"),
	forget("leases of others are created", does("CREATE", "leases", "")),
	forget("leases of others are updated", does("UPDATE", "leases", "")),
	forget("csinodes of others are created", does("CREATE", "csinodes", "")),
	forget("csinodes of others are deleted", does("DELETE", "csinodes", "")),
	forget("slices of others are created", does("CREATE", "resourceslices", "")),
	forget("slices of others are deleted", does("DELETE", "resourceslices", "")),
	invent("slices are not updated", does("UPDATE", "resourceslices", "")),
	forget("certificates have any name", signs, "CN="),
	forget("certificates are not read", signs, "parse"),
	invent("certificates for others are read", func(item worlds.Object) bool {
		object, _ := item["object"].(worlds.Object)
		return signs(item) && !strings.Contains(about(object, "spec", "signerName"), "kubelet")
	}),
	forget("certificate requests name any node", certify, "requesting node"),
	forget("certificate requests name any node UID", certify, "node UID"),
	forget("certificate requests name any pod UID", certify, "contains pod UID"),
	forget("certificate requests name missing pods", certify, "retrieving pod"),
	forget("certificate requests name missing nodes", certify, "retrieving node"),
	forget("certificate requests name missing accounts", certify, "retrieving service"),
	forget("certificate requests name pods elsewhere", certify, "not running"),
	forget("certificate requests are for mirror pods", certify, "mirror"),
	forget("certificate requests name any account", certify, "serviceAccountName"),
	forget("certificate requests name any account UID", certify, "account UID"),
	forget("certificate requests need no gate", certify, "disabled"),
	forget("certificate requests can be updated", does("UPDATE", "podcertificaterequests", ""), "operation"),
	forget("a node needs no name", func(item worlds.Object) bool { return about(item, "user") == "system:node:" }),
	edited("whoever has the prefix is a node", func(item, _, _ worlds.Object) { item["groups"] = []any{"system:nodes"} }),
	invent("nodes write nothing else", func(item worlds.Object) bool { return about(item, "resource") == "services" }),
	invent("nodes may not connect", func(item worlds.Object) bool { return about(item, "operation") == "CONNECT" }),
	forget("any object is fine", func(worlds.Object) bool { return true }, "unexpected type"),
	{Name: "all are refused", sort: "admission", tell: func(worlds.Object, bool, string) bool { return false }},
	{Name: "gates do not matter for admission", sort: "admission", twist: func(question worlds.Object) { delete(question, "gates") }},
}

// labelled does not look at some labels.
func labelled(name string, which func(key string) bool) Lie {
	return edited(name, func(item, object, old worlds.Object) {
		if about(item, "resource") != "nodes" {
			return
		}
		for _, each := range []worlds.Object{object, old} {
			metadata, _ := each["metadata"].(worlds.Object)
			labels, _ := metadata["labels"].(worlds.Object)
			for key := range labels {
				if which(key) {
					delete(labels, key)
				}
			}
		}
	})
}

// inventedLabel refuses to register with a label.
func inventedLabel(name, key string) Lie {
	return invent(name, func(item worlds.Object) bool {
		object, _ := item["object"].(worlds.Object)
		metadata, _ := object["metadata"].(worlds.Object)
		labels, _ := metadata["labels"].(worlds.Object)
		return does("CREATE", "nodes", "")(item) && labels[key] != nil
	})
}

// drivers forgets objects before admission is decided.
func drivers(name string, which func(object worlds.Object) bool) Lie {
	return Lie{Name: name, sort: "admission", twist: func(question worlds.Object) {
		question["objects"] = slices.DeleteFunc(question["objects"].([]any), func(each any) bool { return which(each.(worlds.Object)) })
	}}
}
