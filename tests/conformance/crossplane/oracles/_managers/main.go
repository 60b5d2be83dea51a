package main

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// family is the label value that members of a family of providers share.
const family = "provider-family"

func main() {
	serve(map[string]answerer{
		"provider": answerProvider, "composite": answerComposite, "provider-family": answerFamily, "permission-request": answerRequest,
	})
}

// named is a CRD, of which only the name counts.
type named struct{ Metadata struct{ Name string } }

// providerQuestion is a revision of a provider and what it is allowed.
type providerQuestion struct {
	ProviderRevision string
	Package          string
	CRDs             []named
	Family           []struct {
		Package string
		CRDs    []named
	}
	Capabilities       []string
	PermissionRequests []rbacv1.PolicyRule
	AllowedPermissions []rbacv1.PolicyRule
	ServiceAccounts    []struct{ Namespace, Name string }
}

// answerProvider lets both controllers of a provider's revision run. The answer is `objects`, and `rejected`: what was
// asked for and nobody may have.
func answerProvider(body []byte) (interface{}, error) {
	var asked providerQuestion
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	cluster := &recorder{allowed: asked.AllowedPermissions}
	own := revisionOf(asked.ProviderRevision, asked.Package, asked.CRDs)
	setExtras(own, asked.Capabilities, asked.PermissionRequests)
	if len(asked.Family) > 0 {
		own.SetLabels(map[string]string{familyLabel: family})
	}
	cluster.revisions = append(cluster.revisions, *own)
	for index, member := range asked.Family {
		other := revisionOf(fmt.Sprintf("member-%d", index), member.Package, member.CRDs)
		other.SetLabels(own.GetLabels())
		cluster.revisions = append(cluster.revisions, *other)
	}
	accounts := asked.ServiceAccounts
	if len(accounts) == 0 {
		// What the package manager calls the account of a provider by itself.
		accounts = append(accounts, struct{ Namespace, Name string }{"crossplane-system", asked.ProviderRevision})
	}
	for _, account := range accounts {
		deployment := appsv1.Deployment{}
		deployment.SetNamespace(account.Namespace)
		deployment.SetOwnerReferences([]metav1.OwnerReference{{UID: own.GetUID()}})
		deployment.Spec.Template.Spec.ServiceAccountName = account.Name
		cluster.deployments = append(cluster.deployments, deployment)
	}
	ctx, request := context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: asked.ProviderRevision}}
	for _, controller := range controllers(cluster) {
		if _, err := controller.Reconcile(ctx, request); err != nil {
			return nil, err
		}
	}
	rejected, err := rejects(ctx, cluster, asked.PermissionRequests)
	return object{"objects": cluster.applied, "rejected": rejected}, err
}

func revisionOf(name, image string, crds []named) *revision {
	own := &revision{}
	own.SetName(name)
	own.SetUID(types.UID(name))
	own.Spec.Package = image
	for _, crd := range crds {
		own.Status.ObjectRefs = append(own.Status.ObjectRefs, reference{
			APIVersion: extv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition", Name: crd.Metadata.Name,
		})
	}
	return own
}

// recorder stands for the cluster, and notes what is applied.
type recorder struct {
	client.Client
	revisions   []revision
	deployments []appsv1.Deployment
	allowed     []rbacv1.PolicyRule
	applied     []interface{}
}

// Get finds the revision, and the role with everything that providers may ask for.
func (r *recorder) Get(_ context.Context, key client.ObjectKey, found client.Object, _ ...client.GetOption) error {
	switch found := found.(type) {
	case *revision:
		r.revisions[0].DeepCopyInto(found)
	case *rbacv1.ClusterRole:
		found.SetName(key.Name)
		found.Rules = r.allowed
	default:
		return fmt.Errorf("nobody expected to look for %T", found)
	}
	return nil
}

// List finds the family and the deployments.
func (r *recorder) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *revisions:
		list.Items = r.revisions
	case *appsv1.DeploymentList:
		list.Items = r.deployments
	default:
		return fmt.Errorf("nobody expected a list of %T", list)
	}
	return nil
}

// Note notes an object.
func (r *recorder) Note(_ context.Context, applied client.Object) error {
	switch applied := applied.(type) {
	case *rbacv1.ClusterRole:
		applied.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	case *rbacv1.ClusterRoleBinding:
		applied.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"))
	default:
		return fmt.Errorf("nobody expected %T", applied)
	}
	r.applied = append(r.applied, applied.DeepCopyObject())
	return nil
}

func answerComposite(body []byte) (interface{}, error) {
	var asked struct {
		XRD struct{ Name, Group, Plural, ClaimPlural string }
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	definition := &composite{}
	definition.SetName(asked.XRD.Name)
	definition.Spec.Group = asked.XRD.Group
	definition.Spec.Names.Plural = asked.XRD.Plural
	if asked.XRD.ClaimPlural != "" {
		definition.Spec.ClaimNames = &extv1.CustomResourceDefinitionNames{Plural: asked.XRD.ClaimPlural}
	}
	all := []rbacv1.ClusterRole{}
	for _, role := range renderComposite(definition) {
		role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
		all = append(all, role)
	}
	return object{"objects": all}, nil
}

func answerFamily(body []byte) (interface{}, error) {
	var asked struct{ A, B, DefaultRegistry string }
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	return object{"sameOrg": !differs(asked.A, asked.B, asked.DefaultRegistry)}, nil
}

func answerRequest(body []byte) (interface{}, error) {
	var asked struct{ Owner, Servant []rbacv1.PolicyRule }
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	rejected, err := rejects(context.Background(), &recorder{allowed: asked.Owner}, asked.Servant)
	return object{"allowed": len(rejected) == 0}, err
}
