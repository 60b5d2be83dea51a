package checks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbachelpers "k8s.io/kubernetes/pkg/apis/rbac/v1"

	"bailiwick.dev/conformance/internal/cluster"
)

// askers is the number of reviews at the same time.
const askers = 16

// A request is a request of one subject, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
type request struct {
	subject, namespace, verb, group, resource string
}

func (r request) String() string {
	return fmt.Sprintf("%s: %s %s.%s in %q", r.subject, r.verb, r.resource, r.group, r.namespace)
}

// requests returns random requests of the subjects of the policies and of others.
func requests(random *rand.Rand, count int) []request {
	subjects := []string{"User/alice", "User/bob", "User/carol", "User/mallory", "Group/devs", "Group/ops"}
	for _, namespace := range namespaces {
		subjects = append(subjects, "ServiceAccount/"+namespace+"/ci", "ServiceAccount/"+namespace+"/bot")
	}
	verbs := []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"}
	resources := []string{"pods", "pods/exec", "pods/log", "configmaps", "secrets", "resourcequotas", "services", "deployments.apps", "statefulsets.apps",
		"roles.rbac.authorization.k8s.io", "nodes", "namespaces"}
	all := append([]string{""}, namespaces...)
	chosen := make([]request, count)
	for i := range chosen {
		resource, group, _ := strings.Cut(pick(random, resources), ".")
		chosen[i] = request{pick(random, subjects), pick(random, all), pick(random, verbs), group, resource}
	}
	return chosen
}

func pick(random *rand.Rand, list []string) string {
	return list[random.IntN(len(list))]
}

// review asks the server.
func review(ctx context.Context, server *cluster.Cluster, r request) (bool, error) {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	spec := authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: r.namespace, Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource,
	}}
	kind, name, _ := strings.Cut(r.subject, "/")
	switch kind {
	case "User":
		spec.User = name
	case "Group":
		spec.User, spec.Groups = "a member", []string{name}
	default:
		spec.User = "system:serviceaccount:" + strings.Replace(name, "/", ":", 1)
	}
	answer, err := server.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// reviews asks the server each request.
func reviews(ctx context.Context, server *cluster.Cluster, all []request) ([]bool, error) {
	answers, failures := make([]bool, len(all)), make([]error, askers)
	var group sync.WaitGroup
	for asker := range askers {
		group.Go(func() {
			for i := asker; i < len(all) && failures[asker] == nil; i += askers {
				answers[i], failures[asker] = review(ctx, server, all[i])
			}
		})
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// differs returns whether the answer on a request changes by the access: it was denied and lies in the gained access of its subject, or
// was allowed and lies in the lost access. A gained rule with a wildcard also covers what was allowed before.
func (d *drift) differs(r request, before bool) bool {
	for _, change := range d.Access {
		for _, affected := range change.Subjects {
			isThere := affected.Namespace == "" || affected.Namespace == r.namespace
			rules := change.Gained
			if before {
				rules = change.Lost
			}
			if affected.Subject == r.subject && isThere && covers(rules, r) {
				return true
			}
		}
	}
	return false
}

// covers returns whether a rule allows the request, as the authorizer of Kubernetes reads rules.
func covers(rules []rbacv1.PolicyRule, r request) bool {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	for i := range rules {
		rule := &rules[i]
		if rbachelpers.VerbMatches(rule, r.verb) && rbachelpers.APIGroupMatches(rule, r.group) &&
			rbachelpers.ResourceMatches(rule, r.resource, subresource) && rbachelpers.ResourceNameMatches(rule, "") && resource != "" {
			return true
		}
	}
	return false
}
