package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// realTokens writes with tokens that the server gave out for a pod of each node, and for none: nothing is a dry run, and
// nothing impersonated. It tells whether anything was decided otherwise than it shall be.
func (s *server) realTokens(ctx context.Context, out io.Writer, agents []*agent, scopes []*scope, near neighbours) (bool, error) {
	var differences []string
	count := 0
	for _, agent := range agents {
		for _, node := range []string{near.one, near.other, ""} {
			token, drop, err := s.token(ctx, agent, node)
			if err != nil {
				return false, err
			}
			caller, err := s.bearing(token)
			if err != nil {
				return false, err
			}
			for _, scope := range scopes {
				if scope.agent != agent {
					continue
				}
				written, found, err := s.writeReally(ctx, caller, scope, node)
				if err != nil {
					return false, err
				}
				count += written
				differences = append(differences, found...)
			}
			if err := drop(); err != nil {
				return false, err
			}
		}
	}
	if count == 0 {
		return false, errors.New("no agent has anything to write with its token")
	}
	fmt.Fprintf(out, "%d writes with tokens of pods on two nodes, and of none: %d differ\n", count, len(differences))
	show(out, differences)
	return len(differences) > 0, nil
}

// token gives a token of an agent: bound to a pod of its own on a node, or to nothing. The pod goes with drop.
func (s *server) token(ctx context.Context, agent *agent, node string) (token string, drop func() error, err error) {
	account := agent.ServiceAccount
	spec := object{}
	drop = func() error { return nil }
	if node != "" {
		pods := "/api/v1/namespaces/" + account.Namespace + "/pods"
		name := agent.Name + "-on-" + node
		pod, err := s.admin.must(ctx, request{"POST", pods, plain, object{
			"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name},
			"spec": object{
				"nodeName": node, "serviceAccountName": account.Name,
				"containers": []any{object{"name": "main", "image": "registry.example.org/agent:1"}},
			},
		}})
		if err != nil {
			return "", nil, err
		}
		spec["boundObjectRef"] = object{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": at(pod, "metadata", "uid")}
		drop = func() error {
			_, err := s.admin.must(ctx, request{"DELETE", pods + "/" + name + "?gracePeriodSeconds=0", "", nil})
			return err
		}
	}
	url := "/api/v1/namespaces/" + account.Namespace + "/serviceaccounts/" + account.Name + "/token"
	given, err := s.admin.must(ctx, request{"POST", url, plain, object{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec,
	}})
	return at(given, "status", "token"), drop, err
}

// writeReally changes an object of each owner, and makes and removes one of each where that is granted at all.
func (s *server) writeReally(ctx context.Context, caller *caller, scope *scope, node string) (int, []string, error) {
	who := bearer{agent: scope.agent}
	var differences []string
	count := 0
	try := func(verb string, request request, done change) (bool, error) {
		expected := who.agent.mayWrite(node, scope.place.kind.Group, scope.place.resource, verb, []change{done})
		given, err := caller.send(ctx, request)
		if err != nil {
			return false, err
		}
		if given.status == http.StatusUnauthorized {
			return false, fmt.Errorf("%s: the token is not taken: %s", request, given.message)
		}
		count++
		if given.passed() != expected {
			differences = append(differences, fmt.Sprintf("with a token of node %q: %s: %d %s", node, request, given.status, given.message))
		}
		return given.passed(), nil
	}
	for index, old := range scope.owned {
		name := at(old, "metadata", "name")
		note := object{"metadata": object{"annotations": object{"example.org/token": node}}}
		if scope.own.Labels != nil {
			note = object{"metadata": object{"labels": object{*scope.own.Labels + "token": "yes"}}}
		}
		patch := request{"PATCH", scope.place.one(scope.namespace, name, ""), mergePatch, note}
		if _, err := try("patch", patch, change{old, merged(old, note)}); err != nil {
			return 0, nil, err
		}
		owner := at(old, scope.own.field()...)
		if scope.own.byName() {
			continue
		}
		made, err := scope.valid(fmt.Sprintf("%s-token-%d", scope.prefix, index), owner)
		if err != nil {
			return 0, nil, err
		}
		done, err := try("create", request{"POST", scope.place.all(scope.namespace), plain, made}, change{new: made})
		if err != nil {
			return 0, nil, err
		}
		if done {
			url := scope.place.one(scope.namespace, at(made, "metadata", "name"), "")
			if _, err := s.admin.must(ctx, request{"DELETE", url + "?gracePeriodSeconds=0", "", nil}); err != nil {
				return 0, nil, err
			}
		}
	}
	return count, differences, nil
}
