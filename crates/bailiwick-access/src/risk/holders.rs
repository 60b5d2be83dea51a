//! The permissions of users, groups and accounts, scope by scope. Each distinct set of lists of rules is judged once,
//! and the result is shared by all holders with the set.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::RiskSeverity;
use super::baseline_roles::Parts;
use super::judge::{Finding, FindingDecision, Findings, Judge, Likeness};
use super::matching::{Counts, EffectiveRules, Met, PermissionSource, Step};
use super::objects::few;
use super::reached::ReachedPower;
use super::table::{CONTROL_PLANE, NEARLY_FULL, NameEffect, Needs, RiskRule};
use crate::clouds::AWS_AUTH_NAMESPACE;
use crate::compare::Affected;
use crate::proof::{Chain, RuleLink, place};
use crate::request::{MASTERS, service_account};
use crate::risk::subject_of_user;
use crate::rules::{self, RuleListId};
use crate::symbols::Symbol;
use crate::world::{Binding, Holder, Role, World, account_user};
use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::digest::digest_of_run;

/// A holder in a scope.
pub(super) type ScopedSubject = (Holder, Option<Symbol>);

/// A result for a set of lists.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) rule: &'static RiskRule,
    /// How bad it is without names.
    pub(super) level: RiskSeverity,
    /// The severity, as far as the rules alone decide it.
    pub(super) severity: RiskSeverity,
    pub(super) met: Met,
    /// Whether a given object is needed for the finding. Permissions by the server's own objects are not reported,
    /// but they count for identities that another may act as.
    pub(super) is_reported: bool,
}

/// A result with its severity for a subject in a scope.
#[derive(Debug, Clone, Copy)]
pub(super) struct RatedFinding<'j> {
    pub(super) judged: &'j Judged,
    pub(super) severity: RiskSeverity,
    /// The worst power behind it.
    pub(super) reached: Option<ReachedPower>,
}

/// The permissions of the subjects of a class.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ClassPermissions {
    pub(super) rules: EffectiveRules,
    pub(super) in_control_plane: bool,
}

/// The subjects with the same permissions in their scopes.
#[derive(Debug, Clone, Copy)]
pub(super) struct HolderClass<'j> {
    pub(super) number: usize,
    pub(super) permissions: &'j ClassPermissions,
    pub(super) judged: &'j [Judged],
}

/// The permissions of all holders, by class.
pub(super) struct Classes {
    /// Each place with the number of its class, sorted by name.
    places: Vec<(ScopedSubject, usize)>,
    /// The permissions of each class.
    permissions: Vec<ClassPermissions>,
    /// The results for each class.
    judged: Vec<Vec<Judged>>,
}

/// How many verbs a message names.
const MAXIMUM_VERBS: usize = 10;

/// Whether a rule covers every resource of every API group.
pub(super) fn is_wide(rule: &rules::InternedRule) -> bool {
    rule.groups().contains(&Symbol::STAR) && rule.resources().contains(&Symbol::STAR) && rule.names().is_empty()
}

/// The worst severity of a user or group in any scope.
pub(super) type Powers = HashMap<Holder, RiskSeverity>;

impl Judge<'_> {
    /// Judges the permissions of all holders.
    pub(super) fn holders(&self, findings: &mut Findings) {
        let classes = self.classes(false);
        let needs_powers = classes.judged.iter().flatten().any(|judged| {
            judged.is_reported
                && judged.met.is_named()
                && matches!(judged.rule.named, NameEffect::Users | NameEffect::Groups | NameEffect::Accounts)
        });
        let powers = if needs_powers { self.classes(true).powers() } else { Powers::new() };
        let mut parts = Parts::default();
        for (place, class) in &classes.places {
            let Some(class) = classes.get(*class) else { continue };
            let left = match self.report_tenants(*place, class, &powers, findings) {
                Cow::Owned(left) => Cow::Owned(left),
                Cow::Borrowed(_) => self.report_baseline_roles(*place, class, &powers, &mut parts, findings),
            };
            self.report_all(*place, &left, &powers, findings);
        }
        self.accounts(&classes, &powers, findings);
    }

    /// Adds the findings of a place.
    fn report_all(&self, place: ScopedSubject, all: &[Judged], powers: &Powers, findings: &mut Findings) {
        let rated = self.rated(place, all, powers, &|rule| self.is_selected(rule));
        let is_ignored = |found: &&RatedFinding<'_>| self.decision(place, found) == FindingDecision::Ignored;
        let Some(head) = self.head(&rated).filter(|head| !is_ignored(head)) else {
            self.add_by_cause(place, &rated, findings);
            return;
        };
        let (wide, others): (Vec<RatedFinding<'_>>, Vec<RatedFinding<'_>>) =
            rated.iter().copied().partition(|found| self.is_only_wide(found.judged));
        let same_rules = all.iter().filter(|other| other.is_reported && self.is_only_wide(other));
        let same_rules = same_rules.filter(|other| self.has_what_it_needs(place, other));
        let worst = same_rules.map(|other| self.severity(place, other, powers)).max();
        let folded: Vec<RatedFinding<'_>> =
            wide.into_iter().filter(|other| !std::ptr::eq(other.judged, head.judged)).collect();
        let severity = worst.map_or(head.severity, |worst| worst.min(head.judged.level));
        let reached = ReachedPower::worst(folded.iter().chain([head]).map(|found| found.reached));
        let severity = reached.map_or(severity, |reached| severity.max(reached.severity));
        self.add_finding(place, RatedFinding { severity, reached, ..*head }, &folded, findings);
        self.add_by_cause(place, &others, findings);
    }

    /// Returns the findings to report in a scope, with their severity there.
    pub(super) fn rated<'j>(
        &self,
        place: ScopedSubject,
        all: &'j [Judged],
        powers: &Powers,
        is_selected: &dyn Fn(&RiskRule) -> bool,
    ) -> Vec<RatedFinding<'j>> {
        let selected = all.iter().filter(|judged| judged.is_reported && is_selected(judged.rule));
        let selected = selected.filter(|judged| self.has_what_it_needs(place, judged));
        let rated = selected.map(|judged| {
            let (severity, reached) = (self.severity(place, judged, powers), self.reached(place, judged.rule));
            RatedFinding { judged, severity, reached }
        });
        rated.filter(|found| !self.is_behind(place, *found, all, powers, is_selected)).collect()
    }

    /// Returns the finding that replaces all others of the same rules: some verbs on every resource.
    pub(super) fn head<'r, 'j>(&self, rated: &'r [RatedFinding<'j>]) -> Option<&'r RatedFinding<'j>> {
        NEARLY_FULL.iter().find_map(|id| {
            let found = rated.iter().find(|found| found.judged.rule.id == *id);
            found.filter(|found| self.is_only_wide(found.judged))
        })
    }

    /// Whether only rules for every resource are needed.
    pub(super) fn is_only_wide(&self, judged: &Judged) -> bool {
        judged.met.steps.iter().all(|step| self.world.lists.get(step.list).get(step.rule).is_some_and(is_wide))
    }

    /// Returns the permissions of holders with given grants, or of all holders.
    fn classes(&self, by_everybody: bool) -> Classes {
        let symbols = &self.world.symbols;
        let mut places: Vec<ScopedSubject> = self.world.index.places().collect();
        places.sort_unstable_by_key(|(holder, namespace)| {
            (holder.is_group, symbols.text(holder.name), namespace.map(|namespace| symbols.text(namespace)))
        });
        let control_plane = CONTROL_PLANE.map(|namespace| symbols.find(namespace));
        let masters = symbols.find(MASTERS);
        let mut classes =
            Classes { places: Vec::with_capacity(places.len()), permissions: Vec::new(), judged: Vec::new() };
        let mut known: HashMap<ClassPermissions, usize> = HashMap::new();
        for (holder, namespace) in places {
            // No binding changes its members: they have all permissions before the authorizer.
            if holder.is_group && holder.name == masters {
                continue;
            }
            let rules = self.effective_rules(holder, namespace);
            if rules.is_all_default() && !by_everybody {
                continue;
            }
            let in_control_plane = namespace.is_some_and(|namespace| control_plane.contains(&namespace));
            let next = classes.judged.len();
            let permissions = ClassPermissions { rules, in_control_plane };
            let class = *known.entry(permissions).or_insert_with_key(|permissions| {
                classes.judged.push(self.judged(permissions, &|_, _| true));
                classes.permissions.push(permissions.clone());
                next
            });
            classes.places.push(((holder, namespace), class));
        }
        classes
    }

    /// Returns the permissions of a holder in a scope.
    fn effective_rules(&self, holder: Holder, namespace: Option<Symbol>) -> EffectiveRules {
        let mut held = EffectiveRules::nothing(namespace.is_some());
        let mut add = |namespace, given, default| {
            for id in
                self.world.index.bound_rules(holder, namespace, &self.world.symbols).iter().map(|held| held.binding)
            {
                let Some((binding, role)) = self.bound(id) else { continue };
                if !self.world.rules_of(role).is_empty() {
                    held.add(if self.gives_default(id, binding, role) { default } else { given }, role.rules);
                }
            }
        };
        add(namespace, PermissionSource::Own, PermissionSource::OwnDefault);
        if namespace.is_some() {
            add(None, PermissionSource::Wide, PermissionSource::WideDefault);
        }
        held
    }

    fn bound(&self, id: u32) -> Option<(&Binding, &Role)> {
        let binding = self.world.binding(id)?;
        Some((binding, self.world.role_of(binding)?))
    }

    /// Returns the findings about some rules of a set of lists, by every risk rule.
    pub(super) fn judged(&self, permissions: &ClassPermissions, counts: &Counts<'_>) -> Vec<Judged> {
        let ClassPermissions { rules: held, in_control_plane } = permissions;
        let wide = held.is_in_namespace().then(|| held.wide_alone());
        let conditions = self.conditions.iter();
        conditions
            .filter_map(|(rule, condition)| {
                let level = rule.level(held.is_in_namespace(), *in_control_plane)?;
                let met = self.world.meets_by(condition, held, counts)?;
                let is_reported = met.steps.iter().any(|step| !step.part.is_default());
                let is_here = met.steps.iter().any(|step| step.part.is_own());
                // Cluster-wide permissions are reported there, and not again in each namespace.
                let is_reported_wide = || {
                    let wide = wide.as_ref().filter(|_| rule.cluster.is_some())?;
                    self.world.meets(condition, wide).filter(|wide| !wide.is_named() || wide.names == met.names)
                };
                if !is_here || (met.is_named() && rule.named == NameEffect::Void) || is_reported_wide().is_some() {
                    return None;
                }
                let level = condition.level_of(met.case, level);
                let severity = match rule.named {
                    _ if !met.is_named() => level,
                    NameEffect::To(severity) => severity.min(level),
                    NameEffect::Signers => self.of_signers(&met, level),
                    NameEffect::Policies => self.of_policies(&met, level),
                    _ => level.step_down(),
                };
                Some(Judged { rule, level, severity, met, is_reported })
            })
            .collect()
    }

    /// Whether another selected rule reports more of the same, at no lower severity. Of a chain of such rules the
    /// last one is reported.
    fn is_behind(
        &self,
        place: ScopedSubject,
        found: RatedFinding<'_>,
        others: &[Judged],
        powers: &Powers,
        is_selected: &dyn Fn(&RiskRule) -> bool,
    ) -> bool {
        let RatedFinding { judged, severity, .. } = found;
        others.iter().filter(|other| other.is_reported).any(|other| {
            let reports_more = other.rule.id == "E001" || judged.rule.behind.contains(&other.rule.id);
            other.rule.id != judged.rule.id
                && reports_more
                && is_selected(other.rule)
                && (!other.met.is_named() || judged.met.is_named())
                && self.severity(place, other, powers) >= severity
        })
    }

    /// Adds a finding with its folded findings.
    pub(super) fn add_finding(
        &self,
        (holder, namespace): ScopedSubject,
        found: RatedFinding<'_>,
        folded: &[RatedFinding<'_>],
        findings: &mut Findings,
    ) {
        let RatedFinding { judged, severity, reached } = found;
        let Some(anchor) = judged.met.steps.iter().find(|step| !step.part.is_default()) else { return };
        let Some((binding, role)) = self.granting(holder, namespace, *anchor) else { return };
        // B005 reports the binding.
        let is_cluster_admin = role.namespace.is_none() && self.world.symbols.text(role.name) == "cluster-admin";
        if judged.rule.id == "E001" && is_cluster_admin && self.options.rules.iter().any(|rule| rule.id == "B005") {
            return;
        }
        let mut steps = judged.met.steps.clone();
        for step in folded.iter().flat_map(|other| &other.judged.met.steps) {
            if !steps.contains(step) {
                steps.push(*step);
            }
        }
        // The server's own binding has no place; a widened role has one.
        let place_of: Option<Origin> = place(binding.layer).or_else(|| place(role.layer));
        let mut shapes: Vec<u128> = steps.iter().map(|step| self.shape(step.list)).collect();
        let content: Vec<(&str, &str)> =
            folded.iter().map(|folded| (folded.judged.rule.id, folded.severity.word())).collect();
        shapes.extend((!content.is_empty()).then(|| digest_of_run(&content)));
        let likeness = Likeness {
            rule: judged.rule.id,
            severity,
            in_namespace: namespace.is_some(),
            shapes,
            place: self.apart(place_of),
            reached,
        };
        let affected = || Affected { subject: self.world.holder_name(holder), scope: self.scope(namespace) };
        findings.add(likeness, affected, || Finding {
            names: self.names(judged),
            role: Some(self.world.role_link(role)),
            what: self.what((holder, namespace), judged, &steps),
            folded: folded.iter().map(|folded| self.folded(folded)).collect(),
            reached,
            proof: self.chains(holder, namespace, judged, &steps),
            ..Finding::new(judged.rule, severity, place_of)
        });
    }

    /// Returns the severity for a holder in a scope.
    fn severity(&self, (holder, namespace): ScopedSubject, judged: &Judged, powers: &Powers) -> RiskSeverity {
        let severity = self.resolved(judged, namespace, powers);
        let is_ordinary = self.is_ordinary(holder, namespace, judged);
        let severity = if is_ordinary { severity.step_down() } else { severity };
        self.reached((holder, namespace), judged.rule).map_or(severity, |reached| severity.max(reached.severity))
    }

    /// Whether `admin`, `edit` or `view` contain a permission by themselves in a namespace of users: these names
    /// describe it, and their bindings there are intended. Added rules are not described by the names.
    fn is_ordinary(&self, holder: Holder, namespace: Option<Symbol>, judged: &Judged) -> bool {
        let symbols = &self.world.symbols;
        let is_for_users = namespace.is_some_and(|namespace| !CONTROL_PLANE.contains(&symbols.text(namespace)));
        is_for_users
            && judged.met.steps.iter().all(|step| {
                self.granting(holder, namespace, *step).is_some_and(|(_, role)| self.is_ordinary_rule(role, step.rule))
            })
    }

    /// Returns the binding by which a holder has a list.
    pub(super) fn granting(&self, holder: Holder, namespace: Option<Symbol>, step: Step) -> Option<(&Binding, &Role)> {
        let scope = if step.part.is_own() { namespace } else { None };
        let ids = self.world.index.bound_rules(holder, scope, &self.world.symbols).iter().map(|held| held.binding);
        let mut bound = ids.filter_map(|id| Some((id, self.bound(id)?)));
        let is_it = |(id, (binding, role)): &(u32, (&Binding, &Role))| {
            role.rules == step.list && self.gives_default(*id, binding, role) == step.part.is_default()
        };
        bound.find(is_it).map(|(_, found)| found)
    }

    /// Whether the objects that a rule needs exist: in the namespace, or anywhere for cluster-wide permissions.
    fn has_what_it_needs(&self, place: ScopedSubject, judged: &Judged) -> bool {
        match judged.rule.needs {
            Needs::Nothing => true,
            Needs::CloudAccount => !self.cloud_accounts(place).is_empty(),
            Needs::AwsAuth => place.1.is_none_or(|namespace| self.world.symbols.text(namespace) == AWS_AUTH_NAMESPACE),
        }
    }

    /// Returns the accounts with an identity in a cloud in a scope, without the holder itself.
    fn cloud_accounts(&self, (holder, namespace): ScopedSubject) -> Vec<String> {
        let symbols = &self.world.symbols;
        let own = Some(symbols.text(holder.name)).filter(|_| !holder.is_group).and_then(service_account);
        let accounts = self.world.clouds.accounts(namespace.map(|namespace| symbols.text(namespace)));
        let others = accounts.filter(|account| Some(*account) != own);
        others.map(|(namespace, name)| format!("`ServiceAccount/{namespace}/{name}`")).collect()
    }

    /// Returns the text of a message beside the words of its rule.
    fn what(&self, place: ScopedSubject, judged: &Judged, steps: &[Step]) -> String {
        if judged.rule.id == NEARLY_FULL[0] {
            self.near_star_in_words(steps)
        } else if judged.rule.needs == Needs::CloudAccount {
            few(&self.cloud_accounts(place))
        } else {
            String::new()
        }
    }

    /// Returns the text of a message for a finding beside the rule's own words.
    pub(super) fn what_of(&self, place: ScopedSubject, judged: &Judged) -> String {
        self.what(place, judged, &judged.met.steps)
    }

    /// Returns the names that limit a finding, in order.
    pub(super) fn names(&self, judged: &Judged) -> Vec<String> {
        let names = judged.met.names.iter().flatten().map(|&name| self.world.symbols.text(name).to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the proving rules of a role for a finding, reduced to the relevant part.
    pub(super) fn rules_that_prove(&self, judged: &Judged, role: &Role) -> Vec<RuleLink> {
        let case = self.case_of(judged);
        let link = |step: &Step| {
            let mut link = self.rule_link(role, step.rule)?;
            if let Some((case, own)) = case.zip(self.world.rules_of(role).get(step.rule)) {
                link.rule = self.world.narrowed(case, own);
            }
            Some(link)
        };
        judged.met.steps.iter().filter_map(link).collect()
    }

    /// Returns the proof of a finding.
    pub(super) fn proof_of(&self, (holder, namespace): ScopedSubject, judged: &Judged) -> Vec<Chain> {
        self.chains(holder, namespace, judged, &judged.met.steps)
    }

    /// Returns the verbs of rules, each once, in words.
    pub(super) fn verbs(&self, steps: &[Step]) -> String {
        let rules = steps.iter().filter_map(|step| self.world.lists.get(step.list).get(step.rule));
        let mut verbs: Vec<&str> = Vec::new();
        for verb in rules.flat_map(|rule| rule.verbs()).map(|&verb| self.world.symbols.text(verb)) {
            if !verbs.contains(&verb) {
                verbs.push(verb);
            }
        }
        verbs.truncate(MAXIMUM_VERBS);
        verbs.join(", ")
    }

    /// Returns the proof as chains, with the rules of one binding together. Rules with folded findings are shown in
    /// full.
    fn chains(&self, holder: Holder, namespace: Option<Symbol>, judged: &Judged, steps: &[Step]) -> Vec<Chain> {
        let case = self.case_of(judged);
        let mut chains: Vec<Chain> = Vec::new();
        for step in steps {
            let Some((binding, role)) = self.granting(holder, namespace, *step) else { continue };
            let Some(mut rule) = self.rule_link(role, step.rule) else { continue };
            if let Some((case, own)) = case.zip(self.world.rules_of(role).get(step.rule)) {
                rule.rule = self.world.narrowed(case, own);
            }
            let link = self.world.binding_link(binding);
            match chains.iter_mut().find(|chain| chain.binding == link) {
                Some(chain) => chain.rules.push(rule),
                None => chains.push(Chain {
                    subject: self.world.holder_name(holder),
                    binding: link,
                    role: self.world.role_link(role),
                    rules: vec![rule],
                }),
            }
        }
        chains
    }

    /// Returns the severity, after a look at the named objects.
    fn resolved(&self, judged: &Judged, namespace: Option<Symbol>, powers: &Powers) -> RiskSeverity {
        let names = judged.met.names.first().map_or(&[][..], Vec::as_slice);
        let symbols = &self.world.symbols;
        let texts = || names.iter().map(|&name| symbols.text(name));
        let found = match judged.rule.named {
            _ if names.is_empty() => None,
            NameEffect::Roles => texts().map(|name| self.worst_of_role(namespace, name)).max().flatten(),
            NameEffect::Users => {
                let user = |name: &Symbol| powers.get(&Holder { is_group: false, name: *name }).copied();
                names.iter().map(user).max().flatten()
            }
            NameEffect::Groups if texts().any(|name| name == MASTERS) => Some(RiskSeverity::Critical),
            NameEffect::Groups => {
                let group = |name: &Symbol| powers.get(&Holder { is_group: true, name: *name }).copied();
                Some(match names.iter().map(group).max().flatten() {
                    Some(severity) if severity >= RiskSeverity::High => RiskSeverity::Critical,
                    _ => RiskSeverity::Medium,
                })
            }
            NameEffect::Accounts => {
                let is_meant = |holder: &Holder| match (service_account(symbols.text(holder.name)), namespace) {
                    _ if holder.is_group => false,
                    (Some((_, name)), None) => texts().any(|wanted| wanted == name),
                    (Some((_, name)), Some(namespace)) => {
                        let user = account_user(symbols.text(namespace), name);
                        symbols.text(holder.name) == user && texts().any(|wanted| wanted == name)
                    }
                    (None, _) => false,
                };
                powers.iter().filter(|(holder, _)| is_meant(holder)).map(|(_, severity)| *severity).max()
            }
            _ => None,
        };
        found.map_or(judged.severity, |found| found.clamp(RiskSeverity::Low, judged.level))
    }

    fn worst_of_role(&self, namespace: Option<Symbol>, name: &str) -> Option<RiskSeverity> {
        let cluster_role = self.world.role(None, name);
        let role = namespace.and_then(|namespace| self.world.role(Some(self.world.symbols.text(namespace)), name));
        let found = cluster_role.into_iter().chain(role);
        found.map(|role| self.worst_of(role.rules, namespace.is_some(), &|_| true)).max()
    }

    /// Returns the severity of certificates of the named signers: the first is for users, the next two for nodes.
    fn of_signers(&self, met: &Met, level: RiskSeverity) -> RiskSeverity {
        let of_signer = |name: &Symbol| match self.world.symbols.text(*name) {
            "kubernetes.io/kube-apiserver-client" | "kubernetes.io/*" => level,
            name if name.starts_with("kubernetes.io/") => level.step_down(),
            _ => level.step_down().step_down(),
        };
        met.names.iter().flatten().map(of_signer).max().unwrap_or(level)
    }

    /// Returns the severity of pods under the named policies: the policies of OpenShift are known by name, others may
    /// permit anything.
    fn of_policies(&self, met: &Met, level: RiskSeverity) -> RiskSeverity {
        let of_policy = |name: &Symbol| match self.world.symbols.text(*name) {
            "restricted" | "restricted-v2" | "restricted-v3" | "nonroot" | "nonroot-v2" => RiskSeverity::Info,
            "privileged"
            | "hostaccess"
            | "hostmount-anyuid"
            | "hostmount-anyuid-v2"
            | "hostnetwork"
            | "hostnetwork-v2"
            | "node-exporter" => level,
            _ => level.step_down(),
        };
        met.names.iter().flatten().map(of_policy).max().unwrap_or(level)
    }
}

impl Judged {
    /// Whether names limit it.
    pub(super) fn is_named(&self) -> bool {
        self.met.is_named()
    }

    /// Whether the limiting names, if any, include the names of another finding of its rule.
    pub(super) fn has_names_of(&self, other: &Judged) -> bool {
        let names = |judged: &Judged| judged.met.names.iter().flatten().copied().collect::<HashSet<_>>();
        !self.is_named() || (other.is_named() && names(other).is_subset(&names(self)))
    }
}

impl ClassPermissions {
    /// Creates the permissions of one list of rules in the scope of others.
    pub(super) fn only(&self, list: RuleListId) -> Self {
        let rules = EffectiveRules::only(list, self.rules.is_in_namespace());
        Self { rules, in_control_plane: self.in_control_plane }
    }
}

impl Classes {
    fn get(&self, number: usize) -> Option<HolderClass<'_>> {
        Some(HolderClass { number, permissions: self.permissions.get(number)?, judged: self.judged.get(number)? })
    }

    /// Iterates over the places with the findings there.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ScopedSubject, &[Judged])> {
        self.places.iter().filter_map(|(place, class)| Some((*place, self.judged.get(*class)?.as_slice())))
    }

    fn powers(&self) -> Powers {
        let mut powers = Powers::new();
        for ((holder, _), class) in &self.places {
            let worst = self.judged.get(*class).into_iter().flatten().map(|judged| judged.severity).max();
            if let Some(worst) = worst {
                let known = powers.entry(*holder).or_insert(worst);
                *known = worst.max(*known);
            }
        }
        powers
    }
}

impl World {
    /// Returns a holder as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub(crate) fn holder_name(&self, holder: Holder) -> String {
        let name = self.symbols.text(holder.name);
        if holder.is_group { format!("Group/{name}") } else { subject_of_user(name) }
    }
}
