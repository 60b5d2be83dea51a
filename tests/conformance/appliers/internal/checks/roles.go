package checks

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/internal/cluster"
)

// changedRole gives Grants another role, with a generated and with a fixed name of the binding.
func (b *bench) changedRole(ctx context.Context) (string, error) {
	parent, err := b.changeRole(ctx, "roles", true)
	if err != nil {
		return "", err
	}
	if err := parent.Converge(ctx); err != nil {
		return "", err
	}
	for _, name := range []string{"generated-roles-services", "fixed"} {
		if err := b.bound(ctx, binding("roles", name), "roles-services"); err != nil {
			return "", err
		}
	}
	if err := b.gone(ctx, binding("roles", "generated-roles-pods")); err != nil {
		return "", err
	}
	b.note(parent)
	control, err := b.withoutForce(ctx)
	return "the roles of generated and fixed names converge; without the annotations, a fixed name " + control, err
}

// changeRole delivers Grants of one role, and commits Grants of another. Without annotations, the bindings are as if the program did not
// know the appliers.
func (b *bench) changeRole(ctx context.Context, name string, annotated bool) (*gitops.Parent, error) {
	parent, err := b.parent(name)
	if err != nil {
		return nil, err
	}
	if err := b.writeGrants(parent, name, name+"-pods", annotated); err != nil {
		return nil, err
	}
	if err := parent.Converge(ctx); err != nil {
		return nil, err
	}
	if err := b.writeGrants(parent, name, name+"-services", annotated); err != nil {
		return nil, err
	}
	return parent, nil
}

func binding(workspace, name string) cluster.Key {
	return cluster.Key{Group: rbacGroup, Version: "v1", Kind: "RoleBinding", Namespace: workspace + "-team", Name: name}
}

// writeGrants writes and renders Grants of a role.
func (b *bench) writeGrants(parent *gitops.Parent, name, role string, annotated bool) error {
	team := name + "-team"
	err := write(parent.Workspace, map[string]string{
		"bailiwick.yaml": b.configuration(parent.Workspace, settings{name: name, targets: []string{"t"}}),
		"policies/team.yaml": namespaceSet(name, team) + "---\n" + permissionSet(name+"-pods", "ClusterRole", "pods") +
			"---\n" + permissionSet(name+"-services", "ClusterRole", "services"),
		"policies/grants.yaml": grant("generated", role, "", team) + "---\n" + grant("fixed", role, "fixed", team),
	})
	if err != nil || annotated {
		return err
	}
	return editFile(parent.Workspace.Absolute("out/t/namespaces/"+team+".yaml"), unannotate("RoleBinding"))
}

// bound waits until a binding binds a role.
func (b *bench) bound(ctx context.Context, binding cluster.Key, role string) error {
	bound, err := cluster.Await(ctx, gitops.Patience, func() (bool, error) {
		found, err := b.Server.Get(ctx, binding)
		if err != nil || found == nil {
			return false, err
		}
		bound, _, _ := unstructured.NestedString(found.Object, "roleRef", "name")
		return bound == role, nil
	})
	if err == nil && !bound {
		err = differs("%s does not bind %s", binding, role)
	}
	return err
}

// withoutForce is the control: it changes a role without the annotations of the binding. Flux has to fail then. `kubectl auth reconcile`,
// which Argo CD runs for objects of RBAC, can change a role by itself.
func (b *bench) withoutForce(ctx context.Context) (string, error) {
	parent, err := b.changeRole(ctx, "unforced", false)
	if err != nil {
		return "", err
	}
	if err := parent.Deliver(ctx); err != nil {
		return "", err
	}
	failures, err := parent.FirstAttempt(ctx)
	switch {
	case err != nil:
		return "", err
	case len(failures) > 0:
		return "fails", nil
	case b.Applier.Name() == "flux":
		return "", differs("the control does not fail")
	default:
		return "converges, too", b.bound(ctx, binding("unforced", "fixed"), "unforced-services")
	}
}

// unannotate returns an edit that removes the annotations of the objects of a kind.
func unannotate(kind string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		if object.GetKind() == kind {
			object.SetAnnotations(nil)
		}
	}
}

// editFile changes the objects of an output file. The header stays: the file is still the program's.
func editFile(path string, edit func(*unstructured.Unstructured)) error {
	objects, err := cluster.ReadPath(path)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("no objects in %s", path)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, _, _ := strings.Cut(string(written), "\n")
	text += "\n"
	for _, object := range objects {
		edit(object)
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		text += "---\n" + string(document)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
