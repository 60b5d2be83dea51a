package worlds

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// write makes somebody write an object: one of the world changed a little, or a new one that hands out what the
// writer may well have.
func (w *world) write() (*protocol.Write, error) {
	r := w.random
	subject, namespace, held := w.anyGrant()
	if chance(r, 60) {
		subject.Groups = &[]string{"system:masters"}
	}
	write := &protocol.Write{Subject: subject}
	var object, old any
	var kind string
	switch r.IntN(4) {
	case 0:
		kind = "Role"
		if len(w.objects.Roles) > 0 && !chance(r, 3) {
			before := pick(r, w.objects.Roles)
			after := before.DeepCopy()
			w.changeRole(&after.ObjectMeta, &after.Rules, held)
			object, old = after, before
		} else {
			if namespace == "" {
				namespace = "n1"
			}
			object = &rbacv1.Role{ObjectMeta: w.meta("new", namespace), Rules: w.handedOut(held)}
		}
	case 1:
		kind = "ClusterRole"
		if len(w.objects.ClusterRoles) > 0 && !chance(r, 3) {
			before := pick(r, w.objects.ClusterRoles)
			after := before.DeepCopy()
			w.changeRole(&after.ObjectMeta, &after.Rules, held)
			w.changeAggregation(after)
			object, old = after, before
		} else {
			after := &rbacv1.ClusterRole{ObjectMeta: w.meta("new", ""), Rules: w.handedOut(held)}
			w.changeAggregation(after)
			object = after
		}
	case 2:
		kind = "RoleBinding"
		if len(w.objects.RoleBindings) > 0 && !chance(r, 3) {
			before := pick(r, w.objects.RoleBindings)
			after := before.DeepCopy()
			w.changeBinding(&after.ObjectMeta, &after.RoleRef, &after.Subjects)
			object, old = after, before
		} else {
			if namespace == "" {
				namespace = "n1"
			}
			object = &rbacv1.RoleBinding{ObjectMeta: w.meta("new", namespace), RoleRef: w.roleRef(namespace), Subjects: w.subjects(namespace)}
		}
	case 3:
		kind = "ClusterRoleBinding"
		if len(w.objects.ClusterRoleBindings) > 0 && !chance(r, 3) {
			before := pick(r, w.objects.ClusterRoleBindings)
			after := before.DeepCopy()
			w.changeBinding(&after.ObjectMeta, &after.RoleRef, &after.Subjects)
			object, old = after, before
		} else {
			after := &rbacv1.ClusterRoleBinding{ObjectMeta: w.meta("new", ""), RoleRef: w.roleRef(""), Subjects: w.subjects("")}
			if chance(r, 20) {
				after.RoleRef.Kind = "Role"
			}
			object = after
		}
	}
	var err error
	if write.Object, err = encode(object, kind); err != nil {
		return nil, err
	}
	if old == nil {
		// What is applied is created by a patch.
		write.Verb = pick(r, []string{"", "", "create", "patch", "update"})
		return write, nil
	}
	write.Verb = pick(r, []string{"", "update", "patch"})
	write.Old, err = encode(old, kind)
	return write, err
}

// changeRole changes as much as an update may, sometimes nothing, sometimes only what the garbage collector changes.
func (w *world) changeRole(meta *metav1.ObjectMeta, rules *[]rbacv1.PolicyRule, held []rbacv1.PolicyRule) {
	if w.changeMeta(meta) {
		if len(*rules) == 0 && chance(w.random, 2) {
			*rules = []rbacv1.PolicyRule{}
		}
		return
	}
	switch w.random.IntN(3) {
	case 0:
		*rules = w.handedOut(held)
	case 1:
		*rules = append(*rules, w.handedOut(held)...)
	case 2:
		if len(*rules) > 0 {
			*rules = (*rules)[1:]
		}
	}
}

func (w *world) changeAggregation(role *rbacv1.ClusterRole) {
	switch w.random.IntN(8) {
	case 0:
		role.AggregationRule = w.aggregationRule()
	case 1:
		role.AggregationRule = nil
	}
}

func (w *world) changeBinding(meta *metav1.ObjectMeta, ref *rbacv1.RoleRef, subjects *[]rbacv1.Subject) {
	if w.changeMeta(meta) {
		if chance(w.random, 2) {
			// What is written out is what is filled in otherwise.
			ref.APIGroup = pick(w.random, []string{"", rbacv1.GroupName})
			if len(*subjects) == 0 {
				*subjects = pick(w.random, [][]rbacv1.Subject{nil, {}})
			}
		}
		return
	}
	*subjects = w.subjects(meta.Namespace)
	if chance(w.random, 6) {
		*ref = w.roleRef(meta.Namespace)
	}
}

// changeMeta tells whether the change shall be left at that.
func (w *world) changeMeta(meta *metav1.ObjectMeta) bool {
	switch w.random.IntN(9) {
	case 3:
		// For the server this is no change.
		meta.Annotations = map[string]string{}
		meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "v1"}}
		meta.SelfLink = pick(w.random, []string{"", "/x"})
		return true
	case 4:
		meta.UID = "u"
		return true
	case 5:
		meta.ResourceVersion, meta.Generation = pick(w.random, []string{"", "7"}), int64(w.random.IntN(2))
		return true
	case 0:
		meta.Finalizers = []string{"example.com/keep"}
		meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "u"}}
		return true
	case 1:
		meta.Labels = map[string]string{"changed": "true"}
		return true
	case 2:
		return chance(w.random, 2)
	}
	return false
}

// handedOut are rules that the writer holds, narrowed, and sometimes one more.
func (w *world) handedOut(held []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, rule := range held {
		if chance(w.random, 3) {
			continue
		}
		rule = *rule.DeepCopy()
		if len(rule.Verbs) > 1 {
			rule.Verbs = rule.Verbs[1:]
		}
		if len(rule.Resources) > 0 && len(rule.ResourceNames) == 0 && chance(w.random, 3) {
			rule.ResourceNames = some(w.random, w.words.names, 1, 2)
		}
		rules = append(rules, rule)
	}
	if chance(w.random, 3) {
		rules = append(rules, w.rule(true))
	}
	return rules
}

// reconcile takes an object of the world as the expected one, and a changed copy as what is there.
func (w *world) reconcile() (*protocol.Reconcile, error) {
	r := w.random
	question := &protocol.Reconcile{RemoveExtra: chance(r, 2)}
	var expected, existing any
	var kind string
	switch r.IntN(4) {
	case 0:
		kind = "Role"
		role := &rbacv1.Role{ObjectMeta: w.meta("r", "n1"), Rules: w.anyRules(3)}
		other := role.DeepCopy()
		w.drift(&other.ObjectMeta)
		if !chance(r, 4) {
			other.Rules = append(w.anyRules(2), dropped(w, other.Rules)...)
		}
		expected, existing = role, other
	case 1:
		kind = "ClusterRole"
		role := &rbacv1.ClusterRole{ObjectMeta: w.meta("r", ""), Rules: w.anyRules(3)}
		if chance(r, 2) {
			role.AggregationRule = w.aggregationRule()
		}
		other := role.DeepCopy()
		w.drift(&other.ObjectMeta)
		if !chance(r, 4) {
			other.Rules = append(w.anyRules(2), dropped(w, other.Rules)...)
		}
		switch r.IntN(4) {
		case 0:
			other.AggregationRule = w.aggregationRule()
		case 1:
			other.AggregationRule = nil
		case 2:
			if other.AggregationRule != nil {
				other.AggregationRule.ClusterRoleSelectors = append(other.AggregationRule.ClusterRoleSelectors, w.aggregationRule().ClusterRoleSelectors...)
			}
		}
		expected, existing = role, other
	case 2:
		kind = "RoleBinding"
		binding := &rbacv1.RoleBinding{ObjectMeta: w.meta("r", "n1"), RoleRef: w.roleRef("n1"), Subjects: w.subjects("n1")}
		other := binding.DeepCopy()
		w.driftBinding(&other.ObjectMeta, &other.RoleRef, &other.Subjects)
		expected, existing = binding, other
	case 3:
		kind = "ClusterRoleBinding"
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: w.meta("r", ""), RoleRef: w.roleRef(""), Subjects: w.subjects("")}
		other := binding.DeepCopy()
		w.driftBinding(&other.ObjectMeta, &other.RoleRef, &other.Subjects)
		expected, existing = binding, other
	}
	var err error
	if question.Expected, err = encode(expected, kind); err != nil {
		return nil, err
	}
	if chance(r, 12) {
		return question, nil
	}
	question.Existing, err = encode(existing, kind)
	return question, err
}

func (w *world) drift(meta *metav1.ObjectMeta) {
	r := w.random
	if chance(r, 3) {
		meta.Labels = w.labels()
	}
	if chance(r, 4) {
		meta.Annotations = map[string]string{"rbac.authorization.kubernetes.io/autoupdate": pick(r, []string{"false", "true", "False", ""})}
	}
	if chance(r, 4) {
		meta.UID, meta.ResourceVersion = "u", "7"
	}
}

func (w *world) driftBinding(meta *metav1.ObjectMeta, ref *rbacv1.RoleRef, subjects *[]rbacv1.Subject) {
	w.drift(meta)
	if !chance(w.random, 4) {
		*subjects = append(w.subjects(meta.Namespace), dropped(w, *subjects)...)
	}
	if chance(w.random, 6) {
		*ref = w.roleRef(meta.Namespace)
	}
}

// dropped leaves a part of a list.
func dropped[T any](w *world, list []T) []T {
	return slices.DeleteFunc(list, func(T) bool { return chance(w.random, 3) })
}
