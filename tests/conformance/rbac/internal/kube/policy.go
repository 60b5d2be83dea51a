package kube

import (
	"encoding/json"
	"fmt"
	"sort"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// minor is the version that this module is built from.
const minor = "1.37"

var defaultPolicy = sync.OnceValue(func() *Objects {
	objects := &Objects{}
	for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		objects.ClusterRoles = append(objects.ClusterRoles, defaulted(&role))
	}
	for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		objects.ClusterRoleBindings = append(objects.ClusterRoleBindings, defaulted(&binding))
	}
	for namespace, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			role.Namespace = namespace
			objects.Roles = append(objects.Roles, defaulted(&role))
		}
	}
	for namespace, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			binding.Namespace = namespace
			objects.RoleBindings = append(objects.RoleBindings, defaulted(&binding))
		}
	}
	// The maps above have no order, and a run shall be repeatable.
	sort.Slice(objects.Roles, func(i, j int) bool {
		return objects.Roles[i].Namespace+"/"+objects.Roles[i].Name < objects.Roles[j].Namespace+"/"+objects.Roles[j].Name
	})
	sort.Slice(objects.RoleBindings, func(i, j int) bool {
		return objects.RoleBindings[i].Namespace+"/"+objects.RoleBindings[i].Name < objects.RoleBindings[j].Namespace+"/"+objects.RoleBindings[j].Name
	})
	return objects
})

func defaulted[T runtime.Object](object T) T {
	legacyscheme.Scheme.Default(object)
	return object
}

// DefaultPolicy is what a server of this module's version creates at its start, and what it aggregates later.
func DefaultPolicy(version string) (*Objects, error) {
	if version != minor {
		return nil, fmt.Errorf("this side knows the default policy of %s, not of %q", minor, version)
	}
	return defaultPolicy(), nil
}

func policyAnswer(version string) (protocol.Answer, error) {
	policy, err := DefaultPolicy(version)
	if err != nil {
		return nil, err
	}
	answer := &protocol.PolicyAnswer{}
	err = policy.Each(func(object any, kind string) error {
		encoded, err := asData(object)
		if err != nil {
			return err
		}
		encoded["apiVersion"], encoded["kind"] = rbacv1.SchemeGroupVersion.String(), kind
		answer.Objects = append(answer.Objects, encoded)
		return nil
	})
	return answer, err
}

// Each visits all objects.
func (o *Objects) Each(visit func(object any, kind string) error) error {
	for _, object := range o.ClusterRoles {
		if err := visit(object, "ClusterRole"); err != nil {
			return err
		}
	}
	for _, object := range o.Roles {
		if err := visit(object, "Role"); err != nil {
			return err
		}
	}
	for _, object := range o.ClusterRoleBindings {
		if err := visit(object, "ClusterRoleBinding"); err != nil {
			return err
		}
	}
	for _, object := range o.RoleBindings {
		if err := visit(object, "RoleBinding"); err != nil {
			return err
		}
	}
	return nil
}

func asData(object any) (map[string]any, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var data map[string]any
	return data, json.Unmarshal(encoded, &data)
}

// CurrentPolicy is what a server of this module's version creates at its start.
func CurrentPolicy() *Objects { return defaultPolicy() }

// Minor is the second number of this module's version.
func Minor() int {
	var number int
	if _, err := fmt.Sscanf(minor, "1.%d", &number); err != nil {
		panic(err)
	}
	return number
}
