package nodes

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"bailiwick.dev/conformance/rbac/internal/cluster"
)

// An agent is one that a policy NodeAccess asks for: what it may do is read from there and not from what was made of it.
type agent struct {
	Name           string         `json:"name"`
	ServiceAccount serviceAccount `json:"serviceAccount"`
	OwnNode        []ownNode      `json:"ownNode"`
}

type serviceAccount struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (a serviceAccount) user() string {
	return "system:serviceaccount:" + a.Namespace + ":" + a.Name
}

func (a serviceAccount) groups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"}
}

// ownNode is what an agent may write of its own node.
type ownNode struct {
	APIGroup  string   `json:"apiGroup"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
	Node      string   `json:"node"`
	Labels    *string  `json:"labels"`
}

// field is the path of the field that names the node of an object.
func (o *ownNode) field() []string {
	if o.Node == "" {
		return []string{"metadata", "name"}
	}
	return strings.Split(o.Node, ".")
}

func (o *ownNode) byName() bool { return slices.Equal(o.field(), []string{"metadata", "name"}) }

func (o *ownNode) lists(group, resource string) bool {
	return o.APIGroup == group && slices.Contains(o.Resources, resource)
}

// operation is what admission sees of a verb.
func operation(verb string) string {
	switch verb {
	case "create":
		return "CREATE"
	case "delete", "deletecollection":
		return "DELETE"
	}
	return "UPDATE"
}

func (o *ownNode) covers(verb string) bool {
	return slices.ContainsFunc(o.Verbs, func(own string) bool { return operation(own) == operation(verb) })
}

// readAgents gives the agents that the policies of a workspace ask for in a target.
func readAgents(folder, target string) ([]*agent, error) {
	documents, err := cluster.ReadFolder(folder)
	if err != nil {
		return nil, err
	}
	var agents []*agent
	for _, document := range documents {
		if document.GetKind() != "NodeAccess" {
			continue
		}
		text, err := json.Marshal(document.Object["spec"])
		if err != nil {
			return nil, err
		}
		spec := struct {
			Targets []string `json:"targets"`
			Agents  []*agent `json:"agents"`
		}{}
		if err := json.Unmarshal(text, &spec); err != nil {
			return nil, err
		}
		applies := len(spec.Targets) == 0
		for _, glob := range spec.Targets {
			matches, err := path.Match(glob, target)
			if err != nil {
				return nil, err
			}
			applies = applies || matches
		}
		if applies {
			agents = append(agents, spec.Agents...)
		}
	}
	if len(agents) == 0 {
		return nil, fmt.Errorf("the policies in %s have no agents for %s", folder, target)
	}
	return agents, nil
}
