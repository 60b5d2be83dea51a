package main

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/google/go-containerregistry/pkg/name"

	xpv1 "github.com/crossplane/crossplane-runtime/apis/common/v1"
	"github.com/crossplane/crossplane-runtime/pkg/resource"
	"github.com/crossplane/crossplane-runtime/pkg/resource/fake"
	extv1 "github.com/crossplane/crossplane/apis/apiextensions/v1"
	pkgv1 "github.com/crossplane/crossplane/apis/pkg/v1"
	"github.com/crossplane/crossplane/internal/controller/rbac/definition"
	"github.com/crossplane/crossplane/internal/controller/rbac/provider/binding"
	"github.com/crossplane/crossplane/internal/controller/rbac/provider/roles"
)

type (
	revision  = pkgv1.ProviderRevision
	revisions = pkgv1.ProviderRevisionList
	reference = xpv1.TypedReference
	composite = extv1.CompositeResourceDefinition
)

const (
	familyLabel = pkgv1.LabelProviderFamily
	// allowedRole is what the chart tells the manager, so that it takes permission requests at all.
	allowedRole = "crossplane:allowed-provider-permissions"
)

var renderComposite = definition.RenderClusterRoles

func setExtras(own *revision, _ []string, requests []rbacv1.PolicyRule) {
	own.Status.PermissionRequests = requests
}

func controllers(cluster *recorder) []reconcile.Reconciler {
	manager := &fake.Manager{Client: cluster}
	access := resource.ClientApplicator{
		Client: cluster,
		Applicator: resource.ApplyFn(func(ctx context.Context, applied client.Object, _ ...resource.ApplyOption) error {
			return cluster.Note(ctx, applied)
		}),
	}
	return []reconcile.Reconciler{
		roles.NewReconciler(manager,
			roles.WithClientApplicator(access),
			roles.WithPermissionRequestsValidator(roles.NewClusterRoleBackedValidator(cluster, allowedRole)),
			roles.WithOrgDiffer(roles.OrgDiffer{DefaultRegistry: name.DefaultRegistry})),
		binding.NewReconciler(manager, binding.WithClientApplicator(access)),
	}
}

// rejects are the single permissions that are refused, as rules.
func rejects(ctx context.Context, cluster *recorder, requests []rbacv1.PolicyRule) ([]rbacv1.PolicyRule, error) {
	rejected, err := roles.NewClusterRoleBackedValidator(cluster, allowedRole).ValidatePermissionRequests(ctx, requests...)
	rules := []rbacv1.PolicyRule{}
	for _, single := range rejected {
		rule := rbacv1.PolicyRule{Verbs: []string{single.Verb}}
		if single.NonResourceURL != "" {
			rule.NonResourceURLs = []string{single.NonResourceURL}
		} else {
			rule.APIGroups, rule.Resources, rule.ResourceNames = []string{single.APIGroup}, []string{single.Resource}, []string{single.ResourceName}
		}
		rules = append(rules, rule)
	}
	return rules, err
}

func differs(a, b, registry string) bool {
	return roles.OrgDiffer{DefaultRegistry: registry}.Differs(a, b)
}
