//! The parts of a review in words.

use std::collections::BTreeMap;

use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_review::{
    AccessChange, ApplierChange, ChangeCertainty, Direction, EffectChange, EffectSeverity, GroundChange, GroundKind,
    Hazard, LifetimeChange, NodeChange, ObjectShape, PathChange, PathChangeKind, PodChange, PodChangeKind, PodWitness,
    ReviewedStep, Scope,
};
use bailiwick_workspace::words::in_group;
pub(super) use bailiwick_workspace::words::{grouped, number};

use super::phrase::{FilePlace, Phrase};
use super::view::{AlikePaths, MAXIMUM_NAMES, ReviewView};

/// Returns the number of files with a difference, and their targets; nothing for one file.
pub(super) fn files_of_shape(shape: &ObjectShape) -> Phrase {
    let count = match shape.count {
        1 => return Phrase::default(),
        count => Phrase::new(number(count, "file")),
    };
    let count = match shape.targets.as_slice() {
        [] | [_] => count,
        targets => count.words(" on ").names(targets.iter().map(String::as_str), MAXIMUM_NAMES),
    };
    count.words(", such as ")
}

/// The fewest lines of a created or deleted file that is described by the kinds of its objects.
const MINIMUM_DESCRIBED: usize = 40;

/// Returns the kinds of the objects of a long created or deleted file; none for another difference.
pub(super) fn whole_file(diff: &str) -> Option<Phrase> {
    let (words, sign) = match diff.lines().take(2).collect::<Vec<_>>().as_slice() {
        ["--- /dev/null", _] => ("a new file", '+'),
        [_, "+++ /dev/null"] => ("a deleted file", '-'),
        _ => return None,
    };
    if diff.lines().count() < MINIMUM_DESCRIBED {
        return None;
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let lines = diff.lines().filter_map(|line| line.strip_prefix(sign)?.strip_prefix("kind: "));
    lines.for_each(|kind| *kinds.entry(kind).or_default() += 1);
    let mut phrase = Phrase::new(format!("{words} with {}", number(kinds.values().sum(), "object")));
    for (position, (kind, count)) in kinds.iter().take(MAXIMUM_PARTS).enumerate() {
        let separator = if position == 0 { ": " } else { ", " };
        phrase = phrase.words(format!("{separator}{count} ")).name(*kind);
    }
    let more = kinds.len().saturating_sub(MAXIMUM_PARTS);
    Some(if more > 0 { phrase.words(format!(" and {}", number(more, "further kind"))) } else { phrase })
}

/// The most rules of an effect in a line.
const MAXIMUM_RULES: usize = 4;

/// The most verbs or resources of a rule in a line.
const MAXIMUM_PARTS: usize = 8;

/// The most details of an entry.
pub(super) const MAXIMUM_DETAILS: usize = 6;

/// An entry of a list, with the lines below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// How bad it is; none for an entry without a severity.
    pub(super) severity: Option<EffectSeverity>,
    /// The entry in one line.
    pub(super) text: Phrase,
    /// Further lines.
    pub(super) details: Vec<Phrase>,
}

impl Entry {
    /// Returns an entry of one line.
    pub(super) fn new(text: Phrase) -> Self {
        Self { severity: None, text, details: Vec::new() }
    }

    /// Returns the entry with a severity.
    pub(super) fn rated(self, severity: EffectSeverity) -> Self {
        Self { severity: Some(severity), ..self }
    }

    /// Returns the entry with a further line, unless the line is empty.
    pub(super) fn with(mut self, detail: Phrase) -> Self {
        if !detail.is_empty() {
            self.details.push(detail);
        }
        self
    }

    /// Returns the entry with the places of its causes.
    pub(super) fn because(self, places: Phrase) -> Self {
        if places.is_empty() { self } else { self.with(Phrase::new("because ").then(places)) }
    }
}

/// Returns ` on ` with the names of targets; empty without targets.
pub(super) fn on_targets(targets: &[String]) -> Phrase {
    if targets.is_empty() { Phrase::default() } else { Phrase::new(" on ").then(names(targets)) }
}

/// Returns the first names of a list.
pub(super) fn names(list: &[String]) -> Phrase {
    Phrase::default().names(list.iter().map(String::as_str), MAXIMUM_NAMES)
}

/// Returns the extent of an effect, with its targets.
pub(super) fn place_of(view: &ReviewView<'_>, effect: &AccessChange) -> Phrase {
    let place = match effect.scope {
        Scope::Cluster => Phrase::new("cluster-wide"),
        Scope::Namespaces => view.namespaces(effect.class),
    };
    place.then(on_targets(&effect.targets))
}

/// Returns the rights of an effect: the role with exactly these rights, or the rules.
pub(super) fn rights(effect: &AccessChange) -> Phrase {
    let mut phrase = match &effect.role {
        Some(role) => Phrase::default().name(role.as_str()),
        None => rules(&effect.rights),
    };
    if effect.own_names {
        phrase = phrase.words(" (each subject with its own names)");
    }
    match &effect.as_subject {
        Some(subject) => phrase.words(" (as ").name(subject.as_str()).words(" had)"),
        None => phrase,
    }
}

/// Returns the rules of an effect that has the name of a role; empty for an effect that has its rules in its line.
pub(super) fn rights_of_role(effect: &AccessChange) -> Phrase {
    if effect.role.is_none() {
        return Phrase::default();
    }
    let effect = AccessChange { role: None, as_subject: None, ..effect.clone() };
    rights(&effect)
}

/// Returns the first rules of a list in words, and the number of the others.
pub(crate) fn rules(rules: &[PolicyRule]) -> Phrase {
    let mut phrase = Phrase::default();
    for (index, rule) in rules.iter().take(MAXIMUM_RULES).enumerate() {
        phrase = phrase.words(if index > 0 { "; " } else { "" }).then(rule_phrase(rule));
    }
    let more = rules.len().saturating_sub(MAXIMUM_RULES);
    phrase.words(if more > 0 { format!(" and {}", number(more, "further rule")) } else { String::new() })
}

/// Returns a rule in words: its verbs on its resources or URLs, with the names.
fn rule_phrase(rule: &PolicyRule) -> Phrase {
    let list = |list: &[String]| Phrase::default().names(list.iter().map(String::as_str), MAXIMUM_PARTS);
    let phrase = list(&rule.verbs).words(" on ");
    if !rule.non_resource_urls.is_empty() {
        return phrase.then(list(&rule.non_resource_urls));
    }
    let phrase = match rule.api_groups.as_slice() {
        [group] if !group.is_empty() && group != "*" => {
            let resources: Vec<String> = rule.resources.iter().map(|name| in_group(name, group)).collect();
            phrase.then(list(&resources))
        }
        [group] if group.is_empty() => phrase.then(list(&rule.resources)),
        groups => {
            let core = |group: &String| if group.is_empty() { "core".to_owned() } else { group.clone() };
            let groups: Vec<String> = groups.iter().map(core).collect();
            phrase.then(list(&rule.resources)).words(" in the API groups ").then(list(&groups))
        }
    };
    if rule.resource_names.is_empty() { phrase } else { phrase.words(" named ").then(list(&rule.resource_names)) }
}

/// Returns an effect in one line without its place.
pub(super) fn effect(view: &ReviewView<'_>, effect: &AccessChange) -> Phrase {
    let word = match effect.change {
        EffectChange::Gained => " gains ",
        EffectChange::Lost => " loses ",
    };
    view.who(effect.class).words(word).then(rights(effect))
}

/// Returns the powers behind an effect.
pub(super) fn opens(effect: &AccessChange) -> Phrase {
    names(&effect.opens)
}

/// Returns a path in one line.
pub(super) fn path(view: &ReviewView<'_>, path: &PathChange) -> Phrase {
    let word = match path.change {
        PathChangeKind::New => " becomes ",
        PathChangeKind::Shorter => " becomes, by a shorter path, ",
        PathChangeKind::Gone => " no longer becomes ",
    };
    let steps = number(path.steps.len(), "step");
    let certainty = if path.certainty == "possible" { ", possible" } else { ", proven" };
    view.who(path.class)
        .words(word)
        .name(path.reaches.as_str())
        .then(on_targets(&path.targets))
        .words(format!(": {steps}{certainty}"))
}

/// Returns a path in one line, with the subjects of alike paths.
pub(super) fn alike_paths(view: &ReviewView<'_>, alike: &AlikePaths<'_>) -> Phrase {
    let phrase = path(view, alike.first);
    let others = alike.others.iter().map(|other| view.template(other.class));
    if alike.others.is_empty() { phrase } else { phrase.words("; likewise ").names(others, MAXIMUM_NAMES) }
}

/// Returns a step of a path: its ends, its kind and its namespace.
pub(crate) fn step(step: &ReviewedStep) -> Phrase {
    let phrase = if step.new { Phrase::default().strong("new").words(" ") } else { Phrase::default() };
    let phrase = phrase.name(step.from.as_str()).words(" → ").name(step.to.as_str());
    let phrase = phrase.words(" by ").name(step.edge.as_str());
    match &step.namespace {
        Some(namespace) => phrase.words(" in ").name(namespace.as_str()),
        None => phrase,
    }
}

/// Returns the proof of a step: the binding, the role, the rule, the place, and the condition.
pub(crate) fn proof(step: &ReviewedStep, find: impl Fn(&str) -> FilePlace) -> Phrase {
    let names = [&step.binding, &step.role].into_iter().flatten();
    let mut phrase = Phrase::default().names(names.map(String::as_str), 2);
    let comma = |phrase: Phrase| if phrase.is_empty() { phrase } else { phrase.words(", ") };
    if let Some(rule) = &step.rule {
        phrase = comma(phrase).words("rule ").then(Phrase::sentence(rule));
    }
    if let Some(place) = &step.place {
        phrase = comma(phrase).place(find(place));
    }
    match &step.note {
        Some(note) if phrase.is_empty() => Phrase::sentence(note),
        Some(note) => phrase.words("; ").then(Phrase::sentence(note)),
        None => phrase,
    }
}

/// Returns a step with its proof.
pub(super) fn proven_step(view: &ReviewView<'_>, reviewed: &ReviewedStep) -> Phrase {
    let proof = proof(reviewed, |place| view.place(place));
    if proof.is_empty() { step(reviewed) } else { step(reviewed).words(", ").then(proof) }
}

/// Returns a danger of the application.
pub(super) fn hazard(view: &ReviewView<'_>, hazard: &Hazard) -> Entry {
    let mut entry = Entry::new(Phrase::sentence(&hazard.message).then(on_targets(&hazard.targets)));
    for (title, list) in [("namespaces: ", &hazard.namespaces), ("names: ", &hazard.names)] {
        if !list.is_empty() {
            let names = Phrase::default().names(list.iter().map(String::as_str), 2 * MAXIMUM_NAMES);
            entry = entry.with(Phrase::new(title).then(names));
        }
    }
    let counts = [(hazard.objects, "object"), (hazard.bindings, "binding")];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| number(*count, noun)).collect();
    entry.with(Phrase::default().words(counts.join(", "))).because(view.places(&hazard.causes)).rated(hazard.severity)
}

/// Returns a change of the admission of pods.
pub(super) fn pod(view: &ReviewView<'_>, change: &PodChange) -> Entry {
    let kind = match change.kind {
        PodChangeKind::Level => "Pod Security level",
        PodChangeKind::Profile => "profile",
        PodChangeKind::Psp => "PodSecurityPolicy",
        PodChangeKind::Scc => "SecurityContextConstraints",
        PodChangeKind::Policy => "admission policy",
        PodChangeKind::Workload => "workload",
    };
    let phrase = Phrase::new(kind).words(" ").then(from_to(&change.before, &change.after));
    let phrase = phrase.words(format!(", {}", direction(change.direction)));
    let phrase = match change.namespaces.as_slice() {
        [] => phrase,
        namespaces => phrase.words(", in ").then(names(namespaces)),
    };
    let target = std::slice::from_ref(&change.target);
    let mut entry = Entry::new(phrase.then(on_targets(target))).rated(change.severity);
    if change.certainty == ChangeCertainty::Possible {
        entry = entry.with(Phrase::new("could not be compared: no pod with another answer is known"));
    }
    for witness in change.witnesses.iter().take(MAXIMUM_DETAILS) {
        entry = entry.with(witness_words(witness));
    }
    for detail in change.details.iter().take(MAXIMUM_DETAILS) {
        entry = entry.with(Phrase::sentence(detail));
    }
    for (title, list) in [("newly refused: ", &change.refused), ("newly admitted: ", &change.admitted)] {
        if !list.is_empty() {
            entry = entry.with(Phrase::new(title).then(names(list)));
        }
    }
    entry.because(view.places(&change.causes))
}

/// Returns a pod with another answer in words.
fn witness_words(witness: &PodWitness) -> Phrase {
    let verb = if witness.admitted { "now admits " } else { "now rejects " };
    let pod = if witness.hardened { "a hardened pod" } else { "a plain pod" };
    match witness.settings.as_slice() {
        [] => Phrase::new(verb).words(pod),
        settings if witness.hardened => Phrase::new(verb).words("a hardened pod with ").then(names(settings)),
        settings => Phrase::new(verb).words("a pod with ").then(names(settings)),
    }
}

/// Returns an earlier and a present value.
fn from_to(before: &Option<String>, after: &Option<String>) -> Phrase {
    let value = |value: &Option<String>| match value {
        Some(value) => Phrase::default().name(value.as_str()),
        None => Phrase::new("none"),
    };
    value(before).words(" → ").then(value(after))
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Wider => "wider",
        Direction::Narrower => "narrower",
        Direction::Both => "wider and narrower",
        Direction::Order => "another order",
        Direction::Longer => "longer",
        Direction::Shorter => "shorter",
        Direction::Added => "added",
        Direction::Removed => "removed",
    }
}

/// Returns a change of the last day of a grant.
pub(super) fn lifetime(view: &ReviewView<'_>, change: &LifetimeChange) -> Entry {
    let phrase = Phrase::default()
        .name(format!("{}/{}", change.kind, change.grant))
        .words(" ends: ")
        .then(from_to(&change.before, &change.after))
        .words(format!(", {}", direction(change.direction)));
    Entry::new(phrase).rated(change.severity).because(view.places(&change.causes))
}

/// Returns a change of the reach of nodes.
pub(super) fn node(change: &NodeChange) -> Entry {
    let mut entry = Entry::new(
        Phrase::new("nodes ")
            .name(change.nodes.as_str())
            .then(on_targets(std::slice::from_ref(&change.target)))
            .words(": ")
            .name(change.kind.as_str())
            .words(format!(" {} gained, {} lost", grouped(change.gained.len()), grouped(change.lost.len()))),
    )
    .rated(change.severity);
    for (title, list) in [("gained: ", &change.gained), ("lost: ", &change.lost)] {
        if !list.is_empty() {
            entry = entry.with(Phrase::new(title).then(names(list)));
        }
    }
    entry
}

/// Returns a change of the objects of the applier.
pub(super) fn applier(change: &ApplierChange) -> Entry {
    let word = if change.is_new { "new: " } else { "gone: " };
    let target = on_targets(std::slice::from_ref(&change.target));
    Entry::new(Phrase::new(word).then(Phrase::sentence(&change.message)).then(target))
}

/// Returns a difference of an unwritten input.
pub(super) fn ground(change: &GroundChange) -> Entry {
    let kind = match change.kind {
        GroundKind::Version => "version",
        GroundKind::Platform => "platform",
        GroundKind::Baseline => "baseline",
        GroundKind::Features => "features",
        GroundKind::Manifests => "manifests for the analysis",
        GroundKind::Applier => "applier",
    };
    let value = |value: &str| if value.is_empty() { "none".to_owned() } else { value.to_owned() };
    let phrase = Phrase::new(kind).words(" of ").name(change.target.as_str()).words(": ");
    let entry = Entry::new(phrase.name(value(&change.from)).words(" → ").name(value(&change.to)));
    match change.subjects.as_slice() {
        [] => entry,
        subjects => entry.with(
            Phrase::new(format!(
                "{} with other access by the default policy: ",
                number(subjects.len(), "system subject")
            ))
            .then(names(subjects)),
        ),
    }
}
