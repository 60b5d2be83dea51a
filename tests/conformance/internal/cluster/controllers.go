package cluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// discovering is the time after which the garbage collector looks for new kinds.
const discovering = 5 * time.Second

// StartControllers runs the controllers of Kubernetes that fill aggregated roles, empty deleted namespaces and collect garbage: the
// server leaves them to kube-controller-manager. Without the last of them, nothing that is deleted in the foreground goes.
func (c *Cluster) StartControllers(ctx context.Context) error {
	objects, err := metadata.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(c.Kube, 0)
	all := informerfactory.NewInformerFactory(factory, metadatainformer.NewSharedInformerFactory(objects, 0))
	started := make(chan struct{})
	ignored := garbagecollector.DefaultIgnoredResources()
	garbage, err := garbagecollector.NewGarbageCollector(ctx, c.Kube, objects, c.mapper, ignored, all, started)
	if err != nil {
		return err
	}
	roles := clusterroleaggregation.NewClusterRoleAggregation(factory.Rbac().V1().ClusterRoles(), c.Kube.RbacV1())
	namespaces := namespace.NewNamespaceController(ctx, c.Kube, objects, c.Kube.Discovery().ServerPreferredNamespacedResources,
		factory.Core().V1().Namespaces(), time.Minute, corev1.FinalizerKubernetes)
	all.Start(ctx.Done())
	close(started)
	go roles.Run(ctx, 2)
	go namespaces.Run(ctx, 2)
	go garbage.Run(ctx, 4, time.Minute)
	go garbage.Sync(ctx, c.Kube.Discovery(), discovering)
	return nil
}
