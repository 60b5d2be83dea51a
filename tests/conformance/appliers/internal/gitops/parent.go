package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

// A Parent applies the delivery objects of a workspace, and deletes those that are gone, as an application of the folder would.
type Parent struct {
	Applier   Applier
	Server    *cluster.Cluster
	Workspace *source.Workspace
	// Commit is the last commit, and Failures are the attempts that failed.
	Commit    string
	Failures  []string
	delivered map[cluster.Key]*unstructured.Unstructured
}

// Deliver commits, publishes, and applies the delivery objects.
func (p *Parent) Deliver(ctx context.Context) error {
	commit, err := p.Workspace.Commit()
	if err != nil {
		return err
	}
	p.Commit = commit
	if err := p.Applier.Publish(ctx, p.Workspace.Repository, commit); err != nil {
		return err
	}
	return p.ApplyDelivery(ctx)
}

// ApplyDelivery applies the delivery objects of the last commit.
func (p *Parent) ApplyDelivery(ctx context.Context) error {
	delivery, err := p.Workspace.Delivery(p.Applier.Name())
	if err != nil {
		return err
	}
	if len(delivery) == 0 {
		return fmt.Errorf("no delivery objects of %s in %s", p.Applier.Name(), p.Workspace.Absolute("delivery"))
	}
	if err := p.Server.Apply(ctx, delivery...); err != nil {
		return err
	}
	earlier := p.delivered
	p.delivered = map[cluster.Key]*unstructured.Unstructured{}
	for _, object := range delivery {
		p.delivered[cluster.KeyOf(object)] = object
		delete(earlier, cluster.KeyOf(object))
	}
	for _, object := range earlier {
		if err := p.remove(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a delivery object, and waits until it is gone with its instances.
func (p *Parent) remove(ctx context.Context, object *unstructured.Unstructured) error {
	instances, err := p.Applier.Instances([]*unstructured.Unstructured{object})
	if err != nil {
		return err
	}
	if err := p.Server.Delete(ctx, cluster.KeyOf(object)); err != nil {
		return err
	}
	for _, key := range append([]cluster.Key{cluster.KeyOf(object)}, instances...) {
		gone, err := cluster.Await(ctx, Patience, func() (bool, error) {
			found, err := p.Server.Get(ctx, key)
			return found == nil, err
		})
		if err != nil {
			return err
		}
		if !gone {
			return fmt.Errorf("%w: %s is not deleted in time", cluster.ErrDiffers, key)
		}
	}
	return nil
}

// Instances returns the instances of the workspace.
func (p *Parent) Instances() ([]cluster.Key, error) {
	delivery, err := p.Workspace.Delivery(p.Applier.Name())
	if err != nil {
		return nil, err
	}
	return p.Applier.Instances(delivery)
}

// FirstAttempt waits until all instances are ready or have failed, and returns by instance what did not pass at once.
func (p *Parent) FirstAttempt(ctx context.Context) (map[string]string, error) {
	return p.settle(ctx, func(state State) bool { return state != Pending }, Ready)
}

func (p *Parent) settle(ctx context.Context, enough func(State) bool, good ...State) (map[string]string, error) {
	instances, err := p.Instances()
	if err != nil {
		return nil, err
	}
	failures := map[string]string{}
	for _, instance := range instances {
		var state State
		var message string
		_, err := cluster.Await(ctx, Patience, func() (bool, error) {
			var err error
			state, message, err = p.Applier.State(ctx, instance, p.Commit)
			if state == Failed {
				p.Failures = append(p.Failures, instance.Name+": "+message)
			}
			return enough(state), err
		})
		if err != nil {
			return nil, err
		}
		if !slices.Contains(good, state) {
			failures[instance.Name] = message
		}
	}
	return failures, nil
}

// Converge delivers, and waits until all instances are ready. Attempts may fail before.
func (p *Parent) Converge(ctx context.Context) error {
	if err := p.Deliver(ctx); err != nil {
		return err
	}
	failures, err := p.settle(ctx, func(state State) bool { return state == Ready || state == Recovered }, Ready, Recovered)
	if err != nil || len(failures) == 0 {
		return err
	}
	var lines []string
	for name, message := range failures {
		lines = append(lines, name+": "+message)
	}
	return fmt.Errorf("%w: %s", cluster.ErrDiffers, strings.Join(lines, "; "))
}

// Again makes all instances compare and apply once more.
func (p *Parent) Again(ctx context.Context) error {
	instances, err := p.Instances()
	if err != nil {
		return err
	}
	return p.Applier.Again(ctx, instances)
}
