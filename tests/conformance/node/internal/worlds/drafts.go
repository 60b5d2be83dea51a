package worlds

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// draft is an admission question that is allowed, and what can be changed about it.
type draft struct {
	recipe                                                       string
	node, user, operation, group, version, resource, subresource string
	kind, namespace, name                                        string
	groups                                                       []string
	object, old                                                  any
	granted                                                      []string
	signers                                                      []string
	all                                                          bool
	changes                                                      []change
	// late changes the JSON, where the types cannot say what is meant.
	late []func(body Object)
}

type change struct {
	name string
	do   func()
}

// can notes what can be changed.
func (d *draft) can(name string, do func()) { d.changes = append(d.changes, change{name, do}) }

// on is a new draft of a node.
func (b *builder) on(recipe, operation, group, version, resource, kind string) *draft {
	node := b.pick(nodeNames...)
	return &draft{recipe: recipe, node: node, user: "system:node:" + node, groups: nodeGroups, operation: operation, group: group,
		version: version, resource: resource, kind: kind}
}

// recipes are all kinds of admission questions.
var recipes = []struct {
	weight int
	make   func(b *builder) *draft
}{
	{22, (*builder).podCreate}, {3, (*builder).podUpdate}, {5, (*builder).podDelete}, {10, (*builder).podStatus}, {6, (*builder).podEviction},
	{9, (*builder).nodeCreate}, {14, (*builder).nodeUpdate}, {2, (*builder).nodeDelete}, {10, (*builder).claimStatus}, {2, (*builder).claimCreate},
	{20, (*builder).tokenRequest}, {5, (*builder).lease}, {4, (*builder).csiNode}, {7, (*builder).slice}, {8, (*builder).signing},
	{10, (*builder).podCertificate}, {2, (*builder).elsewhere},
}

// admission makes an admission question, and changes some of it.
func (b *builder) admission() Item {
	total := 0
	for _, recipe := range recipes {
		total += recipe.weight
	}
	at := b.IntN(total)
	var made *draft
	for _, recipe := range recipes {
		if at -= recipe.weight; at < 0 {
			made = recipe.make(b)
			break
		}
	}
	b.common(made)
	names := []string{}
	for range b.howMany() {
		each := made.changes[b.IntN(len(made.changes))]
		if !slices.Contains(names, each.name) && each.possible() {
			names = append(names, each.name)
		}
	}
	return Item{made.body(), made.recipe, names}
}

// possible makes a change; false if an earlier one took away what it would change.
func (c change) possible() (done bool) {
	defer func() { _ = recover() }()
	c.do()
	return true
}

// common adds the changes that every question can have. They are listed once where others are many.
func (b *builder) common(made *draft) {
	if b.chance(50) {
		return
	}
	made.can("node without group", func() { made.groups = []string{"system:authenticated"} })
	made.can("node without prefix", func() { made.user = b.pick(made.node, "kubelet", "alice") })
	made.can("node without name", func() { made.user = "system:node:" })
	made.can("other node", func() { made.user = "system:node:" + b.other(made.node, nodeNames) })
	made.can("other subresource", func() {
		made.subresource = b.other(made.subresource, []string{"", "status", "scale", "exec", "proxy", "token", "eviction", "ephemeralcontainers"})
	})
	made.can("other operation", func() {
		made.operation = b.other(made.operation, []string{"CREATE", "UPDATE", "DELETE", "CONNECT"})
	})
	made.can("object of another kind", func() { made.object = &corev1.ConfigMap{ObjectMeta: meta("a", made.name)} })
	made.can("old object of another kind", func() { made.old = &corev1.ConfigMap{ObjectMeta: meta("a", made.name)} })
	made.can("other group", func() { made.group = b.pick("apps", "example.com") })
}

func (d *draft) body() Object {
	body := Object{"user": d.user, "groups": d.groups, "operation": d.operation, "apiGroup": d.group, "version": d.version,
		"resource": d.resource, "subresource": d.subresource, "kind": d.kind, "namespace": d.namespace, "name": d.name}
	maps.DeleteFunc(body, func(key string, value any) bool { return value == "" && key != "apiGroup" })
	if d.object != nil && d.operation != "DELETE" {
		body["object"] = encode(d.object)
	}
	if d.old != nil && (d.operation == "UPDATE" || d.operation == "DELETE") {
		body["oldObject"] = encode(d.old)
	}
	if len(d.granted) > 0 {
		body["audiencesAllowed"] = d.granted
	}
	if len(d.signers) > 0 {
		body["signersAllowed"] = d.signers
	}
	if d.all {
		body["authz"] = "allow"
	}
	for _, change := range d.late {
		change(body)
	}
	return body
}
