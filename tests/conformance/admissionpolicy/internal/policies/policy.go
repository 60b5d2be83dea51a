package policies

import (
	"fmt"
	"math/rand/v2"

	"bailiwick.dev/conformance/admissionpolicy/internal/protocol"
)

const perPolicy = 5

// Question makes the question of a number. Every tenth is about one of the given policies and pods.
func Question(seed uint64, at int, given []map[string]any) *protocol.Question {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, uint64(at)))}
	body := &protocol.Body{Namespace: m.home()}
	if at%10 == 0 && len(given) > 0 {
		m.about(body, given[at/10%len(given)])
	} else {
		body.Policy = m.policy()
		for range perPolicy {
			body.Requests = append(body.Requests, m.request())
		}
	}
	body.Binding = m.binding()
	return &protocol.Question{Policy: body}
}

func (m *maker) policy() map[string]any {
	spec := map[string]any{"matchConstraints": m.constraints()}
	if m.IntN(3) == 0 {
		spec["failurePolicy"] = m.one("Ignore", "Ignore", "Fail")
	}
	variables := []any{}
	for index := range m.IntN(4) {
		kind := m.some(truth, number, text, list, anything)
		name := fmt.Sprintf("v%d", index)
		made := m.make(kind, m.IntN(3))
		if kind == anything {
			made = "dyn(" + made + ")"
		}
		variables = append(variables, map[string]any{"name": name, "expression": made})
		m.known = append(m.known, variable{"variables." + name, kind})
	}
	conditions := []any{}
	for index := range m.IntN(3) {
		if m.IntN(2) == 0 {
			conditions = append(conditions, map[string]any{"name": fmt.Sprintf("c%d", index), "expression": m.make(truth, m.IntN(3)) + m.one("", " || true")})
		}
	}
	m.hasNamespace = true
	validations := []any{}
	for range 1 + m.IntN(3) {
		validation := map[string]any{"expression": m.make(truth, 1+m.IntN(3))}
		if m.IntN(3) == 0 {
			validation["message"] = m.one(" refused ", "text", "no")
		}
		if m.IntN(2) == 0 {
			validation["messageExpression"] = m.one(m.make(text, 2), m.make(text, 1), "'  '", `'a\nb'`, "' padded '", "string(object.num)")
		}
		if m.IntN(4) == 0 {
			validation["reason"] = m.one("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
		}
		validations = append(validations, validation)
	}
	annotations := []any{}
	if m.IntN(6) == 0 {
		annotations = append(annotations, map[string]any{"key": "k", "valueExpression": m.make(text, 1)})
	}
	spec["variables"], spec["matchConditions"], spec["validations"] = variables, conditions, validations
	spec["auditAnnotations"] = annotations
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
		"metadata": map[string]any{"name": "p"}, "spec": spec,
	}
}

func (m *maker) constraints() map[string]any {
	constraints := map[string]any{"matchPolicy": "Exact", "resourceRules": []any{m.rule(false)}}
	if m.IntN(3) == 0 {
		constraints["resourceRules"] = []any{m.rule(true), m.rule(true)}
	}
	if m.IntN(5) == 0 {
		constraints["excludeResourceRules"] = []any{m.rule(true)}
	}
	for _, selector := range []string{"namespaceSelector", "objectSelector"} {
		if m.IntN(6) == 0 {
			constraints[selector] = []map[string]any{
				{"matchLabels": map[string]any{"k": "v"}},
				{"matchExpressions": []any{map[string]any{"key": "k", "operator": m.one("Exists", "DoesNotExist")}}},
				{"matchExpressions": []any{map[string]any{"key": "k", "operator": m.one("In", "NotIn"), "values": []any{"v"}}}},
				{},
			}[m.IntN(4)]
		}
	}
	return constraints
}

// rule makes one that means everything, or one that is particular.
func (m *maker) rule(particular bool) map[string]any {
	rule := map[string]any{"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "operations": []any{"*"}, "resources": []any{"*"}}
	if !particular {
		return rule
	}
	if m.IntN(2) == 0 {
		rule["apiGroups"] = []any{m.one("", "example.com")}
	}
	if m.IntN(3) == 0 {
		rule["apiVersions"] = []any{m.one("v1", "v2")}
	}
	if m.IntN(2) == 0 {
		rule["operations"] = []any{m.one("CREATE", "UPDATE"), m.one("DELETE", "CONNECT")}
	}
	rule["resources"] = []any{m.one("*", "widgets", "widgets/*", "*/*", "*/status", "things", "widgets/status")}
	if m.IntN(4) == 0 {
		rule["resourceNames"] = []any{"x"}
	}
	if m.IntN(3) == 0 {
		rule["scope"] = m.one("*", "Namespaced", "Cluster")
	}
	return rule
}

func (m *maker) binding() map[string]any {
	actions := [][]any{{"Deny"}, {"Deny"}, {"Deny", "Audit"}, {"Warn"}, {"Audit"}, {"Warn", "Audit"}}[m.IntN(6)]
	spec := map[string]any{"policyName": "p", "validationActions": actions}
	if m.IntN(6) == 0 {
		spec["matchResources"] = m.constraints()
	}
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
		"metadata": map[string]any{"name": "b"}, "spec": spec,
	}
}
