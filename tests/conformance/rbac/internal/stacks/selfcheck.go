package stacks

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// selfCheck makes the faults that the other steps shall find, one after the other, and names those that they did not.
func (s *server) selfCheck(ctx context.Context, cast *cast, isolation *isolation) ([]string, error) {
	deeds, err := s.allDeeds(cast)
	if err != nil {
		return nil, err
	}
	var unseen []string
	for _, role := range cast.roles {
		seen, err := s.seesSuperfluous(ctx, cast, role, deeds)
		if err != nil {
			return nil, err
		}
		if !seen {
			unseen = append(unseen, "a superfluous rule in "+named(role))
		}
		if seen, err = s.seesMissing(ctx, cast, role, deeds); err != nil {
			return nil, err
		}
		if !seen {
			unseen = append(unseen, "a missing rule in "+named(role))
		}
	}
	seen, err := s.seesLeak(ctx, cast, isolation)
	if err != nil {
		return nil, err
	}
	if !seen {
		unseen = append(unseen, "a leak")
	}
	return unseen, nil
}

// seesSuperfluous adds a rule that no stack needs, and one that the role has already in other words: of both, and of
// nothing else, the server misses nothing.
func (s *server) seesSuperfluous(ctx context.Context, cast *cast, role *role, deeds []deed) (bool, error) {
	foreign := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	narrower := partsOf(role.rules)[0]
	narrower.ResourceNames = []string{probed}
	found, err := s.unneeded(ctx, cast, role, append(slices.Clone(role.rules), foreign, narrower), deeds)
	if err != nil {
		return false, err
	}
	expected := []string{describe(foreign), describe(narrower)}
	for index, idle := range found.idle {
		if index >= len(expected) || idle != fmt.Sprintf("%s %s: %s", role.object.GetKind(), named(role), expected[index]) {
			return false, nil
		}
	}
	return len(found.idle) == len(expected), nil
}

// seesMissing leaves out a rule: the manager is refused something that it was not.
func (s *server) seesMissing(ctx context.Context, cast *cast, role *role, deeds []deed) (bool, error) {
	manager, err := s.as(cast.manager.user(), cast.manager.groups())
	if err != nil {
		return false, err
	}
	refusals := func() (count int, err error) {
		for _, deed := range deeds {
			refused, err := s.refuses(ctx, manager, deed)
			if err != nil {
				return 0, err
			}
			if refused {
				count++
			}
		}
		return count, nil
	}
	if err := s.hold(ctx, cast.manager, role, role.rules[1:]); err != nil {
		return false, err
	}
	without, err := refusals()
	if err != nil {
		return false, err
	}
	if err := s.restore(ctx, cast.manager, role); err != nil {
		return false, err
	}
	with, err := refusals()
	return without > 0 && with == 0, err
}

// seesLeak lets a stack for one namespace read the secrets of another: that one request differs, and is one that gets
// beyond the namespace.
func (s *server) seesLeak(ctx context.Context, cast *cast, isolation *isolation) (bool, error) {
	index := slices.IndexFunc(cast.stacks, func(stack stack) bool { return !stack.everywhere })
	stack := cast.stacks[index]
	other := slices.IndexFunc(cast.namespaces, func(name string) bool { return name != stack.namespace })
	namespace := cast.namespaces[other]
	meta := map[string]any{"name": "leak", "namespace": namespace}
	const version = "rbac.authorization.k8s.io/v1"
	leak := []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": version, "kind": "Role", "metadata": meta, "rules": []any{
			map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get"}},
		}}},
		{Object: map[string]any{"apiVersion": version, "kind": "RoleBinding", "metadata": meta,
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "leak"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": stack.namespace, "name": stack.name}},
		}},
	}
	for _, object := range leak {
		_, all, _, err := s.place(object)
		if err != nil {
			return false, err
		}
		if err := s.admin.must(ctx, request{"POST", all, plain, object.Object}); err != nil {
			return false, err
		}
	}
	reached := authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: namespace, Name: probed}
	if err := s.await(ctx, stack.account, true, reached); err != nil {
		return false, err
	}
	differing, leaking, err := isolation.check(ctx, io.Discard, time.Now())
	if err != nil {
		return false, err
	}
	for _, object := range leak {
		own, _, _, err := s.place(object)
		if err != nil {
			return false, err
		}
		if err := s.admin.must(ctx, request{"DELETE", own, "", nil}); err != nil {
			return false, err
		}
	}
	return differing == 1 && leaking == 1, s.await(ctx, stack.account, false, reached)
}
