package paths

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds are the kinds that worlds and walks write, in the order of their removal: objects with an effect on requests
// come first.
var kinds = []schema.GroupVersionKind{
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicyBinding"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
	{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "PersistentVolume"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"},
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	{Version: "v1", Kind: "Namespace"},
}

// A stage is a server that gets one world after another.
type stage struct {
	*server
	// own are the objects that the server has without a world.
	own map[string]bool
	// worlds counts the applied worlds.
	worlds int
}

func newStage(ctx context.Context, server *server) (*stage, error) {
	stage := &stage{server: server, own: map[string]bool{}}
	return stage, stage.each(ctx, func(url string, _ object) error {
		stage.own[url] = true
		return nil
	})
}

// each visits every object of the kinds.
func (s *stage) each(ctx context.Context, visit func(url string, held object) error) error {
	for _, kind := range kinds {
		all, err := s.collection(kind, "")
		if err != nil {
			return err
		}
		list, err := s.admin.must(ctx, get(all))
		if err != nil {
			return err
		}
		items, _, _ := unstructured.NestedSlice(list, "items")
		for _, item := range items {
			held, _ := item.(object)
			own, err := s.collection(kind, at(held, "metadata", "namespace"))
			if err != nil {
				return err
			}
			if err := visit(own+"/"+at(held, "metadata", "name"), held); err != nil {
				return err
			}
		}
	}
	return nil
}

// clear removes the objects of the last world and of its walk, until no controller creates one again.
func (s *stage) clear(ctx context.Context) error {
	return await("end of the last world", func() (bool, error) {
		isClear := true
		err := s.clearOnce(ctx, &isClear)
		return isClear, err
	})
}

func (s *stage) clearOnce(ctx context.Context, isClear *bool) error {
	return s.each(ctx, func(url string, held object) error {
		// The server itself removes the APIServices of built-in groups and of definitions.
		_, isRemote, _ := unstructured.NestedMap(held, "spec", "service")
		if s.own[url] || strings.Contains(url, "/apiservices/") && !isRemote {
			return nil
		}
		*isClear = false
		return s.remove(ctx, url, held)
	})
}

// remove deletes an object at once: nothing waits for the controllers behind its finalizers.
func (s *stage) remove(ctx context.Context, url string, held object) error {
	given, err := s.admin.send(ctx, remove(url))
	if err != nil || given.status == http.StatusNotFound {
		return err
	}
	if !given.passed() {
		return fmt.Errorf("DELETE %s: %d %s", url, given.status, given.message)
	}
	isDefinition := strings.Contains(url, "/customresourcedefinitions/")
	switch {
	case strings.HasPrefix(url, "/api/v1/namespaces/") && strings.Count(url, "/") == 4:
		name := at(held, "metadata", "name")
		done := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}, "spec": object{"finalizers": []any{}}}
		_, err = s.admin.send(ctx, put(url+"/finalize", done))
	case held["metadata"].(object)["finalizers"] != nil && !isDefinition:
		_, err = s.admin.send(ctx, patch(url, object{"metadata": object{"finalizers": nil}}))
	}
	if err != nil {
		return err
	}
	return await("end of "+url, func() (bool, error) {
		given, err := s.admin.send(ctx, get(url))
		if given.passed() && !isDefinition {
			// A controller may have put a finalizer back.
			_, err = s.admin.send(ctx, patch(url, object{"metadata": object{"finalizers": nil}}))
		}
		return given.status == http.StatusNotFound, err
	})
}

// apply creates the objects of a world, and waits until the server heeds them.
func (s *stage) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	if err := s.undisturbed(ctx); err != nil {
		return err
	}
	for _, object := range objects {
		url, err := s.collection(object.GroupVersionKind(), object.GetNamespace())
		if err != nil {
			return err
		}
		if _, err := s.admin.must(ctx, post(url, object.Object)); err != nil {
			return err
		}
	}
	if err := s.heeded(ctx); err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() != "Namespace" {
			continue
		}
		level := object.GetLabels()["pod-security.kubernetes.io/enforce"]
		if err := s.levelHeeded(ctx, object.GetName(), level == "" || level == "privileged"); err != nil {
			return err
		}
	}
	return nil
}

// undisturbed waits until the admission has forgotten the webhooks and policies of the last world.
func (s *stage) undisturbed(ctx context.Context) error {
	return await("end of the webhooks and policies of the last world", func() (bool, error) {
		binding, err := s.admin.send(ctx, post(rbac("clusterrolebindings?dryRun=All"), adminBinding("probe", "root")))
		if err != nil {
			return false, err
		}
		secret, err := s.admin.send(ctx, post(url("default", "secrets?dryRun=All"), object{"metadata": object{"name": "probe"}}))
		return binding.passed() && !strings.Contains(string(binding.body), attacker) && secret.passed(), err
	})
}

// heeded waits until the authorizer has seen every earlier write: it sees the writes of a kind in their order, and the
// roles and bindings of two marks are the last ones.
func (s *stage) heeded(ctx context.Context) error {
	s.worlds++
	name := "mark-" + strconv.Itoa(s.worlds)
	here := name + "-here"
	const group = "/apis/rbac.authorization.k8s.io/v1/"
	role := object{
		"metadata": object{"name": name},
		"rules":    []any{object{"apiGroups": []any{name}, "resources": []any{"marks"}, "verbs": []any{"get"}}},
	}
	binding := func(kind, user string) object {
		return object{
			"metadata": object{"name": name},
			"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
			"subjects": []any{object{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
		}
	}
	for _, write := range []request{
		post(group+"clusterroles", role),
		post(group+"clusterrolebindings", binding("ClusterRole", name)),
		post(group+"namespaces/default/roles", role),
		post(group+"namespaces/default/rolebindings", binding("Role", here)),
	} {
		if _, err := s.admin.must(ctx, write); err != nil {
			return err
		}
	}
	return await("permission of "+name, func() (bool, error) {
		for user, namespace := range map[string]string{name: "kube-system", here: "default"} {
			allowed, err := s.allows(ctx, user, object{"verb": "get", "group": name, "resource": "marks", "namespace": namespace})
			if err != nil || !allowed {
				return false, err
			}
		}
		return true, nil
	})
}

// allows asks for the decision about a user.
func (s *stage) allows(ctx context.Context, user string, attributes object) (bool, error) {
	given, err := s.admin.must(ctx, post("/apis/authorization.k8s.io/v1/subjectaccessreviews", object{
		"spec": object{"user": user, "resourceAttributes": attributes},
	}))
	allowed, _, _ := unstructured.NestedBool(given, "status", "allowed")
	return allowed, err
}

// levelHeeded waits until the admission of pods has seen the labels of a namespace.
func (s *stage) levelHeeded(ctx context.Context, namespace string, admits bool) error {
	probe := post("/api/v1/namespaces/"+namespace+"/pods?dryRun=All", privilegedPod("level-probe", "level-probe", ""))
	accounts := "/api/v1/namespaces/" + namespace + "/serviceaccounts"
	account := object{"metadata": object{"name": "level-probe"}}
	if _, err := s.admin.must(ctx, post(accounts, account)); err != nil {
		return err
	}
	err := await("heed of the labels of "+namespace, func() (bool, error) {
		given, err := s.admin.send(ctx, probe)
		isLevel := strings.Contains(given.message, "PodSecurity")
		return admits && given.passed() || !admits && isLevel, err
	})
	if err != nil {
		return err
	}
	_, err = s.admin.must(ctx, remove(accounts+"/level-probe"))
	return err
}

// privilegedPod is a pod that controls its node.
func privilegedPod(name, account, node string) object {
	pod := plainPod(name, account, node)
	pod["spec"].(object)["containers"].([]any)[0].(object)["securityContext"] = object{"privileged": true}
	return pod
}

// plainPod is a pod that every level admits.
func plainPod(name, account, node string) object {
	spec := object{
		"serviceAccountName": account,
		"securityContext":    object{"runAsNonRoot": true, "seccompProfile": object{"type": "RuntimeDefault"}},
		"containers": []any{object{
			"name": "main", "image": "registry.example.org/tool:1",
			"securityContext": object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []any{"ALL"}}},
		}},
	}
	if node != "" {
		spec["nodeName"] = node
	}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name}, "spec": spec}
}
