// Package cluster reads and writes the objects of a kube-apiserver.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// manager is the field manager of the driver, and polling the time between two looks at the server.
const (
	manager = "conformance"
	polling = 200 * time.Millisecond
)

// ErrDiffers is that an applier or the program does not do as promised. Any other error is a failure of the driver.
var ErrDiffers = errors.New("differs")

// A Key identifies an object.
type Key struct {
	Group, Version, Kind, Namespace, Name string
}

// KeyOf returns the key of an object.
func KeyOf(object *unstructured.Unstructured) Key {
	kind := object.GroupVersionKind()
	return Key{kind.Group, kind.Version, kind.Kind, object.GetNamespace(), object.GetName()}
}

// String returns the kind, the namespace if there is one, and the name.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + "/" + k.Name
	}
	return k.Kind + "/" + k.Namespace + "/" + k.Name
}

// A Cluster is a server that is the driver's alone.
type Cluster struct {
	Config  *rest.Config
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	mapper  meta.ResettableRESTMapper
}

// Connect returns the server of a kubeconfig.
func Connect(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 2000, 2000
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kube.Discovery()))
	return &Cluster{Config: config, Kube: kube, Dynamic: client, mapper: mapper}, nil
}

// resource returns the client for the objects of the kind and namespace of a key.
func (c *Cluster) resource(key Key) (dynamic.ResourceInterface, error) {
	kind := schema.GroupKind{Group: key.Group, Kind: key.Kind}
	mapping, err := c.mapper.RESTMapping(kind, key.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind, key.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.Dynamic.Resource(mapping.Resource), nil
	}
	return c.Dynamic.Resource(mapping.Resource).Namespace(key.Namespace), nil
}

// Apply applies objects in their order.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		key := KeyOf(object)
		client, err := c.resource(key)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		options := metav1.ApplyOptions{FieldManager: manager, Force: true}
		if _, err := client.Apply(ctx, key.Name, object, options); err != nil {
			return fmt.Errorf("apply %s: %w", key, err)
		}
	}
	return nil
}

// Get returns an object; nil if there is none.
func (c *Cluster) Get(ctx context.Context, key Key) (*unstructured.Unstructured, error) {
	client, err := c.resource(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	object, err := client.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// Create creates an object as a field manager.
func (c *Cluster) Create(ctx context.Context, object *unstructured.Unstructured, manager string) error {
	key := KeyOf(object)
	client, err := c.resource(key)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if _, err := client.Create(ctx, object, metav1.CreateOptions{FieldManager: manager}); err != nil {
		return fmt.Errorf("create %s: %w", key, err)
	}
	return nil
}

// Update replaces an object as a field manager.
func (c *Cluster) Update(ctx context.Context, object *unstructured.Unstructured, manager string) error {
	key := KeyOf(object)
	client, err := c.resource(key)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if _, err := client.Update(ctx, object, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		return fmt.Errorf("update %s: %w", key, err)
	}
	return nil
}

// Delete deletes an object.
func (c *Cluster) Delete(ctx context.Context, key Key) error {
	client, err := c.resource(key)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return client.Delete(ctx, key.Name, metav1.DeleteOptions{})
}

// Patch merges a value into an object, or into its status.
func (c *Cluster) Patch(ctx context.Context, key Key, value any, subresources ...string) error {
	client, err := c.resource(key)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: manager}
	_, err = client.Patch(ctx, key.Name, types.MergePatchType, text, options, subresources...)
	if err != nil {
		return fmt.Errorf("patch %s: %w", key, err)
	}
	return nil
}

// Annotate sets an annotation of an object.
func (c *Cluster) Annotate(ctx context.Context, key Key, name, value string) error {
	return c.Patch(ctx, key, map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}})
}

// Versions returns the UID and resource version of each object, or nothing for an object that is not there.
func (c *Cluster) Versions(ctx context.Context, keys []Key) (map[Key]string, error) {
	versions := map[Key]string{}
	for _, key := range keys {
		object, err := c.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		versions[key] = ""
		if object != nil {
			versions[key] = string(object.GetUID()) + " " + object.GetResourceVersion()
		}
	}
	return versions, nil
}

// Await waits until a condition holds, and returns false if it does not hold in time.
func Await(ctx context.Context, limit time.Duration, condition func() (bool, error)) (bool, error) {
	deadline := time.Now().Add(limit)
	for {
		holds, err := condition()
		if err != nil || holds {
			return holds, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(polling):
		}
	}
}
