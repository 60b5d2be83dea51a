// Package worlds makes random worlds and questions about them: small, dense and nasty.
package worlds

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// Batch is a world and what is asked about it.
type Batch struct {
	Number    int
	World     *protocol.Question
	Questions []*protocol.Question
}

// world is one in the making.
type world struct {
	random   *rand.Rand
	words    words
	objects  kube.Objects
	baseline *kube.Objects
	// known are rules that ClusterRoles have so far.
	known []rbacv1.PolicyRule
}

// New makes a batch that depends on nothing but the seed, its number and the number of decisions to ask for.
func New(seed uint64, number, decisions int) (*Batch, error) {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	w := &world{random: random, words: vocabulary(random), baseline: &kube.Objects{}}
	given := &protocol.World{StatedRulesStay: true}
	if chance(random, 5) {
		given.Baseline = "1.37"
		policy, err := kube.DefaultPolicy(given.Baseline)
		if err != nil {
			return nil, err
		}
		w.baseline = policy
		w.words.roles = append(append([]string(nil), w.words.roles...), "view", "edit", "admin", "cluster-admin", "system:discovery", "system:aggregate-to-view")
	}
	w.fill()
	err := w.objects.Each(func(object any, kind string) error {
		encoded, err := encode(object, kind)
		given.Objects = append(given.Objects, encoded)
		return err
	})
	if err != nil {
		return nil, err
	}
	// No side may depend on the order.
	random.Shuffle(len(given.Objects), func(i, j int) { given.Objects[i], given.Objects[j] = given.Objects[j], given.Objects[i] })
	batch := &Batch{Number: number, World: &protocol.Question{World: given}}
	batch.Questions, err = w.questions(decisions)
	return batch, err
}

func encode(object any, kind string) (json.RawMessage, error) {
	switch object := object.(type) {
	case *rbacv1.Role:
		object.APIVersion, object.Kind = rbacv1.SchemeGroupVersion.String(), kind
	case *rbacv1.ClusterRole:
		object.APIVersion, object.Kind = rbacv1.SchemeGroupVersion.String(), kind
	case *rbacv1.RoleBinding:
		object.APIVersion, object.Kind = rbacv1.SchemeGroupVersion.String(), kind
	case *rbacv1.ClusterRoleBinding:
		object.APIVersion, object.Kind = rbacv1.SchemeGroupVersion.String(), kind
	default:
		return nil, fmt.Errorf("cannot encode a %T", object)
	}
	return json.Marshal(object)
}

func (w *world) fill() {
	r := w.random
	used := map[string]bool{}
	// fresh finds a name that no object of the kind has in the namespace; "" when there is none left.
	fresh := func(kind, namespace string) string {
		for range 8 {
			name := pick(r, w.words.roles)
			if key := kind + "/" + namespace + "/" + name; valid(name) && !used[key] {
				used[key] = true
				return name
			}
		}
		return ""
	}
	for range 2 + r.IntN(4) {
		if name := fresh("ClusterRole", ""); name != "" {
			w.objects.ClusterRoles = append(w.objects.ClusterRoles, w.clusterRole(name))
		}
	}
	w.cutRings()
	for range r.IntN(5) {
		namespace := pick(r, w.words.namespaces)
		if name := fresh("Role", namespace); name != "" {
			w.objects.Roles = append(w.objects.Roles, &rbacv1.Role{ObjectMeta: w.meta(name, namespace), Rules: w.rules(chance(r, 15))})
		}
	}
	for range 1 + r.IntN(4) {
		if name := fresh("ClusterRoleBinding", ""); name != "" {
			w.objects.ClusterRoleBindings = append(w.objects.ClusterRoleBindings,
				&rbacv1.ClusterRoleBinding{ObjectMeta: w.meta(name, ""), RoleRef: w.roleRef(""), Subjects: w.subjects("")})
		}
	}
	for range 2 + r.IntN(6) {
		namespace := pick(r, w.words.namespaces)
		if name := fresh("RoleBinding", namespace); name != "" {
			w.objects.RoleBindings = append(w.objects.RoleBindings,
				&rbacv1.RoleBinding{ObjectMeta: w.meta(name, namespace), RoleRef: w.roleRef(namespace), Subjects: w.subjects(namespace)})
		}
	}
}

func (w *world) meta(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: w.labels()}
}

// labelKeys include the ones by which the default roles gather others.
var labelKeys = []string{"agg", "agg", "tier", "example.com/x", "rbac.authorization.k8s.io/aggregate-to-view", "rbac.authorization.k8s.io/aggregate-to-edit"}
var labelValues = []string{"1", "1", "2", "true", "", "A"}

func (w *world) labels() map[string]string {
	if chance(w.random, 3) {
		return nil
	}
	labels := map[string]string{}
	for range 1 + w.random.IntN(2) {
		labels[pick(w.random, labelKeys)] = pick(w.random, labelValues)
	}
	return labels
}

func (w *world) clusterRole(name string) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{ObjectMeta: w.meta(name, "")}
	if chance(w.random, 3) {
		role.AggregationRule = w.aggregationRule()
	}
	// Mostly aggregated roles are written without rules, but not always.
	if role.AggregationRule == nil || chance(w.random, 3) {
		role.Rules = w.rules(true)
	}
	return role
}

func (w *world) aggregationRule() *rbacv1.AggregationRule {
	r := w.random
	rule := &rbacv1.AggregationRule{}
	for range 1 + r.IntN(2) {
		selector := metav1.LabelSelector{}
		if !chance(r, 3) {
			selector.MatchLabels = map[string]string{pick(r, labelKeys): pick(r, labelValues)}
		}
		for range r.IntN(3) {
			requirement := metav1.LabelSelectorRequirement{
				Key:      pick(r, labelKeys),
				Operator: pick(r, []metav1.LabelSelectorOperator{"In", "In", "NotIn", "Exists", "DoesNotExist"}),
			}
			if requirement.Operator == "In" || requirement.Operator == "NotIn" {
				requirement.Values = some(r, labelValues, 1, 2)
			}
			selector.MatchExpressions = append(selector.MatchExpressions, requirement)
		}
		rule.ClusterRoleSelectors = append(rule.ClusterRoleSelectors, selector)
	}
	return rule
}

// cutRings takes aggregation rules away until no role is made of itself: what a ring of them ends with depends on the
// order of events in the server.
func (w *world) cutRings() {
	all := append([]*rbacv1.ClusterRole(nil), w.objects.ClusterRoles...)
	own := map[string]*rbacv1.ClusterRole{}
	for _, role := range w.objects.ClusterRoles {
		own[role.Name] = role
	}
	for _, role := range w.baseline.ClusterRoles {
		if own[role.Name] == nil {
			all = append(all, role)
		}
	}
	for {
		ring := kube.Ring(all)
		if ring == "" {
			return
		}
		if role := own[ring]; role != nil {
			role.AggregationRule = nil
			continue
		}
		// A default role is in it, so one of ours carries its label.
		for _, role := range own {
			role.AggregationRule = nil
		}
	}
}

func (w *world) rules(urls bool) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for range max(w.random.IntN(5)-1, w.random.IntN(2)) {
		rule := w.rule(urls)
		if len(w.known) > 0 && chance(w.random, 6) {
			// The same again, since aggregation takes each rule once.
			known := pick(w.random, w.known)
			rule = *known.DeepCopy()
			if rule.ResourceNames == nil && chance(w.random, 3) {
				rule.ResourceNames = []string{}
			}
		}
		if urls {
			w.known = append(w.known, rule)
		}
		rules = append(rules, rule)
	}
	return rules
}

func (w *world) rule(urls bool) rbacv1.PolicyRule {
	r := w.random
	if urls && chance(r, 4) {
		return rbacv1.PolicyRule{Verbs: some(r, w.words.urlVerbs, 1, 2), NonResourceURLs: some(r, w.words.urls, 1, 3)}
	}
	rule := rbacv1.PolicyRule{
		Verbs:     some(r, w.words.verbs, 1, 4),
		APIGroups: some(r, w.words.apiGroups, 1, 2),
		Resources: some(r, w.words.resources, 1, 4),
	}
	if chance(r, 4) {
		rule.ResourceNames = some(r, w.words.names, 1, 2)
	}
	// Objects that no server accepts any more may still be stored, and their meaning is defined.
	if chance(r, 40) {
		switch r.IntN(4) {
		case 0:
			rule.Verbs = nil
		case 1:
			rule.APIGroups = nil
		case 2:
			rule.Resources = []string{}
		case 3:
			rule.NonResourceURLs = some(r, w.words.urls, 1, 1)
		}
	}
	return rule
}

// roleRef names a role that mostly exists; the other kind often has one of the same name.
func (w *world) roleRef(namespace string) rbacv1.RoleRef {
	r := w.random
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole"}
	var there []string
	if namespace != "" && chance(r, 2) {
		ref.Kind = "Role"
		for _, role := range w.objects.Roles {
			if role.Namespace == namespace {
				there = append(there, role.Name)
			}
		}
	} else {
		for _, role := range w.objects.ClusterRoles {
			there = append(there, role.Name)
		}
		if len(w.baseline.ClusterRoles) > 0 && chance(r, 3) {
			there = []string{"view", "edit", "admin", "cluster-admin", pick(r, w.baseline.ClusterRoles).Name}
		}
	}
	if len(there) > 0 && !chance(r, 8) {
		ref.Name = pick(r, there)
	} else if ref.Name = pick(r, w.words.roles); !valid(ref.Name) {
		ref.Name = "gone"
	}
	if chance(r, 4) {
		ref.APIGroup = ""
	}
	return ref
}

func (w *world) subjects(namespace string) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for range w.random.IntN(4) {
		subjects = append(subjects, w.subject(namespace))
	}
	return subjects
}

func (w *world) subject(namespace string) rbacv1.Subject {
	r := w.random
	subject := rbacv1.Subject{APIGroup: rbacv1.GroupName}
	switch r.IntN(3) {
	case 0:
		subject.Kind, subject.Name = "User", pick(r, w.words.users)
	case 1:
		subject.Kind, subject.Name = "Group", pick(r, w.words.groups)
	default:
		subject.Kind, subject.Name, subject.APIGroup = "ServiceAccount", pick(r, w.words.accounts), ""
		subject.Namespace = pick(r, w.words.namespaces)
		// It means the namespace of the binding; in a binding for the whole cluster it means nobody.
		if namespace != "" && chance(r, 3) || chance(r, 30) {
			subject.Namespace = ""
		}
	}
	if subject.Kind != "ServiceAccount" {
		if chance(r, 5) {
			subject.APIGroup = ""
		}
		if chance(r, 5) {
			subject.Namespace = pick(r, w.words.namespaces)
		}
	}
	return subject
}
