package kube

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-helpers/auth/rbac/validation"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// requestInfo parses URLs with the prefixes of the server.
var requestInfo = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func (w *World) canI(ctx context.Context, question *protocol.CanI) (protocol.Answer, error) {
	attributes, err := Attributes(ctx, question)
	if err != nil {
		return nil, err
	}
	subject := attributes.GetUser()
	answer := &protocol.CanIAnswer{}
	if question.HTTP != "" {
		answer.Attributes = attributesAnswer(attributes)
	}
	decision, _, err := w.authorizer.Authorize(ctx, attributes)
	if err != nil {
		return nil, err
	}
	allowed := decision == authorizer.DecisionAllow
	answer.Allowed = &allowed
	answer.Answer = map[bool]string{true: "yes", false: "no"}[allowed]
	for _, one := range w.applying(attributes.GetNamespace()) {
		if one.missing != "" {
			// The resolver complains about a missing role only where the binding is one of the subject.
			if _, err := one.resolver.RulesFor(ctx, subject, attributes.GetNamespace()); err != nil {
				answer.Missing = append(answer.Missing, one.missing)
			}
		} else if decision, _, _ := one.authorizer.Authorize(ctx, attributes); decision == authorizer.DecisionAllow {
			answer.By = append(answer.By, one.name)
		}
	}
	return answer, nil
}

// Attributes are what the authorizer is asked.
func Attributes(ctx context.Context, question *protocol.CanI) (authorizer.Attributes, error) {
	subject := subjectOf(&question.Subject)
	if question.HTTP != "" {
		return attributesOfRequest(ctx, question.HTTP, subject)
	}
	return attributesOf(&question.Action, subject), nil
}

func subjectOf(given *protocol.Subject) user.Info {
	return &user.DefaultInfo{Name: given.User, Groups: Groups(given)}
}

// Groups of a subject are those given, or else those that authentication adds.
func Groups(subject *protocol.Subject) []string {
	if subject.Groups != nil {
		return *subject.Groups
	}
	if subject.User == user.Anonymous {
		return []string{user.AllUnauthenticated}
	}
	if namespace, name, err := serviceaccount.SplitUsername(subject.User); err == nil {
		account := serviceaccount.UserInfo(namespace, name, "")
		return append(slices.Clone(account.GetGroups()), user.AllAuthenticated)
	}
	return []string{user.AllAuthenticated}
}

func attributesOf(action *protocol.Action, subject user.Info) authorizer.Attributes {
	if action.Path != nil {
		return authorizer.AttributesRecord{User: subject, Verb: action.Verb, Path: *action.Path}
	}
	return authorizer.AttributesRecord{
		User: subject, Verb: action.Verb, Namespace: action.Namespace, APIGroup: action.Group, APIVersion: "*",
		Resource: action.Resource, Subresource: action.Subresource, Name: action.Name, ResourceRequest: true,
	}
}

// attributesOfRequest goes the way of a request through the server: the HTTP parser, the filter that adds the request
// information and the one that asks the authorizer.
func attributesOfRequest(ctx context.Context, line string, subject user.Info) (authorizer.Attributes, error) {
	received, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line + " HTTP/1.1\r\nHost: server\r\n\r\n")))
	if err != nil {
		return nil, err
	}
	info, err := requestInfo.NewRequestInfo(received)
	if err != nil {
		return nil, err
	}
	return filters.GetAuthorizerAttributes(request.WithRequestInfo(request.WithUser(ctx, subject), info))
}

func attributesAnswer(attributes authorizer.Attributes) map[string]string {
	if !attributes.IsResourceRequest() {
		return map[string]string{"verb": attributes.GetVerb(), "path": string([]rune(attributes.GetPath()))}
	}
	named := map[string]string{
		"verb": attributes.GetVerb(), "group": attributes.GetAPIGroup(), "version": attributes.GetAPIVersion(),
		"resource": attributes.GetResource(), "subresource": attributes.GetSubresource(),
		"namespace": attributes.GetNamespace(), "name": attributes.GetName(),
	}
	for name, value := range named {
		// An answer is text, but what stands escaped in a URL may be any bytes.
		named[name] = string([]rune(value))
	}
	return named
}

func (w *World) rules(ctx context.Context, question *protocol.RulesFor) protocol.Answer {
	subject := subjectOf(&question.Subject)
	// The error joins those of all bindings; what is missing is asked for binding by binding instead.
	rules, _ := w.resolver.RulesFor(ctx, subject, question.Namespace)
	return &protocol.RulesAnswer{Rules: slices.Clone(rules), Missing: w.missing(ctx, subject, question.Namespace)}
}

// missing names the roles that bindings of a subject name and that do not exist.
func (w *World) missing(ctx context.Context, subject user.Info, namespace string) []string {
	missing := map[string]bool{}
	for _, one := range w.applying(namespace) {
		if one.missing == "" {
			continue
		}
		if _, err := one.resolver.RulesFor(ctx, subject, namespace); err != nil {
			missing[one.missing] = true
		}
	}
	return sorted(missing)
}

func covers(question *protocol.Covers) protocol.Answer {
	covered, uncovered := validation.Covers(question.Owner, question.Wanted)
	return &protocol.CoversAnswer{Covers: &covered, Uncovered: uncovered}
}

// whoCan asks the locator binding by binding, because it leaves the namespace of an account empty that the binding
// leaves empty, and only the binding knows which one is meant.
func (w *World) whoCan(ctx context.Context, action *protocol.Action) protocol.Answer {
	subjects, missing := map[string]bool{"Group/" + user.SystemPrivilegedGroup: true}, map[string]bool{}
	attributes := attributesOf(action, nil)
	for _, one := range w.applying(attributes.GetNamespace()) {
		found, err := one.locator.AllowedSubjects(ctx, attributes)
		if err != nil {
			missing[one.missing] = true
		}
		for _, subject := range found {
			if name := subjectName(subject, one.namespace); name != "" {
				subjects[name] = true
			}
		}
	}
	return &protocol.WhoCanAnswer{Subjects: sorted(subjects), Missing: sorted(missing)}
}

// subjectName is "" for what no request can ever match.
func subjectName(subject rbacv1.Subject, bindingNamespace string) string {
	switch subject.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
		return subject.Kind + "/" + subject.Name
	case rbacv1.ServiceAccountKind:
		namespace := subject.Namespace
		if namespace == "" {
			namespace = bindingNamespace
		}
		if namespace != "" {
			return subject.Kind + "/" + namespace + "/" + subject.Name
		}
	}
	return ""
}

func copyRoles(roles map[string][]rbacv1.PolicyRule) map[string][]rbacv1.PolicyRule {
	copied := make(map[string][]rbacv1.PolicyRule, len(roles))
	for name, rules := range roles {
		copied[name] = slices.Clone(rules)
	}
	return copied
}
