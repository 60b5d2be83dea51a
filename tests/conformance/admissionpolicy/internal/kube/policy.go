// Package kube answers with the admission code of Kubernetes itself: its compiler, its matcher and its dispatcher.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	k8serrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/warning"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"bailiwick.dev/conformance/admissionpolicy/internal/protocol"
)

// Answer judges the requests of a question.
func Answer(question *protocol.Question) (protocol.Answer, error) {
	policy, binding, namespace := &v1.ValidatingAdmissionPolicy{}, &v1.ValidatingAdmissionPolicyBinding{}, &corev1.Namespace{}
	for _, part := range []struct {
		from any
		to   any
	}{{question.Policy.Policy, policy}, {question.Policy.Binding, binding}, {question.Policy.Namespace, namespace}} {
		text, err := json.Marshal(part.from)
		if err != nil {
			return protocol.Answer{}, err
		}
		if err := json.Unmarshal(text, part.to); err != nil {
			return protocol.Answer{}, err
		}
	}
	complete(policy.Spec.MatchConstraints)
	complete(binding.Spec.MatchResources)
	watched, err := compile(policy)
	answer := protocol.Answer{Compiles: err == nil}
	if err != nil {
		// A refused policy is nobody's: the answer is not compared.
		return answer, nil
	}
	hook := validating.PolicyHook{Policy: policy, Bindings: []*v1.ValidatingAdmissionPolicyBinding{binding}, Evaluator: watched}
	matcher := generic.NewPolicyMatcher(matching.NewMatcher(lister(namespace), nil))
	dispatcher := validating.NewDispatcher(nobody{}, matcher)
	for _, request := range question.Policy.Requests {
		verdict, err := judge(dispatcher, hook, watched, request)
		if err != nil {
			return answer, err
		}
		answer.Answers = append(answer.Answers, verdict)
	}
	return answer, nil
}

// complete fills in what the API would have.
func complete(matching *v1.MatchResources) {
	if matching == nil {
		return
	}
	if matching.NamespaceSelector == nil {
		matching.NamespaceSelector = &metav1.LabelSelector{}
	}
	if matching.ObjectSelector == nil {
		matching.ObjectSelector = &metav1.LabelSelector{}
	}
}

// compile makes of a policy what the plugin makes of it, or tells why the API would not take it.
func compile(policy *v1.ValidatingAdmissionPolicy) (made *watching, err error) {
	defer func() {
		// Some lists of nothing but optionals are more than cel-go 0.26 can check.
		if problem := recover(); problem != nil {
			made, err = nil, fmt.Errorf("the compiler gives up: %v", problem)
		}
	}()
	spec := policy.Spec
	full := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	plain := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	mode := environment.StoredExpressions
	for _, variable := range spec.Variables {
		named := &validating.Variable{Name: variable.Name, Expression: variable.Expression}
		if result := compiler.CompileAndStoreVariable(named, full, mode); result.Error != nil {
			return nil, result.Error
		}
	}
	var conditions, validations, messages, annotations []cel.ExpressionAccessor
	for index := range spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&spec.MatchConditions[index]))
	}
	for _, validation := range spec.Validations {
		validations = append(validations, &validating.ValidationCondition{
			Expression: validation.Expression, Message: validation.Message, Reason: validation.Reason,
		})
		var message cel.ExpressionAccessor
		if validation.MessageExpression != "" {
			message = &validating.MessageExpressionCondition{MessageExpression: validation.MessageExpression}
		}
		messages = append(messages, message)
	}
	for _, annotation := range spec.AuditAnnotations {
		annotations = append(annotations, &validating.AuditAnnotationCondition{Key: annotation.Key, ValueExpression: annotation.ValueExpression})
	}
	var problems []error
	evaluator := func(expressions []cel.ExpressionAccessor, options cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		made := compiler.CompileCondition(expressions, options, mode)
		problems = append(problems, made.CompilationErrors()...)
		return made
	}
	var matcher matchconditions.Matcher
	if len(conditions) > 0 {
		matcher = matchconditions.NewMatcher(evaluator(conditions, full), spec.FailurePolicy, "policy", "validate", policy.Name)
	}
	validator := validating.NewValidator(
		evaluator(validations, full), matcher, evaluator(annotations, full), evaluator(messages, plain), spec.FailurePolicy, nil)
	return &watching{Validator: validator}, errors.Join(problems...)
}

// watching notices whether the policy is asked, and whether its conditions let it be.
type watching struct {
	validating.Validator
	matched bool
}

func (w *watching) Validate(ctx context.Context, resource schema.GroupVersionResource, attributes *admission.VersionedAttributes, params runtime.Object, namespace *corev1.Namespace, budget int64, authorizer authorizer.UnconditionalAuthorizer) validating.ValidateResult {
	result := w.Validator.Validate(ctx, resource, attributes, params, namespace, budget, authorizer)
	w.matched = w.matched || result.Decisions != nil
	return result
}

func judge(dispatcher generic.Dispatcher[validating.PolicyHook], hook validating.PolicyHook, watched *watching, request *protocol.Request) (protocol.Verdict, error) {
	extra := map[string][]string{}
	for key, values := range request.Extra {
		extra[key] = values
	}
	kind := schema.GroupVersionKind{Group: request.Group, Version: request.Version, Kind: request.Kind}
	resource := schema.GroupVersionResource{Group: request.Group, Version: request.Version, Resource: request.Resource}
	object, err := objectOf(request.Object)
	if err != nil {
		return protocol.Verdict{}, err
	}
	old, err := objectOf(request.OldObject)
	if err != nil {
		return protocol.Verdict{}, err
	}
	attributes := admission.NewAttributesRecord(object, old, kind, request.Namespace, request.Name, resource, request.Subresource,
		admission.Operation(request.Operation), nil, request.DryRun,
		&user.DefaultInfo{Name: request.User, UID: request.UID, Groups: request.Groups, Extra: extra})
	told := &told{}
	watched.matched = false
	err = dispatcher.Dispatch(warning.WithWarningRecorder(context.Background(), told), attributes,
		admission.NewObjectInterfacesFromScheme(runtime.NewScheme()), []validating.PolicyHook{hook})
	verdict := protocol.Verdict{Answer: "allow", Matched: watched.matched, Warnings: told.warnings}
	if err == nil {
		return verdict, nil
	}
	var status *k8serrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) == 0 {
		return verdict, err
	}
	causes := status.ErrStatus.Details.Causes
	verdict.Answer, verdict.Message, verdict.Reason = "deny", causes[len(causes)-1].Message, string(status.ErrStatus.Reason)
	return verdict, nil
}

func objectOf(content map[string]any) (runtime.Object, error) {
	if content == nil {
		return nil, nil
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{}
	return made, made.UnmarshalJSON(text)
}

// told keeps the warnings.
type told struct{ warnings []string }

func (t *told) AddWarning(_, text string) { t.warnings = append(t.warnings, text) }

// nobody may do anything.
type nobody struct{}

func (nobody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

func lister(namespace *corev1.Namespace) listers.NamespaceLister {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	_ = indexer.Add(namespace)
	return listers.NewNamespaceLister(indexer)
}
