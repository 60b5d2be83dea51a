package main

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
)

// hostile is a random workspace.
type hostile struct {
	*rand.Rand
	workspace map[string]any
	// policies has the documents of each policy file.
	policies map[string][]map[string]any
	// manifests has the objects of each file of a Manifests policy.
	manifests map[string][]map[string]any
	// raw has other files of the workspace, by their paths.
	raw map[string]string
	// changed says which words are at which places.
	changed []string
	output  string
}

// makeHostile makes the workspace of a number. Equal seeds and numbers make equal workspaces.
func makeHostile(seed, number uint64) *hostile {
	h := &hostile{
		Rand: rand.New(rand.NewPCG(seed, number)), policies: map[string][]map[string]any{}, manifests: map[string][]map[string]any{},
		raw: map[string]string{}, output: "out",
	}
	h.ordinary()
	count := []int{0, 1, 1, 1, 1, 1, 1, 2, 2, 3}[h.IntN(10)]
	for range count {
		h.mutate()
	}
	return h
}

// files has the texts of all files.
func (h *hostile) files() map[string]string {
	files := map[string]string{"bailiwick.yaml": document(h.workspace)}
	for path, documents := range h.policies {
		files["policies/"+path] = together(documents)
	}
	for path, objects := range h.manifests {
		files["policies/"+path] = together(objects)
	}
	for path, text := range h.raw {
		files[path] = text
	}
	return files
}

func together(documents []map[string]any) string {
	texts := make([]string, len(documents))
	for index, one := range documents {
		texts[index] = document(one)
	}
	return strings.Join(texts, "---\n")
}

func pick[T any](h *hostile, from []T) T {
	return from[h.IntN(len(from))]
}

func (h *hostile) chance(percent int) bool {
	return h.IntN(100) < percent
}

func policy(kind, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "bailiwick.dev/v1alpha1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}
}

func words(values ...string) []any {
	made := make([]any, len(values))
	for index, value := range values {
		made[index] = value
	}
	return made
}

// notes are annotations or labels that every workspace may have.
func (h *hostile) notes() map[string]any {
	made := map[string]any{"example.com/team": "a"}
	if h.chance(30) {
		made["example.com/cost-centre"] = "17"
	}
	if h.chance(20) {
		made["note"] = "two\nlines: of text"
	}
	return made
}

// plain are labels, whose values are short.
func (h *hostile) plain() map[string]any {
	return map[string]any{"example.com/team": "a"}
}

// ordinary fills a workspace that compiles.
func (h *hostile) ordinary() {
	target := map[string]any{"name": "production", "version": pick(h, []string{"1.37", "1.37", "1.37", "1.33", "1.30"})}
	openshift := h.chance(15)
	if openshift {
		target["platform"], target["version"] = "openshift", "4.20"
	}
	spec := map[string]any{"targets": []any{target}}
	if h.chance(15) {
		spec["targets"] = []any{target, map[string]any{"name": "staging", "version": "1.37"}}
	}
	if h.chance(25) {
		spec["commonMetadata"] = map[string]any{"annotations": h.notes(), "labels": h.plain()}
	}
	if h.chance(6) {
		spec["layout"] = map[string]any{"shards": pick(h, []int{2, 3, 16})}
	}
	if h.chance(15) {
		delivery := map[string]any{"repoURL": "https://git.example.com/access.git", "revision": "main", "path": "infra/access"}
		if h.chance(70) {
			delivery["argocd"] = map[string]any{"destination": map[string]any{"name": "{target.name}"}, "project": "access"}
		}
		if h.chance(70) || delivery["argocd"] == nil {
			delivery["flux"] = map[string]any{"sourceRef": map[string]any{"name": "platform"}, "serviceAccountName": "applier"}
		}
		if h.chance(30) {
			delivery["onRemoval"] = "keep"
		}
		spec["delivery"] = delivery
	}
	h.workspace = map[string]any{
		"apiVersion": "bailiwick.dev/v1alpha1", "kind": "Workspace", "metadata": map[string]any{"name": "w"}, "spec": spec,
	}
	h.teams(openshift)
	if h.chance(70) {
		h.grants()
	}
	if h.chance(40) {
		h.tenants()
	}
	if h.chance(60) {
		h.objects()
	}
	if h.chance(25) && !openshift {
		h.installers(target, spec["delivery"] == nil)
	}
	if openshift {
		h.policies["groups.yaml"] = []map[string]any{policy("GroupSet", "groups", map[string]any{
			"groups": []any{map[string]any{"name": "sre", "members": words("alice", "bob"), "annotations": h.notes()}, map[string]any{"name": "oncall"}},
		})}
	}
}

// installers are policies about the writers of a cluster: a Guard, agents of nodes, and Crossplane packages with their manager.
func (h *hostile) installers(target map[string]any, free bool) {
	common := func() map[string]any { return map[string]any{"annotations": h.notes(), "labels": h.plain()} }
	var made []map[string]any
	if free && h.chance(50) {
		target["appliedBy"] = map[string]any{"user": "system:serviceaccount:flux-system:applier"}
		made = append(made, policy("Guard", "git", map[string]any{
			"targets": words("production"), "breakGlass": map[string]any{"groups": words("emergency")}, "validationActions": words("Deny"),
			"message": "this object is kept in Git", "commonMetadata": common(),
		}))
	}
	if h.chance(50) {
		made = append(made, policy("NodeAccess", "nodes", map[string]any{
			"targets": words("production"), "commonMetadata": common(), "systemNode": map[string]any{"binding": "upstream"},
			"agents": []any{map[string]any{
				"name": "agent", "serviceAccount": map[string]any{"name": "agent", "namespace": "team-a", "create": true},
				"reads":   []any{map[string]any{"apiGroup": "", "resources": words("nodes"), "verbs": words("get")}},
				"ownNode": []any{map[string]any{"apiGroup": "example.com", "resources": words("nodestates"), "verbs": words("create", "update")}},
			}},
		}))
	}
	if h.chance(50) {
		made = append(made, policy("Stack", "blog", map[string]any{
			"targets": words("production"), "commonMetadata": common(), "package": "blog", "revision": pick(h, []string{"1.0", "v0.9", "v0.11"}),
			"installs": []any{map[string]any{"kind": "StackInstall", "namespace": "team-a"}},
		}))
		h.raw["policies/blog/app.yaml"] = "title: Blog\nversion: 1.0.0\npermissionScope: Namespaced\n"
		h.raw["policies/blog/blogs.crd.yaml"] = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: blogs.blog.example.org}\n" +
			"spec:\n  group: blog.example.org\n  names: {kind: Blog, listKind: BlogList, plural: blogs, singular: blog}\n  scope: Namespaced\n" +
			"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n"
		if h.chance(60) {
			made = append(made, policy("StackManager", "installer", map[string]any{
				"targets": words("production"), "commonMetadata": common(), "definitions": h.chance(50),
				"serviceAccount": map[string]any{"name": "installer", "namespace": "team-b"},
			}))
		}
	}
	if len(made) > 0 {
		h.policies["installers.yaml"] = made
	}
}

func (h *hostile) teams(openshift bool) {
	namespaces := []any{map[string]any{"name": "team-a", "annotations": h.notes()}, map[string]any{"name": "team-b"}}
	if h.chance(30) {
		namespaces = append(namespaces, map[string]any{"name": "team-c", "labels": h.plain()})
	}
	spec := map[string]any{"namespaces": namespaces}
	if h.chance(50) {
		spec["annotations"] = h.notes()
	}
	if h.chance(40) {
		spec["labels"] = h.plain()
	}
	if h.chance(30) {
		spec["serviceAccounts"] = []any{map[string]any{"name": "deployer", "annotations": h.notes()}}
	}
	if h.chance(20) {
		spec["resourceQuota"] = map[string]any{"name": "quota", "hard": map[string]any{"pods": "10"}, "annotations": h.notes()}
	}
	if h.chance(15) {
		spec["limitRange"] = map[string]any{
			"name": "limits", "limits": []any{map[string]any{"type": "Container", "max": map[string]any{"cpu": "1"}}}, "annotations": h.notes(),
		}
	}
	if h.chance(30) {
		spec["objects"] = []any{map[string]any{"object": h.configMap("settings")}}
	}
	if h.chance(20) {
		spec["objects"] = []any{map[string]any{
			"template": "x/settings.yaml.j2", "apiVersion": "v1", "kind": "ConfigMap", "name": "templated", "annotations": h.notes(),
			"values": map[string]any{"text": "a text"},
		}}
		h.raw["templates/x/settings.yaml.j2"] = "apiVersion: v1\nkind: ConfigMap\n{% include \"_metadata.yaml.j2\" %}\ndata:\n  text: {{ values.text }}\n"
	}
	policies := []map[string]any{policy("NamespaceSet", "teams", spec)}
	if h.chance(12) && !openshift {
		spec["podSecurity"] = map[string]any{"profile": "tenant"}
		policies = append(policies, policy("PodSecurityProfile", "tenant", map[string]any{
			"annotations": h.notes(), "allowPrivilegeEscalation": false, "runAsUser": map[string]any{"rule": "MustRunAsNonRoot"},
			"fsGroup": map[string]any{"rule": "RunAsAny"}, "supplementalGroups": map[string]any{"rule": "RunAsAny"},
			"seLinux": map[string]any{"rule": "RunAsAny"}, "volumes": words("configMap", "emptyDir", "secret"),
		}))
	}
	if h.chance(20) {
		policies[0]["spec"].(map[string]any)["commonMetadata"] = map[string]any{"annotations": h.notes()}
	}
	h.policies["teams.yaml"] = policies
	if h.chance(10) {
		h.raw["templates/namespace-set/namespace.yaml.j2"] = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n{% if labels %}\n  labels: {{ labels }}\n{% endif %}\n" +
			"  annotations:\n    example.com/template: \"a text\"\n{% for key, value in annotations | default({}, true) | items %}\n    {{ key }}: {{ value }}\n{% endfor %}\n"
	}
}

func (h *hostile) grants() {
	var made []map[string]any
	for index := range 1 + h.IntN(3) {
		spec := map[string]any{"to": map[string]any{"groups": words("oidc:team-a", "oidc:team-b")}, "namespaces": words("team-a")}
		if h.chance(30) {
			spec["to"] = map[string]any{"users": words("ann@example.com"), "groups": words("g")}
		}
		if h.chance(25) {
			spec["to"] = map[string]any{"serviceAccounts": []any{map[string]any{"name": fmt.Sprintf("app%d", index), "create": true, "annotations": h.notes()}}}
		}
		if h.chance(60) {
			spec["clusterRoles"] = words("view")
		} else {
			name := fmt.Sprintf("set%d", index)
			spec["permissionSets"] = words(name)
			made = append(made, policy("PermissionSet", name, map[string]any{
				"as":    pick(h, []string{"Role", "ClusterRole"}),
				"rules": []any{map[string]any{"apiGroups": words(""), "resources": words("pods", "pods/log"), "verbs": words("get", "list")}},
			}))
		}
		if h.chance(50) {
			spec["owner"], spec["reason"] = "team-a", "the team reads its pods"
		}
		if h.chance(20) {
			spec["approvedBy"] = words("ann@example.com", "bob@example.com")
		}
		if h.chance(40) {
			spec["annotations"] = h.notes()
		}
		if h.chance(20) {
			spec["labels"] = h.plain()
		}
		if h.chance(20) {
			spec["bindingName"] = fmt.Sprintf("binding%d", index)
		}
		made = append(made, policy("Grant", fmt.Sprintf("grant%d", index), spec))
	}
	h.policies["grants.yaml"] = made
}

func (h *hostile) tenants() {
	spec := map[string]any{
		"variables": map[string]any{
			"name":  map[string]any{"type": "string", "unique": true},
			"owner": map[string]any{"type": "string", "optional": true}, "note": map[string]any{"type": "string", "optional": true},
		},
		"class": map[string]any{
			"namespace": map[string]any{"name": "{name}", "annotations": map[string]any{"example.com/owner": "{owner?}", "example.com/note": "{note?}"}},
			"grants": []any{map[string]any{
				"name": "{name}-edit", "clusterRole": "edit", "to": map[string]any{"users": words("{name}")}, "reason": "{note?}", "annotations": h.notes(),
			}},
			"serviceAccounts": []any{map[string]any{"name": "runner", "annotations": map[string]any{"example.com/owner": "{owner?}"}}},
		},
	}
	if h.chance(40) {
		spec["class"].(map[string]any)["objects"] = []any{map[string]any{"object": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "account"}, "data": map[string]any{"owner": "{owner?}", "note": "{note?}"},
		}}}
	}
	rows := []any{
		map[string]any{"name": "tool-one", "owner": "ann", "note": "the first tool"}, map[string]any{"name": "tool-two", "owner": "bob", "note": "another"},
	}
	form := h.IntN(3)
	// A table is written when the words are in its cells: see place.
	spec["accounts"] = map[string]any{"inline": rows}
	if form == 1 {
		spec["accounts"] = map[string]any{"file": "tools.csv", "\x00inline": rows}
	} else if form == 2 {
		spec["accounts"] = map[string]any{"file": "tools.json", "\x00inline": rows}
	}
	h.policies["tools.yaml"] = []map[string]any{policy("Tenancy", "tools", spec)}
}

// tables moves rows into the files that the Tenancy names.
func (h *hostile) tables() {
	for _, one := range h.policies["tools.yaml"] {
		spec, _ := one["spec"].(map[string]any)
		accounts, _ := spec["accounts"].(map[string]any)
		rows, is := accounts["\x00inline"].([]any)
		if !is {
			continue
		}
		delete(accounts, "\x00inline")
		if accounts["file"] == "tools.json" {
			h.raw["policies/tools.json"] = yamlOf(rows)
			continue
		}
		text := "name,owner,note\n"
		for _, row := range rows {
			cells := make([]string, 0, 3)
			for _, column := range []string{"name", "owner", "note"} {
				cell, _ := row.(map[string]any)[column].(string)
				cells = append(cells, `"`+strings.ReplaceAll(cell, `"`, `""`)+`"`)
			}
			text += strings.Join(cells, ",") + "\n"
		}
		h.raw["policies/tools.csv"] = text
	}
}

func (h *hostile) configMap(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "annotations": h.notes()},
		"data": map[string]any{"text": "a text", "script": "#!/bin/sh\necho a\n"},
	}
}

// objects fills a Manifests policy.
func (h *hostile) objects() {
	meta := func(name, namespace string) map[string]any {
		made := map[string]any{"name": name}
		if namespace != "" {
			made["namespace"] = namespace
		}
		if h.chance(50) {
			made["annotations"] = h.notes()
		}
		return made
	}
	choices := []func() map[string]any{
		func() map[string]any {
			one := h.configMap("found")
			one["metadata"] = meta("found", "team-a")
			return one
		},
		func() map[string]any {
			return map[string]any{
				"apiVersion": "example.com/v1", "kind": "Foo", "metadata": meta("foo", "team-a"),
				"spec": map[string]any{"text": "a text", "list": words("a", "b"), "number": 3, "deep": map[string]any{"list": []any{map[string]any{"name": "x"}}}},
			}
		},
		func() map[string]any {
			return map[string]any{
				"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": meta("reader", ""),
				"rules": []any{map[string]any{"apiGroups": words(""), "resources": words("pods"), "verbs": words("get")}},
			}
		},
		func() map[string]any {
			return map[string]any{
				"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta("readers", "team-a"),
				"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
				"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}},
			}
		},
		func() map[string]any {
			return map[string]any{
				"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": meta("no-host-network", ""),
				"spec": map[string]any{
					"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
						"apiGroups": words(""), "apiVersions": words("v1"), "operations": words("CREATE"), "resources": words("pods"),
					}}},
					"validations": []any{map[string]any{"expression": "!has(object.spec.hostNetwork)", "message": "no host network"}},
				},
			}
		},
		func() map[string]any {
			return map[string]any{
				"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": meta("deny", "team-b"),
				"spec": map[string]any{"podSelector": map[string]any{}, "policyTypes": words("Ingress")},
			}
		},
		func() map[string]any {
			return map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("robot", "team-b")}
		},
		func() map[string]any {
			return map[string]any{
				"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta("high", ""), "value": 1000, "description": "a text",
			}
		},
		func() map[string]any {
			return map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("app", "team-a"),
				"spec": map[string]any{
					"selector": map[string]any{"matchLabels": map[string]any{"app": "a"}},
					"template": map[string]any{
						"metadata": map[string]any{"labels": map[string]any{"app": "a"}, "annotations": h.notes()},
						"spec": map[string]any{"containers": []any{map[string]any{
							"name": "a", "image": "example.com/a:1", "args": words("--text", "a text"), "env": []any{map[string]any{"name": "A", "value": "a text"}},
						}}},
					},
				},
			}
		},
		func() map[string]any {
			return map[string]any{
				"apiVersion": "bar.example.com/v1", "kind": "Bar", "metadata": meta("bar", ""), "spec": map[string]any{"ref": map[string]any{"name": "a", "kind": "ClusterRole"}}, "data": "a text",
			}
		},
	}
	var made []map[string]any
	h.Shuffle(len(choices), func(a, b int) { choices[a], choices[b] = choices[b], choices[a] })
	for index := range 1 + h.IntN(4) {
		made = append(made, choices[index]())
	}
	h.policies["m.yaml"] = []map[string]any{policy("Manifests", "m", map[string]any{"files": words("m/*")})}
	h.manifests["m/x.yaml"] = made
}

// place is a text or a map in the workspace.
type place struct {
	path string
	text string
	set  func(any)
	held map[string]any
}

// places walks through a value. Texts below are leaves, and maps called annotations or labels are places of their own.
func places(path string, value any, set func(any), found *[]place) {
	switch value := value.(type) {
	case string:
		*found = append(*found, place{path: path, text: value, set: set})
	case map[string]any:
		*found = append(*found, place{path: path, held: value})
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for _, key := range keys {
			places(path+"."+strings.TrimPrefix(key, "\x00"), value[key], func(other any) { value[key] = other }, found)
		}
	case []any:
		for index := range value {
			places(fmt.Sprintf("%s[%d]", path, index), value[index], func(other any) { value[index] = other }, found)
		}
	}
}

// all are the places of the whole workspace.
func (h *hostile) all() []place {
	var found []place
	places("bailiwick.yaml", h.workspace["spec"], func(any) {}, &found)
	for _, group := range []map[string][]map[string]any{h.policies, h.manifests} {
		paths := make([]string, 0, len(group))
		for path := range group {
			paths = append(paths, path)
		}
		sort.Strings(paths)
		for _, path := range paths {
			for index, one := range group[path] {
				if _, is := h.manifests[path]; is {
					places(fmt.Sprintf("%s[%d]", path, index), one, func(any) {}, &found)
					continue
				}
				places(fmt.Sprintf("%s[%d].spec", path, index), one["spec"], func(any) {}, &found)
				places(fmt.Sprintf("%s[%d].metadata", path, index), one["metadata"], func(any) {}, &found)
			}
		}
	}
	return found
}

func (h *hostile) where(keep func(place) bool) (place, bool) {
	var found []place
	for _, one := range h.all() {
		if keep(one) {
			found = append(found, one)
		}
	}
	if len(found) == 0 {
		return place{}, false
	}
	return found[h.IntN(len(found))], true
}

func ends(path string, names ...string) bool {
	for _, name := range names {
		if strings.HasSuffix(path, name) {
			return true
		}
	}
	return false
}

func (h *hostile) note(format string, values ...any) {
	h.changed = append(h.changed, fmt.Sprintf(format, values...))
}
