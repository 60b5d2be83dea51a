package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sample is an output folder in which some readers must make something else of what is written.
type sample struct {
	name string
	// own are the files of the program below out/production; each document is an object.
	own map[string]string
	// others are files of the repository.
	others map[string]string
	// differ are the readers that must differ; others may.
	differ []string
	// only these readers are asked, where the sample is large.
	only []string
	// variables says that Flux replaces variables.
	variables bool
}

const (
	role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: ops\nrules: []\n"
	team = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-a\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: view\n" +
		"  namespace: team-a\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects: []\n"
	hidden = "{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}"
)

// noted is a Namespace with an annotation.
func noted(key, value string) map[string]string {
	return map[string]string{"namespaces/team-b.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-b\n  annotations: {" + key + ": " + value + "}\n"}
}

// foo is an object of a kind that nobody knows.
func foo(more string) map[string]string {
	return map[string]string{"cluster/foo.yaml": "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: f}\n" + more + "\n"}
}

func written(text string) map[string]string {
	return map[string]string{"cluster/x.yaml": text + "\n"}
}

func kept(path, text string) map[string]string {
	return map[string]string{"out/production/" + path: text}
}

// samples has at least one sample for each row of the tables of readers, and for each treatment of a row.
func samples() []sample {
	all := func(names ...string) []string { return names }
	building := all("kustomize", "flux")
	made := []sample{
		{name: "nothing odd"},
		{name: "a kustomization of everything", others: kept("kustomization.yaml", "resources: [cluster/clusterrole.yaml, ./namespaces/team-a.yaml]\n")},
		{name: "items of any kind", own: foo("items: [" + hidden + "]"), differ: all("kubectl", "argocd", "flux")},
		{name: "items without apiVersion", own: written("kind: List\nmetadata: {name: l}\nitems: [" + hidden + "]"), differ: all("kubectl", "argocd", "kustomize", "flux")},
		{name: "items: null", own: foo("items: null"), differ: all("kubectl", "argocd")},
		{name: "items: null with a spec", own: foo("items: null\nspec: {}"), differ: all("kubectl")},
		{name: "items of texts", own: foo("items: [a, b]"), differ: all("kubectl", "argocd", "flux")},
		{name: "items without kind", own: written("{apiVersion: example.com/v1, kind: BarList, metadata: {name: l}, items: [{metadata: {name: b}}]}"), differ: all("kubectl")},
		{name: "lists in lists", own: foo("items: [{apiVersion: v1, kind: List, items: [" + hidden + "]}]"), differ: all("kubectl", "argocd", "flux")},
		{name: "a hidden file", others: kept(".x/x.yaml", hidden), differ: all("kubectl", "argocd", "flux")},
		{name: "a kept list", others: kept("x.yaml", "kind: List\nitems: ["+hidden+"]\n"), differ: all("kubectl", "argocd", "kustomize", "flux")},
		{name: "the marker of Argo CD", own: noted("note", `"+argocd:skip-file-rendering"`), differ: all("argocd", "argocd-folders")},
		{name: "UTF-16", others: kept("x.yaml", inUTF16("apiVersion: v1\nkind: Namespace\nmetadata: {name: hidden}\n")), differ: all("argocd", "kubectl")},
		{name: "JSON", others: kept("x.json", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"hidden"}}`), differ: all("argocd", "kubectl")},
		{name: "Jsonnet", others: kept("x.jsonnet", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"hidden"}}`), differ: all("argocd")},
		{name: "a file that is no YAML", others: kept("x.yaml", "a: [\n"), differ: all("kubectl", "kustomize", "flux")},
		{name: "parameters of a source", others: kept(".argocd-source.yaml", "directory: {exclude: '**/team-a.yaml'}\n"), differ: all("argocd")},
		{name: "parameters of an Application", others: kept(".argocd-source-w.yaml", "directory: {exclude: '**/team-a.yaml'}\n"), differ: all("argocd")},
		{name: "more than 10,000,000 bytes", own: large(), differ: all("argocd"), only: all("argocd")},
		{name: "a kind that Argo CD excludes", own: written("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l, namespace: team-a}}"), differ: all("argocd-kinds")},
		{name: "EndpointSlice", own: written("{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: e, namespace: team-a}, addressType: IPv4, endpoints: []}"), differ: all("argocd-kinds")},
		{name: "a chart", others: kept("namespaces/MyChart.yaml", "a text\n"), differ: all("argocd-folders")},
		{name: "cloudbuild.yaml", own: map[string]string{"namespaces/cloudbuild.yaml": hidden}, differ: all("flux")},
		{name: "a folder of CI files", own: map[string]string{".github/x.yaml": hidden}, differ: all("flux")},
		{name: "a folder with the ending of an image", own: map[string]string{"x.jpg/x.yaml": hidden}, differ: all("flux")},
		{name: ".sourceignore", others: map[string]string{".sourceignore": "/out/production/namespaces/team-a.yaml\n"}, differ: all("flux")},
		{name: ".sourceignore of a folder", others: kept("namespaces/.sourceignore", "team-*\n"), differ: all("flux")},
		{name: "a kustomization of less", others: kept("kustomization.yaml", "resources: [cluster/clusterrole.yaml]\n"), differ: building},
		{name: "a kustomization of more", others: map[string]string{
			"out/production/kustomization.yaml": "resources: [cluster/clusterrole.yaml, namespaces/team-a.yaml, ../staging/x.yaml]\n", "out/staging/x.yaml": hidden,
		}, differ: building},
		{name: "a kustomization of a folder", others: kept("namespaces/Kustomization", "resources: []\n"), differ: building},
		{name: "a file called kustomization.yaml", own: map[string]string{"namespaces/kustomization.yaml": hidden}, differ: building},
		{name: "a kind of a list", own: written("{apiVersion: example.com/v1, kind: FooList, metadata: {name: l}, items: []}"), differ: building},
		{name: "a kind of a list without items", own: written("{apiVersion: example.com/v1, kind: FooList, metadata: {name: l}, items: null}"), differ: building},
		{name: "ResourceList", own: written("{apiVersion: config.kubernetes.io/v1, kind: ResourceList, metadata: {name: l}, items: [" + hidden + "], functionConfig: {}}"), differ: building},
		{name: "needsHashSuffix", own: noted("internal.config.kubernetes.io/needsHashSuffix", "enabled"), differ: building},
		{name: "previousNames", own: map[string]string{"cluster/clusterrole.yaml": strings.Replace(role, "  name: ops\n", "  name: ops\n  annotations:\n    internal.config.kubernetes.io/previousNames: view\n"+
			"    internal.config.kubernetes.io/previousNamespaces: default\n    internal.config.kubernetes.io/previousKinds: ClusterRole\n", 1)}, differ: building},
		{name: "U+0085", own: noted("note", `"see\x85\x85|| true"`), differ: building},
		{name: "one U+0085", own: noted("note", `"a\x85b"`), differ: building},
		{name: "U+007F", own: noted("note", `"x\x7f"`), differ: building},
		{name: "U+FFFE", own: noted("note", `"x\ufffe"`), differ: building},
		{name: "a long key", own: map[string]string{"cluster/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: team-a}\ndata: {? " + strings.Repeat("k", 1100) + "\n: x}\n"}, differ: building},
		{name: "a merge key", own: written(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team-a}, data: {"<<": {a: b}}}`), differ: building},
		{name: "no namespace and default", own: written("{apiVersion: example.com/v1, kind: Foo, metadata: {name: f}}\n---\n{apiVersion: example.com/v1, kind: Foo, metadata: {name: f, namespace: default}}"),
			differ: all("kustomize", "flux", "server")},
		{name: "no name", own: written("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-, namespace: team-a}}"), differ: building},
		{name: "a Kustomization of kustomize", own: written("{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization, metadata: {name: x}}"), differ: all("flux")},
		{name: "a Secret of SOPS", own: written("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team-a}, sops: {mac: x}}"), differ: all("flux")},
		{name: "two underscores", own: written("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: dev__view}, rules: []}"), differ: all("inventory")},
		{name: "one underscore", own: written("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: dev_view}, rules: []}"), differ: all("inventory-configmap"),
			only: all("inventory", "inventory-configmap")},
		{name: "two versions", own: written("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p, namespace: team-a}}\n---\n" +
			"{apiVersion: extensions/v1beta1, kind: NetworkPolicy, metadata: {name: p, namespace: team-a}}"), differ: all("server")},
		{name: "an owner", own: written("{apiVersion: v1, kind: Namespace, metadata: {name: x, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: x}]}}"), differ: all("server")},
		{name: "a uid", own: written("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: team-a, uid: x}}"), differ: all("server")},
		{name: "a variable", own: noted("note", `"${X}"`), differ: all("flux-variables"), variables: true},
		{name: "a link", others: map[string]string{"out/production/x.yaml": "-> ../../x.yaml", "x.yaml": hidden}, differ: all("kubectl", "argocd")},
	}
	for _, key := range []string{
		"config.kubernetes.io/local-config", "config.kubernetes.io/path", "config.kubernetes.io/index", "config.kubernetes.io/origin", "config.k8s.io/id",
		"alpha.config.kubernetes.io/transformations", "internal.config.kubernetes.io/helm-generated",
	} {
		made = append(made, sample{name: key, own: noted(key, `"true"`), differ: building})
	}
	for _, key := range []string{`"1"`, `"2001-01-01"`, `"true"`, `"null"`} {
		made = append(made, sample{name: "the annotation key " + key, own: noted(key, "x"), differ: building})
	}
	return made
}

// inUTF16 is a text in UTF-16 with its mark.
func inUTF16(text string) string {
	out := "\xff\xfe"
	for _, character := range text {
		out += string([]byte{byte(character), 0})
	}
	return out
}

// large is a folder with more bytes than Argo CD reads by default.
func large() map[string]string {
	made := map[string]string{}
	for index := range 11 {
		made[fmt.Sprintf("namespaces/x%d.yaml", index)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x%d, namespace: team-a}\ndata: {a: %s}\n", index, strings.Repeat("a", 950000))
	}
	return made
}

// testSelf ends with 3 where a reader does not differ that has to.
func testSelf(work string, w *worker) int {
	defer w.stop()
	every := samples()
	var wrong []string
	for index, one := range every {
		root := filepath.Join(work, fmt.Sprintf("sample-%d", index))
		own := map[string]string{"cluster/clusterrole.yaml": role, "namespaces/team-a.yaml": team}
		for path, text := range one.own {
			own[path] = text
		}
		if err := writeFiles(filepath.Join(root, "out/production"), own); err != nil {
			cannot("self-test: %s: %v", one.name, err)
		}
		if err := writeFiles(root, one.others); err != nil {
			cannot("self-test: %s: %v", one.name, err)
		}
		paths := make([]string, 0, len(own))
		for path := range own {
			paths = append(paths, filepath.Join(root, "out/production", path))
		}
		slices.Sort(paths)
		expected, err := documents(paths)
		if err != nil {
			cannot("self-test: %s: %v", one.name, err)
		}
		w.only = map[string]bool{}
		for _, name := range one.only {
			w.only[name] = true
		}
		found := w.compare(unit{root: root, path: "out/production", expected: expected, files: paths, variables: one.variables})
		differing := map[string]bool{}
		for _, each := range found {
			differing[each.Reader] = true
		}
		if len(one.differ) == 0 && len(found) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %s differs: %s", one.name, found[0].Reader, strings.Join(found[0].Details, "; ")))
		}
		for _, name := range one.differ {
			if !differing[name] {
				wrong = append(wrong, fmt.Sprintf("%s: %s does not differ", one.name, name))
			}
		}
		os.RemoveAll(root)
	}
	if len(wrong) > 0 {
		cannot("self-test: %s", strings.Join(wrong, "\nreaders: self-test: "))
	}
	programs := testPrograms(work, w) + testFunctions(work, w)
	fmt.Printf("readers: self-test of %d samples and %d programs\n", len(every), programs)
	return 0
}

// testPrograms runs programs of the shell that do what the binary must not do.
func testPrograms(work string, w *worker) int {
	const print = `[ "$2" = --stdout ] && { echo '{"path": "cluster/x.yaml", "index": 0, "object": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}}'; exit 0; }
mkdir -p out/production/cluster && echo '{apiVersion: v1, kind: Namespace, metadata: {name: a}}' >out/production/cluster/x.yaml
`
	tests := []struct {
		name, text string
		right      func(outcome) bool
	}{
		{"right", print, func(made outcome) bool {
			return len(made.Failed)+len(made.Differences) == 0 && made.Compared == 1 && made.Objects == 1
		}},
		{"a refusal", "echo 'error[unknown-field]: no' >&2; exit 2", func(made outcome) bool {
			return made.Refused == "unknown-field" && len(made.Failed) == 0
		}},
		{"a refusal that writes", "touch x; echo 'error[unknown-field]: no' >&2; exit 2", func(made outcome) bool { return len(made.Failed) > 0 }},
		{"a fault", "exit 3", func(made outcome) bool { return len(made.Failed) > 0 }},
		{"an abort", "kill -ABRT $$", func(made outcome) bool { return len(made.Failed) > 0 }},
		{"writes elsewhere", print + "touch ../../x", func(made outcome) bool { return len(made.Failed) > 0 }},
		{"changes a policy", print + "echo >>bailiwick.yaml", func(made outcome) bool { return len(made.Failed) > 0 }},
		{"an error of check", "[ \"$1\" = check ] && { echo 'error[left-out]: no' >&2; exit 1; }\n" + print + "sed -i 's/name: a/name: b/' out/production/cluster/x.yaml",
			func(made outcome) bool { return made.Refused == "check: left-out" && len(made.Differences) == 0 }},
		{"prints other objects", print + "sed -i 's/name: a/name: b/' out/production/cluster/x.yaml", func(made outcome) bool {
			return len(made.Differences) > 1 && made.Differences[0].Reader == "files"
		}},
	}
	w.only = nil
	h := &harness{work: work}
	for index, one := range tests {
		root, fence := h.scratch("program")
		path := filepath.Join(work, fmt.Sprintf("program-%d", index))
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+one.text+"\nexit 0\n"), 0o755); err != nil {
			cannot("%v", err)
		}
		text := "spec: {targets: [{name: production, version: \"1.37\"}]}\n"
		if err := os.WriteFile(filepath.Join(root, "bailiwick.yaml"), []byte(text), 0o644); err != nil {
			cannot("%v", err)
		}
		var made outcome
		w.compareWorkspace(program{path: path, home: work}, root, fence, &made)
		if !one.right(made) {
			cannot("self-test: a program with %s: %+v", one.name, made)
		}
		os.RemoveAll(fence)
	}
	return len(tests)
}

// testFunctions puts two objects to programs of the shell in place of `fn`.
func testFunctions(work string, w *worker) int {
	items := []string{
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: first}, " +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: a}]}",
		hidden,
	}
	tests := []struct {
		name, text string
		folders    []string
	}{
		{"right", "cat", nil},
		{"an object less", `[ "$2" = --stream ] && exec cat; grep -v hidden`, []string{"items"}},
		{"an object more", `cat; [ "$2" = --stream ] || echo "- {apiVersion: v1, kind: Namespace, metadata: {name: more}}"`, []string{"items"}},
		{"another stream", `cat; [ "$2" != --stream ] || echo "# more"`, []string{"stream"}},
		{"other answers", `text=$(cat; echo .); printf %s "${text%.}"; case $text in *'"apiVersion"'*) echo "FAIL x" >&2; exit 1;; esac`, []string{"items", "stream"}},
	}
	for index, one := range tests {
		fence := filepath.Join(work, fmt.Sprintf("function-%d", index))
		root, path := filepath.Join(fence, "w"), filepath.Join(fence, "program")
		text := "#!/bin/sh\n[ \"$1\" = fn ] || exit 0\n" + one.text + "\nexit 0\n"
		if err := writeFiles(fence, map[string]string{"program": text, "w/bailiwick.yaml": "{}\n"}); err != nil {
			cannot("%v", err)
		}
		if err := os.Chmod(path, 0o755); err != nil {
			cannot("%v", err)
		}
		var made outcome
		w.compareFunction(program{path: path, home: work}, items, root, fence, &made)
		var folders []string
		for _, each := range made.Differences {
			folders = append(folders, each.Folder)
		}
		if len(made.Failed) > 0 || made.Inputs != 3 || !slices.Equal(folders, one.folders) {
			cannot("self-test: `fn` with %s: %+v", one.name, made)
		}
		os.RemoveAll(fence)
	}
	return len(tests)
}
