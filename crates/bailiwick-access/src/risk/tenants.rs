//! T001 and T002: subjects of a tenant with permissions in the namespaces of other tenants, or in the whole cluster.
//!
//! The caller names the tenants with their namespaces. The subjects of a tenant are the service accounts of its
//! namespaces, with their group, and the users and groups bound by its Tenancy in its namespaces and in no namespace
//! of another tenant. Subjects of several tenants belong to none. Only the first step of an escalation is judged:
//! permissions of the subject itself. A service account of the tenant is a subject of its own.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::RiskSeverity;
use super::condition::Condition;
use super::holders::{HolderClass, Judged, Powers, RatedFinding, ScopedSubject};
use super::judge::{Finding, Findings, Folded, Judge, Likeness};
use super::matching::{EffectiveRules, PermissionSource};
use super::objects::Bound;
use super::reached::ReachedPower;
use super::scopes::Scopes;
use super::table::{BASELINE_ROLE, FULL_AUTHORITY, RiskRule, TenantCheck, When};
use crate::compare::Affected;
use crate::proof::{Chain, place};
use crate::request::{MASTERS, service_account};
use crate::rules::{self, RuleListId};
use crate::symbols::Symbol;
use crate::world::{Binding, Holder, Role, Subject, SubjectKind, World, account_user};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::{Code, Origin};

/// The rules about the subjects of bindings replaced by a finding about a tenant.
const OF_BINDINGS: [&str; 4] = [ALL_ACCOUNTS, CLUSTER_ADMIN, CLUSTER_WIDE, FOREIGN_ACCOUNT];
const ALL_ACCOUNTS: &str = "B003";
const CLUSTER_ADMIN: &str = "B005";
const CLUSTER_WIDE: &str = "B007";
const FOREIGN_ACCOUNT: &str = "B015";

/// Write access to workloads, Secrets and RBAC objects of a namespace.
const WRITES: &str = "create,update,patch,delete,deletecollection pods,deployments.apps,daemonsets.apps,statefulsets.apps,replicasets.apps,replicationcontrollers,jobs.batch,cronjobs.batch,secrets,roles.rbac,rolebindings.rbac or update,patch pods/ephemeralcontainers";

/// How many rules of a role a finding shows.
const MAXIMUM_RULES: usize = 3;

/// The group of the service accounts of a namespace.
const ACCOUNTS_OF: &str = "system:serviceaccounts:";

/// The tenants of a target.
pub struct Tenants<'t> {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    namespaces: HashMap<String, usize>,
    /// The Tenancy of each namespace by number.
    classes: HashMap<String, usize>,
    alike: HashSet<(bool, String)>,
    is_own: &'t dyn Fn(Origin) -> bool,
    is_accepted: &'t dyn Fn(Code, Origin) -> bool,
    pub(super) weight: Option<&'t dyn Fn(&str) -> usize>,
}

impl<'t> Tenants<'t> {
    /// Creates a list without tenants. `is_own` returns whether a Tenancy makes the bindings of a place,
    /// `is_accepted` whether a policy accepts a finding there.
    pub fn new(is_own: &'t dyn Fn(Origin) -> bool, is_accepted: &'t dyn Fn(Code, Origin) -> bool) -> Self {
        Self {
            names: Vec::new(),
            numbers: HashMap::new(),
            namespaces: HashMap::new(),
            classes: HashMap::new(),
            alike: HashSet::new(),
            is_own,
            is_accepted,
            weight: None,
        }
    }

    /// Counts a finding in a namespace for all namespaces that it stands for, in a sample of the namespaces.
    #[must_use]
    pub fn with_weight(self, weight: &'t dyn Fn(&str) -> usize) -> Self {
        Self { weight: Some(weight), ..self }
    }

    /// Adds a namespace of a tenant; `class` is the number of the Tenancy.
    pub fn add(&mut self, class: usize, tenant: &str, namespace: &str) {
        let number = match self.numbers.get(tenant) {
            Some(number) => *number,
            None => {
                self.names.push(tenant.to_owned());
                self.numbers.insert(tenant.to_owned(), self.names.len() - 1);
                self.names.len() - 1
            }
        };
        self.namespaces.insert(namespace.to_owned(), number);
        self.classes.insert(namespace.to_owned(), class);
    }

    /// Adds a user or group bound by a Tenancy for each of its tenants: it belongs to none, even for one tenant.
    pub fn add_alike(&mut self, is_group: bool, name: &str) {
        self.alike.insert((is_group, name.to_owned()));
    }

    /// Whether there are no tenants.
    pub fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
    }

    fn name(&self, tenant: usize) -> &str {
        self.names.get(tenant).map_or("", String::as_str)
    }
}

/// The tenants of a world with their subjects.
pub(super) struct Tenancy<'w> {
    tenants: &'w Tenants<'w>,
    /// Users and groups with their tenant; none for users and groups of several.
    members: HashMap<Holder, Option<usize>>,
    own: RefCell<HashMap<Origin, bool>>,
    scopes: Scopes<'w>,
    writes: Option<Condition>,
    /// The bindings with findings.
    reported: RefCell<HashSet<u32>>,
    /// The effect of a list of rules in a class, and the findings of a class without some lists.
    reaches: RefCell<HashMap<(usize, RuleListId), Rc<Reach>>>,
    remainders: RefCell<HashMap<(usize, Vec<RuleListId>), Remainder>>,
}

/// The permissions of a role beyond the expected ones.
struct Reach {
    /// The severity without the risk rules; none if the role has no effect.
    level: Option<RiskSeverity>,
    /// The findings of the role alone.
    alone: Vec<Judged>,
}

/// The remaining findings of a class.
type Remainder = Rc<[Judged]>;

/// A binding with its number and its role.
struct Grant<'w> {
    number: u32,
    binding: &'w Binding,
    role: &'w Role,
}

/// A binding beyond the namespaces of a tenant.
#[derive(Clone, Copy)]
struct Reached<'g> {
    /// The subject and its scope.
    place: ScopedSubject,
    tenant: usize,
    /// The tenant of the namespace.
    other: Option<usize>,
    grant: &'g Grant<'g>,
    level: RiskSeverity,
}

impl<'w> Tenancy<'w> {
    /// Returns how many namespaces a namespace stands for, in a sample of them; 1 for every namespace without a sample.
    pub(super) fn weight(&self, namespace: &str) -> usize {
        self.tenants.weight.map_or(1, |weight| weight(namespace))
    }

    /// Finds the subjects of the tenants.
    pub(super) fn new(tenants: &'w Tenants<'w>, world: &'w World) -> Self {
        let mut tenancy = Self {
            tenants,
            members: HashMap::new(),
            own: RefCell::default(),
            scopes: Scopes::new(world),
            writes: Condition::parse(WRITES, world),
            reported: RefCell::default(),
            reaches: RefCell::default(),
            remainders: RefCell::default(),
        };
        let mut members: HashMap<Holder, Option<usize>> = HashMap::new();
        for binding in &world.bindings {
            let Some(tenant) = binding.namespace.and_then(|namespace| tenancy.tenant_in(world, namespace)) else {
                continue;
            };
            if !tenancy.is_own(binding) {
                continue;
            }
            for subject in world.subjects(binding) {
                let is_group = match subject.kind {
                    SubjectKind::Group => true,
                    SubjectKind::User => false,
                    SubjectKind::ServiceAccount | SubjectKind::Unknown => continue,
                };
                let name = world.symbols.text(subject.name);
                if name.starts_with("system:") || tenants.alike.contains(&(is_group, name.to_owned())) {
                    continue;
                }
                let known = members.entry(Holder { is_group, name: subject.name }).or_insert(Some(tenant));
                *known = known.filter(|known| *known == tenant);
            }
        }
        tenancy.members = members;
        tenancy
    }

    /// Returns the tenant of a namespace.
    fn tenant_in(&self, world: &World, namespace: Symbol) -> Option<usize> {
        self.tenants.namespaces.get(world.symbols.text(namespace)).copied()
    }

    /// Returns the tenant of a subject.
    fn tenant_of(&self, world: &World, holder: Holder) -> Option<usize> {
        let name = world.symbols.text(holder.name);
        let namespace = match holder.is_group {
            true => name.strip_prefix(ACCOUNTS_OF),
            false => service_account(name).map(|(namespace, _)| namespace),
        };
        match namespace {
            Some(namespace) => self.tenants.namespaces.get(namespace).copied(),
            None => self.members.get(&holder).copied().flatten(),
        }
    }

    /// Returns the tenant of a subject, and the tenant of its namespace if it has one: none for a subject of no
    /// tenant, and for a namespace of the same tenant or of none.
    fn crossing(&self, world: &World, (holder, namespace): ScopedSubject) -> Option<(usize, Option<usize>)> {
        let tenant = self.tenant_of(world, holder)?;
        let Some(namespace) = namespace else { return Some((tenant, None)) };
        let other = self.tenant_in(world, namespace)?;
        (other != tenant).then_some((tenant, Some(other)))
    }

    /// Returns the number of the Tenancy of a namespace.
    pub(super) fn class_of(&self, namespace: &str) -> Option<usize> {
        self.tenants.classes.get(namespace).copied()
    }

    /// Returns the namespaces of each Tenancy by its number.
    pub(super) fn namespaces_by_class(&self) -> BTreeMap<usize, BTreeSet<&'w str>> {
        let mut by_class: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        for (namespace, class) in &self.tenants.classes {
            by_class.entry(*class).or_default().insert(namespace);
        }
        by_class
    }

    /// Returns the name of the tenant of a namespace.
    pub(super) fn tenant_name(&self, namespace: &str) -> &str {
        self.tenants.namespaces.get(namespace).map_or("", |tenant| self.tenants.name(*tenant))
    }

    /// Whether a finding is about a binding.
    pub(super) fn is_reported(&self, number: u32) -> bool {
        self.reported.borrow().contains(&number)
    }

    /// Whether a Tenancy makes a binding.
    pub(super) fn is_own(&self, binding: &Binding) -> bool {
        let Some(place) = place(binding.layer) else { return false };
        *self.own.borrow_mut().entry(place).or_insert_with(|| (self.tenants.is_own)(place))
    }

    pub(super) fn is_accepted(&self, rule: &RiskRule, binding: &Binding) -> bool {
        place(binding.layer).is_some_and(|place| (self.tenants.is_accepted)(rule.code, place))
    }
}

impl Judge<'_> {
    /// Reports the permissions of a subject of a tenant in a namespace of another tenant or in the whole cluster, and
    /// returns the remaining findings.
    pub(super) fn report_tenants<'j>(
        &self,
        place: ScopedSubject,
        class: HolderClass<'j>,
        powers: &Powers,
        findings: &mut Findings,
    ) -> Cow<'j, [Judged]> {
        let all = Cow::Borrowed(class.judged);
        let Some(tenancy) = &self.tenancy else { return all };
        let Some((tenant, other)) = tenancy.crossing(self.world, place) else { return all };
        let check = if other.is_some() { TenantCheck::ReachesTenant } else { TenantCheck::ReachesCluster };
        let is_it = |rule: &&&'static RiskRule| matches!(rule.when, When::Tenants(own) if own == check);
        let Some(rule) = self.options.rules.iter().find(is_it).copied() else { return all };
        let mut grants = self.reaching(rule, tenancy, place);
        let reach_of = |grant: &Grant<'_>| self.known_reach(tenancy, class, grant.role.rules);
        grants.retain(|grant| reach_of(grant).level.is_some());
        // Full authority includes all other findings.
        let is_full = |grant: &Grant<'_>| reach_of(grant).alone.iter().any(is_full);
        if grants.iter().any(is_full) {
            grants.retain(is_full);
        }
        if grants.is_empty() {
            return all;
        }
        let mut reported: HashSet<(RuleListId, Option<Origin>)> = HashSet::new();
        for grant in &grants {
            // Two bindings of one place to roles of the same rules are one grant.
            if !reported.insert((grant.role.rules, self::place(grant.binding.layer))) {
                continue;
            }
            let reach = reach_of(grant);
            let Some(level) = reach.level else { continue };
            let rated = self.rated(place, &reach.alone, powers, &|_| true);
            self.report_tenant(rule, Reached { place, tenant, other, grant, level }, &rated, findings);
        }
        tenancy.reported.borrow_mut().extend(grants.iter().map(|grant| grant.number));
        let mut lists: Vec<RuleListId> = grants.iter().map(|grant| grant.role.rules).collect();
        lists.sort_unstable();
        lists.dedup();
        Cow::Owned(self.known_remainder(tenancy, class, lists).to_vec())
    }

    /// Adds the finding about a binding.
    fn report_tenant(
        &self,
        rule: &'static RiskRule,
        reached: Reached<'_>,
        rated: &[RatedFinding<'_>],
        findings: &mut Findings,
    ) {
        let Some(tenancy) = &self.tenancy else { return };
        let Reached { place, tenant, other, grant, level } = reached;
        let (holder, namespace) = place;
        let worst = rated.iter().max_by_key(|found| found.severity);
        let severity = worst.map_or(level, |worst| level.max(worst.severity));
        let link = self.world.role_link(grant.role);
        let names = tenancy.tenants;
        let scope = match other.zip(namespace) {
            Some((other, namespace)) => {
                format!("in namespace `{}` of tenant `{}`", self.world.symbols.text(namespace), names.name(other))
            }
            None => "cluster-wide".to_owned(),
        };
        let origin = self::place(grant.binding.layer);
        let likeness = Likeness {
            rule: rule.id,
            severity,
            in_namespace: namespace.is_some(),
            shapes: vec![self.shape(grant.role.rules)],
            place: self.apart(origin),
            reached: ReachedPower::worst(rated.iter().map(|found| found.reached)),
        };
        let affected = || Affected { subject: self.world.holder_name(holder), scope: self.scope(namespace) };
        findings.add(likeness, affected, || Finding {
            what: format!("of tenant `{}` holds `{}` {scope}", names.name(tenant), link.name),
            role: Some(link.clone()),
            reached: ReachedPower::worst(rated.iter().map(|found| found.reached)),
            folded: self.folded_into_tenant(place, grant, rated),
            proof: vec![Chain {
                subject: self.world.holder_name(holder),
                binding: self.world.binding_link(grant.binding),
                role: link,
                rules: match worst {
                    Some(worst) => self.rules_that_prove(worst.judged, grant.role),
                    None => (0..MAXIMUM_RULES).filter_map(|position| self.rule_link(grant.role, position)).collect(),
                },
            }],
            ..Finding::new(rule, severity, origin)
        });
    }

    /// Whether findings about tenants replace the finding of a rule about a binding.
    pub(super) fn is_reported_for_tenants(&self, rule: &RiskRule, number: u32, binding: &Binding) -> bool {
        let tenancy = self.tenancy.as_ref().filter(|_| OF_BINDINGS.contains(&rule.id));
        tenancy.is_some_and(|tenancy| {
            tenancy.reported.borrow().contains(&number) && self.is_of_tenants_alone(rule.id, tenancy, binding)
        })
    }

    /// Whether the subjects of a rule about bindings are all of reported tenants.
    fn is_of_tenants_alone(&self, rule: &str, tenancy: &Tenancy<'_>, binding: &Binding) -> bool {
        let symbols = &self.world.symbols;
        let is_meant = |subject: &&Subject| match rule {
            ALL_ACCOUNTS => {
                subject.kind == SubjectKind::Group && symbols.text(subject.name).starts_with("system:serviceaccounts")
            }
            FOREIGN_ACCOUNT => is_foreign_account(subject, binding),
            _ => symbols.text(subject.name) != MASTERS,
        };
        let here = binding.namespace.map(|namespace| tenancy.tenant_in(self.world, namespace));
        let reaches = |subject: &Subject| {
            let holder = match subject.kind {
                SubjectKind::ServiceAccount => {
                    let own = Some(subject.namespace).filter(|namespace| *namespace != Symbol::EMPTY);
                    let namespace = own.or(binding.namespace)?;
                    let user = account_user(symbols.text(namespace), symbols.text(subject.name));
                    Holder { is_group: false, name: symbols.find(&user) }
                }
                SubjectKind::User => Holder { is_group: false, name: subject.name },
                SubjectKind::Group => Holder { is_group: true, name: subject.name },
                SubjectKind::Unknown => return None,
            };
            let tenant = tenancy.tenant_of(self.world, holder)?;
            here.is_none_or(|here| here.is_some_and(|here| here != tenant)).then_some(())
        };
        let mut meant = self.world.subjects(binding).iter().filter(is_meant).peekable();
        meant.peek().is_some() && meant.all(|subject| reaches(subject).is_some())
    }

    /// Returns the effective bindings of a subject of a tenant in a scope, except for bindings of the server and of a
    /// Tenancy, and for bindings repeated by another one of the scope.
    fn reaching(&self, rule: &RiskRule, tenancy: &Tenancy<'_>, (holder, namespace): ScopedSubject) -> Vec<Grant<'_>> {
        let mut grants: Vec<Grant<'_>> = Vec::new();
        let mut elsewhere: HashSet<RuleListId> = HashSet::new();
        for held in self.world.index.bound_rules(holder, namespace, &self.world.symbols) {
            let Some(binding) = self.world.binding(held.binding) else { continue };
            let Some(role) = self.world.role_of(binding).filter(|role| !self.world.rules_of(role).is_empty()) else {
                continue;
            };
            if self.gives_default(held.binding, binding, role)
                || (namespace.is_some() && tenancy.is_own(binding))
                || tenancy.is_accepted(rule, binding)
            {
                elsewhere.insert(role.rules);
            } else {
                grants.push(Grant { number: held.binding, binding, role });
            }
        }
        grants.retain(|grant| !elsewhere.contains(&grant.role.rules));
        grants.sort_by_key(|grant| grant.number);
        grants
    }

    /// Returns the effect of a list of rules in a class, computed once.
    fn known_reach(&self, tenancy: &Tenancy<'_>, class: HolderClass<'_>, list: RuleListId) -> Rc<Reach> {
        let key = (class.number, list);
        if let Some(known) = tenancy.reaches.borrow().get(&key) {
            return Rc::clone(known);
        }
        let reach = Rc::new(self.reach(tenancy, class, list));
        tenancy.reaches.borrow_mut().insert(key, Rc::clone(&reach));
        reach
    }

    /// Judges the rules of a role of a class by a binding.
    fn reach(&self, tenancy: &Tenancy<'_>, class: HolderClass<'_>, list: RuleListId) -> Reach {
        let held = &class.permissions.rules;
        let in_namespace = held.is_in_namespace();
        let beside = match in_namespace {
            true => [PermissionSource::Wide, PermissionSource::WideDefault].map(|part| held.lists(part)).concat(),
            false => held.lists(PermissionSource::OwnDefault).to_vec(),
        };
        let rules = |list: &RuleListId| self.world.lists.get(*list).iter();
        let text = |rule: &rules::InternedRule| rule.to_policy_rule(&self.world.symbols);
        let beside: Vec<PolicyRule> = beside.iter().flat_map(rules).map(text).collect();
        let given = rules(&list).map(text);
        let level = given.filter_map(|rule| tenancy.scopes.level(&rule, in_namespace, &beside)).max();
        let writes = || {
            let writes = tenancy.writes.as_ref().filter(|_| in_namespace);
            writes.is_some_and(|writes| self.world.meets(writes, &EffectiveRules::only(list, true)).is_some())
        };
        let level = level.map(|level| if writes() { RiskSeverity::Critical } else { level });
        let mut alone = self.judged(&class.permissions.only(list), &|_, _| true);
        alone.retain(|judged| is_reported(class.judged, judged));
        Reach { level, alone }
    }

    /// Returns the remaining findings of a class without the findings of some lists of rules, computed once.
    fn known_remainder(&self, tenancy: &Tenancy<'_>, class: HolderClass<'_>, lists: Vec<RuleListId>) -> Remainder {
        let key = (class.number, lists);
        if let Some(known) = tenancy.remainders.borrow().get(&key) {
            return Rc::clone(known);
        }
        let reaches: Vec<Rc<Reach>> = key.1.iter().map(|list| self.known_reach(tenancy, class, *list)).collect();
        let remainder: Remainder = self.remainder(class, &key.1, &reaches).into();
        tenancy.remainders.borrow_mut().insert(key, Rc::clone(&remainder));
        remainder
    }

    /// Returns the findings of a class without the findings of bindings to some lists of rules, each list alone.
    fn remainder(&self, class: HolderClass<'_>, lists: &[RuleListId], reaches: &[Rc<Reach>]) -> Vec<Judged> {
        let all = class.judged;
        let mut alone = reaches.iter().flat_map(|reach| &reach.alone);
        if alone.any(is_full) {
            return Vec::new();
        }
        let mut left = self.judged(class.permissions, &|list, _| lists.binary_search(&list).is_err());
        left.retain(|judged| is_reported(all, judged));
        // A finding with several causes belongs to none of them.
        for judged in all.iter().filter(|judged| judged.is_reported) {
            let mut alone = reaches.iter().flat_map(|reach| &reach.alone);
            let is_folded = alone.any(|other| other.rule.id == judged.rule.id && other.severity >= judged.severity);
            if !is_folded {
                left.retain(|other| other.rule.id != judged.rule.id);
                left.push(judged.clone());
            }
        }
        left
    }

    /// Returns the selected rules replaced by a finding about a tenant.
    fn folded_into_tenant(&self, place: ScopedSubject, grant: &Grant<'_>, rated: &[RatedFinding<'_>]) -> Vec<Folded> {
        let chooses_powers = self.options.rules.iter().any(|rule| rule.condition().is_some());
        let counted = rated.iter().filter(|found| !chooses_powers || self.is_selected(found.judged.rule));
        let mut folded: Vec<Folded> = counted.map(|found| self.folded(found)).collect();
        let rule_of = |id: &str| self.options.rules.iter().find(|rule| rule.id == id).copied();
        let worst = folded.iter().map(|folded| folded.severity).max();
        let is_full = folded.iter().any(|folded| folded.rule.id == FULL_AUTHORITY);
        if let Some((rule, severity)) = rule_of(BASELINE_ROLE).zip(worst)
            && folded.len() > 1
            && !is_full
            && self.is_of_baseline(grant.role)
        {
            folded.push(Folded {
                rule,
                severity,
                reached: ReachedPower::worst(rated.iter().map(|found| found.reached)),
                rules: Vec::new(),
            });
        }
        let in_namespace = place.1.is_some();
        for id in OF_BINDINGS {
            let Some((rule, tenancy)) = rule_of(id).zip(self.tenancy.as_ref()) else { continue };
            let When::Binding(check) = rule.when else { continue };
            let Some(severity) = rule.level(in_namespace, false) else { continue };
            let bound = Bound { judge: self, id: grant.number, binding: grant.binding };
            if self.is_of_tenants_alone(id, tenancy, grant.binding) && !check(&bound).is_empty() {
                folded.push(Folded { rule, severity, reached: None, rules: Vec::new() });
            }
        }
        folded
    }
}

/// Whether a finding is full authority, the replacement of every other.
fn is_full(judged: &Judged) -> bool {
    judged.rule.id == FULL_AUTHORITY && !judged.is_named()
}

/// Whether a rule is among the reported findings.
fn is_reported(all: &[Judged], judged: &Judged) -> bool {
    all.iter().any(|other| other.is_reported && other.rule.id == judged.rule.id)
}

fn is_foreign_account(subject: &Subject, binding: &Binding) -> bool {
    subject.kind == SubjectKind::ServiceAccount
        && subject.namespace != Symbol::EMPTY
        && binding.namespace.is_some_and(|own| own != subject.namespace)
}
