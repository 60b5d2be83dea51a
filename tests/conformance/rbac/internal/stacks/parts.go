package stacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// heeded is an API group that nobody serves. A rule about it says which state of a role it belongs to, so that the
// server can be asked whether it heeds that state.
const heeded = "heeded.bailiwick.dev"

// partsOf splits rules until nothing can be left out of one. What is there twice stays there twice, because one of the
// two is too many.
func partsOf(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var parts []rbacv1.PolicyRule
	for _, rule := range rules {
		names := []string{""}
		if len(rule.ResourceNames) > 0 {
			names = rule.ResourceNames
		}
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				parts = append(parts, rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{url}})
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						part := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
						if name != "" {
							part.ResourceNames = []string{name}
						}
						parts = append(parts, part)
					}
				}
			}
		}
	}
	return parts
}

// needs takes every single part out of each role of the manager, and tells whether one is not missed.
func (s *server) needs(ctx context.Context, out io.Writer, cast *cast) (bool, error) {
	deeds, err := s.allDeeds(cast)
	if err != nil {
		return false, err
	}
	var idle []string
	tried, own := 0, 0
	for _, role := range cast.roles {
		found, err := s.unneeded(ctx, cast, role, role.rules, deeds)
		if err != nil {
			return false, err
		}
		idle = append(idle, found.idle...)
		tried += found.tried
		own += found.own
	}
	fmt.Fprintf(out, "%d parts of %d roles taken away one by one: %d not missed", tried, len(cast.roles), len(idle))
	if own > 0 {
		fmt.Fprintf(out, "; %d more are the manager's own, of %s", own, cast.own)
	}
	fmt.Fprintln(out)
	show(out, idle)
	return len(idle) > 0, nil
}

// A finding is what taking parts away from one role showed.
type finding struct {
	// idle are the parts without which nothing is refused, and own those that are not for stacks.
	idle       []string
	tried, own int
}

// unneeded takes every single part out of rules that the role has meanwhile. In the end it has its own rules again.
func (s *server) unneeded(ctx context.Context, cast *cast, role *role, rules []rbacv1.PolicyRule, deeds []deed) (*finding, error) {
	manager, err := s.as(cast.manager.user(), cast.manager.groups())
	if err != nil {
		return nil, err
	}
	found := &finding{}
	parts := partsOf(rules)
	for index, part := range parts {
		if cast.own != "" && slices.Contains(part.APIGroups, cast.own) {
			found.own++
			continue
		}
		found.tried++
		if err := s.hold(ctx, cast.manager, role, slices.Delete(slices.Clone(parts), index, index+1)); err != nil {
			return nil, err
		}
		missed, err := s.missed(ctx, manager, part, role.namespace, deeds)
		if err != nil {
			return nil, err
		}
		if !missed {
			found.idle = append(found.idle, fmt.Sprintf("%s %s: %s", role.object.GetKind(), named(role), describe(part)))
		}
	}
	return found, s.restore(ctx, cast.manager, role)
}

// restore gives a role its own rules again, and nothing beside them.
func (s *server) restore(ctx context.Context, manager account, role *role) error {
	if err := s.hold(ctx, manager, role, role.rules); err != nil {
		return err
	}
	own, _, _, err := s.place(role.object)
	if err != nil {
		return err
	}
	return s.admin.must(ctx, request{"PUT", own, plain, role.object.Object})
}

// hold gives a role other rules, and returns when the server heeds them.
func (s *server) hold(ctx context.Context, manager account, role *role, rules []rbacv1.PolicyRule) error {
	own, _, _, err := s.place(role.object)
	if err != nil {
		return err
	}
	s.states++
	state := fmt.Sprintf("state%d", s.states)
	mark := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{heeded}, Resources: []string{state}}
	changed := role.object.DeepCopy()
	changed.Object["rules"] = append(slices.Clone(rules), mark)
	if err := s.admin.must(ctx, request{"PUT", own, plain, changed.Object}); err != nil {
		return err
	}
	return s.await(ctx, manager, true, authorizationv1.ResourceAttributes{
		Verb: "get", Group: heeded, Resource: state, Namespace: role.namespace,
	})
}

// missed tells whether the server refuses anything now that could have to do with a part.
func (s *server) missed(ctx context.Context, manager *caller, part rbacv1.PolicyRule, namespace string, deeds []deed) (bool, error) {
	for _, direct := range []bool{true, false} {
		for _, deed := range deeds {
			if namespace != "" && deed.object.GetNamespace() != namespace || deed.uses(part) != direct || !direct && !deed.givesAway(part) {
				continue
			}
			refused, err := s.refuses(ctx, manager, deed)
			if err != nil || refused {
				return refused, err
			}
		}
	}
	return false, nil
}

func (s *server) refuses(ctx context.Context, manager *caller, deed deed) (bool, error) {
	given, err := manager.send(ctx, deed.request)
	if err != nil {
		return false, err
	}
	switch {
	case given.refused():
		return true, nil
	case given.status == http.StatusOK, given.status == http.StatusCreated, given.status == http.StatusConflict:
		return false, nil
	}
	return false, fmt.Errorf("%s: %d %s", deed.request, given.status, given.message)
}

// uses tells whether a part allows the request itself.
func (d *deed) uses(part rbacv1.PolicyRule) bool {
	has := func(list []string, word string) bool {
		return slices.Contains(list, word) || slices.Contains(list, "*")
	}
	return has(part.APIGroups, d.group) && has(part.Resources, d.resource) && has(part.Verbs, d.verb) &&
		(len(part.ResourceNames) == 0 || slices.Contains(part.ResourceNames, d.object.GetName()))
}

// givesAway tells whether the request grants anything in the group of a part, so that the part may be looked for.
func (d *deed) givesAway(part rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(d.grants, func(rule rbacv1.PolicyRule) bool {
		if len(part.NonResourceURLs) > 0 {
			return len(rule.NonResourceURLs) > 0
		}
		return slices.ContainsFunc(rule.APIGroups, func(group string) bool {
			return group == "*" || slices.Contains(part.APIGroups, group) || slices.Contains(part.APIGroups, "*")
		})
	})
}

func named(role *role) string {
	if role.namespace == "" {
		return role.object.GetName()
	}
	return role.namespace + "/" + role.object.GetName()
}

func describe(part rbacv1.PolicyRule) string {
	if len(part.NonResourceURLs) > 0 {
		return part.Verbs[0] + " " + part.NonResourceURLs[0]
	}
	text := part.Verbs[0] + " " + part.Resources[0]
	if part.APIGroups[0] != "" {
		text += "." + part.APIGroups[0]
	}
	if len(part.ResourceNames) > 0 {
		text += " " + strings.Join(part.ResourceNames, ",")
	}
	return text
}
