//! The admission rules for the pods of a namespace, as text and as JSON.

use std::collections::BTreeMap;

use bailiwick_admission::labels::chain::{GrantedBy, Lift, SccGrant};
use bailiwick_admission::level::Level;
use bailiwick_admission::standards::labels::{PodSecurityLevels, PodSecurityMode};
use bailiwick_analysis::{AppliedProfile, NamespaceRules, SyncedRules, UsablePolicy};
use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_policy::model::{PodSecurityProfile, Target};
use bailiwick_yaml::diag::Files;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::access::place_text;
use super::page::Page;
use super::pod_security;

/// The admission rules for the pods of a namespace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum NamespaceRecord {
    /// OpenShift computes the labels of the namespace.
    Synced(Box<SyncedNamespace>),
    /// PodSecurityPolicies decide.
    Policies(NamespacePolicies),
    /// The labels of the namespace decide.
    Levels(NamespaceLevels),
}

/// A namespace whose labels OpenShift computes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SyncedNamespace {
    /// The namespace in the cluster.
    pub namespace: String,
    /// The release of OpenShift.
    pub release: String,
    /// Whether the cluster computes the labels.
    pub controlled: bool,
    /// A word for the cause.
    pub reason: String,
    /// The computed levels.
    pub levels: SyncedLevels,
    /// The labels in the end.
    #[schemars(with = "BTreeMap<String, String>")]
    pub labels: Map<String, Value>,
    /// The level that the cluster enforces.
    pub enforced: String,
    /// The labels that the repository and the cluster overwrite in turn.
    pub fights: Vec<String>,
    /// The findings of the cluster.
    pub findings: Vec<String>,
    /// The constraints that raise the level.
    pub lifts: Vec<LiftRecord>,
    /// The constraints of the target with an admission policy for further limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limited_constraints: Vec<String>,
    /// The actions on pods beyond these admission policies, if the policies deny no pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validation_actions: Vec<&'static str>,
    /// The cluster configuration of the workspace.
    pub target: String,
}

/// The computed levels of a namespace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SyncedLevels {
    /// The level that the cluster computes.
    pub sync: Option<String>,
    /// The level with all permissions of RBAC.
    pub rbac: Option<String>,
    /// The level that the constraints guarantee.
    pub semantic: Option<String>,
}

/// Constraints that raise a level.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LiftRecord {
    /// The name of the constraints.
    pub constraints: String,
    /// The level with them.
    pub level: String,
    /// The level without them.
    pub without: Option<String>,
    /// The fields that decide the level.
    pub fields: Vec<String>,
    /// The grants to service accounts.
    pub grants: Vec<GrantRecord>,
}

/// The grant of constraints to a service account.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GrantRecord {
    /// The service account; none for every service account of the namespace.
    pub account: Option<String>,
    /// The form of the grant.
    #[serde(flatten)]
    pub by: GrantForm,
}

/// How constraints are granted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum GrantForm {
    /// The constraints name the service account.
    Users,
    /// The constraints name a group.
    Groups {
        /// The group of users.
        group: String,
    },
    /// A binding to a role.
    Binding {
        /// The RoleBinding or ClusterRoleBinding.
        binding: String,
        /// The Role or ClusterRole.
        role: String,
        /// The positions of the rules, from 0.
        rules: Vec<usize>,
        /// The place of the binding, as `path:line:column`; none for a binding of the platform.
        place: Option<String>,
    },
}

/// A namespace with PodSecurityPolicies.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NamespacePolicies {
    /// The namespace in the cluster.
    pub namespace: String,
    /// Its place, as `path:line:column`.
    pub place: String,
    /// By service account the policies that it may use, in the order in which admission tries them.
    #[schemars(with = "BTreeMap<String, Vec<UsablePolicyRecord>>")]
    pub accounts: Map<String, Value>,
    /// The cluster configuration of the workspace.
    pub target: String,
}

/// A PodSecurityPolicy that a service account may use.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UsablePolicyRecord {
    /// The name.
    pub policy: String,
    /// The Pod Security level by each reading of the documentation.
    pub levels: ReadingLevels,
    /// The fields that decide the practical level.
    pub fields: Vec<String>,
}

/// The level of a PodSecurityPolicy by each reading of the documentation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadingLevels {
    /// As clusters are run.
    pub practical: String,
    /// By the letter of the documentation.
    pub table: String,
    /// On nodes without SELinux.
    pub se_linux_ignored: String,
}

/// A namespace whose labels decide.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NamespaceLevels {
    /// The namespace in the cluster.
    pub namespace: String,
    /// Its place, as `path:line:column`.
    pub place: String,
    /// The PodSecurityProfile whose admission policy applies.
    pub profile: Option<String>,
    /// The profiles of single service accounts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<AccountProfileRecord>,
    /// The Pod Security policy by mode, such as `baseline:latest`.
    #[schemars(with = "BTreeMap<String, String>")]
    pub levels: Map<String, Value>,
    /// Whether the target exempts the namespace from Pod Security admission.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exempt: bool,
    /// The constraints of the target with an admission policy for further limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limited_constraints: Vec<String>,
    /// The actions on pods beyond the profiles, if the admission policies of the profiles deny no pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validation_actions: Vec<&'static str>,
    /// The cluster configuration of the workspace.
    pub target: String,
}

/// The line about an exempt namespace.
const EXEMPT: &str = "  exempt: Pod Security admission does not look at its pods\n";

/// The profile of some service accounts of a namespace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AccountProfileRecord {
    /// The PodSecurityProfile.
    pub profile: String,
    /// The names of the accounts.
    pub accounts: Vec<String>,
}

/// A namespace of a target with its admission rules.
#[derive(Clone, Copy)]
pub struct NamespaceReport<'r> {
    /// The name in the cluster.
    pub name: &'r str,
    /// The cluster configuration of the workspace.
    pub target: &'r Target,
    /// The admission rules.
    pub rules: &'r NamespaceRules,
    /// The constraints of the target with an admission policy for further limits.
    pub limited_constraints: &'r [String],
    /// The files of the places.
    pub files: &'r Files,
}

impl NamespaceReport<'_> {
    /// Returns the rules as text.
    pub fn text(self) -> String {
        let rules = match self.rules {
            NamespaceRules::Synced(rules) => pod_security::synced(self.name, rules, self.files),
            NamespaceRules::Policies { place, policies, accounts } => {
                let mut page = Page::new();
                let place = place_text(*place, self.files);
                writeln!(page, "namespace `{}` on Kubernetes {} ({place})", self.name, self.target.version);
                for (account, usable) in accounts {
                    writeln!(
                        page,
                        "  service account `{account}` may use {} of {policies} PodSecurityPolicies",
                        usable.len()
                    );
                    usable.iter().for_each(|policy| usable_line(policy, &mut page));
                }
                page.finish()
            }
            NamespaceRules::Levels { place, levels, profile, by_account, is_exempt } => {
                let exemption = if *is_exempt { EXEMPT } else { "" };
                let text = self.levels_text(&place_text(*place, self.files), levels);
                text + &self.profiles_text(levels, profile.as_ref(), by_account) + exemption
            }
        };
        format!("# {}\n{rules}{}", self.target.name, self.limits_text())
    }

    fn limits_text(self) -> String {
        let mut page = Page::new();
        for name in self.limited_constraints {
            let policy = PodSecurityProfile::admission_policy(name);
            match self.observed() {
                None => writeln!(
                    page,
                    "  the admission policy `{policy}` limits the pods of the constraints `{name}`; other constraints do not admit a \
                     rejected pod"
                ),
                Some(observed) => writeln!(
                    page,
                    "  pods of the constraints `{name}` beyond the admission policy `{policy}` are {observed}, not denied"
                ),
            }
        }
        page.finish()
    }

    fn levels_text(self, place: &str, levels: &PodSecurityLevels) -> String {
        let mut page = Page::new();
        let release = self.target.version.release();
        match release {
            Some(release) => writeln!(
                page,
                "namespace `{}` on OpenShift {release}, which leaves Pod Security labels alone ({place})",
                self.name
            ),
            None => writeln!(page, "namespace `{}` on Kubernetes {} ({place})", self.name, self.target.version),
        }
        for mode in PodSecurityMode::ALL {
            writeln!(page, "  {}: `{}`", mode.name(), levels.get(mode));
        }
        let strictest = levels.audit.level.min(levels.warn.level);
        if !self.target.pod_security_stage.enforces() && strictest < levels.enforce.level {
            writeln!(page, "  pods beyond `{strictest}` are not denied: `modes` of the target has no `enforce`");
        }
        page.finish()
    }

    fn profiles_text(
        self,
        levels: &PodSecurityLevels,
        profile: Option<&AppliedProfile>,
        by_account: &[(AppliedProfile, Vec<String>)],
    ) -> String {
        let mut page = Page::new();
        for (AppliedProfile { name, .. }, accounts) in by_account {
            let accounts: Vec<String> = accounts.iter().map(|account| format!("`{account}`")).collect();
            self.profile_line(name, [&format!("pods of {}", accounts.join(", ")), "are"], &mut page);
        }
        match profile {
            Some(AppliedProfile { name, .. }) => {
                let pods = if by_account.is_empty() { "every pod" } else { "every other pod" };
                self.profile_line(name, [pods, "is"], &mut page);
            }
            None if self.target.version.release().is_some() => {}
            None if self.target.pod_security_stage.has_no_policies() => {
                page.push_str(
                    "  profiles have no limit but the level: Kubernetes 1.25 to 1.29 have no policies for them\n",
                );
            }
            None => page.push_str("  no PodSecurityProfile\n"),
        }
        let mut all: Vec<&AppliedProfile> = profile.into_iter().chain(by_account.iter().map(|(own, _)| own)).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.dedup();
        let loosest = Level::loosest(all.iter().filter_map(|profile| profile.level));
        if !by_account.is_empty() && loosest == levels.enforce.level {
            let each = |profile: &&AppliedProfile| Some(format!("`{}` of `{}`", profile.level?, profile.name));
            let each: Vec<String> = all.iter().filter_map(each).collect();
            writeln!(page, "  the level is the least strict of its profiles: {}", each.join(", "));
        }
        page.finish()
    }

    /// Returns the rules as JSON.
    pub fn record(self) -> NamespaceRecord {
        let (namespace, target) = (self.name.to_owned(), self.target.name.clone());
        match self.rules {
            NamespaceRules::Synced(rules) => NamespaceRecord::Synced(Box::new(self.synced_record(rules))),
            NamespaceRules::Policies { place, accounts, .. } => {
                let accounts = accounts.iter().map(|(account, policies)| {
                    let policies: Vec<UsablePolicyRecord> = policies.iter().map(UsablePolicyRecord::new).collect();
                    (account.clone(), json!(policies))
                });
                let place = place_text(*place, self.files);
                NamespaceRecord::Policies(NamespacePolicies { namespace, place, accounts: accounts.collect(), target })
            }
            NamespaceRules::Levels { place, levels, profile, by_account, is_exempt } => {
                let of_accounts = |(profile, accounts): &(AppliedProfile, Vec<String>)| AccountProfileRecord {
                    profile: profile.name.clone(),
                    accounts: accounts.clone(),
                };
                let levels = PodSecurityMode::ALL
                    .iter()
                    .map(|mode| (mode.name().to_owned(), levels.get(*mode).to_string().into()));
                NamespaceRecord::Levels(NamespaceLevels {
                    namespace,
                    place: place_text(*place, self.files),
                    profile: profile.as_ref().map(|profile| profile.name.clone()),
                    accounts: by_account.iter().map(of_accounts).collect(),
                    levels: levels.collect(),
                    exempt: *is_exempt,
                    limited_constraints: self.limited_constraints.to_vec(),
                    validation_actions: self.actions_without_deny(profile.is_some() || !by_account.is_empty()),
                    target,
                })
            }
        }
    }

    /// Writes the line about a profile of some pods, with the verb for the pods.
    fn profile_line(self, name: &str, [pods, verb]: [&str; 2], page: &mut Page) {
        match self.observed() {
            None => writeln!(page, "  {pods} {verb} held to the PodSecurityProfile `{name}` by its admission policy"),
            Some(observed) => {
                writeln!(page, "  {pods} beyond the PodSecurityProfile `{name}` {verb} {observed}, not denied");
            }
        }
    }

    /// Returns a word for the pods beyond a profile; none if its admission policy denies them.
    fn observed(self) -> Option<&'static str> {
        let actions = &self.target.pod_security_stage.validation_actions;
        let has = |action| actions.contains(&action);
        match [ValidationAction::Deny, ValidationAction::Audit, ValidationAction::Warn].map(has) {
            [true, ..] => None,
            [_, true, true] => Some("audited and warned about"),
            [_, true, false] => Some("audited"),
            [_, false, _] => Some("warned about"),
        }
    }

    /// Returns the actions on pods beyond the profiles, if they are not denied.
    fn actions_without_deny(self, has_profile: bool) -> Vec<&'static str> {
        let is_limited = has_profile || !self.limited_constraints.is_empty();
        let stage = &self.target.pod_security_stage;
        if is_limited && !stage.denies() { stage.action_names() } else { Vec::new() }
    }

    fn synced_record(self, rules: &SyncedRules) -> SyncedNamespace {
        let SyncedRules { release, outcome, settled, lifts } = rules;
        let name = |level: Option<Level>| level.map(|level| level.name().to_owned());
        SyncedNamespace {
            namespace: self.name.to_owned(),
            release: release.to_string(),
            controlled: outcome.control.controlled,
            reason: outcome.control.reason.code().to_owned(),
            levels: SyncedLevels {
                sync: name(outcome.levels.sync),
                rbac: name(outcome.levels.rbac),
                semantic: name(outcome.levels.semantic),
            },
            labels: settled.labels.iter().map(|(label, value)| (label.key(), (*value).into())).collect(),
            enforced: settled.enforced.name().to_owned(),
            fights: settled.fights.iter().map(|label| label.key()).collect(),
            findings: settled.lints.iter().map(|lint| lint.code().to_string()).collect(),
            lifts: lifts.iter().map(|lift| LiftRecord::new(lift, self.files)).collect(),
            limited_constraints: self.limited_constraints.to_vec(),
            validation_actions: self.actions_without_deny(false),
            target: self.target.name.clone(),
        }
    }
}

fn usable_line(policy: &UsablePolicy, page: &mut Page) {
    let by = if policy.fields.is_empty() { String::new() } else { format!(" by {}", policy.fields.join(", ")) };
    let otherwise = if policy.se_linux_ignored == policy.practical {
        String::new()
    } else {
        format!("; `{}` where SELinux is not counted", policy.se_linux_ignored)
    };
    writeln!(page, "    `{}`: `{}`{by}{otherwise}", policy.name, policy.practical);
}

impl UsablePolicyRecord {
    fn new(policy: &UsablePolicy) -> Self {
        let UsablePolicy { name, practical, table, se_linux_ignored, fields } = policy.clone();
        Self { policy: name, levels: ReadingLevels { practical, table, se_linux_ignored }, fields }
    }
}

impl LiftRecord {
    fn new(lift: &Lift, files: &Files) -> Self {
        Self {
            constraints: lift.scc.clone(),
            level: lift.level.name().to_owned(),
            without: lift.without.map(|level| level.name().to_owned()),
            fields: lift.findings.iter().map(|finding| finding.field.to_owned()).collect(),
            grants: lift.grants.iter().map(|grant| GrantRecord::new(grant, files)).collect(),
        }
    }
}

impl GrantRecord {
    fn new(grant: &SccGrant, files: &Files) -> Self {
        let by = match grant.by.clone() {
            GrantedBy::Users => GrantForm::Users,
            GrantedBy::Groups(group) => GrantForm::Groups { group },
            GrantedBy::Binding { binding, role, rules, place } => {
                let place = place.map(|origin| place_text(origin, files));
                GrantForm::Binding { binding, role, rules, place }
            }
        };
        Self { account: grant.account.clone(), by }
    }
}
