package stack

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/pkg/logging"
	"github.com/crossplane/crossplane/apis/stacks/v1alpha1"
)

// Create does what the controller does for a new stack up to its deployment.
func Create(ctx context.Context, kube client.Client, stack *v1alpha1.Stack, restrict bool) error {
	h := &stackHandler{kube: kube, ext: stack, restrictCore: restrict, log: logging.NewNopLogger()}
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

// Permitted is the gate for a rule of a stack.
func Permitted(rule rbacv1.PolicyRule) bool { return isPermittedStackPolicy(rule) }
