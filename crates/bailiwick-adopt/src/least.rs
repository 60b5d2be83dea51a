//! The least permissions for the requests of a log, as policies with their proof.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_access::{Identity, Request, World, cover};
use bailiwick_analysis::audit::{
    AuditInputs, AuditOptions, AuditSummary, EvaluatedBinding, allowed, evaluate, read_inputs, with_further,
};
use bailiwick_analysis::loaded_world::{WorldOptions, load_manifests};
use bailiwick_audit::least::{
    NeededSet, RightScope, ScopedRights, Widening, distinct_sets, least_rights, nameless_create, right_of, rules,
};
use bailiwick_audit::reason::RbacReason;
use bailiwick_audit::{AuditLog, Observation};
use bailiwick_base::parallel;
use bailiwick_codes as codes;
use bailiwick_compiler::compile::WORKSPACE_FILE;
use bailiwick_import::layout::workspace_file;
use bailiwick_import::least::{LeastGrant, LeastNames, LeastPermissionSet, policy_file};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::model::Platform;
use bailiwick_workspace::words::rule_text;
use bailiwick_workspace::{Diagnostics, Error, Options};
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Sink};
use schemars::JsonSchema;
use serde::Serialize;

use crate::import::{ImportPlace, ImportedFiles, compiled_world, new_workspace};
use crate::{ImportOptions, ImportSource};

/// The file of the policies, below the folder of the policies.
const POLICY_FILE: &str = "least.yaml";

/// The folder of the policies of a workspace that is not written.
const POLICIES: &str = "policies";

/// Why a request has no right of its own.
const NOT_NAMED: &str = "some requests have a star in the place of a word, or a namespace that cannot exist";

/// The group of the nodes: the Node authorizer allows their requests.
const NODES: &str = "system:nodes";

/// The logs, the grants and the form of the least permissions.
#[derive(Debug, Clone, Default)]
pub struct LeastOptions {
    /// The logs.
    pub audit: AuditOptions,
    /// The objects of the cluster; nothing to compare with where `from` is empty. The version is also the version of the policies.
    pub world: WorldOptions,
    /// The users, as user names, `User/NAME` or `ServiceAccount/NAMESPACE/NAME`. Default: every user of the log.
    pub subjects: Vec<String>,
    /// How the permissions are widened.
    pub widening: Widening,
    /// The folder of the workspace to write.
    pub into: Option<PathBuf>,
    /// Whether nothing is written.
    pub is_dry_run: bool,
}

/// The least permissions for the requests of a log.
pub struct LeastGrants {
    /// The warnings about the inputs.
    pub diagnostics: Diagnostics,
    /// The requests of the logs.
    pub summary: AuditSummary,
    /// The permission sets.
    pub sets: Vec<LeastSet>,
    /// The grants of the sets.
    pub grants: Vec<NeededGrant>,
    /// The replay of the requests, and the comparison with the grants.
    pub proof: LeastProof,
    /// The users of the log without a grant.
    pub left_out: Vec<LeftOutSubject>,
    /// The granted rights of the users outside of the policies.
    pub lost: Vec<LostRights>,
    /// The text of the policies.
    pub policies: String,
}

/// A permission set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeastSet {
    /// The name of the policy and of its role.
    pub name: String,
    /// The least rights, joined.
    pub rules: Vec<PolicyRule>,
}

/// A grant of a permission set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NeededGrant {
    /// The user name.
    pub user: String,
    /// The name of the granted set.
    pub permission_set: String,
    /// The namespaces; empty for the whole cluster.
    pub namespaces: Vec<String>,
}

/// The proof of least permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeastProof {
    /// The number of distinct allowed requests of the users: each was asked again.
    pub replayed: usize,
    /// The requests among them without a grant by the policies or the default policy.
    pub denied: Vec<String>,
    /// Whether the permissions were compared with the granted ones.
    pub is_compared: bool,
    /// The permissions without a grant in the cluster.
    pub wider: Vec<String>,
}

/// Users without a grant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct LeftOutSubject {
    /// The user name.
    pub user: String,
    /// Why no policy grants it something.
    pub reason: String,
}

/// Granted rights outside of the policies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostRights {
    /// The user, group or service account, such as `User/ann`.
    pub subject: String,
    /// The binding, such as `RoleBinding/team-a/ann`.
    pub binding: String,
    /// The rights without a request, as rules.
    pub unused: Vec<PolicyRule>,
    /// The rights whose use no log can show, as rules. Keep the needed rights.
    pub not_observable: Vec<PolicyRule>,
}

/// Computes the least permissions for the requests of audit logs, and writes them as policies.
///
/// # Errors
/// When a log, the objects or the folder cannot be used, or a file cannot be read or written.
pub fn least_grants(run: &Options, options: &LeastOptions) -> Result<LeastGrants, Error> {
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let found = compute(run, options, &files, &mut sink);
    let diagnostics = Diagnostics { list: sink.into_sorted(&files), files };
    match found? {
        Some(found) if !diagnostics.has_errors() => Ok(LeastGrants { diagnostics, ..found }),
        _ => Err(Error::Invalid(diagnostics)),
    }
}

fn compute(
    run: &Options,
    options: &LeastOptions,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<LeastGrants>, RunError> {
    let Some(inputs) = read_inputs(run, &options.audit, files, sink)? else { return Ok(None) };
    let platform = WorldOptions {
        platform: Some(options.world.platform.map_or(Platform::Kubernetes, |platform| platform)),
        kubernetes_version: options.world.kubernetes_version.clone(),
        ..WorldOptions::default()
    };
    let Some(baseline) = load_manifests(run, &platform, files, sink)? else { return Ok(None) };
    let granted = match options.world.from.is_empty() {
        true => None,
        false => load_manifests(run, &options.world, files, sink)?,
    };
    if sink.has_errors() {
        return Ok(None);
    }
    let granted = granted.map(|loaded| loaded.world);
    let selected = selected_users(&inputs, &options.subjects, sink);
    let worlds = Worlds { baseline: &baseline.world, granted: granted.as_ref() };
    let needed = Needed::of_log(&inputs.log, selected.as_ref(), worlds);
    let rights = needed.least_rights(options.widening, worlds);
    let named = NamedPolicies::of(&distinct_sets(&rights));
    let policies = policy_file(&named.sets, &named.grants, baseline.world.minor());
    let written = (!named.sets.is_empty()).then_some(policies.as_str());
    let world = granted.as_ref().map_or(&baseline.world, |granted| granted);
    let evaluation = || {
        let mut disagreements = Sink::new();
        (evaluate(&inputs, world, &baseline.world, &mut disagreements), disagreements)
    };
    let compilation = || compile_and_write(run, options, written, files, sink);
    let ((mut evaluated, disagreements), compiled) = parallel::both(run.threads(), evaluation, compilation);
    let Some(compiled) = compiled? else { return Ok(None) };
    // Without the objects of the cluster there is nothing to disagree with.
    match granted.is_some() {
        true => sink.absorb(disagreements),
        false => evaluated.summary.ungranted = 0,
    }
    let groups = needed.groups();
    let lost = evaluated.bindings.iter().flat_map(|binding| lost(binding, &needed, &groups)).collect();
    Ok(Some(LeastGrants {
        diagnostics: Diagnostics::new(Vec::new(), files),
        summary: evaluated.summary,
        proof: needed.proof(&compiled, &rights, worlds),
        left_out: needed.left_out,
        lost,
        sets: named.sets.into_iter().map(|set| LeastSet { name: set.name, rules: set.rules }).collect(),
        grants: named.grants.into_iter().map(NeededGrant::from).collect(),
        policies,
    }))
}

impl From<LeastGrant> for NeededGrant {
    fn from(grant: LeastGrant) -> Self {
        Self { user: grant.user, permission_set: grant.permission_set, namespaces: grant.namespaces }
    }
}

/// Returns the user names of the subjects; none for all users. Reports a subject without a request in the log.
fn selected_users(inputs: &AuditInputs, subjects: &[String], sink: &mut Sink) -> Option<BTreeSet<String>> {
    if subjects.is_empty() {
        return None;
    }
    let mut selected = BTreeSet::new();
    for subject in subjects {
        let parts: Vec<&str> = subject.split('/').collect();
        let user = match parts.as_slice() {
            ["ServiceAccount", namespace, name] => bailiwick_access::world::account_user(namespace, name),
            ["User", ..] => subject.trim_start_matches("User/").to_owned(),
            _ => subject.clone(),
        };
        if inputs.log.identities().iter().all(|identity| identity.user != user) {
            let message = format!("the log has no request of `{subject}`");
            sink.push(
                Diagnostic::error(codes::INVALID_USAGE, message)
                    .help("name a user as `User/NAME` or as `ServiceAccount/NAMESPACE/NAME`"),
            );
        }
        selected.insert(user);
    }
    Some(selected)
}

/// The grants without and with the objects of the cluster.
#[derive(Clone, Copy)]
struct Worlds<'w> {
    /// The default policy of the platform.
    baseline: &'w World,
    /// The objects of the cluster.
    granted: Option<&'w World>,
}

/// The allowed requests of users.
#[derive(Default)]
struct Needed<'l> {
    users: BTreeMap<&'l str, NeededUser<'l>>,
    left_out: Vec<LeftOutSubject>,
}

/// The allowed requests of a user.
#[derive(Default)]
struct NeededUser<'l> {
    /// Each distinct request with the groups of the user.
    requests: Vec<(&'l Identity, Cow<'l, Request>, IsImplied)>,
}

/// Whether the server made a request on the way of another one.
type IsImplied = bool;

impl<'l> Needed<'l> {
    fn of_log(log: &'l AuditLog, selected: Option<&BTreeSet<String>>, worlds: Worlds<'_>) -> Self {
        let mut needed = Self::default();
        let mut left_out: BTreeMap<&str, &'static str> = BTreeMap::new();
        for observation in allowed(log) {
            let Observation { identity, request, is_implied, .. } = observation;
            if selected.is_some_and(|selected| !selected.contains(&identity.user)) {
                continue;
            }
            let unnamed = right_of(request).is_none().then_some(NOT_NAMED);
            if let Some(reason) = reason_to_leave_out(&observation).or(unnamed) {
                left_out.insert(&identity.user, reason);
                continue;
            }
            let user = needed.users.entry(&identity.user).or_default();
            for request in with_further(worlds.baseline.minor(), request) {
                user.requests.push((identity, request, is_implied));
            }
        }
        needed.left_out = left_out
            .into_iter()
            .map(|(user, reason)| LeftOutSubject { user: user.to_owned(), reason: reason.to_owned() })
            .collect();
        needed
    }

    /// Returns the groups of the users.
    fn groups(&self) -> BTreeSet<&str> {
        let requests = self.users.values().flat_map(|user| &user.requests);
        requests.flat_map(|(identity, ..)| identity.groups.iter().map(String::as_str)).collect()
    }

    /// Returns the least rights of each user beside the default policy.
    fn least_rights(&self, widening: Widening, worlds: Worlds<'_>) -> BTreeMap<String, ScopedRights> {
        let mut rights = BTreeMap::new();
        for (name, user) in &self.users {
            let beside =
                user.requests.iter().filter(|(identity, request, _)| !worlds.baseline.allows(identity, request));
            let requests: Vec<Cow<'_, Request>> = beside
                .map(|(identity, request, is_implied)| match widened_create(identity, request, *is_implied, worlds) {
                    Some(create) => Cow::Owned(create),
                    None => Cow::Borrowed(&**request),
                })
                .collect();
            let least = least_rights(requests.iter().map(|request| &**request), widening, worlds.baseline.api());
            if !least.is_empty() {
                rights.insert((*name).to_owned(), least);
            }
        }
        rights
    }

    /// Asks every request again, and compares the rights with the granted ones.
    fn proof(&self, compiled: &World, rights: &BTreeMap<String, ScopedRights>, worlds: Worlds<'_>) -> LeastProof {
        let mut proof = LeastProof { is_compared: worlds.granted.is_some(), ..LeastProof::default() };
        for (name, user) in &self.users {
            for (identity, request, _) in &user.requests {
                proof.replayed += 1;
                if !compiled.allows(identity, request) && !worlds.baseline.allows(identity, request) {
                    proof.denied.push(format!("{name}: {request}"));
                }
            }
            let Some(granted) = worlds.granted else { continue };
            let who = user.with_all_groups(name);
            for (scope, rights) in rights.get(*name).into_iter().flatten() {
                let held = granted.rules_for(&who, scope.as_deref().map_or("", |namespace| namespace)).rules;
                let wanted: Vec<PolicyRule> = rights.iter().cloned().collect();
                let wider = rules(&cover::uncovered(&held, &wanted));
                proof
                    .wider
                    .extend(wider.iter().map(|rule| format!("{name}{}: {}", scope_words(scope), rule_text(rule))));
            }
        }
        proof
    }
}

impl NeededUser<'_> {
    /// Returns the user with its groups in all requests.
    fn with_all_groups(&self, name: &str) -> Identity {
        let groups: BTreeSet<&String> = self.requests.iter().flat_map(|(identity, ..)| &identity.groups).collect();
        Identity { user: name.to_owned(), groups: groups.into_iter().cloned().collect() }
    }
}

/// Returns why no policy grants an allowed request; none for a request that needs a grant.
fn reason_to_leave_out(observation: &Observation<'_>) -> Option<&'static str> {
    let Observation { identity, reason, .. } = observation;
    if identity.is_master() {
        return Some("a member of `system:masters`, who needs no grant");
    }
    if identity.groups.iter().any(|group| group == NODES) {
        return Some("a node: the Node authorizer allows its requests");
    }
    let is_other = reason.is_some_and(|reason| !reason.is_empty() && RbacReason::read(reason).is_none());
    is_other.then_some("another authorizer than RBAC allowed some of its requests")
}

/// Returns the `create` without a name for the `create` of an object that an apply or an update created, unless the cluster grants the
/// named one alone.
fn widened_create(identity: &Identity, request: &Request, is_implied: bool, worlds: Worlds<'_>) -> Option<Request> {
    let Request::Resource(resource) = request else { return None };
    let create = Request::Resource(nameless_create(resource).filter(|_| is_implied)?);
    worlds.granted.is_none_or(|granted| granted.allows(identity, &create)).then_some(create)
}

fn scope_words(scope: &RightScope) -> String {
    scope.as_ref().map_or_else(String::new, |namespace| format!(" in `{namespace}`"))
}

/// Returns the rights of users by a binding outside of the policies.
fn lost(binding: &EvaluatedBinding, needed: &Needed<'_>, groups: &BTreeSet<&str>) -> Vec<LostRights> {
    let EvaluatedBinding { usage, subjects } = binding;
    let names = usage.subjects.iter().map(|subject| (subject.is_group, subject.name.as_str()));
    let is_of_user = |is_group: bool, name: &str| {
        if is_group { groups.contains(name) } else { needed.users.contains_key(name) }
    };
    let mut lost = Vec::new();
    for (subject, (is_group, name)) in subjects.iter().zip(names) {
        let has_lost = !subject.unused.is_empty() || !subject.unobservable.is_empty();
        if has_lost && is_of_user(is_group, name) {
            lost.push(LostRights {
                subject: subject.subject.clone(),
                binding: usage.binding.name.clone(),
                unused: rules(&subject.unused),
                not_observable: rules(subject.unobservable.values().flatten()),
            });
        }
    }
    lost
}

/// The policies of sets of rights.
struct NamedPolicies {
    sets: Vec<LeastPermissionSet>,
    grants: Vec<LeastGrant>,
}

impl NamedPolicies {
    /// Names the sets after their first users, and the grants after their users.
    fn of(needed: &[NeededSet]) -> Self {
        let mut names = LeastNames::default();
        let (mut sets, mut grants) = (Vec::new(), Vec::new());
        for set in needed {
            let first = set.subjects.keys().next().map_or("", String::as_str);
            let name = names.of_set(first);
            let scopes = || set.subjects.values().flatten();
            sets.push(LeastPermissionSet {
                name: name.clone(),
                is_cluster_role: scopes().any(Option::is_none),
                rules: set.rules.clone(),
            });
            for (user, scopes) in &set.subjects {
                let namespaces: Vec<String> = scopes.iter().flatten().cloned().collect();
                let is_cluster_wide = scopes.contains(&None);
                let in_namespaces = (!namespaces.is_empty()).then_some(namespaces);
                for namespaces in is_cluster_wide.then(Vec::new).into_iter().chain(in_namespaces) {
                    grants.push(LeastGrant {
                        name: names.of_grant(user),
                        user: user.clone(),
                        permission_set: name.clone(),
                        namespaces,
                    });
                }
            }
        }
        Self { sets, grants }
    }
}

/// Compiles the policies, and writes them if a folder is named. Returns the world of the compiled objects; none if the folder cannot be
/// used.
fn compile_and_write(
    run: &Options,
    options: &LeastOptions,
    policies: Option<&str>,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<World>, RunError> {
    let import = ImportOptions {
        from: vec![ImportSource { target: None, path: PathBuf::new() }],
        into: options.into.clone().into_iter().collect(),
        platform: options.world.platform,
        version: options.world.kubernetes_version.clone(),
        ..ImportOptions::default()
    };
    let place = match options.into.is_some() {
        true => match ImportPlace::open(run, &import, files, sink)? {
            Some(place) => Some(place),
            None => return Ok(None),
        },
        false => None,
    };
    let new_workspace = match &place {
        Some(place) => place.new_workspace.clone(),
        None => Some(new_workspace(&import, &import.into)),
    };
    let below = place.as_ref().map_or(POLICIES, |place| &place.policies);
    let mut texts = BTreeMap::new();
    if let Some(new) = &new_workspace {
        texts.insert(WORKSPACE_FILE.to_owned(), workspace_file(new, std::iter::empty()));
    }
    if let Some(policies) = policies {
        texts.insert(format!("{below}/{POLICY_FILE}"), policies.to_owned());
    }
    let root = place.as_ref().map_or(Path::new(""), |place| &place.root);
    let imported = ImportedFiles::new(root, below, texts);
    let compiled = compiled_world(run, &imported, sink)?;
    if let (Some(place), false, false) = (&place, options.is_dry_run, sink.has_errors()) {
        place.write(&imported)?;
    }
    Ok(compiled)
}
