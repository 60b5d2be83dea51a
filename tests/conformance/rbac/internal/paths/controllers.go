package paths

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	tokens "k8s.io/kubernetes/pkg/serviceaccount"
)

// startControllers runs the controllers of Kubernetes that complete the steps of paths: the server leaves them to
// kube-controller-manager.
func (s *server) startControllers(ctx context.Context, options Options) error {
	factory := informers.NewSharedInformerFactory(s.client, 0)
	core, csrs := factory.Core().V1(), factory.Certificates().V1().CertificateSigningRequests()

	roles := clusterroleaggregation.NewClusterRoleAggregation(factory.Rbac().V1().ClusterRoles(), s.client.RbacV1())
	replicas := replicaset.NewReplicaSetController(ctx, factory.Apps().V1().ReplicaSets(), core.Pods(), s.client, replicaset.BurstReplicas)
	users, err := signer.NewKubeAPIServerClientCSRSigningController(ctx, s.client, csrs, options.Authority, options.AuthorityKey, time.Hour)
	if err != nil {
		return err
	}
	kubelets, err := signer.NewKubeletClientCSRSigningController(ctx, s.client, csrs, options.Authority, options.AuthorityKey, time.Hour)
	if err != nil {
		return err
	}
	key, err := keyutil.PrivateKeyFromFile(options.AccountsKey)
	if err != nil {
		return err
	}
	generator, err := tokens.JWTTokenGenerator(tokens.LegacyIssuer, key)
	if err != nil {
		return err
	}
	secrets, err := serviceaccount.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), s.client,
		serviceaccount.TokensControllerOptions{TokenGenerator: generator})
	if err != nil {
		return err
	}
	claims, err := ephemeral.NewController(ctx, s.client, core.Pods(), core.PersistentVolumeClaims())
	if err != nil {
		return err
	}
	volumes, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient: s.client, SyncPeriod: time.Second, VolumeInformer: core.PersistentVolumes(),
		ClaimInformer: core.PersistentVolumeClaims(), ClassInformer: factory.Storage().V1().StorageClasses(),
		PodInformer: core.Pods(), NodeInformer: core.Nodes(),
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	for _, run := range []func(context.Context, int){
		roles.Run, replicas.Run, users.Run, kubelets.Run, secrets.Run, claims.Run,
		func(ctx context.Context, _ int) { volumes.Run(ctx) },
	} {
		go run(ctx, 2)
	}
	return nil
}
