package worlds

import (
	"math/rand/v2"
	"strings"
)

// words is the vocabulary of one world. It is small, so that what is asked for often meets what is granted, and a
// word that stands in a list twice comes up twice as often.
type words struct {
	users, accounts, groups              []string
	namespaces, roles, names             []string
	verbs, apiGroups, resources, objects []string
	subresources, urls, paths, urlVerbs  []string
}

// plain has what clusters are made of.
var plain = words{
	users:        []string{"alice", "alice", "bob", "system:anonymous", "system:serviceaccount:n1:sa", "system:serviceaccount:n2:sa"},
	accounts:     []string{"sa", "sa", "sb"},
	groups:       []string{"devs", "devs", "ops", "system:authenticated", "system:serviceaccounts", "system:serviceaccounts:n1", "system:unauthenticated"},
	namespaces:   []string{"n1", "n1", "n2", "kube-system"},
	roles:        []string{"a", "b", "c", "d"},
	names:        []string{"x", "x", "y", ""},
	verbs:        []string{"get", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*", "use", "bind", "escalate", "impersonate"},
	apiGroups:    []string{"", "", "apps", "*", "rbac.authorization.k8s.io"},
	resources:    []string{"pods", "pods", "pods/log", "deployments", "deployments/scale", "secrets", "nodes", "*", "*/log", "*/scale", "namespaces", "roles", "clusterroles", "rolebindings", "clusterrolebindings"},
	objects:      []string{"pods", "pods", "deployments", "secrets", "nodes", "namespaces", "roles", "clusterroles", "rolebindings"},
	subresources: []string{"", "", "", "log", "scale", "status"},
	urls:         []string{"/", "*", "/metrics", "/met*", "/healthz", "/healthz/*", "/api", "/api/*", "/version"},
	paths:        []string{"/", "/metrics", "/metrics/a", "/healthz", "/healthz/", "/healthz/ping", "/api", "/api/v1", "/version", "/version/"},
	urlVerbs:     []string{"get", "get", "post", "*", "head"},
}

// odd has what is allowed, or at least not refused early enough, and easily read wrong.
var odd = words{
	users: []string{"Alice", "*", "", "ÜSER", "üser", "alice ", "system:serviceaccount:n1:sb", "system:serviceaccount:n1", "system:serviceaccount:n1:sa:x",
		"system:serviceaccount::sa", "system:serviceaccounts:n1:sa", "system:node:x", "CN=Ann/x%", "a\"b\\c", "日本"},
	accounts:   []string{"sa", "sa.b", "SA", "sa:x", "*"},
	groups:     []string{"Devs", "*", "", "üsers", "system:masters", "system:serviceaccounts:n2", "system:serviceaccounts:", "system:nodes"},
	namespaces: []string{"N1", "n1.x", "*"},
	roles:      []string{"A", "a:b", "system:a", "ä", "a b", "*", "view", "cluster-admin"},
	names:      []string{"*", "X", "ü", "x*", "x y", "..", "a:b", "a/b", "日本", "system:a"},
	verbs:      []string{"GET", "", "get*", "*get", " get", "impersonate:user-info", "impersonate-on:user-info:get", "proxy", "sign", "**", "Ü"},
	apiGroups:  []string{"Apps", "apps*", "*.k8s.io", "core", "v1", "**", "extensions", "policy"},
	resources: []string{"pods/*", "*/*", "**", "", "/", "/log", "pods/", "*/", "Pods", "pods*", "*pods", "pod*", "pods/log/x", "*/log/x", "*/LOG", "deployments/*",
		"*/status", "*/exec", "log", "pods/exec", "serviceaccounts/token", "*//log", "ü"},
	objects:      []string{"", "*", "Pods", "pods/log", "pods/log/x", "pods/*", "*/log", "pod", "ü", "/", "log"},
	subresources: []string{"*", "LOG", "log/x", "exec", "token", "/", "ü", "x"},
	urls: []string{"", "**", "/**", "/met**", "/met**", "/*/ping", "/healthz/*/x", "*/ping", "metrics", "/Metrics", "/healthz*", "/healthz/**", "/met*rics*", "//", "/a b", "/ü*",
		"/a%20b", "/api/v1/namespaces/n1/pods", "/metrics?x", "\\*", "/*"},
	paths: []string{"", "metrics", "/Metrics", "//", "//metrics", "/met*", "/met", "/healthz/a/x", "/healthz/*/x", "/a b", "/üx", "/*", "*", "/**", "/met*ricsx",
		"/a%20b", "/ping", "/api/v1/namespaces/n1/pods"},
	urlVerbs: []string{"GET", "", "list", "watch", "put", "delete", "options", "Ü"},
}

// vocabulary mixes the odd words in, in some worlds only: among odd words hardly anything fits, and then only the
// refusals would be compared.
func vocabulary(random *rand.Rand) words {
	if random.IntN(5) < 2 {
		return plain
	}
	share := 2 + random.IntN(5)
	mix := func(plain, odd []string) []string {
		mixed := append([]string(nil), plain...)
		for count := 0; count < share && count < len(odd); count++ {
			mixed = append(mixed, pick(random, odd))
		}
		return mixed
	}
	return words{
		users: mix(plain.users, odd.users), accounts: mix(plain.accounts, odd.accounts), groups: mix(plain.groups, odd.groups),
		namespaces: mix(plain.namespaces, odd.namespaces[:min(len(odd.namespaces), 1+random.IntN(3))]), roles: mix(plain.roles, odd.roles),
		names: mix(plain.names, odd.names), verbs: mix(plain.verbs, odd.verbs), apiGroups: mix(plain.apiGroups, odd.apiGroups),
		resources: mix(plain.resources, odd.resources), objects: mix(plain.objects, odd.objects), subresources: mix(plain.subresources, odd.subresources),
		urls: mix(plain.urls, odd.urls), paths: mix(plain.paths, odd.paths), urlVerbs: mix(plain.urlVerbs, odd.urlVerbs),
	}
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// some picks between least and most words, each at most once in most cases.
func some(random *rand.Rand, list []string, least, most int) []string {
	var picked []string
	for count := least + random.IntN(most-least+1); len(picked) < count; {
		picked = append(picked, pick(random, list))
	}
	return picked
}

// chance is true once in so many times.
func chance(random *rand.Rand, once int) bool { return random.IntN(once) == 0 }

// valid tells whether a server would take the name for an object of RBAC.
func valid(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/%")
}
