package cluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// StartControllers runs the controllers of Kubernetes that fill aggregated roles and empty deleted namespaces: the server leaves them to
// kube-controller-manager.
func (c *Cluster) StartControllers(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(c.Kube, 0)
	objects, err := metadata.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	roles := clusterroleaggregation.NewClusterRoleAggregation(factory.Rbac().V1().ClusterRoles(), c.Kube.RbacV1())
	namespaces := namespace.NewNamespaceController(ctx, c.Kube, objects, c.Kube.Discovery().ServerPreferredNamespacedResources,
		factory.Core().V1().Namespaces(), time.Minute, corev1.FinalizerKubernetes)
	factory.Start(ctx.Done())
	go roles.Run(ctx, 2)
	go namespaces.Run(ctx, 2)
	return nil
}
