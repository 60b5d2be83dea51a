package nodes

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A scope is a resource that an agent has something to do with, and the objects that are there of it.
type scope struct {
	agent *agent
	own   *ownNode
	place place
	// subresources are those it is granted something on, the first one empty for the object itself.
	subresources []string
	// movable objects may change the node they belong to.
	movable   bool
	namespace string
	// prefix begins the names of all that is made for this.
	prefix string
	// owned are the objects of the first node, of the second and, if there is such, of none.
	owned []object
}

// neighbours are the nodes of which agents write something: two that are there, and one that is not there yet.
type neighbours struct{ one, other, coming string }

func neighboursOf(prefix string) neighbours {
	return neighbours{prefix + "-a", prefix + "-b", prefix + "-coming"}
}

// valid makes an object that the server takes, of a node or of none.
func (s *scope) valid(name, node string) (object, error) {
	group, resource := s.place.kind.Group, s.place.resource
	made := object{
		"apiVersion": s.place.kind.GroupVersion().String(), "kind": s.place.kind.Kind,
		"metadata": object{"name": name},
	}
	if s.namespace != "" {
		made["metadata"].(object)["namespace"] = s.namespace
	}
	switch {
	case s.movable:
	case group == "" && resource == "nodes":
		made["spec"] = object{"unschedulable": true}
	case group == "coordination.k8s.io" && resource == "leases":
		made["spec"] = object{"holderIdentity": "somebody"}
	case group == "storage.k8s.io" && resource == "csinodes":
		made["spec"] = object{"drivers": []any{}}
	case group == "" && resource == "pods":
		made["spec"] = object{
			"serviceAccountName": s.agent.ServiceAccount.Name, "automountServiceAccountToken": false,
			"containers": []any{object{"name": "main", "image": "registry.example.org/main:1"}},
		}
	case group == "resource.k8s.io" && resource == "resourceslices":
		made["spec"] = object{
			"driver": "disks.example.org",
			"pool":   object{"name": name, "generation": int64(1), "resourceSliceCount": int64(1)},
		}
		if node == "" {
			made["spec"].(object)["allNodes"] = true
		}
	default:
		return nil, fmt.Errorf("it is not known how to make a %s.%s", resource, group)
	}
	if s.own.byName() {
		made["metadata"].(object)["name"] = node
	} else if node != "" {
		if err := unstructured.SetNestedField(made, node, s.own.field()...); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// prepare makes the nodes, and objects of everything that the agents have to do with.
func (s *server) prepare(ctx context.Context, agents []*agent, near neighbours, defined map[string]bool) ([]*scope, error) {
	if err := s.makeNeighbours(ctx, agents, near); err != nil {
		return nil, err
	}
	var scopes []*scope
	for _, agent := range agents {
		for index := range agent.OwnNode {
			own := &agent.OwnNode[index]
			found, err := s.scopesOf(agent, own, defined)
			if err != nil {
				return nil, err
			}
			for _, scope := range found {
				scope.prefix = fmt.Sprintf("%s-%s-%d", near.one, agent.Name, index)
				if err := s.fill(ctx, scope, near); err != nil {
					return nil, err
				}
			}
			scopes = append(scopes, found...)
		}
	}
	return scopes, nil
}

// makeNeighbours makes nodes with something in each place that an agent may change or not.
func (s *server) makeNeighbours(ctx context.Context, agents []*agent, near neighbours) error {
	labels := object{"team": "harbour", "node-restriction.kubernetes.io/pool": "shop"}
	for _, agent := range agents {
		for _, own := range agent.OwnNode {
			if own.Labels != nil {
				labels[*own.Labels+"kind"] = "old"
			}
		}
	}
	for _, name := range []string{near.one, near.other} {
		node := object{
			"apiVersion": "v1", "kind": "Node",
			"metadata": object{"name": name, "labels": labels, "ownerReferences": []any{owner("before")}},
			"spec":     object{"taints": []any{object{"key": "example.org/pool", "value": "shop", "effect": "NoSchedule"}}},
		}
		if _, err := s.admin.must(ctx, request{"POST", "/api/v1/nodes", plain, node}); err != nil {
			return err
		}
	}
	return nil
}

func owner(name string) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "00000000-0000-4000-8000-000000000000"}
}

func (s *server) scopesOf(agent *agent, own *ownNode, defined map[string]bool) ([]*scope, error) {
	var scopes []*scope
	byResource := map[string]*scope{}
	for _, listed := range own.Resources {
		resource, subresource := cut(listed)
		if known := byResource[resource]; known != nil {
			known.subresources = append(known.subresources, subresource)
			continue
		}
		place, err := s.placeOfResource(own.APIGroup, resource)
		if err != nil {
			return nil, err
		}
		found := &scope{
			agent: agent, own: own, place: place, subresources: []string{subresource},
			movable: defined[own.APIGroup+"/"+resource],
		}
		if place.namespaced {
			found.namespace = agent.ServiceAccount.Namespace
		}
		byResource[resource] = found
		scopes = append(scopes, found)
	}
	return scopes, nil
}

// fill makes an object of each node, and one of none where a field can be left out.
func (s *server) fill(ctx context.Context, scope *scope, near neighbours) error {
	owners := []string{near.one, near.other, ""}
	if scope.own.byName() {
		owners = owners[:2]
	}
	for _, owner := range owners {
		name := scope.prefix + "-" + owner
		if owner == "" {
			name = scope.prefix + "-nobody"
		}
		made, err := scope.valid(name, owner)
		if err != nil {
			return err
		}
		if scope.place.resource == "nodes" && scope.place.kind.Group == "" {
			made, err = s.admin.must(ctx, request{"GET", scope.place.one("", owner, ""), "", nil})
		} else {
			made, err = s.admin.must(ctx, request{http.MethodPost, scope.place.all(scope.namespace), plain, made})
		}
		if err != nil {
			return err
		}
		scope.owned = append(scope.owned, made)
	}
	return nil
}

// cleanUp removes what was made for the agents, which is nothing that those who come next expect.
func (s *server) cleanUp(ctx context.Context, scopes []*scope, near neighbours) error {
	remove := func(url string) error {
		given, err := s.admin.send(ctx, request{"DELETE", url + "?gracePeriodSeconds=0", "", nil})
		if err == nil && !given.passed() && given.status != http.StatusNotFound {
			err = fmt.Errorf("DELETE %s: %d %s", url, given.status, given.message)
		}
		return err
	}
	for _, scope := range scopes {
		for _, made := range scope.owned {
			if err := remove(scope.place.one(scope.namespace, at(made, "metadata", "name"), "")); err != nil {
				return err
			}
		}
	}
	for _, node := range []string{near.one, near.other} {
		if err := remove("/api/v1/nodes/" + node); err != nil {
			return err
		}
	}
	return nil
}
