// Package syncer runs the label syncer of OpenShift itself on a world, and tells what it does to each namespace.
package syncer

import (
	"context"
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openshift/cluster-policy-controller/pkg/psalabelsyncer"
	"github.com/openshift/library-go/pkg/controller/factory"
	"github.com/openshift/library-go/pkg/operator/events"

	"bailiwick.dev/conformance/openshift/internal/worlds"
)

// Outcome is what the syncer does to a namespace.
type Outcome struct {
	// Controlled tells whether it cares for it.
	Controlled bool
	// Failed tells that it gave an error, or crashed.
	Failed bool
	// Wrote tells that it wrote labels: these, with or without force.
	Wrote  bool
	Labels map[string]string
	Forced bool
	// Usable are the constraints that each service account may use.
	Usable map[string][]string
}

// Runner is the syncer with a world before it.
type Runner struct {
	world      *worlds.World
	controller factory.Controller
	client     *client
	access     psalabelsyncer.SAToSCCCache
	controlled func(any) bool
	namespaces map[string]*corev1.Namespace
}

// New starts the syncer on a world.
func New(world *worlds.World) (*Runner, error) {
	namespaces, accounts := namespaces{newInformer()}, accounts{newInformer()}
	constraints := constraints{newInformer()}
	rbac := rbac{roles{newInformer()}, clusterRoles{newInformer()}, roleBindings{newInformer()}, clusterRoleBindings{newInformer()}}
	runner := &Runner{world: world, client: &client{}, namespaces: map[string]*corev1.Namespace{}}
	recorder := events.NewInMemoryRecorder("conformance")
	start := psalabelsyncer.NewEnforcingPodSecurityAdmissionLabelSynchronizationController
	if world.Mode == "advising" {
		start = psalabelsyncer.NewAdvisingPodSecurityAdmissionLabelSynchronizationController
	}
	controller, err := start(runner.client, namespaces, rbac, accounts, constraints, recorder)
	if err != nil {
		return nil, err
	}
	runner.controller = controller
	runner.access = psalabelsyncer.NewSAToSCCCache(rbac, constraints)
	for _, handler := range namespaces.handlers {
		if filtered, ok := handler.(cache.FilteringResourceEventHandler); ok {
			runner.controlled = filtered.FilterFunc
		}
	}
	if runner.controlled == nil {
		return nil, fmt.Errorf("the syncer does not tell which namespaces it cares for")
	}
	// Everything is there before anybody is told, as after the first list of a cluster.
	type added struct {
		where  *informer
		object any
	}
	var all []added
	for _, object := range world.Namespaces {
		runner.namespaces[object.Name] = object
		all = append(all, added{namespaces.informer, object})
	}
	for _, object := range world.Accounts {
		all = append(all, added{accounts.informer, object})
	}
	for _, object := range world.Roles {
		all = append(all, added{rbac.roles.informer, object})
	}
	for _, object := range world.ClusterRoles {
		all = append(all, added{rbac.clusterRoles.informer, object})
	}
	for _, object := range world.RoleBindings {
		all = append(all, added{rbac.roleBindings.informer, object})
	}
	for _, object := range world.ClusterRoleBindings {
		all = append(all, added{rbac.clusterRoleBindings.informer, object})
	}
	for _, object := range world.Constraints {
		all = append(all, added{constraints.informer, object})
	}
	for _, each := range all {
		if err := each.where.put(each.object); err != nil {
			return nil, err
		}
	}
	for _, each := range all {
		// The queue is nobody's here; only what the syncer remembers of roles and constraints counts.
		if each.where == rbac.roles.informer || each.where == rbac.clusterRoles.informer || each.where == constraints.informer {
			each.where.tell(each.object)
		}
	}
	return runner, nil
}

// Run syncs a namespace once.
func (r *Runner) Run(name string) (outcome Outcome) {
	namespace := r.namespaces[name]
	outcome.Usable = map[string][]string{}
	for _, account := range r.world.Accounts {
		if account.Namespace != name {
			continue
		}
		usable, err := r.access.SCCsFor(account)
		if err != nil {
			outcome.Failed = true
			return outcome
		}
		list := append([]string{}, usable.List()...)
		sort.Strings(list)
		outcome.Usable[account.Name] = list
	}
	outcome.Controlled = r.controlled(namespace)
	*r.client = client{before: namespace}
	defer func() {
		// It crashes on a kind of volume that it does not know.
		if recover() != nil {
			outcome.Failed = true
		}
	}()
	if err := r.controller.Sync(context.Background(), syncContext{name}); err != nil {
		outcome.Failed = true
		return outcome
	}
	if applied := r.client.applied; applied != nil {
		outcome.Wrote, outcome.Labels, outcome.Forced = true, applied.Labels, r.client.forced
	}
	return outcome
}
