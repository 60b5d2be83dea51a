package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/ghodss/yaml"
	"github.com/spf13/afero"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// base is the folder of the package.
const base = "/ext"

// stackQuestion is what somebody installs.
type stackQuestion struct {
	Install struct{ Kind, Name, Namespace string }
	App     map[string]interface{}
	CRDs    []json.RawMessage
}

// answerStack unpacks a package and lets the controller make its objects, as an installation does. The answer is
// `refused`: the reason to unpack nothing; or `objects`, and `gated`: the reason to make none of them where the API
// groups of a stack are restricted.
func answerStack(body []byte) (interface{}, error) {
	var asked stackQuestion
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	files := afero.NewMemMapFs()
	app, err := json.Marshal(asked.App)
	if err != nil {
		return nil, err
	}
	if err := afero.WriteFile(files, base+"/app.yaml", app, 0o600); err != nil {
		return nil, err
	}
	for index, text := range asked.CRDs {
		crd, err := read(text)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(crd)
		if err != nil {
			return nil, err
		}
		// After app.yaml in the order of a walk, because the reader of a CRD asks for the scope of the stack.
		if err := afero.WriteFile(files, fmt.Sprintf("%s/resources/%03d.crd.yaml", base, index), text, 0o600); err != nil {
			return nil, err
		}
	}
	scope := "Namespaced"
	if strings.HasPrefix(asked.Install.Kind, "Cluster") {
		scope = "Cluster"
	}
	text, err := unpack(files, base, scope)
	if err != nil {
		return object{"refused": err.Error()}, nil
	}
	made, crds, err := parse(text)
	if err != nil {
		return nil, err
	}
	// The job that unpacks has no names: the installation gives them.
	made.SetName(asked.Install.Name)
	made.SetNamespace(asked.Install.Namespace)
	made.SetGroupVersionKind(madeKind)
	find(made, crds)

	gate := &recorder{crds: crds}
	gated := create(context.Background(), gate, made.DeepCopy(), true)
	recorder := &recorder{crds: crds}
	if err := create(context.Background(), recorder, made, false); err != nil {
		return object{"refused": err.Error()}, nil
	}
	answer := object{"objects": recorder.ordered(asked.CRDs)}
	if gated != nil {
		answer["gated"] = gated.Error()
	}
	return answer, nil
}

// scheme knows CRDs of both versions, and codecs reads them with the server's defaults.
var (
	scheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		install.Install(scheme)
		return scheme
	}()
	codecs = serializer.NewCodecFactory(scheme)
)

// read is a CRD as the server hands it out to whoever asks for v1beta1, which is what the stack manager knows. Only
// `spec.version` stays as it is written, because the rules are sorted by it.
func read(text []byte) (*v1beta1.CustomResourceDefinition, error) {
	var written struct{ Spec struct{ Version string } }
	if err := json.Unmarshal(text, &written); err != nil {
		return nil, err
	}
	internal := &apiextensions.CustomResourceDefinition{}
	if err := runtime.DecodeInto(codecs.UniversalDecoder(apiextensions.SchemeGroupVersion), text, internal); err != nil {
		return nil, err
	}
	crd := &v1beta1.CustomResourceDefinition{}
	if err := scheme.Convert(internal, crd, nil); err != nil {
		return nil, err
	}
	crd.Spec.Version = written.Spec.Version
	crd.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return crd, nil
}

// find completes the list of CRDs that the controller waits for. In vain where a file has no `spec.version`: there is no
// version without a name. We want to know what it would do if it found them.
func find(made *made, crds []v1beta1.CustomResourceDefinition) {
	for index, wanted := range made.Spec.CRDs {
		for _, crd := range crds {
			if crd.Spec.Version == "" && wanted.APIVersion == crd.Spec.Group+"/" && wanted.Kind == crd.Spec.Names.Kind {
				made.Spec.CRDs[index].APIVersion += crd.Spec.Versions[0].Name
			}
		}
	}
}

// parse reads what the job printed.
func parse(text string) (*made, []v1beta1.CustomResourceDefinition, error) {
	var result *made
	crds := []v1beta1.CustomResourceDefinition{}
	for _, document := range strings.Split(text, "\n---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			return nil, nil, err
		}
		switch kind.Kind {
		case "":
		case "CustomResourceDefinition":
			crd := v1beta1.CustomResourceDefinition{}
			if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
				return nil, nil, err
			}
			crds = append(crds, crd)
		case madeKind.Kind:
			result = &made{}
			if err := yaml.Unmarshal([]byte(document), result); err != nil {
				return nil, nil, err
			}
		}
	}
	if result == nil {
		return nil, nil, fmt.Errorf("nothing was unpacked: %s", text)
	}
	return result, crds, nil
}

// recorder stands for a cluster that has the CRDs of the package, and notes what is written.
type recorder struct {
	client.Client
	crds    []v1beta1.CustomResourceDefinition
	created []runtime.Object
}

// Create notes an object.
func (r *recorder) Create(_ context.Context, created runtime.Object, _ ...client.CreateOption) error {
	r.created = append(r.created, created.DeepCopyObject())
	return nil
}

// List hands out the CRDs.
func (r *recorder) List(_ context.Context, list runtime.Object, _ ...client.ListOption) error {
	found, ok := list.(*v1beta1.CustomResourceDefinitionList)
	if !ok {
		return fmt.Errorf("nobody expected a list of %T", list)
	}
	for _, crd := range r.crds {
		found.Items = append(found.Items, *crd.DeepCopy())
	}
	return nil
}

// Patch notes the labels of a CRD.
func (r *recorder) Patch(_ context.Context, patched runtime.Object, _ client.Patch, _ ...client.PatchOption) error {
	crd, ok := patched.(*v1beta1.CustomResourceDefinition)
	if !ok {
		return fmt.Errorf("nobody expected a patch of %T", patched)
	}
	for index := range r.crds {
		if r.crds[index].GetName() == crd.GetName() {
			r.crds[index].SetLabels(crd.GetLabels())
		}
	}
	return nil
}

// ordered are the objects in the order of the protocol. The roles of the personas come in that of a Go map.
func (r *recorder) ordered(files []json.RawMessage) []interface{} {
	rank := func(created runtime.Object) int {
		role, isRole := created.(*rbacv1.ClusterRole)
		if _, isAccount := created.(*corev1.ServiceAccount); isAccount {
			return 0
		}
		if _, isNamespaced := created.(*rbacv1.Role); isNamespaced {
			return 1
		}
		if !isRole {
			return 2
		}
		for index, persona := range []string{":admin", ":edit", ":view"} {
			if strings.HasSuffix(role.GetName(), persona) {
				return 3 + index
			}
		}
		return 1
	}
	sort.SliceStable(r.created, func(i, j int) bool { return rank(r.created[i]) < rank(r.created[j]) })
	all := []interface{}{}
	for _, created := range r.created {
		setKind(created)
		all = append(all, created)
	}
	for _, file := range files {
		// Before v0.6 nobody labelled CRDs.
		var named struct{ Metadata struct{ Name string } }
		_ = json.Unmarshal(file, &named)
		for _, crd := range r.crds {
			if crd.GetName() == named.Metadata.Name && len(crd.GetLabels()) > 0 {
				all = append(all, object{"crdLabels": crd.GetName(), "labels": crd.GetLabels()})
				break
			}
		}
	}
	return all
}

// setKind writes down what a typed object is.
func setKind(created runtime.Object) {
	switch created := created.(type) {
	case *corev1.ServiceAccount:
		created.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	case *rbacv1.ClusterRole:
		created.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	case *rbacv1.Role:
		created.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("Role"))
	case *rbacv1.RoleBinding:
		created.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"))
	case *rbacv1.ClusterRoleBinding:
		created.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"))
	}
}
