// Package world makes clusters of Kubernetes 1.24 with PodSecurityPolicies, whose every pod the code of 1.24 has admitted.
package world

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"bailiwick.dev/conformance/psp/internal/server"
)

// An Entry is a workload, or a pod whose owner is not in the dump, with what happens to its pods.
type Entry struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Creator is the user that creates the pods.
	Creator server.Creator `json:"creator"`
	// Policy is the PodSecurityPolicy of a pod that is created now; empty for a rejected pod.
	Policy string `json:"policy"`
	// Rejection is the message for a rejected pod.
	Rejection string `json:"rejection,omitempty"`
	// Root is the workload that owns this one in the dump, as `KIND NAME`; empty for most.
	Root string `json:"root,omitempty"`
	// Pods are the names of the pods that run.
	Pods []string `json:"pods"`
	// Object is the workload in the dump.
	Object json.RawMessage `json:"object"`
	// Pod is the pod that the creator asks the server for.
	Pod json.RawMessage `json:"pod"`
}

// Key names an entry in messages.
func (e *Entry) Key() string { return e.Kind + " " + e.Namespace + "/" + e.Name }

// A World is the dump of a cluster, and the truth about its workloads.
type World struct {
	Objects []runtime.Object
	Entries []Entry
}

// Options decide a world.
type Options struct {
	Seed       uint64
	Namespaces int
	// Asked gives pods without a template as their creators ask for them, and not as they are stored.
	Asked bool
	// Tenants makes all namespaces beside the system's those of a tenant with a policy of its own.
	Tenants bool
}

// Generate makes the world of a seed.
func Generate(options Options) (*World, error) {
	// The strategies of the server take the suffixes of names from this source.
	utilrand.Seed(int64(options.Seed))
	b := &builder{rand: rand.New(rand.NewPCG(options.Seed, 24)), workers: 2, asked: options.Asked}
	b.policies()
	shared := []func(){b.kubeSystem, b.operators, b.monitoring, b.ingress, b.storage, b.deployer}
	for _, add := range shared {
		add()
	}
	for number := b.namespaces; number < options.Namespaces; number++ {
		if options.Tenants {
			b.workers = 6
			b.tenant(number)
			continue
		}
		team := []func(int){b.tenant, b.tenant, b.tenant, b.relaxed, b.relaxed, b.strict, b.strict, b.guarded, b.mixed, b.people, b.legacy}
		team[b.rand.IntN(len(team))](number)
	}
	return b.run()
}

// A plan is a workload that a cluster is asked to run.
type plan struct {
	workload workload
	creator  server.Creator
	replicas int
	// former is a template that was admitted before the present one, whose pods still run if that is rejected.
	former *corev1.PodTemplateSpec
}

// A workload is an object that brings pods.
type workload interface {
	runtime.Object
	GetNamespace() string
	GetName() string
}

// builder collects the objects of a cluster, and what it is asked to run.
type builder struct {
	rand       *rand.Rand
	objects    []runtime.Object
	plans      []plan
	namespaces int
	asked      bool
	// workers limits the Deployments of a tenant.
	workers int
}

// chance is true in so many of 100 cases.
func (b *builder) chance(percent int) bool { return b.rand.IntN(100) < percent }

// one returns one of some values.
func one[T any](b *builder, values ...T) T { return values[b.rand.IntN(len(values))] }

// run starts the workloads on a server with the objects.
func (b *builder) run() (*World, error) {
	api, err := server.New(slices.DeleteFunc(slices.Clone(b.objects), func(object runtime.Object) bool {
		_, isNamespace := object.(*corev1.Namespace)
		return isNamespace
	}))
	if err != nil {
		return nil, err
	}
	r := &runner{builder: b, api: api, world: &World{Objects: b.objects}}
	for _, plan := range b.plans {
		if err := r.start(plan); err != nil {
			return nil, fmt.Errorf("%T %s/%s: %w", plan.workload, plan.workload.GetNamespace(), plan.workload.GetName(), err)
		}
	}
	return r.world, nil
}

// isGenuine is an error for a rejection that is not about policies: the world is then wrong, and not the cluster.
func isGenuine(fate *server.Fate) error {
	if fate.Policy == "" && !strings.Contains(fate.Rejection, "PodSecurityPolicy: ") {
		return fmt.Errorf("the pod is not valid: %s", fate.Rejection)
	}
	return nil
}
