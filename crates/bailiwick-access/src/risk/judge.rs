//! The findings of a world. Alike findings are one, with a count: of 3,000 tenants of one class, one is shown.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::RiskSeverity;
use super::baseline_roles::RulesOfBaseline;
use super::condition::Condition;
use super::dead_parts::DeadRulePart;
use super::edited::Edited;
use super::hygiene::Overview;
use super::matching::EffectiveRules;
use super::objects::{Applied, Bound, RoleHit, few};
use super::reached::{KnownPowers, ReachedPower, ReachedPowers};
use super::table::{self, NameEffect, RiskRule, When};
use super::tenants::{Tenancy, Tenants};
use crate::compare::Affected;
use crate::cover;
use crate::proof::{Chain, Link, RuleLink, place};
use crate::rules::{self, RuleListId};
use crate::symbols::Symbol;
use crate::who_can::PermissionScope;
use crate::world::{Binding, Builder, ObjectSource, Role, SubjectKind, World};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::internal;

/// The selection of rules, and the grouping of findings.
#[derive(Debug, Clone)]
pub struct RiskOptions {
    /// The selected rules. A rule that reports less than another yields only to a selected rule.
    pub rules: Vec<&'static RiskRule>,
    /// Whether findings of different places stay apart, so that each place can accept its own.
    pub apart: bool,
    /// Whether findings of one cause are one: the same rules of the same roles, for the same holder.
    pub one_per_cause: bool,
}

/// The decision of a workspace about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingDecision {
    /// It is reported with this severity.
    Reported(RiskSeverity),
    /// A policy accepts it.
    Accepted,
    /// The workspace ignores its rule.
    Ignored,
}

/// The decisions of a workspace, by the rule, the place and the own severity of a finding.
pub type FindingDecisions<'c> = dyn Fn(&RiskRule, Option<Origin>, RiskSeverity) -> FindingDecision + 'c;

/// The facts beside the roles and bindings of a world.
#[derive(Clone, Copy, Default)]
pub struct RiskContext<'c> {
    /// The tenants of a workspace.
    pub tenants: Option<&'c Tenants<'c>>,
    /// The powers behind permissions: they raise the severity of findings.
    pub powers: Option<&'c dyn ReachedPowers>,
    /// The decisions of a workspace: an accepted or ignored finding is not folded into another one.
    pub decisions: Option<&'c FindingDecisions<'c>>,
}

/// A finding of a risk rule.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The risk rule.
    pub rule: &'static RiskRule,
    /// How bad it is.
    pub severity: RiskSeverity,
    /// The worst power of the whole cluster behind the permission.
    pub reached: Option<ReachedPower>,
    /// How many principals, roles or bindings it concerns.
    pub count: usize,
    /// The first holders with their scopes; the other fields are about the very first.
    pub first: Vec<Affected>,
    /// The limiting names; none for no limit.
    pub names: Vec<String>,
    /// The role of the finding, if there is one.
    pub role: Option<Link>,
    /// The problem in words.
    pub what: String,
    /// Rules about other permissions of the same rules of roles, not reported for themselves.
    pub folded: Vec<Folded>,
    /// The remedy, if it is more specific than the help of the rule.
    pub help: Option<String>,
    /// The fewest bindings, with the rules of their roles, that prove the finding.
    pub proof: Vec<Chain>,
    /// The rule of the role with the problem.
    pub rule_of_role: Option<RuleLink>,
    /// The place of the binding or role.
    pub place: Option<Origin>,
}

/// A finding replaced by another one.
#[derive(Debug, Clone)]
pub struct Folded {
    /// The risk rule.
    pub rule: &'static RiskRule,
    /// How bad it is.
    pub severity: RiskSeverity,
    /// The worst power of the whole cluster behind the permission.
    pub reached: Option<ReachedPower>,
    /// The rules with its permission, reduced to the relevant part; none for a finding about an object.
    pub rules: Vec<PolicyRule>,
}

/// The namespace of a role, if it has one, and its name.
type RoleName = (Option<Symbol>, Symbol);

/// The default roles for people.
const USER_FACING: [&str; 3] = ["admin", "edit", "view"];

/// How many of those a finding concerns are named.
const MAXIMUM_FIRST: usize = 8;

/// The key of alike findings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Likeness {
    pub(super) rule: &'static str,
    pub(super) severity: RiskSeverity,
    pub(super) in_namespace: bool,
    /// The granting lists.
    pub(super) shapes: Vec<u128>,
    pub(super) place: Option<Origin>,
    /// The worst power behind them.
    pub(super) reached: Option<ReachedPower>,
}

/// A world under judgement.
pub(super) struct Judge<'w> {
    pub(super) world: &'w World,
    pub(super) options: &'w RiskOptions,
    /// The tenants, if known and a selected rule needs them.
    pub(super) tenancy: Option<Tenancy<'w>>,
    /// The powers behind permissions, if known.
    pub(super) powers: Option<&'w dyn ReachedPowers>,
    /// The decisions of the workspace, if known.
    pub(super) decisions: Option<&'w FindingDecisions<'w>>,
    /// The powers of the subject in judgement.
    pub(super) known_powers: RefCell<Option<KnownPowers>>,
    /// The conditions of all rules with present objects, both selected and others.
    pub(super) conditions: Vec<(&'static RiskRule, Condition)>,
    /// Bindings and names of roles of the server's own, from any source.
    default_bindings: HashSet<u32>,
    default_roles: HashSet<RoleName>,
    /// The roles among them with an aggregation rule.
    default_aggregated: Vec<&'w Role>,
    aggregated: Vec<&'w Role>,
    /// Given roles of those names with more permissions than the server's own.
    widened: HashSet<RoleName>,
    /// Given roles of those names with the permissions of the server's own.
    unchanged: HashSet<RoleName>,
    pub(super) rules_of_baseline: RulesOfBaseline,
    /// For each of [`USER_FACING`] with the server's name, whether each of its rules is the server's.
    ordinary: HashMap<Symbol, Vec<bool>>,
    /// For each list of rules a number, equal for lists that differ in names alone.
    shapes: Vec<u128>,
    /// The dead parts of already judged lists of rules.
    pub(super) dead_parts: RefCell<HashMap<RuleListId, Rc<[DeadRulePart]>>>,
    pub(super) overview: Overview,
    pub(super) edited: Vec<Edited>,
}

/// Findings, the alike ones folded.
#[derive(Default)]
pub(super) struct Findings<'t> {
    list: Vec<Finding>,
    positions: HashMap<Likeness, usize>,
    /// Returns how many namespaces a namespace stands for, in a sample of them.
    weight: Option<&'t dyn Fn(&str) -> usize>,
}

impl Findings<'_> {
    pub(super) fn add(
        &mut self,
        likeness: Likeness,
        affected: impl FnOnce() -> Affected,
        make: impl FnOnce() -> Finding,
    ) {
        let next = self.list.len();
        let position = *self.positions.entry(likeness).or_insert(next);
        if position == next {
            self.list.push(make());
        }
        if let Some(finding) = self.list.get_mut(position) {
            if finding.first.len() >= MAXIMUM_FIRST && self.weight.is_none() {
                finding.count += 1;
                return;
            }
            let affected = affected();
            finding.count += self.weight.map_or(1, |weight| weight(affected.namespace().map_or("", |name| name)));
            if finding.first.len() < MAXIMUM_FIRST {
                finding.first.push(affected);
            }
        }
    }
}

impl World {
    /// Returns the risky, dead or misleading grants, worst first.
    pub fn findings(&self, options: &RiskOptions) -> Vec<Finding> {
        self.findings_among(RiskContext::default(), options)
    }

    /// Returns the findings as [`World::findings`] does, with the findings about tenants, and with the powers behind
    /// permissions.
    pub fn findings_among(&self, context: RiskContext<'_>, options: &RiskOptions) -> Vec<Finding> {
        let judge = Judge::new(self, context, options);
        let weight = context.tenants.and_then(|tenants| tenants.weight);
        let mut findings = Findings { weight, ..Findings::default() };
        judge.holders(&mut findings);
        judge.roles(&mut findings);
        judge.bindings(&mut findings);
        judge.subjects(&mut findings);
        judge.unlike_tenants(&mut findings);
        judge.edited(&mut findings);
        let mut list = findings.list;
        list.sort_by(|left, right| {
            let key = |finding: &Finding| (std::cmp::Reverse(finding.severity), finding.rule.id);
            key(left).cmp(&key(right)).then_with(|| left.first.cmp(&right.first))
        });
        list
    }
}

impl<'w> Judge<'w> {
    fn new(world: &'w World, context: RiskContext<'w>, options: &'w RiskOptions) -> Self {
        let tenants = context
            .tenants
            .filter(|tenants| !tenants.is_empty() && options.rules.iter().any(|rule| rule.is_about_tenants()));
        let answerable = table::all().filter(|rule| rule.has_what_it_needs(world));
        let conditions = answerable.filter_map(|rule| Some((rule, Condition::parse(rule.condition()?, world)?)));
        let shapes = world.lists.ids().map(|id| shape(world.lists.get(id))).collect();
        let mut judge = Self {
            world,
            options,
            tenancy: tenants.map(|tenants| Tenancy::new(tenants, world)),
            powers: context.powers,
            decisions: context.decisions,
            known_powers: RefCell::default(),
            conditions: conditions.collect(),
            default_bindings: HashSet::new(),
            default_roles: HashSet::new(),
            default_aggregated: Vec::new(),
            aggregated: world.roles.iter().filter(|role| role.aggregation.is_some()).collect(),
            widened: HashSet::new(),
            unchanged: HashSet::new(),
            rules_of_baseline: RulesOfBaseline::default(),
            ordinary: HashMap::new(),
            shapes,
            dead_parts: RefCell::default(),
            overview: Overview::default(),
            edited: Vec::new(),
        };
        judge.learn_defaults();
        let default = judge.aggregated().filter(|role| judge.has_default_name(role)).collect();
        judge.default_aggregated = default;
        judge
    }

    /// Learns the server's own objects in a dump of a cluster. Unchanged bindings are not judged, and neither are
    /// roles of those names, while they grant no more than the server's own.
    fn learn_defaults(&mut self) {
        let world = self.world;
        let minor = world.minor_of_defaults();
        let expected = Builder::new(minor).with_default_policy(minor).build();
        let symbols = &world.symbols;
        let translated = |symbol| symbols.find(expected.symbols.text(symbol));
        if world.baseline().is_some() {
            for known in &expected.roles {
                let key = (known.namespace.map(translated), translated(known.name));
                self.default_roles.insert(key);
                let namespace = known.namespace.map(|namespace| expected.symbols.text(namespace));
                let given =
                    world.role(namespace, expected.symbols.text(known.name)).filter(|role| is_given(role.layer));
                self.edited.extend(given.and_then(|role| Edited::role(world, role, &expected, known)));
                match given {
                    Some(role) if is_wider(world, role, &expected, known) => _ = self.widened.insert(key),
                    Some(role) if !is_narrower(world, role, &expected, known) => _ = self.unchanged.insert(key),
                    _ => {}
                }
            }
            for (id, binding) in (0..).zip(&world.bindings) {
                let namespace = binding.namespace.map(|namespace| symbols.text(namespace));
                let known = expected.find_binding(namespace, symbols.text(binding.name));
                let given = known.filter(|_| is_given(binding.layer));
                self.edited.extend(given.and_then(|known| Edited::binding(world, binding, &expected, known)));
                if known.is_some_and(|known| is_made_so(world, binding, &expected, known)) {
                    self.default_bindings.insert(id);
                }
            }
        }
        for name in USER_FACING {
            let Some(role) = world.role(None, name).filter(|role| self.has_default_name(role)) else { continue };
            let Some(known) = expected.policy_rules(None, name) else { continue };
            let rules = world.rules_of(role).iter().map(|rule| rule.to_policy_rule(symbols));
            let is_known = rules.map(|rule| cover::uncovered(&known, &[rule]).is_empty()).collect();
            self.ordinary.insert(role.name, is_known);
        }
    }

    pub(super) fn is_selected(&self, rule: &RiskRule) -> bool {
        self.options.rules.iter().any(|selected| selected.id == rule.id)
    }

    /// Whether a binding is as the server makes it.
    pub(super) fn is_default_binding(&self, id: u32, binding: &Binding) -> bool {
        !is_given(binding.layer) || self.default_bindings.contains(&id)
    }

    /// Whether a permission by a binding is the server's own: by such a binding, to a role that was not widened.
    pub(super) fn gives_default(&self, id: u32, binding: &Binding, role: &Role) -> bool {
        self.is_default_binding(id, binding) && !self.is_widened(role)
    }

    /// Whether a role has a name of the server's own, with any rules.
    pub(super) fn has_default_name(&self, role: &Role) -> bool {
        !is_given(role.layer) || self.default_roles.contains(&(role.namespace, role.name))
    }

    /// Returns every aggregated role.
    pub(super) fn aggregated(&self) -> impl Iterator<Item = &'w Role> {
        self.aggregated.iter().copied()
    }

    /// Returns the aggregated roles of the server's own, by name.
    pub(super) fn default_aggregated(&self) -> impl Iterator<Item = &'w Role> {
        self.default_aggregated.iter().copied()
    }

    /// Whether a given role has a name of the server's own and more permissions.
    pub(super) fn is_widened(&self, role: &Role) -> bool {
        self.widened.contains(&(role.namespace, role.name))
    }

    /// Whether a given role has a name and the permissions of the server's own.
    pub(super) fn is_unchanged(&self, role: &Role) -> bool {
        self.unchanged.contains(&(role.namespace, role.name))
    }

    fn is_default_role(&self, role: &Role) -> bool {
        self.has_default_name(role) && !self.is_widened(role)
    }

    /// Whether the server gives a rule to `admin`, `edit` or `view`.
    pub(super) fn is_ordinary_rule(&self, role: &Role, position: usize) -> bool {
        let rules = self.ordinary.get(&role.name).filter(|_| role.namespace.is_none());
        rules.is_some_and(|rules| rules.get(position) == Some(&true))
    }

    /// Returns a number for a list of rules, equal for lists that differ in names alone.
    pub(super) fn shape(&self, list: RuleListId) -> u128 {
        internal::value(self.shapes.get(list.number()).copied(), "a list of rules is of another world")
    }

    /// Returns the place by which findings are kept apart.
    pub(super) fn apart(&self, place: Option<Origin>) -> Option<Origin> {
        place.filter(|_| self.options.apart)
    }

    /// Returns the worst severity of some rules of a list by themselves.
    pub(super) fn worst_of(
        &self,
        list: RuleListId,
        in_namespace: bool,
        counts: &dyn Fn(&rules::InternedRule) -> bool,
    ) -> RiskSeverity {
        let held = EffectiveRules::only(list, in_namespace);
        let severities = self.conditions.iter().filter_map(|(rule, condition)| {
            let level = rule.level(in_namespace, false)?;
            let met = self.world.meets_by(condition, &held, &|_, rule| counts(rule))?;
            let level = condition.level_of(met.case, level);
            match (met.is_named(), rule.named) {
                (false, _) => Some(level),
                (true, NameEffect::Void) => None,
                (true, NameEffect::To(severity)) => Some(severity.min(level)),
                (true, _) => Some(level.step_down()),
            }
        });
        severities.max().unwrap_or(RiskSeverity::Info)
    }

    fn roles(&self, findings: &mut Findings) {
        let selected: Vec<_> = self
            .options
            .rules
            .iter()
            .filter_map(|rule| match rule.when {
                When::Role(check) => Some((*rule, check)),
                When::Holds(_)
                | When::Binding(_)
                | When::Subject(_)
                | When::Default
                | When::BaselineRole
                | When::Accounts(_)
                | When::Tenants(_) => None,
            })
            .collect();
        if selected.is_empty() {
            return;
        }
        // For each role whether a binding in a namespace names it, and whether one for the whole cluster does.
        let mut bound = vec![(false, false); self.world.roles.len()];
        for binding in &self.world.bindings {
            if let Some(places) = binding.role.and_then(|role| bound.get_mut(role as usize)) {
                match binding.namespace {
                    Some(_) => places.0 = true,
                    None => places.1 = true,
                }
            }
        }
        for (role, (in_namespaces, in_cluster)) in self.world.roles.iter().zip(bound) {
            if self.is_default_role(role) {
                continue;
            }
            let in_namespaces_only = role.namespace.is_some() || (in_namespaces && !in_cluster);
            let applied = Applied { judge: self, role, in_namespaces_only, is_bound: in_namespaces || in_cluster };
            for (rule, check) in &selected {
                for hit in check(&applied) {
                    let level = rule.level(in_namespaces_only, false);
                    let Some(severity) = hit.severity.or(level) else { continue };
                    self.add_role(rule, severity, &applied, hit, findings);
                }
            }
        }
    }

    fn add_role(
        &self,
        rule: &'static RiskRule,
        severity: RiskSeverity,
        applied: &Applied<'_>,
        hit: RoleHit,
        findings: &mut Findings,
    ) {
        let role = applied.role;
        let link = self.world.role_link(role);
        let likeness = Likeness {
            rule: rule.id,
            severity,
            in_namespace: applied.in_namespaces_only,
            shapes: vec![self.shape(role.rules), hit.rule as u128],
            place: self.apart(place(role.layer)),
            reached: None,
        };
        let affected = Affected { subject: link.name.clone(), scope: self.scope(role.namespace) };
        findings.add(
            likeness,
            || affected,
            || Finding {
                role: Some(link),
                rule_of_role: self.rule_link(role, hit.rule),
                what: hit.what,
                help: hit.help,
                ..Finding::new(rule, severity, place(role.layer))
            },
        );
    }

    fn bindings(&self, findings: &mut Findings) {
        for rule in &self.options.rules {
            let When::Binding(check) = rule.when else { continue };
            for (id, binding) in (0..).zip(&self.world.bindings) {
                if self.is_default_binding(id, binding) || self.is_reported_for_tenants(rule, id, binding) {
                    continue;
                }
                let in_namespace = binding.namespace.is_some();
                let Some(severity) = rule.level(in_namespace, false) else { continue };
                for what in check(&Bound { judge: self, id, binding }) {
                    let role = self.world.role_of(binding);
                    let of_role = match role {
                        Some(role) => self.shape(role.rules),
                        None => digest_of_run(self.world.symbols.text(binding.role_name)),
                    };
                    let likeness = Likeness {
                        rule: rule.id,
                        severity,
                        in_namespace,
                        shapes: vec![of_role],
                        place: self.apart(place(binding.layer)),
                        reached: None,
                    };
                    let affected =
                        || Affected { subject: self.world.binding_name(binding), scope: self.scope(binding.namespace) };
                    findings.add(likeness, affected, || self.of_binding(rule, severity, binding, role, what));
                }
            }
        }
    }

    fn subjects(&self, findings: &mut Findings) {
        for rule in &self.options.rules {
            let When::Subject(check) = rule.when else { continue };
            let Some(severity) = rule.level(false, false) else { continue };
            for (holder, roles, place) in self.roles_of_subjects() {
                let Some(what) = check(roles) else { continue };
                let likeness = Likeness {
                    rule: rule.id,
                    severity,
                    in_namespace: false,
                    shapes: vec![roles as u128],
                    place: self.apart(place),
                    reached: None,
                };
                let affected = || Affected { subject: self.world.holder_name(holder), scope: PermissionScope::Cluster };
                findings.add(likeness, affected, || Finding { what, ..Finding::new(rule, severity, place) });
            }
        }
    }

    fn of_binding(
        &self,
        rule: &'static RiskRule,
        severity: RiskSeverity,
        binding: &Binding,
        role: Option<&Role>,
        what: String,
    ) -> Finding {
        let missing = || Link { name: self.world.missing_role(binding).to_string(), place: None };
        Finding {
            role: Some(role.map_or_else(missing, |role| self.world.role_link(role))),
            what,
            ..Finding::new(rule, severity, place(binding.layer))
        }
    }

    pub(super) fn scope(&self, namespace: Option<Symbol>) -> PermissionScope {
        namespace.map_or(PermissionScope::Cluster, |namespace| {
            PermissionScope::Namespace(self.world.symbols.text(namespace).to_owned())
        })
    }

    pub(super) fn rule_link(&self, role: &Role, position: usize) -> Option<RuleLink> {
        let rule = self.world.rules_of(role).get(position)?;
        Some(RuleLink {
            number: position + 1,
            rule: rule.to_policy_rule(&self.world.symbols),
            gathered_from: self.world.gathered_from(role, rule),
        })
    }
}

impl Finding {
    /// Creates a finding without holders: they are counted on addition to others.
    pub(super) fn new(rule: &'static RiskRule, severity: RiskSeverity, place: Option<Origin>) -> Self {
        Self {
            rule,
            severity,
            reached: None,
            count: 0,
            first: Vec::new(),
            names: Vec::new(),
            role: None,
            what: String::new(),
            folded: Vec::new(),
            help: None,
            proof: Vec::new(),
            rule_of_role: None,
            place,
        }
    }

    /// Returns the message in one line, for the first holder.
    pub fn message(&self) -> String {
        let Some(first) = self.first.first() else { return String::new() };
        format!("`{}` {}", first.subject, self.predicate())
    }

    /// Returns the message without its subject.
    pub(super) fn predicate(&self) -> String {
        let Some(first) = self.first.first() else { return String::new() };
        let role = self.role.as_ref().map_or("", |role| role.name.as_str());
        let what = if self.rule.when.is_folding() { self.powers() } else { self.what.clone() };
        let predicate = self.rule_predicate().replace("{what}", &what).replace("{role}", &format!("`{role}`"));
        let is_held = self.rule.condition().is_some() || self.rule.when.is_folding();
        let place = match &first.scope {
            _ if !is_held => String::new(),
            PermissionScope::Cluster => ", cluster-wide".to_owned(),
            PermissionScope::Namespace(namespace) => format!(", in namespace `{namespace}`"),
        };
        format!("{predicate}{place}")
    }

    /// Returns the text of the rule, with the limiting names in place of its brackets.
    fn rule_predicate(&self) -> String {
        let parts = self.rule.predicate.split_once('[').and_then(|(head, rest)| Some((head, rest.split_once(']')?)));
        match parts {
            Some((head, (_, tail))) if !self.names.is_empty() => format!("{head}{}{tail}", self.named()),
            Some((head, (any, tail))) => format!("{head}{any}{tail}"),
            None => self.rule.predicate.to_owned(),
        }
    }

    /// Returns the number of folded findings, and the worst of them.
    fn powers(&self) -> String {
        let worst = self.folded.iter().filter(|folded| folded.severity == self.severity).count();
        let severity = self.severity;
        match (self.folded.len() - worst, worst) {
            (0, 1) => format!("1 {severity} finding"),
            (0, _) => format!("{worst} {severity} findings"),
            (lesser, _) => format!("{worst} {severity} and {lesser} lesser findings"),
        }
    }

    /// Judges the folded findings again: `severity` returns the severity of each, and none for findings to drop.
    /// Returns none if a finding that only replaces others has none left. The severity of a finding with own contents
    /// stays.
    pub fn with_folded_judged(mut self, severity: impl Fn(&Folded) -> Option<RiskSeverity>) -> Option<Self> {
        self.folded = self
            .folded
            .into_iter()
            .filter_map(|folded| severity(&folded).map(|severity| Folded { severity, ..folded }))
            .collect();
        if self.rule.when.is_folding() {
            self.severity = self.folded.iter().map(|folded| folded.severity).max()?;
            self.reached = ReachedPower::worst(self.folded.iter().map(|folded| folded.reached));
        }
        Some(self)
    }

    /// Whether the message has the names.
    pub fn has_names(&self) -> bool {
        self.rule.predicate.contains('[')
    }

    /// Returns the first of the limiting names.
    pub fn named(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        few(&names)
    }
}

pub(super) fn is_given(layer: ObjectSource) -> bool {
    matches!(layer, ObjectSource::Input(_))
}

/// Returns the rules of a role as texts.
fn texts(world: &World, role: &Role) -> Vec<PolicyRule> {
    world.rules_of(role).iter().map(|rule| rule.to_policy_rule(&world.symbols)).collect()
}

/// Whether a given role lacks permissions of the server's own.
fn is_narrower(world: &World, role: &Role, expected: &World, known: &Role) -> bool {
    !cover::uncovered(&texts(world, role), &texts(expected, known)).is_empty()
}

/// Whether a given role has more permissions than the server's own and the given roles that the server would gather
/// for it. E016 reports the gathered ones.
fn is_wider(world: &World, role: &Role, expected: &World, known: &Role) -> bool {
    let mut allowed = texts(expected, known);
    let is_gathered = |other: &Role| {
        other.namespace.is_none()
            && other.name != role.name
            && known.selectors().any(|selector| selector.matches(|key| world.label(other, key)))
    };
    if known.selectors().next().is_some() {
        allowed.extend(world.roles.iter().filter(|other| is_gathered(other)).flat_map(|other| texts(world, other)));
    }
    !cover::uncovered(&allowed, &texts(world, role)).is_empty()
}

/// Whether a binding grants the same role as the server's own, to no further subject.
fn is_made_so(world: &World, binding: &Binding, expected: &World, known: &Binding) -> bool {
    fn subjects<'w>(
        world: &'w World,
        binding: &'w Binding,
    ) -> impl Iterator<Item = (SubjectKind, &'w str, Option<&'w str>)> {
        world.subjects(binding).iter().map(|subject| {
            let own = Some(subject.namespace).filter(|namespace| *namespace != Symbol::EMPTY).or(binding.namespace);
            // Of users and groups the namespace is ignored.
            let namespace = own.filter(|_| subject.kind == SubjectKind::ServiceAccount);
            (subject.kind, world.symbols.text(subject.name), namespace.map(|namespace| world.symbols.text(namespace)))
        })
    }
    binding.role_kind == known.role_kind
        && world.symbols.text(binding.role_name) == expected.symbols.text(known.role_name)
        && subjects(world, binding).all(|found| subjects(expected, known).any(|wanted| wanted == found))
}

/// Returns a number for a list of rules without its names.
fn shape(list: &[rules::InternedRule]) -> u128 {
    let without_names = |rule| {
        let rule: &rules::InternedRule = rule;
        (rule.verbs(), rule.groups(), rule.resources(), rule.urls(), rule.names().is_empty())
    };
    digest_of_run(&list.iter().map(without_names).collect::<Vec<_>>())
}
