//! Answers about access as JSON.

use bailiwick_access::decide::MissingRole;
use bailiwick_access::proof::{Chain, Link, NearMiss, RuleLink};
use bailiwick_access::who_can::WhoCan;
use bailiwick_access::{Answer, Identity, Liveness, Request, World};
use bailiwick_analysis::{LoadedWorld, NodeDecision};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_paths::EscalationPath;
use bailiwick_yaml::diag::Files;
use schemars::JsonSchema;
use serde::Serialize;

use super::{DecisionReport, place_text};
use crate::paths::PathRecord;
use crate::result::CommandResult;

/// A decision about a request, with its reasons.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// Whether the request is allowed: `yes`, `no`, `unknown` or `dead`.
    pub answer: Answer,
    /// Whether RBAC allows the request.
    pub allowed: bool,
    /// The subject.
    pub identity: Identity,
    /// The resource or URL, with the verb.
    pub request: Request,
    /// Whether the subject is a member of `system:masters`.
    pub masters: bool,
    /// The reason why no server receives the request.
    pub dead: Option<String>,
    /// The bindings that allow it.
    pub because: Vec<ChainRecord>,
    /// Aggregated ClusterRoles with a rule of their own that allows it.
    pub doubtful: Vec<String>,
    /// A second request that the server asks for, and that the subject is not allowed.
    pub also_needed: Option<Request>,
    /// Roles that are bound and not among the inputs.
    pub missing: Vec<MissingRoleRecord>,
    /// Bindings that the cluster may have: a controller of the platform makes them if the cluster has a capability.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub possible: Vec<String>,
    /// The grants that nearly allow it.
    pub near_misses: Vec<NearMissRecord>,
}

/// An object with its place.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LinkRecord {
    /// As `Kind/name` or `Kind/namespace/name`.
    pub name: String,
    /// As `path:line:column`; none for an object of the API server.
    pub place: Option<String>,
}

/// A binding that allows something.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChainRecord {
    /// The subject of the binding.
    pub subject: String,
    /// The RoleBinding or ClusterRoleBinding.
    pub binding: LinkRecord,
    /// The Role or ClusterRole.
    pub role: LinkRecord,
    /// The rules of the role that allow it.
    pub rules: Vec<RuleRecord>,
}

/// A rule of a role.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleRecord {
    /// Its position in the role, from 1.
    pub number: usize,
    /// The permissions, as in Kubernetes.
    pub rule: PolicyRule,
    /// For an aggregated role, the roles on the way to the rule; the last one contains it.
    pub gathered_from: Vec<LinkRecord>,
}

/// A role that is bound and not among the inputs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingRoleRecord {
    /// The Role or ClusterRole.
    pub role: String,
    /// The binding.
    pub bound_by: String,
}

/// A grant that nearly allows a request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NearMissRecord {
    /// The RoleBinding or ClusterRoleBinding.
    pub binding: LinkRecord,
    /// The Role or ClusterRole.
    pub role: LinkRecord,
    /// The permissions, as in Kubernetes.
    pub rule: PolicyRule,
    /// The parts that the rule lacks.
    pub lacks: Vec<String>,
}

/// The answer of `can-i`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CanIResult {
    /// The answer about a request.
    Decision(Box<CanIDecision>),
    /// With `--list`: everything that the subject may do.
    List(GrantList),
}

/// The answer of `can-i` about a request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CanIDecision {
    /// The decision of RBAC.
    #[serde(flatten)]
    pub decision: DecisionRecord,
    /// The decision of the Node authorizer; absent for a subject that is no node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeDecision>,
    /// The reason of admission against the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<String>,
    /// The effect of the authorizers that a policy states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorizers: Option<String>,
    /// The target; absent for manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Everything that a subject may do in a namespace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GrantList {
    /// The target; none for manifests.
    pub target: Option<String>,
    /// The subject.
    pub identity: Identity,
    /// The namespace; empty for all of them.
    pub namespace: String,
    /// The bindings.
    pub grants: Vec<ChainRecord>,
    /// Roles that are bound and not among the inputs.
    pub missing: Vec<String>,
    /// Bindings that the cluster may have: a controller of the platform makes them if the cluster has a capability.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub possible: Vec<String>,
}

/// The answer of `who-can`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WhoCanResult {
    /// The subjects that are allowed the request.
    pub capable: Vec<CapableSubject>,
    /// Roles that are bound and not among the inputs.
    pub missing: Vec<MissingRoleRecord>,
    /// Bindings that the cluster may have: a controller of the platform makes them if the cluster has a capability.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub possible: Vec<String>,
    /// The target; none for manifests.
    pub target: Option<String>,
}

/// A subject that is allowed a request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CapableSubject {
    /// A user, group or service account.
    pub subject: String,
    /// The namespace in which it is allowed; none for all of them.
    pub namespace: Option<String>,
    /// The binding; none where the subject needs none.
    pub binding: Option<LinkRecord>,
}

/// A decision of `explain`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExplainedDecision {
    /// The decision of RBAC.
    #[serde(flatten)]
    pub decision: DecisionRecord,
    /// The target; absent for manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A subject with everything that it may do.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedSubject {
    /// The user with its groups.
    pub identity: Identity,
    /// Its bindings.
    pub grants: Vec<ChainRecord>,
    /// The first steps of escalation paths.
    pub can_become: Vec<EscalationRecord>,
    /// The escalation paths to powers, with all steps; none for an index.
    pub paths: Vec<PathRecord>,
    /// The target; absent for manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// An escalation path.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EscalationRecord {
    /// The permissions.
    pub via: String,
    /// The gained identity or permission.
    pub to: String,
}

/// A role with its rules and bindings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRole {
    /// The Role or ClusterRole.
    pub role: LinkRecord,
    /// Whether it gathers the rules of other roles.
    pub aggregated: bool,
    /// The permissions that it contains.
    pub rules: Vec<RuleRecord>,
    /// The bindings to it.
    pub bound_by: Vec<BoundRecord>,
    /// The target; absent for manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A binding with its subjects.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BoundRecord {
    /// The RoleBinding or ClusterRoleBinding.
    pub binding: LinkRecord,
    /// The users, groups and service accounts.
    pub subjects: Vec<String>,
}

/// A binding with its role and subjects.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExplainedBinding {
    /// The RoleBinding or ClusterRoleBinding.
    pub binding: LinkRecord,
    /// Its role; none if the role is missing.
    pub role: Option<LinkRecord>,
    /// The role that is not among the inputs.
    pub missing: Option<String>,
    /// The users, groups and service accounts.
    pub subjects: Vec<String>,
    /// The target; absent for manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl CommandResult for CanIResult {
    const NAME: &'static str = "can-i";
}

impl CommandResult for WhoCanResult {
    const NAME: &'static str = "who-can";
}

impl DecisionReport<'_> {
    /// Returns the decision as JSON.
    pub fn record(&self) -> DecisionRecord {
        let misses = if self.decision.allowed { Vec::new() } else { self.world.near_misses(self.who, self.request) };
        DecisionRecord {
            answer: self.answer,
            allowed: self.decision.allowed,
            identity: self.who.clone(),
            request: self.request.clone(),
            masters: self.decision.by_masters,
            dead: match &self.decision.liveness {
                Liveness::Dead(reason) => Some(reason.clone()),
                Liveness::Live | Liveness::Unknown(_) => None,
            },
            because: ChainRecord::list(&self.world.chains(self.who, self.decision), self.files),
            doubtful: self.decision.doubtful.clone(),
            also_needed: self.decision.also_needed.clone(),
            missing: MissingRoleRecord::list(&self.decision.missing),
            possible: self.decision.possible.iter().map(ToString::to_string).collect(),
            near_misses: misses.iter().map(|miss| NearMissRecord::new(miss, self.files)).collect(),
        }
    }
}

impl LinkRecord {
    /// Returns an object with its place.
    pub fn new(link: &Link, files: &Files) -> Self {
        Self { name: link.name.clone(), place: link.place.map(|place| place_text(place, files)) }
    }
}

impl ChainRecord {
    /// Returns the records of bindings.
    pub fn list(chains: &[Chain], files: &Files) -> Vec<Self> {
        let record = |chain: &Chain| Self {
            subject: chain.subject.clone(),
            binding: LinkRecord::new(&chain.binding, files),
            role: LinkRecord::new(&chain.role, files),
            rules: RuleRecord::list(&chain.rules, files),
        };
        chains.iter().map(record).collect()
    }
}

impl RuleRecord {
    fn list(rules: &[RuleLink], files: &Files) -> Vec<Self> {
        let record = |rule: &RuleLink| Self {
            number: rule.number,
            rule: rule.rule.clone(),
            gathered_from: rule.gathered_from.iter().map(|source| LinkRecord::new(source, files)).collect(),
        };
        rules.iter().map(record).collect()
    }
}

impl MissingRoleRecord {
    fn list(missing: &[MissingRole]) -> Vec<Self> {
        let record = |missing: &MissingRole| Self { role: missing.to_string(), bound_by: missing.bound_by.clone() };
        missing.iter().map(record).collect()
    }
}

impl NearMissRecord {
    fn new(miss: &NearMiss, files: &Files) -> Self {
        Self {
            binding: LinkRecord::new(&miss.binding, files),
            role: LinkRecord::new(&miss.role, files),
            rule: miss.rule.clone(),
            lacks: miss.lacks.clone(),
        }
    }
}

impl WhoCanResult {
    /// Returns the subjects that are allowed a request.
    pub fn new(found: &WhoCan, loaded: &LoadedWorld) -> Self {
        let capable = found.capable(&loaded.world).map(|capable| {
            let binding = capable.binding.and_then(|binding| loaded.world.binding_link_of(binding));
            CapableSubject {
                subject: capable.subject,
                namespace: capable.scope.namespace().map(str::to_owned),
                binding: binding.map(|binding| LinkRecord::new(&binding, &loaded.files)),
            }
        });
        Self {
            capable: capable.collect(),
            missing: MissingRoleRecord::list(&found.missing),
            possible: found.possible.iter().map(ToString::to_string).collect(),
            target: loaded.target.clone(),
        }
    }
}

impl ExplainedSubject {
    /// Returns everything that a subject may do.
    pub fn new(loaded: &LoadedWorld, who: &Identity, paths: &[EscalationPath]) -> Self {
        let steps = loaded.world.escalation_paths(who).into_iter();
        Self {
            identity: who.clone(),
            grants: ChainRecord::list(&loaded.world.all_grants_of(who), &loaded.files),
            can_become: steps.map(|path| EscalationRecord { via: path.via, to: path.to }).collect(),
            paths: PathRecord::list(paths, &loaded.files),
            target: loaded.target.clone(),
        }
    }
}

impl ExplainedRole {
    /// Returns a role; none for a role that is not there.
    pub fn new(loaded: &LoadedWorld, namespace: Option<&str>, name: &str) -> Option<Self> {
        let (world, files): (&World, &Files) = (&loaded.world, &loaded.files);
        let (own, rules, aggregated) = world.describe_role(namespace, name)?;
        let bound = world.bound_by(namespace, name).into_iter();
        Some(Self {
            role: LinkRecord::new(&own, files),
            aggregated,
            rules: RuleRecord::list(&rules, files),
            bound_by: bound
                .map(|(binding, subjects)| BoundRecord { binding: LinkRecord::new(&binding, files), subjects })
                .collect(),
            target: loaded.target.clone(),
        })
    }
}

impl ExplainedBinding {
    /// Returns a binding; none for a binding that is not there.
    pub fn new(loaded: &LoadedWorld, namespace: Option<&str>, name: &str) -> Option<Self> {
        let (own, bound, subjects) = loaded.world.describe_binding(namespace, name)?;
        Some(Self {
            binding: LinkRecord::new(&own, &loaded.files),
            role: bound.as_ref().ok().map(|role| LinkRecord::new(role, &loaded.files)),
            missing: bound.err().map(|missing| missing.to_string()),
            subjects,
            target: loaded.target.clone(),
        })
    }
}
