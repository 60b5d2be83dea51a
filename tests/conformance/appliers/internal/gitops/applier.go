// Package gitops drives the appliers of GitOps: Flux and Argo CD.
package gitops

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

// Patience is how long an applier has for a commit.
const Patience = 2 * time.Minute

// A State is how far an applier is with a commit.
type State int

// The states of an instance.
const (
	Pending State = iota
	// Ready is Ready for Flux, and Synced and Healthy for Argo CD.
	Ready
	// Recovered is Ready after an attempt without success.
	Recovered
	// Failed is an attempt without success.
	Failed
)

// An Applier applies folders of a repository. An instance of it is a Kustomization or an Application.
type Applier interface {
	// Name returns the name of the folder of its delivery objects.
	Name() string
	// Settings returns the part of `spec.delivery` for a repository. With an account, the applier acts as it.
	Settings(repository *source.Repository, account string) string
	// Account returns the user name of an account.
	Account(account string) string
	// Prepare makes the objects that the applier itself needs.
	Prepare(ctx context.Context) error
	// PrepareAccount makes the objects with which an applier acts as an account.
	PrepareAccount(ctx context.Context, account string) error
	// Publish makes a commit of a repository known.
	Publish(ctx context.Context, repository *source.Repository, commit string) error
	// Instances returns the keys of the instances that delivery objects stand for.
	Instances(delivery []*unstructured.Unstructured) ([]cluster.Key, error)
	// State returns how far an instance is with a commit, and the message of a failure.
	State(ctx context.Context, instance cluster.Key, commit string) (State, string, error)
	// Again makes instances compare, and apply what differs, once more.
	Again(ctx context.Context, instances []cluster.Key) error
	// Hurry changes a delivery object so that its instance gives up waiting for its objects soon.
	Hurry(delivery *unstructured.Unstructured)
	// Cascade changes an instance so that its deletion deletes its objects.
	Cascade(ctx context.Context, instance cluster.Key) error
}

// New returns the applier of a name.
func New(name string, server *cluster.Cluster, work string) (Applier, error) {
	switch name {
	case "flux":
		return newFlux(server, work)
	case "argocd":
		return &argocd{server: server}, nil
	default:
		return nil, fmt.Errorf("no applier %q", name)
	}
}

// Namespace returns a Namespace.
func Namespace(name string) *unstructured.Unstructured {
	return object("v1", "Namespace", "", name, nil)
}

func object(version, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	content := map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata}
	for name, value := range fields {
		content[name] = value
	}
	return &unstructured.Unstructured{Object: content}
}

// condition returns the condition of a type; nil if there is none.
func condition(object *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if entry, ok := entry.(map[string]any); ok && entry["type"] == kind {
			return entry
		}
	}
	return nil
}

// text returns the text at a path; empty if there is none.
func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}
