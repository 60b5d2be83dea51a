package cases

import "strings"

// groups are API groups of CRDs. Some are the beginning of others, because stacks are sorted by text.
var groups = []string{
	"example.org", "example.org.uk", "example.orga", "example.org-x", "a.example.org", "x.y", "cache.gcp.crossplane.io", "gcp.crossplane.io",
	"wordpress.samples.stacks.crossplane.io", "crossplane.io", "security.openshift.io", "xk8s.io.example", "1.example.org",
}

// ownGroups are groups that the gate stops.
var ownGroups = []string{"apps", "x.k8s.io", "corpk8s.io", "rbac.authorization.k8s.io", "k8s.io"}

// kinds are names of kinds and of their resources. Some mean something else where YAML is read carelessly.
var kinds = [][2]string{
	{"Bucket", "buckets"}, {"BucketClass", "bucketclasses"}, {"Thing", "things"}, {"Network", "networks"}, {"Y", "y"}, {"No", "no"},
	{"Null", "null"}, {"Instance", "instances"}, {"WordpressInstance", "wordpressinstances"}, {"AI", "ais"}, {"Z9", "z9"}, {"Aa", "aas"},
}

// dependencies are what packages depend on, well written.
var dependencies = []string{
	"kubernetesclusters.compute.crossplane.io/v1alpha1", "*.cache.crossplane.io/v1alpha1", "mysqlinstances.database.crossplane.io",
	"Bucket.storage.crossplane.io/v1alpha1", "buckets.x.y/v1", "*.crossplane.io", "stackinstalls.stacks.crossplane.io/v1alpha1",
	"*.security.openshift.io/v1", "things.1.example.org/v1beta1", "a.b.c",
}

// oddDependencies are the others.
var oddDependencies = []string{
	"secrets", "*", "*.*", "pods.", ".database.crossplane.io", "", "deployments.apps", "nodes.metrics.k8s.io/v1beta1", "*.k8s.io", "a.b.c/v1/v2",
	"buckets.storage.crossplane.io/", "x.*.io", "buckets.corpk8s.io", "things.Example.ORG", " ", "a b.c.d", "/v1", "secrets/v1", "*/v1",
	"things.example.org./v1", "..", "things..org", "clusterroles.rbac.authorization.k8s.io", "things.*", "buckets/status.x.y", ".", "./", "*.*.io",
	"things.example.org.k8s.io", "things.K8S.IO", "things.x.y\n", "-a.b.c", "things.x.y/v1beta1 ",
}

func (s source) stack() Object {
	revision := pick(s, "v0.9", "v0.9", "v0.9", "v0.9", "v0.11", "v0.11", "1.0", "1.1")
	kind, scope := "StackInstall", "Namespaced"
	if s.chance(45) {
		kind, scope = "ClusterStackInstall", "Cluster"
	}
	if revision == "v0.11" && s.chance(70) {
		// What they are called since v0.11.
		kind = strings.Replace(kind, "Stack", "Package", 1)
	}
	app := Object{"version": pick(s, "0.0.1", "v0.2.0", "1", "1.0", "1e3", "2020-01-01", "latest", "0x10", "v0.2.0-rc.12.gabcdef")}
	if s.chance(60) {
		app["title"] = pick(s, "Sample Wordpress Stack", "y", "")
	}
	app["permissionScope"] = scope
	if s.chance(6) {
		app["permissionScope"] = pick(s, "Cluster", "Namespaced", "", "cluster", "namespaced", "Environment")
	}
	if s.chance(1) {
		delete(app, "permissionScope")
	}
	if s.chance(70) {
		app["dependsOn"] = several(s, 4, func() any {
			if s.chance(2) {
				return Object{}
			}
			if s.chance(7) {
				return Object{"crd": pick(s, oddDependencies...)}
			}
			return Object{"crd": pick(s, dependencies...)}
		})
	}
	clusterScoped := 1
	if scope == "Cluster" {
		clusterScoped = pick(s, 0, 0, 50)
	}
	return Object{
		"revision": revision, "app": app, "crds": s.crds(8, clusterScoped),
		"install": Object{"kind": kind, "name": s.name(253), "namespace": s.name(63)},
	}
}

// name is a name of an object, sometimes as long as allowed.
func (s source) name(most int) string {
	if s.chance(70) {
		return pick(s, "wordpress", "gcp", "team-a", "crossplane-system", "y", "1e3", "x9")
	}
	separator := "-"
	if most > 63 && s.chance(50) {
		separator = "."
	}
	word := pick(s, "stack", "namespace", "a", "0123456789", "provider-aws")
	name := strings.Repeat(word+separator, most)[:pick(s, most, most-1, 1+s.IntN(most), 26, 31, 32, 33, 57, 58, 62, 63)]
	return strings.TrimRight(name, "-.")
}

// crds are CRDs of which no two are the same resource or kind.
func (s source) crds(most, clusterScoped int) []any {
	list := []any{}
	seen := map[string]bool{}
	for range s.IntN(most + 1) {
		group, kind := pick(s, groups...), pick(s, kinds...)
		if s.chance(1) {
			group = pick(s, ownGroups...)
		}
		if seen[group+kind[0]] {
			continue
		}
		seen[group+kind[0]] = true
		scope := "Namespaced"
		if s.chance(clusterScoped) {
			scope = "Cluster"
		}
		list = append(list, s.crd(group, kind[0], kind[1], scope))
	}
	return list
}

func (s source) crd(group, kind, plural, scope string) Object {
	spec := Object{"group": group, "scope": scope, "names": Object{"kind": kind, "plural": plural, "singular": strings.ToLower(kind), "listKind": kind + "List"}}
	crd := Object{"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": Object{"name": plural + "." + group}, "spec": spec}
	versions := []any{}
	for _, name := range []string{"v1alpha1", "v1beta1", "v1", "v10", "v2", "v1alpha3"}[s.IntN(6):] {
		if len(versions) == 0 || s.chance(20) {
			versions = append(versions, Object{"name": name, "served": true, "storage": len(versions) == 0})
		}
	}
	first := versions[0].(Object)["name"]
	subresources := s.subresources()
	if s.chance(25) {
		crd["apiVersion"] = "apiextensions.k8s.io/v1"
		spec["versions"] = versions
		for _, version := range versions {
			version.(Object)["schema"] = Object{"openAPIV3Schema": Object{"type": "object"}}
			if subresources != nil {
				version.(Object)["subresources"] = subresources
			}
		}
		return crd
	}
	if subresources != nil {
		spec["subresources"] = subresources
	}
	if s.chance(5) {
		delete(spec, "scope")
	}
	switch s.IntN(3) {
	case 0:
		spec["version"] = first
	case 1:
		spec["version"], spec["versions"] = first, versions
	case 2:
		spec["versions"] = versions
	}
	return crd
}

// subresources are those of a CRD; none in the end.
func (s source) subresources() any {
	scale := Object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
	return pick[any](s, nil, Object{}, Object{"status": Object{}}, Object{"status": Object{}}, Object{"scale": scale}, Object{"status": Object{}, "scale": scale}, Object{"status": nil}, nil)
}

func (s source) namespaces() Object {
	list := []any{}
	for range 1 + s.IntN(3) {
		namespace := Object{"name": s.name(63)}
		if s.chance(90) {
			labels := Object{"team": "a"}
			if s.chance(90) {
				labels["rbac.crossplane.io/managed-roles"] = pick(s, "true", "true", "true", "false", "True", "", "yes")
			}
			namespace["labels"] = labels
		}
		list = append(list, namespace)
	}
	return Object{"namespaces": list}
}

func (s source) truncate() Object {
	if s.chance(30) {
		return Object{"multiParent": []any{s.name(63), s.name(253)}}
	}
	if s.chance(30) {
		// Long enough for the label to be cut once, twice or not at all.
		return Object{"multiParent": []any{strings.Repeat("n", 28+s.IntN(12)), strings.Repeat("s", 1+s.IntN(40))}}
	}
	text := s.name(253)
	if s.chance(15) {
		text = pick(s, "", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("A", 70))
	}
	return Object{"in": text, "len": pick(s, 63, 63, 253, 32, 6, 7, 10)}
}

// gated is a rule of a stack, often nearly one that is allowed.
func (s source) gated() Object {
	if s.chance(30) {
		core := Object{"apiGroups": []any{""}, "resources": []any{"configmaps", "events", "secrets"}, "verbs": []any{"*"}}
		switch s.IntN(7) {
		case 0:
			core["resources"] = []any{"secrets", "configmaps", "events"}
		case 1:
			core["resources"] = []any{"configmaps", "events"}
		case 2:
			core["verbs"] = []any{"get"}
		case 3:
			core["resourceNames"] = []any{"a"}
		case 4:
			core["resources"] = []any{"configmaps", "events", "secrets", "pods"}
		}
		return core
	}
	rule := s.rule()
	if rule["apiGroups"] != nil && s.chance(80) {
		rule["apiGroups"] = several(s, 3, func() string {
			if s.chance(20) {
				return pick(s, append([]string{"", "*", ".", "k8s.io.", "a.*"}, ownGroups...)...)
			}
			return pick(s, groups...)
		})
		if s.chance(15) {
			rule["nonResourceURLs"] = []any{"/metrics"}
		}
	}
	return rule
}
