// Command flux reads a folder as Flux does: source-controller's archive of the repository, then what kustomize-controller does with a
// Kustomization of the folder, up to the objects that it applies and to the inventory that it prunes by.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"bailiwick.dev/conformance/readers/wire"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/artifact/storage"
	"github.com/fluxcd/pkg/kustomize"
	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/ssa/normalize"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"github.com/fluxcd/pkg/tar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	// Each build reads the schema of Kubernetes again, which is most of the time.
	debug.SetGCPercent(800)
	wire.Serve(read)
}

func read(request wire.Request) ([]wire.Object, error) {
	work, err := os.MkdirTemp("", "flux-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	source := filepath.Join(work, "source")
	if err := fetch(request.Root, work, source); err != nil {
		return nil, fmt.Errorf("source-controller: %w", err)
	}
	folder := filepath.Join(source, request.Path)
	if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("the artifact has no folder %s", request.Path)
	}
	text, err := build(request, source, folder)
	if err != nil {
		return nil, err
	}
	objects, err := ssautil.ReadObjects(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("ReadObjects: %w", err)
	}
	var made []wire.Object
	for _, object := range objects {
		one, err := wire.NewObject(object.Object)
		if err != nil {
			return nil, err
		}
		made = append(made, one)
		if object.GetKind() == "Secret" && object.Object["sops"] != nil {
			return made, fmt.Errorf("%s is encrypted with SOPS", ssautil.FmtUnstructured(object))
		}
	}
	// The same change of equal objects, so that contents are compared before it: only an error differs.
	if err := normalize.UnstructuredList(objects); err != nil {
		return made, fmt.Errorf("normalization: %w", err)
	}
	return made, nil
}

// fetch archives the repository as source-controller does with a GitRepository, and unpacks it as kustomize-controller does.
func fetch(root, work, source string) error {
	domain := strings.Split(root, string(filepath.Separator))
	patterns, err := sourceignore.LoadIgnorePatterns(root, domain)
	if err != nil {
		return err
	}
	artifact := meta.Artifact{Path: "artifact.tar.gz"}
	store := storage.Storage{BasePath: work}
	if err := store.Archive(&artifact, root, storage.SourceIgnoreFilter(patterns, domain)); err != nil {
		return err
	}
	packed, err := os.Open(store.LocalPath(artifact))
	if err != nil {
		return err
	}
	defer packed.Close()
	return tar.Untar(packed, source, tar.WithMaxUntarSize(tar.UnlimitedUntarSize))
}

// build is the function of the same name of kustomize-controller's reconciler, without decryption. Resources of other hosts are refused,
// so that a run needs no network.
func build(request wire.Request, source, folder string) ([]byte, error) {
	spec := map[string]any{"path": "./" + request.Path, "prune": true}
	if request.Variables != nil {
		variables := map[string]any{}
		for name, value := range request.Variables {
			variables[name] = value
		}
		spec["postBuild"] = map[string]any{"substitute": variables}
	}
	owner := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"name": "w", "namespace": "flux-system"}, "spec": spec,
	}}
	if _, err := kustomize.NewGenerator(source, owner).WriteFile(folder); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	built, err := kustomize.SecureBuild(source, folder, false)
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	for _, resource := range built.Resources() {
		if resource.GetName() == "" || resource.GetKind() == "" || resource.GetApiVersion() == "" {
			return nil, fmt.Errorf("no apiVersion, kind or name: %v", resource.String())
		}
		if request.Variables == nil {
			continue
		}
		changed, err := kustomize.SubstituteVariables(context.Background(), nil, owner, resource)
		if err != nil {
			return nil, fmt.Errorf("variables: %w", err)
		}
		if changed != nil {
			if _, err := built.Replace(resource); err != nil {
				return nil, fmt.Errorf("variables: %w", err)
			}
		}
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("AsYaml: %w", err)
	}
	return text, nil
}
