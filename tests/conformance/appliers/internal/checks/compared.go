package checks

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/internal/cluster"
)

// auditors are policies with objects in namespaces and in the cluster, and with subjects that no other check has.
const auditors = `---
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: compared-extra}
spec:
  as: ClusterRole
  aggregateTo: [view]
  rules: [{apiGroups: [example.com], resources: [reports], verbs: [get]}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: compared-read}
spec: {to: {users: [compared-user], serviceAccounts: [{name: bot}]}, clusterRoles: [view], namespaces: [compared-a, compared-b]}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: compared-audit}
spec: {to: {groups: [compared-auditors]}, permissionSets: [compared-pods], clusterWide: true}
`

// compared compares the cluster after a delivery with the policies: nothing differs. The control is a binding of somebody else.
func (b *bench) compared(ctx context.Context) (string, error) {
	parent, err := b.parent("compared")
	if err != nil {
		return "", err
	}
	policies := namespaceSet("compared", "compared-a", "compared-b")
	policies = strings.Replace(policies, "spec:\n", "spec:\n  serviceAccounts: [{name: bot}]\n  podSecurity: {level: baseline}\n", 1)
	err = write(parent.Workspace, map[string]string{
		"bailiwick.yaml":         b.configuration(parent.Workspace, settings{name: "compared", targets: []string{"t"}}),
		"policies/compared.yaml": policies + "---\n" + permissionSet("compared-pods", "ClusterRole", "pods") + auditors,
	})
	if err != nil {
		return "", err
	}
	if err := parent.Converge(ctx); err != nil {
		return "", err
	}
	var output string
	fine, err := cluster.Await(ctx, gitops.Patience, func() (bool, error) {
		var code int
		output, code, err = b.compare(parent.Workspace.Absolute(""))
		return code == 0, err
	})
	if err == nil && !fine {
		err = differs("drift after a delivery:\n%s", output)
	}
	if err != nil {
		return "", err
	}
	if err := b.Server.Create(ctx, intruder(), "somebody"); err != nil {
		return "", err
	}
	found, code, err := b.compare(parent.Workspace.Absolute(""))
	if err == nil && (code != 1 || !strings.Contains(found, "RoleBinding/compared-a/intruder")) {
		err = differs("drift does not find the binding of somebody else:\n%s", found)
	}
	if err == nil {
		err = b.Server.Delete(ctx, cluster.KeyOf(intruder()))
	}
	return "drift finds nothing after a delivery, and the binding of somebody else", err
}

// compare runs the plugin of kubectl in a workspace, and returns its output and exit code.
func (b *bench) compare(workspace string) (string, int, error) {
	command := exec.Command("sh", filepath.Join(b.Root, "contrib/kubectl-bailiwick"), "drift", "-t", "t")
	command.Dir = workspace
	output, err := command.CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 1 {
		return string(output), 1, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("kubectl-bailiwick: %w: %s", err, output)
	}
	return string(output), 0, nil
}

// intruder returns a binding that no policy writes.
func intruder() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": rbacGroup + "/v1",
		"kind":       "RoleBinding",
		"metadata":   map[string]any{"name": "intruder", "namespace": "compared-a"},
		"roleRef":    map[string]any{"apiGroup": rbacGroup, "kind": "ClusterRole", "name": "edit"},
		"subjects":   []any{map[string]any{"apiGroup": rbacGroup, "kind": "User", "name": "mallory"}},
	}}
}
