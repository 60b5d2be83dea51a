//! The effects of a review in one list, the worst first, each with its words: the line of the verdict and the approvals use the list.

use bailiwick_admission::level::Level;
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_workspace::words::{number, rule_text};

use super::approvals::{ApprovableEffect, GainedPermission};
use super::record::{
    AccessChange, ChangeCertainty, ChangeReview, Direction, EffectChange, EffectSeverity, Hazard, HazardKind,
    PathChangeKind, PodChange, PodChangeKind, Scope,
};

/// Returns the effects of a review, the worst first. Of equally bad ones a path comes before the access that opens it.
pub(super) fn effects(review: &ChangeReview, has_other_rules: bool) -> Vec<ApprovableEffect> {
    let mut all: Vec<ApprovableEffect> = Vec::new();
    let paths = review.paths.iter().filter(|path| path.change != PathChangeKind::Gone);
    all.extend(paths.map(|path| ApprovableEffect {
        targets: path.targets.clone(),
        becomes: path.reaches.parse().ok().into_iter().collect(),
        ..ApprovableEffect::new(format!("{} becomes {}", members(review, path.class), path.reaches), path.severity)
    }));
    all.extend(review.effects.iter().map(|effect| access(review, effect)));
    all.extend(review.hazards.iter().filter(|hazard| hazard.severity > EffectSeverity::Info).map(hazard));
    all.extend(review.pods.iter().map(pod));
    all.extend(review.lifetimes.iter().map(|lifetime| {
        let until = match &lifetime.after {
            Some(day) => day,
            None => "no last day",
        };
        let words = format!("the {} `{}` lasts until {until}", lifetime.kind, lifetime.grant);
        ApprovableEffect::new(words, lifetime.severity)
    }));
    all.extend(review.nodes.iter().map(|node| {
        let words = format!("{} of kind {} come within reach of {}", node.gained.len(), node.kind, node.nodes);
        ApprovableEffect { targets: vec![node.target.clone()], ..ApprovableEffect::new(words, node.severity) }
    }));
    all.extend(disarming(review, has_other_rules));
    // A stable sort keeps the order of the sections among equally bad effects.
    all.sort_by_key(|effect| std::cmp::Reverse(effect.severity));
    all
}

/// Returns the effects on tests, accepted findings and approvals. One that hides nothing of this change has no severity: the
/// built-in rules ask for no approval of it.
fn disarming(review: &ChangeReview, has_other_rules: bool) -> Vec<ApprovableEffect> {
    let tests = &review.tests;
    // An obsolete expectation fails because its namespaces are gone.
    let obsolete = tests.obsolete.iter().map(|obsolete| (&obsolete.test, false));
    let removed = tests.removed.iter().map(|removed| (&removed.test, removed.would_fail)).chain(obsolete);
    let removed = removed.map(|(test, would_fail)| {
        let how = if would_fail { " that would fail" } else { "" };
        (format!("the AccessTest `{test}` loses an expectation{how}"), would_fail)
    });
    let accepted = tests.accepted.iter().map(|accepted| {
        let what = if accepted.hides_new { "a new finding" } else { "the finding" };
        (format!("{what} `{}` is accepted", accepted.code), accepted.hides_new)
    });
    let rules = has_other_rules.then(|| ("an ApprovalPolicy changes".to_owned(), true));
    let effects = removed.chain(accepted).chain(rules).map(|(words, is_bad)| {
        let severity = if is_bad { EffectSeverity::High } else { EffectSeverity::None };
        ApprovableEffect { disarms: true, ..ApprovableEffect::new(words, severity) }
    });
    effects.collect()
}

fn members(review: &ChangeReview, class: usize) -> String {
    let class = review.classes.get(class);
    class.map_or_else(String::new, |class| match class.count {
        1 => class.template.clone(),
        // A template without a star or a column has every name.
        _ if !class.template.contains(['*', '{']) => class.template.clone(),
        count => format!("{} ({})", class.template, number(count, "subject")),
    })
}

fn access(review: &ChangeReview, effect: &AccessChange) -> ApprovableEffect {
    let is_gain = effect.change == EffectChange::Gained;
    let what = match &effect.role {
        Some(role) => role.clone(),
        None => effect.rights.iter().take(1).map(rule_text).collect(),
    };
    let more = match effect.rights.len() {
        0 | 1 => String::new(),
        _ if effect.role.is_some() => String::new(),
        count => format!(" and {}", number(count - 1, "other right")),
    };
    let scope = if effect.scope == Scope::Cluster { ", cluster-wide" } else { "" };
    let verb = if is_gain { "gains" } else { "loses" };
    let words = format!("{} {verb} {what}{more}{scope}", members(review, effect.class));
    let is_cluster_wide = effect.scope == Scope::Cluster;
    let rights = effect.rights.iter().filter(|_| is_gain).flat_map(PolicyRule::atoms);
    let namespaces = review.classes.get(effect.class).map_or(0, |class| {
        let all = class.members.iter().flat_map(|member| member.namespaces());
        all.collect::<std::collections::BTreeSet<_>>().len()
    });
    ApprovableEffect {
        targets: effect.targets.clone(),
        gained: rights.map(|atom| permission(&atom, is_cluster_wide)).collect(),
        namespaces,
        ..ApprovableEffect::new(words, effect.severity)
    }
}

fn permission(atom: &PolicyRule, is_cluster_wide: bool) -> GainedPermission {
    let first = |list: &[String]| absent::text(list.first().map(String::as_str)).to_owned();
    let resource = if atom.resources.is_empty() { first(&atom.non_resource_urls) } else { first(&atom.resources) };
    GainedPermission { verb: first(&atom.verbs), group: first(&atom.api_groups), resource, is_cluster_wide }
}

fn hazard(hazard: &Hazard) -> ApprovableEffect {
    let words = match hazard.kind {
        HazardKind::NamespaceDeleted => format!("{} deleted", number(hazard.namespaces.len(), "namespace")),
        _ => hazard.message.clone(),
    };
    ApprovableEffect {
        targets: hazard.targets.clone(),
        hazard: Some(hazard.kind),
        disarms: hazard.kind == HazardKind::SettingChanged,
        namespaces: hazard.namespaces.len(),
        ..ApprovableEffect::new(words, hazard.severity)
    }
}

fn pod(change: &PodChange) -> ApprovableEffect {
    let what = match change.kind {
        PodChangeKind::Level => "the Pod Security level",
        PodChangeKind::Profile => "the profile",
        PodChangeKind::Psp => "the PodSecurityPolicy",
        PodChangeKind::Scc => "the SecurityContextConstraints",
        PodChangeKind::Policy => "an admission policy",
        PodChangeKind::Workload => "the admission of workloads",
    };
    let is_possible = change.certainty == ChangeCertainty::Possible;
    let how = match change.direction {
        Direction::Wider if is_possible => "may admit more",
        Direction::Wider => "admits more",
        Direction::Narrower if is_possible => "may admit less",
        Direction::Narrower => "admits less",
        Direction::Order => "is tried in another order",
        _ if is_possible => "may admit other pods",
        _ => "admits other pods",
    };
    let place = match change.namespaces.as_slice() {
        [] => String::new(),
        [name] => format!(" in {name}"),
        names => format!(" in {}", number(names.len(), "namespace")),
    };
    let level = change.after.as_deref().filter(|_| change.kind == PodChangeKind::Level);
    let level = level.and_then(|level| Level::parse(level.split_once(':')?.0));
    ApprovableEffect {
        targets: vec![change.target.clone()],
        pod_levels: level.into_iter().collect(),
        namespaces: change.namespaces.len(),
        ..ApprovableEffect::new(format!("{what}{place} {how}"), change.severity)
    }
}
