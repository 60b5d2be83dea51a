// Package cluster admits pods as an API server of OpenShift does: with RBAC, and the plugins ServiceAccount and
// SecurityContextConstraint.
package cluster

import (
	"context"
	"fmt"

	securityv1 "github.com/openshift/api/security/v1"
	"github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/sccadmission"
	securityinformers "github.com/openshift/client-go/security/informers/externalversions/security/v1"
	securitylisters "github.com/openshift/client-go/security/listers/security/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install" // defaulting
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// A Fate is the outcome of the creation of a pod.
type Fate struct {
	// Constraints are those that admit the pod; empty for a rejected pod, and in a namespace without this admission.
	Constraints string
	// Pod is the stored pod; nil for a rejected pod.
	Pod *corev1.Pod
	// Rejection is the message of the server.
	Rejection string
}

// runLevelZero are the namespaces that OpenShift creates before the admission by constraints: `skipSCC` of its API server
// leaves them out.
var runLevelZero = map[string]bool{
	"default": true, "kube-public": true, "kube-system": true, "openshift": true, "openshift-infra": true, "openshift-node": true,
}

// A Cluster has the objects that decide about pods.
type Cluster struct {
	accounts admission.MutationInterface
	plugin   interface {
		admission.MutationInterface
		admission.ValidationInterface
	}
}

// objects are the objects behind the listers, by kind.
type objects map[string]cache.Indexer

func (o objects) of(kind string) cache.Indexer {
	if o[kind] == nil {
		o[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	return o[kind]
}

// constraintInformer is an informer whose objects are complete.
type constraintInformer struct {
	cache.SharedIndexInformer
	indexer cache.Indexer
}

func (i constraintInformer) Informer() cache.SharedIndexInformer { return i }
func (i constraintInformer) HasSynced() bool                     { return true }
func (i constraintInformer) Lister() securitylisters.SecurityContextConstraintsLister {
	return securitylisters.NewSecurityContextConstraintsLister(i.indexer)
}

var _ securityinformers.SecurityContextConstraintsInformer = constraintInformer{}

// New returns a cluster with these objects: Namespaces, service accounts, constraints and RBAC.
func New(all []runtime.Object) (*Cluster, error) {
	found := objects{}
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, object := range all {
		object = object.DeepCopyObject()
		legacyscheme.Scheme.Default(object)
		var err error
		switch object := object.(type) {
		case *corev1.Namespace:
			allocate(object, len(found.of("Namespace").List()))
			err = found.of("Namespace").Add(object)
			client.Tracker().Add(object)
		case *corev1.ServiceAccount:
			err = factory.Core().V1().ServiceAccounts().Informer().GetStore().Add(object)
		case *securityv1.SecurityContextConstraints:
			err = found.of("SecurityContextConstraints").Add(object)
		case *rbacv1.Role:
			err = found.of("Role").Add(object)
		case *rbacv1.RoleBinding:
			err = found.of("RoleBinding").Add(object)
		case *rbacv1.ClusterRole:
			err = found.of("ClusterRole").Add(object)
		case *rbacv1.ClusterRoleBinding:
			err = found.of("ClusterRoleBinding").Add(object)
		default:
			err = fmt.Errorf("%T decides nothing about pods", object)
		}
		if err != nil {
			return nil, err
		}
	}
	accounts := serviceaccount.NewServiceAccount()
	accounts.SetExternalKubeInformerFactory(factory)
	accounts.SetExternalKubeClientSet(client)
	plugin := sccadmission.NewConstraint()
	plugin.SetSecurityInformers(constraintInformer{indexer: found.of("SecurityContextConstraints")})
	namespaces := informers.NewSharedInformerFactory(client, 0)
	plugin.SetExternalKubeInformerFactory(namespaces)
	plugin.SetAuthorizer(rbac.New(
		&rbac.RoleGetter{Lister: rbaclisters.NewRoleLister(found.of("Role"))},
		&rbac.RoleBindingLister{Lister: rbaclisters.NewRoleBindingLister(found.of("RoleBinding"))},
		&rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(found.of("ClusterRole"))},
		&rbac.ClusterRoleBindingLister{Lister: rbaclisters.NewClusterRoleBindingLister(found.of("ClusterRoleBinding"))},
	))
	never := make(chan struct{})
	namespaces.Start(never)
	namespaces.WaitForCacheSync(never)
	return &Cluster{accounts, plugin}, plugin.ValidateInitialization()
}

// allocate adds the annotations that the cluster allocates, as far as they are missing.
func allocate(namespace *corev1.Namespace, number int) {
	if namespace.Annotations == nil {
		namespace.Annotations = map[string]string{}
	}
	block := fmt.Sprintf("%d/10000", 1_000_650_000+10_000*number)
	for key, value := range map[string]string{
		securityv1.UIDRangeAnnotation: block, securityv1.SupplementalGroupsAnnotation: block,
		securityv1.MCSAnnotation: fmt.Sprintf("s0:c%d,c%d", 27+number, number),
	} {
		if _, known := namespace.Annotations[key]; !known {
			namespace.Annotations[key] = value
		}
	}
}

// Create runs a new pod through the server as a creator with no permission but that of every authenticated user.
func (c *Cluster) Create(creator string, object *corev1.Pod) (*Fate, error) {
	object = object.DeepCopy()
	conversion.SetObjectDefaults_Pod(object)
	pod := &core.Pod{}
	if err := conversion.Convert_v1_Pod_To_core_Pod(object, pod, nil); err != nil {
		return nil, err
	}
	ctx := context.Background()
	request := admission.NewAttributesRecord(
		pod, nil, core.Kind("Pod").WithVersion("v1"), pod.Namespace, pod.Name, core.Resource("pods").WithVersion("v1"), "",
		admission.Create, runtime.Object(nil), false, &user.DefaultInfo{Name: creator, Groups: []string{user.AllAuthenticated}})
	if err := c.accounts.Admit(ctx, request, nil); err != nil {
		return &Fate{Rejection: err.Error()}, nil
	}
	if !runLevelZero[pod.Namespace] {
		if err := c.plugin.Admit(ctx, request, nil); err != nil {
			return &Fate{Rejection: err.Error()}, nil
		}
		if err := c.plugin.Validate(ctx, request, nil); err != nil {
			return &Fate{Rejection: err.Error()}, nil
		}
	}
	stored := &corev1.Pod{}
	if err := conversion.Convert_core_Pod_To_v1_Pod(pod, stored, nil); err != nil {
		return nil, err
	}
	stored.APIVersion, stored.Kind = "v1", "Pod"
	return &Fate{Constraints: stored.Annotations[securityv1.ValidatedSCCAnnotation], Pod: stored}, nil
}
