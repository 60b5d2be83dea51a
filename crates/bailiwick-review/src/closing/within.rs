//! Whether a smaller change has no effect that the reviewed change does not have.

use bailiwick_access::cover;
use bailiwick_analysis::subject_classes::Member;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_paths::Power;

use crate::access::AccessDelta;
use crate::assembly::Sections;
use crate::lifetimes::LifetimeDelta;
use crate::paths::PathDelta;
use crate::pods::PodDelta;
use crate::record::{NodeChange, Scope};

/// Whether every effect of a smaller change is an effect of the reviewed change, and every failing test fails there, too.
pub(super) fn is_within(smaller: &Sections<'_>, whole: &Sections<'_>) -> bool {
    smaller.access.iter().all(|delta| is_access_of(delta, &whole.access))
        && smaller.paths.iter().filter(|delta| delta.is_new()).all(|delta| is_path_of(delta, &whole.paths))
        && smaller.pods.iter().all(|delta| whole.pods.iter().any(|own| is_same_pod_change(own, delta)))
        && smaller.nodes.iter().all(|change| is_reach_of(change, &whole.nodes))
        && smaller.applier.iter().all(|change| whole.applier.contains(change))
        && smaller.hazards.iter().all(|hazard| whole.hazards.contains(hazard))
        && smaller.lifetimes.iter().all(|delta| whole.lifetimes.iter().any(|own| is_same_lifetime(own, delta)))
        && smaller.tests.is_within(&whole.tests)
        && smaller.has_only_unknowns_of(whole)
}

/// Whether the reviewed change gives, or takes, the rights of a change of access.
fn is_access_of(delta: &AccessDelta, whole: &[AccessDelta]) -> bool {
    let own = |target: &String, subject: &str, namespace: Option<&String>| -> Vec<PolicyRule> {
        let has = |one: &&AccessDelta| {
            let is_there = |member: &Member| {
                member.subject == subject
                    && (one.scope == Scope::Cluster || namespace.is_some_and(|name| member.namespaces.contains(name)))
            };
            one.change == delta.change && one.targets.contains(target) && one.members.iter().any(is_there)
        };
        whole.iter().filter(has).flat_map(|one| one.atoms.clone()).collect()
    };
    let is_covered = |target: &String, subject: &str, namespace: Option<&String>| {
        cover::uncovered(&own(target, subject, namespace), &delta.atoms).is_empty()
    };
    delta.targets.iter().all(|target| {
        delta.members.iter().all(|member| match delta.scope {
            Scope::Cluster => is_covered(target, &member.subject, None),
            Scope::Namespaces => member.namespaces.iter().all(|name| is_covered(target, &member.subject, Some(name))),
        })
    })
}

/// Whether the members of a path have a new path to the power, or to a power that includes it, by the reviewed change.
fn is_path_of(delta: &PathDelta, whole: &[PathDelta]) -> bool {
    let power = |delta: &PathDelta| delta.reaches.parse::<Power>().ok();
    let includes = |one: &PathDelta| power(one).zip(power(delta)).is_some_and(|(own, power)| own.includes(&power));
    let is_alike = |one: &PathDelta| one.shape.first() == delta.shape.first() || includes(one);
    delta.targets.iter().all(|target| {
        delta.members.iter().all(|member| {
            whole.iter().any(|one| {
                one.is_new()
                    && one.certainty <= delta.certainty
                    && one.targets.contains(target)
                    && is_alike(one)
                    && one.members.iter().any(|own| own.subject == member.subject)
            })
        })
    })
}

/// Whether a node reaches no more than by the reviewed change.
fn is_reach_of(change: &NodeChange, whole: &[NodeChange]) -> bool {
    whole.iter().any(|own| {
        (&own.target, &own.nodes, &own.kind) == (&change.target, &change.nodes, &change.kind)
            && change.gained.iter().all(|name| own.gained.contains(name))
            && change.lost.iter().all(|name| own.lost.contains(name))
    })
}

/// Whether two changes of pods differ in their causes alone.
fn is_same_pod_change(left: &PodDelta, right: &PodDelta) -> bool {
    let key = |delta: &PodDelta| (delta.kind, delta.direction, delta.severity);
    let names = |delta: &PodDelta| [&delta.refused, &delta.admitted, &delta.details].map(Vec::clone);
    key(left) == key(right)
        && (&left.target, &left.namespaces, &left.before, &left.after)
            == (&right.target, &right.namespaces, &right.before, &right.after)
        && names(left) == names(right)
}

/// Whether two changes of lifetimes differ in their causes and severities alone.
fn is_same_lifetime(left: &LifetimeDelta, right: &LifetimeDelta) -> bool {
    (left.kind, &left.grant, left.before, left.after) == (right.kind, &right.grant, right.before, right.after)
}
