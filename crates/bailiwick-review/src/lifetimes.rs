//! The changes of the last days of grants.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bailiwick_access::who_can::PermissionScope;
use bailiwick_access::world::RoleKind;
use bailiwick_access::{BindingRef, ObjectSource};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::model::{Date, Expiry, PolicyMeta, TenancyGrant, TenancyGrants};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::Origin;

use super::causes::{CausePlace, Evidence, InputChanges};
use super::record::{CauseKind, Direction, EffectSeverity, Side};
use super::state::TargetState;

/// A change of the last day of a grant.
#[derive(Debug, Clone)]
pub(super) struct LifetimeDelta {
    pub(super) kind: &'static str,
    pub(super) grant: String,
    pub(super) before: Option<Date>,
    pub(super) after: Option<Date>,
    pub(super) direction: Direction,
    /// The place of the grant in the reviewed state.
    place: Option<Origin>,
    /// The severity of the worst permission that the grant gives on the targets so far.
    worst: EffectSeverity,
    pub(super) causes: Vec<CausePlace>,
}

impl LifetimeDelta {
    /// Whether the grant lasts longer than before.
    pub(super) fn is_longer(&self) -> bool {
        matches!(self.direction, Direction::Longer | Direction::Removed)
    }

    /// Returns the severity: the severity of the worst permission for a longer lifetime.
    pub(super) fn severity(&self) -> EffectSeverity {
        if self.is_longer() { self.worst } else { EffectSeverity::None }
    }

    /// Takes the permissions that the grant gives on a target into account.
    pub(super) fn rate(&mut self, head: &TargetState<'_>) {
        let Some(grant) = self.place.filter(|_| self.is_longer()) else { return };
        let world = &head.loaded.world;
        let is_own = |binding: &BindingRef<'_>| match binding.layer() {
            ObjectSource::Input(place) => head.workspace.project().trees.share_document(grant, place),
            ObjectSource::Baseline | ObjectSource::Dump(_) => false,
        };
        for binding in world.bindings().filter(is_own) {
            let place = binding.namespace().filter(|_| binding.role_kind() == RoleKind::Role);
            let Some((_, rules, _)) = world.describe_role(place, binding.role_name()) else { continue };
            let rules: Vec<PolicyRule> = rules.into_iter().map(|rule| rule.rule).collect();
            let scope = match binding.namespace() {
                Some(namespace) => PermissionScope::Namespace(namespace.to_owned()),
                None => PermissionScope::Cluster,
            };
            for subject in binding.subjects() {
                let subject = format!("{}/{}", subject.kind().as_str(), subject.name());
                let worst = world.worst_risk(&subject, &scope, &rules);
                self.worst = self.worst.max(worst.map_or(EffectSeverity::Low, |(_, severity)| severity.into()));
            }
        }
    }
}

/// Compares the last days of the grants that both states have. Policies with one name are compared on each target.
pub(super) fn compare(base: &Workspace, head: &Workspace, inputs: &InputChanges<'_>) -> Vec<LifetimeDelta> {
    let shared: BTreeSet<_> = [base, head].into_iter().flat_map(|state| state.project().shared_names()).collect();
    let mut deltas = compare_some(base, head, inputs, Compared { shared: &shared, target: None });
    let targets = head.project().workspace.targets.iter().filter(|_| !shared.is_empty());
    for target in targets {
        let compared = Compared { shared: &shared, target: Some(&target.name) };
        for delta in compare_some(base, head, inputs, compared) {
            let is_same = |known: &LifetimeDelta| {
                (known.kind, &known.grant, known.before, known.after, known.place)
                    == (delta.kind, &delta.grant, delta.before, delta.after, delta.place)
            };
            if !deltas.iter().any(is_same) {
                deltas.push(delta);
            }
        }
    }
    deltas
}

/// The compared policies: those with a name of their own, or those with a shared name on a target.
#[derive(Clone, Copy)]
struct Compared<'s> {
    shared: &'s BTreeSet<(&'static str, &'s str)>,
    target: Option<&'s str>,
}

impl Compared<'_> {
    fn has(self, policy: &PolicyMeta) -> bool {
        let is_shared = self.shared.contains(&(policy.kind, &*policy.name));
        match self.target {
            Some(target) => is_shared && policy.targets.contains(target),
            None => !is_shared,
        }
    }
}

fn compare_some(
    base: &Workspace,
    head: &Workspace,
    inputs: &InputChanges<'_>,
    compared: Compared<'_>,
) -> Vec<LifetimeDelta> {
    let (before, after) = (expiries(base, compared), expiries(head, compared));
    let (old, new) = (policies(base, compared), policies(head, compared));
    let names: BTreeSet<&GrantKey> = before.keys().chain(after.keys()).collect();
    let mut deltas = Vec::new();
    let known = [base, head].map(|workspace| KnownGrants::of(workspace, compared, &names));
    let is_in_both = |key: &&&GrantKey| known.iter().all(|state| state.has(key));
    for name in names.iter().filter(is_in_both) {
        let policy = (name.kind, name.policy.clone());
        if !old.contains_key(&policy) || !new.contains_key(&policy) {
            continue;
        }
        let (was, is) = (before.get(*name).map(|expiry| expiry.0), after.get(*name).map(|expiry| expiry.0));
        let direction = match (was, is) {
            (Some(was), Some(is)) if was < is => Direction::Longer,
            (Some(was), Some(is)) if was > is => Direction::Shorter,
            (None, Some(_)) => Direction::Added,
            (Some(_), None) => Direction::Removed,
            _ => continue,
        };
        let place = after.get(*name).map(|expiry| expiry.1).or_else(|| new.get(&policy).copied());
        let evidence = place.map(|place| Evidence { side: Side::Head, place, kind: CauseKind::File });
        let causes = evidence.and_then(|evidence| inputs.cause_of(&[evidence])).into_iter().collect();
        deltas.push(LifetimeDelta {
            kind: name.kind,
            grant: name.to_string(),
            before: was,
            after: is,
            direction,
            place,
            worst: EffectSeverity::Low,
            causes,
        });
    }
    deltas
}

/// A grant of a state: a policy, or a grant of a Tenancy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct GrantKey {
    kind: &'static str,
    policy: String,
    grant: Option<TenancyGrant>,
}

impl std::fmt::Display for GrantKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.policy)?;
        let Some(TenancyGrant { name, account }) = &self.grant else { return Ok(()) };
        write!(formatter, "/{name}")?;
        account.iter().try_for_each(|account| write!(formatter, "/{account}"))
    }
}

/// The grants of the Tenancies of a state, with or without a last day.
struct KnownGrants<'s> {
    grants: BTreeSet<(&'s str, &'s str)>,
    /// The accounts among the accounts of the compared grants.
    accounts: HashSet<(&'s str, String)>,
}

impl<'s> KnownGrants<'s> {
    fn of(workspace: &'s Workspace, compared: Compared<'_>, keys: &BTreeSet<&GrantKey>) -> Self {
        let accounts =
            keys.iter().filter_map(|key| Some((key.policy.as_str(), key.grant.as_ref()?.account.as_deref()?)));
        let wanted: HashSet<(&str, &str)> = accounts.collect();
        let mut known = Self { grants: BTreeSet::new(), accounts: HashSet::new() };
        let all = workspace.project().facts.all();
        for tenancy in all.filter(|tenancy: &&TenancyGrants| compared.has(&tenancy.policy)) {
            let policy = &*tenancy.policy.name;
            known.grants.extend(tenancy.names.iter().map(|name| (policy, name.as_str())));
            if !wanted.is_empty() {
                let names = tenancy.account_names().filter(|name| wanted.contains(&(policy, name.as_str())));
                known.accounts.extend(names.map(|name| (policy, name)));
            }
        }
        known
    }

    fn has(&self, key: &GrantKey) -> bool {
        key.grant.as_ref().is_none_or(|TenancyGrant { name, account }| {
            let is_account = |account: &String| self.accounts.contains(&(key.policy.as_str(), account.clone()));
            self.grants.contains(&(key.policy.as_str(), name.as_str())) && account.as_ref().is_none_or(is_account)
        })
    }
}

fn expiries(workspace: &Workspace, compared: Compared<'_>) -> BTreeMap<GrantKey, (Date, Origin)> {
    let all = workspace.project().facts.all().filter(|expiry: &&Expiry| compared.has(&expiry.policy));
    let key = |expiry: &Expiry| GrantKey {
        kind: expiry.policy.kind,
        policy: expiry.policy.name.to_string(),
        grant: expiry.grant.clone(),
    };
    all.map(|expiry| (key(expiry), (expiry.until, expiry.origin))).collect()
}

fn policies(workspace: &Workspace, compared: Compared<'_>) -> BTreeMap<(&'static str, String), Origin> {
    let all = workspace.project().policies.iter().map(|policy| policy.meta()).filter(|meta| compared.has(meta));
    all.map(|meta| ((meta.kind, meta.name.to_string()), meta.origin)).collect()
}
