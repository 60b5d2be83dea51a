package access

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// nowhere is a namespace without an object.
const nowhere = "default"

// A Question is a request of an account.
type Question struct {
	Account     Account
	Verb        string
	Resource    Resource
	Subresource string
	Namespace   string
	Name        string
}

// String returns the question in the words of `can-i`.
func (q Question) String() string {
	return q.Account.User() + ": " + strings.Join(q.Arguments(), " ")
}

// A Resource is a resource that the server serves.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
	Verbs      []string
	// Subresources have the verbs of each subresource.
	Subresources map[string][]string
}

// serves returns whether the server serves a verb of the resource or of a subresource.
func (r Resource) serves(verb, subresource string) bool {
	if subresource == "" {
		return slices.Contains(r.Verbs, verb)
	}
	return slices.Contains(r.Subresources[subresource], verb)
}

// A Generator makes random questions: half of them follow the rules of the roles of a folder.
type Generator struct {
	random     *rand.Rand
	accounts   []Account
	namespaces []string
	resources  []Resource
	rules      []rule
}

// A rule is a part of a rule of a role.
type rule struct {
	groups, resources, verbs, names []string
}

// NewGenerator returns a generator for the accounts of a folder.
func NewGenerator(seed uint64, objects []*unstructured.Unstructured, accounts []Account, served []Resource) *Generator {
	generator := &Generator{random: rand.New(rand.NewPCG(seed, 0)), accounts: accounts, resources: served}
	for _, object := range objects {
		switch object.GetKind() {
		case "Namespace":
			generator.namespaces = append(generator.namespaces, object.GetName())
		case "Role", "ClusterRole":
			generator.rules = append(generator.rules, rulesOf(object)...)
		}
	}
	generator.namespaces = append(generator.namespaces, nowhere)
	return generator
}

func rulesOf(role *unstructured.Unstructured) []rule {
	found, _, _ := unstructured.NestedSlice(role.Object, "rules")
	var rules []rule
	for _, one := range found {
		fields, ok := one.(map[string]any)
		if !ok {
			continue
		}
		strings := func(name string) []string {
			list, _, _ := unstructured.NestedStringSlice(fields, name)
			return list
		}
		if resources := strings("resources"); len(resources) > 0 {
			rules = append(rules, rule{strings("apiGroups"), resources, strings("verbs"), strings("resourceNames")})
		}
	}
	return rules
}

// Questions returns a number of questions, the same number for each account.
func (g *Generator) Questions(count int) []Question {
	questions := make([]Question, 0, count)
	for len(questions) < count {
		account := g.accounts[len(questions)%len(g.accounts)]
		question := Question{Account: account, Namespace: account.Namespace}
		if g.random.IntN(2) == 0 || !g.follow(&question) {
			g.wander(&question)
		}
		g.place(&question)
		questions = append(questions, question)
	}
	return questions
}

// follow sets the request to one that a rule allows to its subject, and returns whether the server has such a resource.
func (g *Generator) follow(question *Question) bool {
	if len(g.rules) == 0 {
		return false
	}
	rule := pick(g.random, g.rules)
	group, verb := pick(g.random, rule.groups), pick(g.random, rule.verbs)
	name, subresource, _ := strings.Cut(pick(g.random, rule.resources), "/")
	for _, resource := range g.resources {
		if resource.Group != group || resource.Resource != name {
			continue
		}
		if verb == "*" {
			verb = pick(g.random, resource.Verbs)
		}
		if !resource.serves(verb, subresource) {
			return false
		}
		question.Resource, question.Verb, question.Subresource = resource, verb, subresource
		if len(rule.names) > 0 && hasName(verb) {
			question.Name = pick(g.random, rule.names)
		}
		return true
	}
	return false
}

// wander sets the request to any that the server serves.
func (g *Generator) wander(question *Question) {
	question.Resource = pick(g.random, g.resources)
	question.Verb = pick(g.random, question.Resource.Verbs)
	question.Subresource = ""
}

// place sets the namespace and the name, as the verb and the resource need them.
func (g *Generator) place(question *Question) {
	if hasName(question.Verb) && question.Name == "" {
		question.Name = pick(g.random, []string{"one", "two", question.Account.Name})
	}
	if question.Subresource != "" && question.Name == "" {
		question.Name = "one"
	}
	switch {
	case !question.Resource.Namespaced:
		question.Namespace = ""
		if question.Resource.Resource == "namespaces" && question.Name != "" {
			question.Name = pick(g.random, g.namespaces)
		}
	case g.random.IntN(3) == 0:
		question.Namespace = pick(g.random, g.namespaces)
	case g.random.IntN(6) == 0 && slices.Contains([]string{"list", "watch"}, question.Verb):
		question.Namespace = ""
	}
}

// hasName returns whether a request with the verb is about one object that exists.
func hasName(verb string) bool {
	return slices.Contains([]string{"get", "update", "patch", "delete"}, verb)
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// Served returns the resources of the server in its preferred versions.
func Served(client discovery.DiscoveryInterface) ([]Resource, error) {
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	var served []Resource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		served = append(served, servedIn(version, list.APIResources)...)
	}
	slices.SortFunc(served, func(a, b Resource) int { return strings.Compare(a.String(), b.String()) })
	return served, nil
}

// servedIn returns the resources of a version, each with its subresources.
func servedIn(version schema.GroupVersion, listed []metav1.APIResource) []Resource {
	var served []Resource
	below := map[string]map[string][]string{}
	for _, one := range listed {
		name, subresource, isBelow := strings.Cut(one.Name, "/")
		if below[name] == nil {
			below[name] = map[string][]string{}
		}
		if isBelow {
			below[name][subresource] = sorted(one.Verbs)
		} else {
			served = append(served, Resource{version.WithResource(name), one.Namespaced, sorted(one.Verbs), below[name]})
		}
	}
	return served
}

func sorted(verbs metav1.Verbs) []string {
	list := slices.Clone([]string(verbs))
	slices.Sort(list)
	return list
}
