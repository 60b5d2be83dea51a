package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A fault is a policy without some of its validations.
type fault struct {
	policy  *unstructured.Unstructured
	dropped []int
	// attempts are those that the policy is asked about.
	attempts []*attempt
}

func (f *fault) String() string {
	validations, _, _ := unstructured.NestedSlice(f.policy.Object, "spec", "validations")
	var missing []string
	for _, index := range f.dropped {
		missing = append(missing, at(validations[index].(object), "expression"))
	}
	return fmt.Sprintf("that %s is without %s", f.policy.GetName(), strings.Join(missing, " and "))
}

// faultsOf are all validations of a policy, each missing alone. Those that cannot be told apart are missing together: where
// the name is the node, no object changes its node, and where an object can neither be made nor moved, no other node comes in.
func (t *trial) faultsOf(policy *unstructured.Unstructured) []*fault {
	about := slices.DeleteFunc(slices.Clone(t.attempts), func(attempt *attempt) bool { return !asks(policy, attempt) })
	byName, comesIn := true, false
	for _, attempt := range about {
		byName = byName && attempt.own.byName()
		comesIn = comesIn || attempt.movable || slices.Contains(attempt.own.Verbs, "create")
	}
	validations, _, _ := unstructured.NestedSlice(policy.Object, "spec", "validations")
	var faults []*fault
	var together []int
	for index, validation := range validations {
		expression := at(validation.(object), "expression")
		isOfNode := strings.Contains(expression, "variables.userNode")
		switch {
		case byName && isOfNode, !comesIn && strings.Contains(expression, "variables.newNode"):
			together = append(together, index)
		default:
			faults = append(faults, &fault{policy, []int{index}, about})
		}
	}
	if byName && len(together) > 0 {
		faults = append(faults, &fault{policy, together, about})
	}
	return faults
}

// asks tells whether a policy is about a write: it is of this agent, and lists the resource.
func asks(policy *unstructured.Unstructured, attempt *attempt) bool {
	conditions, _, _ := unstructured.NestedSlice(policy.Object, "spec", "matchConditions")
	isOfAgent := slices.ContainsFunc(conditions, func(condition any) bool {
		return strings.Contains(at(condition.(object), "expression"), "'"+attempt.identity().user+"'")
	})
	rules, _, _ := unstructured.NestedSlice(policy.Object, "spec", "matchConstraints", "resourceRules")
	return isOfAgent && slices.ContainsFunc(rules, func(rule any) bool {
		groups, _, _ := unstructured.NestedStringSlice(rule.(object), "apiGroups")
		resources, _, _ := unstructured.NestedStringSlice(rule.(object), "resources")
		return slices.Contains(groups, attempt.place.kind.Group) && slices.Contains(resources, attempt.fullResource())
	})
}

// selfCheck takes validations away, from all policies at the same time since each has its own attempts, and names what was
// not noticed. It tells how much was taken away, too. In the end all is as it was.
func (t *trial) selfCheck(ctx context.Context) (unseen []string, count int, err error) {
	rounds := [][]*fault{}
	for _, policy := range t.policies {
		for index, fault := range t.faultsOf(policy) {
			if index == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[index] = append(rounds[index], fault)
			count++
		}
	}
	for _, round := range rounds {
		missed, err := t.tryFaults(ctx, round)
		if err != nil {
			return nil, 0, err
		}
		unseen = append(unseen, missed...)
	}
	return unseen, count, nil
}

func (t *trial) tryFaults(ctx context.Context, faults []*fault) ([]string, error) {
	for _, fault := range faults {
		if err := t.write(ctx, fault.policy, fault.dropped); err != nil {
			return nil, err
		}
	}
	left := faults
	for deadline := time.Now().Add(settling); len(left) > 0 && time.Now().Before(deadline); time.Sleep(polling) {
		var missed []*fault
		for _, fault := range left {
			if err := t.make(ctx, fault.attempts); err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(fault.attempts, func(attempt *attempt) bool { return attempt.given.passed() != attempt.expected() }) {
				missed = append(missed, fault)
			}
		}
		left = missed
	}
	var unseen []string
	for _, fault := range left {
		unseen = append(unseen, fault.String())
	}
	for _, fault := range faults {
		if err := t.write(ctx, fault.policy, nil); err != nil {
			return nil, err
		}
	}
	differing, err := t.settle(ctx)
	if err == nil && len(differing) > 0 {
		err = fmt.Errorf("the server does not heed that the policies are as they were: %s", differing[0])
	}
	return unseen, err
}

// seesFaults tells whether the other side decides differently about policies of which each is without something.
func (t *trial) seesFaults(command []string) (bool, error) {
	var faulty []*unstructured.Unstructured
	for _, policy := range t.policies {
		changed, err := without(policy, t.faultsOf(policy)[0].dropped)
		if err != nil {
			return false, err
		}
		faulty = append(faulty, changed)
	}
	answers, err := t.askPolicies(command, faulty)
	return err == nil && (!answers.known || len(answers.differences) > 0), err
}

// write puts a policy without some of its validations.
func (t *trial) write(ctx context.Context, policy *unstructured.Unstructured, dropped []int) error {
	place, err := t.placeOf(policy.GroupVersionKind())
	if err != nil {
		return err
	}
	changed, err := without(policy, dropped)
	if err != nil {
		return err
	}
	_, err = t.admin.must(ctx, request{"PATCH", place.one("", policy.GetName(), "") + "?force=true&" + fieldManager, applyPatch, changed.Object})
	return err
}

func without(policy *unstructured.Unstructured, dropped []int) (*unstructured.Unstructured, error) {
	validations, _, _ := unstructured.NestedSlice(policy.Object, "spec", "validations")
	kept := []any{}
	for index, validation := range validations {
		if !slices.Contains(dropped, index) {
			kept = append(kept, validation)
		}
	}
	if len(kept) == 0 {
		kept = append(kept, object{"expression": "true"})
	}
	changed := policy.DeepCopy()
	return changed, unstructured.SetNestedSlice(changed.Object, kept, "spec", "validations")
}
