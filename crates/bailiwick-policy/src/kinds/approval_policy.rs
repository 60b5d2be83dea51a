//! `ApprovalPolicy`: the effects of a change that need an approval, and the approvers.

use bailiwick_admission::level::Level;
use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::Lookup;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{
    ApprovalCondition, ApprovalRule, Approver, Contribution, EffectSeverity, GainedPermissions, HazardKind, Kind,
    Linker, OutputFileKey, Patterns, Policy, PolicyMeta, PowerPattern, RawDocument, ResourcePattern, Target, Unit,
};
use crate::source::glob;

/// The kind of policies about approvals.
pub struct ApprovalPolicyKind;

/// The owner of a grant in a list of approvers.
const OWNER: &str = "{owner}";

/// The verbs of Kubernetes, to find mistyped ones.
const VERBS: [&str; 17] = [
    "approve",
    "attest",
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "get",
    "impersonate",
    "list",
    "patch",
    "post",
    "proxy",
    "sign",
    "update",
    "use",
    "watch",
];

/// Effects of a change that need an approval, and the approvers. An ApprovalPolicy creates no object.
///
/// `bailiwick review` applies the rules of the earlier state of the workspace to the effects of a change, so that a
/// change cannot relax its own rules. Every matching rule applies. A change of an ApprovalPolicy needs the approvals
/// for a disarmed test. Without an ApprovalPolicy, effects and hazards of severity `high` or `critical` and disarmed
/// tests need a review, and other effects need no approval.
///
/// A rule matches if one effect meets every key of `when`; a list is met by any of its entries. Approvers are compared
/// letter by letter, and without case after an `@`. A team, such as `@example/security`, can approve several times, and
/// a user once.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: ApprovalPolicy
/// metadata:
///   name: default
/// spec:
///   rules:
///   - when: {becomes: [cluster-admin, nodes]}
///     needs: ["@example/security"]
///     count: 2
///   - when: {severity: high}
///     needs: ["@example/platform"]
///   - when:
///       gains: {verbs: [get, list, watch], resources: [secrets], clusterWide: true}
///     needs: ["@example/security"]
///   - when: {losesOf: {owner: "platform@*"}}
///     needs: ["{owner}"]
///   - when: {hazard: [namespace-deleted, target-removed]}
///     needs: ["@example/platform"]
///   - when: {disarms: true}
///     needs: ["@example/security"]
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ApprovalPolicySpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The conditions with their approvers; every matching rule applies.
    #[schemars(length(min = 1))]
    pub rules: Vec<Spanned<RuleSpec>>,
}

/// A rule: a condition and its approvers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RuleSpec {
    /// The effects that need an approval.
    pub when: Spanned<WhenSpec>,
    /// The possible approvers, such as `@example/security`; `{owner}` is the owner of a grant that loses permissions.
    #[schemars(length(min = 1))]
    pub needs: Vec<Spanned<String>>,
    /// How many approvals are needed. Default: 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub count: Option<Spanned<u32>>,
}

/// A condition about one effect.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WhenSpec {
    /// A subject reaches one of these powers: `cluster-admin`, `any-user`, `any-account`, `nodes`, `all-secrets`,
    /// `admission`, `gitops`, `namespace-admin`, `namespace-admin:NAMESPACE`, `secrets`, `secrets:NAMESPACE`,
    /// `account` or `account:NAMESPACE/NAME`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub becomes: Option<Vec<Spanned<String>>>,
    /// The severity of the effect is at least this one.
    #[serde(default)]
    pub severity: Option<LeastSeverity>,
    /// A subject gains permissions.
    #[serde(default)]
    pub gains: Option<GainsSpec>,
    /// A subject loses permissions.
    #[serde(default)]
    pub loses_of: Option<LosesOfSpec>,
    /// The Pod Security level of a namespace changes.
    #[serde(default)]
    pub pod_level: Option<PodLevelSpec>,
    /// The change has one of these hazards.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub hazard: Option<Vec<HazardKind>>,
    /// An expectation of a test is removed or narrower, a warning is newly accepted, or a setting changes that no object of the output
    /// shows.
    #[serde(default)]
    pub disarms: Option<bool>,
    /// The number of namespaces of the effect.
    #[serde(default)]
    pub namespaces: Option<NamespacesSpec>,
}

/// The least severity of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LeastSeverity {
    /// The effect opens the cluster.
    Critical,
    /// The effect opens a namespace, a node, or a part of the control plane.
    High,
    /// The effect opens something, together with other things.
    Medium,
    /// The effect opens little.
    Low,
    /// The effect is good to know.
    Info,
}

/// Gained permissions.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GainsSpec {
    /// RBAC verbs, such as `get`. Default: any verb.
    #[serde(default)]
    pub verbs: Vec<Spanned<String>>,
    /// Resources: `secrets`, a subresource after a slash such as `pods/exec`, and the group after a dot such as
    /// `deployments.apps`. Default: any resource.
    #[serde(default)]
    pub resources: Vec<Spanned<String>>,
    /// True for permissions in the whole cluster, false for permissions in namespaces. Default: both.
    #[serde(default)]
    pub cluster_wide: Option<bool>,
}

/// Lost permissions.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LosesOfSpec {
    /// A glob of the `owner` of the grants.
    pub owner: Spanned<String>,
}

/// A new Pod Security level.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PodLevelSpec {
    /// The new level.
    pub to: Level,
}

/// A number of namespaces.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamespacesSpec {
    /// The effect is about more namespaces than this.
    pub more: u32,
}

impl Kind for ApprovalPolicyKind {
    type Spec = ApprovalPolicySpec;

    const NAME: &'static str = "ApprovalPolicy";
    const TEMPLATES: &'static [&'static str] = &[];
    const PATTERNS: Patterns = Patterns::Own;

    fn link(
        document: &RawDocument<'_>,
        spec: ApprovalPolicySpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        for rule in &spec.rules {
            let when = condition(&rule.when, &document.meta, linker, sink);
            check_approvers(rule, sink);
            linker.facts.push(ApprovalRule {
                when,
                needs: rule.needs.iter().map(|name| approver(name)).collect(),
                count: rule.count.as_ref().map_or(1, |count| count.value as usize),
                targets: spec.targets.iter().filter_map(|text| glob::compile(text, false).ok()).collect(),
                origin: rule.origin,
                policy: document.meta.clone(),
            });
        }
        Some(Box::new(Linked { meta: document.meta.clone() }))
    }
}

/// Returns the condition of a rule; reports its mistakes.
fn condition(when: &Spanned<WhenSpec>, meta: &PolicyMeta, linker: &Linker<'_>, sink: &mut Sink) -> ApprovalCondition {
    let condition = ApprovalCondition {
        becomes: when.becomes.iter().flatten().filter_map(|text| power(text, sink)).collect(),
        severity: when.severity.map(EffectSeverity::from),
        gains: when.gains.as_ref().map(|gains| gained(gains, meta, linker, sink)),
        loses_of: when.loses_of.as_ref().and_then(|loses| compile_glob(&loses.owner, sink)),
        pod_level: when.pod_level.as_ref().map(|level| level.to),
        hazards: when.hazard.iter().flatten().copied().collect(),
        disarms: when.disarms,
        more_namespaces: when.namespaces.as_ref().map(|namespaces| namespaces.more as usize),
    };
    if condition.is_empty() && when.becomes.is_none() && when.loses_of.is_none() {
        sink.push(
            wrong("this condition has no key, and matches every effect".to_owned(), when.origin)
                .help("add a key, such as `severity: high`"),
        );
    }
    condition
}

/// Reads a power, and reports another text.
pub(super) fn power(text: &Spanned<String>, sink: &mut Sink) -> Option<PowerPattern> {
    let error = match PowerPattern::parse(text) {
        Ok(power) => return Some(power),
        Err(error) => error,
    };
    sink.push(Diagnostic::error(codes::UNKNOWN_VALUE, error.to_string()).at(text.origin).help(error.help()));
    None
}

fn gained(gains: &GainsSpec, meta: &PolicyMeta, linker: &Linker<'_>, sink: &mut Sink) -> GainedPermissions {
    for verb in gains.verbs.iter().filter(|verb| !VERBS.contains(&verb.as_str())) {
        if let Some(near) = nearest(verb, VERBS) {
            sink.push(
                Diagnostic::error(codes::UNKNOWN_VALUE, format!("there is no verb `{}`", verb.value))
                    .at(verb.origin)
                    .help(format!("did you mean `{near}`?")),
            );
        }
    }
    for resource in gains.resources.iter().filter(|resource| !resource.contains('*')) {
        check_resource(resource, meta, linker, sink);
    }
    GainedPermissions {
        verbs: gains.verbs.iter().map(|verb| verb.value.clone()).collect(),
        resources: gains.resources.iter().map(|resource| ResourcePattern::parse(resource)).collect(),
        cluster_wide: gains.cluster_wide,
    }
}

/// Reports a resource that no target of the policy serves: its rule would never match.
fn check_resource(resource: &Spanned<String>, meta: &PolicyMeta, linker: &Linker<'_>, sink: &mut Sink) {
    let ResourcePattern { resource: name, group } = ResourcePattern::parse(resource);
    let mut near = None;
    for api in meta.targets.iter().filter_map(|target| linker.apis.get(target)) {
        let is_served = match &group {
            Some(group) => api.find(group, &name).is_some(),
            None => !api.look_up(&name, &[]).is_unknown(),
        };
        if is_served || api.is_newer_than_known() {
            return;
        }
        let of_group = || match (&group, api.look_up(&name, &[])) {
            (Some(group), Lookup::Found(groups) | Lookup::Several(groups)) => {
                let group = nearest(group, groups)?;
                let (object, rest) = name.split_once('/').map_or((&*name, None), |(object, rest)| (object, Some(rest)));
                Some(rest.map_or_else(|| format!("{object}.{group}"), |rest| format!("{object}.{group}/{rest}")))
            }
            _ => None,
        };
        near = near.or_else(of_group).or_else(|| api.nearest_resource(&name));
    }
    let help = near.map_or_else(
        || "write the plural name, and the group of a custom resource: `widgets.example.com`".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    sink.push(
        Diagnostic::error(codes::UNKNOWN_RESOURCE, format!("no target serves `{}`", resource.value))
            .at(resource.origin)
            .help(help),
    );
}

fn compile_glob(text: &Spanned<String>, sink: &mut Sink) -> Option<globset::Glob> {
    match glob::compile(text, false) {
        Ok(glob) => Some(glob),
        Err(error) => {
            sink.push(
                wrong(format!("`{}` is not a glob: {error}", text.value), text.origin)
                    .help("`*` matches any text, such as `platform@*`; close every `[` and `{`"),
            );
            None
        }
    }
}

fn approver(name: &str) -> Approver {
    if name == OWNER { Approver::Owner } else { Approver::Name(name.to_owned()) }
}

/// Checks that the approvers of a rule can approve.
fn check_approvers(rule: &Spanned<RuleSpec>, sink: &mut Sink) {
    for (index, name) in rule.needs.iter().enumerate() {
        check_approver(name, &rule.when, sink);
        let mut earlier = rule.needs.iter().take(index);
        if let Some(first) = earlier.find(|other| Approver::is_same(other, name)) {
            sink.push(
                wrong(format!("the approver `{}` is here twice", name.value), name.origin)
                    .and(first.origin, "the first one")
                    .help("remove one of them"),
            );
        }
    }
    let Some(count) = &rule.count else { return };
    let is_user = |name: &Spanned<String>| name.as_str() != OWNER && !Approver::is_team(name);
    if rule.needs.iter().all(is_user) && count.value as usize > rule.needs.len() {
        let has = match rule.needs.len() {
            1 => "the rule has one approver".to_owned(),
            several => format!("the rule has {several} approvers"),
        };
        sink.push(
            wrong(format!("{} approvals are needed, and {has}", count.value), count.origin)
                .help("list more approvers, or a team such as `@example/security`"),
        );
    }
}

fn check_approver(name: &Spanned<String>, when: &WhenSpec, sink: &mut Sink) {
    let text = name.as_str();
    let diagnostic = if text == OWNER {
        if when.loses_of.is_some() {
            return;
        }
        wrong(format!("`{OWNER}` has no owner: this condition is not about a loss"), name.origin)
            .help("add `losesOf: {owner: \"*\"}` to the condition, or name the approver")
    } else if text.contains(['{', '}']) {
        wrong(format!("`{text}` has a variable, and only `{OWNER}` is one"), name.origin)
            .help(format!("write `{OWNER}`, or the name of the approver"))
    } else if text.is_empty() || text == "@" || text.contains(|letter: char| letter == ',' || letter.is_whitespace()) {
        wrong(format!("`{text}` does not name an approver"), name.origin)
            .help("name a user or a team of the forge, such as `@example/security`; write one name in each entry")
    } else {
        return;
    };
    sink.push(diagnostic);
}

fn wrong(message: String, origin: Origin) -> Diagnostic {
    Diagnostic::error(codes::INVALID_VALUE, message).at(origin)
}

impl From<LeastSeverity> for EffectSeverity {
    fn from(least: LeastSeverity) -> Self {
        match least {
            LeastSeverity::Critical => EffectSeverity::Critical,
            LeastSeverity::High => EffectSeverity::High,
            LeastSeverity::Medium => EffectSeverity::Medium,
            LeastSeverity::Low => EffectSeverity::Low,
            LeastSeverity::Info => EffectSeverity::Info,
        }
    }
}

struct Linked {
    meta: PolicyMeta,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, _: &Target, _: &mut dyn FnMut(OutputFileKey, Contribution)) {}

    fn expand(&self, _: &Target, _: &OutputFileKey, _: Contribution, _: &mut Vec<Unit>) {}
}
