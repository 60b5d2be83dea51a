//! Conditions, validations and messages: the evaluation of a policy's expressions.

use serde_json::Value as Json;

use super::known::KnownRequest;
use super::matching::{Match, is_exempt, matches};
use super::read::{Binding, ValidatingAdmissionPolicy, Validation};
use super::request::{AdmissionRequest, namespace_value};
use super::{PolicyAnswer, PolicyDecision};
use bailiwick_cel::{Environment, Fail, Program, Value};
use bailiwick_kubernetes::validation_action::ValidationAction;

/// The cost limit of all conditions, and of all validations with their messages.
const CONDITIONS_BUDGET: u64 = 2_500_000;
const BUDGET: u64 = 10_000_000;
/// The longest valid message of an expression, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// The default status reason of a denial.
const INVALID: &str = "Invalid";

/// The result of one validation.
enum Decision {
    Admit,
    /// A violation, handled by the actions of the binding; with the reason for an unknown message.
    Deny {
        message: String,
        reason: Option<String>,
        untold: Option<String>,
    },
    /// A failed annotation, rejected with any binding.
    Refuse(String),
    Unknown(String),
}

/// Whether the conditions let the policy be asked.
enum Asked {
    Yes,
    No,
    /// A condition fails to evaluate.
    Fails(String),
    Unknown(String),
}

impl ValidatingAdmissionPolicy {
    /// Evaluates the policy for a request.
    ///
    /// Without a binding, every violation is a denial. `namespace` is the Namespace object of the request; without it,
    /// expressions on it are unknown.
    pub fn evaluate(
        &self,
        request: &AdmissionRequest,
        binding: Option<&Binding>,
        namespace: Option<&Json>,
    ) -> PolicyDecision {
        self.evaluate_knowing(request, binding, namespace, &KnownRequest::default())
    }

    /// Evaluates the policy for a request with unknown parts, as [`ValidatingAdmissionPolicy::evaluate`] does.
    pub fn evaluate_knowing(
        &self,
        request: &AdmissionRequest,
        binding: Option<&Binding>,
        namespace: Option<&Json>,
        known: &KnownRequest,
    ) -> PolicyDecision {
        let bound = binding.and_then(|binding| binding.constraints.as_ref());
        let by_policy = if is_exempt(request) { Match::No } else { matches(&self.constraints, request, namespace) };
        let by_binding = bound.map_or(Match::Yes, |bound| matches(bound, request, namespace));
        match (by_policy, by_binding) {
            (Match::No, _) | (_, Match::No) => return PolicyDecision::new(PolicyAnswer::Allow, false, ""),
            (Match::Unknown(reason), _) | (_, Match::Unknown(reason)) => {
                return PolicyDecision::new(PolicyAnswer::Unknown, false, reason);
            }
            (Match::Yes, Match::Yes) => {}
        }
        if self.has_params && binding.is_none_or(|binding| binding.has_params) {
            return PolicyDecision::new(PolicyAnswer::Unknown, true, "the parameters of the policy are not known here");
        }
        let environment = |namespace, budget| {
            let mut environment = Environment::new(&self.variables, budget);
            let object = |object: &Option<Json>| object.as_ref().map_or(Value::Null, Value::from_json);
            environment.object = object(&request.object);
            environment.old_object = object(&request.old_object);
            environment.request = request.value();
            environment.namespace = namespace;
            environment
        };
        // Conditions have no namespace, not even the namespace of the request.
        let budget = known.budget(CONDITIONS_BUDGET);
        let of_conditions = environment(Some(Value::Null), budget);
        let asked = self.asked(&of_conditions, known);
        known.spend(budget, &of_conditions);
        let decisions = match asked {
            Asked::No => return PolicyDecision::new(PolicyAnswer::Allow, false, ""),
            Asked::Unknown(reason) => return PolicyDecision::new(PolicyAnswer::Unknown, false, reason),
            Asked::Fails(message) => vec![self.failed(message)],
            Asked::Yes => {
                let is_namespace =
                    request.kind == "Namespace" && request.version == "v1" && request.api_group.is_empty();
                let namespace = match namespace {
                    _ if request.namespace.is_empty() || is_namespace => Some(Value::Null),
                    given => given.map(namespace_value),
                };
                self.decisions(&environment(namespace, known.budget(BUDGET)), known)
            }
        };
        self.verdict(decisions, binding)
    }

    fn asked(&self, environment: &Environment<'_>, known: &KnownRequest) -> Asked {
        let (mut errors, mut unknown) = (Vec::new(), None);
        for condition in &self.conditions {
            match known.evaluate(&condition.program, environment) {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return Asked::No,
                Ok(_) => {
                    unknown.get_or_insert(format!("`{}` is neither true nor false", condition.program.source));
                }
                Err(Fail::Error(error)) => {
                    // The API server names an error once (`pkg/util/errors/errors.go` of apimachinery v0.37.2).
                    let error = described(&condition.program, &error);
                    if !errors.contains(&error) {
                        errors.push(error);
                    }
                }
                Err(Fail::Unknown(reason)) => {
                    unknown.get_or_insert(reason);
                }
            }
        }
        match (unknown, errors.as_slice()) {
            (_, [_, ..]) if self.ignores_failures => Asked::No,
            (Some(reason), _) => Asked::Unknown(reason),
            (None, []) => Asked::Yes,
            (None, [only]) => Asked::Fails(only.clone()),
            (None, several) => Asked::Fails(format!("[{}]", several.join(", "))),
        }
    }

    /// Returns the decision for a failed expression.
    fn failed(&self, message: String) -> Decision {
        if self.ignores_failures { Decision::Admit } else { Decision::Deny { message, reason: None, untold: None } }
    }

    /// Returns one decision for each validation, and one for each failed annotation.
    fn decisions(&self, environment: &Environment<'_>, known: &KnownRequest) -> Vec<Decision> {
        let budget = environment.budget();
        let truths: Vec<_> = self.validations.iter().map(|one| known.evaluate(&one.program, environment)).collect();
        // The messages have variables of their own, and share the budget.
        let messages = environment.anew(environment.budget());
        let both = self.validations.iter().zip(truths);
        let mut decisions: Vec<Decision> = both
            .map(|(validation, truth)| {
                // Evaluated for a passed validation as well, because its cost counts.
                let message = validation.message_expression.as_ref().map(|program| known.evaluate(program, &messages));
                let untold = match &message {
                    Some(Err(Fail::Unknown(reason))) => Some(reason.clone()),
                    _ => None,
                };
                match truth {
                    Ok(Value::Bool(true)) => Decision::Admit,
                    Ok(_) => Decision::Deny {
                        message: message_of(validation, message),
                        reason: Some(reason_of(validation.reason.clone())),
                        untold,
                    },
                    Err(Fail::Error(error)) => self.failed(described(&validation.program, &error)),
                    Err(Fail::Unknown(reason)) => Decision::Unknown(reason),
                }
            })
            .collect();
        if environment.budget() == 0 || messages.budget() == 0 {
            decisions.push(Decision::Unknown("the expressions may cost more than the API server allows".to_owned()));
        }
        known.spend(budget, &messages);
        let budget = known.budget(BUDGET);
        let annotations = environment.anew(budget);
        decisions.extend(self.audit_annotations.iter().map(|program| match known.evaluate(program, &annotations) {
            Ok(Value::String(_) | Value::Null) => Decision::Admit,
            Ok(_) => Decision::Unknown(format!("`{}` is neither a text nor null", program.source)),
            Err(Fail::Error(_)) if self.ignores_failures => Decision::Admit,
            Err(Fail::Error(error)) => Decision::Refuse(described(program, &error)),
            Err(Fail::Unknown(reason)) => Decision::Unknown(reason),
        }));
        known.spend(budget, &annotations);
        decisions
    }

    fn verdict(&self, decisions: Vec<Decision>, binding: Option<&Binding>) -> PolicyDecision {
        let actions = binding.map_or([ValidationAction::Deny].as_slice(), |binding| &binding.actions);
        let subject = match binding {
            Some(binding) => format!("ValidatingAdmissionPolicy '{}' with binding '{}'", self.name, binding.name),
            None => format!("ValidatingAdmissionPolicy '{}'", self.name),
        };
        let mut verdict = PolicyDecision::new(PolicyAnswer::Allow, true, "");
        let refuse = |verdict: &mut PolicyDecision, message: &str, reason: Option<String>| {
            verdict.denials.push(message.to_owned());
            // The first denial is the message.
            if verdict.answer != PolicyAnswer::Deny {
                verdict.answer = PolicyAnswer::Deny;
                verdict.message = format!("{subject} denied request: {message}");
                verdict.reason = Some(reason_of(reason));
            }
        };
        for decision in decisions {
            match decision {
                Decision::Admit => {}
                Decision::Refuse(message) => refuse(&mut verdict, &message, None),
                Decision::Unknown(reason) => {
                    // A denial stays a denial.
                    if verdict.answer == PolicyAnswer::Allow {
                        verdict.answer = PolicyAnswer::Unknown;
                        verdict.message = reason.clone();
                    }
                    verdict.unknown.push(reason);
                }
                Decision::Deny { message, reason, untold } => {
                    verdict.unknown.extend(untold);
                    for action in actions {
                        match action {
                            ValidationAction::Deny => refuse(&mut verdict, &message, reason.clone()),
                            ValidationAction::Warn => {
                                verdict.warnings.push(format!("Validation failed for {subject}: {message}"));
                            }
                            ValidationAction::Audit => verdict.audit.push(message.clone()),
                        }
                    }
                }
            }
        }
        verdict
    }
}

/// Returns an error as the server words it.
fn described(program: &Program, error: &str) -> String {
    format!("expression '{}' resulted in error: {error}", program.source)
}

/// Returns the reason of a denial, by default `Invalid`
/// (`staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go` of Kubernetes 1.37).
fn reason_of(reason: Option<String>) -> String {
    match reason {
        Some(reason) => reason,
        None => INVALID.to_owned(),
    }
}

/// Returns the message of a failed validation: the value of its expression, or its text, or the expression itself.
fn message_of(validation: &Validation, evaluated: Option<Result<Value, Fail>>) -> String {
    let made = match evaluated {
        Some(Ok(Value::String(text))) => Some(text),
        Some(Err(Fail::Unknown(reason))) => return format!("(the message is unknown: {reason})"),
        _ => None,
    };
    let made = made.as_deref().map(str::trim).filter(|text| text.len() <= LONGEST_MESSAGE && !text.contains('\n'));
    let texts = [made, Some(validation.message.trim())];
    match texts.into_iter().flatten().find(|text| !text.is_empty()) {
        Some(text) => text.to_owned(),
        None => format!("failed expression: {}", validation.program.source.trim()),
    }
}
