package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"bailiwick.dev/conformance/readers/wire"
	fluxobject "github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/cli-utils/pkg/object"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// readKubectl reads a folder as `kubectl apply --dry-run=client -R -f FOLDER` does.
func readKubectl(request wire.Request) ([]wire.Object, error) {
	options := &resource.FilenameOptions{Filenames: []string{filepath.Join(request.Root, request.Path)}, Recursive: true}
	infos, err := resource.NewLocalBuilder().Unstructured().Local().ContinueOnError().
		NamespaceParam("default").DefaultNamespace().FilenameParam(false, options).Flatten().Do().Infos()
	var made []wire.Object
	for _, info := range infos {
		held, is := info.Object.(*unstructured.Unstructured)
		if !is {
			return made, fmt.Errorf("%s: a %T", info.Source, info.Object)
		}
		one, err := wire.NewObject(held.Object)
		if err != nil {
			return made, err
		}
		made = append(made, one)
	}
	return made, err
}

// kustomize has one schema for the whole program.
var building sync.Mutex

// readKustomize builds a copy of the folder, with the Kustomization that Flux's generator writes when there is none.
func readKustomize(request wire.Request) ([]wire.Object, error) {
	building.Lock()
	defer building.Unlock()
	work, err := os.MkdirTemp("", "kustomize-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := copyFolder(request.Root, work); err != nil {
		return nil, err
	}
	folder := filepath.Join(work, request.Path)
	owner := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if _, err := kustomize.NewGenerator(work, owner).WriteFile(folder); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	var made []wire.Object
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return made, err
		}
		encoded, err := yaml.YAMLToJSON(text)
		if err != nil {
			return made, err
		}
		one, err := wire.FromJSON(encoded)
		if err != nil {
			return made, err
		}
		made = append(made, one)
	}
	return made, nil
}

// readInventory gives each object back as the inventory of Flux holds it. An object whose text is read as another one differs.
func readInventory(objects []wire.Object) ([]wire.Object, error) {
	return inventory(objects, func(one wire.Object) (wire.Object, error) {
		held := fluxobject.ObjMetadata{Namespace: one.Namespace, Name: one.Name, GroupKind: schema.GroupKind{Group: one.Group, Kind: one.Kind}}
		read, err := fluxobject.ParseObjMetadata(held.String())
		one.Group, one.Kind, one.Namespace, one.Name = read.GroupKind.Group, read.GroupKind.Kind, read.Namespace, read.Name
		return one, err
	})
}

// readInventoryOfConfigMap is the same for cli-utils itself, whose inventories in ConfigMaps have these texts.
func readInventoryOfConfigMap(objects []wire.Object) ([]wire.Object, error) {
	return inventory(objects, func(one wire.Object) (wire.Object, error) {
		held := object.ObjMetadata{Namespace: one.Namespace, Name: one.Name, GroupKind: schema.GroupKind{Group: one.Group, Kind: one.Kind}}
		read, err := object.ParseObjMetadata(held.String())
		one.Group, one.Kind, one.Namespace, one.Name = read.GroupKind.Group, read.GroupKind.Kind, read.Namespace, read.Name
		return one, err
	})
}

func inventory(objects []wire.Object, again func(wire.Object) (wire.Object, error)) ([]wire.Object, error) {
	var made []wire.Object
	var problems []error
	for _, one := range objects {
		read, err := again(one)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		made = append(made, read)
	}
	return made, errors.Join(problems...)
}

// aliases of a group: the API server serves one object under both.
var aliases = map[string]string{
	"extensions/Deployment": "apps", "extensions/DaemonSet": "apps", "extensions/ReplicaSet": "apps",
	"extensions/Ingress": "networking.k8s.io", "extensions/NetworkPolicy": "networking.k8s.io",
	"extensions/PodSecurityPolicy": "policy", "/Event": "events.k8s.io",
	"authorization.openshift.io/Role": "rbac.authorization.k8s.io", "authorization.openshift.io/RoleBinding": "rbac.authorization.k8s.io",
	"authorization.openshift.io/ClusterRole":        "rbac.authorization.k8s.io",
	"authorization.openshift.io/ClusterRoleBinding": "rbac.authorization.k8s.io",
	"/SecurityContextConstraints":                   "security.openshift.io",
}

// ofServer are fields of metadata that the API server sets, and does not take from an applier.
var ofServer = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink", "generateName",
}

// readServer says what is left after all objects are applied. Of one identity, the last stays. No version is a part of an identity, and no
// namespace is `default`, as it is for kustomize and for an account whose context has no namespace. An object with an owner is gone: the
// garbage collector finds no owner of that uid.
func readServer(objects []wire.Object) ([]wire.Object, error) {
	last := map[string]int{}
	for index, one := range objects {
		group := one.Group
		if other, is := aliases[group+"/"+one.Kind]; is {
			group = other
		}
		namespace := one.Namespace
		if namespace == "" {
			namespace = "default"
		}
		last[strings.Join([]string{group, one.Kind, namespace, one.Name}, "\x00")] = index
	}
	stays := map[int]bool{}
	for _, index := range last {
		stays[index] = true
	}
	var left []wire.Object
	for index, one := range objects {
		var content map[string]any
		if err := json.Unmarshal(one.Content, &content); err != nil {
			return left, err
		}
		metadata, _ := content["metadata"].(map[string]any)
		if owners, is := metadata["ownerReferences"].([]any); !stays[index] || is && len(owners) > 0 {
			continue
		}
		for _, name := range ofServer {
			if _, is := metadata[name]; !is {
				continue
			}
			delete(metadata, name)
			changed, err := wire.NewObject(content)
			if err != nil {
				return left, err
			}
			one = changed
		}
		left = append(left, one)
	}
	return left, nil
}
