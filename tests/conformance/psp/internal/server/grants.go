package server

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // defaulting
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// grants are the RBAC objects behind the listers of a server, by kind.
type grants map[string]cache.Indexer

// newGrants returns the default policy. The rules of its aggregated roles are missing: none of them has to do with policies.
func newGrants() grants {
	all := grants{}
	for _, kind := range []string{"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} {
		all[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		_ = all["ClusterRole"].Add(&role)
	}
	for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		_ = all["ClusterRoleBinding"].Add(&binding)
	}
	for _, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			_ = all["Role"].Add(&role)
		}
	}
	for _, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			_ = all["RoleBinding"].Add(&binding)
		}
	}
	return all
}

// add takes an object of RBAC; another object is an error.
func (g grants) add(object runtime.Object) error {
	object = object.DeepCopyObject()
	Default(object)
	switch object.(type) {
	case *rbacv1.Role:
		return g["Role"].Add(object)
	case *rbacv1.RoleBinding:
		return g["RoleBinding"].Add(object)
	case *rbacv1.ClusterRole:
		return g["ClusterRole"].Add(object)
	case *rbacv1.ClusterRoleBinding:
		return g["ClusterRoleBinding"].Add(object)
	}
	return fmt.Errorf("%T is neither a policy, a service account nor an object of RBAC", object)
}

func (g grants) roles() *rbac.RoleGetter {
	return &rbac.RoleGetter{Lister: rbaclisters.NewRoleLister(g["Role"])}
}

func (g grants) roleBindings() *rbac.RoleBindingLister {
	return &rbac.RoleBindingLister{Lister: rbaclisters.NewRoleBindingLister(g["RoleBinding"])}
}

func (g grants) clusterRoles() *rbac.ClusterRoleGetter {
	return &rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(g["ClusterRole"])}
}

func (g grants) clusterRoleBindings() *rbac.ClusterRoleBindingLister {
	return &rbac.ClusterRoleBindingLister{Lister: rbaclisters.NewClusterRoleBindingLister(g["ClusterRoleBinding"])}
}
