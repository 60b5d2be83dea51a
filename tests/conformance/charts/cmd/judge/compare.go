package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// groupOf returns the group of an apiVersion, "" for the core group.
func groupOf(apiVersion string) string {
	group, _, isNamed := strings.Cut(apiVersion, "/")
	if !isNamed {
		return ""
	}
	return group
}

// kindOf returns the group, version and kind of an object.
func kindOf(o object) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.text("apiVersion"), o.text("kind"))
}

// isBuiltIn is true for the kinds of the API server's own groups.
func isBuiltIn(o object) bool {
	return scheme.Scheme.Recognizes(kindOf(o))
}

// compare compares the objects with the compiled objects, by identity. In the objects of `inAccess`, rules and subjects may
// have another order and grouping.
func compare(objects, output []object, inAccess map[string]bool) []string {
	compiled := map[string]object{}
	var differences []string
	for _, found := range output {
		if _, isThere := compiled[found.key()]; isThere {
			differences = append(differences, found.key()+" is compiled twice")
		}
		compiled[found.key()] = found
	}
	for _, found := range objects {
		key := found.key()
		other, isThere := compiled[key]
		delete(compiled, key)
		switch {
		case !isThere:
			differences = append(differences, key+" is not compiled")
		case !isEqual(found, other, inAccess[key]):
			differences = append(differences, key+" is compiled to another object")
		}
	}
	for key := range compiled {
		differences = append(differences, key+" is compiled and not in the input")
	}
	return differences
}

// isEqual compares two objects of one identity: built-in kinds as their Go types, others as JSON.
func isEqual(left, right object, inAccess bool) bool {
	leftTyped, rightTyped := typed(left), typed(right)
	if leftTyped == nil || rightTyped == nil {
		return reflect.DeepEqual(cleaned(left), cleaned(right))
	}
	leftTyped, rightTyped = defaulted(leftTyped), defaulted(rightTyped)
	if inAccess {
		leftTyped, rightTyped = unordered(leftTyped), unordered(rightTyped)
	}
	return equality.Semantic.DeepEqual(leftTyped, rightTyped)
}

// typed returns an object as its Go type; nil for kinds without one.
func typed(o object) runtime.Object {
	into, err := scheme.Scheme.New(kindOf(o))
	if err != nil {
		return nil
	}
	text, err := json.Marshal(cleaned(o))
	if err != nil || json.Unmarshal(text, into) != nil {
		return nil
	}
	return into
}

// defaulted sets the defaults of the API server that the compiler writes out.
func defaulted(o runtime.Object) runtime.Object {
	policy, isPolicy := o.(*networkingv1.NetworkPolicy)
	if !isPolicy {
		return o
	}
	tcp := corev1.ProtocolTCP
	setPorts := func(ports []networkingv1.NetworkPolicyPort) {
		for position := range ports {
			if ports[position].Protocol == nil {
				ports[position].Protocol = &tcp
			}
		}
	}
	for _, rule := range policy.Spec.Ingress {
		setPorts(rule.Ports)
	}
	for _, rule := range policy.Spec.Egress {
		setPorts(rule.Ports)
	}
	if len(policy.Spec.PolicyTypes) == 0 {
		policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(policy.Spec.Egress) > 0 {
			policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	return policy
}

// cleaned returns the JSON of an object without its status, the time of its creation, and empty values below.
func cleaned(o object) any {
	copied := map[string]any{}
	for key, value := range o {
		if key != "status" {
			copied[key] = value
		}
	}
	return withoutNulls(copied)
}

// withoutNulls returns a value without the keys of maps whose values are null: the API server has no such fields.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range value {
			if inner != nil {
				kept[key] = withoutNulls(inner)
			}
		}
		return kept
	case []any:
		kept := make([]any, 0, len(value))
		for _, inner := range value {
			kept = append(kept, withoutNulls(inner))
		}
		return kept
	}
	return value
}

// unordered replaces the rules by one sorted rule for each permission, and sorts the subjects.
func unordered(o runtime.Object) runtime.Object {
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		o.Rules = permissions(o.Rules)
	case *rbacv1.Role:
		o.Rules = permissions(o.Rules)
	case *rbacv1.ClusterRoleBinding:
		o.Subjects = sortedSubjects(o.Subjects, "")
	case *rbacv1.RoleBinding:
		o.Subjects = sortedSubjects(o.Subjects, o.Namespace)
	}
	return o
}

// permissions returns a rule for each group, resource, name and verb, and for each URL and verb, sorted and once.
func permissions(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	found := map[string]rbacv1.PolicyRule{}
	add := func(rule rbacv1.PolicyRule) { found[fmt.Sprintf("%q", rule)] = rule }
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				add(rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{url}})
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					one := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
					for _, name := range rule.ResourceNames {
						named := one
						named.ResourceNames = []string{name}
						add(named)
					}
					if len(rule.ResourceNames) == 0 {
						add(one)
					}
				}
			}
		}
	}
	keys := make([]string, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	sorted := make([]rbacv1.PolicyRule, 0, len(keys))
	for _, key := range keys {
		sorted = append(sorted, found[key])
	}
	return sorted
}

// sortedSubjects returns the subjects in order, once, with the namespace that the API server reads for accounts without one.
func sortedSubjects(subjects []rbacv1.Subject, namespace string) []rbacv1.Subject {
	found := map[string]rbacv1.Subject{}
	for _, subject := range subjects {
		if subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == "" {
			subject.Namespace = namespace
		}
		if subject.Kind != rbacv1.ServiceAccountKind && subject.APIGroup == "" {
			subject.APIGroup = rbacv1.GroupName
		}
		found[fmt.Sprintf("%q", subject)] = subject
	}
	keys := make([]string, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	sorted := make([]rbacv1.Subject, 0, len(keys))
	for _, key := range keys {
		sorted = append(sorted, found[key])
	}
	return sorted
}
