package main

import (
	"context"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	extv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	pkgv1 "github.com/crossplane/crossplane/apis/v2/pkg/v1"
	"github.com/crossplane/crossplane/v2/internal/controller/rbac/definition"
	"github.com/crossplane/crossplane/v2/internal/controller/rbac/provider/binding"
	"github.com/crossplane/crossplane/v2/internal/controller/rbac/provider/roles"
)

type (
	revision  = pkgv1.ProviderRevision
	revisions = pkgv1.ProviderRevisionList
	reference = xpv2.TypedReference
	composite = extv1.CompositeResourceDefinition
)

const familyLabel = pkgv1.LabelProviderFamily

var renderComposite = definition.RenderClusterRoles

func setExtras(own *revision, capabilities []string, _ []rbacv1.PolicyRule) {
	own.SetCapabilities(capabilities)
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
		roles.NewReconciler(manager, roles.WithClientApplicator(access), roles.WithOrgDiffer(roles.OrgDiffer{})),
		binding.NewReconciler(manager, binding.WithClientApplicator(access)),
	}
}

// rejects has nothing to ask: this release knows no permission requests.
func rejects(_ context.Context, _ *recorder, requests []rbacv1.PolicyRule) ([]rbacv1.PolicyRule, error) {
	if len(requests) > 0 {
		return nil, errors.New("this release knows no permission requests")
	}
	return nil, nil
}

func differs(a, b, _ string) bool { return roles.OrgDiffer{}.Differs(a, b) }
