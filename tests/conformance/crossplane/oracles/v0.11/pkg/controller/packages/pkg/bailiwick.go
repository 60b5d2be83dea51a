package pkg

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/pkg/logging"
	"github.com/crossplane/crossplane/apis/packages/v1alpha1"
)

// Create does what the controller does for a new package up to its deployment.
func Create(ctx context.Context, kube client.Client, made *v1alpha1.Package, restrict bool) error {
	h := &packageHandler{kube: kube, ext: made, allowCore: !restrict, log: logging.NewNopLogger()}
	if err := h.validatePackagePermissions(); err != nil {
		return err
	}
	if err := h.processRBAC(ctx); err != nil {
		return err
	}
	return h.processCRDs(ctx,
		h.createListFulfilledCRDHandler(),
		h.createNamespaceLabelsCRDHandler(),
		h.createMultipleParentLabelsCRDHandler(),
		h.createPersonaClusterRolesCRDHandler(),
	)
}

// Permitted is the gate for a rule of a package.
func Permitted(rule rbacv1.PolicyRule) bool { return isPermittedPackagePolicy(rule) }
