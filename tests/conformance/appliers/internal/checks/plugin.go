package checks

import (
	"context"
	"fmt"
	"strings"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

const pluginWorkspace = `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: plugin}
spec: {targets: [{name: one, version: "1.37"}, {name: two, version: "1.37"}]}
`

const pluginPolicies = `apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata: {name: plugin}
spec: {podSecurity: {level: baseline}, namespaces: [{name: by-plugin}]}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: plugin}
spec: {to: {groups: [plugin]}, clusterRoles: [view], namespaces: [by-plugin]}
`

// plugin checks that the config management plugin of Argo CD makes the objects of the target that an Application names. Without a
// target, and with an invalid policy, the Application has the diagnostic as its condition.
func (b *bench) plugin(ctx context.Context) (string, error) {
	if b.Applier.Name() != "argocd" {
		return "only Argo CD has plugins", nil
	}
	repository, err := source.NewRepository(b.Work, "plugin")
	if err != nil {
		return "", err
	}
	workspace := repository.Workspace(source.Folder, b.Binary)
	commit, err := publish(workspace, pluginWorkspace, pluginPolicies)
	if err != nil {
		return "", err
	}
	named, unnamed := gitops.PluginApplication(workspace, "plugin", "two"), gitops.PluginApplication(workspace, "plugin-unnamed", "")
	if err := b.Server.Apply(ctx, named, unnamed); err != nil {
		return "", err
	}
	if err := b.becomes(ctx, cluster.KeyOf(named), commit, gitops.Ready, ""); err != nil {
		return "", err
	}
	if err := b.becomes(ctx, cluster.KeyOf(unnamed), commit, gitops.Failed, "names no target"); err != nil {
		return "", err
	}
	namespace, err := b.Server.Get(ctx, cluster.KeyOf(gitops.Namespace("by-plugin")))
	if err != nil || namespace == nil {
		return "", differs("the plugin makes no namespace (%v)", err)
	}
	commit, err = publish(workspace, pluginWorkspace, strings.Replace(pluginPolicies, "clusterRoles: [view]", "permissionSets: [nobody]", 1))
	if err != nil {
		return "", err
	}
	if err := b.Applier.Publish(ctx, repository, commit); err != nil {
		return "", err
	}
	if err := b.becomes(ctx, cluster.KeyOf(named), commit, gitops.Failed, "nobody"); err != nil {
		return "", err
	}
	return "the Application of a target is ready; without a target, and with an invalid policy, it fails with the diagnostic", nil
}

// publish commits a workspace without output.
func publish(workspace *source.Workspace, settings, policies string) (string, error) {
	if err := workspace.Write("bailiwick.yaml", settings); err != nil {
		return "", err
	}
	if err := workspace.Write("policies/policies.yaml", policies); err != nil {
		return "", err
	}
	return workspace.Commit()
}

// becomes waits until an instance is in a state, with a text in its message.
func (b *bench) becomes(ctx context.Context, instance cluster.Key, commit string, wanted gitops.State, message string) error {
	var described string
	done, err := cluster.Await(ctx, gitops.Patience, func() (bool, error) {
		state, text, err := b.Applier.State(ctx, instance, commit)
		described = fmt.Sprintf("%d, %s", state, text)
		return state == wanted && strings.Contains(text, message), err
	})
	if err == nil && !done {
		err = differs("%s does not become %d with %q: %s", instance, wanted, message, described)
	}
	return err
}
