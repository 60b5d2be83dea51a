package worlds

import (
	"math/rand/v2"
	"net/url"
	"strings"
)

// pathParts are put together in any order and number.
var pathParts = []string{
	"api", "api", "apis", "apis", "v1", "v1", "apps", "namespaces", "namespaces", "n1", "pods", "deployments", "x", "log", "status", "finalize", "watch", "proxy",
	"", ".", "..", "%20", "%2F", "%2e", "%", "ü", "a b", "*", ";", ":", "@", "+", "&", "=", "\\", "\"", "|", "^", "{}", "[::1]", "~", "%C3%28", "%00", "%ff",
}

// anyPath is a path of any parts; it more often begins as one to a resource does.
func anyPath(random *rand.Rand) string {
	path := pick(random, []string{"/", "/", "/api/v1/", "/api/v1/", "/apis/apps/v1/", "/api/v1/namespaces/n1/"})
	return path + strings.Join(some(random, pathParts, 0, 5), "/")
}

// selectorParts make field and label selectors, most of them broken.
var selectorParts = []string{
	"metadata.name", "metadata.name", "metadata.namespace", "a", "example.com/a", "x", "x", "y", "=", "=", "==", "!=", "!", ",", ",", "\\", "\\,", "\\=", "\\\\", " ", "\t",
	"in", " in ", "notin", "(", ")", "(a,b)", "()", "(a,)", ">", "<", "1", "*", "/", "%", ".", "..", "-", "_", "ü", "&", ";", "\"", "'", "exists", "a/b/c", ",,", "===",
}

func anySelector(random *rand.Rand) string {
	begin := pick(random, []string{"metadata.name=x", "metadata.name=", "a=b", "a", "", ""})
	return begin + strings.Join(some(random, selectorParts, 0, 4), "")
}

// parameters are those of list requests; what cannot be read as its type makes the server forget the others.
var parameters = []string{
	"watch", "watch", "limit", "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents", "resourceVersion", "resourceVersionMatch", "continue", "shardSelector",
	"Limit", "WATCH", "kind", "apiVersion", "pretty", "x",
}

var parameterValues = []string{
	"", "0", "1", "1", "true", "true", "false", "False", "TRUE", "T", "yes", "x", "-1", " 1", "1 ", "+1", "1.0", "1e1", "0x1", "0b1", "1_0", "00", "-0",
	"9223372036854775807", "9223372036854775808", "ü", "NotOlderThan", "null", "\x00", "１",
}

func anyQuery(random *rand.Rand) string {
	var query []string
	for range 1 + random.IntN(3) {
		var name, value string
		switch random.IntN(4) {
		case 0, 1:
			name, value = "fieldSelector", anySelector(random)
		case 2:
			name, value = "labelSelector", anySelector(random)
		default:
			name, value = pick(random, parameters), pick(random, parameterValues)
		}
		part := name + "=" + url.QueryEscape(value)
		switch random.IntN(12) {
		case 0:
			// As somebody types it who does not escape; a space would end the request line.
			if !strings.ContainsAny(value, " \t\x00") {
				part = name + "=" + value
			}
		case 1:
			part = name
		case 2:
			part += pick(random, []string{"=", ";", "%", "%zz", "&", "+"})
		}
		query = append(query, part)
	}
	return strings.Join(query, "&")
}
