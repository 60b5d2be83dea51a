// Package worlds makes random clusters of OpenShift, small ones full of odd things.
package worlds

import (
	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// World is a cluster as its API server would hand it out.
type World struct {
	// Mode is that of the label syncer: enforcing or advising.
	Mode                string
	Constraints         []*securityv1.SecurityContextConstraints
	Namespaces          []*corev1.Namespace
	Accounts            []*corev1.ServiceAccount
	Roles               []*rbacv1.Role
	ClusterRoles        []*rbacv1.ClusterRole
	RoleBindings        []*rbacv1.RoleBinding
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
}

// Objects are the objects as JSON writes them, with their kinds.
func (w *World) Objects() []any {
	var objects []any
	add := func(object any, meta *metav1.TypeMeta, group schema.GroupVersion, kind string) {
		meta.APIVersion, meta.Kind = group.String(), kind
		objects = append(objects, object)
	}
	for _, object := range w.Constraints {
		add(object, &object.TypeMeta, securityv1.GroupVersion, "SecurityContextConstraints")
	}
	for _, object := range w.Namespaces {
		add(object, &object.TypeMeta, corev1.SchemeGroupVersion, "Namespace")
	}
	for _, object := range w.Accounts {
		add(object, &object.TypeMeta, corev1.SchemeGroupVersion, "ServiceAccount")
	}
	for _, object := range w.Roles {
		add(object, &object.TypeMeta, rbacv1.SchemeGroupVersion, "Role")
	}
	for _, object := range w.ClusterRoles {
		add(object, &object.TypeMeta, rbacv1.SchemeGroupVersion, "ClusterRole")
	}
	for _, object := range w.RoleBindings {
		add(object, &object.TypeMeta, rbacv1.SchemeGroupVersion, "RoleBinding")
	}
	for _, object := range w.ClusterRoleBindings {
		add(object, &object.TypeMeta, rbacv1.SchemeGroupVersion, "ClusterRoleBinding")
	}
	return objects
}

// Size is how many objects there are.
func (w *World) Size() int {
	return len(w.Constraints) + len(w.Namespaces) + len(w.Accounts) + len(w.Roles) + len(w.ClusterRoles) +
		len(w.RoleBindings) + len(w.ClusterRoleBindings)
}

// Without is the world without the object of that number.
func (w *World) Without(number int) *World {
	smaller := *w
	cut(&smaller.Constraints, &number)
	cut(&smaller.Namespaces, &number)
	cut(&smaller.Accounts, &number)
	cut(&smaller.Roles, &number)
	cut(&smaller.ClusterRoles, &number)
	cut(&smaller.RoleBindings, &number)
	cut(&smaller.ClusterRoleBindings, &number)
	return &smaller
}

// cut takes out the object that a number counts down to.
func cut[T any](list *[]T, number *int) {
	if at := *number; at >= 0 && at < len(*list) {
		rest := append([]T(nil), (*list)[:at]...)
		*list = append(rest, (*list)[at+1:]...)
		*number = -1
	} else {
		*number -= len(*list)
		if at < 0 {
			*number = -1
		}
	}
}
