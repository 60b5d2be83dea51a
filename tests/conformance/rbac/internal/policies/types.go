// Package policies puts the admission policies that profiles become to a server that runs.
package policies

import (
	"fmt"
	"io"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// TypeWarnings tells what the controller that checks the types of ValidatingAdmissionPolicies would put into their
// status. It runs the checker itself, since that controller belongs to the controller manager.
func TypeWarnings(out io.Writer, config *rest.Config, objects []*unstructured.Unstructured) (int, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return 0, err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return 0, err
	}
	checker := validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: client},
		RestMapper:     &staticMapper{restmapper.NewDiscoveryRESTMapper(groups)},
	}
	checked, warnings := 0, 0
	for _, object := range objects {
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policy := &admissionv1.ValidatingAdmissionPolicy{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, policy); err != nil {
			return 0, err
		}
		checked++
		for _, warning := range checker.Check(policy) {
			warnings++
			fmt.Fprintf(out, "  %s: %s: %s\n", policy.Name, warning.FieldRef, warning.Warning)
		}
	}
	fmt.Fprintf(out, "%d validating policies: %d warnings about types\n", checked, warnings)
	return warnings, nil
}
