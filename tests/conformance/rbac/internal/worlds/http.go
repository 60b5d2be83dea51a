package worlds

import (
	"net/url"
	"strings"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// methods by verb. What has no method of its own gets any.
var methods = map[string][]string{
	"get": {"GET", "GET", "HEAD"}, "list": {"GET"}, "watch": {"GET"}, "create": {"POST"}, "update": {"PUT"}, "patch": {"PATCH"},
	"delete": {"DELETE"}, "deletecollection": {"DELETE"}, "proxy": {"GET"},
}

var anyMethod = []string{"GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", "Get", "post", "FOO", "CONNECT"}

// queries ask for watches and names in every way that somebody may have tried.
var queries = []string{
	"watch=true", "watch=true", "watch=1", "watch", "watch=", "watch=0", "watch=false", "watch=FALSE", "watch=False", "watch=no", "watch=yes", "watch=00",
	"watch=true&watch=false", "watch=false&watch=true", "watch=&watch=false", "Watch=true", "%77atch=true", "watch=%74rue", "watch=%zz", "watch;x", "watch=true;y=1",
	"x=1&watch=true", "watch=true&x", "&&watch=true", "watch=tr+ue", "watch=+false", "watch=false%20",
	"fieldSelector=metadata.name%3Dx", "fieldSelector=metadata.name%3Dx", "fieldSelector=metadata.name=x", "fieldSelector=metadata.name%3D%3Dx",
	"fieldSelector=metadata.name==x", "fieldSelector=metadata.name!%3Dx", "fieldSelector=metadata.name%3Dx,metadata.namespace%3Dn1",
	"fieldSelector=metadata.namespace%3Dn1,metadata.name%3Dx", "fieldSelector=metadata.name%3Dx,metadata.name%3Dy", "fieldSelector=metadata.name%3Dx,metadata.name%3Dx",
	"fieldSelector=metadata.name%3D", "fieldSelector=metadata.name", "fieldSelector=%3Dx", "fieldSelector=", "fieldSelector=,", "fieldSelector=metadata.name%3Dx,",
	"fieldSelector=metadata.name%3Da/b", "fieldSelector=metadata.name%3D..", "fieldSelector=metadata.name%3D.", "fieldSelector=metadata.name%3Da%2525",
	"fieldSelector=metadata.name%3Dx%5C,y", "fieldSelector=metadata.name%3Dx%5C%3Dy", "fieldSelector=metadata.name%3Dx%5Cz", "fieldSelector=metadata.name%3Dx%5C",
	"fieldSelector=metadata.name%3D%20x", "fieldSelector=metadata.name+%3D+x", "fieldSelector=metadata.name%3Dx%20", "fieldSelector=%20metadata.name%3Dx",
	"fieldSelector=metadata.name%3D*", "fieldSelector=metadata.name%3D%C3%BC", "fieldSelector=metadata.name%3Dx%3Dy", "fieldSelector=metadata.name%3Dx!%3Dy",
	"fieldSelector=spec.nodeName%3Dx", "fieldSelector=Metadata.Name%3Dx", "fieldSelector=metadata.name%3Dx&fieldSelector=metadata.name%3Dy",
	"fieldSelector=metadata.name%3Dy&fieldSelector=metadata.name%3Dx", "fieldSelector=&fieldSelector=metadata.name%3Dx", "FieldSelector=metadata.name%3Dx",
	"fieldSelector=metadata.name%3Dx&watch=true", "watch=1&fieldSelector=metadata.name%3Dx", "fieldSelector=((", "fieldSelector=metadata.name%3Dx,foo",
	"labelSelector=a%3Db", "labelSelector=((", "labelSelector=((&watch=true", "labelSelector=a%20in%20(b)&fieldSelector=metadata.name%3Dx",
	"limit=1", "limit=abc", "limit=abc&watch=true", "limit=abc&watch=0", "limit=abc&watch", "limit=abc&fieldSelector=metadata.name%3Dx", "limit=&watch=true",
	"limit=1e3&watch=1", "limit=99999999999999999999&watch=1&fieldSelector=metadata.name%3Dx", "limit=-1&fieldSelector=metadata.name%3Dx", "limit=+1&fieldSelector=metadata.name%3Dx",
	"limit=0x1&fieldSelector=metadata.name%3Dx", "limit=1&limit=x&fieldSelector=metadata.name%3Dx",
	"timeoutSeconds=x&fieldSelector=metadata.name%3Dx", "timeoutSeconds=&fieldSelector=metadata.name%3Dx", "timeoutSeconds=5&watch=true",
	"allowWatchBookmarks=maybe&fieldSelector=metadata.name%3Dx", "sendInitialEvents=maybe&fieldSelector=metadata.name%3Dx", "sendInitialEvents=&fieldSelector=metadata.name%3Dx",
	"resourceVersion=x&fieldSelector=metadata.name%3Dx", "resourceVersionMatch=x&fieldSelector=metadata.name%3Dx", "continue=x&fieldSelector=metadata.name%3Dx",
	"pretty=1", "dryRun=All", "fieldManager=x&force=true", "shardSelector=x&fieldSelector=metadata.name%3Dx",
}

// oddURLs are whole URLs that fit no grammar, or only just.
var oddURLs = []string{
	"/", "//", "/api", "/api/", "/api/v1", "/api/v1/", "/api/v1//", "/apis", "/apis/apps", "/apis/apps/v1", "/apis/apps/v1/", "/apis//v1/pods", "/api//v1/pods", "/api//pods",
	"//api/v1/pods", "/api/v1/pods/", "/api/v1/pods//", "/api/v1/pods//log", "/api/v1//pods", "/api/v1/pods/x/", "/api/v1/pods/x//", "/api/v1/pods/x/log/y/z",
	"/api/v1/namespaces", "/api/v1/namespaces/", "/api/v1/namespaces/n1", "/api/v1/namespaces/n1/", "/api/v1/namespaces/n1/status", "/api/v1/namespaces/n1/finalize",
	"/api/v1/namespaces/n1/finalize/x", "/api/v1/namespaces/n1/status/x/y", "/api/v1/namespaces/n1/Status", "/api/v1/namespaces//pods", "/api/v1/namespaces//pods/x",
	"/api/v1/namespaces/n1//x", "/api/v1/namespaces/n1/namespaces/x", "/api/v1/namespaces/n1/pods/x/status", "/apis/apps/v1/namespaces/n1", "/apis/apps/v1/namespaces/n1/status",
	"/api/v1/watch", "/api/v1/watch/", "/api/v1/watch/pods", "/api/v1/watch/pods/x", "/api/v1/watch/namespaces", "/api/v1/watch/namespaces/n1", "/api/v1/watch/namespaces/n1/pods",
	"/api/v1/watch/namespaces/n1/pods/x/log", "/api/v1/watch/watch/pods", "/apis/apps/v1/watch/deployments", "/apis/apps/v1/watch", "/api/v1/pods/watch", "/api/v1/Watch/pods",
	"/api/v1/proxy", "/api/v1/proxy/nodes/x", "/api/v1/proxy/nodes/x/metrics", "/api/v1/proxy/namespaces/n1/pods/x/log", "/api/v1/proxy/namespaces/n1", "/api/v1/nodes/x/proxy/metrics",
	"/api/v1/proxy/namespaces/n1/status", "/apis/apps/v1/proxy/deployments/x/scale", "/api/watch/pods", "/api/proxy/pods/x",
	"/API/v1/pods", "/api/v1/Pods", "/api/v2/pods", "/apis/Apps/v1/deployments", "/apis/apps/v1/deployments/x/scale", "/api/v1/pods/%2e%2e", "/api/v1/pods/..", "/api/v1/pods/./x",
	"/api/v1/pods%2Fx", "/api%2Fv1/pods", "/%61pi/v1/pods", "/api/v1/pods/x%20y", "/api/v1/pods/x+y", "/api/v1/pods/%C3%BC", "/api/v1/pods/ü", "/api/v1/pods/%zz", "/api/v1/pods/x%",
	"/api/v1/pods#x", "/api/v1/pods?", "/api/v1/pods??watch=1", "/api/v1/pods;x=1", "/api/v1/pods/x?watch=true", "/api/v1/pods%3Fwatch=true", "/api/v1/pods?watch=1#x",
	"/metrics", "/metrics/", "/metrics?x=1", "/metrics#x", "/met%72ics", "/metrics%20", "/healthz/ping", "/healthz/../metrics", "/healthz//ping", "/ü", "/%C3%BC", "/a b", "/%",
	"//server/metrics", "/?watch=1", "/*?watch=1",
	"/api/v1/namespaces/*/pods", "/api/v1/*", "/api/v1/pods/*", "/openapi/v3/apis/apps/v1", "/apis/apps/v1/namespaces/n1/deployments/x", "/version", "/.well-known/openid-configuration",
}

// http writes an action as a request line; a part of them is spoiled.
func (w *world) http(action *protocol.Action) string {
	r := w.random
	method, known := methods[action.Verb]
	if !known || chance(r, 12) {
		method = anyMethod
	}
	line := pick(r, method) + " "
	switch {
	case chance(r, 8):
		line += pick(r, oddURLs)
	case chance(r, 10):
		line += anyPath(r)
	case action.Path == nil:
		line += w.url(action)
	case strings.HasPrefix(*action.Path, "/"):
		line += escape(*action.Path)
	default:
		// Only proxies and servers as a whole are asked for anything else than a path from the root.
		line += "/" + escape(*action.Path)
	}
	collection := action.Verb == "list" || action.Verb == "watch"
	if action.Verb == "watch" && chance(r, 2) && !strings.Contains(line, "?") {
		line += "?watch=true"
	} else if action.Name != "" && collection && chance(r, 4) && !strings.Contains(line, "?") {
		line += "?fieldSelector=metadata.name%3D" + url.QueryEscape(action.Name)
	}
	if chance(r, 6) || collection && chance(r, 2) {
		separator := "?"
		if strings.Contains(line, "?") {
			separator = "&"
		}
		if chance(r, 2) {
			line += separator + pick(r, queries)
		} else {
			line += separator + anyQuery(r)
		}
	}
	return line
}

func (w *world) url(action *protocol.Action) string {
	r := w.random
	parts := []string{"api", "v1"}
	if action.Group != "" {
		parts = []string{"apis", url.PathEscape(action.Group), pick(r, []string{"v1", "v1", "v1beta1", "x"})}
	}
	if chance(r, 30) {
		parts = append(parts, pick(r, []string{"watch", "proxy"}))
	}
	if action.Namespace != "" && !(action.Resource == "namespaces" && action.Name == action.Namespace && chance(r, 2)) {
		parts = append(parts, "namespaces", url.PathEscape(action.Namespace))
	}
	parts = append(parts, url.PathEscape(action.Resource))
	nameless := action.Verb == "list" || action.Verb == "watch" || action.Verb == "create" || action.Verb == "deletecollection"
	if action.Subresource != "" || action.Name != "" && !nameless {
		parts = append(parts, url.PathEscape(action.Name))
	}
	if action.Subresource != "" {
		parts = append(parts, escape(action.Subresource))
	}
	if chance(r, 30) {
		parts = append(parts, pick(r, []string{"", "x", "a/b"}))
	}
	return "/" + strings.Join(parts, "/")
}

// escape keeps the slashes, and in part of the cases the server has to cope with less than a browser sends.
func escape(path string) string { return (&url.URL{Path: path}).EscapedPath() }
