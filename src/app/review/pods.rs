//! The changes of the admission of pods: levels, profiles, PodSecurityPolicies, constraints, admission policies, and the workloads of
//! the inputs.

use std::collections::{BTreeMap, BTreeSet};

use super::causes::{CausePlace, InputChanges};
use super::record::{CauseKind, Direction, EffectSeverity, PodChangeKind};
use super::state::TargetState;
use crate::access::World;
use crate::access::request::ResourceVerb;
use crate::access::world::RoleKind;
use crate::admission::gate::{Gate, NamespaceContext};
use crate::admission::level::Level;
use crate::admission::psp::compare::PspComparison;
use crate::admission::psp::{self, PodSecurityPolicy, select};
use crate::admission::scc::{self, Scc};
use crate::admission::standards::labels::LevelVersion;
use crate::admission::workload::template_within;
use crate::model::{DeclaredProfile, Enforcement, PodSecurityProfile};
use crate::yaml;

/// A change of the admission of pods in namespaces.
#[derive(Debug, Clone)]
pub(super) struct PodDelta {
    pub(super) kind: PodChangeKind,
    pub(super) target: String,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) direction: Direction,
    pub(super) severity: EffectSeverity,
    pub(super) details: Vec<String>,
    pub(super) refused: Vec<String>,
    pub(super) admitted: Vec<String>,
    pub(super) causes: Vec<CausePlace>,
}

/// The properties that equal changes of several namespaces share.
type Likeness = (PodChangeKind, Option<String>, Option<String>, Direction, Vec<String>);

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
        for (namespace, after) in self.head.pods.objects.known_places() {
            let Some(before) = self.base.pods.objects.place(namespace) else { continue };
            self.level(before, after).into_iter().for_each(|level| add(level, namespace));
            self.profile(before, after).into_iter().for_each(|profile| add(profile, namespace));
        }
        for (likeness, namespaces) in self.pod_security_policies().into_iter().chain(self.constraints()) {
            namespaces.iter().for_each(|namespace| add(likeness.clone(), namespace));
        }
        for likeness in self.admission_policies() {
            add(likeness, "*");
        }
        let mut deltas: Vec<PodDelta> =
            found.into_iter().map(|(likeness, namespaces)| self.delta(likeness, namespaces)).collect();
        deltas.extend(self.workloads());
        deltas
    }

    fn delta(&self, (kind, before, after, direction, details): Likeness, namespaces: BTreeSet<String>) -> PodDelta {
        let severity = match direction {
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
            severity,
            details,
            refused: Vec::new(),
            admitted: Vec::new(),
            causes,
        }
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
    fn level(&self, before: &NamespaceContext, after: &NamespaceContext) -> Option<Likeness> {
        let (old_minor, new_minor) = (self.base.target.version.minor(), self.head.target.version.minor());
        let (old, new) = (before.enforced_level(old_minor), after.enforced_level(new_minor));
        let strictness = |level: Level| match level {
            Level::Privileged => 0,
            Level::Baseline => 1,
            Level::Restricted => 2,
        };
        let effective = |enforced: Option<LevelVersion>, minor: u32| {
            let enforced = enforced.filter(|enforced| enforced.level != Level::Privileged);
            enforced.map_or((0, 0), |enforced| (strictness(enforced.level), enforced.version.minor_up_to(minor.into())))
        };
        let (was, is) = (effective(old, old_minor), effective(new, new_minor));
        let direction = match was.cmp(&is) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Less => Direction::Narrower,
            std::cmp::Ordering::Greater => Direction::Wider,
        };
        let text = |level: Option<LevelVersion>| level.map(|level| level.to_string());
        Some((PodChangeKind::Level, text(old), text(new), direction, Vec::new()))
    }

    /// Compares the profiles of a namespace.
    fn profile(&self, before: &NamespaceContext, after: &NamespaceContext) -> Option<Likeness> {
        let of = |state: &TargetState<'_>, place: &NamespaceContext| {
            let label = place.labels.get(PodSecurityProfile::LABEL).cloned();
            label.filter(|_| state.target.enforcement() == Enforcement::AdmissionPolicy)
        };
        let (old, new) = (of(self.base, before), of(self.head, after));
        let (direction, details) = match (&old, &new) {
            (None, None) => return None,
            (Some(_), None) => (Direction::Wider, Vec::new()),
            (None, Some(_)) => (Direction::Narrower, Vec::new()),
            (Some(old), Some(new)) => match (profile(self.base, old), profile(self.head, new)) {
                (Some(earlier), Some(present)) => match directed(&psp::compare::compare(&earlier, &present)) {
                    Some(change) => change,
                    // The policies state more than the profile, such as the actions of a binding.
                    None if old != new || self.has_same_policies(old) => return None,
                    None => (Direction::Both, Vec::new()),
                },
                // The rules of a profile that cannot be read as a policy are compared as they are written.
                _ if old == new && self.has_same_policies(old) => return None,
                _ => (Direction::Both, Vec::new()),
            },
        };
        Some((PodChangeKind::Profile, old, new, direction, details))
    }

    fn has_same_policies(&self, profile: &str) -> bool {
        let name = PodSecurityProfile::admission_policy(profile);
        let of = |state: &TargetState<'_>| {
            let is_own = |key: &str| key.starts_with("Validating") && key.rsplit('/').next() == Some(&*name);
            let own = state.admission_policies.iter().filter(|(key, _)| is_own(key));
            own.map(|(key, json)| (key.clone(), json.clone())).collect::<Vec<_>>()
        };
        of(self.base) == of(self.head)
    }

    /// Compares the PodSecurityPolicies of both states, each with the namespaces of its users.
    fn pod_security_policies(&self) -> Vec<(Likeness, BTreeSet<String>)> {
        let (old, new) = (&self.base.pod_security_policies, &self.head.pod_security_policies);
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let users = PolicyUsers::of(&self.head.loaded.world, select::GROUPS);
        let mut found = Vec::new();
        for name in names {
            let (direction, details) = match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) => match directed(&psp::compare::compare(old, new)) {
                    Some(change) => change,
                    None => continue,
                },
                // The right to use a policy is a permission; an absent policy admits nothing.
                (None, _) => (Direction::Wider, Vec::new()),
                (_, None) => (Direction::Narrower, Vec::new()),
            };
            let namespaces = users.namespaces(name);
            if !namespaces.is_empty() && old.contains_key(name) {
                found.push(((PodChangeKind::Psp, None, None, direction, details), namespaces));
            }
        }
        found
    }

    /// Compares the constraints of both states and their order, each with the namespaces of its users.
    fn constraints(&self) -> Vec<(Likeness, BTreeSet<String>)> {
        let (old, new) = (&self.base.constraints, &self.head.constraints);
        let users = PolicyUsers::of(&self.head.loaded.world, [scc::GROUP, scc::GROUP]);
        let mut found = Vec::new();
        for (name, after) in new {
            let Some(before) = old.get(name) else { continue };
            let mut namespaces = users.namespaces(name);
            let has_users = !(after.users.is_empty() && after.groups.is_empty());
            namespaces.extend(has_users.then(|| "*".to_owned()));
            if before == after || namespaces.is_empty() {
                continue;
            }
            let name = Some(name.clone());
            if before.priority() != after.priority() {
                let details = vec![format!("priority {} -> {}", before.priority(), after.priority())];
                found.push((
                    (PodChangeKind::Scc, name.clone(), name.clone(), Direction::Order, details),
                    namespaces.clone(),
                ));
            }
            let direction = if before.restrictions() == after.restrictions() {
                direction_of_users(before, after)
            } else {
                Some(self.direction_of(before, after))
            };
            if let Some(direction) = direction {
                found.push(((PodChangeKind::Scc, name.clone(), name, direction, Vec::new()), namespaces));
            }
        }
        found
    }

    /// Returns the direction of a change of constraints, by the Pod Security level that they amount to.
    fn direction_of(&self, before: &Scc, after: &Scc) -> Direction {
        let level = |state: &TargetState<'_>, scc: &Scc| {
            let release = state.target.version.release()?;
            scc::convert::level(scc, scc::range::UidRange::read(None), release).ok()
        };
        match (level(self.base, before), level(self.head, after)) {
            (Some(Level::Privileged), Some(Level::Baseline | Level::Restricted))
            | (Some(Level::Baseline), Some(Level::Restricted)) => Direction::Narrower,
            (Some(Level::Restricted), Some(Level::Baseline | Level::Privileged))
            | (Some(Level::Baseline), Some(Level::Privileged)) => Direction::Wider,
            _ => Direction::Both,
        }
    }

    /// Compares the admission policies of the inputs, which are not evaluated against each other: a change can go either way.
    fn admission_policies(&self) -> Vec<Likeness> {
        let (old, new) = (&self.base.admission_policies, &self.head.admission_policies);
        let (old_profiles, new_profiles) = (policies_of_profiles(self.base), policies_of_profiles(self.head));
        // A policy of the inputs can have a name such as a profile gives.
        let is_of_profile = |key: &String| {
            let name = key.rsplit('/').next();
            let is_in = |side: &BTreeMap<String, String>, profiles: &BTreeSet<String>| {
                !side.contains_key(key) || name.is_some_and(|name| profiles.contains(name))
            };
            is_in(old, &old_profiles) && is_in(new, &new_profiles)
        };
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).filter(|key| !is_of_profile(key)).collect();
        let likeness = |name: &&String| {
            let direction = match (old.get(*name), new.get(*name)) {
                (Some(before), Some(after)) if before == after => return None,
                (Some(_), Some(_)) => Direction::Both,
                (None, _) => Direction::Narrower,
                (_, None) => Direction::Wider,
            };
            let of = |side: &BTreeMap<String, String>| side.contains_key(*name).then(|| (*name).clone());
            Some((PodChangeKind::Policy, of(old), of(new), direction, Vec::new()))
        };
        names.iter().filter_map(likeness).collect()
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
            let likeness = (PodChangeKind::Workload, None, None, direction, Vec::new());
            let severity = if refused.is_empty() { EffectSeverity::None } else { EffectSeverity::Medium };
            PodDelta { refused, admitted, severity, ..self.delta(likeness, BTreeSet::from([namespace])) }
        };
        by_namespace.into_iter().map(delta).collect()
    }
}

/// Returns the workloads of a state with their namespaces, and whether the cluster refuses their pods.
fn refused(state: &TargetState<'_>) -> BTreeMap<String, (String, bool)> {
    let gate = Gate::new(&state.loaded.world, &state.pods.objects);
    let judge = |judged: &crate::app::pod_inputs::JudgedWorkload| {
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

/// Returns the direction of a change of the users and groups of constraints; none without a change.
fn direction_of_users(before: &Scc, after: &Scc) -> Option<Direction> {
    let named = |scc: &Scc| scc.users.iter().chain(&scc.groups).cloned().collect::<BTreeSet<String>>();
    let (old, new) = (named(before), named(after));
    match (old.is_subset(&new), new.is_subset(&old)) {
        (true, true) => None,
        (true, false) => Some(Direction::Wider),
        (false, true) => Some(Direction::Narrower),
        (false, false) => Some(Direction::Both),
    }
}

/// Returns the names of the admission policies that the profiles of a state make.
fn policies_of_profiles(state: &TargetState<'_>) -> BTreeSet<String> {
    let declared = state.workspace.project.facts.on(&state.target.name);
    declared.map(|declared: &DeclaredProfile| PodSecurityProfile::admission_policy(declared.profile.name())).collect()
}

/// Returns a profile of a state as a PodSecurityPolicy.
fn profile(state: &TargetState<'_>, name: &str) -> Option<PodSecurityPolicy> {
    let declared = state.workspace.project.facts.on(&state.target.name);
    let profile =
        declared.map(|declared: &DeclaredProfile| &declared.profile).find(|profile| profile.name() == name)?;
    let spec = PodSecurityProfile::filled(profile.spec(state.target), &|_| Some("1000".to_owned()));
    let object = serde_json::json!({
        "apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy", "metadata": {"name": name}, "spec": spec,
    });
    let tree = yaml::from_json(&object);
    PodSecurityPolicy::read(tree.document(0)?).ok()
}

/// The namespaces of the users of each policy of a kind.
struct PolicyUsers {
    by_name: BTreeMap<String, BTreeSet<String>>,
    of_any: BTreeSet<String>,
}

impl PolicyUsers {
    fn of(world: &World, groups: [&'static str; 2]) -> Self {
        let mut users = Self { by_name: BTreeMap::new(), of_any: BTreeSet::new() };
        let resource = if groups.contains(&scc::GROUP) { scc::RESOURCE } else { "podsecuritypolicies" };
        for binding in world.bindings() {
            let place = binding.namespace().filter(|_| binding.role_kind() == RoleKind::Role);
            let Some(role) = world.find_role(place, binding.role_name()) else { continue };
            let scope = binding.namespace().map_or("*", |namespace| namespace);
            for group in groups {
                match world.names_allowed(role.rules(), ResourceVerb { verb: "use", group, resource }) {
                    None => _ = users.of_any.insert(scope.to_owned()),
                    Some(names) => names.into_iter().for_each(|name| {
                        users.by_name.entry(name.to_owned()).or_default().insert(scope.to_owned());
                    }),
                }
            }
        }
        users
    }

    fn namespaces(&self, policy: &str) -> BTreeSet<String> {
        // Subjects that may use every policy are administrators.
        self.by_name.get(policy).map_or_else(|| self.of_any.clone(), BTreeSet::clone)
    }
}
