package compare

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"bailiwick.dev/conformance/crossplane/internal/cases"
)

// verdict is what came of one question.
type verdict struct {
	// point is where the sides differ, none if they do not.
	point string
	// count is what the question counts as.
	count string
}

// judge compares the answer of the other side with the real one.
func judge(kind string, body cases.Object, real, ours map[string]any) verdict {
	switch kind {
	case "stack":
		return judgeStack(body, real, ours)
	case "provider":
		return judgeProvider(real, ours)
	case "composite", "namespace-personas":
		return verdict{point: differ(real["objects"], ours["objects"]), count: kind}
	case "truncate":
		return verdict{point: unequal("out", real, ours), count: kind}
	case "provider-family":
		return verdict{point: unequal("sameOrg", real, ours), count: kind}
	case "gate":
		// Compared letter by letter, the rule that everybody has is refused in another order.
		if real["allowed"] == false && ours["allowed"] == true && isCore(body["rule"]) {
			return verdict{count: "gate: the core rule in another order"}
		}
		return verdict{point: unequal("allowed", real, ours), count: kind}
	}
	return verdict{point: unequal("allowed", real, ours), count: kind}
}

func unequal(field string, real, ours map[string]any) string {
	if ours[field] == real[field] {
		return ""
	}
	return fmt.Sprintf("%s: %v and %v", field, real[field], ours[field])
}

func judgeStack(body cases.Object, real, ours map[string]any) verdict {
	codes := codes(ours)
	refused, gated := real["refused"] != nil, real["gated"] != nil
	switch {
	case len(codes) > 0 && (refused || gated):
		return verdict{count: "stack: both refuse"}
	case refused:
		return verdict{point: fmt.Sprintf("only Crossplane refuses: %v", real["refused"])}
	case gated:
		return verdict{point: fmt.Sprintf("only the gate refuses: %v", real["gated"])}
	}
	for _, code := range codes {
		if !isByDesign(code, body) {
			return verdict{point: "only we refuse: " + code}
		}
	}
	if len(codes) > 0 {
		return verdict{count: "stack: refused by design: " + codes[0]}
	}
	return verdict{point: differ(real["objects"], ours["objects"]), count: "stack: equal"}
}

// codes are the reasons to refuse.
func codes(answer map[string]any) []string {
	codes := []string{}
	list, _ := answer["errors"].([]any)
	for _, code := range list {
		codes = append(codes, fmt.Sprint(code))
	}
	if code, ok := answer["error"]; ok && len(codes) == 0 {
		codes = append(codes, fmt.Sprint(code))
	}
	return codes
}

// dependency is what everybody would write. Crossplane takes more.
var dependency = regexp.MustCompile(`^(\*|[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(/[a-z0-9]+)?$`)

// isByDesign is true where we refuse what Crossplane took, and mean it. A reason that does not hold is a fault.
func isByDesign(code string, body cases.Object) bool {
	app, _ := body["app"].(cases.Object)
	switch code {
	case "cluster-scoped-crd":
		return slices.ContainsFunc(list(body["crds"]), func(crd any) bool {
			spec, _ := crd.(cases.Object)["spec"].(cases.Object)
			return spec["scope"] == "Cluster"
		}) && (body["revision"] == "1.0" || app["permissionScope"] != "Cluster")
	case "depends-on-without-group":
		return depends(app, func(_, group string) bool { return group == "" })
	case "depends-on-wildcard-group":
		return depends(app, func(_, group string) bool { return strings.Contains(group, "*") })
	case "depends-on-empty-kind":
		return depends(app, func(kind, _ string) bool { return kind == "" })
	case "depends-on-kubernetes-group":
		return depends(app, func(_, group string) bool { return !strings.Contains(group, ".") || strings.HasSuffix(group, "k8s.io") })
	case "depends-on-syntax":
		return slices.ContainsFunc(list(app["dependsOn"]), func(entry any) bool {
			text, _ := entry.(cases.Object)["crd"].(string)
			return text != "" && !dependency.MatchString(text)
		})
	}
	return false
}

// depends is true where a dependency has such a kind and group, as Crossplane takes it apart.
func depends(app cases.Object, is func(kind, group string) bool) bool {
	return slices.ContainsFunc(list(app["dependsOn"]), func(entry any) bool {
		text, _ := entry.(cases.Object)["crd"].(string)
		name, _, _ := strings.Cut(text, "/")
		kind, group, _ := strings.Cut(name, ".")
		return text != "" && is(kind, group)
	})
}

func judgeProvider(real, ours map[string]any) verdict {
	if rejected := list(real["rejected"]); len(rejected) > 0 {
		if !slices.Equal(codes(ours), []string{"permission-request-rejected"}) {
			return verdict{point: fmt.Sprintf("only Crossplane rejects: %v", ours["error"])}
		}
		if told, ok := ours["rejected"]; ok && !slices.Equal(anyName(rejected), anyName(list(told))) {
			return verdict{point: "what is rejected: in part"}
		}
		return verdict{count: "provider: both reject"}
	}
	if codes := codes(ours); len(codes) > 0 {
		return verdict{point: "only we refuse: " + codes[0]}
	}
	// A revision without CRDs is bound to a role that nobody makes.
	if len(list(real["objects"])) == 1 && len(list(ours["objects"])) == 0 {
		return verdict{count: "provider: nothing to bind to"}
	}
	return verdict{point: differ(real["objects"], ours["objects"]), count: "provider: equal"}
}

// anyName are rules in which a star for all names is left out, as nobody writes one, in the order of their text: these
// are only told to people.
func anyName(rules []any) []string {
	texts := []string{}
	for _, rule := range rules {
		if rule, ok := rule.(cases.Object); ok && reflect.DeepEqual(rule["resourceNames"], []any{"*"}) {
			delete(rule, "resourceNames")
		}
		texts = append(texts, text(plain(rule)))
	}
	slices.Sort(texts)
	return texts
}

func list(value any) []any {
	list, _ := value.([]any)
	return list
}

// differ tells where lists of objects differ first. The point of a difference is without the names that are in it, so
// that a smaller question can have the same.
func differ(real, ours any) string {
	left, right := list(plain(real)), list(plain(ours))
	for index := range min(len(left), len(right)) {
		if point := at(left[index], right[index]); point != "" {
			return fmt.Sprintf("object%s\nCrossplane: %s\nours:       %s", point, text(left[index]), text(right[index]))
		}
	}
	if len(left) != len(right) {
		return fmt.Sprintf("number of objects: %d and %d", len(left), len(right))
	}
	return ""
}

// at is the path to the first difference, without numbers and names.
func at(left, right any) string {
	if reflect.DeepEqual(left, right) {
		return ""
	}
	one, isObject := left.(cases.Object)
	two, isObjectToo := right.(cases.Object)
	if isObject && isObjectToo {
		keys := []string{}
		for key := range one {
			keys = append(keys, key)
		}
		for key := range two {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if point := at(one[key], two[key]); point != "" {
				return "." + key + point
			}
		}
	}
	return ":"
}

// unstable is what only a cluster knows, or what says nothing.
var unstable = []string{"ownerReferences", "creationTimestamp", "core.crossplane.io/parent-uid"}

// plain is a value without what is unstable or empty.
func plain(value any) any {
	switch value := value.(type) {
	case cases.Object:
		short := cases.Object{}
		for key, part := range value {
			part = plain(part)
			if part != nil && !slices.Contains(unstable, key) {
				short[key] = part
			}
		}
		if len(short) == 0 {
			return nil
		}
		return short
	case []any:
		short := []any{}
		for _, part := range value {
			if part = plain(part); part == nil {
				part = cases.Object{}
			}
			short = append(short, part)
		}
		if len(short) == 0 {
			return nil
		}
		return short
	}
	return value
}

// isCore is true for the rule that every stack has, in any order.
func isCore(rule any) bool {
	sorted := cases.Object{}
	parts, _ := plain(rule).(cases.Object)
	for key, part := range parts {
		texts := []string{}
		for _, entry := range list(part) {
			texts = append(texts, fmt.Sprint(entry))
		}
		slices.Sort(texts)
		sorted[key] = slices.Compact(texts)
	}
	return reflect.DeepEqual(sorted, cases.Object{
		"apiGroups": []string{""}, "resources": []string{"configmaps", "events", "secrets"}, "verbs": []string{"*"},
	})
}

func text(value any) string {
	line, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(line)
}
