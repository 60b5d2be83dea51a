package main

import "strings"

// The words of the generator: what some reader takes for its own, and what reads almost as that. Rows of specs are in the comments.

// bare is a text that is written as it stands, without quotes.
type bare string

var invisible = []string{
	"\u0085", "\u0085\u0085", "a\u0085\u0085b", "\u007f", "\u0080", "\u009f", "\u00a0", "\u00ad", "\u200b", "\u200e", "\u202e", "\u2028", "\u2029",
	"\ufeff", "\ufffe", "\uffff", "\ufffd", "\U0001f600", "\U0001fffe", "\U0010ffff", "\ue000", "\u0301", "\t", "\r", "\r\n", "\n", "\x1b", "\x07", "\x00",
	"\v", "\f", "\u2060", "\U000e0041",
}

// texts have a meaning within a value.
var texts = append([]string{
	"+argocd:skip-file-rendering", "see +argocd:skip-file-rendering.", "+argocd:skip-file-render", "\\x2Bargocd:skip-file-rendering",
	"${X}", "$X", "$${X}", "${X:-x}", "${X", "$(X)", "${}", "${X:=y}", "${HOME}", "{{X}}", "${1}", "$var(X)",
	"---", "--- ", "a\n---\nb", "a\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: hidden}\n", "a\n--- # b\nc", "---\n", "...", "a\n...\nb", "\n---",
	"# a", " # a", "a: b", "- a", "? a", "|", ">", "|-\n a", "%YAML 1.1", "&a", "*a", "!!str a", "!a", "@a", "`a`", "\"", "'", "''", "\\", "\\n", "a\\",
	" ", "  a", "a ", " a\n b", "\ta", "\ta\nb", "a\n\tb", "\n", "a\n", "a\n\n", "\na", "a\r\nb", "a\rb", "\n a", "  a\nb", " \n", "a \nb", "a\n \nb", "\n\n  a\n",
	"null", "~", "Null", "NULL", "true", "yes", "on", "y", "n", "No", "OFF", "1", "01", "0x1F", "0o17", "017", "1_000", "1e3", "1E3", "1.", ".5", "+1", "-0", "0b1", "1:30",
	"190:20:30", ".inf", "-.Inf", ".NaN", "nan", "2001-01-01", "2001-01-01T00:00:00Z", "2001-1-1", "=", "<<", "-", "?", ":", "[]", "{}", "[", "{", "a, b", "0.0",
	"9223372036854775808", "18446744073709551616", "1e400", "123456789012345678901234567890", "0777", "08", "0_1",
	"apiVersion: v1", "kind: List", "items:", "metadata: {}", "kind: Kustomization", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization",
	"\xef\xbb\xbfa", strings.Repeat("x", 1100), strings.Repeat("a b ", 400), strings.Repeat("é", 700), strings.Repeat("a", 70000),
	"$(cat /etc/passwd)", "../../x", "sops", "ENC[AES256_GCM,data:x,type:str]", "https://example.com/x?ref=main", "github.com/example/x", "a\u2028b", "a\\u0085b",
}, invisible...)

// annotationKeys are obeyed by a reader, removed by it, or of another type for YAML.
var annotationKeys = []string{
	"internal.config.kubernetes.io/needsHashSuffix", "internal.config.kubernetes.io/previousNames", "internal.config.kubernetes.io/previousNamespaces",
	"internal.config.kubernetes.io/previousKinds", "internal.config.kubernetes.io/prefixes", "internal.config.kubernetes.io/suffixes",
	"internal.config.kubernetes.io/generatorBehavior", "internal.config.kubernetes.io/allowNameChange", "internal.config.kubernetes.io/allowKindChange",
	"internal.config.kubernetes.io/refBy", "internal.config.kubernetes.io/index", "internal.config.kubernetes.io/path", "internal.config.kubernetes.io/seqindent",
	"internal.config.kubernetes.io/id", "internal.config.kubernetes.io/mergeAnnotations", "internal.config.kubernetes.io/helm-generated", "internal.config.kubernetes.io/annotations-migration-resource-id",
	"config.kubernetes.io/local-config", "config.kubernetes.io/path", "config.kubernetes.io/index", "config.kubernetes.io/origin", "config.kubernetes.io/function",
	"config.kubernetes.io/depends-on", "config.kubernetes.io/merge-source", "config.kubernetes.io/package", "config.k8s.io/id", "config.k8s.io/function", "config.k8s.io/owning-inventory",
	"alpha.config.kubernetes.io/transformations", "kustomize.config.k8s.io/id", "kustomize.config.k8s.io/needs-hash", "kustomize.config.k8s.io/behavior",
	"kustomize.toolkit.fluxcd.io/substitute", "kustomize.toolkit.fluxcd.io/reconcile", "kustomize.toolkit.fluxcd.io/ssa", "kustomize.toolkit.fluxcd.io/checksum",
	"kustomize.toolkit.fluxcd.io/decryption", "fluxcd.io/sync-checksum", "kubectl.kubernetes.io/last-applied-configuration",
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/sync-options", "argocd.argoproj.io/hook", "argocd.argoproj.io/skip", "helm.sh/hook", "helm.sh/resource-policy",
	"cli-utils.sigs.k8s.io/on-remove", "client.lifecycle.config.k8s.io/deletion", "configmanagement.gke.io/managed", "applyset.kubernetes.io/part-of",
	"1", "1.5", "01", "0x1", "1e3", "2001-01-01", "2001-01-01T00:00:00Z", "true", "yes", "on", "y", "n", "no", "null", "Null", "nan", "1_000", "0", "0o7", "1-2", "inf", "12e03", "0b11", "false", "OFF",
	"<<", "=", "~", ".inf", "-1", "a/b", "example.com/a", "example.com/1", "example.com/true", "kustomize.config.k8s.io/behavior ", "x" + strings.Repeat("y", 62),
	strings.Repeat("a", 1100), strings.Repeat("a", 240) + ".example.com/" + strings.Repeat("b", 63), "a b", "a:b", "#a", "", "ключ", "a\u0085b", "a\u007fb", "\U0001f600", "a\nb",
}

var annotationValues = []string{
	"enabled", "disabled", "true", "false", "view", "default", "ClusterRole", "ClusterRole,Role", "view,edit", "ops", "1", "0", "x", "", "a,b", "Skip", "../x.yaml", "wide", "compact",
	"pre-install", "Prune=false", "merge", "replace", "create", "team-a", "w", "x:/Namespace:/team-a", "{}",
}

// names of namespaces, tenants and objects that mean something to a reader or a file system.
var names = []string{
	"kustomization", "kustomization.yaml", "cloudbuild", "cloudbuild.yaml", "appveyor", "codeship-services", "codeship-steps", "chart", "values", "con", "nul", "aux", "prn", "com1", "lpt1", "git", "x.git",
	"x.jpg", "x.zip", "x.tar.gz", "x.png", "sourceignore", "default", "kube-system", "argocd", "flux-system", "cluster", "namespaces", "list", "items", "null", "true", "yes", "on", "y", "n", "no", "0", "1", "01", "1e3", "0x1f",
	"2001-01-01", "1-2-3", "12e03", "0b11", "0o7", "1.5", "node-modules", "readme", "makefile", "x.original", "component", "tools", "github", "circleci", "travis", "drone", "gitlab-ci", "goreleaser", "sops", "flux", "krmfile", "kptfile",
	strings.Repeat("a", 63), "a" + strings.Repeat("-", 61) + "b", "xn--a", "inf", "nan", "false", "off",
}

// bindingNames may have what a name of RBAC may have.
var bindingNames = []string{
	"dev__view", "a_b", "a_b_c", "a:_b", "__", "a:b", "system:x", "a:b__c", "_a", "a__", ":", "a%2f", "A", "Kustomization", "a b", "a/b", "..", ".", "a\u0085", "a\u007fb", "é", "\U0001f600", "dev___view", "x_rbac.authorization.k8s.io_Role",
	"a\\b", "CON", "nul", "-a", "1", "true", "null", "2001-01-01", strings.Repeat("b", 253), strings.Repeat("b", 260), "*", "a,b", "'", "\"", "#", "a: b", "+argocd:skip-file-rendering", "${X}",
}

// kinds are names of kinds that are paths, or that a reader takes for itself.
var kinds = []string{
	"Kustomization", "kustomization", "KUSTOMIZATION", "Component", "List", "FooList", "ConfigMapList", "list", "ResourceList", "Foolist", "PatchTransformer", "HelmChartInflationGenerator", "Chart", "Values",
	"../../../x", "../../../../../../x", "a/b", "/x", "a b", "a\nb", "a\u202eb", "", "foo", "FOO", "Foo_", "1Foo", "Foo.Bar", "Cloudbuild", "Foo\u0085", "Con", "Nul", "Aux", "Prn", "Com1", ".Github", "Foo.", "FÖÖ",
	strings.Repeat("K", 63), strings.Repeat("K", 64), strings.Repeat("K", 240), "True", "Null", "On", "Krmfile", "Kptfile", "ResourceGroup", "Endpoints", "EndpointSlice", "Lease", "Event", "Appveyor", "Cloudbuild.yaml", "Foo.jpg",
}

var versions = []string{
	"kustomize.config.k8s.io/v1beta1", "kustomize.config.k8s.io/v1", "kustomize.config.k8s.io/v1alpha1", "config.kubernetes.io/v1", "config.kubernetes.io/v1alpha1", "config.k8s.io/v1alpha1", "kustomize.toolkit.fluxcd.io/v1",
	"builtin", "builtin/v1", "v1", "example.com/v1", "example.com", "example.com/", "/v1", "a/b/c", "example.com/v1/", "", "../x/v1", "discovery.k8s.io/v1", "coordination.k8s.io/v1", "metrics.k8s.io/v1", "events.k8s.io/v1",
	"authorization.k8s.io/v1", "cilium.io/v2", "kyverno.io/v1", "kpt.dev/v1", "viaduct.ai/v1", "example.com/V1", "example.com/1", "EXAMPLE.com/v1", "example.com/v1\u0085", "cert-manager.io/v1", "wgpolicyk8s.io/v1alpha2",
	"kustomize.config.k8s.io.example.com/v1", "helm.toolkit.fluxcd.io/v2", "batch/v1", "apps/v1",
}

// fileNames are names of files that a reader opens or obeys.
var fileNames = []string{
	"kustomization.yaml", "kustomization.yml", "Kustomization", "kustomization.YAML", "Kustomization.yaml", "KUSTOMIZATION", "Chart.yaml", "MyChart.yaml", "chart.yaml", "values.yaml", ".argocd-source.yaml", ".argocd-source-w.yaml", ".sourceignore",
	".gitignore", ".gitattributes", ".gitmodules", ".sops.yaml", ".flux.yaml", ".goreleaser.yml", "x.json", "x.yml", "x.YAML", "x.jsonnet", "x.libsonnet", "x.yaml.bak", ".x.yaml", ".hidden/x.yaml", "x", "README.md", "x.yaml.tmpl", "x.yaml~", "x.txt", "x.toml",
	"cloudbuild.yaml", "appveyor.yml", ".github/x.yaml", ".circleci/x.yaml", "x.jpg", "x.zip", "x.tar.gz", "x.jpg/x.yaml", "codeship-steps.yml", "namespaces/kustomization.yaml", "cluster/kustomization.yaml", "cluster/.sourceignore",
	"namespaces/.argocd-source.yaml", "namespaces/Chart.yaml", "helmfile.yaml", "skaffold.yaml", "config.yaml", "Krmfile", "Kptfile", "sub/x.yaml", "sub/kustomization.yaml", "a b.yaml", "x.yaml ", "x\u0085.yaml", "é.yaml", "kustomization.yaml/x.yaml",
	".argocd-helm-dep-up", "x.cue", "resourcegroup.yaml", "con.yaml", "nul", "x.yaml.", "-x.yaml", "x.Json", "X.Yml",
}

// deliveryNames are places of `spec.delivery` with a text.
var folderNames = []string{
	"out", "manifests", "deploy", "x.zip", "x.jpg", ".github", ".circleci", ".git", "cloudbuild.yaml", "kustomization.yaml", "Kustomization", ".out", "a/b", "../x", "/proc/x", "out.yaml", "con", "nul", "x.tar.gz", "Chart.yaml", ".", "", "policies", "a b", "é", "x.", "out\u0085", "Out",
	".gitignore", ".sops.yaml", ".travis.yml", "appveyor.yml", ".drone.yml", ".goreleaser.yml", "-x", "$X", "policies/m", "templates", ".bailiwick-staging", "*", "a,b", "#x", "node_modules",
}

var targetNames = []string{
	"production", "staging", "x.zip", "x.jpg", "x.tar.gz", ".github", "github", "cloudbuild.yaml", "kustomization.yaml", "kustomization", "con", "nul", "con.x", "git", ".git", "chart.yaml", "0", "1", "true", "a.b", "prod.gif", "travis.yml", "x.wmv", "appveyor.yml", "cluster", "namespaces", "argocd", "flux", "null",
}

// keys of data and of custom fields.
var keys = []bare{
	`"<<"`, `<<`, `"` + bare(strings.Repeat("k", 1100)) + `"`, `"` + bare(strings.Repeat("k", 1000)) + `"`, `"` + bare(strings.Repeat("k", 1022)) + `"`, `"` + bare(strings.Repeat("k", 1030)) + `"`, `"` + bare(strings.Repeat("é", 600)) + `"`,
	`"1"`, `1`, `1.5`, `"true"`, `true`, `yes`, `"yes"`, `null`, `~`, `"null"`, `2001-01-01`, `"2001-01-01"`, `""`, `"a\x85b"`, `"\x85\x85"`, `"\x7f"`, `"a b"`, `"a\nb"`, `"\ufffe"`, `"\U0001f600"`, `"items"`, `"kind"`, `"="`, `=`, `"*"`, `"a: b"`, `"#"`, `"- a"`, `"a\u2028b"`,
	`"$patch"`, `"$setElementOrder/a"`, `"$retainKeys"`, `"sops"`, `".a"`, `"a.yaml"`, `"\ta"`, `"\ta\nb"`, `" a"`, `"a "`, `"---"`, `"?"`, `"1e3"`, `"0x1F"`, `"${X}"`, `"+argocd:skip-file-rendering"`, `"\""`, `"\\"`, `"'"`,
}

// values of custom fields, as they are written.
var values = []bare{
	`null`, `[null]`, `[a, null]`, `{a: null}`, `{}`, `[]`, `[[]]`, `[{}]`, `1.0`, `1e3`, `0.1`, `1e21`, `1.5e300`, `-0`, `-0.0`, `9007199254740993`, `9223372036854775807`, `9223372036854775808`, `18446744073709551615`, `18446744073709551616`, `0x1F`, `017`, `0o17`, `1_000`,
	`.inf`, `.nan`, `~`, `yes`, `on`, `2001-01-01`, `2001-01-01T00:00:00Z`, `1:30`, `0b11`, `!!binary aGk=`, `!!str 1`, `!!set {a}`, `!foo a`, `{<<: {a: b}}`, `[&a x, *a]`, `{a: &b {c: d}, e: *b}`, `"a\x85\x85b"`, `"\x7f"`, `"\ufffe"`, `"\U0001f600"`, `"\ta\nb"`, `"a\rb"`,
	`{"$patch": delete}`, `{"$patch": replace}`, `[{"$patch": delete, name: a}]`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, `[[null]]`, `{a: [null]}`, `{a: [{b: [null]}]}`, `[true, 1, a, null, {}]`, `1e400`, `123456789012345678901234567890`, `0.1000000000000000055`,
	`"2001-01-01"`, `"1_000"`, `"0o7"`, `"1e3"`, `"="`, `"<<"`, `"~"`, `"y"`, `"N"`, `"0b1"`, `"1:30"`, `".inf"`, `"+1"`, `".5"`, `"0x"`, `"_1"`, `"-"`, `"-.5"`, `"1."`, `"+.inf"`, `"0.0.0"`, `"1,000"`,
}

// items of an object.
var items = []bare{
	`[{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: hidden}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]}]`,
	`null`, `[]`, `[a, b]`, `{}`, `a`, `1`, `[null]`, `[{}]`, `[{metadata: {name: a}}]`, `[{kind: ConfigMap, metadata: {name: a}}]`, `[{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}]}]`, `[[]]`, `{a: b}`, `false`, `""`, `~`,
	`[{apiVersion: v1, kind: Namespace, metadata: {name: hidden}}]`, `[{apiVersion: v1, kind: ConfigMap, metadata: {name: hidden, namespace: team-a}}, x]`,
}
