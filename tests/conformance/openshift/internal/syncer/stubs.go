package syncer

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	securitylisters "github.com/openshift/client-go/security/listers/security/v1"
	"github.com/openshift/library-go/pkg/operator/events"
)

// informer is an informer whose objects are put into it by hand, and whose handlers run at once.
type informer struct {
	cache.SharedIndexInformer
	indexer  cache.Indexer
	handlers []cache.ResourceEventHandler
}

func newInformer() *informer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return &informer{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)}
}

func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, handler)
	return nil, nil
}

func (i *informer) AddIndexers(indexers cache.Indexers) error { return i.indexer.AddIndexers(indexers) }
func (i *informer) GetIndexer() cache.Indexer                 { return i.indexer }
func (i *informer) HasSynced() bool                           { return true }

// put adds an object; tell then tells the handlers of it.
func (i *informer) put(object any) error { return i.indexer.Add(object) }

func (i *informer) tell(object any) {
	for _, handler := range i.handlers {
		handler.OnAdd(object, true)
	}
}

type namespaces struct{ *informer }

func (n namespaces) Informer() cache.SharedIndexInformer { return n.informer }
func (n namespaces) Lister() corelisters.NamespaceLister {
	return corelisters.NewNamespaceLister(n.indexer)
}

type accounts struct{ *informer }

func (a accounts) Informer() cache.SharedIndexInformer { return a.informer }
func (a accounts) Lister() corelisters.ServiceAccountLister {
	return corelisters.NewServiceAccountLister(a.indexer)
}

type constraints struct{ *informer }

func (c constraints) Informer() cache.SharedIndexInformer { return c.informer }
func (c constraints) Lister() securitylisters.SecurityContextConstraintsLister {
	return securitylisters.NewSecurityContextConstraintsLister(c.indexer)
}

type roles struct{ *informer }

func (r roles) Informer() cache.SharedIndexInformer { return r.informer }
func (r roles) Lister() rbaclisters.RoleLister      { return rbaclisters.NewRoleLister(r.indexer) }

type clusterRoles struct{ *informer }

func (c clusterRoles) Informer() cache.SharedIndexInformer { return c.informer }
func (c clusterRoles) Lister() rbaclisters.ClusterRoleLister {
	return rbaclisters.NewClusterRoleLister(c.indexer)
}

type roleBindings struct{ *informer }

func (r roleBindings) Informer() cache.SharedIndexInformer { return r.informer }
func (r roleBindings) Lister() rbaclisters.RoleBindingLister {
	return rbaclisters.NewRoleBindingLister(r.indexer)
}

type clusterRoleBindings struct{ *informer }

func (c clusterRoleBindings) Informer() cache.SharedIndexInformer { return c.informer }
func (c clusterRoleBindings) Lister() rbaclisters.ClusterRoleBindingLister {
	return rbaclisters.NewClusterRoleBindingLister(c.indexer)
}

// rbac gathers the informers of RBAC.
type rbac struct {
	roles               roles
	clusterRoles        clusterRoles
	roleBindings        roleBindings
	clusterRoleBindings clusterRoleBindings
}

func (r rbac) Roles() rbacinformers.RoleInformer               { return r.roles }
func (r rbac) ClusterRoles() rbacinformers.ClusterRoleInformer { return r.clusterRoles }
func (r rbac) RoleBindings() rbacinformers.RoleBindingInformer { return r.roleBindings }
func (r rbac) ClusterRoleBindings() rbacinformers.ClusterRoleBindingInformer {
	return r.clusterRoleBindings
}

// client takes what the syncer sends instead of a server.
type client struct {
	coreclient.NamespaceInterface
	updated bool
	applied *applycorev1.NamespaceApplyConfiguration
	forced  bool
	// before is the namespace that an update came from.
	before *corev1.Namespace
}

// Update is how the syncer gives up labels under its former name.
func (c *client) Update(_ context.Context, namespace *corev1.Namespace, _ metav1.UpdateOptions) (*corev1.Namespace, error) {
	c.updated = true
	return namespace, nil
}

// Apply is how it takes them again under its name of today, and how it writes labels.
func (c *client) Apply(_ context.Context, wanted *applycorev1.NamespaceApplyConfiguration, options metav1.ApplyOptions) (*corev1.Namespace, error) {
	if c.updated {
		c.updated = false
		return takenOver(c.before, wanted, options.FieldManager)
	}
	c.applied, c.forced = wanted, options.Force
	return c.before, nil
}

// takenOver is what a server makes of labels that pass from one manager to another.
func takenOver(namespace *corev1.Namespace, wanted *applycorev1.NamespaceApplyConfiguration, manager string) (*corev1.Namespace, error) {
	taken := namespace.DeepCopy()
	fields := map[string]any{}
	for key, value := range wanted.Labels {
		taken.Labels[key] = value
		fields["f:"+key] = map[string]any{}
	}
	var entries []metav1.ManagedFieldsEntry
	for _, entry := range taken.ManagedFields {
		switch entry.Manager {
		case manager:
			continue
		case "cluster-policy-controller":
			var all map[string]map[string]map[string]any
			if err := json.Unmarshal(entry.FieldsV1.Raw, &all); err != nil {
				return nil, err
			}
			for key := range all["f:metadata"]["f:labels"] {
				if strings.HasPrefix(key, "f:pod-security.kubernetes.io/") {
					delete(all["f:metadata"]["f:labels"], key)
				}
			}
			raw, err := json.Marshal(all)
			if err != nil {
				return nil, err
			}
			entry.FieldsV1 = &metav1.FieldsV1{Raw: raw}
		}
		entries = append(entries, entry)
	}
	raw, err := json.Marshal(map[string]any{"f:metadata": map[string]any{"f:labels": fields}})
	if err != nil {
		return nil, err
	}
	taken.ManagedFields = append(entries, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: raw},
	})
	return taken, nil
}

// context is what a run of the controller is told.
type syncContext struct{ key string }

func (s syncContext) Queue() workqueue.RateLimitingInterface { return nil }
func (s syncContext) QueueKey() string                       { return s.key }
func (s syncContext) Recorder() events.Recorder              { return nil }
