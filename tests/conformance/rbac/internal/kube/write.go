package kube

import (
	"context"
	"errors"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/component-helpers/auth/rbac/validation"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	clusterrolepolicy "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/policybased"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	clusterrolebindingpolicy "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/policybased"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	rolepolicy "k8s.io/kubernetes/pkg/registry/rbac/role/policybased"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	rolebindingpolicy "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// strategy is what the store below the escalation check validates with.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// writing is a write as the server sees it after decoding.
type writing struct {
	subject   user.Info
	verb      string
	resource  string
	namespace string
	name      string
	object    runtime.Object
	old       runtime.Object
}

// fullAuthority is what an aggregation rule asks for.
var fullAuthority = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

func (w *World) write(ctx context.Context, question *protocol.Write) (protocol.Answer, error) {
	write, err := decodeWrite(question)
	if err != nil {
		return nil, err
	}
	ctx = request.WithNamespace(request.WithUser(ctx, write.subject), write.namespace)
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: write.verb, APIPrefix: "apis", APIGroup: rbac.GroupName, APIVersion: "v1",
		Resource: write.resource, Namespace: write.namespace, Name: write.requestName(write.verb),
	})
	allowed, err := w.verbAllowed(ctx, write)
	if err != nil {
		return nil, err
	}
	answer := &protocol.WriteAnswer{VerbAllowed: &allowed}
	err = w.store(ctx, write)
	if apierrors.IsInvalid(err) && !aboutRoleRef(err) {
		err = nil
	}
	switch {
	case err == nil:
		answer.Escalation = "ok"
	case apierrors.IsForbidden(err):
		answer.Escalation = "forbidden"
		answer.Uncovered = w.uncovered(ctx, write)
	case apierrors.IsNotFound(err):
		answer.Escalation = "not-found"
	case apierrors.IsInternalError(err):
		// The harness has left out something that the server does before.
		return nil, err
	default:
		answer.Escalation = "invalid"
	}
	both := allowed && err == nil
	answer.Allowed = &both
	return answer, nil
}

// aboutRoleRef tells whether validation complains about the reference to the role, which is a part of the verdict. What
// else makes an object invalid is not asked here.
func aboutRoleRef(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return strings.HasPrefix(cause.Field, "roleRef")
	})
}

func decodeWrite(question *protocol.Write) (*writing, error) {
	write := &writing{subject: subjectOf(&question.Subject), verb: question.Verb}
	decode := func(text []byte) (runtime.Object, error) {
		versioned, err := decodeObject(text)
		if err != nil {
			return nil, err
		}
		switch versioned.(type) {
		case *rbacv1.Role:
			write.resource = "roles"
		case *rbacv1.RoleBinding:
			write.resource = "rolebindings"
		case *rbacv1.ClusterRole:
			write.resource = "clusterroles"
		case *rbacv1.ClusterRoleBinding:
			write.resource = "clusterrolebindings"
		default:
			return nil, errors.New("not an object of RBAC")
		}
		return legacyscheme.Scheme.ConvertToVersion(versioned, rbac.SchemeGroupVersion)
	}
	if question.Old != nil {
		old, err := decode(question.Old)
		if err != nil {
			return nil, err
		}
		write.old = old
	}
	object, err := decode(question.Object)
	if err != nil {
		return nil, err
	}
	write.object = object
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	write.namespace, write.name = accessor.GetNamespace(), accessor.GetName()
	if write.verb == "" {
		write.verb = "create"
		if write.old != nil {
			write.verb = "update"
		}
	}
	return write, nil
}

// requestName is empty for a POST, whose URL names the collection.
func (w *writing) requestName(verb string) string {
	if verb == "create" && w.verb == "create" {
		return ""
	}
	return w.name
}

// verbAllowed asks for the verb of the request and, where an update or a patch turns out to create, for create as
// well: the server does so with the name of the request.
func (w *World) verbAllowed(ctx context.Context, write *writing) (bool, error) {
	verbs := []string{write.verb}
	if write.verb != "create" && write.old == nil {
		verbs = append(verbs, "create")
	}
	for _, verb := range verbs {
		decision, _, err := w.authorizer.Authorize(ctx, authorizer.AttributesRecord{
			User: write.subject, Verb: verb, APIGroup: rbac.GroupName, APIVersion: "v1", Resource: write.resource,
			Namespace: write.namespace, Name: write.requestName(verb), ResourceRequest: true,
		})
		if err != nil || decision != authorizer.DecisionAllow {
			return false, err
		}
	}
	return true, nil
}

// store runs the write against the storage of the server, with memory in place of etcd.
func (w *World) store(ctx context.Context, write *writing) error {
	var policy rest.StandardStorage
	switch write.resource {
	case "roles":
		policy = rolepolicy.NewStorage(memory{strategy: role.Strategy, old: write.old, empty: &rbac.Role{}}, w.authorizer, w.resolver)
	case "clusterroles":
		policy = clusterrolepolicy.NewStorage(memory{strategy: clusterrole.Strategy, old: write.old, empty: &rbac.ClusterRole{}}, w.authorizer, w.resolver)
	case "rolebindings":
		policy = rolebindingpolicy.NewStorage(memory{strategy: rolebinding.Strategy, old: write.old, empty: &rbac.RoleBinding{}}, w.authorizer, w.resolver)
	default:
		policy = clusterrolebindingpolicy.NewStorage(memory{strategy: clusterrolebinding.Strategy, old: write.old, empty: &rbac.ClusterRoleBinding{}}, w.authorizer, w.resolver)
	}
	var err error
	if write.verb == "create" {
		_, err = policy.Create(ctx, write.object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	} else {
		_, _, err = policy.Update(ctx, write.name, rest.DefaultUpdatedObjectInfo(write.object), rest.ValidateAllObjectFunc,
			rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
	}
	return err
}

// uncovered lists what the refused write would have handed out too much.
func (w *World) uncovered(ctx context.Context, write *writing) []rbacv1.PolicyRule {
	owner, _ := w.resolver.RulesFor(ctx, write.subject, write.namespace)
	var wanted []rbacv1.PolicyRule
	switch object := write.object.(type) {
	case *rbac.Role:
		wanted = versioned(object.Rules)
	case *rbac.ClusterRole:
		wanted = versioned(object.Rules)
	case *rbac.RoleBinding:
		wanted, _ = w.resolver.GetRoleReferenceRules(ctx, rbacv1.RoleRef(object.RoleRef), write.namespace)
	case *rbac.ClusterRoleBinding:
		wanted, _ = w.resolver.GetRoleReferenceRules(ctx, rbacv1.RoleRef(object.RoleRef), "")
	}
	_, uncovered := validation.Covers(owner, wanted)
	if len(uncovered) == 0 {
		// The rules are held, so it was the aggregation rule.
		_, uncovered = validation.Covers(owner, fullAuthority)
	}
	return uncovered
}

func versioned(rules []rbac.PolicyRule) []rbacv1.PolicyRule {
	converted := make([]rbacv1.PolicyRule, 0, len(rules))
	for _, rule := range rules {
		converted = append(converted, rbacv1.PolicyRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources,
			ResourceNames: rule.ResourceNames, NonResourceURLs: rule.NonResourceURLs,
		})
	}
	return converted
}

// memory is the store below the escalation check: it validates and keeps nothing.
type memory struct {
	rest.StandardStorage
	strategy strategy
	old      runtime.Object
	empty    runtime.Object
}

func (m memory) Create(ctx context.Context, object runtime.Object, _ rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	return object, m.create(ctx, object)
}

func (m memory) create(ctx context.Context, object runtime.Object) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	rest.FillObjectMetaSystemFields(accessor)
	return rest.BeforeCreate(m.strategy, ctx, object)
}

func (m memory) Update(ctx context.Context, _ string, info rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc, _ rest.ValidateObjectUpdateFunc, _ bool, _ *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if m.old == nil {
		object, err := info.UpdatedObject(ctx, m.empty)
		if err != nil {
			return nil, false, err
		}
		return object, true, m.create(ctx, object)
	}
	object, err := info.UpdatedObject(ctx, m.old)
	if err != nil {
		return nil, false, err
	}
	// What is read from etcd has a version, and an update without one takes that.
	for _, one := range []runtime.Object{object, m.old} {
		accessor, err := meta.Accessor(one)
		if err != nil {
			return nil, false, err
		}
		accessor.SetResourceVersion("1")
	}
	return object, false, rest.BeforeUpdate(m.strategy, ctx, object, m.old)
}
