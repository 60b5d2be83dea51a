package paths

import (
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var everything = []any{object{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"*"}}}

func userSubject(name string) object {
	return object{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}
}

// adminBinding binds users to the role of administrators.
func adminBinding(name string, users ...string) object {
	subjects := []any{}
	for _, user := range users {
		subjects = append(subjects, userSubject(user))
	}
	return object{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": name},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": subjects,
	}
}

func bindRole(w *walk) error {
	if err := w.try(post(rbac("clusterrolebindings"), adminBinding("seized", attacker))); err != nil {
		return err
	}
	return w.takesCrownAfterWrite()
}

func bindNamedRole(w *walk) error {
	binding := adminBinding("seized", attacker)
	binding["roleRef"] = object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "strong"}
	if err := w.try(post(rbac("clusterrolebindings"), binding)); err != nil {
		return err
	}
	return w.takesCrownAfterWrite()
}

// joinBinding becomes a subject of a binding of others. The role of a binding never changes.
func joinBinding(w *walk) error {
	binding := rbac("namespaces/shop/rolebindings/keepers")
	other := object{"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}}
	if err := w.denied(patch(binding, other)); err != nil {
		return err
	}
	if err := w.denied(post(rbac("namespaces/shop/rolebindings"), object{
		"metadata": object{"name": "seized"}, "roleRef": other["roleRef"], "subjects": []any{userSubject(attacker)},
	})); err != nil {
		return err
	}
	if err := w.try(patch(binding, object{"subjects": []any{userSubject(attacker)}})); err != nil {
		return err
	}
	return w.takesTillAfterWrite()
}

// takesTillAfterWrite reads a Secret of the namespace as the attacker, after the authorizer has seen a write.
func (w *walk) takesTillAfterWrite() error {
	if err := w.heeded(w); err != nil {
		return err
	}
	return w.try(get(url("shop", "secrets/till")))
}

func escalateOwnRole(w *walk) error {
	if err := w.try(patch(rbac("namespaces/shop/roles/"+attacker), object{"rules": everything})); err != nil {
		return err
	}
	return w.takesTillAfterWrite()
}

// escalateNewRole binds a new Role while it is empty, and gives it rules then. A Role with rules of others is not bound.
func escalateNewRole(w *walk) error {
	roles, bindings := rbac("namespaces/shop/roles"), rbac("namespaces/shop/rolebindings")
	binding := func(role string) object {
		return object{
			"metadata": object{"name": role}, "subjects": []any{userSubject(attacker)},
			"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
		}
	}
	if err := w.try(post(roles, object{"metadata": object{"name": "full"}, "rules": everything})); err != nil {
		return err
	}
	if err := w.denied(post(bindings, binding("full"))); err != nil {
		return err
	}
	if err := w.denied(post(bindings, binding("absent"))); err != nil {
		return err
	}
	if err := w.try(post(roles, object{"metadata": object{"name": "empty"}, "rules": []any{}})); err != nil {
		return err
	}
	if err := w.heeded(w); err != nil {
		return err
	}
	if err := w.try(post(bindings, binding("empty"))); err != nil {
		return err
	}
	if err := w.try(patch(roles+"/empty", object{"rules": everything})); err != nil {
		return err
	}
	return w.takesTillAfterWrite()
}

func escalateRole(w *walk) error {
	if err := w.try(patch(rbac("clusterroles/"+attacker), object{"rules": everything})); err != nil {
		return err
	}
	return w.takesCrownAfterWrite()
}

func writeRbac(w *walk) error {
	if err := w.try(post(rbac("clusterrolebindings"), adminBinding("shared", "accomplice"))); err != nil {
		return err
	}
	if err := w.heeded(w); err != nil {
		return err
	}
	accomplice, err := w.certified(w.authority, "accomplice")
	if err != nil {
		return err
	}
	return w.takesCrown(accomplice)
}

// aggregate writes a role that the controller gathers into a role of the attacker.
func aggregate(w *walk) error {
	role := object{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": object{"name": "added", "labels": object{"example.org/gather": "yes"}}, "rules": everything,
	}
	if err := w.try(post(rbac("clusterroles"), role)); err != nil {
		return err
	}
	err := await("gathered rules", func() (bool, error) {
		held, err := w.admin.must(w, get(rbac("clusterroles/gathered")))
		rules, _, _ := unstructured.NestedSlice(held, "rules")
		return len(rules) > 0, err
	})
	if err != nil {
		return err
	}
	return w.takesCrownAfterWrite()
}

func driveGitops(w *walk) error {
	const applications = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
	return w.drive(applications, object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": object{"name": "seized"},
		"spec": object{"destination": object{"namespace": "kube-system"}},
	})
}

func driveInstaller(w *walk) error {
	const subscriptions = "/apis/operators.coreos.com/v1alpha1/namespaces/olm/subscriptions"
	return w.drive(subscriptions, object{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": object{"name": "seized"},
		"spec": object{"name": "thief"},
	})
}

// drive writes an object that a controller of another project follows.
func (w *walk) drive(collection string, order object) error {
	if err := w.served(collection); err != nil {
		return err
	}
	if err := w.try(post(collection, order)); err != nil {
		return err
	}
	return await("stored order", func() (bool, error) {
		given, err := w.admin.send(w, get(collection+"/seized"))
		return given.status == http.StatusOK, err
	})
}
