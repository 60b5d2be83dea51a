package kube

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/auth/rbac/reconciliation"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

func reconcile(question *protocol.Reconcile) (protocol.Answer, error) {
	expected, err := decodeObject(question.Expected)
	if err != nil {
		return nil, err
	}
	var existing runtime.Object
	if question.Existing != nil {
		if existing, err = decodeObject(question.Existing); err != nil {
			return nil, err
		}
		if fmt.Sprintf("%T", existing) != fmt.Sprintf("%T", expected) {
			return nil, fmt.Errorf("a %T cannot become a %T", existing, expected)
		}
	}
	switch expected.(type) {
	case *rbacv1.Role, *rbacv1.ClusterRole:
		return reconcileRole(expected, existing, question.RemoveExtra)
	case *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
		return reconcileBinding(expected, existing, question.RemoveExtra)
	}
	return nil, fmt.Errorf("not an object of RBAC")
}

func reconcileRole(expected, existing runtime.Object, removeExtra bool) (protocol.Answer, error) {
	options := reconciliation.ReconcileRoleOptions{Role: ruleOwner(expected), RemoveExtraPermissions: removeExtra, Client: storedRole{object: existing}}
	result, err := options.Run()
	if err != nil {
		return nil, err
	}
	return reconcileAnswer(string(result.Operation), result.Protected, result.Role.GetObject(),
		map[string]any{"rules": result.MissingRules, "selectors": result.MissingAggregationRuleSelectors},
		map[string]any{"rules": result.ExtraRules, "selectors": result.ExtraAggregationRuleSelectors})
}

func reconcileBinding(expected, existing runtime.Object, removeExtra bool) (protocol.Answer, error) {
	options := reconciliation.ReconcileRoleBindingOptions{RoleBinding: binding(expected), RemoveExtraSubjects: removeExtra, Client: storedBinding{object: existing}}
	result, err := options.Run()
	if err != nil {
		return nil, err
	}
	return reconcileAnswer(string(result.Operation), result.Protected, result.RoleBinding.GetObject(),
		map[string]any{"subjects": result.MissingSubjects}, map[string]any{"subjects": result.ExtraSubjects})
}

func reconcileAnswer(operation string, protected bool, object runtime.Object, missing, extra any) (protocol.Answer, error) {
	answer := &protocol.ReconcileAnswer{Operation: operation, Protected: &protected}
	var err error
	if answer.Result, err = asData(object); err != nil {
		return nil, err
	}
	if answer.Missing, err = asData(missing); err != nil {
		return nil, err
	}
	answer.Extra, err = asData(extra)
	return answer, err
}

func ruleOwner(object runtime.Object) reconciliation.RuleOwner {
	switch object := object.(type) {
	case *rbacv1.Role:
		return reconciliation.RoleRuleOwner{Role: object}
	case *rbacv1.ClusterRole:
		return reconciliation.ClusterRoleRuleOwner{ClusterRole: object}
	}
	return nil
}

func binding(object runtime.Object) reconciliation.RoleBinding {
	switch object := object.(type) {
	case *rbacv1.RoleBinding:
		return reconciliation.RoleBindingAdapter{RoleBinding: object}
	case *rbacv1.ClusterRoleBinding:
		return reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: object}
	}
	return nil
}

// storedRole has the existing object to read. Nothing is written, since nothing is confirmed.
type storedRole struct {
	reconciliation.RuleOwnerModifier
	object runtime.Object
}

func (s storedRole) Get(_, name string) (reconciliation.RuleOwner, error) {
	if s.object == nil {
		return nil, apierrors.NewNotFound(rbacv1.Resource("roles"), name)
	}
	return ruleOwner(s.object), nil
}

type storedBinding struct {
	reconciliation.RoleBindingModifier
	object runtime.Object
}

func (s storedBinding) Get(_, name string) (reconciliation.RoleBinding, error) {
	if s.object == nil {
		return nil, apierrors.NewNotFound(rbacv1.Resource("rolebindings"), name)
	}
	return binding(s.object), nil
}
