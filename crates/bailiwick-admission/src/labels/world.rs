//! The inputs for the labels of all namespaces, and the outcome for each.
//!
//! Objects are added to a [`SyncBuilder`] in any order; a later object replaces an earlier one of its name. The
//! builder converts each SCC at most twice, and evaluates each distinct list of rules and each binding once. A
//! namespace then costs a few unions of bits, for any number of constraints, roles and tenants.

use std::collections::{BTreeMap, BTreeSet};

use super::Settings;
use super::control::{Control, control, is_shared};
use super::grants::{Grants, Hidden, HiddenBindings, SccSet};
use super::namespace::{LabelOwnership, LabelSet, NamespaceFacts, Source};
use super::neighbours::opts_in_operators;
use super::sync::{self, Skip, SyncAction, SyncFailure};
use crate::level::Level;
use crate::scc::bootstrap;
use crate::scc::convert::{ConversionError, Converted};
use crate::scc::defaults::{self, Start};
use crate::scc::lints::{SccLint, lints};
use crate::scc::range::UidRange;
use crate::scc::semantic::guarantee;
use crate::scc::{Scc, is_scc};
use bailiwick_access::world::{Added, Builder, ObjectSource, World};
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::catalogue::{FIRST_MINOR, LAST_MINOR};
use bailiwick_kubernetes::rbac;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::DeError;
use bailiwick_yaml::diag::Origin;

/// Collects objects.
#[derive(Debug)]
pub struct SyncBuilder {
    settings: Settings,
    access: Builder,
    sccs: BTreeMap<String, Scc>,
    namespaces: BTreeMap<String, NamespaceFacts>,
    accounts: BTreeMap<String, BTreeSet<Box<str>>>,
    operators: BTreeSet<String>,
    hidden: HiddenBindings,
    is_stored: bool,
}

/// The complete inputs for the labels of namespaces.
#[derive(Debug)]
pub struct SyncWorld {
    settings: Settings,
    pub(super) access: World,
    pub(super) sccs: Vec<Scc>,
    converted: Vec<Converted>,
    conversions: u64,
    pub(super) grants: Grants,
    pub(super) hidden: HiddenBindings,
    above_zero: ByLevel,
    from_zero: ByLevel,
    namespaces: BTreeMap<String, NamespaceFacts>,
    accounts: BTreeMap<String, BTreeSet<Box<str>>>,
    operators: BTreeSet<String>,
}

/// The outcome for a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncOutcome {
    /// Whether the syncer manages the namespace, with the reason.
    pub control: Control,
    /// The action of the syncer.
    pub action: SyncAction,
    /// The computed levels.
    pub levels: Levels,
    /// The applied labels, with or without a change of value.
    pub applied: LabelSet,
    /// Whether it takes them from others.
    pub forced: bool,
    /// Its Pod Security labels when the syncer is done.
    pub labels: LabelSet,
    /// The annotation with the computed level in the stable state; none for an absent or invalid annotation.
    pub annotation: Option<Level>,
    /// True when the real syncer fails now and then, or wavers: it meets constraints and managers in random order.
    pub depends_on_order: bool,
}

/// The level of a namespace in each reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Levels {
    /// The level computed by the syncer; none for an unmanaged namespace.
    pub sync: Option<Level>,
    /// The level by the same rules with the access granted by the authorizer; none without usable constraints or
    /// without a level.
    pub rbac: Option<Level>,
    /// The level guaranteed by the constraints with the authorizer's access; none without usable constraints.
    pub semantic: Option<Level>,
}

/// Constraints by their level in a namespace.
#[derive(Debug, Default)]
struct ByLevel {
    levels: [SccSet; 3],
    failing: SccSet,
    guaranteed: [SccSet; 3],
}

/// The level of a set of constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) level: Option<Level>,
    /// True when some of them have no level.
    pub(super) fails: bool,
}

impl SyncBuilder {
    /// Returns a world without objects.
    pub fn new(settings: Settings) -> Self {
        let minor = settings.release.kubernetes_minor().clamp(FIRST_MINOR, LAST_MINOR);
        Self {
            settings,
            access: Builder::new(minor),
            sccs: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            accounts: BTreeMap::new(),
            operators: BTreeSet::new(),
            hidden: HiddenBindings::new(),
            is_stored: false,
        }
    }

    /// Adds the initial objects of a cluster as a lower layer: the RBAC policy of Kubernetes, the constraints of the
    /// payload, and their roles and bindings. Call this before any object is added.
    #[must_use]
    pub fn with_defaults(mut self, upgraded_from_4_10: bool) -> Self {
        let minor = self.settings.release.kubernetes_minor().clamp(FIRST_MINOR, LAST_MINOR);
        self.access = self.access.with_default_policy(minor);
        for object in bootstrap::objects(self.settings.release) {
            _ = self.access.add(object, ObjectSource::Baseline);
        }
        for tree in defaults::trees(Start { release: self.settings.release, upgraded_from_4_10 }) {
            for object in tree.documents() {
                // The payload is well-formed; a test reads it.
                _ = self.add_to_layer(object, Source::Declared, ObjectSource::Baseline);
            }
        }
        self
    }

    /// Takes objects in their stored form, without the defaults of a server.
    #[must_use]
    pub fn with_stored_objects(mut self) -> Self {
        self.is_stored = true;
        self
    }

    /// Adds an object, and returns whether its kind has an effect. The kinds are Namespace, ServiceAccount, the RBAC
    /// kinds, SecurityContextConstraints, and ClusterServiceVersion for the operators of a namespace.
    ///
    /// # Errors
    /// The first field of constraints with a value of another type than in the API.
    pub fn add(&mut self, object: NodeRef<'_>, source: Source) -> Result<bool, DeError> {
        self.add_at(object, source, object.origin())
    }

    /// Adds an object read from a copy of another location.
    ///
    /// # Errors
    /// As for [`SyncBuilder::add`].
    pub fn add_at(&mut self, object: NodeRef<'_>, source: Source, place: Origin) -> Result<bool, DeError> {
        self.add_to_layer(object, source, ObjectSource::Input(place))
    }

    fn add_to_layer(&mut self, object: NodeRef<'_>, source: Source, layer: ObjectSource) -> Result<bool, DeError> {
        let text = |keys: &[&str]| absent::text_at(object, keys);
        let (api_version, kind) = (text(&["apiVersion"]), text(&["kind"]));
        let (namespace, name) = (text(&["metadata", "namespace"]), text(&["metadata", "name"]));
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        if name.is_empty() {
            return Ok(false);
        }
        if is_scc(api_version, kind) {
            let scc = if self.is_stored { Scc::read_raw(object) } else { Scc::read(object) }?;
            self.sccs.insert(name.to_owned(), scc);
            return Ok(true);
        }
        match (group, kind) {
            ("", "Namespace") | ("project.openshift.io", "Project") => {
                self.namespaces.insert(name.to_owned(), NamespaceFacts::read(object, source));
            }
            ("", "ServiceAccount") => {
                let namespace = if namespace.is_empty() { "default" } else { namespace };
                self.accounts.entry(namespace.to_owned()).or_default().insert(name.into());
            }
            ("operators.coreos.com", "ClusterServiceVersion") => {
                let is_copy = object.path(&["metadata", "labels", "olm.copiedFrom"]).is_some();
                if !is_copy {
                    self.operators.insert(namespace.to_owned());
                }
            }
            (rbac::GROUP, "RoleBinding" | "ClusterRoleBinding") => {
                let is_local = kind == "RoleBinding";
                let namespace = if namespace.is_empty() { "default" } else { namespace };
                let key = (if is_local { namespace } else { "" }.to_owned(), name.to_owned());
                let hidden = hidden(object, self.is_stored);
                if hidden == Hidden::default() {
                    self.hidden.remove(&key);
                } else {
                    self.hidden.insert(key, hidden);
                }
                // A role or binding with a name is always taken.
                _ = self.access.add(object, layer);
            }
            _ => {
                return Ok(matches!(self.access.add(object, layer), Added::Taken | Added::Replaced(_)));
            }
        }
        Ok(true)
    }

    /// Adds a service account created by the cluster itself, such as `default` in every namespace.
    pub fn add_account(&mut self, namespace: &str, name: &str) {
        self.accounts.entry(namespace.to_owned()).or_default().insert(name.into());
    }

    /// Settles everything.
    pub fn build(self) -> SyncWorld {
        let sccs: Vec<Scc> = self.sccs.into_values().collect();
        let mut conversions = 0;
        let release = self.settings.release;
        let converted: Vec<Converted> = sccs.iter().map(|scc| Converted::new(scc, release, &mut conversions)).collect();
        let access = self.access.build();
        let by_level = |range| ByLevel::new(&sccs, &converted, range, self.settings);
        SyncWorld {
            settings: self.settings,
            grants: Grants::new(&access, &sccs, &self.hidden),
            above_zero: by_level(UidRange::AboveZero),
            from_zero: by_level(UidRange::FromZero),
            access,
            sccs,
            converted,
            conversions,
            hidden: self.hidden,
            namespaces: self.namespaces,
            accounts: self.accounts,
            operators: self.operators,
        }
    }
}

impl SyncWorld {
    /// Returns the settings of the cluster.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Returns the number of conversions of the builder.
    pub fn conversions(&self) -> u64 {
        self.conversions
    }

    /// Returns the constraints, by name.
    pub fn sccs(&self) -> &[Scc] {
        &self.sccs
    }

    /// Returns the roles and bindings.
    pub fn access(&self) -> &World {
        &self.access
    }

    /// Returns the added namespaces, by name.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.namespaces.keys().map(String::as_str)
    }

    /// Returns the facts about a namespace, with the label of the operator lifecycle manager.
    pub fn facts(&self, namespace: &str) -> Option<NamespaceFacts> {
        let mut facts = self.declared_facts(namespace)?.clone();
        if opts_in_operators(namespace, &facts, self.has_operator(namespace), self.settings.release) {
            facts.sync = Some("true".into());
        }
        Some(facts)
    }

    /// Returns the facts about a namespace as they were added.
    pub fn declared_facts(&self, namespace: &str) -> Option<&NamespaceFacts> {
        self.namespaces.get(namespace)
    }

    /// Whether the namespace has an operator other than a copy.
    pub fn has_operator(&self, namespace: &str) -> bool {
        self.operators.contains(namespace)
    }

    /// Returns the service accounts of a namespace.
    pub fn accounts(&self, namespace: &str) -> impl Iterator<Item = &str> + Clone {
        self.accounts.get(namespace).into_iter().flatten().map(|account| &**account)
    }

    /// Returns the constraints of a service account for the syncer, by name.
    pub fn usable(&self, namespace: &str, account: &str) -> Vec<&str> {
        self.names(&self.grants.synced(namespace, std::iter::once(account)))
    }

    /// Returns the constraints of a service account for the authorizer, by name.
    pub fn authorized(&self, namespace: &str, account: &str) -> Vec<&str> {
        self.names(&self.grants.authorized(&self.access, namespace, std::iter::once(account)))
    }

    /// Whether every service account may use the constraints, for the syncer.
    pub fn is_for_everybody(&self, scc: &str) -> bool {
        let position = self.sccs.binary_search_by(|known| known.name().cmp(scc));
        position.is_ok_and(|position| self.grants.everybody().contains(position))
    }

    /// Returns the lints about constraints; none for unknown constraints.
    pub fn scc_lints(&self, scc: &str) -> Vec<SccLint> {
        let found = self.sccs.iter().find(|known| known.name() == scc);
        found.map_or_else(Vec::new, |found| lints(found, self.settings.release, self.is_for_everybody(scc)))
    }

    /// Returns the level of constraints in a namespace with this range; none for unknown constraints.
    ///
    /// # Errors
    /// Why they have none.
    pub fn level(&self, scc: &str, range: UidRange) -> Option<Result<Level, ConversionError>> {
        let position = self.sccs.binary_search_by(|known| known.name().cmp(scc)).ok()?;
        self.converted.get(position).map(|converted| converted.level(range))
    }

    /// Returns the outcome for a namespace; none for an unknown namespace.
    pub fn outcome(&self, namespace: &str) -> Option<SyncOutcome> {
        let facts = self.facts(namespace)?;
        let control = control(namespace, &facts, self.settings.release);
        let accounts = self.accounts(namespace);
        let range = facts.range();
        let authorized = self.grants.authorized(&self.access, namespace, accounts.clone());
        let rbac = self.reached(&authorized, range);
        let has_accounts = accounts.clone().next().is_some();
        let levels = Levels {
            sync: None,
            rbac: rbac.level.filter(|level| has_accounts && (!rbac.fails || *level == Level::Privileged)),
            semantic: self.guaranteed(&authorized, range).filter(|_| has_accounts),
        };
        let mut outcome = SyncOutcome {
            control,
            action: SyncAction::Skip(Skip::NotControlled),
            levels,
            applied: LabelSet::default(),
            forced: false,
            annotation: facts.computed_level.as_deref().and_then(Level::parse),
            labels: facts.labels.clone(),
            depends_on_order: self.settings.release.respects_owners() && is_shared(&facts),
        };
        let skip = if !control.controlled {
            Some(Skip::NotControlled)
        } else if facts.is_terminating {
            Some(Skip::Terminating)
        } else if range == UidRange::Missing {
            Some(Skip::NoUidRange)
        } else {
            (!has_accounts).then_some(Skip::NoServiceAccounts)
        };
        if let Some(skip) = skip {
            outcome.action = SyncAction::Skip(skip);
            return Some(outcome);
        }
        let usable = self.grants.synced(namespace, accounts);
        let reached = self.reached(&usable, range);
        let Some(level) = reached.level.filter(|level| !reached.fails || *level == Level::Privileged) else {
            let failure = if reached.fails { SyncFailure::ConversionFailed } else { SyncFailure::NoUsableScc };
            outcome.action = SyncAction::Fail(failure);
            return Some(outcome);
        };
        outcome.depends_on_order |= reached.fails;
        if self.settings.release.respects_owners() && facts.ownership == LabelOwnership::Unreadable {
            outcome.action = SyncAction::Fail(SyncFailure::UnreadableManagers);
            return Some(outcome);
        }
        let written = sync::write(&facts, level, self.settings);
        outcome.levels.sync = Some(level);
        outcome.action = if written.changes { SyncAction::Write } else { SyncAction::Nothing };
        outcome.forced = written.forced && written.changes;
        for (label, value) in written.applied.iter() {
            outcome.labels.set(label, value);
        }
        outcome.annotation = written.annotation.or(outcome.annotation);
        outcome.applied = written.applied;
        Some(outcome)
    }

    /// Returns the level of a set of constraints as the syncer computes it.
    pub(super) fn reached(&self, set: &SccSet, range: UidRange) -> Reached {
        match range {
            UidRange::AboveZero => self.above_zero.reached(set),
            UidRange::FromZero => self.from_zero.reached(set),
            UidRange::Missing | UidRange::Malformed => {
                // Rare enough to ask each of them.
                let levels = set.iter().filter_map(|position| self.converted.get(position));
                let levels: Vec<_> = levels.map(|converted| converted.level(range)).collect();
                let fails = levels.iter().any(Result::is_err);
                Reached { level: levels.into_iter().flatten().max(), fails }
            }
        }
    }

    fn guaranteed(&self, set: &SccSet, range: UidRange) -> Option<Level> {
        let by_level = if range == UidRange::FromZero { &self.from_zero } else { &self.above_zero };
        loosest(&by_level.guaranteed, set)
    }

    pub(super) fn names(&self, set: &SccSet) -> Vec<&str> {
        set.iter().filter_map(|position| self.sccs.get(position)).map(Scc::name).collect()
    }
}

impl ByLevel {
    fn new(sccs: &[Scc], converted: &[Converted], range: UidRange, settings: Settings) -> Self {
        let mut by_level = Self::default();
        for (position, (scc, converted)) in sccs.iter().zip(converted).enumerate() {
            let set = match converted.level(range) {
                Ok(level) => by_level.levels.get_mut(level as usize),
                Err(_) => Some(&mut by_level.failing),
            };
            set.into_iter().for_each(|set| set.insert(position));
            let level = guarantee(scc, range, settings.checks).level;
            by_level.guaranteed.get_mut(level as usize).into_iter().for_each(|set| set.insert(position));
        }
        by_level
    }

    fn reached(&self, set: &SccSet) -> Reached {
        Reached { level: loosest(&self.levels, set), fails: self.failing.meets(set) }
    }
}

fn loosest(by_level: &[SccSet; 3], set: &SccSet) -> Option<Level> {
    Level::ALL.into_iter().zip(by_level).rev().find(|(_, own)| own.meets(set)).map(|(level, _)| level)
}

/// Returns the parts of a binding ignored by the syncer. A server fills in the API group of references, users and
/// groups.
fn hidden(binding: NodeRef<'_>, is_stored: bool) -> Hidden {
    let text = |node: NodeRef<'_>, key| absent::text_at(node, &[key]).to_owned();
    let is_rbac = |group: &str| group == rbac::GROUP || (group.is_empty() && !is_stored);
    let subjects = binding.get("subjects").into_iter().flat_map(NodeRef::items).enumerate();
    let is_odd = |subject: NodeRef<'_>| {
        let group = text(subject, "apiGroup");
        match text(subject, "kind").as_str() {
            "ServiceAccount" => !group.is_empty(),
            "Group" => !is_rbac(&group),
            _ => false,
        }
    };
    Hidden {
        role: !binding.get("roleRef").is_some_and(|role_ref| is_rbac(&text(role_ref, "apiGroup"))),
        subjects: subjects.filter(|(_, subject)| is_odd(*subject)).map(|(position, _)| position).collect(),
    }
}
