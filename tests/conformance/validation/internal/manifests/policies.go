package manifests

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Typed is an admission policy whose expressions walk through the fields of the kinds that it matches, with the definitions of the
// custom resources among them.
type Typed struct {
	Policy      map[string]any   `json:"typeCheck"`
	Definitions []map[string]any `json:"definitions"`
}

// matched are rules with a kind that they match. The last ones match several kinds, or none.
var matched = []struct {
	groups, versions, resources []any
	kind                        string
}{
	{[]any{""}, []any{"v1"}, []any{"pods"}, "v1 Pod"},
	{[]any{""}, []any{"v1"}, []any{"services"}, "v1 Service"},
	{[]any{""}, []any{"v1"}, []any{"secrets"}, "v1 Secret"},
	{[]any{""}, []any{"v1"}, []any{"nodes"}, "v1 Node"},
	{[]any{""}, []any{"v1"}, []any{"persistentvolumes"}, "v1 PersistentVolume"},
	{[]any{""}, []any{"v1"}, []any{"namespaces", "configmaps"}, "v1 Namespace"},
	{[]any{"apps"}, []any{"v1"}, []any{"deployments"}, "apps/v1 Deployment"},
	{[]any{"apps"}, []any{"v1"}, []any{"statefulsets"}, "apps/v1 StatefulSet"},
	{[]any{"apps"}, []any{"v1"}, []any{"controllerrevisions"}, "apps/v1 ControllerRevision"},
	{[]any{"batch"}, []any{"v1"}, []any{"cronjobs", "jobs"}, "batch/v1 CronJob"},
	{[]any{"networking.k8s.io"}, []any{"v1"}, []any{"networkpolicies"}, "networking.k8s.io/v1 NetworkPolicy"},
	{[]any{"networking.k8s.io"}, []any{"v1"}, []any{"ingresses"}, "networking.k8s.io/v1 Ingress"},
	{[]any{"rbac.authorization.k8s.io"}, []any{"v1"}, []any{"roles", "clusterroles"}, "rbac.authorization.k8s.io/v1 ClusterRole"},
	{[]any{"autoscaling"}, []any{"v2"}, []any{"horizontalpodautoscalers"}, "autoscaling/v2 HorizontalPodAutoscaler"},
	{[]any{"apiextensions.k8s.io"}, []any{"v1"}, []any{"customresourcedefinitions"}, "apiextensions.k8s.io/v1 CustomResourceDefinition"},
	{[]any{"storage.k8s.io"}, []any{"v1"}, []any{"csidrivers"}, "storage.k8s.io/v1 CSIDriver"},
	{[]any{"discovery.k8s.io"}, []any{"v1"}, []any{"endpointslices"}, "discovery.k8s.io/v1 EndpointSlice"},
	{[]any{"coordination.k8s.io"}, []any{"v1"}, []any{"leases"}, "coordination.k8s.io/v1 Lease"},
	{[]any{"admissionregistration.k8s.io"}, []any{"v1"}, []any{"validatingadmissionpolicies"}, "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy"},
	{[]any{"policy"}, []any{"v1"}, []any{"poddisruptionbudgets"}, "policy/v1 PodDisruptionBudget"},
	{[]any{"example.com"}, []any{"v1"}, []any{"widgets"}, "example.com/v1 Widget"},
	{[]any{"example.com"}, []any{"v1"}, []any{"widgets", "gadgets"}, "example.com/v1 Widget"},
	{[]any{"", "apps", "batch"}, []any{"v1"}, []any{"pods", "deployments", "jobs"}, "v1 Pod"},
	{[]any{""}, []any{"v1"}, []any{"events"}, "v1 Event"},
	{[]any{""}, []any{"v1"}, []any{"deployments"}, "apps/v1 Deployment"},
	{[]any{"apps", ""}, []any{"v1", "v2"}, []any{"deployment", "replicasets", "pod", "pods/exec", "daemonsets", "secrets", "services", "configmaps",
		"endpoints", "nodes", "events", "limitranges", "resourcequotas"}, "apps/v1 Deployment"},
	{[]any{"*"}, []any{"v1"}, []any{"pods"}, "v1 Pod"},
	{[]any{"", "x*"}, []any{"v1"}, []any{"pods"}, "v1 Pod"},
	{[]any{"apps"}, []any{"*"}, []any{"deployments"}, "apps/v1 Deployment"},
	{[]any{"", "apps"}, []any{"v1"}, []any{"pods/status"}, "v1 Pod"},
	{[]any{"apps"}, []any{"v2"}, []any{"deployments"}, "apps/v1 Deployment"},
}

// NextTyped returns a random policy.
func (source *Source) NextTyped() Typed {
	custom := source.NextCustom()
	var rules []any
	kind := ""
	for range 1 + source.random.IntN(5)/4 {
		rule := pick(source, matched)
		kind = rule.kind
		rules = append(rules, map[string]any{"apiGroups": rule.groups, "apiVersions": rule.versions, "operations": []any{"CREATE"}, "resources": rule.resources})
	}
	spec := map[string]any{"failurePolicy": "Fail", "matchConstraints": map[string]any{"resourceRules": rules}}
	walk := &paths{source: source, variables: map[string]any{}}
	roots := []named{{"object", walk.root(kind, custom)}, {"oldObject", walk.root(kind, custom)}}
	if source.random.IntN(3) == 0 {
		params := pick(source, []string{"v1 ConfigMap", "example.com/v1 Widget", "example.com/v1 Gadget", kind})
		apiVersion, name, _ := strings.Cut(params, " ")
		spec["paramKind"] = map[string]any{"apiVersion": apiVersion, "kind": name}
		roots = append(roots, named{"params", walk.root(params, custom)})
	}
	var validations []any
	for range 1 + source.random.IntN(2) {
		root := pick(source, roots)
		validation := map[string]any{"expression": walk.condition(root.name, root.of, 7)}
		if source.random.IntN(4) == 0 {
			validation["messageExpression"] = "'x' + string(" + walk.value(root.name, root.of, 3) + ")"
		}
		validations = append(validations, validation)
	}
	spec["validations"] = validations
	if len(walk.variables) > 0 {
		var variables []any
		for _, name := range keys(walk.variables) {
			variables = append(variables, map[string]any{"name": name, "expression": walk.variables[name]})
		}
		spec["variables"] = variables
	}
	policy := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": "p"}, "spec": spec,
	}
	return Typed{Policy: policy, Definitions: []map[string]any{custom.Definition()}}
}

type named struct {
	name string
	of   shape
}

// shape is a form of the table, or a schema of a custom resource.
type shape struct {
	form   string
	schema map[string]any
}

type paths struct {
	source    *Source
	variables map[string]any
}

func (p *paths) root(kind string, custom Custom) shape {
	if strings.HasPrefix(kind, "example.com/") {
		return shape{schema: custom.Schema}
	}
	return shape{form: p.source.fields.kinds[kind]}
}

func (p *paths) random() *rand.Rand { return p.source.random }

// fields are the fields of an object, or none.
func (p *paths) fields(of shape) []named {
	var found []named
	if of.schema == nil {
		for _, field := range p.source.fields.types[of.form] {
			found = append(found, named{field.name, shape{form: field.form}})
		}
		return found
	}
	properties, _ := of.schema["properties"].(map[string]any)
	for _, name := range keys(properties) {
		found = append(found, named{name, shape{schema: properties[name].(map[string]any)}})
	}
	if len(found) > 0 {
		found = append(found, named{"metadata", shape{form: "meta.v1.ObjectMeta"}}, named{"kind", shape{form: "string"}})
	}
	return found
}

// items are the items of a list, or the values of a map.
func (p *paths) items(of shape, prefix, key string) (shape, bool) {
	if of.schema == nil {
		inner, ok := strings.CutPrefix(of.form, prefix)
		return shape{form: inner}, ok
	}
	inner, ok := of.schema[key].(map[string]any)
	return shape{schema: inner}, ok
}

// condition is an expression with a value of a place.
func (p *paths) condition(expression string, of shape, depth int) string {
	if depth > 0 {
		if items, ok := p.items(of, "[]", "items"); ok {
			name := fmt.Sprintf("i%d", depth)
			switch p.random().IntN(6) {
			case 0:
				return p.condition(expression+"[0]", items, depth-1)
			case 1:
				return fmt.Sprintf("size(%s) > 0", expression)
			case 2:
				return fmt.Sprintf("%s.map(%s, %s).size() > 0", expression, name, p.value(name, items, depth-1))
			}
			return fmt.Sprintf("%s.%s(%s, %s)", expression, pick(p.source, []string{"all", "exists", "exists_one"}), name, p.condition(name, items, depth-1))
		}
		if values, ok := p.items(of, "{}", "additionalProperties"); ok {
			switch p.random().IntN(4) {
			case 0:
				return fmt.Sprintf("'a' in %s", expression)
			case 1:
				return fmt.Sprintf("%s.all(k%d, k%d == 'a')", expression, depth, depth)
			}
			return p.condition(expression+pick(p.source, []string{"['a']", ".a", "[?'a']"}), values, depth-1)
		}
		if fields := p.fields(of); len(fields) > 0 {
			field := pick(p.source, fields)
			switch p.random().IntN(40) {
			case 0:
				field.name = pick(p.source, []string{"specs", "replica", "a", "labels", "namespace", "x__dash__y", "__namespace__", "__in__", "__dollar__ref"})
			case 1:
				return fmt.Sprintf("has(%s.%s)", expression, field.name)
			case 2:
				return fmt.Sprintf("%s == %s", expression, p.literal())
			case 3:
				return p.condition(fmt.Sprintf("%s[%q]", expression, field.name), field.of, depth-1)
			case 4:
				return p.condition(expression+".?"+field.name, field.of, depth-1)
			case 5, 6:
				name := fmt.Sprintf("v%d", len(p.variables))
				if strings.HasPrefix(expression, "object") || strings.HasPrefix(expression, "params") {
					p.variables[name] = expression
					expression = "variables." + name
				}
			case 7:
				return fmt.Sprintf("has(%s.%s) && %s", expression, field.name, p.condition(expression+"."+field.name, field.of, depth-1))
			case 8:
				return fmt.Sprintf("%s == oldObject.%s", expression, field.name)
			case 9:
				return p.condition("dyn("+expression+")."+field.name, field.of, depth-1)
			}
			return p.condition(expression+"."+field.name, field.of, depth-1)
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(pick(p.source, endings), "_", expression), "LIT", p.literal())
}

// value is an expression of any type.
func (p *paths) value(expression string, of shape, depth int) string {
	for range depth {
		fields := p.fields(of)
		if len(fields) == 0 {
			break
		}
		field := pick(p.source, fields)
		expression, of = expression+"."+field.name, field.of
	}
	return expression
}

func (p *paths) literal() string { return pick(p.source, typedLiterals) }

var typedLiterals = []string{"1", "1.5", "1u", "'a'", "b'a'", "true", "null", "[]", "{}", "['a']", "[1]", "{'a': 'b'}", "timestamp('2020-01-01T00:00:00Z')", "duration('1s')", "object", "oldObject.metadata"}

var endings = []string{
	"_ == LIT", "_ == LIT", "_ == LIT", "_ != LIT", "_ > LIT", "_ in [LIT]", "_ + LIT == LIT", "_.startsWith('a')", "int(_) > 1", "string(_) == 'a'",
	"_.getFullYear() > 1", "size(_) > 1", "_ ? true : false", "type(_) == string", "dyn(_) == LIT", "[_] == [LIT]", "[_, LIT].size() > 1", "_.a == 1",
	"_.matches('a')", "quantity(_).isGreaterThan(quantity('1'))", "_.exists(x, x == LIT)", "_ == _", "LIT == _", "_[0] == LIT", "_.orValue(LIT) == LIT",
	"_.contains('a') || _ == LIT", "timestamp(_) > timestamp('2020-01-01T00:00:00Z')", "_.hasValue()", "isURL(_)", "!_", "_ - LIT == LIT", "[_].join() == 'a'",
}
