//! The changes of access of a target: classes of subjects that gain or lose rights.

use std::collections::{BTreeSet, HashMap};

use bailiwick_access::compare::{Affected, Change, ImpliedGroups, compare};
use bailiwick_access::{World, cover};
use bailiwick_analysis::account_names::AccountNames;
use bailiwick_analysis::compare::take_components;
use bailiwick_analysis::proof::{ProofPart, RightsProof, identity};
use bailiwick_analysis::subject_classes::{Member, bound_by_inputs, joined, members_of};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::model::Target;
use bailiwick_yaml::diag::Origin;

use super::causes::{CausePlace, Evidence, InputChanges};
use super::record::{CauseKind, EffectChange, EffectSeverity, Scope, Side};
use super::state::TargetState;

/// A change of the access of a class of subjects.
#[derive(Debug, Clone)]
pub(super) struct AccessDelta {
    pub(super) change: EffectChange,
    pub(super) scope: Scope,
    /// The smallest parts of the rights.
    pub(super) atoms: Vec<PolicyRule>,
    /// The rights with the columns of the accounts in place of their values, if every namespace of the change has the same.
    pub(super) template: Option<Vec<PolicyRule>>,
    pub(super) members: Vec<Member>,
    pub(super) targets: Vec<String>,
    pub(super) own_names: bool,
    pub(super) role: Option<String>,
    pub(super) severity: EffectSeverity,
    pub(super) rule: Option<&'static str>,
    pub(super) indirect: bool,
    pub(super) causes: Vec<CausePlace>,
}

/// The changes of access of a target.
#[derive(Default)]
pub(super) struct AccessDeltas {
    pub(super) deltas: Vec<AccessDelta>,
    /// Subjects of the default policy whose change is the change of the default policy.
    pub(super) by_default_policy: BTreeSet<String>,
}

/// Both states of a target, with the changed lines of the inputs.
pub(super) struct AccessComparison<'c> {
    pub(super) base: &'c World,
    pub(super) base_target: &'c Target,
    pub(super) head: &'c TargetState<'c>,
    pub(super) inputs: &'c InputChanges<'c>,
    /// The accounts of the namespaces of the earlier and of the reviewed state.
    pub(super) names: [&'c AccountNames<'c>; 2],
}

impl AccessComparison<'_> {
    /// Compares the access of all subjects.
    pub(super) fn compare(&self) -> AccessDeltas {
        let mut changes = compare(self.base, &self.head.loaded.world, ImpliedGroups::Counted);
        let bound = [bound_by_inputs(self.base), bound_by_inputs(&self.head.loaded.world)];
        let is_of_default_policy = |subject: &str| bound.iter().all(|bound| !bound.contains(subject));
        let (before, after) = (self.base_target, self.head.target);
        let by_default_policy = take_components(&mut changes, before, after, &is_of_default_policy);
        let mut deltas = Vec::new();
        for change in changes {
            for (kind, atoms) in [(EffectChange::Gained, &change.gained), (EffectChange::Lost, &change.lost)] {
                if !atoms.is_empty() {
                    self.add(&change, kind, atoms, &mut deltas);
                }
            }
        }
        AccessDeltas { deltas: self.fold_own_names(deltas), by_default_policy }
    }

    /// Joins changes of the same rights, and changes that differ in names of the accounts alone, such as a right to the object of
    /// each tenant.
    fn fold_own_names(&self, mut deltas: Vec<AccessDelta>) -> Vec<AccessDelta> {
        let mut folded: Vec<AccessDelta> = Vec::new();
        let mut positions = HashMap::new();
        // The rights of the first namespace stand for the others.
        let first_namespace =
            |delta: &AccessDelta| delta.members.iter().flat_map(|member| &member.namespaces).min().cloned();
        deltas.sort_by_cached_key(first_namespace);
        for mut delta in deltas {
            delta.template = self.template(&delta);
            let rights = delta.template.as_ref().map_or(&delta.atoms, |template| template);
            let likeness = (rights.clone(), delta.change, delta.scope, delta.indirect, delta.causes.clone());
            let position = *positions.entry(likeness).or_insert(folded.len());
            match folded.get_mut(position) {
                Some(known) => {
                    known.own_names |= delta.template.is_some();
                    if delta.severity > known.severity {
                        (known.severity, known.rule) = (delta.severity, delta.rule);
                    }
                    known.members.extend(delta.members);
                }
                None => folded.push(delta),
            }
        }
        folded.iter_mut().for_each(|delta| delta.members = joined(std::mem::take(&mut delta.members)));
        folded
    }

    /// Returns the rights of a change with the columns of the accounts in place of their values, if every namespace of the
    /// change has the same.
    fn template(&self, delta: &AccessDelta) -> Option<Vec<PolicyRule>> {
        if delta.atoms.iter().all(|atom| atom.resource_names.is_empty()) {
            return None;
        }
        let [before, after] = self.names;
        let names = match delta.change {
            EffectChange::Gained => after,
            EffectChange::Lost => before,
        };
        let in_namespace = |namespace: &String| {
            let own = |name: &String| names.template(name, Some(namespace));
            let atom = |atom: &PolicyRule| PolicyRule {
                resource_names: atom.resource_names.iter().map(own).collect(),
                ..atom.clone()
            };
            delta.atoms.iter().map(atom).collect::<Vec<_>>()
        };
        let mut namespaces = delta.members.iter().flat_map(|member| &member.namespaces);
        let first = in_namespace(namespaces.next()?);
        (first != delta.atoms && namespaces.all(|namespace| in_namespace(namespace) == first)).then_some(first)
    }

    /// Adds the gains or the losses of a class, apart for the whole cluster and for namespaces.
    fn add(&self, change: &Change, kind: EffectChange, atoms: &[PolicyRule], deltas: &mut Vec<AccessDelta>) {
        let (wide, local): (Vec<&Affected>, Vec<&Affected>) =
            change.subjects.iter().partition(|affected| affected.scope.is_cluster());
        for (scope, affected) in [(Scope::Cluster, wide), (Scope::Namespaces, local)] {
            // The subject of the first namespace stands for the others.
            let place =
                |affected: &&&Affected| (affected.scope.namespace().map(str::to_owned), affected.subject.clone());
            let Some(first) = affected.iter().min_by_key(place) else { continue };
            let world = match kind {
                EffectChange::Gained => &self.head.loaded.world,
                EffectChange::Lost => self.base,
            };
            let proof = RightsProof::find(world, first, atoms);
            let Causes { places: causes, indirect, by_version } = self.causes(kind, first, &proof);
            let (severity, rule) = match kind {
                EffectChange::Gained => self.worst_severity(&affected, atoms, [indirect, by_version]),
                EffectChange::Lost => (EffectSeverity::None, None),
            };
            deltas.push(AccessDelta {
                change: kind,
                scope,
                atoms: atoms.to_vec(),
                template: None,
                members: members_of(&affected),
                targets: vec![self.head.target.name.clone()],
                own_names: change.own_names,
                role: role_with_exactly(&proof, world, atoms, scope),
                severity,
                rule,
                indirect,
                causes,
            });
        }
    }

    /// Returns the highest severity of a gain among its subjects and namespaces, with the risk rule that decides it.
    fn worst_severity(
        &self,
        affected: &[&Affected],
        atoms: &[PolicyRule],
        causes: [bool; 2],
    ) -> (EffectSeverity, Option<&'static str>) {
        let mut worst = (EffectSeverity::Low, None);
        for (position, one) in affected.iter().enumerate() {
            let found = self.severity(one, atoms, causes);
            if position == 0 || found.0 > worst.0 {
                worst = found;
            }
            if worst.0 == EffectSeverity::Critical {
                break;
            }
        }
        worst
    }

    /// Returns the severity of a gain of one subject with the risk rule that decides it.
    fn severity(
        &self,
        affected: &Affected,
        atoms: &[PolicyRule],
        causes: [bool; 2],
    ) -> (EffectSeverity, Option<&'static str>) {
        let worst = self.head.loaded.world.worst_risk(&affected.subject, &affected.scope, atoms);
        let by_rule = worst.map_or((EffectSeverity::Low, None), |(rule, severity)| (severity.into(), Some(rule.id)));
        if by_rule.0 >= EffectSeverity::High {
            return by_rule;
        }
        self.gate(affected, atoms, causes).map_or(by_rule, |gate| (EffectSeverity::High, Some(gate)))
    }

    /// Returns the first gate that a gain meets: the ids of `lint` for changes. A gain can be indirect, and the version can cause it.
    fn gate(
        &self,
        affected: &Affected,
        atoms: &[PolicyRule],
        [indirect, by_version]: [bool; 2],
    ) -> Option<&'static str> {
        if by_version {
            // Another version changes the default roles, and with them the rights of all their subjects.
            return None;
        }
        let before = self.base;
        let who = identity(&affected.subject);
        let has_star = |atom: &PolicyRule| {
            [&atom.verbs, &atom.api_groups, &atom.resources]
                .into_iter()
                .any(|list| list.iter().any(|entry| entry == "*"))
        };
        let held = before.all_grants_of(&who);
        let is_bound = held.iter().any(|chain| chain.subject == affected.subject);
        // X003: a list becomes a star.
        if is_bound && atoms.iter().any(has_star) {
            return Some("X003");
        }
        // X002: rights of an existing subject come to further existing namespaces.
        let rules: Vec<PolicyRule> = held.iter().flat_map(|chain| &chain.rules).map(|rule| rule.rule.clone()).collect();
        let had_elsewhere = is_bound && cover::uncovered(&rules, atoms).is_empty();
        let is_known = affected.scope.namespace().is_none_or(|name| before.known_namespaces().contains(name));
        if had_elsewhere && is_known {
            return Some("X002");
        }
        // X005: nothing of the subject itself changes.
        (indirect && !self.has_other_version()).then_some("X005")
    }

    /// Whether the version or the platform of the target changes.
    fn has_other_version(&self) -> bool {
        let (before, after) = (self.base_target, self.head.target);
        before.version != after.version || before.platform != after.platform
    }

    /// Returns the causes of an effect.
    fn causes(&self, kind: EffectChange, first: &Affected, proof: &RightsProof) -> Causes {
        let (side, other) = match kind {
            EffectChange::Gained => (Side::Head, self.base),
            EffectChange::Lost => (Side::Base, &self.head.loaded.world),
        };
        let mut places: BTreeSet<CausePlace> = BTreeSet::new();
        let mut is_indirect = false;
        for part in &proof.parts {
            let evidence = evidence(part, side, other);
            let found = self.inputs.cause_of(&evidence);
            let of_gathered = evidence.first().filter(|evidence| evidence.kind == CauseKind::AggregationLabel);
            is_indirect |=
                of_gathered.is_some() && found.is_some_and(|place| place.kind == CauseKind::AggregationLabel);
            places.extend(found.map(|place| match place.kind {
                CauseKind::AggregationLabel => place.as_kind(CauseKind::Rule),
                _ => place,
            }));
        }
        if !places.is_empty() {
            return Causes { places: places.into_iter().collect(), indirect: is_indirect, by_version: false };
        }
        let (target, by_version) = (self.head.target, self.has_other_version());
        let of_version = by_version.then(|| self.inputs.in_target(&target.name, CauseKind::Version)).flatten();
        let in_scope = || {
            let word = first.scope.namespace()?;
            self.inputs.with_word(word, CauseKind::AccountRow)
        };
        let own_name = || self.inputs.with_word(first.subject.rsplit('/').next()?, CauseKind::AccountRow);
        let found = of_version.or_else(in_scope).or_else(own_name).or_else(|| self.inputs.first(CauseKind::File));
        Causes { places: found.into_iter().collect(), indirect: of_version.is_some(), by_version }
    }
}

/// The causes of an effect.
struct Causes {
    places: Vec<CausePlace>,
    /// Whether the subject gains or loses without a change of its role or binding.
    indirect: bool,
    /// Whether no changed line is a cause, and the version or the platform changes.
    by_version: bool,
}

/// Returns the role that gives exactly some rights in a scope, such as `ClusterRole/edit`.
fn role_with_exactly(proof: &RightsProof, world: &World, atoms: &[PolicyRule], scope: Scope) -> Option<String> {
    let part = proof.parts.first()?;
    let name = &part.chain.role.name;
    let (namespace, short) = role_name(name)?;
    let (_, rules, _) = world.describe_role(namespace, short)?;
    let own: Vec<PolicyRule> = rules.into_iter().map(|rule| effective(rule.rule, scope)).collect();
    let is_same = cover::maximal(&own) == cover::maximal(atoms);
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    is_same.then(|| format!("{kind}/{short}"))
}

/// Returns the places of the objects that give a right; the object with a difference from the other state comes first.
pub(super) fn evidence(part: &ProofPart, side: Side, other: &World) -> Vec<Evidence> {
    let at = |place: Option<Origin>, kind| place.map(|place| Evidence { side, place, kind });
    let gathered = part.rule.gathered_from.iter().filter_map(|source| at(source.place, CauseKind::AggregationLabel));
    let role = at(part.chain.role.place, CauseKind::Rule);
    let binding = at(part.chain.binding.place, CauseKind::Subject);
    let has_rule = role_name(&part.chain.role.name)
        .and_then(|(namespace, name)| other.describe_role(namespace, name))
        .is_some_and(|(_, rules, _)| rules.iter().any(|rule| rule.rule == part.rule.rule));
    let mut all: Vec<Evidence> = Vec::new();
    if has_rule {
        all.extend(binding);
        all.extend(gathered);
        all.extend(role);
    } else {
        all.extend(gathered);
        all.extend(role);
        all.extend(binding);
    }
    all
}

/// Returns a rule without the parts that never take effect in a scope.
fn effective(mut rule: PolicyRule, scope: Scope) -> PolicyRule {
    rule.resources.retain(|resource| !resource.ends_with("/*"));
    if scope == Scope::Namespaces {
        rule.non_resource_urls.clear();
    }
    rule
}

/// Splits `ClusterRole/edit` or `Role/namespace/name` into the namespace and the name.
fn role_name(name: &str) -> Option<(Option<&str>, &str)> {
    match name.split_once('/')? {
        ("ClusterRole", name) => Some((None, name)),
        (_, rest) => rest.split_once('/').map(|(namespace, name)| (Some(namespace), name)),
    }
}
