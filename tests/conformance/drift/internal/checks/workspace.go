package checks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/internal/cluster"
)

const configuration = `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: access}
spec:
  targets:
  - {name: prod, version: "1.37"}
`

const policies = `apiVersion: bailiwick.dev/v1alpha1
kind: NamespaceSet
metadata: {name: teams}
spec:
  labels: {tenancy: team}
  annotations: {example.org/contact: platform}
  podSecurity: {level: baseline}
  resourceQuota: {name: team, hard: {pods: 20, requests.memory: 8Gi}}
  limitRange: {name: team, limits: [{type: Container, default: {cpu: 500m, memory: 0.5Gi}}]}
  serviceAccounts: [{name: ci}, {name: bot}]
  namespaces: [{name: team-a}, {name: team-b}, {name: team-c}, {name: team-d}, {name: team-e}, {name: team-f}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: deployer}
spec:
  rules:
  - {resources: [deployments, statefulsets], access: write}
  - {resources: [pods, pods/log, configmaps], access: read}
---
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: queues}
spec:
  as: ClusterRole
  aggregateTo: [view, edit]
  rules:
  - {resources: [resourcequotas, limitranges], access: read}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: deploy}
spec:
  to: {groups: [devs], users: [bob], serviceAccounts: [{name: ci}]}
  permissionSets: [deployer]
  namespaces: [team-a, team-b, team-c, team-d, team-e, team-f]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: edit}
spec:
  to: {users: [carol]}
  clusterRoles: [edit]
  namespaces: [team-a, team-b]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: read}
spec:
  to: {groups: [ops], users: [alice]}
  clusterRoles: [view]
  clusterWide: true
`

// A workspace is the workspace of the checks, and the programs on PATH.
type workspace struct {
	folder string
}

// newWorkspace writes and renders the workspace.
func newWorkspace(work string) (*workspace, error) {
	w := &workspace{filepath.Join(work, "workspace")}
	for path, text := range map[string]string{"bailiwick.yaml": configuration, "policies/teams.yaml": policies} {
		file := filepath.Join(w.folder, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	_, code, err := w.run("bailiwick", "render")
	if err == nil && code != 0 {
		err = fmt.Errorf("render ends with %d", code)
	}
	return w, err
}

// run runs a program in the folder of the workspace, and returns its output and its exit code.
func (w *workspace) run(name string, arguments ...string) ([]byte, int, error) {
	command := exec.Command(name, arguments...)
	command.Dir = w.folder
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	if _, failed := err.(*exec.ExitError); failed {
		err = nil
	}
	if err != nil {
		return nil, 0, err
	}
	if code := command.ProcessState.ExitCode(); code > 1 {
		return nil, code, fmt.Errorf("%s %v ends with %d:\n%s", name, arguments, code, errors.String())
	}
	return output, command.ProcessState.ExitCode(), nil
}

// objects returns the output.
func (w *workspace) objects() ([]*unstructured.Unstructured, error) {
	return cluster.ReadPath(filepath.Join(w.folder, "out/prod"))
}

// apply applies the output by kubectl. An apply of namespaces and of objects in them needs two passes.
func (w *workspace) apply(options ...string) error {
	arguments := append([]string{"apply", "-R", "-f", "out/prod"}, options...)
	if _, _, err := w.run("kubectl", arguments...); err != nil {
		return err
	}
	_, code, err := w.run("kubectl", arguments...)
	if err == nil && code != 0 {
		err = fmt.Errorf("kubectl apply ends with %d", code)
	}
	return err
}

// A finding is an object that the program finds.
type finding struct {
	Class  string
	Object string
	Writer struct{ Manager string }
}

// A change is a difference of access.
type change struct {
	Gained, Lost []rbacv1.PolicyRule
	Subjects     []struct{ Subject, Namespace string }
}

// A drift is the result of the program.
type drift struct {
	Findings []finding
	Access   []change
}

// drift runs the plugin of kubectl.
func (w *workspace) drift() (*drift, error) {
	output, code, err := w.run("kubectl", "bailiwick", "drift", "-t", "prod", "--format", "json", "--quiet")
	if err != nil {
		return nil, err
	}
	var found drift
	first, _, _ := bytes.Cut(output, []byte("\n"))
	if err := json.Unmarshal(first, &found); err != nil {
		return nil, fmt.Errorf("%w: %s", err, output)
	}
	if isFine := len(found.Findings) == 0 && len(found.Access) == 0; isFine != (code == 0) {
		return nil, fmt.Errorf("%w: drift ends with %d for %d findings: %s", cluster.ErrDiffers, code, len(found.Findings), first)
	}
	return &found, nil
}
