package main

import (
	"fmt"
	"strings"
)

// mutate puts one hostile word at one place.
func (h *hostile) mutate() {
	choices := []struct {
		weight int
		change func() bool
	}{
		{22, h.changeText}, {16, h.addAnnotation}, {3, h.addLabel}, {10, h.changeName}, {4, h.changeBindingName}, {7, h.addItems},
		{5, h.changeKind}, {4, h.changeVersion}, {5, h.addKey}, {6, h.addValue}, {5, h.changeMetadata}, {3, h.wrap}, {4, h.double},
		{8, h.keepFile}, {5, h.addFile}, {3, h.changeFolder}, {3, h.changeTarget}, {3, h.changeTemplate}, {2, h.addLink}, {2, h.wholeObject},
	}
	total := 0
	for _, one := range choices {
		total += one.weight
	}
	for range 20 {
		left := h.IntN(total)
		for _, one := range choices {
			left -= one.weight
			if left < 0 {
				if one.change() {
					return
				}
				break
			}
		}
	}
}

// changeText puts a word into a text: instead of it, before, behind or within.
func (h *hostile) changeText() bool {
	at, is := h.where(func(one place) bool {
		return one.set != nil && !ends(one.path, ".name", ".kind", ".apiVersion", ".version", ".platform", ".as", ".rule", ".type", ".namespace", ".file", ".template", ".clusterRole") &&
			!strings.Contains(one.path, ".files[") && !strings.Contains(one.path, "targets[")
	})
	if !is {
		return false
	}
	word := pick(h, texts)
	switch h.IntN(5) {
	case 0:
		at.set(at.text + word)
	case 1:
		at.set(word + at.text)
	case 2:
		middle := len(at.text) / 2
		at.set(at.text[:middle] + word + at.text[middle:])
	default:
		at.set(word)
	}
	h.note("text %s: %s", at.path, shown(word))
	return true
}

func (h *hostile) addAnnotation() bool {
	at, is := h.where(func(one place) bool { return one.held != nil && ends(one.path, ".annotations") })
	if !is {
		return false
	}
	key, value := pick(h, annotationKeys), pick(h, annotationValues)
	if h.chance(15) {
		key = pick(h, texts)
	}
	if h.chance(10) {
		value = pick(h, texts)
	}
	at.held[key] = value
	h.note("annotation %s: %s=%s", at.path, shown(key), shown(value))
	if strings.HasSuffix(key, "previousNames") && h.chance(80) {
		at.held["internal.config.kubernetes.io/previousNamespaces"], at.held["internal.config.kubernetes.io/previousKinds"] = "default", "ClusterRole"
	}
	return true
}

func (h *hostile) addLabel() bool {
	at, is := h.where(func(one place) bool { return one.held != nil && ends(one.path, ".labels") })
	if !is {
		return false
	}
	key, value := pick(h, annotationKeys), pick(h, append(names, annotationValues...))
	at.held[key] = value
	h.note("label %s: %s=%s", at.path, shown(key), shown(value))
	return true
}

// changeName renames a namespace, a tenant or an object, and with it each place with the same name.
func (h *hostile) changeName() bool {
	at, is := h.where(func(one place) bool {
		return one.set != nil && (ends(one.path, ".name") && !strings.Contains(one.path, "bailiwick.yaml") || ends(one.path, ".to.groups[0]", ".members[0]", ".users[0]", ".groups[0]"))
	})
	if !is || strings.Contains(at.text, "{") {
		return false
	}
	word := pick(h, names)
	if h.chance(20) {
		word = pick(h, bindingNames)
	}
	for _, one := range h.all() {
		if one.set != nil && one.text == at.text && at.text != "a" {
			one.set(word)
		}
	}
	at.set(word)
	h.note("name %s: %s", at.path, shown(word))
	return true
}

func (h *hostile) changeBindingName() bool {
	at, is := h.where(func(one place) bool {
		return one.held != nil && ends(one.path, "].spec") && strings.HasPrefix(one.path, "grants.yaml") && one.held["to"] != nil ||
			one.held != nil && ends(one.path, ".metadata") && strings.HasPrefix(one.path, "m/") || one.held != nil && ends(one.path, ".grants[0]")
	})
	if !is {
		return false
	}
	word := pick(h, bindingNames)
	if ends(at.path, ".spec") {
		at.held["bindingName"] = word
	} else {
		at.held["name"] = word
	}
	h.note("binding name %s: %s", at.path, shown(word))
	return true
}

// object is an object of a manifest or of `objects` of a policy.
func (h *hostile) object() (place, bool) {
	return h.where(func(one place) bool {
		return one.held != nil && (strings.HasPrefix(one.path, "m/") && ends(one.path, "]") && strings.Count(one.path, ".") == 1 || ends(one.path, ".object"))
	})
}

func (h *hostile) addItems() bool {
	at, is := h.object()
	if !is {
		return false
	}
	word := pick(h, items)
	at.held["items"] = word
	if h.chance(5) {
		delete(at.held, "items")
		at.held["Items"] = word
	}
	if h.chance(20) {
		delete(at.held, "spec")
	}
	h.note("items %s: %s", at.path, shown(string(word)))
	return true
}

func (h *hostile) changeKind() bool {
	at, is := h.object()
	if !is {
		return false
	}
	word := pick(h, kinds)
	at.held["kind"] = word
	if h.chance(70) {
		at.held["apiVersion"] = "example.com/v1"
	}
	if h.chance(30) {
		at.held["functionConfig"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "f"}}
	}
	if h.chance(20) {
		at.held["items"] = pick(h, items)
	}
	h.note("kind %s: %s of %v", at.path, shown(word), at.held["apiVersion"])
	return true
}

func (h *hostile) changeVersion() bool {
	at, is := h.object()
	if !is {
		return false
	}
	word := pick(h, versions)
	at.held["apiVersion"] = word
	if h.chance(40) {
		at.held["kind"] = pick(h, kinds)
	}
	h.note("apiVersion %s: %s of %v", at.path, shown(word), shown(fmt.Sprint(at.held["kind"])))
	return true
}

// custom is a map whose keys no schema knows.
func (h *hostile) custom() (place, bool) {
	return h.where(func(one place) bool {
		if one.held == nil {
			return false
		}
		if ends(one.path, ".data") || ends(one.path, ".matchLabels") {
			return true
		}
		return strings.HasPrefix(one.path, "m/") && one.held["text"] != nil || ends(one.path, ".ref", ".deep", ".object")
	})
}

func (h *hostile) addKey() bool {
	at, is := h.custom()
	if !is {
		return false
	}
	key := pick(h, keys)
	at.held["\x00"+string(key)] = "x"
	if strings.Contains(string(key), "<<") && h.chance(50) {
		at.held["\x00"+string(key)] = map[string]any{"x": "y"}
	}
	h.note("key %s: %s", at.path, shown(string(key)))
	return true
}

func (h *hostile) addValue() bool {
	at, is := h.custom()
	if !is {
		return false
	}
	word := pick(h, values)
	at.held["odd"] = word
	h.note("value %s: %s", at.path, shown(string(word)))
	return true
}

// changeMetadata adds what the API server or a reader sets itself.
func (h *hostile) changeMetadata() bool {
	at, is := h.where(func(one place) bool {
		return one.held != nil && strings.HasPrefix(one.path, "m/") && ends(one.path, "].metadata")
	})
	if !is {
		return false
	}
	choices := []struct {
		key   string
		value bare
	}{
		{"ownerReferences", `[{apiVersion: v1, kind: ConfigMap, name: gone, uid: 0a0a0a0a-0000-0000-0000-000000000000}]`}, {"ownerReferences", `[]`}, {"ownerReferences", `null`},
		{"generateName", `a-`}, {"deletionTimestamp", `"2020-01-01T00:00:00Z"`}, {"uid", `0a0a0a0a-0000-0000-0000-000000000000`}, {"resourceVersion", `"1"`},
		{"managedFields", `[]`}, {"managedFields", `[{manager: a, operation: Apply}]`}, {"creationTimestamp", `null`}, {"generation", `1`}, {"selfLink", `/x`}, {"clusterName", `x`},
		{"finalizers", `[example.com/x]`}, {"finalizers", `[null]`}, {"annotations", `null`}, {"annotations", `{}`}, {"labels", `{}`}, {"labels", `null`}, {"namespace", `""`}, {"namespace", `null`}, {"namespace", `default`},
		{"annotations", `{a: null}`}, {"annotations", `{a: 1}`}, {"annotations", `{a: ""}`}, {"deletionGracePeriodSeconds", `0`}, {"name", `null`}, {"name", `1`}, {"name", `2001-01-01`}, {"odd", `x`}, {"namespace", `_`},
		{"namespace", `kustomization`}, {"namespace", `team-a_b`},
	}
	one := pick(h, choices)
	at.held[one.key] = one.value
	if one.key == "generateName" && h.chance(70) {
		delete(at.held, "name")
	}
	h.note("metadata %s: %s: %s", at.path, one.key, shown(string(one.value)))
	return true
}

// wrap puts objects into a list, or changes how the file is written.
func (h *hostile) wrap() bool {
	objects := h.manifests["m/x.yaml"]
	if len(objects) == 0 {
		return false
	}
	switch h.IntN(5) {
	case 0, 1, 2:
		var held []any
		for _, one := range objects {
			held = append(held, one)
		}
		kind := pick(h, []string{"List", "List", "List", "ConfigMapList", "FooList", "Bundle", "list", "ResourceList"})
		list := map[string]any{"apiVersion": pick(h, []string{"v1", "v1", "example.com/v1", "config.kubernetes.io/v1"}), "kind": kind, "items": held}
		if h.chance(30) {
			list["metadata"] = map[string]any{"name": "list", "annotations": map[string]any{"a": "b"}}
		}
		if h.chance(20) {
			delete(list, "apiVersion")
		}
		if h.chance(25) {
			list["items"] = []any{map[string]any{"apiVersion": "v1", "kind": "List", "items": held}}
		}
		if h.chance(25) {
			held = append(held, map[string]any{"apiVersion": pick(h, versions), "kind": pick(h, kinds), "metadata": map[string]any{"name": "x"}})
			list["items"] = held
		}
		h.manifests["m/x.yaml"] = []map[string]any{list}
		h.note("list of kind %s", kind)
	case 3:
		h.raw["policies/m/y.yaml"] = pick(h, []string{
			"\xef\xbb\xbfapiVersion: v1\nkind: ConfigMap\nmetadata: {name: bom, namespace: team-a}\n", "# +argocd:skip-file-rendering\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: marked, namespace: team-a}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team-a}\ndata: {a: \"b\n---\nc\"}\n", "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: lines, namespace: team-a}\r\ndata: {a: \"b\"}\r\n---\r\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a, namespace: team-a}\ndata: {<<: {a: b}}\n", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"json\",\"namespace\":\"team-a\"}}{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"second\"}}",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team-a}\ndata:\n  a: |\n    ---\n    b\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team-a}\n...\n---\nnull\n---\n{}\n", "items: []\n", "kind: List\nitems: []\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team-a}\ndata: {a: \"\\tb\\nc\", d: \"\\u2028\", e: \"x\\ty\\r\"}\nbinaryData: {f: aGk=}\n",
		})
		h.note("file m/y.yaml: %s", shown(h.raw["policies/m/y.yaml"]))
	default:
		h.manifests["m/.hidden.yaml"] = []map[string]any{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "hidden", "namespace": "team-a"}}}
		h.note("file m/.hidden.yaml")
	}
	return true
}

// double writes one object of the cluster twice.
func (h *hostile) double() bool {
	pairs := [][2]string{
		{`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p, namespace: team-a}, spec: {podSelector: {}}}`, `{apiVersion: extensions/v1beta1, kind: NetworkPolicy, metadata: {name: p, namespace: team-a}, spec: {podSelector: {}}}`},
		{`{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: team-a}}`, `{apiVersion: example.com/v2, kind: Foo, metadata: {name: f, namespace: team-a}}`},
		{`{apiVersion: example.com/v1, kind: Foo, metadata: {name: f}}`, `{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: default}}`},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: f}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: f, namespace: default}}`},
		{`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}`, `{apiVersion: authorization.openshift.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}`},
		{`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}`, `{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: ClusterRole, metadata: {name: r}, rules: []}`},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: team-a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`, `{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: d, namespace: team-a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`},
		{`{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: team-a}}`, `{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: team-a}, spec: {a: b}}`},
		{`{apiVersion: v1, kind: Event, metadata: {name: e, namespace: team-a}, involvedObject: {}}`, `{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: e, namespace: team-a}}`},
		{`{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: team-a}}`, `{apiVersion: example.com/v1, kind: foo, metadata: {name: f, namespace: team-a}}`},
		{`{apiVersion: security.openshift.io/v1, kind: SecurityContextConstraints, metadata: {name: s}}`, `{apiVersion: v1, kind: SecurityContextConstraints, metadata: {name: s}}`},
	}
	pair := pick(h, pairs)
	h.policies["m2.yaml"] = []map[string]any{policy("Manifests", "m2", map[string]any{"files": words("m2/*")})}
	h.raw["policies/m2/x.yaml"] = pair[0] + "\n---\n" + pair[1] + "\n"
	h.note("twice: %s and %s", pair[0], pair[1])
	return true
}

// wholeObject is an object with a shape of its own.
func (h *hostile) wholeObject() bool {
	text := pick(h, []string{
		`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team-a}, sops: {mac: x}, data: {a: ENC[x]}}`, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team-a}, stringData: {a: b}, data: {a: Yw==}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team-a}, data: {a: "no base64"}}`, `{apiVersion: v1, kind: Namespace, metadata: {name: kustomization}}`, `{apiVersion: v1, kind: Namespace, metadata: {name: cloudbuild}}`,
		`{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization, metadata: {name: x}, resources: [a.yaml]}`, `{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, metadata: {name: x}}`, `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: apps, namespace: flux-system}, spec: {interval: 5m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: apps}}}`,
		`{apiVersion: config.kubernetes.io/v1, kind: ResourceList, metadata: {name: x}, items: [], functionConfig: {}}`, `{apiVersion: example.com/v1, kind: ResourceList, metadata: {name: x}, functionConfig: {}}`, `{apiVersion: v1, kind: Endpoints, metadata: {name: e, namespace: team-a}}`, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l, namespace: team-a}}`,
		`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: e, namespace: team-a}, addressType: IPv4, endpoints: []}`, `{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview, metadata: {name: a}, spec: {user: a}}`, `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: c}, spec: {request: aGk=, signerName: a/b, usages: [client auth]}}`,
		`{apiVersion: v1, kind: Event, metadata: {name: e, namespace: team-a}, involvedObject: {}}`, `{apiVersion: cilium.io/v2, kind: CiliumIdentity, metadata: {name: "1"}, security-labels: {}}`, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Foo, plural: foos, listKind: FooList, singular: foo}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {items: {type: array, items: {type: string}}, "$ref": {type: string}}}}}]}, status: {}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: big, namespace: team-a}, data: {a: ` + strings.Repeat("a", 1100000) + `}}`, `{apiVersion: helm.cattle.io/v1, kind: HelmChart, metadata: {name: x, namespace: team-a}, spec: {chart: x}}`, `{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: team-a}, spec: {containers: [{name: a}, {name: a}]}}`,
		`{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: team-a}, status: {a: b}, items: null}`, `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: team-a}, spec: {ports: [{port: 80}]}}`, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: team-a}, secrets: [null]}`,
		`{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: team-a}, spec: {limits: []}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: f, namespace: team-a}, data: null}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: f, namespace: team-a}, immutable: null}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: null}`, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: []}, rules: []}`, `{apiVersion: example.com/v1, kind: Foo, metadata: {name: r}, spec: {"": a}}`,
	})
	h.policies["m2.yaml"] = []map[string]any{policy("Manifests", "m2", map[string]any{"files": words("m2/*")})}
	h.raw["policies/m2/x.yaml"] = text + "\n"
	h.note("object %s", shown(text))
	return true
}

// contents of files of others.
var contents = []string{
	"", "a text\n", "# +argocd:skip-file-rendering\n", "resources: [namespaces/team-a.yaml]\n", "resources: []\n", "namePrefix: x-\nresources: [namespaces, cluster]\n", "kind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: hidden}}\n",
	"{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}\n", "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"hidden\"}}", "items: []\n", "a: b\n", "- a\n", "null\n", "a: [\n", "apiVersion: v2\nname: x\nversion: 1.0.0\n",
	"directory: {exclude: '*'}\n", "directory: {include: x.yaml}\n", "directory: {recurse: false}\n", "helm: {}\n", "*.yaml\n", "!*.jpg\n", "team-a.yaml\n", "/out/production/namespaces/team-b.yaml\n", "# nothing\n", "namespaces/\n", "**\n", "{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}\n---\n{}\n",
	"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- namespaces/team-a.yaml\n- namespaces/team-b.yaml\n", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n", "---\n---\n", "\xff\xfea\x00:\x00 \x00b\x00", "{}\n", "[]\n", "1\n", "\"a\"\n", "apiVersion: v1\n", "kind: Namespace\nmetadata: {name: hidden}\n",
	"[{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"hidden\"}}]", "{\"schemaVersion\":2,\"layers\":[]}", "apiVersion: config.kubernetes.io/v1\nkind: Krmfile\nmetadata: {name: x, annotations: {config.kubernetes.io/local-config: 'true'}}\n", "metadata: {name: x}\n", "{{ template }}\n", "\tx\n",
}

// keepFile puts a file of others into the output folder, and keeps it by a pattern.
func (h *hostile) keepFile() bool {
	spec := h.workspace["spec"].(map[string]any)
	name, text := pick(h, fileNames), pick(h, contents)
	spec["keep"] = words(pick(h, []string{"**", "production/**", "production/" + name}))
	h.raw[h.output+"/production/"+name] = text
	h.note("kept file %s: %s", shown(name), shown(text))
	return true
}

// addFile puts a file beside the policies that a reader of the repository obeys.
func (h *hostile) addFile() bool {
	spec := h.workspace["spec"].(map[string]any)
	path := pick(h, []string{
		".sourceignore", "out/.sourceignore", "out/production/.sourceignore", "policies/.sourceignore", ".gitignore", "out/.gitignore", ".argocd-source.yaml", "out/.argocd-source.yaml", "out/production/.argocd-source.yaml", "out/production/.argocd-source-w.yaml",
		"kustomization.yaml", "out/kustomization.yaml", "Chart.yaml", "out/Chart.yaml", ".sourceignore", "out/production/namespaces/.sourceignore", ".helmignore", ".gitattributes", "out/.gitattributes",
	})
	text := pick(h, contents)
	if strings.HasSuffix(path, ".sourceignore") && h.chance(70) {
		text = pick(h, []string{"*.yaml\n", "team-b.yaml\n", "/out/production/namespaces/team-b.yaml\n", "out/\n", "!out/\n", "/out/*\n!/out/staging\n", "*\n!/out\n", "# a\n", "*.md\n", "cluster*\n", "\\!a\n", "team-[b].yaml\n", "**/namespaces/**\n"})
	}
	if strings.HasPrefix(path, "out/") {
		spec["keep"] = words("**")
	}
	h.raw[path] = text
	h.note("file %s: %s", path, shown(text))
	return true
}

func (h *hostile) changeFolder() bool {
	spec := h.workspace["spec"].(map[string]any)
	word := pick(h, folderNames)
	if delivery, is := spec["delivery"].(map[string]any); is && h.chance(40) {
		delivery["folder"] = word
		h.note("delivery folder %s", shown(word))
		return true
	}
	for path, text := range h.raw {
		if rest, is := strings.CutPrefix(path, h.output+"/"); is {
			delete(h.raw, path)
			h.raw[word+"/"+rest] = text
		}
	}
	spec["output"], h.output = word, word
	h.note("output folder %s", shown(word))
	return true
}

func (h *hostile) changeTarget() bool {
	spec := h.workspace["spec"].(map[string]any)
	target := spec["targets"].([]any)[0].(map[string]any)
	word := pick(h, targetNames)
	target["name"] = word
	h.note("target %s", shown(word))
	return true
}

// changeTemplate puts a word into a template of the workspace.
func (h *hostile) changeTemplate() bool {
	for _, path := range []string{"templates/x/settings.yaml.j2", "templates/namespace-set/namespace.yaml.j2"} {
		text, is := h.raw[path]
		if !is {
			continue
		}
		word := pick(h, texts)
		switch h.IntN(4) {
		case 0:
			text = strings.Replace(text, "{{ values.text }}", yamlOf(word), 1)
			text = strings.Replace(text, `"a text"`, yamlOf(word), 1)
		case 1:
			text += string("\n\"items\": " + pick(h, items) + "\n")
		case 2:
			text = "# " + strings.ReplaceAll(word, "\n", " ") + "\n" + text
		default:
			text += "\n" + string(pick(h, keys)) + ": x\n"
		}
		h.raw[path] = text
		h.note("template %s: %s", path, shown(word))
		return true
	}
	return false
}

// addLink puts a link into the output folder.
func (h *hostile) addLink() bool {
	spec := h.workspace["spec"].(map[string]any)
	spec["keep"] = words("**")
	name := pick(h, []string{"x.yaml", "x.json", "link", "kustomization.yaml", "namespaces/x.yaml"})
	target := pick(h, []string{"../../hidden.yaml", "../../policies/m/x.yaml", "namespaces/team-a.yaml", "gone", "../../hidden", "/dev/null"})
	h.raw[h.output+"/production/"+name] = "-> " + target
	h.raw["hidden.yaml"], h.raw["hidden/x.yaml"] = "{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}\n", "{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}\n"
	h.note("link %s to %s", name, target)
	return true
}
