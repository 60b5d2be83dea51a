package nodes

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"bailiwick.dev/conformance/rbac/internal/cluster"
	"bailiwick.dev/conformance/rbac/internal/policies"
)

// systemNode is the role of all nodes, and its binding.
const systemNode = "system:node"

// ours compares the role of all nodes and its binding with those that the server made for itself, so before it is given
// the folder's. It tells what differs, and for how many objects.
func (s *server) ours(ctx context.Context, objects []*unstructured.Unstructured) (differences []string, compared int, err error) {
	for _, ours := range objects {
		if ours.GetName() != systemNode {
			continue
		}
		switch ours.GetKind() {
		case "ClusterRole":
			theirs, err := s.client.RbacV1().ClusterRoles().Get(ctx, systemNode, metav1.GetOptions{})
			if err != nil {
				return nil, 0, err
			}
			role := &rbacv1.ClusterRole{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(ours.Object, role); err != nil {
				return nil, 0, err
			}
			compared++
			differences = append(differences, differingRules(role.Rules, theirs.Rules)...)
			if len(role.Rules) > 0 && len(differingRules(role.Rules[1:], theirs.Rules)) == 0 {
				differences = append(differences, "self-check: a missing rule was not noticed")
			}
		case "ClusterRoleBinding":
			theirs, err := s.client.RbacV1().ClusterRoleBindings().Get(ctx, systemNode, metav1.GetOptions{})
			if err != nil {
				return nil, 0, err
			}
			binding := &rbacv1.ClusterRoleBinding{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(ours.Object, binding); err != nil {
				return nil, 0, err
			}
			compared++
			if binding.RoleRef != theirs.RoleRef || !slices.Equal(binding.Subjects, theirs.Subjects) {
				differences = append(differences, fmt.Sprintf("the binding of %s: ours %v %v, the server's %v %v",
					systemNode, binding.RoleRef, binding.Subjects, theirs.RoleRef, theirs.Subjects))
			}
		}
	}
	return differences, compared, nil
}

// differingRules compares what rules allow, taken apart: neither their order nor how they are joined says anything.
func differingRules(ours, theirs []rbacv1.PolicyRule) []string {
	one, other := atoms(ours), atoms(theirs)
	var differences []string
	for _, atom := range slices.Sorted(maps.Keys(one)) {
		if !other[atom] {
			differences = append(differences, "only ours: "+atom)
		}
	}
	for _, atom := range slices.Sorted(maps.Keys(other)) {
		if !one[atom] {
			differences = append(differences, "only the server's: "+atom)
		}
	}
	return differences
}

func atoms(rules []rbacv1.PolicyRule) map[string]bool {
	found := map[string]bool{}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					found[fmt.Sprintf("%s %s.%s %v", verb, resource, group, rule.ResourceNames)] = true
				}
			}
			for _, url := range rule.NonResourceURLs {
				found[verb+" "+url] = true
			}
		}
	}
	return found
}

// give applies a folder as an administrator, each object first as a dry run of its creation. It gives the warnings that
// came with the answers.
func (s *server) give(ctx context.Context, objects []*unstructured.Unstructured) ([]string, error) {
	namespaces := append(cluster.Namespaces(objects, true), cluster.Namespaces(objects, false)...)
	// The parts of a folder are in the order of paths, which is none in which they can be applied.
	var definitions, rest []*unstructured.Unstructured
	for _, object := range objects {
		switch object.GetKind() {
		case "Namespace":
		case "CustomResourceDefinition":
			definitions = append(definitions, object)
		default:
			rest = append(rest, object)
		}
	}
	var warnings []string
	for _, group := range [][]*unstructured.Unstructured{namespaces, definitions, rest} {
		for _, object := range group {
			given, err := s.giveOne(ctx, object)
			if err != nil {
				return nil, err
			}
			warnings = append(warnings, given...)
		}
		for _, object := range group {
			if object.GetKind() == "CustomResourceDefinition" {
				if err := s.served(ctx, object); err != nil {
					return nil, err
				}
			}
		}
	}
	return warnings, nil
}

func (s *server) giveOne(ctx context.Context, object *unstructured.Unstructured) ([]string, error) {
	place, err := s.placeOf(object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	all, own := place.all(object.GetNamespace()), place.one(object.GetNamespace(), object.GetName(), "")
	var warnings []string
	for _, request := range []request{
		{"POST", all + "?fieldValidation=Strict&" + dryRun, plain, object.Object},
		{"PATCH", own + "?fieldValidation=Strict&force=true&" + fieldManager, applyPatch, object.Object},
	} {
		given, err := s.admin.send(ctx, request)
		if err != nil {
			return nil, err
		}
		// What the server has itself, such as system:node, is there already.
		if !given.passed() && !(request.method == "POST" && given.status == http.StatusConflict) {
			return nil, fmt.Errorf("%s: %d %s", request, given.status, given.message)
		}
		for _, warning := range given.warnings {
			warnings = append(warnings, request.String()+": "+warning)
		}
	}
	return warnings, nil
}

// served waits until the objects of a definition can be read, and everybody can look up what they are like.
func (s *server) served(ctx context.Context, definition *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for deadline := time.Now().Add(settling); ; time.Sleep(polling) {
		ready := len(versions) > 0
		for _, version := range versions {
			name := at(version.(object), "name")
			for _, url := range []string{"/apis/" + group + "/" + name + "/" + plural, "/openapi/v3/apis/" + group + "/" + name} {
				given, err := s.admin.send(ctx, request{"GET", url, "", nil})
				if err != nil {
					return err
				}
				ready = ready && given.passed()
			}
		}
		if ready {
			if err := s.discover(); err == nil {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not served after %s", definition.GetName(), settling)
		}
	}
}

// typed gives the admission policies of a folder with the versions that are served in the place of a wildcard. The
// controller that puts warnings about types into the status of a policy passes over rules with a wildcard, so that it
// would find nothing; it is not run, but its checker is, over these.
func (s *server) typed(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, object := range policiesOf(objects) {
		object = object.DeepCopy()
		rules, _, _ := unstructured.NestedSlice(object.Object, "spec", "matchConstraints", "resourceRules")
		for _, rule := range rules {
			rule := rule.(map[string]any)
			groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
			resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
			versions := map[string]bool{}
			for _, group := range groups {
				for _, resource := range resources {
					resource, _, _ = strings.Cut(resource, "/")
					place, err := s.placeOfResource(group, resource)
					if err != nil {
						return nil, err
					}
					versions[place.kind.Version] = true
				}
			}
			listed := []any{}
			for _, version := range slices.Sorted(maps.Keys(versions)) {
				listed = append(listed, version)
			}
			rule["apiVersions"] = listed
		}
		if err := unstructured.SetNestedSlice(object.Object, rules, "spec", "matchConstraints", "resourceRules"); err != nil {
			return nil, err
		}
		found = append(found, object)
	}
	return found, nil
}

// checkTypes tells how many warnings there are about the types in the policies, and which policies it would not have
// noticed a fault in.
func (s *server) checkTypes(out io.Writer, objects []*unstructured.Unstructured) (warnings int, unseen []string, err error) {
	typed, err := s.typed(objects)
	if err != nil {
		return 0, nil, err
	}
	if warnings, err = policies.TypeWarnings(out, s.config, typed); err != nil {
		return 0, nil, err
	}
	for _, policy := range typed {
		validations, _, _ := unstructured.NestedSlice(policy.Object, "spec", "validations")
		// No object has such a field. A policy that is about removed objects alone would have to look at the old one.
		validations = append(validations, object{"expression": "object.metadata.nam == ''"})
		if err := unstructured.SetNestedSlice(policy.Object, validations, "spec", "validations"); err != nil {
			return 0, nil, err
		}
		found, err := policies.TypeWarnings(io.Discard, s.config, []*unstructured.Unstructured{policy})
		if err != nil {
			return 0, nil, err
		}
		if found == 0 {
			unseen = append(unseen, "a field that no object has, in "+policy.GetName())
		}
	}
	return warnings, unseen, nil
}

func policiesOf(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(object *unstructured.Unstructured) bool {
		return object.GetKind() != "ValidatingAdmissionPolicy"
	})
}
