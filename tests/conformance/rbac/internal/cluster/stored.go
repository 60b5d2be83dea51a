package cluster

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
)

// Stored tells what of the manifests the server does not hold as it is written. kubectl diff cannot: it compares two
// answers of the server, and what the server changes on the way in is the same in both.
func Stored(ctx context.Context, out io.Writer, kubeconfig, folder string) (bool, error) {
	config, err := configure(kubeconfig)
	if err != nil {
		return false, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return false, err
	}
	objects, err := ReadFolder(folder)
	if err != nil {
		return false, err
	}
	groups, err := restmapper.GetAPIGroupResources(client.Discovery())
	if err != nil {
		return false, err
	}
	reader, err := dynamic.NewForConfig(config)
	if err != nil {
		return false, err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	count := 0
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return false, err
		}
		var resource dynamic.ResourceInterface = reader.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			resource = reader.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		held, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, difference := range lost("", object.Object, held.Object) {
			count++
			fmt.Fprintf(out, "  %s %s%s\n", kind.Kind, named(object), difference)
		}
	}
	fmt.Fprintf(out, "%d objects, %d fields are not held as written\n", len(objects), count)
	return count > 0, nil
}

func named(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// lost lists the paths at which something was written and something else is held. What is held on top is fine.
func lost(path string, written, held any) []string {
	switch written := written.(type) {
	case map[string]any:
		held, ok := held.(map[string]any)
		if !ok && len(written) > 0 {
			return []string{fmt.Sprintf("%s: gone", path)}
		}
		var differences []string
		for key, value := range written {
			differences = append(differences, lost(path+"."+key, value, held[key])...)
		}
		return differences
	case []any:
		held, ok := held.([]any)
		if len(written) == 0 && len(held) == 0 {
			return nil
		}
		if !ok || len(held) != len(written) {
			return []string{fmt.Sprintf("%s: %d items written, %d held", path, len(written), len(held))}
		}
		var differences []string
		for index := range written {
			differences = append(differences, lost(fmt.Sprintf("%s[%d]", path, index), written[index], held[index])...)
		}
		return differences
	case nil:
		return nil
	}
	// A number of YAML is a float, and the same number of the server an integer.
	_, text := held.(string)
	if reflect.DeepEqual(written, held) || !text && fmt.Sprint(written) == fmt.Sprint(held) {
		return nil
	}
	return []string{fmt.Sprintf("%s: written %#v, held %#v", path, written, held)}
}
