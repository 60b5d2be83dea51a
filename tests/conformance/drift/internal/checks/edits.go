package checks

import (
	"context"
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/internal/cluster"
)

// Classes of findings.
const (
	missing   = "missing"
	changed   = "changed"
	unmanaged = "unmanaged"
	// silent is an edit of a field that decides nothing.
	silent = ""
)

const rbac = "rbac.authorization.k8s.io/v1"

// An edit changes one object of the server.
type edit struct {
	class  string
	object cluster.Key
	// manager is the field manager of the edit. The server records none for a deletion, for the removal of a field, and for an
	// object without fields.
	manager string
	undo    func(context.Context) error
}

// An editor makes random edits of objects.
type editor struct {
	server  *cluster.Cluster
	random  *rand.Rand
	objects []*unstructured.Unstructured
	// number is the number of edits so far.
	number int
	// edited has the objects with an edit.
	edited map[cluster.Key]bool
}

// edit makes an edit of an object without one.
func (e *editor) edit(ctx context.Context) (*edit, error) {
	e.number++
	if e.random.IntN(3) == 0 {
		return e.foreign(ctx)
	}
	for {
		object := e.objects[e.random.IntN(len(e.objects))]
		key := cluster.KeyOf(object)
		if e.edited[key] {
			continue
		}
		live, err := e.server.Get(ctx, key)
		if err != nil || live == nil {
			return nil, fmt.Errorf("%s is not there: %v", key, err)
		}
		made, err := e.change(ctx, key, live)
		if made != nil || err != nil {
			e.edited[key] = true
			return made, err
		}
	}
}

// change edits a live object of the policies; none if the random edit does not fit the object.
func (e *editor) change(ctx context.Context, key cluster.Key, live *unstructured.Unstructured) (*edit, error) {
	saved := live.DeepCopy()
	kind := key.Kind
	if e.random.IntN(4) == 0 && kind != "Namespace" {
		undo := func(ctx context.Context) error { return e.server.Create(ctx, bare(saved), "restorer") }
		return &edit{class: missing, object: key, undo: undo}, e.server.Delete(ctx, key)
	}
	made := &edit{class: changed, object: key, manager: fmt.Sprintf("editor-%d", e.number), undo: e.restore(saved)}
	isBinding := kind == "RoleBinding" || kind == "ClusterRoleBinding"
	isRole := kind == "Role" || kind == "ClusterRole"
	var err error
	switch choice := e.random.IntN(4); {
	case choice == 0:
		made.class = silent
		err = unstructured.SetNestedField(live.Object, "yes", "metadata", "labels", "example.org/extra")
	case isBinding && choice == 1:
		live.Object["subjects"] = []any{e.subject()}
	case isBinding:
		subjects, _, _ := unstructured.NestedSlice(live.Object, "subjects")
		live.Object["subjects"] = append(subjects, e.subject())
	case isRole:
		rules, _, _ := unstructured.NestedSlice(live.Object, "rules")
		live.Object["rules"] = append(rules, e.rule())
	case kind == "Namespace" && choice == 1:
		err = unstructured.SetNestedField(live.Object, "privileged", "metadata", "labels", "pod-security.kubernetes.io/enforce")
	case kind == "Namespace" && choice == 2:
		made.manager = ""
		unstructured.RemoveNestedField(live.Object, "metadata", "labels", "pod-security.kubernetes.io/enforce")
	case kind == "Namespace":
		err = unstructured.SetNestedField(live.Object, "nobody", "metadata", "annotations", "example.org/contact")
	case kind == "ResourceQuota":
		err = unstructured.SetNestedField(live.Object, fmt.Sprint(50+e.number), "spec", "hard", "pods")
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return made, e.server.Update(ctx, live, fmt.Sprintf("editor-%d", e.number))
}

// restore returns a function that restores an object as it was.
func (e *editor) restore(saved *unstructured.Unstructured) func(context.Context) error {
	return func(ctx context.Context) error {
		restored := saved.DeepCopy()
		restored.SetResourceVersion("")
		return e.server.Update(ctx, restored, "restorer")
	}
}

// foreign creates an object that no policy writes.
func (e *editor) foreign(ctx context.Context) (*edit, error) {
	name, namespace := fmt.Sprintf("foreign-%d", e.number), e.namespace()
	object := map[string]any{"apiVersion": rbac, "metadata": map[string]any{"name": name, "namespace": namespace}}
	class := unmanaged
	switch e.random.IntN(6) {
	case 0:
		object["kind"], object["subjects"] = "RoleBinding", []any{e.subject()}
		object["roleRef"] = map[string]any{"apiGroup": group, "kind": "ClusterRole", "name": "admin"}
	case 1:
		object["kind"], object["subjects"] = "ClusterRoleBinding", []any{user("bob")}
		object["roleRef"] = map[string]any{"apiGroup": group, "kind": "ClusterRole", "name": "system:node-reader-" + name}
		if e.random.IntN(2) == 0 {
			object["roleRef"] = map[string]any{"apiGroup": group, "kind": "ClusterRole", "name": "view"}
		}
		object["metadata"] = map[string]any{"name": name}
	case 2:
		object["kind"], object["rules"] = "Role", []any{e.rule()}
	case 3:
		object["kind"], object["rules"] = "ClusterRole", []any{e.rule()}
		labels := map[string]any{"rbac.authorization.k8s.io/aggregate-to-view": "true"}
		object["metadata"] = map[string]any{"name": name, "labels": labels}
	case 4:
		object["apiVersion"], object["kind"] = "v1", "ServiceAccount"
	default:
		class = silent
		object["apiVersion"], object["kind"] = "v1", "ConfigMap"
	}
	made := &unstructured.Unstructured{Object: object}
	manager := fmt.Sprintf("editor-%d", e.number)
	edit := &edit{class: class, object: cluster.KeyOf(made), manager: manager}
	edit.undo = func(ctx context.Context) error { return e.server.Delete(ctx, edit.object) }
	if made.GetKind() == "ServiceAccount" {
		edit.manager = ""
	}
	return edit, e.server.Create(ctx, made, manager)
}

const group = "rbac.authorization.k8s.io"

func user(name string) any {
	return map[string]any{"apiGroup": group, "kind": "User", "name": name}
}

func (e *editor) namespace() string {
	return namespaces[e.random.IntN(len(namespaces))]
}

// subject returns a subject of the policies, or another one.
func (e *editor) subject() any {
	switch e.random.IntN(4) {
	case 0:
		return map[string]any{"apiGroup": group, "kind": "Group", "name": "ops"}
	case 1:
		return map[string]any{"kind": "ServiceAccount", "name": "bot", "namespace": e.namespace()}
	case 2:
		return user("alice")
	default:
		return user("mallory")
	}
}

// rule returns a rule of a role.
func (e *editor) rule() any {
	resources := []string{"secrets", "pods", "pods/exec", "deployments", "*", "configmaps"}
	groups := map[string]string{"deployments": "apps", "*": "*"}
	resource := resources[e.random.IntN(len(resources))]
	verbs := [][]any{{"get"}, {"get", "list", "watch"}, {"create"}, {"*"}, {"delete", "patch"}}
	return map[string]any{
		"apiGroups": []any{groups[resource]}, "resources": []any{resource}, "verbs": verbs[e.random.IntN(len(verbs))],
	}
}

// bare returns an object without the fields of the server.
func bare(object *unstructured.Unstructured) *unstructured.Unstructured {
	copied := object.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(copied.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(copied.Object, "status")
	return copied
}
