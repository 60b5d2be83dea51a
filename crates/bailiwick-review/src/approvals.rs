//! The approvals that a change needs, by the rules of the earlier state.
//!
//! The effects of a change come as plain data, one [`ApprovableEffect`] for each. The caller has the names
//! of the approvers; nothing is asked for over the network.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_admission::level::Level;
use bailiwick_paths::Power;
use bailiwick_policy::model::{
    ApprovalCondition, ApprovalRule, Approver, EffectSeverity, GainedPermissions, HazardKind, PolicyMeta, Target,
};
use bailiwick_workspace::words::number;
use bailiwick_yaml::diag::Files;

use super::record::{ApprovalState, NeededApproval};

/// The approver of the built-in rules.
const ANY_REVIEW: &str = "a review";

/// An effect of a change: gained or lost permissions, a path, a change of pods, a hazard or a change of tests.
#[derive(Debug, Clone)]
pub struct ApprovableEffect {
    /// The effect in words, such as `Group/sre becomes cluster-admin`.
    pub words: String,
    /// The names of the targets; empty for an effect on no target in particular.
    pub targets: Vec<String>,
    /// How bad it is.
    pub severity: EffectSeverity,
    /// The gained permissions.
    pub gained: Vec<GainedPermission>,
    /// The newly reached powers.
    pub becomes: Vec<Power>,
    /// The owners of the grants of the lost permissions.
    pub owners: Vec<String>,
    /// The new Pod Security levels of namespaces.
    pub pod_levels: Vec<Level>,
    /// The danger of the application, for an effect of this kind.
    pub hazard: Option<HazardKind>,
    /// Whether an expectation of a test is removed or narrower, a warning newly accepted, or an ApprovalPolicy or a setting changed.
    pub disarms: bool,
    /// The number of affected namespaces.
    pub namespaces: usize,
}

/// A verb on a resource that a subject gains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GainedPermission {
    /// The verb; `*` is every verb.
    pub verb: String,
    /// The API group; `*` is every group.
    pub group: String,
    /// The resource, with its subresource; `*` is every resource.
    pub resource: String,
    /// Whether it is for the whole cluster.
    pub is_cluster_wide: bool,
}

impl ApprovableEffect {
    /// Returns an effect without permissions, powers and hazards.
    pub fn new(words: impl Into<String>, severity: EffectSeverity) -> Self {
        Self {
            words: words.into(),
            targets: Vec::new(),
            severity,
            gained: Vec::new(),
            becomes: Vec::new(),
            owners: Vec::new(),
            pod_levels: Vec::new(),
            hazard: None,
            disarms: false,
            namespaces: 0,
        }
    }
}

impl ApprovalState {
    /// Evaluates the rules of the earlier state for the effects of a change, the worst first. `given` has the names of
    /// the approvers so far, a team once for each approval of a member. Without rules the built-in ones apply.
    pub fn new(rules: &[&ApprovalRule], effects: &[ApprovableEffect], given: &[String], files: &Files) -> Self {
        let needed =
            if rules.is_empty() { built_in(effects).into_iter().collect() } else { needed(rules, effects, files) };
        let missing: BTreeSet<String> = needed.iter().flat_map(|needed| missing(needed, given)).collect();
        Self { needed, given: given.to_vec(), missing: missing.into_iter().collect() }
    }

    /// Whether no approval is missing.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns the possible approvers as a list in words, sorted; empty if no approval is needed.
    pub fn approvers(&self) -> String {
        let names = self.needed.iter().flat_map(|needed| match needed.approvers.as_slice() {
            [] => vec![ANY_REVIEW],
            names => names.iter().map(String::as_str).collect(),
        });
        let names: BTreeSet<&str> = names.collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }
}

/// Whether the ApprovalPolicies of two states differ.
pub fn have_rules_changed(base: &[&ApprovalRule], head: &[&ApprovalRule]) -> bool {
    let is_same = |left: &ApprovalRule, right: &ApprovalRule| {
        left.when == right.when
            && left.needs == right.needs
            && left.count == right.count
            && left.policy.targets == right.policy.targets
    };
    let has_all = |rules: &[&ApprovalRule], others: &[&ApprovalRule]| {
        rules.iter().all(|rule| others.iter().any(|other| is_same(rule, other)))
    };
    !has_all(base, head) || !has_all(head, base)
}

/// Returns the rules of the earlier state, `before`, for the targets of the reviewed state: the globs of a rule
/// match a target that the change adds, too. A new target can also be a renamed one, so that each rule of a target that is gone is
/// a rule of every new target.
pub(super) fn on_targets_of(rules: &[&ApprovalRule], before: &[Target], after: &[Target]) -> Vec<ApprovalRule> {
    let has = |targets: &[Target], name: &str| targets.iter().any(|target| target.name == name);
    let new: Vec<&String> = after.iter().map(|target| &target.name).filter(|name| !has(before, name)).collect();
    let on_new = |rule: &ApprovalRule| {
        let is_of_gone = rule.policy.targets.iter().any(|name| !has(after, name));
        let matches = |name: &String| rule.targets.iter().any(|glob| glob.compile_matcher().is_match(name));
        let found = new.iter().copied().filter(|name| is_of_gone || rule.targets.is_empty() || matches(name));
        let targets: BTreeSet<String> = rule.policy.targets.iter().chain(found).cloned().collect();
        let policy = PolicyMeta { targets: Arc::new(targets), ..rule.policy.clone() };
        ApprovalRule { policy, ..rule.clone() }
    };
    rules.iter().map(|rule| on_new(rule)).collect()
}

/// Returns the approval of the built-in rules: a review of effects of high severity. A disarmed test has it if it would fail.
fn built_in(effects: &[ApprovableEffect]) -> Option<NeededApproval> {
    let reviewed = effects.iter().filter(|effect| effect.severity >= EffectSeverity::High);
    approval(reviewed.collect(), Vec::new(), 1, None)
}

fn needed(rules: &[&ApprovalRule], effects: &[ApprovableEffect], files: &Files) -> Vec<NeededApproval> {
    let mut all = Vec::new();
    for rule in rules {
        let file = files.get(rule.origin.file);
        let place = format!("{}:{}", file.path(), file.line_column(rule.origin.span.start).line);
        let matching = effects.iter().filter(|effect| applies(rule, effect));
        // The effects on each owner need that owner.
        let mut groups: Vec<(Vec<String>, Vec<&ApprovableEffect>)> = Vec::new();
        for effect in matching {
            for approvers in approvers(rule, effect) {
                match groups.iter_mut().find(|(known, _)| *known == approvers) {
                    Some((_, effects)) => effects.push(effect),
                    None => groups.push((approvers, vec![effect])),
                }
            }
        }
        let found = groups
            .into_iter()
            .filter_map(|(approvers, effects)| approval(effects, approvers, rule.count, Some(&place)));
        all.extend(found);
    }
    all
}

fn approval(
    effects: Vec<&ApprovableEffect>,
    approvers: Vec<String>,
    count: usize,
    rule: Option<&str>,
) -> Option<NeededApproval> {
    let (first, further) = effects.split_first()?;
    let why = match further.len() {
        0 => first.words.clone(),
        more => format!("{}, and {}", first.words, number(more, "further effect")),
    };
    Some(NeededApproval { approvers, count, rule: rule.map(str::to_owned), why })
}

fn applies(rule: &ApprovalRule, effect: &ApprovableEffect) -> bool {
    let is_here = effect.targets.is_empty() || effect.targets.iter().any(|target| rule.policy.targets.contains(target));
    is_here && matches(&rule.when, effect)
}

/// Whether an effect meets every part of a condition.
fn matches(when: &ApprovalCondition, effect: &ApprovableEffect) -> bool {
    let becomes = || effect.becomes.iter().any(|own| when.becomes.iter().any(|power| power.is_in(own)));
    let gains = |gains: &GainedPermissions| effect.gained.iter().any(|gained| has_gained(gains, gained));
    (when.becomes.is_empty() || becomes())
        && when.severity.is_none_or(|least| effect.severity >= least)
        && when.gains.as_ref().is_none_or(gains)
        && (when.loses_of.is_none() || !matching_owners(when, effect).is_empty())
        && when.pod_level.is_none_or(|level| effect.pod_levels.contains(&level))
        && (when.hazards.is_empty() || effect.hazard.is_some_and(|hazard| when.hazards.contains(&hazard)))
        && when.disarms.is_none_or(|disarms| effect.disarms == disarms)
        && when.more_namespaces.is_none_or(|more| effect.namespaces > more)
}

fn has_gained(gains: &GainedPermissions, gained: &GainedPermission) -> bool {
    let is_verb = |verb: &String| *verb == gained.verb || gained.verb == "*" || verb == "*";
    (gains.verbs.is_empty() || gains.verbs.iter().any(is_verb))
        && (gains.resources.is_empty()
            || gains.resources.iter().any(|resource| resource.matches(&gained.group, &gained.resource)))
        && gains.cluster_wide.is_none_or(|wide| wide == gained.is_cluster_wide)
}

/// Returns the lists of approvers of a rule for an effect: one for each owner, if the rule needs the owner.
fn approvers(rule: &ApprovalRule, effect: &ApprovableEffect) -> Vec<Vec<String>> {
    let named = |owner: Option<&String>| -> Vec<String> {
        let names = rule.needs.iter().filter_map(|approver| match approver {
            Approver::Name(name) => Some(name.clone()),
            Approver::Owner => owner.cloned(),
        });
        names.collect()
    };
    if !rule.needs.contains(&Approver::Owner) {
        return vec![named(None)];
    }
    matching_owners(&rule.when, effect).into_iter().map(|owner| named(Some(owner))).collect()
}

/// Returns the owners of lost permissions that a condition is about.
fn matching_owners<'e>(when: &ApprovalCondition, effect: &'e ApprovableEffect) -> Vec<&'e String> {
    let Some(glob) = when.loses_of.as_ref().filter(|_| !effect.owners.is_empty()) else { return Vec::new() };
    let matcher = glob.compile_matcher();
    effect.owners.iter().filter(|owner| matcher.is_match(owner)).collect()
}

/// Returns the approvers to ask, if too few of them have approved.
fn missing(needed: &NeededApproval, given: &[String]) -> Vec<String> {
    if needed.approvers.is_empty() {
        return if given.is_empty() { vec![ANY_REVIEW.to_owned()] } else { Vec::new() };
    }
    let given_by = |name: &String| given.iter().filter(|given| Approver::is_same(given, name)).count();
    let count = |name: &String| if Approver::is_team(name) { given_by(name) } else { given_by(name).min(1) };
    if needed.approvers.iter().map(count).sum::<usize>() >= needed.count {
        return Vec::new();
    }
    let is_open = |name: &&String| Approver::is_team(name) || given_by(name) == 0;
    needed.approvers.iter().filter(is_open).cloned().collect()
}

#[cfg(test)]
mod tests {
    use bailiwick_policy::model::ResourcePattern;
    use bailiwick_yaml::diag::{Origin, Span};

    use super::*;

    fn files() -> (Files, Origin) {
        let files = Files::new();
        let file = files.add("policies/approvals.yaml", "a\nb\nc\n");
        (files, Origin { file, span: Span::new(2, 3) })
    }

    fn rule(origin: Origin, when: ApprovalCondition, needs: &[&str], count: usize) -> ApprovalRule {
        let approver = |name: &&str| if *name == "{owner}" { Approver::Owner } else { Approver::Name((*name).into()) };
        let targets = Arc::new(["prod".to_owned()].into());
        let policy = PolicyMeta {
            kind: "ApprovalPolicy",
            name: "default".into(),
            origin,
            targets,
            common_metadata: Arc::default(),
        };
        let needs = needs.iter().map(approver).collect();
        ApprovalRule { when, needs, count, targets: Vec::new(), origin, policy }
    }

    fn effect(severity: EffectSeverity) -> ApprovableEffect {
        ApprovableEffect { targets: vec!["prod".to_owned()], ..ApprovableEffect::new("an effect", severity) }
    }

    fn pattern(text: &str) -> bailiwick_policy::model::PowerPattern {
        bailiwick_policy::model::PowerPattern::parse(text).expect("a power")
    }

    fn power(text: &str) -> Power {
        text.parse().expect("a power")
    }

    fn gained(verb: &str, resource: &str, is_cluster_wide: bool) -> ApprovableEffect {
        let permission =
            GainedPermission { verb: verb.into(), group: String::new(), resource: resource.into(), is_cluster_wide };
        ApprovableEffect { gained: vec![permission], ..effect(EffectSeverity::Low) }
    }

    /// Returns the state of one rule with the approver `@example/security` for one effect.
    fn needs(when: ApprovalCondition, effect: ApprovableEffect) -> bool {
        let (files, origin) = files();
        let rule = rule(origin, when, &["@example/security"], 1);
        !ApprovalState::new(&[&rule], &[effect], &[], &files).needed.is_empty()
    }

    #[test]
    fn built_in_rules_ask_for_a_review_of_what_is_bad() {
        let (files, _) = files();
        let state = |effects: &[ApprovableEffect], given: &[&str]| {
            let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
            ApprovalState::new(&[], effects, &given, &files)
        };
        let hazard = |kind, severity| ApprovableEffect { hazard: Some(kind), ..effect(severity) };
        let disarmed = ApprovableEffect { disarms: true, ..effect(EffectSeverity::None) };
        assert_eq!(state(std::slice::from_ref(&disarmed), &[]), ApprovalState::default());
        let disarmed = ApprovableEffect { severity: EffectSeverity::High, ..disarmed };
        for bad in [
            effect(EffectSeverity::High),
            effect(EffectSeverity::Critical),
            hazard(HazardKind::NamespaceDeleted, EffectSeverity::High),
            disarmed,
        ] {
            let open = state(&[effect(EffectSeverity::Low), bad.clone()], &[]);
            assert_eq!((open.approvers().as_str(), open.is_complete()), ("a review", false), "{bad:?}");
            assert_eq!(open.missing, ["a review"]);
            assert!(state(&[bad], &["ann"]).is_complete());
        }
        let good = [effect(EffectSeverity::Medium), hazard(HazardKind::BindingReplaced, EffectSeverity::Info)];
        assert_eq!(state(&good, &[]), ApprovalState::default());
    }

    #[test]
    fn each_part_of_a_condition_is_compared() {
        let when = ApprovalCondition::default;
        let becomes = |text| ApprovalCondition { becomes: vec![pattern("nodes"), pattern(text)], ..when() };
        let reaching = |text| ApprovableEffect { becomes: vec![power(text)], ..effect(EffectSeverity::High) };
        assert!(needs(becomes("namespace-admin"), reaching("namespace-admin:shop")));
        assert!(needs(becomes("secrets:shop"), reaching("cluster-admin")));
        assert!(!needs(becomes("secrets:shop"), reaching("secrets:other")));

        let severe = |severity| ApprovalCondition { severity: Some(severity), ..when() };
        assert!(needs(severe(EffectSeverity::High), effect(EffectSeverity::Critical)));
        assert!(!needs(severe(EffectSeverity::High), effect(EffectSeverity::Medium)));

        let gains = |cluster_wide| ApprovalCondition {
            gains: Some(GainedPermissions {
                verbs: vec!["get".into(), "list".into()],
                resources: vec![ResourcePattern::parse("secrets")],
                cluster_wide,
            }),
            ..when()
        };
        assert!(needs(gains(Some(true)), gained("list", "secrets", true)));
        assert!(needs(gains(None), gained("*", "*", false)));
        assert!(!needs(gains(Some(true)), gained("list", "secrets", false)));
        assert!(!needs(gains(None), gained("create", "secrets", true)));
        assert!(!needs(gains(None), gained("get", "pods", true)));

        let level = ApprovalCondition { pod_level: Some(Level::Privileged), ..when() };
        let to = |level| ApprovableEffect { pod_levels: vec![level], ..effect(EffectSeverity::High) };
        assert!(needs(level.clone(), to(Level::Privileged)) && !needs(level, to(Level::Baseline)));

        let hazard = ApprovalCondition { hazards: vec![HazardKind::LockOut], ..when() };
        let of = |kind| ApprovableEffect { hazard: Some(kind), ..effect(EffectSeverity::High) };
        assert!(needs(hazard.clone(), of(HazardKind::LockOut)) && !needs(hazard, of(HazardKind::CrdDeleted)));

        let disarms = ApprovalCondition { disarms: Some(true), ..when() };
        let disarmed = ApprovableEffect { disarms: true, ..effect(EffectSeverity::None) };
        assert!(needs(disarms.clone(), disarmed) && !needs(disarms, effect(EffectSeverity::Critical)));

        let many = ApprovalCondition { more_namespaces: Some(100), ..when() };
        let about = |namespaces| ApprovableEffect { namespaces, ..effect(EffectSeverity::Info) };
        assert!(needs(many.clone(), about(101)) && !needs(many, about(100)));
    }

    #[test]
    fn one_effect_meets_all_parts() {
        let (files, origin) = files();
        let when = ApprovalCondition {
            severity: Some(EffectSeverity::High),
            becomes: vec![pattern("nodes")],
            ..ApprovalCondition::default()
        };
        let rule = rule(origin, when, &["@a"], 1);
        let reaching = ApprovableEffect { becomes: vec![power("nodes")], ..effect(EffectSeverity::Medium) };
        let apart = [effect(EffectSeverity::Critical), reaching.clone()];
        assert!(ApprovalState::new(&[&rule], &apart, &[], &files).needed.is_empty());
        let both = [ApprovableEffect { severity: EffectSeverity::High, ..reaching }];
        assert_eq!(ApprovalState::new(&[&rule], &both, &[], &files).needed.len(), 1);
    }

    #[test]
    fn a_rule_is_about_the_targets_of_its_policy() {
        let when = || ApprovalCondition { severity: Some(EffectSeverity::Low), ..ApprovalCondition::default() };
        let on = |targets: &[&str]| ApprovableEffect {
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            ..effect(EffectSeverity::High)
        };
        assert!(needs(when(), on(&["test", "prod"])) && needs(when(), on(&[])));
        assert!(!needs(when(), on(&["test"])));
    }

    #[test]
    fn every_matching_rule_asks_with_its_place() {
        let (files, origin) = files();
        let severe = ApprovalCondition { severity: Some(EffectSeverity::High), ..ApprovalCondition::default() };
        let becomes = ApprovalCondition { becomes: vec![pattern("nodes")], ..ApprovalCondition::default() };
        let rules = [rule(origin, severe, &["@b", "@a"], 1), rule(origin, becomes, &["@example/security"], 2)];
        let effects = [
            ApprovableEffect { becomes: vec![power("cluster-admin")], ..effect(EffectSeverity::Critical) },
            ApprovableEffect { words: "another".into(), ..effect(EffectSeverity::High) },
        ];
        let state = ApprovalState::new(&rules.iter().collect::<Vec<_>>(), &effects, &["@A".into()], &files);
        assert_eq!(state.approvers(), "@a, @b, @example/security");
        let asked: Vec<_> = state.needed.iter().map(|needed| (needed.count, needed.why.as_str())).collect();
        assert_eq!(asked, [(1, "an effect, and 1 further effect"), (2, "an effect")]);
        assert!(state.needed.iter().all(|needed| needed.rule.as_deref() == Some("policies/approvals.yaml:2")));
        assert_eq!(state.missing, ["@example/security"]);
    }

    #[test]
    fn owners_approve_their_own_losses() {
        let (files, origin) = files();
        let loses_of = bailiwick_policy::source::glob::compile("platform@*", false).ok();
        let when = ApprovalCondition { loses_of, ..ApprovalCondition::default() };
        let rule = rule(origin, when, &["{owner}"], 1);
        let lost = |owners: &[&str]| ApprovableEffect {
            owners: owners.iter().map(|owner| (*owner).to_owned()).collect(),
            ..effect(EffectSeverity::None)
        };
        let effects = [lost(&["shop@example.org", "platform@example.org"]), lost(&["platform@example.com"]), lost(&[])];
        let state = ApprovalState::new(&[&rule], &effects, &["platform@example.com".into()], &files);
        assert_eq!(state.approvers(), "platform@example.com, platform@example.org");
        assert_eq!(state.missing, ["platform@example.org"]);
    }

    #[test]
    fn approvers_are_compared_and_counted() {
        let complete = |needs: &[&str], count, given: &[&str]| {
            let (files, origin) = files();
            let when = ApprovalCondition { severity: Some(EffectSeverity::Low), ..ApprovalCondition::default() };
            let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
            let rule = rule(origin, when, needs, count);
            ApprovalState::new(&[&rule], &[effect(EffectSeverity::High)], &given, &files).is_complete()
        };
        assert!(complete(&["@Example/Security"], 1, &["@example/security"]));
        assert!(!complete(&["Ann"], 1, &["ann"]));
        assert!(!complete(&["@ann"], 1, &["ann"]));
        assert!(!complete(&["@ann"], 1, &[]));
        assert!(complete(&["@example/security"], 2, &["@example/security", "@example/security"]));
        assert!(!complete(&["@example/security"], 2, &["@example/security", "@bob"]));
        assert!(!complete(&["@ann", "@bob"], 2, &["@ann", "@ann"]));
        assert!(complete(&["@ann", "@bob", "@cy"], 2, &["@cy", "@ann"]));
    }

    #[test]
    fn changed_rules_are_found() {
        let (_, origin) = files();
        let of = |severity, count| {
            let when = ApprovalCondition { severity: Some(severity), ..ApprovalCondition::default() };
            rule(origin, when, &["@a"], count)
        };
        let (first, other, weaker) =
            (of(EffectSeverity::High, 2), of(EffectSeverity::Low, 1), of(EffectSeverity::High, 1));
        assert!(!have_rules_changed(&[&first, &other], &[&other, &first]));
        assert!(have_rules_changed(&[&first, &other], &[&first]));
        assert!(have_rules_changed(&[&first], &[&weaker]));
        assert!(have_rules_changed(&[&first], &[]));
    }
}
