package worlds

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// questions asks for so many decisions, and in proportion for everything else.
func (w *world) questions(decisions int) ([]*protocol.Question, error) {
	questions := []*protocol.Question{{Aggregate: &protocol.Aggregate{}}}
	for count := range decisions {
		if chance(w.random, 3) {
			questions = append(questions, &protocol.Question{CanI: w.canHTTP()})
		} else {
			questions = append(questions, &protocol.Question{CanI: w.canI()})
		}
		if count%32 == 0 {
			questions = append(questions, &protocol.Question{Rules: w.rulesFor()})
		}
		if count%24 == 0 {
			questions = append(questions, &protocol.Question{WhoCan: w.whoCan()})
		}
		if count%24 == 12 {
			questions = append(questions, &protocol.Question{Covers: &protocol.Covers{Owner: w.anyRules(4), Wanted: w.anyRules(2)}})
		}
		if count%12 == 6 {
			write, err := w.write()
			if err != nil {
				return nil, err
			}
			questions = append(questions, &protocol.Question{Write: write})
		}
		if count%32 == 16 {
			reconcile, err := w.reconcile()
			if err != nil {
				return nil, err
			}
			questions = append(questions, &protocol.Question{Reconcile: reconcile})
		}
	}
	return questions, nil
}

// canI begins with something that a binding grants and then spoils it in every other case, so that about half of the
// answers are yes and a no is a near miss.
func (w *world) canI() *protocol.CanI {
	question := &protocol.CanI{}
	question.Subject, question.Action = w.granted(chance(w.random, 5))
	for chance(w.random, 3) {
		w.spoil(question)
	}
	return question
}

// canHTTP puts the same as a request.
func (w *world) canHTTP() *protocol.CanI {
	question := w.canI()
	question.HTTP = w.http(&question.Action)
	question.Action = protocol.Action{}
	return question
}

func (w *world) spoil(question *protocol.CanI) {
	r := w.random
	switch r.IntN(4) {
	case 0:
		question.Subject = w.anySubject()
		return
	case 1:
		question.Groups = w.groups()
		return
	}
	if question.Path != nil {
		if chance(r, 2) {
			question.Verb = pick(r, w.words.urlVerbs)
		} else {
			path := pick(r, w.words.paths)
			question.Path = &path
		}
		return
	}
	switch r.IntN(6) {
	case 0:
		question.Verb = pick(r, w.words.verbs)
	case 1:
		question.Group = pick(r, w.words.apiGroups)
	case 2:
		question.Resource = pick(r, w.words.objects)
	case 3:
		question.Subresource = pick(r, w.words.subresources)
	case 4:
		question.Namespace = pick(r, append(w.words.namespaces[:len(w.words.namespaces):len(w.words.namespaces)], ""))
	case 5:
		question.Name = pick(r, w.words.names)
	}
}

func (w *world) anySubject() protocol.Subject {
	subject := protocol.Subject{User: pick(w.random, w.words.users)}
	if chance(w.random, 3) {
		subject.Groups = w.groups()
	}
	return subject
}

func (w *world) groups() *[]string {
	groups := some(w.random, w.words.groups, 0, 3)
	if groups == nil {
		groups = []string{}
	}
	// One decision in a hundred or so is enough for the short cut.
	if chance(w.random, 100) {
		groups = append(groups, "system:masters")
	}
	return &groups
}

// granted takes a binding, one of its subjects and one of the rules of its role. Bindings without any are tried again,
// or most worlds would say no to almost everything.
func (w *world) granted(url bool) (protocol.Subject, protocol.Action) {
	r := w.random
	for try := 0; ; try++ {
		subject, namespace, rules := w.anyGrant()
		var fitting []rbacv1.PolicyRule
		for _, rule := range rules {
			if len(rule.Verbs) > 0 && (url && len(rule.NonResourceURLs) > 0 || !url && len(rule.Resources) > 0 && len(rule.APIGroups) > 0) {
				fitting = append(fitting, rule)
			}
		}
		switch {
		case len(fitting) > 0 && url:
			return subject, w.onURL(pick(r, fitting))
		case len(fitting) > 0:
			return subject, w.onResource(pick(r, fitting), namespace)
		case try < 10:
			continue
		case url:
			return subject, w.onURL(rbacv1.PolicyRule{Verbs: w.words.urlVerbs, NonResourceURLs: w.words.urls})
		default:
			return subject, w.onResource(rbacv1.PolicyRule{Verbs: w.words.verbs, APIGroups: w.words.apiGroups, Resources: w.words.resources}, namespace)
		}
	}
}

// anyGrant gives a subject, a namespace in which it may have been granted something, and the rules of the role. A
// binding without subjects gives anybody, and no rules.
func (w *world) anyGrant() (protocol.Subject, string, []rbacv1.PolicyRule) {
	r := w.random
	var subjects []rbacv1.Subject
	var ref rbacv1.RoleRef
	namespace := ""
	inCluster, inNamespaces := len(w.objects.ClusterRoleBindings), len(w.objects.RoleBindings)
	if len(w.baseline.ClusterRoleBindings) > 0 && chance(r, 6) {
		binding := pick(r, w.baseline.ClusterRoleBindings)
		subjects, ref = binding.Subjects, binding.RoleRef
	} else if inCluster+inNamespaces == 0 {
		return w.anySubject(), pick(r, w.words.namespaces), nil
	} else if at := r.IntN(inCluster + inNamespaces); at < inCluster {
		binding := w.objects.ClusterRoleBindings[at]
		subjects, ref = binding.Subjects, binding.RoleRef
	} else {
		binding := w.objects.RoleBindings[at-inCluster]
		subjects, ref, namespace = binding.Subjects, binding.RoleRef, binding.Namespace
	}
	if len(subjects) == 0 {
		return w.anySubject(), pick(r, w.words.namespaces), nil
	}
	subject := w.asked(pick(r, subjects), namespace)
	rules := w.rulesOf(ref, namespace)
	if namespace == "" && chance(r, 2) {
		namespace = pick(r, w.words.namespaces)
	}
	return subject, namespace, rules
}

// asked makes somebody of a subject.
func (w *world) asked(subject rbacv1.Subject, bindingNamespace string) protocol.Subject {
	r := w.random
	switch subject.Kind {
	case "User":
		if chance(r, 3) {
			return protocol.Subject{User: subject.Name, Groups: w.groups()}
		}
		return protocol.Subject{User: subject.Name}
	case "Group":
		// Some groups come with the user.
		switch subject.Name {
		case "system:authenticated":
			return protocol.Subject{User: pick(r, w.words.users)}
		case "system:unauthenticated":
			return protocol.Subject{User: "system:anonymous"}
		case "system:serviceaccounts", "system:serviceaccounts:n1":
			return protocol.Subject{User: serviceaccount.MakeUsername("n1", pick(r, w.words.accounts))}
		}
		groups := w.groups()
		*groups = append(*groups, subject.Name)
		return protocol.Subject{User: pick(r, w.words.users), Groups: groups}
	default:
		namespace := subject.Namespace
		if namespace == "" {
			namespace = bindingNamespace
		}
		return protocol.Subject{User: serviceaccount.MakeUsername(namespace, subject.Name)}
	}
}

// rulesOf are the rules as written; those of an aggregated role are taken from any other.
func (w *world) rulesOf(ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	if ref.Kind == "Role" {
		for _, role := range w.objects.Roles {
			if role.Name == ref.Name && role.Namespace == namespace {
				return role.Rules
			}
		}
		return nil
	}
	for _, roles := range [][]*rbacv1.ClusterRole{w.objects.ClusterRoles, w.baseline.ClusterRoles} {
		for _, role := range roles {
			if role.Name != ref.Name {
				continue
			}
			if role.AggregationRule != nil {
				return pick(w.random, roles).Rules
			}
			return role.Rules
		}
	}
	return nil
}

func (w *world) onURL(rule rbacv1.PolicyRule) protocol.Action {
	r := w.random
	path := pick(r, rule.NonResourceURLs)
	if length := len(path); length > 0 && path[length-1] == '*' && !chance(r, 5) {
		path = path[:length-1] + pick(r, []string{"", "x", "/x", "*"})
	}
	return protocol.Action{Verb: w.concrete(pick(r, rule.Verbs), w.words.urlVerbs), Path: &path}
}

func (w *world) onResource(rule rbacv1.PolicyRule, namespace string) protocol.Action {
	r := w.random
	action := protocol.Action{
		Verb:      w.concrete(pick(r, rule.Verbs), w.words.verbs),
		Group:     w.concrete(pick(r, rule.APIGroups), w.words.apiGroups),
		Namespace: namespace,
		Name:      pick(r, w.words.names),
	}
	resource := pick(r, rule.Resources)
	if resource == "*" && !chance(r, 10) {
		action.Resource, action.Subresource = pick(r, w.words.objects), pick(r, w.words.subresources)
	} else if at := slices.Index([]byte(resource), '/'); at >= 0 && !chance(r, 20) {
		action.Resource, action.Subresource = w.concrete(resource[:at], w.words.objects), resource[at+1:]
		if action.Subresource == "*" && !chance(r, 4) {
			action.Subresource = pick(r, w.words.subresources)
		}
	} else {
		action.Resource = resource
	}
	if len(rule.ResourceNames) > 0 {
		action.Name = pick(r, rule.ResourceNames)
	}
	return action
}

// concrete puts a word in place of a star.
func (w *world) concrete(word string, words []string) string {
	if word == "*" && !chance(w.random, 10) {
		return pick(w.random, words)
	}
	return word
}

func (w *world) whoCan() *protocol.Action {
	_, action := w.granted(chance(w.random, 4))
	return &action
}

func (w *world) rulesFor() *protocol.RulesFor {
	subject, namespace, _ := w.anyGrant()
	return &protocol.RulesFor{Subject: subject, Namespace: namespace}
}

// anyRules mixes rules of the world with new ones.
func (w *world) anyRules(most int) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{}
	for range w.random.IntN(most + 1) {
		_, _, granted := w.anyGrant()
		if len(granted) > 0 && !chance(w.random, 3) {
			rules = append(rules, pick(w.random, granted))
		} else {
			rules = append(rules, w.rule(true))
		}
	}
	return rules
}
