package worlds

import (
	"math/rand/v2"

	rbacv1 "k8s.io/api/rbac/v1"

	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// About asks for decisions in a world that is there already. Resources, subresources and namespaces come from outside;
// users, groups and accounts are those of the bindings, and of everything there are some that nobody has heard of.
func About(seed uint64, objects *kube.Objects, resources, subresources, namespaces []string, count int) []*protocol.CanI {
	random := rand.New(rand.NewPCG(seed, 0))
	w := &world{random: random, objects: *objects, baseline: &kube.Objects{}, words: plain}
	mix := func(known, odd []string) []string {
		mixed := append([]string(nil), known...)
		for range 1 + len(known)/8 {
			mixed = append(mixed, pick(random, odd))
		}
		return mixed
	}
	w.words.objects = mix(resources, odd.objects)
	w.words.resources = w.words.objects
	w.words.subresources = append(mix(subresources, odd.subresources), "", "", "")
	w.words.namespaces = mix(namespaces, odd.namespaces)
	w.words.names = mix(plain.names, odd.names)
	w.words.verbs = mix(plain.verbs, odd.verbs)
	w.words.paths = mix(plain.paths, odd.paths)
	w.words.urlVerbs = mix(plain.urlVerbs, odd.urlVerbs)
	w.words.users, w.words.groups = mix(plain.users, odd.users), mix(plain.groups, odd.groups)
	seen := func(subjects []rbacv1.Subject) {
		for _, subject := range subjects {
			switch subject.Kind {
			case "User":
				w.words.users = append(w.words.users, subject.Name)
			case "Group":
				w.words.groups = append(w.words.groups, subject.Name)
			default:
				w.words.accounts = append(w.words.accounts, subject.Name)
			}
		}
	}
	for _, binding := range objects.ClusterRoleBindings {
		seen(binding.Subjects)
	}
	for _, binding := range objects.RoleBindings {
		seen(binding.Subjects)
	}
	questions := make([]*protocol.CanI, count)
	for index := range questions {
		questions[index] = w.canI()
		// The default policy grants its own accounts a great deal, so spoil some more.
		for chance(random, 2) {
			w.spoil(questions[index])
		}
	}
	return questions
}
