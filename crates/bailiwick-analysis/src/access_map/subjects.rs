//! The subjects with their permissions, and their division into classes of equal access.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::compare::{Affected, Change, ImpliedGroups, compare};
use bailiwick_access::risk::identity_of_subject;
use bailiwick_access::{Builder, World};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::internal;

use super::names::SpreadNames;
use super::paths::Powers;
use super::questions::{self, AccessQuestion};
use super::record::{AccessCell, GrantedAccess, SubjectAccess};
use super::{ClassNumbers, TargetInputs};
use crate::account_names::AccountNames;
use crate::subject_classes::{Member, MemberNumbers, NameTable, bound_by_inputs, members_of};

/// The permissions of all subjects.
pub(super) struct SubjectMap {
    /// The common permissions of subjects.
    grants: Vec<Grant>,
    questions: Vec<AccessQuestion>,
    /// The grants of all subjects, with the subjects of the default policy: in the order of the names of the subjects, and then of
    /// the grants and the names of the namespaces.
    held: Vec<HeldGrant>,
    /// Whether the subject with each number is in a binding of the inputs.
    is_bound: Vec<bool>,
    /// The number of the empty name: the scope of the whole cluster.
    whole: u32,
}

/// Permissions of several subjects.
struct Grant {
    access: GrantedAccess,
    /// Whether each question is answered with yes.
    answers: Vec<bool>,
}

/// A grant of a subject in a namespace, or in the whole cluster; subjects and namespaces are numbers of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldGrant {
    subject: u32,
    grant: u32,
    namespace: u32,
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

/// The common properties of the subjects of a class: the grants with their numbers of namespaces, the positions of the powers, and the
/// cells.
type Likeness = (Vec<(u32, usize)>, Vec<u32>, Vec<AccessCell>);

impl SubjectMap {
    /// Reads the permissions of all subjects of a world, and gives them to the other namespaces of each class.
    pub(super) fn new(inputs: &TargetInputs<'_>, names: &mut SpreadNames<'_>) -> Self {
        let world = &inputs.loaded.world;
        let nothing = Builder::new(world.minor()).build();
        let (questions, whole) = (questions::all(), names.table.add(""));
        let mut map = Self { grants: Vec::new(), questions, held: Vec::new(), is_bound: Vec::new(), whole };
        for shared in shared_permissions(compare(&nothing, world, ImpliedGroups::Ignored), inputs.accounts) {
            let affected: Vec<&Affected> = shared.affected.iter().collect();
            let Some(grant) = map.add_grant(world, &shared) else { continue };
            names.each_pair(&members_of(&affected), &mut |subject, namespace| {
                let namespace = namespace.map_or(whole, |namespace| namespace);
                map.held.push(HeldGrant { subject, grant, namespace });
            });
        }
        names.table.sort();
        let rank = |number: u32| names.table.rank(number);
        map.held.sort_unstable_by_key(|held| (rank(held.subject), held.grant, rank(held.namespace)));
        map.held.dedup();
        map.held.shrink_to_fit();
        map.bind(inputs, names);
        map
    }

    /// Notes the subjects of the bindings of the inputs, and the subjects in their place in the other namespaces of each class.
    fn bind(&mut self, inputs: &TargetInputs<'_>, names: &mut SpreadNames<'_>) {
        let table = &names.table;
        let members = bound_by_inputs(&inputs.loaded.world).into_iter().map(|subject| {
            let held = table.find(&subject).map_or(&[][..], |number| self.held_by(number, table));
            let namespaces = held.iter().filter(|held| held.namespace != self.whole);
            let is_alone = |name: &&str| inputs.spread.weight(name) == 1;
            let mut namespaces: Vec<&str> = namespaces.map(|held| table.get(held.namespace)).collect();
            // One such namespace is enough: it adds no subject. A member without namespaces would be one of the whole cluster.
            let first_alone = namespaces.iter().copied().find(is_alone);
            namespaces.retain(|name| !is_alone(name));
            namespaces.extend(first_alone);
            Member { subject, namespaces: namespaces.into_iter().map(str::to_owned).collect() }
        });
        let members: Vec<Member> = members.collect();
        names.each_pair(&members, &mut |subject, _| {
            let number = subject as usize;
            if self.is_bound.len() <= number {
                self.is_bound.resize(number + 1, false);
            }
            self.is_bound.get_mut(number).into_iter().for_each(|is_bound| *is_bound = true);
        });
    }

    /// Whether a subject is in a binding of the inputs.
    pub(super) fn is_bound(&self, subject: u32) -> bool {
        self.is_bound.get(subject as usize) == Some(&true)
    }

    /// Returns the grants of a subject.
    fn held_by(&self, subject: u32, names: &NameTable) -> &[HeldGrant] {
        let rank = names.rank(subject);
        let start = self.held.partition_point(|held| names.rank(held.subject) < rank);
        let own = self.held.get(start..).map_or(&[][..], |held| held);
        let end = own.iter().take_while(|held| held.subject == subject).count();
        own.get(..end).map_or(&[], |own| own)
    }

    /// Adds permissions, and answers the questions for them.
    fn add_grant(&mut self, world: &World, shared: &SharedPermissions) -> Option<u32> {
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
        Some(internal::number(self.grants.len() - 1))
    }

    /// Iterates over the subjects with grants, each with its grants.
    fn subjects(&self) -> impl Iterator<Item = (u32, &[HeldGrant])> {
        let chunks = self.held.chunk_by(|left, right| left.subject == right.subject);
        chunks.filter_map(|own| Some((own.first()?.subject, own)))
    }

    /// Returns the number of subjects of the default policy alone.
    pub(super) fn of_default_policy(&self) -> usize {
        self.subjects().filter(|(subject, _)| !self.is_bound(*subject)).count()
    }

    /// Returns the classes of the subjects of the inputs, the most powerful first.
    pub(super) fn classes(
        &self,
        inputs: &TargetInputs<'_>,
        powers: &Powers,
        numbers: &mut ClassNumbers<'_>,
    ) -> Vec<SubjectAccess> {
        let mut classes: Vec<(Likeness, MemberNumbers)> =
            self.alike(powers, &numbers.names.table).into_iter().collect();
        classes.sort_by_cached_key(|((grants, positions, cells), members)| {
            let worst: Vec<_> = powers.at(positions).map(|power| Reverse(power.severity)).collect();
            let everywhere = cells.iter().filter(|cell| **cell == AccessCell::Everywhere).count();
            let allowed = cells.iter().filter(|cell| **cell != AccessCell::Nowhere).count();
            let first = members.iter(&numbers.names.table).next().map(|member| member.subject.to_owned());
            (worst.is_empty(), worst, Reverse((everywhere, allowed, members.len())), first, grants.clone())
        });
        let class = |((grants, positions, cells), members): (Likeness, MemberNumbers)| {
            let grants = grants.iter().filter_map(|(grant, namespaces)| {
                let access = &self.grants.get(*grant as usize)?.access;
                Some(GrantedAccess { namespaces: access.namespaces.map(|_| *namespaces), ..access.clone() })
            });
            let powers = powers.at(&positions).cloned().collect();
            SubjectAccess { class: numbers.number(inputs, members), grants: grants.collect(), powers, cells }
        };
        classes.into_iter().map(class).collect()
    }

    /// Returns the subjects of the inputs by their common properties.
    fn alike(&self, powers: &Powers, names: &NameTable) -> BTreeMap<Likeness, MemberNumbers> {
        let mut classes: BTreeMap<Likeness, MemberNumbers> = BTreeMap::new();
        for (subject, own) in self.subjects().filter(|(subject, _)| self.is_bound(*subject)) {
            let in_namespaces = |held: &[HeldGrant]| held.iter().filter(|held| held.namespace != self.whole).count();
            let grants = own.chunk_by(|left, right| left.grant == right.grant);
            let grants = grants.filter_map(|held| Some((held.first()?.grant, in_namespaces(held))));
            let likeness = (grants.collect(), powers.of(subject).collect(), self.cells(subject, own, names));
            let is_wide = in_namespaces(own) < own.len();
            let namespaces = own.iter().filter(|_| !is_wide).map(|held| held.namespace);
            classes.entry(likeness).or_default().push(subject, sorted(namespaces, names));
        }
        classes
    }

    /// Answers the questions for a subject with its implied groups, as `can-i` does.
    fn cells(&self, subject: u32, own: &[HeldGrant], names: &NameTable) -> Vec<AccessCell> {
        let groups = identity_of_subject(names.get(subject)).map_or_else(Vec::new, |who| who.groups);
        let groups = groups.iter().filter_map(|group| names.find(&format!("Group/{group}")));
        let of_groups = groups.filter(|group| *group != subject).flat_map(|group| self.held_by(group, names));
        let all: Vec<&HeldGrant> = own.iter().chain(of_groups).collect();
        (0..self.questions.len()).map(|question| self.cell(question, &all, names)).collect()
    }

    fn cell(&self, question: usize, held: &[&HeldGrant], names: &NameTable) -> AccessCell {
        let is_allowed = |held: &&&HeldGrant| {
            let grant = self.grants.get(held.grant as usize);
            grant.and_then(|grant| grant.answers.get(question)).is_some_and(|answer| *answer)
        };
        let allowed = || held.iter().filter(is_allowed).map(|held| held.namespace);
        if allowed().any(|namespace| namespace == self.whole) {
            return AccessCell::Everywhere;
        }
        match sorted(allowed(), names).len() {
            0 => AccessCell::Nowhere,
            count => AccessCell::Namespaces { count },
        }
    }
}

/// Returns numbers of names in the order of names, each once.
fn sorted(numbers: impl Iterator<Item = u32>, names: &NameTable) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable_by_key(|number| names.rank(*number));
    numbers.dedup();
    numbers
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
