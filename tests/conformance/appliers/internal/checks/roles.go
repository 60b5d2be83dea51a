package checks

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"bailiwick.dev/conformance/appliers/internal/cluster"
	"bailiwick.dev/conformance/appliers/internal/gitops"
)

// team is the namespace of the check of changed roles.
const team = "roles-team"

// changedRole gives Grants another role, with a generated and with a fixed name of the binding.
func (b *bench) changedRole(ctx context.Context) (string, error) {
	parent, err := b.parent("roles")
	if err != nil {
		return "", err
	}
	if err := b.writeGrants(parent, "roles-pods"); err != nil {
		return "", err
	}
	if err := parent.Converge(ctx); err != nil {
		return "", err
	}
	if err := b.bound(ctx, "generated-roles-pods", "roles-pods"); err != nil {
		return "", err
	}
	if err := b.writeGrants(parent, "roles-services"); err != nil {
		return "", err
	}
	if err := parent.Converge(ctx); err != nil {
		return "", err
	}
	for _, name := range []string{"generated-roles-services", "fixed"} {
		if err := b.bound(ctx, name, "roles-services"); err != nil {
			return "", err
		}
	}
	if err := b.gone(ctx, binding("generated-roles-pods")); err != nil {
		return "", err
	}
	control, err := b.withoutForce(ctx, parent)
	if err != nil {
		return "", err
	}
	return "the roles of generated and fixed names converge; without the annotations, a fixed name " + control, nil
}

func binding(name string) cluster.Key {
	return cluster.Key{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding", Namespace: team, Name: name}
}

// writeGrants writes and renders Grants of a role.
func (b *bench) writeGrants(parent *gitops.Parent, role string) error {
	return write(parent.Workspace, map[string]string{
		"bailiwick.yaml": b.configuration(parent.Workspace, settings{name: "roles", targets: []string{"t"}}),
		"policies/team.yaml": namespaceSet("roles", team) + "---\n" + permissionSet("roles-pods", "ClusterRole", "pods") +
			"---\n" + permissionSet("roles-services", "ClusterRole", "services"),
		"policies/grants.yaml": grant("generated", role, "", team) + "---\n" + grant("fixed", role, "fixed", team),
	})
}

// bound waits until a binding binds a role.
func (b *bench) bound(ctx context.Context, name, role string) error {
	bound, err := cluster.Await(ctx, gitops.Patience, func() (bool, error) {
		found, err := b.Server.Get(ctx, binding(name))
		if err != nil || found == nil {
			return false, err
		}
		bound, _, _ := unstructured.NestedString(found.Object, "roleRef", "name")
		return bound == role, nil
	})
	if err == nil && !bound {
		err = differs("%s does not bind %s", binding(name), role)
	}
	return err
}

// withoutForce changes the role again without the annotations of the binding. Flux has to fail then; `kubectl auth reconcile`, which
// Argo CD runs for objects of RBAC, can change a role by itself.
func (b *bench) withoutForce(ctx context.Context, parent *gitops.Parent) (string, error) {
	if err := b.writeGrants(parent, "roles-pods"); err != nil {
		return "", err
	}
	err := editFile(parent.Workspace.Absolute("out/t/namespaces/"+team+".yaml"), func(object *unstructured.Unstructured) {
		if object.GetName() == "fixed" {
			object.SetAnnotations(nil)
		}
	})
	if err != nil {
		return "", err
	}
	if err := parent.Deliver(ctx); err != nil {
		return "", err
	}
	failures, err := parent.Settle(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case len(failures) > 0:
		return "fails", nil
	case b.Applier.Name() == "flux":
		return "", differs("the control does not fail")
	default:
		return "converges, too", b.bound(ctx, "fixed", "roles-pods")
	}
}

// editFile changes the objects of an output file.
func editFile(path string, edit func(*unstructured.Unstructured)) error {
	objects, err := cluster.ReadPath(path)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("no objects in %s", path)
	}
	var text string
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
