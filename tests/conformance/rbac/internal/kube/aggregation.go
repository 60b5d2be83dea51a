package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
)

// sentinel is a role that only the controller sees. It is listed last, so when its turn comes, every other role has
// had its own.
const sentinel = "\x00sentinel"

// Aggregation runs the controller that fills aggregated ClusterRoles. One is enough for many worlds, one at a time.
//
// The controller is driven through what it is given: an informer that tells it of changes, a lister it reads from and
// a client it writes to. All three stand on one map, so a write is seen by the next read, and no time passes.
type Aggregation struct {
	roles   []*rbacv1.ClusterRole
	owned   map[string]bool
	changed bool
	handler cache.ResourceEventHandler
	settled chan struct{}
	// telling is held while the controller is told of a new world. It begins with the first role at once, and could
	// be through before the sentinel is told, whose turn would then come once more, in the next world.
	telling sync.Mutex
}

// NewAggregation starts the controller. It runs until the process ends.
func NewAggregation() *Aggregation {
	a := &Aggregation{settled: make(chan struct{})}
	controller := clusterroleaggregation.NewClusterRoleAggregation(informer{aggregation: a}, client{aggregation: a})
	// A second worker would make the order, and with it the end, unpredictable.
	go controller.Run(context.Background(), 1)
	return a
}

// Settle gives the roles as they are when the controller has nothing left to do, and the rules of the aggregated
// ones. The roles given are not changed.
func (a *Aggregation) Settle(roles []*rbacv1.ClusterRole) ([]*rbacv1.ClusterRole, map[string][]rbacv1.PolicyRule, error) {
	names := []string{}
	for _, role := range roles {
		if role.AggregationRule != nil {
			names = append(names, role.Name)
		}
	}
	aggregated := map[string][]rbacv1.PolicyRule{}
	if len(names) == 0 {
		return roles, aggregated, nil
	}
	if ring := Ring(roles); ring != "" {
		return nil, nil, fmt.Errorf("ClusterRole %q aggregates itself through others, so what it holds depends on the order", ring)
	}
	// The controller sleeps while nobody calls its handler, so these are free to change.
	a.roles = append([]*rbacv1.ClusterRole(nil), roles...)
	a.owned = map[string]bool{}
	a.changed = false
	a.telling.Lock()
	a.handler.OnAdd(roles[0], false)
	a.telling.Unlock()
	select {
	case <-a.settled:
	case <-time.After(time.Minute):
		return nil, nil, errors.New("the aggregation controller does not settle")
	}
	for _, name := range names {
		aggregated[name] = a.find(name).Rules
	}
	return a.roles, aggregated, nil
}

// Ring names a role that is aggregated from itself by way of another one; "" when there is none.
func Ring(roles []*rbacv1.ClusterRole) string {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(role *rbacv1.ClusterRole) bool
	visit = func(role *rbacv1.ClusterRole) bool {
		if role.AggregationRule == nil || state[role.Name] == done {
			return false
		}
		if state[role.Name] == open {
			return true
		}
		state[role.Name] = open
		for _, given := range role.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&given)
			if err != nil {
				// The controller would try it for ever.
				return true
			}
			for _, other := range roles {
				if other.Name != role.Name && selector.Matches(labels.Set(other.Labels)) && visit(other) {
					return true
				}
			}
		}
		state[role.Name] = done
		return false
	}
	for _, role := range roles {
		if visit(role) {
			return role.Name
		}
	}
	return ""
}

func (a *Aggregation) find(name string) *rbacv1.ClusterRole {
	for _, role := range a.roles {
		if role.Name == name {
			return role
		}
	}
	return nil
}

// informer hands out the one thing that the controller wants of it.
type informer struct {
	cache.SharedIndexInformer
	aggregation *Aggregation
}

func (i informer) Informer() cache.SharedIndexInformer   { return i }
func (i informer) Lister() rbaclisters.ClusterRoleLister { return lister{aggregation: i.aggregation} }
func (i informer) HasSynced() bool                       { return true }
func (i informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.aggregation.handler = handler
	return nil, nil
}

// lister also notices the end: the turn of the sentinel with nothing changed since its last one.
type lister struct {
	rbaclisters.ClusterRoleLister
	aggregation *Aggregation
}

func (l lister) List(selector labels.Selector) ([]*rbacv1.ClusterRole, error) {
	var found []*rbacv1.ClusterRole
	for _, role := range l.aggregation.roles {
		if selector.Matches(labels.Set(role.Labels)) {
			found = append(found, role)
		}
	}
	if selector.Empty() {
		found = append(found, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: sentinel}, AggregationRule: &rbacv1.AggregationRule{}})
	}
	return found, nil
}

func (l lister) Get(name string) (*rbacv1.ClusterRole, error) {
	l.aggregation.telling.Lock()
	defer l.aggregation.telling.Unlock()
	if name == sentinel {
		if l.aggregation.changed {
			l.aggregation.changed = false
			l.aggregation.handler.OnUpdate(nil, nil)
		} else {
			l.aggregation.settled <- struct{}{}
		}
	} else if role := l.aggregation.find(name); role != nil {
		return role, nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrole"), name)
}

// client does what server-side apply does to `rules`, the only field that the controller sends: it takes the field
// over by force, and it takes it away when it has nothing to say any more. But rules that somebody else wrote stay
// when the controller never had any.
type client struct {
	rbacclient.ClusterRoleInterface
	aggregation *Aggregation
}

func (c client) ClusterRoles() rbacclient.ClusterRoleInterface { return c }

func (c client) Apply(_ context.Context, applied *rbacv1ac.ClusterRoleApplyConfiguration, _ metav1.ApplyOptions) (*rbacv1.ClusterRole, error) {
	a := c.aggregation
	for index, role := range a.roles {
		if role.Name != *applied.Name {
			continue
		}
		if len(applied.Rules) == 0 && !a.owned[role.Name] {
			return role, nil
		}
		a.owned[role.Name] = true
		written := role.DeepCopy()
		written.Rules = nil
		for _, rule := range applied.Rules {
			written.Rules = append(written.Rules, rbacv1.PolicyRule{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources,
				ResourceNames: rule.ResourceNames, NonResourceURLs: rule.NonResourceURLs,
			})
		}
		a.roles[index] = written
		a.changed = true
		a.handler.OnUpdate(role, written)
		return written, nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrole"), *applied.Name)
}
