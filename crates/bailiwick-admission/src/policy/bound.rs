//! Policies with their bindings as sets of conditions, so that the policies of two states can be compared.
//!
//! A request passes if all conditions of its [`BoundPolicy`]s hold. States with equal conditions give equal answers, whatever the
//! names, texts and messages of their policies are. Messages, reasons and warnings are no conditions.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::known::KnownRequest;
use super::read::{Binding, Constraints, MatchRule, ValidatingAdmissionPolicy};
use super::request::namespace_value;
use super::{AdmissionRequest, PolicyAnswer};
use bailiwick_cel::{Environment, Fail, FieldReads, FieldStep, MeaningId, Meanings, Program, Value};
use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::DeError;
use bailiwick_yaml::schema::to_json;

/// The label that the API server gives to each namespace.
const NAME: &str = "kubernetes.io/metadata.name";

/// The ValidatingAdmissionPolicies and bindings of one state.
#[derive(Debug, Default)]
pub struct PolicyState {
    minor: u32,
    /// Policies by name, each with the text of the kind of its parameters.
    policies: BTreeMap<String, (ValidatingAdmissionPolicy, String)>,
    /// Bindings, each with the text of its parameters.
    bindings: Vec<(Binding, String)>,
}

/// A policy with one of its bindings.
#[derive(Debug)]
pub struct BoundPolicy<'s> {
    policy: &'s ValidatingAdmissionPolicy,
    binding: &'s Binding,
    conditions: Vec<PolicyCondition>,
    /// The conditions that read no part of a request but the namespace, with the positions of their validations.
    of_namespace: BTreeMap<PolicyCondition, usize>,
    reads: FieldReads,
    /// Whether an unsupported expression may read any part of the namespace.
    may_read_namespace: bool,
}

/// A condition of a policy for the requests of a context.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyCondition {
    /// The matching requests, without a choice of namespaces.
    pub context: RequestContext,
    /// The expression that has to hold.
    pub meaning: MeaningId,
}

/// The requests for which a condition has to hold: equal contexts match the same requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestContext {
    part: PolicyPart,
    matching: BTreeSet<MatchedObjects>,
    /// The match conditions, in order.
    asked: Vec<MeaningId>,
    ignores_failures: bool,
    /// The kind of the parameters with their choice, as JSON; empty for a policy without parameters.
    parameters: String,
}

/// The part of a policy that a condition is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PolicyPart {
    Validation,
    MatchCondition,
    AuditAnnotation,
}

/// The constraints of a policy or binding, without a choice of namespaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct MatchedObjects {
    rules: BTreeSet<MatchRule>,
    excluded: BTreeSet<MatchRule>,
    objects: LabelSelector,
    is_exact: bool,
}

/// The parts of a namespace that the expressions of a policy read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamespaceReads {
    /// The values of some labels, and maybe the name.
    Labels {
        /// The keys of the labels.
        keys: BTreeSet<String>,
        /// Whether the name is read.
        name: bool,
    },
    /// Every part.
    Everything,
}

impl PolicyState {
    /// Begins with no policies, in a cluster of a Kubernetes minor.
    pub fn new(minor: u32) -> Self {
        Self { minor, ..Self::default() }
    }

    /// Adds a policy or a binding; others are passed over.
    ///
    /// # Errors
    /// The first field with a value of another type than in the API.
    pub fn add(&mut self, object: NodeRef<'_>) -> Result<(), DeError> {
        let text = |key: &str| object.path(&["spec", key]).map_or_else(String::new, |node| to_json(node).to_string());
        match object.get("kind").and_then(NodeRef::as_str) {
            Some("ValidatingAdmissionPolicy") => {
                let policy = ValidatingAdmissionPolicy::read(object, self.minor)?;
                self.policies.insert(policy.name.clone(), (policy, text("paramKind")));
            }
            Some("ValidatingAdmissionPolicyBinding") => {
                self.bindings.push((Binding::read(object)?, text("paramRef")));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the policies with a binding that can reject a request. The schema of the meanings is the schema of pods.
    pub fn bound(&self, meanings: &mut Meanings) -> Vec<BoundPolicy<'_>> {
        let mut found = Vec::new();
        for (binding, parameters) in &self.bindings {
            let Some((policy, kind)) = self.policies.get(&binding.policy) else { continue };
            let parameters = format!("{kind} {parameters}");
            let (conditions, of_namespace) = conditions(policy, binding, &parameters, meanings);
            if conditions.is_empty() {
                continue;
            }
            let mut reads = FieldReads::new();
            let is_unknown = |program: &&Program| !program.add_reads(&policy.variables, &mut reads);
            let unknown: Vec<&Program> = policy.programs().filter(is_unknown).collect();
            let may_read_namespace = unknown.iter().any(|program| program.source.to_lowercase().contains("namespace"));
            found.push(BoundPolicy { policy, binding, conditions, of_namespace, reads, may_read_namespace });
        }
        found
    }
}

impl<'s> BoundPolicy<'s> {
    /// Returns the name of the policy.
    pub fn name(&self) -> &'s str {
        &self.policy.name
    }

    /// Returns the conditions for the requests of the policy.
    pub fn conditions(&self) -> &[PolicyCondition] {
        &self.conditions
    }

    /// Returns the fields that the expressions read.
    pub fn reads(&self) -> &FieldReads {
        &self.reads
    }

    /// Whether a namespace with labels is selected.
    pub fn selects(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        let label = |key: &str| if key == NAME { Some(name) } else { labels.get(key).map(String::as_str) };
        self.constraints().all(|constraints| constraints.namespaces.matches(label))
    }

    /// Returns the selectors of namespaces: equal selectors select the same namespaces.
    pub fn selectors(&self) -> Vec<LabelSelector> {
        let mut selectors: Vec<_> = self.constraints().map(|constraints| constraints.namespaces.sorted()).collect();
        selectors.retain(|selector| !selector.is_everything());
        selectors
    }

    /// Adds the labels of namespaces in the selectors and expressions, each with the values that they name.
    pub fn add_named_labels(&self, labels: &mut BTreeMap<String, BTreeSet<String>>) {
        for (key, values) in self.constraints().flat_map(|constraints| constraints.namespaces.named_values()) {
            labels.entry(key.to_owned()).or_default().extend(values.iter().cloned());
        }
        for (path, literals) in &self.reads {
            let names: Option<Vec<&str>> = path.iter().map(FieldStep::name).collect();
            if let Some(["namespaceObject", "metadata", "labels", key, ..]) = names.as_deref() {
                let texts = literals.iter().filter_map(|literal| match literal {
                    Value::String(text) => Some(text.to_string()),
                    _ => None,
                });
                labels.entry((*key).to_owned()).or_default().extend(texts);
            }
        }
    }

    /// Whether all requests of the policy are about pods.
    pub fn has_pods_alone(&self) -> bool {
        self.constraints().any(Constraints::has_pods_alone)
    }

    fn constraints(&self) -> impl Iterator<Item = &'s Constraints> {
        std::iter::once(&self.policy.constraints).chain(&self.binding.constraints)
    }

    /// Returns the parts of a namespace that the expressions read.
    pub fn namespace_reads(&self) -> NamespaceReads {
        if self.may_read_namespace {
            return NamespaceReads::Everything;
        }
        let (mut keys, mut name) = (BTreeSet::new(), false);
        for path in self.reads.keys() {
            let names: Option<Vec<&str>> = path.iter().map(FieldStep::name).collect();
            match names.as_deref() {
                Some(["request", "namespace"] | ["object" | "oldObject" | "namespaceObject", "metadata", "name"]) => {
                    name = true
                }
                Some(
                    ["object" | "oldObject", "metadata", "namespace"] | ["namespaceObject", "metadata", "labels", NAME],
                ) => {
                    name = true;
                }
                Some(["namespaceObject", "metadata", "labels", key, ..]) => _ = keys.insert((*key).to_owned()),
                _ if path.first().and_then(FieldStep::name) == Some("namespaceObject") => {
                    return NamespaceReads::Everything;
                }
                _ => {}
            }
        }
        NamespaceReads::Labels { keys, name }
    }

    /// Returns whether a condition holds for every request in a namespace; none if this depends on the request, or is unknown.
    pub fn holds_in(&self, condition: &PolicyCondition, namespace: &Json, steps: &Cell<u64>) -> Option<bool> {
        let validation = self.policy.validations.get(*self.of_namespace.get(condition)?)?;
        let budget = steps.get();
        let mut environment = Environment::new(&self.policy.variables, budget);
        environment.namespace = Some(namespace_value(namespace));
        let outcome = validation.program.evaluate(&environment);
        steps.set(environment.budget());
        match outcome {
            _ if environment.budget() == 0 => None,
            Ok(Value::Bool(true)) => Some(true),
            Ok(_) => Some(false),
            Err(Fail::Error(_)) => Some(self.policy.ignores_failures),
            Err(Fail::Unknown(_)) => None,
        }
    }

    /// Decides about the request for a complete object, and takes the steps of the expressions from `steps`.
    pub fn decide(&self, request: &AdmissionRequest, namespace: Option<&Json>, steps: &Cell<u64>) -> PolicyAnswer {
        let known = KnownRequest::complete(self.policy, steps.get());
        let verdict = self.policy.evaluate_knowing(request, Some(self.binding), namespace, &known);
        steps.set(known.steps());
        verdict.answer
    }
}

/// Returns the conditions of a policy with a binding, and the positions of the validations that read the namespace alone.
fn conditions(
    policy: &ValidatingAdmissionPolicy,
    binding: &Binding,
    parameters: &str,
    meanings: &mut Meanings,
) -> (Vec<PolicyCondition>, BTreeMap<PolicyCondition, usize>) {
    let constraints = || std::iter::once(&policy.constraints).chain(&binding.constraints);
    let scope = meanings.scope(&policy.variables, constraints().any(Constraints::has_pods_alone));
    let mut asked: Vec<MeaningId> =
        policy.conditions.iter().map(|condition| meanings.value(&condition.program, scope)).collect();
    asked.sort_unstable();
    asked.dedup();
    let choosing = constraints().filter(|own| !own.has_every_object());
    let matching = choosing.map(Constraints::without_namespaces).collect();
    let parameters = if policy.has_params { parameters.to_owned() } else { String::new() };
    // Failures of validations are part of their meanings.
    let ignores_failures = policy.ignores_failures && (policy.has_params || !asked.is_empty());
    let has_match_conditions = !asked.is_empty();
    let validation = RequestContext { part: PolicyPart::Validation, matching, asked, ignores_failures, parameters };
    let context = |part| RequestContext { part, ..validation.clone() };
    let (mut found, mut of_namespace) = (BTreeSet::new(), BTreeMap::new());
    if binding.denies() {
        let always = meanings.always(true);
        for (index, validation) in policy.validations.iter().enumerate() {
            let all = meanings.conditions(&validation.program, scope, policy.ignores_failures);
            for meaning in all.into_iter().filter(|meaning| *meaning != always) {
                let condition = PolicyCondition { context: context(PolicyPart::Validation), meaning };
                if reads_namespace_alone(policy, &validation.program) {
                    of_namespace.insert(condition.clone(), index);
                }
                found.insert(condition);
            }
        }
        // A condition that fails rejects the request.
        if !policy.ignores_failures && has_match_conditions {
            let context = context(PolicyPart::MatchCondition);
            found.insert(PolicyCondition { context, meaning: meanings.always(false) });
        }
    }
    // A failed annotation rejects the request, whatever the actions are.
    if !policy.ignores_failures {
        let annotations = policy.audit_annotations.iter();
        found.extend(annotations.map(|program| PolicyCondition {
            context: context(PolicyPart::AuditAnnotation),
            meaning: meanings.value(program, scope),
        }));
    }
    (found.into_iter().collect(), of_namespace)
}

/// Whether an expression reads no part of a request but the namespace.
fn reads_namespace_alone(policy: &ValidatingAdmissionPolicy, program: &Program) -> bool {
    let mut reads = FieldReads::new();
    let is_known = program.add_reads(&policy.variables, &mut reads);
    let is_of_namespace = |path: &Vec<FieldStep>| path.first().and_then(FieldStep::name) == Some("namespaceObject");
    is_known && reads.keys().all(is_of_namespace)
}

impl Constraints {
    /// Returns the constraints without a choice of namespaces: equal ones match the same requests.
    fn without_namespaces(&self) -> MatchedObjects {
        let rules = |rules: &[MatchRule]| rules.iter().map(MatchRule::sorted).collect();
        MatchedObjects {
            rules: rules(&self.rules),
            excluded: rules(&self.excluded),
            objects: self.objects.sorted(),
            is_exact: self.is_exact,
        }
    }

    /// Whether nothing but the namespace is restricted: a binding without rules has all requests of its policy.
    fn has_every_object(&self) -> bool {
        self.rules.is_empty() && self.excluded.is_empty() && self.objects.is_everything()
    }

    /// Whether all requests are about pods, and not about a part of them.
    fn has_pods_alone(&self) -> bool {
        let is = |list: &[String], only: &str| !list.is_empty() && list.iter().all(|one| one == only);
        let is_of_pods = |rule: &super::read::MatchRule| {
            is(&rule.api_groups, "") && is(&rule.api_versions, "v1") && is(&rule.resources, "pods")
        };
        !self.rules.is_empty() && self.rules.iter().all(is_of_pods)
    }
}

impl super::read::MatchRule {
    /// Returns the rule with its lists in order, and the default written down.
    fn sorted(&self) -> Self {
        let mut rule = self.clone();
        let lists = [
            &mut rule.api_groups,
            &mut rule.api_versions,
            &mut rule.operations,
            &mut rule.resources,
            &mut rule.resource_names,
        ];
        for list in lists {
            list.sort_unstable();
            list.dedup();
        }
        rule.scope = rule.scope.filter(|scope| scope != "*");
        rule
    }
}
