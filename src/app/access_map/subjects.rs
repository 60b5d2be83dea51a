//! The subjects with their permissions, and their division into classes of equal access.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::paths::Powers;
use super::questions::{self, AccessQuestion};
use super::record::{AccessCell, GrantedAccess, ReportedPower, SubjectAccess};
use super::{ClassNumbers, TargetInputs};
use crate::access::compare::{Affected, Change, ImpliedGroups, compare};
use crate::access::risk::identity_of_subject;
use crate::access::{Builder, World};
use crate::app::account_names::AccountNames;
use crate::app::subject_classes::{Member, bound_by_inputs, members_of};
use crate::k8s::rbac::PolicyRule;

/// The permissions of all subjects.
pub(super) struct SubjectMap {
    /// The common permissions of subjects.
    grants: Vec<Grant>,
    questions: Vec<AccessQuestion>,
    /// The grants of each subject, with the subjects of the default policy.
    subjects: BTreeMap<String, Vec<ScopedGrant>>,
    /// The subjects of the bindings of the inputs.
    pub(super) bound: BTreeSet<String>,
}

/// Permissions of several subjects.
struct Grant {
    access: GrantedAccess,
    /// Whether each question is answered with yes.
    answers: Vec<bool>,
}

/// A grant with its scope for one subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ScopedGrant {
    grant: usize,
    /// The namespaces; empty for the whole cluster.
    namespaces: Vec<String>,
}

/// Equal permissions of several subjects with one kind of scope.
struct SharedPermissions {
    is_wide: bool,
    /// The smallest parts of the rules of the first subject.
    rules: Vec<PolicyRule>,
    /// Whether the subjects have other names in the rules.
    own_names: bool,
    /// The subjects. The first one is in the first namespace.
    affected: Vec<Affected>,
}

/// The common properties of the subjects of a class: the grants with their numbers of namespaces, the powers and the cells.
type Likeness = (Vec<(usize, usize)>, Vec<ReportedPower>, Vec<AccessCell>);

impl SubjectMap {
    /// Reads the permissions of all subjects of a world, and gives them to the other namespaces of each class.
    pub(super) fn new(inputs: &TargetInputs<'_>) -> Self {
        let (world, spread) = (&inputs.loaded.world, inputs.spread);
        let nothing = Builder::new(world.minor()).build();
        let mut map = Self {
            grants: Vec::new(),
            questions: questions::all(),
            subjects: BTreeMap::new(),
            bound: bound_by_inputs(world),
        };
        for shared in shared_permissions(compare(&nothing, world, ImpliedGroups::Ignored), inputs.accounts) {
            let affected: Vec<&Affected> = shared.affected.iter().collect();
            let Some(grant) = map.add_grant(world, &shared) else { continue };
            for member in spread.members(members_of(&affected)) {
                let scoped = ScopedGrant { grant, namespaces: member.namespaces };
                map.subjects.entry(member.subject).or_default().push(scoped);
            }
        }
        let members = map.bound.iter().map(|name| {
            let scoped = map.subjects.get(name).into_iter().flatten();
            let namespaces = scoped.flat_map(|scoped| scoped.namespaces.iter().cloned()).collect();
            Member { subject: name.clone(), namespaces }
        });
        let all = spread.members(members.collect()).into_iter().map(|member| member.subject);
        map.bound.extend(all);
        map
    }

    /// Adds permissions, and answers the questions for them.
    fn add_grant(&mut self, world: &World, shared: &SharedPermissions) -> Option<usize> {
        let is_wide = shared.is_wide;
        let answers = self
            .questions
            .iter()
            .map(|question| (is_wide || !question.cluster_only) && question.is_allowed_by(&shared.rules));
        let access = GrantedAccess {
            namespaces: (!is_wide).then_some(0),
            roles: roles_of(world, shared.affected.first()?),
            rules: folded(&shared.rules),
            own_names: shared.own_names,
        };
        let answers = answers.collect();
        self.grants.push(Grant { access, answers });
        Some(self.grants.len() - 1)
    }

    /// Returns the number of subjects of the default policy alone.
    pub(super) fn of_default_policy(&self) -> usize {
        self.subjects.keys().filter(|name| !self.bound.contains(*name)).count()
    }

    /// Returns the classes of the subjects of the inputs, the most powerful first.
    pub(super) fn classes(
        &self,
        inputs: &TargetInputs<'_>,
        powers: &Powers,
        numbers: &mut ClassNumbers,
    ) -> Vec<SubjectAccess> {
        let mut classes: BTreeMap<Likeness, Vec<Member>> = BTreeMap::new();
        for (subject, scoped) in self.subjects.iter().filter(|(subject, _)| self.bound.contains(*subject)) {
            let grants = scoped.iter().map(|scoped| (scoped.grant, scoped.namespaces.len())).collect();
            let powers = powers.get(subject).cloned().into_iter().flatten().collect();
            let likeness = (grants, powers, self.cells(subject, scoped));
            let is_wide = scoped.iter().any(|scoped| scoped.namespaces.is_empty());
            let mut namespaces: Vec<String> =
                scoped.iter().filter(|_| !is_wide).flat_map(|scoped| scoped.namespaces.iter().cloned()).collect();
            namespaces.sort_unstable();
            namespaces.dedup();
            classes.entry(likeness).or_default().push(Member { subject: subject.clone(), namespaces });
        }
        let mut classes: Vec<(Likeness, Vec<Member>)> = classes.into_iter().collect();
        classes.sort_by_cached_key(|((grants, powers, cells), members)| {
            let worst: Vec<_> = powers.iter().map(|power| Reverse(power.severity)).collect();
            let everywhere = cells.iter().filter(|cell| **cell == AccessCell::Everywhere).count();
            let allowed = cells.iter().filter(|cell| **cell != AccessCell::Nowhere).count();
            let first = members.first().map(|member| member.subject.clone());
            (worst.is_empty(), worst, Reverse((everywhere, allowed, members.len())), first, grants.clone())
        });
        let class = |((grants, powers, cells), members): (Likeness, Vec<Member>)| {
            let grants = grants.iter().filter_map(|(grant, namespaces)| {
                let access = &self.grants.get(*grant)?.access;
                Some(GrantedAccess { namespaces: access.namespaces.map(|_| *namespaces), ..access.clone() })
            });
            SubjectAccess { class: numbers.number(inputs, members), grants: grants.collect(), powers, cells }
        };
        classes.into_iter().map(class).collect()
    }

    /// Answers the questions for a subject with its implied groups, as `can-i` does.
    fn cells(&self, subject: &str, own: &[ScopedGrant]) -> Vec<AccessCell> {
        let groups = identity_of_subject(subject).map_or_else(Vec::new, |who| who.groups);
        let names = groups.iter().map(|group| format!("Group/{group}")).filter(|name| name != subject);
        let of_groups = names.filter_map(|name| self.subjects.get(&name)).flatten();
        let all: Vec<&ScopedGrant> = own.iter().chain(of_groups).collect();
        (0..self.questions.len()).map(|question| self.cell(question, &all)).collect()
    }

    fn cell(&self, question: usize, scoped: &[&ScopedGrant]) -> AccessCell {
        let is_allowed = |scoped: &&&ScopedGrant| {
            self.grants.get(scoped.grant).and_then(|grant| grant.answers.get(question)).is_some_and(|answer| *answer)
        };
        let mut namespaces: Vec<&String> = Vec::new();
        for scoped in scoped.iter().filter(is_allowed) {
            if scoped.namespaces.is_empty() {
                return AccessCell::Everywhere;
            }
            namespaces.extend(&scoped.namespaces);
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        match namespaces.len() {
            0 => AccessCell::Nowhere,
            count => AccessCell::Namespaces { count },
        }
    }
}

/// Joins permissions that differ in names of the accounts alone, such as the permission for the object of each tenant.
fn shared_permissions(changes: Vec<Change>, accounts: &AccountNames<'_>) -> Vec<SharedPermissions> {
    let mut shared: BTreeMap<(bool, Vec<PolicyRule>), SharedPermissions> = BTreeMap::new();
    for change in changes {
        let has_names = change.gained.iter().any(|rule| !rule.resource_names.is_empty());
        for affected in change.subjects {
            let template = |rule: &PolicyRule| {
                let names = rule.resource_names.iter();
                let names = names.map(|name| accounts.template(name, affected.scope.namespace())).collect();
                PolicyRule { resource_names: names, ..rule.clone() }
            };
            let rules: Vec<PolicyRule> =
                if has_names { change.gained.iter().map(template).collect() } else { change.gained.clone() };
            let is_wide = affected.scope.is_cluster();
            let known = shared.entry((is_wide, rules)).or_insert_with(|| SharedPermissions {
                is_wide,
                rules: change.gained.clone(),
                own_names: false,
                affected: Vec::new(),
            });
            known.own_names |= known.rules != change.gained;
            // The subject of the first namespace stands for the others.
            let is_first = |first: &Affected| (&affected.scope, &affected.subject) < (&first.scope, &first.subject);
            let is_first = known.affected.first().is_some_and(is_first);
            known.affected.push(affected);
            if is_first {
                let last = known.affected.len() - 1;
                known.affected.swap(0, last);
                known.rules.clone_from(&change.gained);
            }
        }
    }
    shared.into_values().collect()
}

/// Returns the names of the roles of a subject in a scope, by its own bindings.
fn roles_of(world: &World, affected: &Affected) -> Vec<String> {
    let Some(who) = identity_of_subject(&affected.subject) else { return Vec::new() };
    let chains = match affected.scope.namespace() {
        Some(namespace) => world.grants_of(&who, namespace),
        None => world.all_grants_of(&who),
    };
    let is_wide = affected.scope.is_cluster();
    let own = chains.into_iter().filter(|chain| {
        chain.subject == affected.subject && chain.binding.name.starts_with("ClusterRoleBinding/") == is_wide
    });
    let roles: BTreeSet<String> = own
        .map(|chain| match chain.role.name.rsplit_once('/') {
            Some((kind, name)) if kind.starts_with("Role/") => format!("Role/{name}"),
            _ => chain.role.name,
        })
        .collect();
    roles.into_iter().collect()
}

/// Joins the smallest parts of rules: verbs of equal resources, and then resources of equal verbs.
fn folded(parts: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut by_resource: BTreeMap<PolicyRule, BTreeSet<String>> = BTreeMap::new();
    for part in parts {
        let key = PolicyRule { verbs: Vec::new(), ..part.clone() };
        by_resource.entry(key).or_default().extend(part.verbs.iter().cloned());
    }
    let mut by_verbs: BTreeMap<PolicyRule, [BTreeSet<String>; 2]> = BTreeMap::new();
    for (rule, verbs) in by_resource {
        let key = PolicyRule {
            verbs: verbs.into_iter().collect(),
            resources: Vec::new(),
            non_resource_urls: Vec::new(),
            ..rule.clone()
        };
        let [resources, urls] = by_verbs.entry(key).or_default();
        resources.extend(rule.resources);
        urls.extend(rule.non_resource_urls);
    }
    let rule = |(rule, [resources, urls]): (PolicyRule, [BTreeSet<String>; 2])| PolicyRule {
        resources: resources.into_iter().collect(),
        non_resource_urls: urls.into_iter().collect(),
        ..rule
    };
    by_verbs.into_iter().map(rule).collect()
}
