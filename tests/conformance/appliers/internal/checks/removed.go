package checks

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

// The targets of the check of removed namespaces. The last two are without an annotation in the cluster: the first of them by its
// policy, and the control by an edit.
var removals = []string{"keep", "confirm", "delete", "bare"}

// approved is the approval of a person for Argo CD.
const approved = "argocd.argoproj.io/deletion-approved"

// removedNamespace removes a namespace from the policies of each target.
func (b *bench) removedNamespace(ctx context.Context) (string, error) {
	parent, err := b.parent("removal")
	if err != nil {
		return "", err
	}
	if err := b.writeRemovals(parent.Workspace, true); err != nil {
		return "", err
	}
	if err := editFile(parent.Workspace.Absolute("out/bare/namespaces/bare-goes.yaml"), unannotate("Namespace")); err != nil {
		return "", err
	}
	if err := parent.Converge(ctx); err != nil {
		return "", err
	}
	for _, target := range removals {
		if err := b.Server.Apply(ctx, foreign(target)); err != nil {
			return "", err
		}
	}
	confirmed := []string{"--delete-namespace", "delete-goes", "--delete-namespace", "bare-goes"}
	if err := b.writeRemovals(parent.Workspace, false, confirmed...); err != nil {
		return "", err
	}
	if err := parent.Deliver(ctx); err != nil {
		return "", err
	}
	if err := b.confirmed(ctx, parent); err != nil {
		return "", err
	}
	for _, target := range []string{"delete", "bare"} {
		if err := b.gone(ctx, goingNamespace(target)); err != nil {
			return "", err
		}
	}
	if err := b.kept(ctx, parent, "keep"); err != nil {
		return "", err
	}
	return "a kept namespace stays with a ConfigMap of others, and our Role goes; a deleted one goes, and so does the control", nil
}

// writeRemovals writes and renders the targets, with or without the namespaces that go.
func (b *bench) writeRemovals(workspace *source.Workspace, all bool, arguments ...string) error {
	files := map[string]string{
		"bailiwick.yaml":       b.configuration(workspace, settings{name: "removal", targets: removals}),
		"policies/reader.yaml": permissionSet("removal-reader", "Role", "pods"),
	}
	for _, target := range removals {
		stays, goes := target+"-stays", target+"-goes"
		entries, granted := []string{stays}, []string{stays}
		if all {
			onRemoval := target
			if target == "bare" {
				onRemoval = "keep"
			}
			entries, granted = append(entries, goes+", onRemoval: "+onRemoval), append(granted, goes)
		}
		text := namespaceSet(target, entries...) + "---\n" + grant(target, "removal-reader", "", granted...)
		files["policies/"+target+".yaml"] = strings.ReplaceAll(text, "\nspec:\n", "\nspec:\n  targets: ["+target+"]\n")
	}
	return write(workspace, files, arguments...)
}

func goingNamespace(target string) cluster.Key {
	return cluster.Key{Version: "v1", Kind: "Namespace", Name: target + "-goes"}
}

func foreign(target string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "foreign", "namespace": target + "-goes"},
		"data": map[string]any{"of": "others"},
	}}
}

// confirmed checks the target with approval: Argo CD waits for it, and Flux keeps the namespace.
func (b *bench) confirmed(ctx context.Context, parent *gitops.Parent) error {
	if b.Applier.Name() == "flux" {
		return b.kept(ctx, parent, "confirm")
	}
	application := cluster.Key{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: "argocd", Name: "removal-confirm"}
	waits := func() (bool, error) {
		found, err := b.Server.Get(ctx, application)
		if err != nil || found == nil {
			return false, err
		}
		phase, _, _ := unstructured.NestedString(found.Object, "status", "operationState", "phase")
		message, _, _ := unstructured.NestedString(found.Object, "status", "operationState", "message")
		return phase == "Running" && strings.Contains(message, "confirmation"), nil
	}
	running, err := cluster.Await(ctx, gitops.Patience, waits)
	if err != nil {
		return err
	}
	if !running {
		return differs("%s does not wait for an approval", application)
	}
	time.Sleep(3 * time.Second)
	if running, err = waits(); err != nil {
		return err
	}
	found, err := b.Server.Get(ctx, goingNamespace("confirm"))
	if err != nil {
		return err
	}
	if !running || found == nil || found.GetDeletionTimestamp() != nil {
		return differs("%s is deleted without an approval", goingNamespace("confirm"))
	}
	if err := b.Server.Annotate(ctx, application, approved, time.Now().UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	return b.gone(ctx, goingNamespace("confirm"))
}

// kept checks that a namespace stays with the object of others, and that our Role in it goes.
func (b *bench) kept(ctx context.Context, parent *gitops.Parent, target string) error {
	role := cluster.Key{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role", Namespace: target + "-goes", Name: "removal-reader"}
	if err := b.gone(ctx, role); err != nil {
		return err
	}
	if err := parent.Again(ctx); err != nil {
		return err
	}
	namespace, err := b.Server.Get(ctx, goingNamespace(target))
	if err != nil {
		return err
	}
	other, err := b.Server.Get(ctx, cluster.KeyOf(foreign(target)))
	if err != nil {
		return err
	}
	if namespace == nil || namespace.GetDeletionTimestamp() != nil || other == nil {
		return differs("%s does not stay with what others have in it", goingNamespace(target))
	}
	return nil
}

// gone waits until an object is not there.
func (b *bench) gone(ctx context.Context, key cluster.Key) error {
	gone, err := cluster.Await(ctx, gitops.Patience, func() (bool, error) {
		found, err := b.Server.Get(ctx, key)
		return found == nil, err
	})
	if err == nil && !gone {
		err = differs("%s does not go", key)
	}
	return err
}

// removedTarget removes a target and checks that no object changes.
func (b *bench) removedTarget(ctx context.Context) (string, error) {
	forms := []string{""}
	if b.Applier.Name() == "argocd" {
		forms = append(forms, "ApplicationSet")
	}
	for _, form := range forms {
		if err := b.removeTargetOf(ctx, form); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("no object changes in %d forms; the control deletes", len(forms)), nil
}

func (b *bench) removeTargetOf(ctx context.Context, form string) error {
	name := "leaving" + strings.ToLower(form)
	parent, err := b.parent(name)
	if err != nil {
		return err
	}
	targets := []string{"stays", "leaves", "cascades"}
	files := map[string]string{"policies/reader.yaml": permissionSet(name+"-reader", "Role", "pods")}
	for _, target := range targets {
		team := name + "-" + target
		text := namespaceSet(target, team) + "---\n" + grant(target, name+"-reader", "", team)
		files["policies/"+target+".yaml"] = strings.ReplaceAll(text, "\nspec:\n", "\nspec:\n  targets: ["+target+"]\n")
	}
	files["bailiwick.yaml"] = b.configuration(parent.Workspace, settings{name: name, targets: targets, form: form})
	if err := write(parent.Workspace, files); err != nil {
		return err
	}
	if err := parent.Converge(ctx); err != nil {
		return err
	}
	changed, err := b.removeTarget(ctx, parent, settings{name: name, targets: []string{"stays", "cascades"}, form: form}, "leaves")
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		return differs("a removed target changes %s", strings.Join(changed, ", "))
	}
	if form != "" {
		return nil
	}
	delivery, err := cluster.ReadPath(parent.Workspace.Absolute("delivery/cascades/" + b.Applier.Name()))
	if err != nil || len(delivery) != 1 {
		return fmt.Errorf("%d delivery objects of a target: %w", len(delivery), err)
	}
	if err := b.Applier.Cascade(ctx, cluster.KeyOf(delivery[0])); err != nil {
		return err
	}
	changed, err = b.removeTarget(ctx, parent, settings{name: name, targets: []string{"stays"}}, "cascades")
	if err == nil && len(changed) == 0 {
		err = differs("the control deletes nothing")
	}
	return err
}

// removeTarget removes a target, and returns the objects of all targets that change.
func (b *bench) removeTarget(ctx context.Context, parent *gitops.Parent, left settings, target string) ([]string, error) {
	keys, err := keys(parent.Workspace)
	if err != nil {
		return nil, err
	}
	before, err := b.Server.Versions(ctx, keys)
	if err != nil {
		return nil, err
	}
	files := map[string]string{"bailiwick.yaml": b.configuration(parent.Workspace, left)}
	if err := os.Remove(parent.Workspace.Absolute("policies/" + target + ".yaml")); err != nil {
		return nil, err
	}
	if err := write(parent.Workspace, files, "--remove-target", target); err != nil {
		return nil, err
	}
	if err := parent.Converge(ctx); err != nil {
		return nil, err
	}
	if err := parent.Again(ctx); err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second)
	after, err := b.Server.Versions(ctx, keys)
	return changes(before, after), err
}
