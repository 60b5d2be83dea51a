// Package kube answers the questions of the protocol with the code of Kubernetes itself.
package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install" // defaulting and conversion
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// World is a set of objects behind the listers of the server, with the aggregation settled.
type World struct {
	objects    int
	listers    listers
	authorizer authorizer.Authorizer
	resolver   validation.AuthorizationRuleResolver
	// bindings holds each binding alone, those of the cluster under "".
	bindings   map[string][]alone
	aggregated map[string][]rbacv1.PolicyRule
}

// DeepCopy gives objects that may be changed.
func (o *Objects) DeepCopy() *Objects {
	copied := &Objects{}
	for _, object := range o.Roles {
		copied.Roles = append(copied.Roles, object.DeepCopy())
	}
	for _, object := range o.RoleBindings {
		copied.RoleBindings = append(copied.RoleBindings, object.DeepCopy())
	}
	for _, object := range o.ClusterRoles {
		copied.ClusterRoles = append(copied.ClusterRoles, object.DeepCopy())
	}
	for _, object := range o.ClusterRoleBindings {
		copied.ClusterRoleBindings = append(copied.ClusterRoleBindings, object.DeepCopy())
	}
	return copied
}

// listers are what the authorizer reads from.
type listers struct {
	roles               *rbac.RoleGetter
	roleBindings        *rbac.RoleBindingLister
	clusterRoles        *rbac.ClusterRoleGetter
	clusterRoleBindings *rbac.ClusterRoleBindingLister
}

// alone is a world that has no other binding than this one.
type alone struct {
	name       string
	namespace  string
	authorizer *rbac.RBACAuthorizer
	resolver   validation.AuthorizationRuleResolver
	locator    rbac.SubjectLocator
	// missing is the role that the binding names, if there is none of that name.
	missing string
}

// Objects are those of one world, by kind.
type Objects struct {
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
}

// Decode reads and defaults the objects of a world, with the default policy below them. An object stands in for the
// one of the default policy that has its name.
func Decode(given *protocol.World) (*Objects, error) {
	objects := &Objects{}
	if given.Baseline != "" {
		policy, err := DefaultPolicy(given.Baseline)
		if err != nil {
			return nil, err
		}
		*objects = *policy
	}
	roles, roleBindings := newPlaces(&objects.Roles), newPlaces(&objects.RoleBindings)
	clusterRoles, clusterRoleBindings := newPlaces(&objects.ClusterRoles), newPlaces(&objects.ClusterRoleBindings)
	for _, text := range given.Objects {
		object, err := decodeObject(text)
		if err != nil {
			return nil, err
		}
		switch object := object.(type) {
		case *rbacv1.Role:
			roles.put(object)
		case *rbacv1.RoleBinding:
			roleBindings.put(object)
		case *rbacv1.ClusterRole:
			clusterRoles.put(object)
		case *rbacv1.ClusterRoleBinding:
			clusterRoleBindings.put(object)
		}
	}
	return objects, nil
}

type named interface {
	GetName() string
	GetNamespace() string
}

// places know where the object of a name stands in a list.
type places[T named] struct {
	list *[]T
	at   map[[2]string]int
}

// newPlaces takes a copy of the list, which may be the default policy of all worlds.
func newPlaces[T named](list *[]T) places[T] {
	*list = slices.Clone(*list)
	p := places[T]{list, make(map[[2]string]int, len(*list))}
	for index, object := range *list {
		p.at[[2]string{object.GetNamespace(), object.GetName()}] = index
	}
	return p
}

// put replaces the object of the same name, or appends.
func (p places[T]) put(object T) {
	key := [2]string{object.GetNamespace(), object.GetName()}
	if index, there := p.at[key]; there {
		(*p.list)[index] = object
		return
	}
	p.at[key] = len(*p.list)
	*p.list = append(*p.list, object)
}

// decodeObject reads one object and fills in what the server fills in; nil when it is none of RBAC.
func decodeObject(text []byte) (runtime.Object, error) {
	var header struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &header); err != nil {
		return nil, err
	}
	var object runtime.Object
	switch header.Kind {
	case "Role":
		object = &rbacv1.Role{}
	case "RoleBinding":
		object = &rbacv1.RoleBinding{}
	case "ClusterRole":
		object = &rbacv1.ClusterRole{}
	case "ClusterRoleBinding":
		object = &rbacv1.ClusterRoleBinding{}
	case "":
		return nil, fmt.Errorf("an object without kind")
	default:
		return nil, nil
	}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(object)
	return object, nil
}

// NewWorld puts objects behind listers, settles the aggregation and keeps each binding apart.
func NewWorld(objects *Objects, aggregation *Aggregation) (*World, error) {
	world, err := NewAuthorizer(objects, aggregation)
	if err != nil {
		return nil, err
	}
	for _, binding := range objects.ClusterRoleBindings {
		world.addAlone("ClusterRoleBinding/"+binding.Name, "", binding.RoleRef, only{cluster: []*rbacv1.ClusterRoleBinding{binding}})
	}
	for _, binding := range objects.RoleBindings {
		world.addAlone("RoleBinding/"+binding.Namespace+"/"+binding.Name, binding.Namespace, binding.RoleRef,
			only{namespace: binding.Namespace, namespaced: []*rbacv1.RoleBinding{binding}})
	}
	return world, nil
}

// NewAuthorizer gives a world that decides as the server does, and knows no reasons.
func NewAuthorizer(objects *Objects, aggregation *Aggregation) (*World, error) {
	clusterRoles, aggregated, err := aggregation.Settle(objects.ClusterRoles)
	if err != nil {
		return nil, err
	}
	world := &World{
		objects:    len(objects.Roles) + len(objects.RoleBindings) + len(objects.ClusterRoles) + len(objects.ClusterRoleBindings),
		bindings:   map[string][]alone{},
		aggregated: aggregated,
	}
	world.listers = listers{
		&rbac.RoleGetter{Lister: rbaclisters.NewRoleLister(index(objects.Roles))},
		&rbac.RoleBindingLister{Lister: rbaclisters.NewRoleBindingLister(index(objects.RoleBindings))},
		&rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(index(clusterRoles))},
		&rbac.ClusterRoleBindingLister{Lister: rbaclisters.NewClusterRoleBindingLister(index(objects.ClusterRoleBindings))},
	}
	world.resolver = validation.NewDefaultRuleResolver(world.listers.roles, world.listers.roleBindings, world.listers.clusterRoles, world.listers.clusterRoleBindings)
	// The server has the short cut of its loopback connections before every other authorizer.
	byRBAC := rbac.New(world.listers.roles, world.listers.roleBindings, world.listers.clusterRoles, world.listers.clusterRoleBindings)
	world.authorizer, err = union.New(
		union.NamedAuthorizer{AuthorizerName: "loopback", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: byRBAC},
	)
	return world, err
}

func index[T any](objects []T) cache.Indexer {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, object := range objects {
		// Only a key function that fails could fail here.
		_ = indexer.Add(object)
	}
	return indexer
}

func (w *World) addAlone(name, namespace string, ref rbacv1.RoleRef, bindings only) {
	one := alone{
		name:       name,
		namespace:  namespace,
		authorizer: rbac.New(w.listers.roles, bindings, w.listers.clusterRoles, bindings),
		resolver:   validation.NewDefaultRuleResolver(w.listers.roles, bindings, w.listers.clusterRoles, bindings),
		locator:    rbac.NewSubjectAccessEvaluator(w.listers.roles, bindings, w.listers.clusterRoles, bindings, ""),
	}
	if _, err := w.resolver.GetRoleReferenceRules(context.Background(), ref, namespace); err != nil {
		one.missing = ref.Kind + "/" + ref.Name
		if ref.Kind == "Role" {
			one.missing = ref.Kind + "/" + namespace + "/" + ref.Name
		}
	}
	w.bindings[namespace] = append(w.bindings[namespace], one)
}

// applying gives the bindings that a request in a namespace can be allowed by.
func (w *World) applying(namespace string) []alone {
	if namespace == "" {
		return w.bindings[""]
	}
	cluster := w.bindings[""]
	return append(cluster[:len(cluster):len(cluster)], w.bindings[namespace]...)
}

// only lists a single binding.
type only struct {
	namespace  string
	namespaced []*rbacv1.RoleBinding
	cluster    []*rbacv1.ClusterRoleBinding
}

func (o only) ListRoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	if namespace != o.namespace {
		return nil, nil
	}
	return o.namespaced, nil
}

func (o only) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return o.cluster, nil
}

// Count is how many objects there are.
func (w *World) Count() int { return w.objects }

// Authorizer decides: first the short cut for system:masters, then RBAC.
func (w *World) Authorizer() authorizer.Authorizer { return w.authorizer }

func sorted(names map[string]bool) []string {
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}
