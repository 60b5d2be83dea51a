package cases

import "strings"

// images are references of packages, good ones and others.
var images = []string{
	"xpkg.example.org/upbound/provider-aws-s3:v1", "xpkg.example.org/upbound/provider-family-aws:v1.2", "xpkg.example.org/evil/provider-aws-x:v1",
	"index.docker.io/upbound/p:v1", "docker.io/upbound/p", "upbound/p:v1", "upbound/deep/path", "index.docker.io/p:v1", "docker.io/p", "p:v1", "p",
	"library/p", "index.docker.io/library/p", "localhost:5000/upbound/p", "localhost/upbound/p", "xpkg.example.org:443/upbound/p", "xpkg.example.org/p",
	"xpkg.example.org/upbound/p@sha256:" + digest, "xpkg.example.org/upbound/p:v1@sha256:" + digest, "xpkg.example.org/upbound/p@sha256:abc",
	"xpkg.example.org/upbound/p@sha512:" + digest, "XPKG.example.org/upbound/p", "xpkg.example.org/Upbound/p", "xpkg.example.org//p", "xpkg.example.org/upbound/",
	"xpkg.example.org/upbound", "xpkg.example.org/", "xpkg.example.org", "https://xpkg.example.org/upbound/p", "[::1]:5000/upbound/p", "::bad", "", " ", "a", "ab",
	"upbound/p:a tag", "upbound/p:" + strings.Repeat("v", 128), "upbound/p:" + strings.Repeat("v", 129), "upbound/" + strings.Repeat("p", 250), "upbound/p:", "upbound/p@",
	"10.0.0.1/upbound/p", "registry.example.org/upbound/p:v1", "a:b/c:d", "upbound/p:v1:v2", "up_bound/p__q.r-s", "upbound/p~q", "x.io:99999/upbound/p", "x.io:port/upbound/p",
	"xpkg.example.org./upbound/p", "ex ample.io/upbound/p", "user@x.io/upbound/p", "x.io/upbound/p?q=1", "x.io/upbound/p#f", "ex%41mple.io/upbound/p", "é.io/upbound/p",
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// likely are references that belong together.
var likely = images[:12]

func (s source) image() string {
	if s.chance(70) {
		return pick(s, likely...)
	}
	return pick(s, images...)
}

// relative is a reference like another one.
func (s source) relative(image string) string {
	for range 1 + s.IntN(2) {
		registry, rest, _ := strings.Cut(image, "/")
		switch s.IntN(8) {
		case 0:
			image = strings.Replace(image, "upbound", "evil", 1)
		case 1:
			image = rest
		case 2:
			image = pick(s, "docker.io/", "index.docker.io/", "localhost/", "localhost:5000/", "library/", "registry.example.org:5000/", "/") + image
		case 3:
			image = registry + "/library/" + rest
		case 4:
			image += pick(s, ":", ":v2", "/deeper", "@sha256:"+digest, "@sha256:"+strings.ToUpper(digest), "@", ":v2@sha256:"+digest, "//")
		case 5:
			image = strings.ToUpper(image)
		case 6:
			image, _, _ = strings.Cut(image, ":")
		}
	}
	return image
}

func (s source) family() Object {
	question := Object{"a": s.image(), "b": s.image()}
	if s.chance(60) {
		question["b"] = s.relative(question["a"].(string))
	}
	if s.chance(40) {
		question["defaultRegistry"] = pick(s, "index.docker.io", "xpkg.example.org", "docker.io", "registry.example.org:5000")
	}
	return question
}

func (s source) provider() Object {
	revision := pick(s, "rbac-manager-v2.3", "rbac-manager-v1.14")
	question := Object{
		"revision": revision, "providerRevision": pick(s, "provider-gcp-abc123", "p-1", "y", s.name(63)), "package": s.image(), "crds": s.crds(18, 30),
	}
	if s.chance(40) {
		question["family"] = several(s, 3, func() any { return Object{"package": s.image(), "crds": s.crds(6, 30)} })
	}
	if s.chance(40) {
		question["serviceAccounts"] = several(s, 3, func() any {
			return Object{"namespace": pick(s, "crossplane-system", "upbound-system"), "name": s.name(63)}
		})
	}
	if revision == "rbac-manager-v2.3" && s.chance(50) {
		question["capabilities"] = several(s, 2, func() any {
			return pick(s, "safe-start", "safe-start", "SafeStart", "safe_start", "SAFE start!", "safe-starts", "unsafe-start", "", "y", "sáfe-start", "safe-starté")
		})
	}
	if revision == "rbac-manager-v1.14" && s.chance(60) {
		question["permissionRequests"] = s.rules(2)
		question["allowedPermissions"] = s.rules(5)
		if s.chance(40) {
			question["allowedPermissions"] = append(s.rules(2), question["permissionRequests"].([]any)...)
		}
		if s.chance(15) {
			delete(question, "allowedPermissions")
		}
	}
	return question
}

func (s source) composite() Object {
	group, kind := pick(s, groups...), pick(s, kinds...)
	xrd := Object{"name": "x" + kind[1] + "." + group, "group": group, "plural": "x" + kind[1]}
	if s.chance(60) {
		xrd["claimPlural"] = kind[1]
	}
	return Object{"revision": pick(s, "rbac-manager-v2.3", "rbac-manager-v1.14"), "xrd": xrd}
}

// rules are rules that often cover each other.
func (s source) rules(most int) []any { return several(s, most, s.rule) }

func (s source) rule() Object {
	if s.chance(15) {
		return s.pathRule()
	}
	rule := Object{
		"apiGroups": s.few(1, "", "*", "*", "a.example.org", "apps", "security.openshift.io"),
		"resources": s.few(1, "*", "*", "pods", "pods/status", "*/status", "things", "things/*"), "verbs": s.verbs(),
	}
	if s.chance(20) {
		rule["resourceNames"] = s.few(0, "a", "b", "*", "")
	}
	if s.chance(3) {
		rule["nonResourceURLs"] = s.few(1, "/metrics", "*")
	}
	if s.chance(3) {
		delete(rule, pick(s, "apiGroups", "resources", "verbs"))
	}
	return rule
}

// pathRule is a rule about paths, whose stars Crossplane does not understand.
func (s source) pathRule() Object {
	return Object{"nonResourceURLs": s.few(1, "/apis/*", "/apis/*", "/apis/a.io", "/apis/a.io", "/metrics", "*"), "verbs": s.verbs()}
}

// smallRule is a rule about one thing, which another one like it covers often, or nearly.
func (s source) smallRule() Object {
	rule := Object{"verbs": []any{pick(s, "get", "*")}}
	if s.chance(40) {
		rule["nonResourceURLs"] = []any{pick(s, "/apis/*", "/apis/a.io", "*")}
		return rule
	}
	rule["apiGroups"] = []any{pick(s, "a.example.org", "*")}
	rule["resources"] = []any{pick(s, "pods", "pods/status", "*/status", "*")}
	if s.chance(30) {
		rule["resourceNames"] = []any{pick(s, "a", "b", "*")}
	}
	return rule
}

func (s source) verbs() []any {
	if s.chance(3) {
		return []any{}
	}
	return s.few(1, "*", "*", "get", "list", "create", "use")
}

// few takes up to two of some values.
func (s source) few(least int, values ...string) []any {
	list := []any{}
	for range least + s.IntN(3-least) {
		list = append(list, pick(s, values...))
	}
	return list
}
