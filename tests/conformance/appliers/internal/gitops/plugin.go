package gitops

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/appliers/internal/source"
)

// PluginApplication returns an Application of Argo CD whose objects are those that contrib/argocd/plugin.yaml makes of a workspace. With an
// empty target, it has no parameter.
func PluginApplication(workspace *source.Workspace, name, target string) *unstructured.Unstructured {
	plugin := map[string]any{"name": "bailiwick"}
	if target != "" {
		plugin["parameters"] = []any{map[string]any{"name": "target", "string": target}}
	}
	return application(name, map[string]any{
		"repoURL": workspace.URL(), "targetRevision": "main", "path": workspace.Path, "plugin": plugin,
	})
}

// application returns an Application of a source that syncs by itself and deletes nothing.
func application(name string, source map[string]any) *unstructured.Unstructured {
	return object(argocdGroup+"/"+argocdVersion, "Application", argocdNamespace, name, map[string]any{"spec": map[string]any{
		"project":     "access",
		"destination": map[string]any{"server": argocdServer},
		"source":      source,
		"syncPolicy":  map[string]any{"automated": map[string]any{}},
	}})
}
