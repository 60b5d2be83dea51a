// Package lies serves the protocol, truthfully or not. A comparison that does not notice each of these lies would
// prove nothing.
package lies

import (
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// Lie is a way to be wrong. What stands before an answer changes the objects or the question, as a misunderstanding
// does; what stands after it changes the answer.
type Lie struct {
	Name     string
	objects  func(*kube.Objects)
	question func(*protocol.Question)
	answer   func(*protocol.Question, protocol.Answer)
	// after ends the process after so many answers, when it is not 0.
	after int
}

// All are the lies, from what tools get wrong to what only a broken pipe does.
var All = []Lie{
	{Name: "subresource-star", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		for _, resource := range rule.Resources {
			if stem, ok := strings.CutSuffix(resource, "/*"); ok {
				rule.Resources = append(slices.Clone(rule.Resources), stem+"/log", stem+"/scale", stem+"/status")
			}
		}
	})},
	{Name: "star-covers-no-subresource", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		if slices.Contains(rule.Resources, "*") {
			rule.Resources = []string{"pods", "deployments", "secrets", "nodes", "namespaces", "roles", "clusterroles", "rolebindings"}
		}
	})},
	{Name: "no-star-before-subresource", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		rule.Resources = without(rule.Resources, func(resource string) bool { return strings.HasPrefix(resource, "*/") })
	})},
	{Name: "name-star", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		if slices.Contains(rule.ResourceNames, "*") {
			rule.ResourceNames = nil
		}
	})},
	{Name: "empty-name", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		rule.ResourceNames = without(rule.ResourceNames, func(name string) bool { return name == "" })
	})},
	{Name: "verb-case", objects: eachRule(func(rule *rbacv1.PolicyRule) { rule.Verbs = lower(rule.Verbs) })},
	{Name: "resource-case", objects: eachRule(func(rule *rbacv1.PolicyRule) { rule.Resources = lower(rule.Resources) })},
	{Name: "group-star-suffix", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		if slices.Contains(rule.APIGroups, "apps*") {
			rule.APIGroups = append(slices.Clone(rule.APIGroups), "apps")
		}
	})},
	{Name: "core-by-name", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		if slices.Contains(rule.APIGroups, "core") {
			rule.APIGroups = append(slices.Clone(rule.APIGroups), "")
		}
	})},
	{Name: "inner-star-in-url", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		for _, url := range rule.NonResourceURLs {
			if stem, rest, ok := strings.Cut(url, "*"); ok && rest != "" {
				rule.NonResourceURLs = append(slices.Clone(rule.NonResourceURLs), stem+"*")
			}
		}
	})},
	{Name: "two-stars-are-literal", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		rule.NonResourceURLs = without(rule.NonResourceURLs, func(url string) bool { return strings.HasSuffix(url, "**") })
	})},
	{Name: "url-prefix-by-folder", objects: eachRule(func(rule *rbacv1.PolicyRule) {
		for _, url := range rule.NonResourceURLs {
			if stem, ok := strings.CutSuffix(url, "/*"); ok && stem != "" {
				rule.NonResourceURLs = append(slices.Clone(rule.NonResourceURLs), stem)
			}
		}
	})},
	{Name: "account-needs-namespace", objects: eachSubject(func(subject *rbacv1.Subject) bool {
		return subject.Kind != "ServiceAccount" || subject.Namespace != ""
	})},
	{Name: "group-in-namespace", objects: eachSubject(func(subject *rbacv1.Subject) bool {
		return subject.Kind != "Group" || subject.Namespace == ""
	})},
	{Name: "user-is-no-account", objects: eachSubject(func(subject *rbacv1.Subject) bool {
		return subject.Kind != "User" || !strings.HasPrefix(subject.Name, "system:serviceaccount:")
	})},
	{Name: "role-of-other-kind", objects: func(objects *kube.Objects) {
		for _, binding := range objects.RoleBindings {
			if binding.RoleRef.Kind == "Role" && !slices.ContainsFunc(objects.Roles, func(role *rbacv1.Role) bool {
				return role.Name == binding.RoleRef.Name && role.Namespace == binding.Namespace
			}) {
				binding.RoleRef.Kind = "ClusterRole"
			}
		}
	}},
	{Name: "selector-labels-only", objects: func(objects *kube.Objects) {
		for _, role := range objects.ClusterRoles {
			if role.AggregationRule != nil {
				for index := range role.AggregationRule.ClusterRoleSelectors {
					role.AggregationRule.ClusterRoleSelectors[index].MatchExpressions = nil
				}
			}
		}
	}},
	{Name: "no-aggregation", objects: func(objects *kube.Objects) {
		for _, role := range objects.ClusterRoles {
			role.AggregationRule = nil
		}
	}},
	{Name: "no-baseline", question: func(question *protocol.Question) {
		if question.World != nil {
			question.World.Baseline = ""
		}
	}},
	{Name: "no-implicit-groups", question: func(question *protocol.Question) {
		if question.CanI != nil && question.CanI.Groups == nil {
			question.CanI.Groups = &[]string{}
		}
	}},
	{Name: "no-masters", question: func(question *protocol.Question) {
		if question.CanI != nil && question.CanI.Groups != nil {
			groups := without(*question.CanI.Groups, func(group string) bool { return group == "system:masters" })
			question.CanI.Groups = &groups
		}
	}},
	{Name: "no-queries", question: func(question *protocol.Question) {
		if question.CanI != nil {
			question.CanI.HTTP, _, _ = strings.Cut(question.CanI.HTTP, "?")
		}
	}},
	{Name: "slashes-run-together", question: func(question *protocol.Question) {
		if question.CanI != nil {
			question.CanI.HTTP = regexp.MustCompile("/+").ReplaceAllString(question.CanI.HTTP, "/")
		}
	}},
	{Name: "watch-only-when-true", question: func(question *protocol.Question) {
		if question.CanI != nil {
			question.CanI.HTTP = regexp.MustCompile(`watch=(yes|no|00|)(&|$)`).ReplaceAllString(question.CanI.HTTP, "")
		}
	}},
	{Name: "create-has-a-name", question: func(question *protocol.Question) {
		if question.Write != nil && question.Write.Old == nil {
			question.Write.Verb = "update"
		}
	}},
	{Name: "flip", answer: func(question *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.CanIAnswer); ok && question.CanI.Name == "y" && len(answer.By) > 1 {
			*answer.Allowed, answer.Answer = false, "no"
		}
	}},
	{Name: "last-by", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.CanIAnswer); ok && len(answer.By) > 2 {
			answer.By = answer.By[:2]
		}
	}},
	{Name: "no-missing", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.CanIAnswer); ok {
			answer.Missing = nil
		}
	}},
	{Name: "no-version", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.CanIAnswer); ok {
			delete(answer.Attributes, "version")
		}
	}},
	{Name: "one-rule-less", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.RulesAnswer); ok && len(answer.Rules) > 3 {
			answer.Rules = answer.Rules[1:]
		}
	}},
	{Name: "uncovered-turned-round", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.CoversAnswer); ok {
			slices.Reverse(answer.Uncovered)
		}
	}},
	{Name: "one-subject-less", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.WhoCanAnswer); ok && len(answer.Subjects) > 3 {
			answer.Subjects = answer.Subjects[1:]
		}
	}},
	{Name: "one-aggregate-less", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.AggregateAnswer); ok && len(answer.Roles) > 1 {
			for name := range answer.Roles {
				delete(answer.Roles, name)
				break
			}
		}
	}},
	{Name: "no-escalation", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.WriteAnswer); ok && answer.Escalation == "forbidden" {
			answer.Escalation, answer.Uncovered = "ok", nil
		}
	}},
	{Name: "role-may-be-missing", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.WriteAnswer); ok && answer.Escalation == "not-found" {
			answer.Escalation = "forbidden"
		}
	}},
	{Name: "nothing-protected", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.ReconcileAnswer); ok {
			*answer.Protected = false
		}
	}},
	{Name: "no-labels-reconciled", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.ReconcileAnswer); ok {
			if metadata, ok := answer.Result["metadata"].(map[string]any); ok {
				delete(metadata, "labels")
			}
		}
	}},
	{Name: "one-default-less", answer: func(_ *protocol.Question, answer protocol.Answer) {
		if answer, ok := answer.(*protocol.PolicyAnswer); ok {
			answer.Objects = answer.Objects[1:]
		}
	}},
	{Name: "ends-early", after: 1000},
}

// Find gives the lie of a name, or nil.
func Find(name string) *Lie {
	for index := range All {
		if All[index].Name == name {
			return &All[index]
		}
	}
	return nil
}

func eachRule(change func(*rbacv1.PolicyRule)) func(*kube.Objects) {
	return func(objects *kube.Objects) {
		for _, role := range objects.Roles {
			for index := range role.Rules {
				change(&role.Rules[index])
			}
		}
		for _, role := range objects.ClusterRoles {
			for index := range role.Rules {
				change(&role.Rules[index])
			}
		}
	}
}

func eachSubject(keep func(*rbacv1.Subject) bool) func(*kube.Objects) {
	return func(objects *kube.Objects) {
		drop := func(subject rbacv1.Subject) bool { return !keep(&subject) }
		for _, binding := range objects.RoleBindings {
			binding.Subjects = slices.DeleteFunc(binding.Subjects, drop)
		}
		for _, binding := range objects.ClusterRoleBindings {
			binding.Subjects = slices.DeleteFunc(binding.Subjects, drop)
		}
	}
}

func without(list []string, drop func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

func lower(list []string) []string {
	lowered := make([]string, 0, len(list))
	for _, word := range list {
		lowered = append(lowered, strings.ToLower(word))
	}
	return lowered
}
