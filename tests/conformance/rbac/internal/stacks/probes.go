package stacks

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// probed is the name of what is asked for.
const probed = "probe"

// A probe is a resource that stacks try to reach.
type probe struct {
	// root is the URL of the group and version.
	root, plural string
	apiVersion   string
	kind         string
	namespaced   bool
	// content is the object beside its name; made is true where one can be there, so that it is reached and not only missed.
	content map[string]any
	made    bool
	// subresources are asked for by these methods.
	subresources map[string][]string
}

// builtin are what stacks are granted, what they would need to get at others, and what others have. The nodes and the
// resources for whole clusters have no namespace at all.
func builtin() []probe {
	labels := map[string]any{"app": probed}
	pod := map[string]any{"containers": []any{map[string]any{"name": "main", "image": "registry.example.org/probe:1"}}}
	read, write := "GET", []string{"GET", "PUT", "PATCH"}
	return []probe{
		core("configmaps", "ConfigMap", true, nil),
		core("secrets", "Secret", true, nil),
		core("serviceaccounts", "ServiceAccount", true, nil).with(map[string][]string{"token": {"POST"}}),
		core("pods", "Pod", false, map[string]any{"spec": pod}).with(map[string][]string{"status": write, "log": {read}, "exec": {read}}),
		core("events", "Event", false, map[string]any{"reason": "Probe"}),
		core("nodes", "Node", true, nil).everywhere().with(map[string][]string{"status": write}),
		core("namespaces", "Namespace", false, nil).everywhere(),
		grouped("apps", "v1", "deployments", "Deployment", true, map[string]any{"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod},
		}}).with(map[string][]string{"status": write, "scale": write}),
		rbac("roles", "Role", map[string]any{"rules": []any{}}),
		rbac("rolebindings", "RoleBinding", map[string]any{"roleRef": roleRef("Role")}),
		rbac("clusterroles", "ClusterRole", map[string]any{"rules": []any{}}).everywhere(),
		rbac("clusterrolebindings", "ClusterRoleBinding", map[string]any{"roleRef": roleRef("ClusterRole")}).everywhere(),
		grouped("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false, nil).everywhere().
			with(map[string][]string{"status": write}),
	}
}

// custom are the resources of the definitions, in the version that is kept.
func custom(definitions []*unstructured.Unstructured) []probe {
	var probes []probe
	for _, definition := range definitions {
		text := func(path ...string) string {
			found, _, _ := unstructured.NestedString(definition.Object, append([]string{"spec"}, path...)...)
			return found
		}
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for _, version := range versions {
			fields, ok := version.(map[string]any)
			if !ok || fields["storage"] != true {
				continue
			}
			name, _ := fields["name"].(string)
			made := grouped(text("group"), name, text("names", "plural"), text("names", "kind"), true, nil)
			made.namespaced = text("scope") == "Namespaced"
			if _, served, _ := unstructured.NestedMap(fields, "subresources", "status"); served {
				made = made.with(map[string][]string{"status": {"GET", "PUT", "PATCH"}})
			}
			probes = append(probes, made)
		}
	}
	return probes
}

func core(plural, kind string, made bool, content map[string]any) probe {
	return probe{root: "/api/v1", plural: plural, apiVersion: "v1", kind: kind, namespaced: true, made: made, content: content}
}

func grouped(group, version, plural, kind string, made bool, content map[string]any) probe {
	own := group + "/" + version
	return probe{root: "/apis/" + own, plural: plural, apiVersion: own, kind: kind, namespaced: true, made: made, content: content}
}

func rbac(plural, kind string, content map[string]any) probe {
	return grouped("rbac.authorization.k8s.io", "v1", plural, kind, true, content)
}

func roleRef(kind string) map[string]any {
	return map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": probed}
}

func (p probe) everywhere() probe {
	p.namespaced = false
	return p
}

func (p probe) with(subresources map[string][]string) probe {
	p.subresources = subresources
	return p
}

func (p probe) object(namespace string) map[string]any {
	metadata := map[string]any{"name": probed}
	if p.namespaced {
		metadata["namespace"] = namespace
	}
	object := map[string]any{"apiVersion": p.apiVersion, "kind": p.kind, "metadata": metadata}
	for field, value := range p.content {
		object[field] = value
	}
	if p.kind == "Event" {
		object["involvedObject"] = map[string]any{"namespace": namespace, "name": probed}
	}
	return object
}

func (p probe) all(namespace string) string {
	if p.namespaced && namespace != "" {
		return p.root + "/namespaces/" + namespace + "/" + p.plural
	}
	return p.root + "/" + p.plural
}

// requests are all verbs in a namespace, or for the cluster as a whole.
func (p probe) requests(namespace string) []request {
	all := p.all(namespace)
	own, object := all+"/"+probed, p.object(namespace)
	label := map[string]any{"metadata": map[string]any{"labels": map[string]any{probed: "1"}}}
	across := []request{
		{"GET", all + "?limit=1", "", nil},
		// From any state, because a watch from the newest waits some seconds until the server knows which that is.
		{"GET", all + "?watch=1&resourceVersion=0&timeoutSeconds=1", "", nil},
		{"DELETE", all + "?" + dryRun, "", nil},
	}
	if p.namespaced && namespace == "" {
		return across
	}
	tokenRequest := map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
	requests := append(across,
		request{"POST", all + "?" + dryRun, plain, object},
		request{"GET", own, "", nil},
		request{"PUT", own + "?" + dryRun, plain, object},
		request{"PATCH", own + "?" + dryRun, mergePatch, label},
		request{"DELETE", own + "?" + dryRun, "", nil},
	)
	for _, subresource := range slices.Sorted(maps.Keys(p.subresources)) {
		for _, method := range p.subresources[subresource] {
			url := own + "/" + subresource
			switch method {
			case "GET":
				requests = append(requests, request{method, url, "", nil})
			case "PATCH":
				requests = append(requests, request{method, url + "?" + dryRun, mergePatch, label})
			case "POST":
				requests = append(requests, request{method, url + "?" + dryRun, plain, tokenRequest})
			default:
				requests = append(requests, request{method, url + "?" + dryRun, plain, object})
			}
		}
	}
	return requests
}

// served waits until the resources of the definitions can be asked for, and makes the objects that are looked for.
func (s *server) served(ctx context.Context, cast *cast) error {
	customs := custom(cast.definitions)
	for _, probe := range customs {
		for deadline := time.Now().Add(settling); ; time.Sleep(polling) {
			given, err := s.admin.send(ctx, request{"GET", probe.all(""), "", nil})
			if err != nil {
				return err
			}
			if given.status == http.StatusOK {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s: %d %s", probe.all(""), given.status, given.message)
			}
		}
	}
	for _, probe := range append(builtin(), customs...) {
		places := cast.namespaces
		if !probe.namespaced {
			places = []string{""}
		}
		for _, namespace := range places {
			if !probe.made {
				continue
			}
			given, err := s.admin.send(ctx, request{"POST", probe.all(namespace), plain, probe.object(namespace)})
			if err != nil {
				return err
			}
			// Another folder has asked for what is the cluster's already.
			if given.status >= http.StatusBadRequest && given.status != http.StatusConflict {
				return fmt.Errorf("%s: %d %s", strings.TrimPrefix(probe.all(namespace), "/"), given.status, given.message)
			}
		}
	}
	return nil
}
