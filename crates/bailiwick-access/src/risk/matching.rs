//! Matching of rules with conditions, and the proving rules.

use super::condition::{Atom, Case, Condition, GrantScope, Naming, Need, What, Word};
use crate::decide::{Query, url_matches};
use crate::rules::{InternedRule, RuleListId};
use crate::symbols::Symbol;
use crate::world::World;
use bailiwick_kubernetes::rbac::PolicyRule;

/// The source of a permission. Given objects come before the server's own, and the scope's before cluster-wide ones,
/// so that the first fitting rule is the one to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PermissionSource {
    /// By a given binding of this scope.
    Own,
    /// By a given ClusterRoleBinding, seen from a namespace.
    Wide,
    /// By a default binding of this scope.
    OwnDefault,
    /// By a default ClusterRoleBinding, seen from a namespace.
    WideDefault,
}

impl PermissionSource {
    const ALL: [PermissionSource; 4] =
        [PermissionSource::Own, PermissionSource::Wide, PermissionSource::OwnDefault, PermissionSource::WideDefault];

    /// Whether a binding is of the scope itself.
    pub(super) fn is_own(self) -> bool {
        matches!(self, PermissionSource::Own | PermissionSource::OwnDefault)
    }

    /// Whether an object is the server's own.
    pub(super) fn is_default(self) -> bool {
        matches!(self, PermissionSource::OwnDefault | PermissionSource::WideDefault)
    }
}

/// The lists of rules of a holder in a scope, each once and in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct EffectiveRules {
    in_namespace: bool,
    own: Vec<RuleListId>,
    wide: Vec<RuleListId>,
    own_default: Vec<RuleListId>,
    wide_default: Vec<RuleListId>,
}

impl EffectiveRules {
    /// Creates an empty set of lists.
    pub(super) fn nothing(in_namespace: bool) -> Self {
        Self { in_namespace, ..Self::default() }
    }

    /// Creates a set of one list.
    pub(super) fn only(list: RuleListId, in_namespace: bool) -> Self {
        Self { in_namespace, own: vec![list], ..Self::default() }
    }

    pub(super) fn is_in_namespace(&self) -> bool {
        self.in_namespace
    }

    pub(super) fn add(&mut self, part: PermissionSource, list: RuleListId) {
        let lists = match part {
            PermissionSource::Own => &mut self.own,
            PermissionSource::Wide => &mut self.wide,
            PermissionSource::OwnDefault => &mut self.own_default,
            PermissionSource::WideDefault => &mut self.wide_default,
        };
        if let Err(position) = lists.binary_search(&list) {
            lists.insert(position, list);
        }
    }

    pub(super) fn lists(&self, part: PermissionSource) -> &[RuleListId] {
        match part {
            PermissionSource::Own => &self.own,
            PermissionSource::Wide => &self.wide,
            PermissionSource::OwnDefault => &self.own_default,
            PermissionSource::WideDefault => &self.wide_default,
        }
    }

    /// Returns the scope of the grants of a source.
    fn grant_scope(&self, part: PermissionSource) -> GrantScope {
        match (self.in_namespace, part.is_own()) {
            (false, _) => GrantScope::Cluster,
            (true, false) => GrantScope::ClusterForNamespace,
            (true, true) => GrantScope::Namespace,
        }
    }

    /// Returns the cluster-wide lists alone.
    pub(super) fn wide_alone(&self) -> Self {
        Self { in_namespace: false, own: self.wide.clone(), own_default: self.wide_default.clone(), ..Self::default() }
    }

    /// Whether all objects are the server's own.
    pub(super) fn is_all_default(&self) -> bool {
        self.own.is_empty() && self.wide.is_empty()
    }
}

/// A rule that contributes to a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Step {
    pub(super) part: PermissionSource,
    pub(super) list: RuleListId,
    /// Its position in the list.
    pub(super) rule: usize,
}

/// How a condition is met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Met {
    /// The position of the case.
    pub(super) case: usize,
    /// The fewest sufficient rules, in the order of the needs.
    pub(super) steps: Vec<Step>,
    /// For each need the names it is limited to; none for no limit.
    pub(super) names: Vec<Vec<Symbol>>,
}

impl Met {
    /// Whether names limit the match.
    pub(super) fn is_named(&self) -> bool {
        self.names.iter().any(|names| !names.is_empty())
    }
}

/// How a rule fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    No,
    /// For the names of the rule alone.
    Named,
    Full,
}

/// Whether a rule of a list is looked at.
pub(super) type Counts<'c> = dyn Fn(RuleListId, &InternedRule) -> bool + 'c;

impl World {
    /// Returns how permissions meet a condition: without limits if possible, else for some names; none if they do
    /// not.
    pub(super) fn meets(&self, condition: &Condition, held: &EffectiveRules) -> Option<Met> {
        self.meets_by(condition, held, &|_, _| true)
    }

    /// Matches as [`World::meets`] does, with some of the rules alone.
    pub(super) fn meets_by(&self, condition: &Condition, held: &EffectiveRules, counts: &Counts<'_>) -> Option<Met> {
        let mut named = None;
        for (position, case) in condition.cases.iter().enumerate() {
            let Some((steps, names)) = self.meets_case(case, held, counts) else { continue };
            let met = Met { case: position, steps, names };
            if !met.is_named() {
                return Some(met);
            }
            named.get_or_insert(met);
        }
        named
    }

    fn meets_case(
        &self,
        case: &Case,
        held: &EffectiveRules,
        counts: &Counts<'_>,
    ) -> Option<(Vec<Step>, Vec<Vec<Symbol>>)> {
        let (mut steps, mut names) = (Vec::new(), Vec::new());
        for need in &case.needs {
            names.push(self.meets_need(need, held, counts, &mut steps)?);
        }
        let spared = &mut Vec::new();
        if case.unless.iter().any(|need| self.meets_need(need, held, counts, spared).is_some()) {
            return None;
        }
        Some((steps, names))
    }

    /// Adds the rule for a need, unless an earlier one is sufficient; returns the limiting names.
    fn meets_need(
        &self,
        need: &Need,
        held: &EffectiveRules,
        counts: &Counts<'_>,
        steps: &mut Vec<Step>,
    ) -> Option<Vec<Symbol>> {
        let can_apply = |atom: &Atom, name| self.can_apply(atom, name, held, counts);
        let fit_of = |step: &Step| {
            let rule = self.lists.get(step.list).get(step.rule).filter(|rule| counts(step.list, rule));
            rule.map_or(Fit::No, |rule| self.fit_of_need(need, rule, held.grant_scope(step.part), &can_apply))
        };
        if steps.iter().any(|step| fit_of(step) == Fit::Full) {
            return Some(Vec::new());
        }
        let mut first = None;
        let mut names: Vec<Symbol> = Vec::new();
        for part in PermissionSource::ALL {
            for &list in held.lists(part) {
                for (position, rule) in self.lists.get(list).iter().enumerate() {
                    let step = Step { part, list, rule: position };
                    match fit_of(&step) {
                        Fit::Full => {
                            steps.push(step);
                            return Some(Vec::new());
                        }
                        Fit::Named => {
                            first.get_or_insert(step);
                            names.extend(rule.names().iter().filter(|name| **name != Symbol::EMPTY));
                        }
                        Fit::No => {}
                    }
                }
            }
        }
        let first = first?;
        if !steps.contains(&first) {
            steps.push(first);
        }
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// Whether some rule permits the request to create an object of this name: server-side apply, or an update of a
    /// kind that an update creates.
    fn can_apply(&self, atom: &Atom, name: Symbol, held: &EffectiveRules, counts: &Counts<'_>) -> bool {
        PermissionSource::ALL.into_iter().any(|part| {
            let is_live = !held.in_namespace || !part.is_own() || atom.live_in_namespace;
            let mut lists = held.lists(part).iter().map(|&list| (list, self.lists.get(list)));
            let is_applying = |list, rule| counts(list, rule) && self.is_applying(atom, rule, name);
            is_live && lists.any(|(list, rules)| rules.iter().any(|rule| is_applying(list, rule)))
        })
    }

    /// Whether a rule permits the request to create the object of an atom under this name.
    fn is_applying(&self, atom: &Atom, rule: &InternedRule, name: Symbol) -> bool {
        let What::Exact { group, resource, any_of_subresource, naming: Naming::ByApply, .. } = &atom.what else {
            return false;
        };
        self.creating_verbs(*group, *resource).iter().any(|verb| {
            let query = Query::Resource {
                verb: self.symbols.find(verb),
                group: *group,
                resource: *resource,
                any_of_subresource: *any_of_subresource,
                name,
            };
            query.is_allowed_by(rule, &self.symbols)
        })
    }

    /// Returns the verbs of requests that create an object and carry its name.
    fn creating_verbs(&self, group: Symbol, resource: Symbol) -> &'static [&'static str] {
        let (group, resource) = (self.symbols.text(group), self.symbols.text(resource));
        let by_update = self.api().catalogue().creates_on_update(self.minor(), group, resource);
        if by_update { &["patch", "update"] } else { &["patch"] }
    }

    /// Returns the part of a rule relevant for a case.
    pub(super) fn narrowed(&self, case: &Case, rule: &InternedRule) -> PolicyRule {
        let symbols = &self.symbols;
        let atoms: Vec<&Atom> = case
            .needs
            .iter()
            .flat_map(|need| &need.atoms)
            .filter(|atom| self.fit(atom, rule, &|_, _| true) != Fit::No)
            .collect();
        let kept = |list: &[Symbol], is_about: &dyn Fn(&What, Symbol) -> bool| -> Vec<String> {
            let about =
                |entry: &&Symbol| **entry == Symbol::STAR || atoms.iter().any(|atom| is_about(&atom.what, **entry));
            list.iter().filter(about).map(|&entry| symbols.text(entry).to_owned()).collect()
        };
        PolicyRule {
            verbs: kept(rule.verbs(), &|what, entry| match what {
                What::Exact { verb, group, resource, naming: Naming::ByApply, .. } if !rule.names().is_empty() => {
                    *verb == entry || self.creating_verbs(*group, *resource).contains(&symbols.text(entry))
                }
                What::Exact { verb, .. } | What::Url { verb, .. } => *verb == entry,
                What::Loose { verb, .. } => verb.is_in(&[entry], symbols),
            }),
            api_groups: kept(rule.groups(), &|what, entry| match what {
                What::Exact { group, .. } => *group == entry,
                What::Loose { group, .. } => group.is_in(&[entry], symbols),
                What::Url { .. } => false,
            }),
            resources: kept(rule.resources(), &|what, entry| match what {
                What::Exact { resource, any_of_subresource, .. } => {
                    *resource == entry || *any_of_subresource == Some(entry)
                }
                What::Loose { resource, .. } => resource.is_in(&[entry], symbols),
                What::Url { .. } => false,
            }),
            resource_names: rule.names().iter().map(|&name| symbols.text(name).to_owned()).collect(),
            non_resource_urls: kept(rule.urls(), &|what, entry| match what {
                What::Url { path: Some(path), .. } => url_matches(symbols.text(entry), path),
                What::Url { path: None, .. } => true,
                What::Exact { .. } | What::Loose { .. } => false,
            }),
        }
    }

    fn fit_of_need(
        &self,
        need: &Need,
        rule: &InternedRule,
        scope: GrantScope,
        can_apply: &dyn Fn(&Atom, Symbol) -> bool,
    ) -> Fit {
        let mut best = Fit::No;
        for atom in need.atoms.iter().filter(|atom| atom.is_live(scope)) {
            match self.fit(atom, rule, can_apply) {
                Fit::Full => return Fit::Full,
                Fit::Named if atom.of_any_name => return Fit::Full,
                Fit::Named => best = Fit::Named,
                Fit::No => {}
            }
        }
        best
    }

    fn fit(&self, atom: &Atom, rule: &InternedRule, can_apply: &dyn Fn(&Atom, Symbol) -> bool) -> Fit {
        let symbols = &self.symbols;
        if atom.named_group.is_some_and(|group| !rule.groups().contains(&group)) {
            return Fit::No;
        }
        let or_named = |fits: bool| match (fits, rule.names().is_empty()) {
            (false, _) => Fit::No,
            (true, true) => Fit::Full,
            (true, false) => Fit::Named,
        };
        match &atom.what {
            What::Exact { verb, group, resource, any_of_subresource, naming } => {
                let allows = |name| {
                    let query = Query::Resource {
                        verb: *verb,
                        group: *group,
                        resource: *resource,
                        any_of_subresource: *any_of_subresource,
                        name,
                    };
                    query.is_allowed_by(rule, symbols)
                };
                if let Some(name) = atom.of_name {
                    return if allows(name) { Fit::Full } else { Fit::No };
                }
                let free = if *naming == Naming::Always { Symbol::FOREIGN } else { Symbol::EMPTY };
                let is_asked = |name| *naming != Naming::ByApply || can_apply(atom, name);
                let is_named =
                    || rule.names().iter().any(|&name| name != Symbol::EMPTY && allows(name) && is_asked(name));
                if allows(free) {
                    Fit::Full
                } else if *naming != Naming::Never && is_named() {
                    Fit::Named
                } else {
                    Fit::No
                }
            }
            What::Loose { verb, group, resource } => {
                let is_of_group = match (group, resource) {
                    // A named resource is of that group only if the rule names the group too.
                    (Word::Is(group), Word::Any) => {
                        rule.groups().contains(group)
                            || rule.groups().contains(&Symbol::STAR) && rule.resources().contains(&Symbol::STAR)
                    }
                    _ => group.is_in(rule.groups(), symbols) && resource.is_in(rule.resources(), symbols),
                };
                or_named(verb.is_in(rule.verbs(), symbols) && is_of_group)
            }
            What::Url { verb, path } => {
                let has_verb = rule.verbs().iter().any(|own| *own == Symbol::STAR || own == verb);
                let has_path = rule
                    .urls()
                    .iter()
                    .any(|&url| path.as_ref().is_none_or(|path| url_matches(symbols.text(url), path)));
                if has_verb && has_path { Fit::Full } else { Fit::No }
            }
        }
    }
}
