package checks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/internal/cluster"
)

// The targets of the workspace of the repository for the release of the server.
var steadyTargets = []string{"modern", "nodes", "stacks", "toolforge-modern"}

// drifting is an aggregated role with rules: the controller of aggregated roles and the applier overwrite each other.
const drifting = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: drifting}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {conformance.example/drifting: "true"}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: drifting-part, labels: {conformance.example/drifting: "true"}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`

// steady checks that the targets of the workspace converge, that more passes change nothing, and that edits are repaired.
func (b *bench) steady(ctx context.Context) (string, error) {
	parent, err := b.parent("steady")
	if err != nil {
		return "", err
	}
	targets := steadyTargets
	if b.Short {
		targets = targets[:1]
	}
	if err := b.copyRoot(parent, targets); err != nil {
		return "", err
	}
	if err := b.makeGiven(ctx, parent); err != nil {
		return "", err
	}
	if err := parent.Converge(ctx); err != nil {
		return "", err
	}
	passes := 3
	if b.Short {
		passes = 1
	}
	count, changed, err := b.pass(ctx, parent, passes)
	if err != nil {
		return "", err
	}
	if len(changed) > 0 {
		return "", differs("more passes change %s", strings.Join(changed, ", "))
	}
	if err := b.repaired(ctx, parent); err != nil {
		return "", err
	}
	if err := b.drift(ctx); err != nil {
		return "", err
	}
	b.note(parent)
	return fmt.Sprintf("%s are ready; %d passes change none of %d objects, edits are repaired; the control drifts", strings.Join(targets, ", "), passes, count), nil
}

// copyRoot copies the workspace of the repository, with delivery objects.
func (b *bench) copyRoot(parent *gitops.Parent, targets []string) error {
	workspace := parent.Workspace
	for _, folder := range []string{"policies", "templates"} {
		if err := os.CopyFS(workspace.Absolute(folder), os.DirFS(filepath.Join(b.Root, folder))); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(filepath.Join(b.Root, "bailiwick.yaml"))
	if err != nil {
		return err
	}
	before, after, found := strings.Cut(string(text), "\nspec:\n")
	if !found {
		return fmt.Errorf("no spec in %s/bailiwick.yaml", b.Root)
	}
	configuration := before + "\nspec:\n" + b.delivery(workspace, settings{}) + after
	var chosen []string
	for _, target := range targets {
		chosen = append(chosen, "--target", target)
	}
	return write(workspace, map[string]string{"bailiwick.yaml": configuration}, chosen...)
}

// makeGiven makes the namespaces that the output takes as given.
func (b *bench) makeGiven(ctx context.Context, parent *gitops.Parent) error {
	objects, err := parent.Workspace.Objects()
	if err != nil {
		return err
	}
	made := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			made[object.GetName()] = true
		}
	}
	for _, object := range objects {
		name := object.GetNamespace()
		if name == "" || made[name] {
			continue
		}
		made[name] = true
		if err := b.Server.Apply(ctx, gitops.Namespace(name)); err != nil {
			return err
		}
	}
	return nil
}

// pass makes more passes, and returns the number of objects and those that changed.
func (b *bench) pass(ctx context.Context, parent *gitops.Parent, passes int) (int, []string, error) {
	keys, err := keys(parent.Workspace)
	if err != nil {
		return 0, nil, err
	}
	before, err := b.Server.Versions(ctx, keys)
	if err != nil {
		return 0, nil, err
	}
	for range passes {
		if err := parent.Again(ctx); err != nil {
			return 0, nil, err
		}
		// The controllers of Kubernetes have their turn.
		time.Sleep(time.Second)
	}
	after, err := b.Server.Versions(ctx, keys)
	return len(keys), changes(before, after), err
}

// repaired edits a binding and deletes another, and waits until both are as they were.
func (b *bench) repaired(ctx context.Context, parent *gitops.Parent) error {
	objects, err := parent.Workspace.Objects()
	if err != nil {
		return err
	}
	var bindings []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == "RoleBinding" {
			bindings = append(bindings, object)
		}
	}
	if len(bindings) < 2 {
		return fmt.Errorf("%d bindings in the workspace", len(bindings))
	}
	edited, deleted := bindings[0], bindings[1]
	subjects := []any{map[string]any{"kind": "User", "name": "mallory", "apiGroup": "rbac.authorization.k8s.io"}}
	if err := b.Server.Patch(ctx, cluster.KeyOf(edited), map[string]any{"subjects": subjects}); err != nil {
		return err
	}
	if err := b.Server.Delete(ctx, cluster.KeyOf(deleted)); err != nil {
		return err
	}
	if err := parent.Again(ctx); err != nil {
		return err
	}
	repaired, err := cluster.Await(ctx, gitops.Patience, func() (bool, error) {
		first, err := b.Server.Get(ctx, cluster.KeyOf(edited))
		if err != nil || first == nil {
			return false, err
		}
		second, err := b.Server.Get(ctx, cluster.KeyOf(deleted))
		subjects := fmt.Sprint(first.Object["subjects"])
		return second != nil && !strings.Contains(subjects, "mallory"), err
	})
	if err == nil && !repaired {
		err = differs("%s and %s are not repaired", cluster.KeyOf(edited), cluster.KeyOf(deleted))
	}
	return err
}

// drift is the control: an object that an applier and a controller overwrite in turn has to change with more passes.
func (b *bench) drift(ctx context.Context) error {
	parent, err := b.parent("drifting")
	if err != nil {
		return err
	}
	workspace := parent.Workspace
	files := map[string]string{
		"bailiwick.yaml":      b.configuration(workspace, settings{name: "drifting", targets: []string{"t"}}),
		"policies/teams.yaml": namespaceSet("drifting", "drifting"),
	}
	if err := write(workspace, files); err != nil {
		return err
	}
	if err := workspace.Write("out/t/cluster/clusterrole.yaml", drifting); err != nil {
		return err
	}
	if err := parent.Deliver(ctx); err != nil {
		return err
	}
	role := cluster.Key{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "drifting"}
	there, err := cluster.Await(ctx, gitops.Patience, func() (bool, error) {
		found, err := b.Server.Get(ctx, role)
		return found != nil, err
	})
	if err != nil || !there {
		return fmt.Errorf("%s is not applied in time: %w", role, err)
	}
	_, changed, err := b.pass(ctx, parent, 3)
	if err == nil && len(changed) == 0 {
		err = differs("the control does not drift")
	}
	// The role would drift during the other checks, too.
	if err == nil {
		err = b.abandon(ctx, parent)
	}
	return err
}

// abandon deletes the instances of a workspace; its objects stay.
func (b *bench) abandon(ctx context.Context, parent *gitops.Parent) error {
	instances, err := parent.Instances()
	if err != nil {
		return err
	}
	for _, instance := range instances {
		if err := b.Server.Delete(ctx, instance); err != nil {
			return err
		}
	}
	return nil
}
