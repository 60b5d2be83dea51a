//! The changes of the admission of pods: levels, profiles, PodSecurityPolicies, constraints, admission policies, and the workloads of
//! the inputs.

mod constraints;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::gate::{Gate, NamespaceContext};
use bailiwick_admission::psp::compare::PspComparison;
use bailiwick_admission::psp::{self, PodSecurityPolicy, select};
use bailiwick_admission::standards::labels::LevelVersion;
use bailiwick_admission::standards::{LevelDifference, difference};
use bailiwick_admission::workload::template_within;
use bailiwick_kubernetes::names;
use bailiwick_policy::model::{DeclaredProfile, Enforcement, NamespaceProfile, PodSecurityProfile, ProfileAccounts};
use bailiwick_yaml as yaml;

use self::constraints::ConstraintsComparison;
use super::causes::{CausePlace, InputChanges};
use super::other_policies::TextComparison;
use super::policies::PolicyComparison;
use super::policy_users::PolicyUsers;
use super::record::{CauseKind, ChangeCertainty, Direction, EffectSeverity, PodChangeKind, PodWitness};
use super::state::TargetState;

/// A change of the admission of pods in namespaces.
#[derive(Debug, Clone)]
pub(super) struct PodDelta {
    pub(super) kind: PodChangeKind,
    pub(super) target: String,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) direction: Direction,
    pub(super) certainty: ChangeCertainty,
    pub(super) severity: EffectSeverity,
    pub(super) details: Vec<String>,
    pub(super) witnesses: Vec<PodWitness>,
    pub(super) refused: Vec<String>,
    pub(super) admitted: Vec<String>,
    pub(super) causes: Vec<CausePlace>,
}

/// The properties that equal changes of several namespaces share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Likeness {
    pub(super) kind: PodChangeKind,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) direction: Direction,
    pub(super) certainty: ChangeCertainty,
    pub(super) details: Vec<String>,
    pub(super) witnesses: Vec<PodWitness>,
}

impl Likeness {
    /// Returns a proven change without details.
    pub(super) fn new(
        kind: PodChangeKind,
        before: Option<String>,
        after: Option<String>,
        direction: Direction,
    ) -> Self {
        let (certainty, details, witnesses) = (ChangeCertainty::Proven, Vec::new(), Vec::new());
        Self { kind, before, after, direction, certainty, details, witnesses }
    }
}

/// Both states of a target, with the changed lines of the inputs.
pub(super) struct PodComparison<'c> {
    pub(super) base: &'c TargetState<'c>,
    pub(super) head: &'c TargetState<'c>,
    pub(super) inputs: &'c InputChanges<'c>,
}

impl PodComparison<'_> {
    /// Compares the admission of pods in the namespaces of both states.
    pub(super) fn compare(&self) -> Vec<PodDelta> {
        let mut found: BTreeMap<Likeness, BTreeSet<String>> = BTreeMap::new();
        let mut add = |likeness: Likeness, namespace: &str| {
            found.entry(likeness).or_default().insert(namespace.to_owned());
        };
        let texts = TextComparison::new(self.base, self.head);
        for (namespace, after) in self.head.pods.objects.known_places() {
            let Some(before) = self.base.pods.objects.place(namespace) else { continue };
            self.level(namespace, before, after).into_iter().for_each(|level| add(level, namespace));
            self.profiles(before, after).into_iter().for_each(|profile| add(profile, namespace));
            texts.selecting(namespace, before, after).into_iter().for_each(|policy| add(policy, namespace));
        }
        for (likeness, namespaces) in
            self.pod_security_policies().into_iter().chain(ConstraintsComparison::new(self.base, self.head).changes())
        {
            namespaces.iter().for_each(|namespace| add(likeness.clone(), namespace));
        }
        for likeness in texts.changes() {
            add(likeness, "*");
        }
        for (likeness, namespaces) in PolicyComparison::new(self.base, self.head).changes() {
            namespaces.iter().for_each(|namespace| add(likeness.clone(), namespace));
        }
        let mut deltas: Vec<PodDelta> =
            found.into_iter().map(|(likeness, namespaces)| self.delta(likeness, namespaces)).collect();
        deltas.extend(self.workloads());
        deltas
    }

    fn delta(&self, likeness: Likeness, namespaces: BTreeSet<String>) -> PodDelta {
        let Likeness { kind, before, after, direction, certainty, details, witnesses } = likeness;
        let severity = match direction {
            Direction::Wider | Direction::Both if self.is_of_newer_checks(kind, &before, &after) => EffectSeverity::Low,
            Direction::Wider | Direction::Both => EffectSeverity::High,
            Direction::Order => EffectSeverity::Medium,
            _ => EffectSeverity::None,
        };
        let causes = self.cause(kind, before.as_deref().or(after.as_deref()), &namespaces);
        PodDelta {
            kind,
            target: self.head.target.name.clone(),
            namespaces,
            before,
            after,
            direction,
            certainty,
            severity,
            details,
            witnesses,
            refused: Vec::new(),
            admitted: Vec::new(),
            causes,
        }
    }

    /// Whether a change of a level is a newer version of its checks alone.
    fn is_of_newer_checks(&self, kind: PodChangeKind, before: &Option<String>, after: &Option<String>) -> bool {
        let parsed = |level: &Option<String>| LevelVersion::parse(level.as_ref()?);
        let is_newer = |(old, new): (LevelVersion, LevelVersion)| old.level == new.level && old.version <= new.version;
        kind == PodChangeKind::Level
            && self.base.target.version.minor() <= self.head.target.version.minor()
            && parsed(before).zip(parsed(after)).is_some_and(is_newer)
    }

    /// Returns the first changed line that mentions the namespace or the policy, or the first changed line of all.
    fn cause(&self, kind: PodChangeKind, name: Option<&str>, namespaces: &BTreeSet<String>) -> Vec<CausePlace> {
        let of_profile = name.and_then(|name| self.inputs.with_word(name, CauseKind::Profile));
        let of_profile = of_profile.filter(|_| kind != PodChangeKind::Level);
        let of_namespace = || {
            let first = namespaces.first()?;
            self.inputs
                .with_word("podSecurity", CauseKind::Scope)
                .or_else(|| self.inputs.with_word(first, CauseKind::Scope))
        };
        let kind =
            if self.base.target.version == self.head.target.version { CauseKind::Profile } else { CauseKind::Version };
        let found = of_profile.or_else(of_namespace).or_else(|| self.inputs.first(kind));
        found.into_iter().collect()
    }

    /// Compares the Pod Security levels of a namespace, each in the version that its server enforces.
    fn level(&self, namespace: &str, before: &NamespaceContext, after: &NamespaceContext) -> Option<Likeness> {
        let (old_minor, new_minor) = (self.base.target.version.minor(), self.head.target.version.minor());
        let enforced = |state: &TargetState<'_>, place| state.pods.objects.enforced_level(namespace, place);
        let (old, new) = (enforced(self.base, before), enforced(self.head, after));
        let effective = |enforced: Option<LevelVersion>, minor: u32| {
            let enforced = enforced.map_or(LevelVersion::PRIVILEGED, |enforced| enforced);
            LevelVersion { version: enforced.version.on_server_of(minor), ..enforced }
        };
        let direction = match difference(effective(old, old_minor), effective(new, new_minor)) {
            LevelDifference { admits_more: false, admits_less: false } => return None,
            LevelDifference { admits_more: true, admits_less: false } => Direction::Wider,
            LevelDifference { admits_more: false, admits_less: true } => Direction::Narrower,
            LevelDifference { admits_more: true, admits_less: true } => Direction::Both,
        };
        let text = |level: Option<LevelVersion>| level.map(|level| level.to_string());
        Some(Likeness::new(PodChangeKind::Level, text(old), text(new), direction))
    }

    /// Compares the profiles of a namespace, for the service accounts without a profile of their own and for each other account.
    fn profiles(&self, before: &NamespaceContext, after: &NamespaceContext) -> Vec<Likeness> {
        let [old, new] = [(self.base, before), (self.head, after)].map(|(state, place)| {
            let applied = PodSecurityProfile::by_account(&place.labels, &place.annotations);
            if denies(state) { applied } else { BTreeMap::new() }
        });
        let of = |applied: &BTreeMap<&str, BTreeSet<&str>>, account: &str| -> BTreeSet<String> {
            let own = applied.get(account).or_else(|| applied.get(""));
            own.into_iter().flatten().map(|&profile| profile.to_owned()).collect()
        };
        // Accounts with the same profiles have the same change.
        let mut alike: BTreeMap<[BTreeSet<String>; 2], Vec<&str>> = BTreeMap::new();
        for &account in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            alike.entry([of(&old, account), of(&new, account)]).or_default().push(account);
        }
        let changes = alike.iter().filter_map(|(profiles, accounts)| {
            let mut change = self.change_of_profiles(profiles)?;
            if !accounts.contains(&"") {
                change.details.insert(0, named_accounts(accounts));
            }
            Some(change)
        });
        changes.collect()
    }

    /// Compares the profiles that apply to a pod in both states.
    fn change_of_profiles(&self, [old, new]: &[BTreeSet<String>; 2]) -> Option<Likeness> {
        if old.len() <= 1 && new.len() <= 1 {
            return self.change_of_profile(old.first().cloned(), new.first().cloned());
        }
        if old == new {
            return old.iter().find_map(|name| self.change_of_profile(Some(name.clone()), Some(name.clone())));
        }
        let text = |names: &BTreeSet<String>| names.first().cloned();
        let change = Likeness::new(PodChangeKind::Profile, text(old), text(new), Direction::Both);
        Some(Likeness { certainty: ChangeCertainty::Possible, ..change })
    }

    /// Compares the profile that applies to a pod in both states.
    fn change_of_profile(&self, old: Option<String>, new: Option<String>) -> Option<Likeness> {
        let (direction, details, certainty) = match (&old, &new) {
            (None, None) => return None,
            (Some(_), None) => (Direction::Wider, without_deny(self.head, "has"), ChangeCertainty::Proven),
            (None, Some(_)) => (Direction::Narrower, without_deny(self.base, "had"), ChangeCertainty::Proven),
            (Some(old), Some(new)) => match (profile(self.base, old), profile(self.head, new)) {
                (Some(earlier), Some(present)) => match directed(&psp::compare::compare(&earlier, &present)) {
                    Some((direction, details)) => (direction, details, ChangeCertainty::Proven),
                    // The policies state more than the profile, such as the actions of a binding.
                    None if old != new || self.has_same_policies(old) || self.is_by_account_in_one(old) => return None,
                    None => (Direction::Both, Vec::new(), ChangeCertainty::Possible),
                },
                // The rules of a profile that cannot be read as a policy are compared as they are written.
                _ if old == new && self.has_same_policies(old) => return None,
                _ => (Direction::Both, Vec::new(), ChangeCertainty::Possible),
            },
        };
        Some(Likeness { details, certainty, ..Likeness::new(PodChangeKind::Profile, old, new, direction) })
    }

    /// Whether a profile applies to some service accounts of a namespace in one of the states alone. Its policies then differ in the
    /// condition for the account, and the profiles of each account are compared.
    fn is_by_account_in_one(&self, profile: &str) -> bool {
        let [base, head] = [self.base, self.head].map(|state| {
            let mut used = state.workspace.project().facts.on(&state.target.name);
            used.any(|used: &NamespaceProfile| used.profile == profile && used.accounts != ProfileAccounts::All)
        });
        base != head
    }

    fn has_same_policies(&self, profile: &str) -> bool {
        let name = PodSecurityProfile::admission_policy(profile);
        let keys =
            ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].map(|kind| format!("{kind}/{name}"));
        let of = |state: &TargetState<'_>, key: &String| {
            let mut object = state.admission_policies.get(key).cloned();
            // Both states deny pods, whatever else they do with them.
            object.iter_mut().filter_map(|object| object.get_mut("spec")?.as_object_mut()).for_each(|spec| {
                spec.remove("validationActions");
            });
            object
        };
        keys.iter().all(|key| of(self.base, key) == of(self.head, key))
    }

    /// Compares the PodSecurityPolicies of both states, each with the namespaces of its users. A new permission to use a policy is
    /// an effect of access.
    fn pod_security_policies(&self) -> Vec<(Likeness, BTreeSet<String>)> {
        let (old, new) = (&self.base.pod_security_policies, &self.head.pod_security_policies);
        let users = [self.base, self.head].map(|state| PolicyUsers::of(&state.loaded.world, select::GROUPS));
        let mut found = Vec::new();
        for name in old.keys().chain(new.keys()).collect::<BTreeSet<&String>>() {
            let (direction, details, namespaces) = match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) => match directed(&psp::compare::compare(old, new)) {
                    Some((direction, details)) => (direction, details, users[1].namespaces(name)),
                    None => continue,
                },
                // A cluster without policies can have no such admission.
                (None, _) if old.is_empty() => (Direction::Both, Vec::new(), users[0].namespaces_of_inputs(name)),
                (_, None) if new.is_empty() => (Direction::Both, Vec::new(), users[1].namespaces_of_inputs(name)),
                (None, _) => (Direction::Wider, Vec::new(), users[0].namespaces_of_inputs(name)),
                (_, None) => (Direction::Narrower, Vec::new(), users[1].namespaces_of_inputs(name)),
            };
            if !namespaces.is_empty() {
                let likeness = Likeness { details, ..Likeness::new(PodChangeKind::Psp, None, None, direction) };
                found.push((likeness, namespaces));
            }
        }
        found
    }

    /// Finds the workloads of both states whose pods are newly refused or admitted.
    fn workloads(&self) -> Vec<PodDelta> {
        let (before, after) = (refused(self.base), refused(self.head));
        let mut by_namespace: BTreeMap<String, [Vec<String>; 2]> = BTreeMap::new();
        for (name, (_, is)) in &after {
            let Some((namespace, was)) = before.get(name) else { continue };
            let [refused, admitted] = by_namespace.entry(namespace.clone()).or_default();
            match (was, is) {
                (false, true) => refused.push(name.clone()),
                (true, false) => admitted.push(name.clone()),
                _ => {}
            }
        }
        by_namespace.retain(|_, [refused, admitted]| !refused.is_empty() || !admitted.is_empty());
        let delta = |(namespace, [refused, admitted]): (String, [Vec<String>; 2])| {
            let direction = match (refused.is_empty(), admitted.is_empty()) {
                (false, true) => Direction::Narrower,
                (true, _) => Direction::Wider,
                _ => Direction::Both,
            };
            let likeness = Likeness::new(PodChangeKind::Workload, None, None, direction);
            let severity = if refused.is_empty() { EffectSeverity::None } else { EffectSeverity::Medium };
            PodDelta { refused, admitted, severity, ..self.delta(likeness, BTreeSet::from([namespace])) }
        };
        by_namespace.into_iter().map(delta).collect()
    }
}

/// Returns the workloads of a state with their namespaces, and whether the cluster refuses their pods.
fn refused(state: &TargetState<'_>) -> BTreeMap<String, (String, bool)> {
    let gate = Gate::new(&state.loaded.world, &state.pods.objects);
    let judge = |judged: &bailiwick_analysis::pod_inputs::JudgedWorkload| {
        let template = match template_within(judged.workload.kind, &judged.json) {
            Some(template) => template,
            None => &serde_json::Value::Null,
        };
        let is_refused = !gate.judge(&judged.workload, template).is_empty();
        (judged.workload.to_string(), (judged.workload.namespace().to_owned(), is_refused))
    };
    state.pods.workloads.iter().map(judge).collect()
}

/// Returns the direction and the details of a comparison of policies; none where both mean the same for every pod.
fn directed(comparison: &PspComparison) -> Option<(Direction, Vec<String>)> {
    let direction = match (comparison.widened.is_empty(), comparison.narrowed.is_empty()) {
        (true, true) if comparison.defaults.is_empty() => return None,
        (true, true) => Direction::Both,
        (false, true) => Direction::Wider,
        (true, false) => Direction::Narrower,
        (false, false) => Direction::Both,
    };
    let details = [&comparison.widened, &comparison.narrowed, &comparison.defaults];
    Some((direction, details.into_iter().flatten().cloned().collect()))
}

/// Whether the profiles of a state reject pods.
fn denies(state: &TargetState<'_>) -> bool {
    state.target.enforcement() == Enforcement::AdmissionPolicy && state.target.pod_security_stage.denies()
}

/// Returns a text about the profiles of a state that reject no pod.
fn without_deny(state: &TargetState<'_>, verb: &str) -> Vec<String> {
    let stage = &state.target.pod_security_stage;
    let text = || format!("`validationActions` {verb} `{}` and no `Deny`", stage.action_names().join("`, `"));
    (!stage.denies()).then(text).into_iter().collect()
}

/// The most service accounts that a text names.
const MOST_ACCOUNTS: usize = 5;

/// Returns a text with service accounts. No account has a name of another form.
fn named_accounts(accounts: &[&str]) -> String {
    let valid = accounts.iter().filter(|name| names::dns_subdomain(name).is_ok());
    let mut shown: Vec<String> = valid.take(MOST_ACCOUNTS).map(|name| (*name).to_owned()).collect();
    let more = accounts.len().saturating_sub(shown.len());
    shown.extend((more > 0).then(|| format!("{more} more")));
    let plural = if accounts.len() > 1 { "s" } else { "" };
    format!("service account{plural} {}", shown.join(", "))
}

/// Returns a profile of a state as a PodSecurityPolicy.
fn profile(state: &TargetState<'_>, name: &str) -> Option<PodSecurityPolicy> {
    let declared = state.workspace.project().facts.on(&state.target.name);
    let profile =
        declared.map(|declared: &DeclaredProfile| &declared.profile).find(|profile| profile.name() == name)?;
    let spec = PodSecurityProfile::filled(profile.spec(state.target), &|_| Some("1000".to_owned()));
    let object = serde_json::json!({
        "apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": {"name": name}, "spec": spec,
    });
    let tree = yaml::from_json(&object);
    PodSecurityPolicy::read(tree.document(0)?).ok()
}
