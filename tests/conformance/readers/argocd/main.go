// Command argocd reads a folder as Argo CD does: the repo-server's manifests of a directory source, then the kinds that the controller
// excludes by default. The settings are argocd-cm.yaml of Argo CD, in a file beside the program.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bailiwick.dev/conformance/readers/wire"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	apppath "github.com/argoproj/argo-cd/v3/util/app/path"
	"github.com/argoproj/argo-cd/v3/util/git"
	utilio "github.com/argoproj/argo-cd/v3/util/io"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

func main() {
	logrus.SetOutput(io.Discard)
	filter, err := exclusions()
	if err != nil {
		fmt.Fprintln(os.Stderr, "argocd:", err)
		os.Exit(3)
	}
	wire.Serve(func(request wire.Request) ([]wire.Object, error) { return read(request, filter) })
}

// exclusions reads the default settings.
func exclusions() (*settings.ResourcesFilter, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(program + ".yaml")
	if err != nil {
		return nil, err
	}
	var found struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	filter := &settings.ResourcesFilter{}
	if err := yaml.Unmarshal([]byte(found.Data["resource.exclusions"]), &filter.ResourceExclusions); err != nil {
		return nil, err
	}
	if len(filter.ResourceExclusions) == 0 {
		return nil, errors.New("no kind is excluded: argocd-cm.yaml has another form")
	}
	return filter, nil
}

func read(request wire.Request, filter *settings.ResourcesFilter) ([]wire.Object, error) {
	if err := apppath.CheckOutOfBoundsSymlinks(request.Root); err != nil {
		return nil, err
	}
	source := &v1alpha1.ApplicationSource{Path: request.Path}
	if !request.Detect {
		source.Directory = &v1alpha1.ApplicationSourceDirectory{Recurse: true}
	}
	// No name of a label: objects are tracked by nothing, and their contents stay.
	query := &apiclient.ManifestRequest{
		Repo: &v1alpha1.Repository{}, ApplicationSource: source, AppName: request.Application, Namespace: "argocd",
		KubeVersion: "1.37", NoCache: true,
	}
	answer, err := repository.GenerateManifests(context.Background(), filepath.Join(request.Root, request.Path), request.Root, "", query, true,
		git.NoopCredsStore{}, resource.MustParse("10M"), utilio.NewRandomizedTempPaths(request.Root))
	if err != nil {
		return nil, err
	}
	var made []wire.Object
	for _, text := range answer.Manifests {
		object, err := v1alpha1.UnmarshalToUnstructured(text)
		if err != nil {
			return made, err
		}
		if object == nil {
			continue
		}
		one, err := wire.NewObject(object.Object)
		if err != nil {
			return made, err
		}
		kind := object.GroupVersionKind()
		one.Excluded = filter.IsExcludedResource(kind.Group, kind.Kind, "https://kubernetes.default.svc")
		made = append(made, one)
	}
	return made, nil
}
