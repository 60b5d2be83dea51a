package gitops

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

const (
	argocdNamespace = "argocd"
	argocdGroup     = "argoproj.io"
	argocdVersion   = "v1alpha1"
	argocdServer    = "https://kubernetes.default.svc"
	refresh         = "argocd.argoproj.io/refresh"
)

// argocd is Argo CD with its application controller, repo-server and controller of ApplicationSets.
type argocd struct {
	server *cluster.Cluster
}

func (a *argocd) Name() string { return "argocd" }

func (a *argocd) Settings(repository *source.Repository, account string) string {
	project := "access"
	if account != "" {
		project = account
	}
	return fmt.Sprintf("    repoURL: %s\n    revision: main\n    argocd: {project: %s, destination: {server: %q}}\n", repository.URL(), project, argocdServer)
}

func (a *argocd) Account(account string) string {
	return "system:serviceaccount:" + argocdNamespace + ":" + account
}

func (a *argocd) Prepare(ctx context.Context) error {
	part := map[string]any{"app.kubernetes.io/part-of": "argocd"}
	settings := []*unstructured.Unstructured{Namespace(argocdNamespace)}
	for _, name := range []string{"argocd-cm", "argocd-cmd-params-cm", "argocd-rbac-cm", "argocd-gpg-keys-cm", "argocd-ssh-known-hosts-cm", "argocd-tls-certs-cm"} {
		settings = append(settings, object("v1", "ConfigMap", argocdNamespace, name, map[string]any{"data": map[string]any{}}))
	}
	settings = append(settings, object("v1", "Secret", argocdNamespace, "argocd-secret", map[string]any{
		"stringData": map[string]any{"server.secretkey": "conformance"},
	}))
	for _, setting := range settings[1:] {
		unstructured.SetNestedMap(setting.Object, part, "metadata", "labels")
	}
	return a.server.Apply(ctx, append(settings, project("access", nil))...)
}

func project(name string, accounts []any) *unstructured.Unstructured {
	spec := map[string]any{
		"sourceRepos":              []any{"*"},
		"destinations":             []any{map[string]any{"server": "*", "namespace": "*"}},
		"clusterResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
	}
	if accounts != nil {
		spec["destinationServiceAccounts"] = accounts
	}
	return object(argocdGroup+"/"+argocdVersion, "AppProject", argocdNamespace, name, map[string]any{"spec": spec})
}

// PrepareAccount makes a project whose Applications are synced as an account. Impersonation is a setting of the whole Argo CD.
func (a *argocd) PrepareAccount(ctx context.Context, account string) error {
	settings := cluster.Key{Version: "v1", Kind: "ConfigMap", Namespace: argocdNamespace, Name: "argocd-cm"}
	impersonation := map[string]any{"data": map[string]any{"application.sync.impersonation.enabled": "true"}}
	if err := a.server.Patch(ctx, settings, impersonation); err != nil {
		return err
	}
	served := object("v1", "ServiceAccount", argocdNamespace, account, nil)
	return a.server.Apply(ctx, served, project(account, []any{map[string]any{
		"server": argocdServer, "namespace": "*", "defaultServiceAccount": argocdNamespace + ":" + account,
	}}))
}

// Publish makes all Applications of a repository look for a new commit, as a webhook would.
func (a *argocd) Publish(ctx context.Context, repository *source.Repository, _ string) error {
	applications, err := a.list(ctx)
	if err != nil {
		return err
	}
	for _, application := range applications {
		if text(application, "spec", "source", "repoURL") != repository.URL() {
			continue
		}
		if err := a.server.Annotate(ctx, cluster.KeyOf(application), refresh, "hard"); err != nil {
			return err
		}
	}
	return nil
}

func (a *argocd) list(ctx context.Context) ([]*unstructured.Unstructured, error) {
	resource := schema.GroupVersionResource{Group: argocdGroup, Version: argocdVersion, Resource: "applications"}
	list, err := a.server.Dynamic.Resource(resource).Namespace(argocdNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	found := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		found[i] = &list.Items[i]
	}
	return found, nil
}

// Instances returns the Applications, and for an ApplicationSet the Applications of its elements.
func (a *argocd) Instances(delivery []*unstructured.Unstructured) ([]cluster.Key, error) {
	var keys []cluster.Key
	for _, object := range delivery {
		key := cluster.KeyOf(object)
		if key.Kind != "ApplicationSet" {
			keys = append(keys, key)
			continue
		}
		generators, _, _ := unstructured.NestedSlice(object.Object, "spec", "generators")
		for _, generator := range generators {
			elements, _, err := unstructured.NestedSlice(generator.(map[string]any), "list", "elements")
			if err != nil {
				return nil, err
			}
			for _, element := range elements {
				key.Kind, key.Name = "Application", fmt.Sprint(element.(map[string]any)["name"])
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

func (a *argocd) State(ctx context.Context, instance cluster.Key, commit string) (State, string, error) {
	found, err := a.server.Get(ctx, instance)
	if err != nil || found == nil {
		return Pending, "", err
	}
	phase, message := text(found, "status", "operationState", "phase"), text(found, "status", "operationState", "message")
	synced, healthy := text(found, "status", "sync", "status"), text(found, "status", "health", "status")
	retries, _, _ := unstructured.NestedInt64(found.Object, "status", "operationState", "retryCount")
	_, queued := found.Object["operation"]
	described := fmt.Sprintf("%s, %s, %s: %s", synced, healthy, phase, message)
	if invalid := condition(found, "ComparisonError"); invalid != nil {
		return Failed, fmt.Sprint(invalid["message"]), nil
	}
	isCurrent := text(found, "status", "operationState", "syncResult", "revision") == commit ||
		text(found, "status", "operationState", "operation", "sync", "revision") == commit
	switch {
	case isCurrent && (phase == "Failed" || phase == "Error" || phase == "Running" && retries > 0):
		return Failed, described, nil
	case found.GetAnnotations()[refresh] != "" || queued || text(found, "status", "sync", "revision") != commit:
	case synced == "Synced" && healthy == "Healthy" && (phase == "" || phase == "Succeeded"):
		if isCurrent && retries > 0 {
			return Recovered, described, nil
		}
		return Ready, described, nil
	}
	return Pending, described, nil
}

func (a *argocd) Again(ctx context.Context, instances []cluster.Key) error {
	for _, instance := range instances {
		if err := a.server.Annotate(ctx, instance, refresh, "hard"); err != nil {
			return err
		}
	}
	for _, instance := range instances {
		done, err := cluster.Await(ctx, Patience, func() (bool, error) {
			found, err := a.server.Get(ctx, instance)
			if err != nil || found == nil {
				return false, err
			}
			_, queued := found.Object["operation"]
			return found.GetAnnotations()[refresh] == "" && !queued && text(found, "status", "operationState", "phase") != "Running", nil
		})
		if err != nil {
			return err
		}
		if !done {
			return fmt.Errorf("%s is not refreshed in time", instance)
		}
	}
	return nil
}

// Hurry does nothing: Argo CD reads the health of objects as itself.
func (a *argocd) Hurry(*unstructured.Unstructured) {}

func (a *argocd) Cascade(ctx context.Context, instance cluster.Key) error {
	finalizers := []any{"resources-finalizer.argocd.argoproj.io"}
	return a.server.Patch(ctx, instance, map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
}
