package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

const (
	fluxNamespace = "flux-system"
	fluxSources   = "source.toolkit.fluxcd.io/v1"
	requestedAt   = "reconcile.fluxcd.io/requestedAt"
)

// flux is kustomize-controller. Its sources are stored by the driver: source-controller does not run.
type flux struct {
	server *cluster.Cluster
	// folder has the artifacts, and address serves them.
	folder, address string
	requests        int
}

func newFlux(server *cluster.Cluster, work string) (*flux, error) {
	folder := filepath.Join(work, "artifacts")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go http.Serve(listener, http.FileServer(http.Dir(folder)))
	return &flux{server: server, folder: folder, address: "http://" + listener.Addr().String()}, nil
}

func (f *flux) Name() string { return "flux" }

func (f *flux) Settings(repository *source.Repository, account string) string {
	settings := fmt.Sprintf("    flux:\n      sourceRef: {name: %s}\n", repository.Name)
	if account != "" {
		settings += fmt.Sprintf("      serviceAccountName: %s\n", account)
	}
	return settings
}

func (f *flux) Account(account string) string {
	return "system:serviceaccount:" + fluxNamespace + ":" + account
}

func (f *flux) Prepare(ctx context.Context) error {
	return f.server.Apply(ctx, Namespace(fluxNamespace))
}

func (f *flux) PrepareAccount(ctx context.Context, account string) error {
	return f.server.Apply(ctx, object("v1", "ServiceAccount", fluxNamespace, account, nil))
}

// Publish stores the files of a commit as the artifact of a GitRepository, as source-controller would.
func (f *flux) Publish(ctx context.Context, repository *source.Repository, commit string) error {
	name := repository.Name + "-" + commit + ".tar.gz"
	file := filepath.Join(f.folder, name)
	pack := exec.Command("tar", "--create", "--gzip", "--sort=name", "--mtime=@0", "--exclude=.git", "--file", file, "--directory", repository.Root, ".")
	if output, err := pack.CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, output)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(content)
	kept := object(fluxSources, "GitRepository", fluxNamespace, repository.Name, map[string]any{
		"spec": map[string]any{"url": "https://git.example.org/" + repository.Name, "interval": "10m"},
	})
	if err := f.server.Apply(ctx, kept); err != nil {
		return err
	}
	now := time.Now().UTC().Format(time.RFC3339)
	return f.server.Patch(ctx, cluster.KeyOf(kept), map[string]any{"status": map[string]any{
		"observedGeneration": 1,
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored", "lastTransitionTime": now,
		}},
		"artifact": map[string]any{
			"path": name, "url": f.address + "/" + name, "revision": revision(commit), "size": len(content),
			"digest": "sha256:" + hex.EncodeToString(digest[:]), "lastUpdateTime": now,
		},
	}}, "status")
}

func revision(commit string) string { return "main@sha1:" + commit }

func (f *flux) Instances(delivery []*unstructured.Unstructured) ([]cluster.Key, error) {
	return cluster.Keys(delivery), nil
}

func (f *flux) State(ctx context.Context, instance cluster.Key, commit string) (State, string, error) {
	found, err := f.server.Get(ctx, instance)
	if err != nil || found == nil {
		return Pending, "", err
	}
	ready := condition(found, "Ready")
	if ready == nil || text(found, "status", "lastAttemptedRevision") != revision(commit) {
		return Pending, "", nil
	}
	// After a failure, the field of the status is -1.
	observed, _, _ := unstructured.NestedInt64(ready, "observedGeneration")
	message := fmt.Sprint(ready["reason"], ": ", ready["message"])
	switch {
	case observed != found.GetGeneration():
	case ready["status"] == "True" && text(found, "status", "lastAppliedRevision") == revision(commit):
		if isRecovered(found, revision(commit)) {
			return Recovered, message, nil
		}
		return Ready, message, nil
	case ready["status"] == "False" && ready["reason"] != "DependencyNotReady" && ready["reason"] != "Progressing":
		return Failed, message, nil
	}
	return Pending, message, nil
}

// isRecovered is whether an attempt at a revision failed.
func isRecovered(kustomization *unstructured.Unstructured, revision string) bool {
	history, _, _ := unstructured.NestedSlice(kustomization.Object, "status", "history")
	for _, entry := range history {
		entry, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		of, _, _ := unstructured.NestedString(entry, "metadata", "revision")
		if of == revision && entry["lastReconciledStatus"] != "ReconciliationSucceeded" {
			return true
		}
	}
	return false
}

func (f *flux) Again(ctx context.Context, instances []cluster.Key) error {
	f.requests++
	request := fmt.Sprint(f.requests)
	for _, instance := range instances {
		if err := f.server.Annotate(ctx, instance, requestedAt, request); err != nil {
			return err
		}
	}
	for _, instance := range instances {
		handled, err := cluster.Await(ctx, Patience, func() (bool, error) {
			found, err := f.server.Get(ctx, instance)
			return found != nil && text(found, "status", "lastHandledReconcileAt") == request, err
		})
		if err != nil {
			return err
		}
		if !handled {
			return fmt.Errorf("%s is not reconciled in time", instance)
		}
	}
	return nil
}

func (f *flux) Hurry(delivery *unstructured.Unstructured) {
	unstructured.SetNestedField(delivery.Object, "5s", "spec", "timeout")
}

func (f *flux) Cascade(ctx context.Context, instance cluster.Key) error {
	return f.server.Patch(ctx, instance, map[string]any{"spec": map[string]any{"deletionPolicy": "MirrorPrune"}})
}
