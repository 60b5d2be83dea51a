package nodes

import (
	"slices"
	"strings"
)

func cut(listed string) (resource, subresource string) {
	resource, subresource, _ = strings.Cut(listed, "/")
	return resource, subresource
}

// nodeName is where a token says which node it is bound to.
const nodeName = "authentication.kubernetes.io/node-name"

// A bearer is an agent with what its token says of the node, which the first value tells.
type bearer struct {
	agent *agent
	nodes []string
}

func (b bearer) node() string {
	if len(b.nodes) == 0 {
		return ""
	}
	return b.nodes[0]
}

func (b bearer) identity() identity {
	who := identity{user: b.agent.ServiceAccount.user(), groups: b.agent.ServiceAccount.groups()}
	if b.nodes != nil {
		who.extra = map[string][]string{nodeName: b.nodes}
	}
	return who
}

// An attempt is a write of an agent, as a dry run.
type attempt struct {
	bearer
	*scope
	verb, subresource string
	// what says what is special about it.
	what string
	request
	// name is that in the URL.
	name    string
	changes []change
	given   verdict
}

func (a *attempt) fullResource() string {
	if a.subresource == "" {
		return a.place.resource
	}
	return a.place.resource + "/" + a.subresource
}

// expected is the verdict of the rule.
func (a *attempt) expected() bool {
	return a.bearer.agent.mayWrite(a.node(), a.place.kind.Group, a.fullResource(), a.verb, a.changes)
}

// attempts are the writes of everybody who could be the agent, on the objects of all nodes.
func attempts(scopes []*scope, near neighbours) ([]*attempt, error) {
	var all []*attempt
	for _, scope := range scopes {
		bearers := [][]string{{near.one}, {near.other}, nil, {""}, {"elsewhere"}, {near.one, near.other}, {near.other, near.one}, {near.coming}}
		for _, nodes := range bearers {
			made, err := scope.attemptsOf(bearer{scope.agent, nodes}, near)
			if err != nil {
				return nil, err
			}
			all = append(all, made...)
		}
	}
	return all, nil
}

func (s *scope) attemptsOf(who bearer, near neighbours) ([]*attempt, error) {
	var all []*attempt
	add := func(verb, subresource, what, name string, request request, changes ...change) {
		all = append(all, &attempt{bearer: who, scope: s, verb: verb, subresource: subresource, what: what, name: name, request: request, changes: changes})
	}
	isNode := s.place.kind.Group == "" && s.place.resource == "nodes"
	if err := s.creations(near, add); err != nil {
		return nil, err
	}
	for _, old := range s.owned {
		name := at(old, "metadata", "name")
		changed := s.changesOf(isNode, old, near)
		for _, subresource := range s.subresources {
			url := s.place.one(s.namespace, name, subresource) + "?" + dryRun
			for _, one := range changed {
				sent := merged(old, one.patch)
				change := change{old, stored(s.place, subresource, old, sent)}
				add("patch", subresource, one.what, name, request{"PATCH", url, mergePatch, one.patch}, change)
				add("update", subresource, one.what, name, request{"PUT", url, plain, sent}, change)
			}
		}
		add("delete", "", "", name, request{"DELETE", s.place.one(s.namespace, name, "") + "?" + dryRun, "", nil}, change{old: old})
		selector := "fieldSelector=metadata.name%3D" + name
		add("deletecollection", "", "of one", "", request{"DELETE", s.place.all(s.namespace) + "?" + selector + "&" + dryRun, "", nil}, change{old: old})
	}
	return all, nil
}

// creations are of every node, and by a name that the server makes up.
func (s *scope) creations(near neighbours, add func(verb, subresource, what, name string, request request, changes ...change)) error {
	url := s.place.all(s.namespace) + "?" + dryRun
	for _, node := range []string{near.one, near.other, near.coming, ""} {
		name := s.prefix + "-new"
		if s.own.byName() {
			// Those that are there cannot be made again, and the server would look no further.
			if node != near.coming {
				continue
			}
			name = node
		}
		made, err := s.valid(name, node)
		if err != nil {
			return err
		}
		add("create", "", "", name, request{"POST", url, plain, made}, change{new: made})
		generated := clone(made)
		metadata := generated["metadata"].(object)
		delete(metadata, "name")
		metadata["generateName"] = name + "-"
		becomes := clone(generated)
		becomes["metadata"].(object)["name"] = name + "-x7k2p"
		add("create", "", "with a generated name", "", request{"POST", url, plain, generated}, change{new: becomes})
		if s.own.Labels != nil {
			for _, label := range []string{*s.own.Labels + "kind", "team"} {
				labelled := clone(made)
				labelled["metadata"].(object)["labels"] = object{label: "new"}
				add("create", "", "with "+label, name, request{"POST", url, plain, labelled}, change{new: labelled})
			}
		}
	}
	return nil
}

// A patch is what is changed about an object.
type patch struct {
	what  string
	patch object
}

func (s *scope) changesOf(isNode bool, old object, near neighbours) []patch {
	metadata := func(key string, value any) object { return object{"metadata": object{key: value}} }
	label := func(key string, value any) patch {
		return patch{"label " + key, metadata("labels", object{key: value})}
	}
	changes := []patch{{"annotation", metadata("annotations", object{"example.org/seen": "yes"})}}
	if s.own.Labels != nil {
		prefix := *s.own.Labels
		bare := strings.TrimSuffix(prefix, "/")
		changes = append(changes,
			label(prefix+"kind", "new"), label(prefix+"kind", nil), label(prefix+"size", "9"),
			label("team", "pirates"), label("team", nil), label(bare+".example.com/kind", "new"), label("x"+prefix+"kind", "new"),
			label("node-restriction.kubernetes.io/pool", "vault"), label("node-restriction.kubernetes.io/pool", nil),
			patch{"labels in and out of the prefix", metadata("labels", object{prefix + "size": "9", "team": "pirates"})})
	}
	if isNode {
		changes = append(changes,
			label("team", "whales"),
			patch{"no taints", object{"spec": object{"taints": nil}}},
			patch{"another taint", object{"spec": object{"taints": []any{object{"key": "example.org/pool", "effect": "NoExecute"}}}}},
			patch{"no owners", metadata("ownerReferences", nil)},
			patch{"another owner", metadata("ownerReferences", []any{owner("after")})},
			patch{"cordon", object{"spec": object{"unschedulable": nil}}})
	}
	if s.movable && !s.own.byName() {
		for _, node := range []string{near.one, near.other, ""} {
			if at(old, s.own.field()...) != node {
				changes = append(changes, patch{"move to " + node, moved(s.own.field(), node)})
			}
		}
	}
	if slices.Contains(s.subresources, "status") && s.place.kind.Group == "" {
		changes = append(changes, patch{"status", object{"status": object{"phase": "Running"}}})
	}
	return changes
}

// moved is a patch that gives an object to a node, or takes it from all.
func moved(path []string, node string) object {
	if len(path) == 1 {
		if node == "" {
			return object{path[0]: nil}
		}
		return object{path[0]: node}
	}
	return object{path[0]: moved(path[1:], node)}
}
