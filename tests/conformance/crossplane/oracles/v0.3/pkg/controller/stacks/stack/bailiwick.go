package stack

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplaneio/crossplane/apis/stacks/v1alpha1"
)

// Create does what the controller does for a new stack up to its deployment.
func Create(ctx context.Context, kube client.Client, stack *v1alpha1.Stack) error {
	return (&stackHandler{kube: kube, ext: stack}).processRBAC(ctx)
}
