//! A policy and its binding, as written and with the API's defaults.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value as Json;

use super::PolicyAnswer;
use super::request::AdmissionRequest;
use crate::pod::or_default;
use bailiwick_cel::{Names, Program};
use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::{DeError, from_node};

/// A ValidatingAdmissionPolicy, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct ValidatingAdmissionPolicy {
    /// Name in the cluster.
    pub name: String,
    /// Whether a failed expression admits the request.
    pub ignores_failures: bool,
    pub(super) constraints: Constraints,
    pub(super) has_params: bool,
    pub(super) conditions: Vec<Condition>,
    pub(super) variables: BTreeMap<String, Program>,
    pub(super) validations: Vec<Validation>,
    pub(super) audit_annotations: Vec<Program>,
}

/// A condition of whether the policy is asked.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    pub(super) program: Program,
}

/// One validation of a policy.
#[derive(Debug, Clone)]
pub(super) struct Validation {
    pub(super) program: Program,
    pub(super) message: String,
    pub(super) message_expression: Option<Program>,
    pub(super) reason: Option<String>,
}

/// A ValidatingAdmissionPolicyBinding.
#[derive(Debug, Clone)]
pub struct Binding {
    /// Name in the cluster.
    pub name: String,
    /// The policy it binds.
    pub policy: String,
    /// Actions on a violation.
    pub actions: Vec<ValidationAction>,
    pub(super) constraints: Option<Constraints>,
    pub(super) has_params: bool,
}

/// The matching requests of a policy.
#[derive(Debug, Clone, Default)]
pub(super) struct Constraints {
    pub(super) namespaces: LabelSelector,
    pub(super) objects: LabelSelector,
    pub(super) rules: Vec<MatchRule>,
    pub(super) excluded: Vec<MatchRule>,
    pub(super) is_exact: bool,
}

/// Requests by operation and resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(expecting = "struct Rule", default, rename_all = "camelCase")]
pub(super) struct MatchRule {
    #[serde(deserialize_with = "or_default")]
    pub(super) api_groups: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) api_versions: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) operations: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) resources: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) resource_names: Vec<String>,
    pub(super) scope: Option<String>,
}

#[derive(Deserialize)]
struct RawPolicy {
    #[serde(default, deserialize_with = "or_default")]
    metadata: RawMetadata,
    spec: RawSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawMetadata {
    #[serde(deserialize_with = "or_default")]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSpec {
    failure_policy: Option<FailurePolicy>,
    param_kind: Option<RawParamKind>,
    #[serde(default, deserialize_with = "or_default")]
    match_conditions: Vec<RawCondition>,
    #[serde(default, deserialize_with = "or_default")]
    variables: Vec<RawVariable>,
    #[serde(default, deserialize_with = "or_default")]
    validations: Vec<RawValidation>,
    #[serde(default, deserialize_with = "or_default")]
    audit_annotations: Vec<RawAnnotation>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
enum FailurePolicy {
    Fail,
    Ignore,
}

/// Only its presence matters.
#[derive(Deserialize)]
struct RawParamKind {}

#[derive(Deserialize)]
struct RawCondition {
    expression: String,
}

#[derive(Deserialize)]
pub(super) struct RawVariable {
    pub(super) name: String,
    pub(super) expression: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawValidation {
    expression: String,
    #[serde(default, deserialize_with = "or_default")]
    message: String,
    #[serde(default, deserialize_with = "or_default")]
    message_expression: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAnnotation {
    value_expression: String,
}

#[derive(Deserialize)]
struct RawBinding {
    #[serde(default, deserialize_with = "or_default")]
    metadata: RawMetadata,
    spec: RawBindingSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBindingSpec {
    #[serde(default, deserialize_with = "or_default")]
    policy_name: String,
    #[serde(default, deserialize_with = "or_default")]
    validation_actions: Vec<ValidationAction>,
    param_ref: Option<RawParamKind>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawConstraints {
    #[serde(default, deserialize_with = "or_default")]
    resource_rules: Vec<MatchRule>,
    #[serde(default, deserialize_with = "or_default")]
    exclude_resource_rules: Vec<MatchRule>,
    match_policy: Option<MatchPolicy>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
enum MatchPolicy {
    Exact,
    Equivalent,
}

impl ValidatingAdmissionPolicy {
    /// Reads a policy as the API server of a minor reads a stored one. Unsupported expressions are no error; requests
    /// for them get no answer.
    ///
    /// # Errors
    /// When the object is no policy.
    pub fn read(node: NodeRef<'_>, minor: u32) -> Result<Self, DeError> {
        let raw: RawPolicy = from_node(node)?;
        let spec = raw.spec;
        let has_params = spec.param_kind.is_some();
        let mut names = Names { params: has_params, minor, ..Names::default() };
        let mut variables = BTreeMap::new();
        for variable in &spec.variables {
            // A variable may ask for those before it.
            variables.insert(variable.name.clone(), Program::compile(&variable.expression, &names));
            names.variables.insert(&variable.name);
        }
        let compiled = |expression: &str| Program::compile(expression, &names);
        let conditions = spec.match_conditions.iter().map(|raw| Condition { program: compiled(&raw.expression) });
        let validations = spec.validations.iter().map(|raw| Validation {
            program: compiled(&raw.expression),
            message: raw.message.clone(),
            message_expression: (!raw.message_expression.is_empty()).then(|| compiled(&raw.message_expression)),
            reason: raw.reason.clone(),
        });
        let annotations = spec.audit_annotations.iter().map(|raw| compiled(&raw.value_expression));
        let constraints = node.get("spec").and_then(|spec| spec.get("matchConstraints"));
        Ok(Self {
            name: raw.metadata.name,
            ignores_failures: spec.failure_policy == Some(FailurePolicy::Ignore),
            constraints: match constraints {
                Some(constraints) => constraints_of(constraints)?,
                None => Constraints::default(),
            },
            has_params,
            conditions: conditions.collect(),
            validations: validations.collect(),
            audit_annotations: annotations.collect(),
            variables,
        })
    }

    /// Adds the keys of the namespace labels in a decision of the policy. Returns false if an expression may read
    /// every label, or the name of the namespace.
    pub(crate) fn add_namespace_labels(&self, keys: &mut BTreeSet<String>) -> bool {
        keys.extend(self.constraints.namespaces.keys().map(str::to_owned));
        !self.programs().any(|program| program.source.to_lowercase().contains("namespace"))
    }

    pub(super) fn programs(&self) -> impl Iterator<Item = &Program> {
        let conditions = self.conditions.iter().map(|condition| &condition.program);
        let validations = self.validations.iter();
        let validations = validations.flat_map(|one| std::iter::once(&one.program).chain(&one.message_expression));
        conditions.chain(self.variables.values()).chain(validations).chain(&self.audit_annotations)
    }

    /// Returns the unsupported expressions, each with the reason.
    pub fn unknown_expressions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.programs().filter_map(|program| Some((program.source.as_str(), program.problem()?)))
    }
}

impl Binding {
    /// Whether the binding refuses requests on a violation.
    pub fn denies(&self) -> bool {
        self.actions.contains(&ValidationAction::Deny)
    }

    /// Adds the keys of the namespace labels in the selector of the binding.
    pub(crate) fn add_namespace_labels(&self, keys: &mut BTreeSet<String>) {
        let own = self.constraints.iter().flat_map(|constraints| constraints.namespaces.keys());
        keys.extend(own.map(str::to_owned));
    }

    /// Reads a binding.
    ///
    /// # Errors
    /// When the object is none.
    pub fn read(node: NodeRef<'_>) -> Result<Self, DeError> {
        let raw: RawBinding = from_node(node)?;
        let resources = node.get("spec").and_then(|spec| spec.get("matchResources")).filter(|node| !node.is_null());
        Ok(Self {
            name: raw.metadata.name,
            policy: raw.spec.policy_name,
            actions: raw.spec.validation_actions,
            constraints: resources.map(constraints_of).transpose()?,
            has_params: raw.spec.param_ref.is_some(),
        })
    }
}

/// Returns the selector of a field. An absent selector selects everything, as the API server's default does.
fn selector(node: NodeRef<'_>, key: &str) -> LabelSelector {
    match node.get(key).filter(|node| !node.is_null()) {
        Some(node) => LabelSelector::from_node(node),
        None => LabelSelector::default(),
    }
}

fn constraints_of(node: NodeRef<'_>) -> Result<Constraints, DeError> {
    let raw: Option<RawConstraints> = from_node(node)?;
    let Some(raw) = raw else { return Ok(Constraints::default()) };
    Ok(Constraints {
        namespaces: selector(node, "namespaceSelector"),
        objects: selector(node, "objectSelector"),
        rules: raw.resource_rules,
        excluded: raw.exclude_resource_rules,
        is_exact: raw.match_policy == Some(MatchPolicy::Exact),
    })
}

/// A webhook of a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Its name in the configuration.
    pub name: String,
    /// A policy that denies each request for which the API server calls the webhook; none for a webhook without rules.
    policy: Option<ValidatingAdmissionPolicy>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawWebhook {
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    rules: Vec<MatchRule>,
    failure_policy: Option<FailurePolicy>,
    match_policy: Option<MatchPolicy>,
    #[serde(default, deserialize_with = "or_default")]
    match_conditions: Vec<RawCondition>,
}

impl Webhook {
    /// Reads the webhooks of a configuration (`admissionregistration/v1/types.go` of Kubernetes 1.37).
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn read_all(configuration: NodeRef<'_>, minor: u32) -> Result<Vec<Self>, DeError> {
        configuration.get("webhooks").into_iter().flat_map(NodeRef::items).map(|node| Self::read(node, minor)).collect()
    }

    fn read(node: NodeRef<'_>, minor: u32) -> Result<Self, DeError> {
        let raw: RawWebhook = from_node(node)?;
        let names = Names { minor, ..Names::default() };
        let compiled = |expression: &str| Program::compile(expression, &names);
        let conditions = raw.match_conditions.iter().map(|raw| Condition { program: compiled(&raw.expression) });
        let refusal =
            Validation { program: compiled("false"), message: String::new(), message_expression: None, reason: None };
        let policy = (!raw.rules.is_empty()).then(|| ValidatingAdmissionPolicy {
            name: raw.name.clone(),
            ignores_failures: raw.failure_policy == Some(FailurePolicy::Ignore),
            constraints: Constraints {
                namespaces: selector(node, "namespaceSelector"),
                objects: selector(node, "objectSelector"),
                rules: raw.rules,
                excluded: Vec::new(),
                is_exact: raw.match_policy == Some(MatchPolicy::Exact),
            },
            has_params: false,
            conditions: conditions.collect(),
            variables: BTreeMap::new(),
            validations: vec![refusal],
            audit_annotations: Vec::new(),
        });
        Ok(Self { name: raw.name, policy })
    }

    /// Whether the API server can call the webhook for a request. `namespace` is the Namespace object of the request, if known.
    pub fn can_be_called(&self, request: &AdmissionRequest, namespace: Option<&Json>) -> bool {
        let decision = self.policy.as_ref().map(|policy| policy.evaluate(request, None, namespace));
        decision.is_some_and(|decision| decision.answer != PolicyAnswer::Allow)
    }
}
