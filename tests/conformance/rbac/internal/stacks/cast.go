package stacks

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"bailiwick.dev/conformance/rbac/internal/cluster"
)

// parentKind is the label that says for which kind of object a role was made, and stackKinds are the values of stacks,
// in the two words that Crossplane had for them.
const parentKind = "core.crossplane.io/parent-kind"

var stackKinds = []string{"Stack", "Package"}

// An account is a service account.
type account struct{ namespace, name string }

func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

func (a account) groups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + a.namespace, "system:authenticated"}
}

func (a account) String() string { return a.namespace + "/" + a.name }

// A stack is known by its account.
type stack struct {
	account
	everywhere bool
}

// A cast is who and what has which part.
type cast struct {
	manager account
	own     string
	stacks  []stack
	// first is what somebody with full authority brings: the namespaces, then all that is not a stack's.
	first []*unstructured.Unstructured
	// definitions and brought are what the manager creates, in an order in which it can.
	definitions, brought []*unstructured.Unstructured
	// roles are the manager's.
	roles []*role
	// namespaces are those that the folder knows.
	namespaces []string
	// granted are the rules by the role, for what a binding gives away.
	granted map[string][]rbacv1.PolicyRule
	// objects are all of the folder.
	objects []*unstructured.Unstructured
}

// A role of the manager counts in one namespace, or everywhere.
type role struct {
	object    *unstructured.Unstructured
	namespace string
	rules     []rbacv1.PolicyRule
}

func castOf(objects []*unstructured.Unstructured, options Options) (*cast, error) {
	manager, err := parseAccount(options.Manager)
	if err != nil {
		return nil, err
	}
	cast := &cast{manager: manager, own: options.Own, objects: objects, granted: map[string][]rbacv1.PolicyRule{}}
	missing := slices.Clone(options.ClusterStacks)
	hasManager := false
	byKey := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		byKey[key(object.GetKind(), object.GetNamespace(), object.GetName())] = object
		if strings.HasSuffix(object.GetKind(), "Role") {
			rules, err := rulesOf(object)
			if err != nil {
				return nil, err
			}
			cast.granted[key(object.GetKind(), object.GetNamespace(), object.GetName())] = rules
		}
		if object.GetKind() != "ServiceAccount" {
			continue
		}
		account := account{object.GetNamespace(), object.GetName()}
		if account == manager {
			hasManager = true
			continue
		}
		everywhere := slices.Contains(options.ClusterStacks, account.String())
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == account.String() })
		cast.stacks = append(cast.stacks, stack{account, everywhere})
	}
	if !hasManager || len(missing) > 0 || len(cast.stacks) <= len(options.ClusterStacks) {
		return nil, fmt.Errorf("the folder needs the manager %s, the cluster stacks %v, and one for a namespace", manager, options.ClusterStacks)
	}
	bringing := map[*unstructured.Unstructured]bool{}
	for _, object := range objects {
		switch {
		case slices.Contains(stackKinds, object.GetLabels()[parentKind]):
			bringing[object] = true
		case object.GetKind() == "ServiceAccount":
			bringing[object] = account{object.GetNamespace(), object.GetName()} != manager
		case strings.HasSuffix(object.GetKind(), "Binding"):
			role := byKey[roleKey(object)]
			for _, subject := range subjectsOf(object) {
				if subject == manager && role != nil {
					cast.addRole(role, object.GetNamespace())
				} else if slices.ContainsFunc(cast.stacks, func(stack stack) bool { return stack.account == subject }) {
					bringing[object] = true
					if role != nil {
						bringing[role] = true
					}
				}
			}
		}
	}
	if len(cast.roles) == 0 {
		return nil, fmt.Errorf("the manager %s holds nothing", manager)
	}
	cast.first = append(cluster.Namespaces(objects, true), cluster.Namespaces(objects, false)...)
	for _, namespace := range cast.first {
		cast.namespaces = append(cast.namespaces, namespace.GetName())
	}
	for _, object := range objects {
		switch {
		case object.GetKind() == "CustomResourceDefinition":
			cast.definitions = append(cast.definitions, object)
		case bringing[object]:
			cast.brought = append(cast.brought, object)
		case object.GetKind() != "Namespace":
			if len(cast.roles) == 0 {
				return nil, fmt.Errorf("the manager %s holds nothing", manager)
			}
			cast.first = append(cast.first, object)
		}
	}
	slices.SortStableFunc(cast.brought, func(one, other *unstructured.Unstructured) int { return rank(one) - rank(other) })
	return cast, nil
}

// rank puts roles before the bindings, which are refused while their role is not there.
func rank(object *unstructured.Unstructured) int {
	return slices.Index([]string{"ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"}, object.GetKind())
}

func (c *cast) addRole(object *unstructured.Unstructured, namespace string) {
	rules := c.granted[key(object.GetKind(), object.GetNamespace(), object.GetName())]
	c.roles = append(c.roles, &role{object, namespace, rules})
}

// grants are the rules that an object gives to somebody, or lets be given.
func (c *cast) grants(object *unstructured.Unstructured) []rbacv1.PolicyRule {
	if strings.HasSuffix(object.GetKind(), "Binding") {
		return c.granted[roleKey(object)]
	}
	return c.granted[key(object.GetKind(), object.GetNamespace(), object.GetName())]
}

func key(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

func roleKey(binding *unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(binding.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(binding.Object, "roleRef", "name")
	if kind == "ClusterRole" {
		return key(kind, "", name)
	}
	return key(kind, binding.GetNamespace(), name)
}

// subjectsOf are the service accounts that a binding is for.
func subjectsOf(binding *unstructured.Unstructured) []account {
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	var accounts []account
	for _, subject := range subjects {
		fields, ok := subject.(map[string]any)
		if !ok || fields["kind"] != "ServiceAccount" {
			continue
		}
		namespace, _ := fields["namespace"].(string)
		name, _ := fields["name"].(string)
		accounts = append(accounts, account{namespace, name})
	}
	return accounts
}

func rulesOf(object *unstructured.Unstructured) ([]rbacv1.PolicyRule, error) {
	role := &rbacv1.ClusterRole{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
		return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return role.Rules, nil
}

func parseAccount(text string) (account, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found || namespace == "" || name == "" {
		return account{}, fmt.Errorf("%q is no NAMESPACE/NAME", text)
	}
	return account{namespace, name}, nil
}
