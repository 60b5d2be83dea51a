//! The linked policy: the objects of each account.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::profiles::{ProfileObject, ProfileObjects};
use super::sharing::LeftOut;
use crate::kinds::requirements::{Judgement, RequiredGrant};
use crate::model::{
    Account, Accounts, BoundValue, Condition, ConditionFailure, Contribution, Data, Date, Enforcement, Expiry,
    ExpirySettings, Fill, Linker, Mention, NAMESPACE_NAME, ObjectBlueprint, OutputFileKey, Pattern, Policy, PolicyMeta,
    PolicyNamespace, Repetition, Target, TenancyGrant, TenancyPolicy, TenantPart, Unit,
};

/// A class with resolved names.
pub(super) struct LinkedClass {
    pub(super) namespaces: Vec<LinkedNamespace>,
    /// Whether the cluster-scoped objects of an account are in the file of its one namespace.
    pub(super) has_one_file: bool,
    /// The objects in each of the namespaces.
    pub(super) inside: Vec<ClassItem>,
    /// The objects in other namespaces, and in the whole cluster.
    pub(super) outside: Vec<ClassItem>,
    /// The objects for the pod security profiles.
    pub(super) profiles: ProfileObjects,
    /// The groups and users with names independent of the account, and whether they are groups.
    pub(super) alike: Vec<(bool, Pattern)>,
    /// The names in grants.
    pub(super) mentions: Vec<Mention>,
    /// The grants with a last day.
    pub(super) expiries: Vec<ExpiringGrant>,
}

/// A namespace of each account.
pub(super) struct LinkedNamespace {
    pub(super) object: ObjectBlueprint,
    /// The Namespace with the profiles of some accounts. On a target with admission policies, one profile at most may apply to an account.
    pub(super) by_profile: Vec<(Repetition, ObjectBlueprint)>,
    pub(super) repetition: Repetition,
    /// The objects in this namespace alone.
    pub(super) inside: Vec<ClassItem>,
    /// The objects of this namespace in other namespaces, and in the whole cluster.
    pub(super) outside: Vec<ClassItem>,
    /// The objects that allow single service accounts to use a profile of their own, by enforcement.
    pub(super) granted: Vec<(Enforcement, ObjectBlueprint)>,
}

/// An object of a class.
#[derive(Clone)]
pub(super) struct ClassItem {
    pub(super) object: ObjectBlueprint,
    pub(super) repetition: Repetition,
    pub(super) place: ItemPlace,
    /// Whether an object outside the account's namespaces is made for each of them, and not for each account.
    pub(super) is_of_namespace: bool,
    /// The last day of a grant.
    pub(super) expiry: Option<ItemExpiry>,
    /// The grant, if the workspace has requirements.
    pub(super) required: Option<Arc<RequiredGrant>>,
}

/// A grant with a last day, as written.
pub(super) struct ExpiringGrant {
    pub(super) name: String,
    pub(super) until: Spanned<String>,
}

/// The last day of a grant, with the settings of the workspace.
#[derive(Clone)]
pub(super) struct ItemExpiry {
    pub(super) until: Pattern,
    pub(super) settings: ExpirySettings,
}

impl ItemExpiry {
    /// Whether the workspace leaves out a grant with these values.
    fn leaves_out(&self, from: Fill<'_>) -> bool {
        let days = self.until.fill_each(from);
        days.iter().filter_map(|day| day.parse().ok()).any(|until| self.settings.leaves_out(until))
    }
}

/// The place of an object of a class.
#[derive(Clone)]
pub(super) enum ItemPlace {
    /// The account's namespace.
    Own,
    /// Another namespace.
    In(Pattern),
    /// The whole cluster.
    Cluster,
}

/// Visits an object by its output file; the function makes the object, if it exists.
type VisitOutside<'v> = dyn FnMut(OutputFileKey, &dyn Fn() -> Option<Unit>) + 'v;

impl ClassItem {
    /// Adds the objects of the item in a namespace.
    fn add(&self, from: Fill<'_>, namespace: &Arc<str>, units: &mut Vec<Unit>) {
        self.each(from, &mut |from| units.extend(self.object.fill_existing(from.in_namespace(namespace))));
    }

    /// Visits the values of each object of the item.
    fn each(&self, from: Fill<'_>, visit: &mut dyn FnMut(Fill<'_>)) {
        match &self.expiry {
            None if self.repetition.is_once() => visit(from),
            None => self.repetition.each(from, visit),
            Some(expiry) => self.repetition.each(from, &mut |from| {
                if !expiry.leaves_out(from) {
                    visit(from);
                }
            }),
        }
    }

    /// Builds an object outside the account's namespaces.
    fn fill_outside(&self, from: Fill<'_>) -> Option<Unit> {
        let mut unit = self.object.fill_existing(from)?;
        unit.source.loops = from.loops(self.is_of_namespace);
        Some(unit)
    }

    /// Visits the objects of an item outside the account's namespaces: the output file, and a way to make the object.
    fn each_outside(&self, from: Fill<'_>, visit: &mut VisitOutside<'_>) {
        self.each(from, &mut |from| match &self.place {
            ItemPlace::Own => {}
            ItemPlace::In(name) => {
                for namespace in name.fill_each(from) {
                    let make = || self.fill_outside(from.in_namespace(&namespace));
                    visit(OutputFileKey::Namespace(Arc::clone(&namespace)), &make);
                }
            }
            ItemPlace::Cluster => visit(OutputFileKey::Cluster, &|| self.fill_outside(from)),
        });
    }

    fn detached(&self) -> Self {
        let place = match &self.place {
            ItemPlace::In(name) => ItemPlace::In(name.detached()),
            other => other.clone(),
        };
        Self { object: self.object.detached(), place, ..self.clone() }
    }
}

impl LinkedNamespace {
    /// Returns the Namespace with the profile of an account.
    fn with_profile(&self, from: Fill<'_>) -> &ObjectBlueprint {
        let applying = self.by_profile.iter().rev().find(|(when, _)| when.is_made(from));
        applying.map_or(&self.object, |(_, object)| object)
    }
}

impl LinkedClass {
    /// Visits the namespaces of an account, each with its name. The name is a value, too.
    fn each_namespace(&self, from: Fill<'_>, visit: &mut dyn FnMut(&LinkedNamespace, Fill<'_>, Arc<str>)) {
        for namespace in &self.namespaces {
            let mut one = |from: Fill<'_>| {
                let name = namespace.object.name.fill(from);
                let value = Data::Str(Arc::clone(&name));
                let bound = BoundValue { name: NAMESPACE_NAME, value: &value, outer: from.bound };
                visit(namespace, from.within(Some(&bound)), name);
            };
            if namespace.repetition.is_once() { one(from) } else { namespace.repetition.each(from, &mut one) }
        }
    }

    /// Whether an object is outside the account's namespaces.
    fn has_outside(&self) -> bool {
        !self.outside.is_empty() || self.namespaces.iter().any(|namespace| !namespace.outside.is_empty())
    }

    /// Visits the objects outside the account's namespaces: the output file, and a way to make the object.
    fn each_outside(&self, from: Fill<'_>, visit: &mut VisitOutside<'_>) {
        if !self.has_outside() {
            return;
        }
        let mut is_first = true;
        self.each_namespace(from, &mut |namespace, from, name| {
            let items = self.outside.iter().filter(|item| item.is_of_namespace || is_first);
            items.chain(&namespace.outside).for_each(|item| {
                item.each_outside(from, &mut |file, make| {
                    let is_of_tenant = self.has_one_file && file == OutputFileKey::Cluster;
                    visit(if is_of_tenant { OutputFileKey::Namespace(Arc::clone(&name)) } else { file }, make);
                });
            });
            is_first = false;
        });
    }

    /// Reports conditions that fail for an account.
    pub(super) fn check_conditions(&self, accounts: &Accounts, targets: &[Target], sink: &mut Sink) {
        let mut failed: BTreeMap<Origin, Failure> = BTreeMap::new();
        let accounts_of = |target: &Target| accounts.on(&target.name).map(|(_, account)| account).collect::<Vec<_>>();
        for target in targets {
            let accounts = accounts_of(target);
            let each = STEPS_OF_AN_ACCOUNT.saturating_mul(accounts.len() as u64);
            let steps = Cell::new(FIRST_STEPS.saturating_add(each));
            for account in accounts {
                let mut add = |condition: &Condition, reason: &ConditionFailure| {
                    let failure = failed.entry(condition.origin).or_insert_with(|| Failure {
                        target: target.name.clone(),
                        row: account.origin(),
                        reason: reason.to_string(),
                        rows: BTreeSet::new(),
                    });
                    failure.rows.insert(account.origin());
                };
                self.failures(&steps, Fill::from_account(target, account), &mut add);
            }
        }
        self.check_choice(accounts, targets, sink);
        for (condition, failure) in failed {
            let Failure { target, row, reason, rows } = failure;
            let message = format!("this condition fails for an account on the target `{target}`");
            let diagnostic = Diagnostic::error(codes::FAILED_CONDITION, message).at(condition).and(row, "the account");
            let diagnostic = diagnostic.note(reason);
            let more = (rows.len() > 1).then(|| format!("it fails for {} accounts", rows.len()));
            let diagnostic = more.into_iter().fold(diagnostic, Diagnostic::note);
            sink.push(diagnostic.help("compare an absent value first, such as `tier != null && tier == 'gold'`"));
        }
    }

    fn failures(&self, steps: &Cell<u64>, from: Fill<'_>, add: &mut dyn FnMut(&Condition, &ConditionFailure)) {
        let profiles = self.profiles.granted.iter().map(|object| &object.repetition);
        let namespaces = self.namespaces.iter().map(|namespace| &namespace.repetition);
        profiles.chain(namespaces).for_each(|repetition| repetition.failures(steps, from, add));
        self.each_namespace(from, &mut |namespace, from, _| {
            for item in self.inside.iter().chain(&self.outside).chain(&namespace.inside).chain(&namespace.outside) {
                item.repetition.failures(steps, from, add);
            }
        });
    }

    /// Records the last days of grants, and reports texts in place of dates.
    pub(super) fn record_expiries(
        &self,
        accounts: &Accounts,
        meta: &PolicyMeta,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) {
        let targets = linker.targets;
        for ExpiringGrant { name, until: written } in &self.expiries {
            let is_literal = !written.contains('{');
            let mut record = |text: &str, origin: Origin, account: Option<String>| {
                let until = match text.parse::<Date>() {
                    Ok(until) => until,
                    // An empty cell is no last day, and the shape of a literal is checked apart.
                    Err(_) if is_literal || text.is_empty() => return,
                    Err(error) => {
                        let message = format!("`{text}` is not a date, and is the last day of the grant `{name}`");
                        let found = Diagnostic::error(codes::INVALID_VALUE, message).at(origin).help(error.to_string());
                        sink.push(match account {
                            Some(_) => found.and(written.origin, "the last day"),
                            None => found,
                        });
                        return;
                    }
                };
                let grant = Some(TenancyGrant { name: name.clone(), account });
                _ = linker.register_expiry(Expiry { until, origin, policy: meta.clone(), grant });
            };
            let pattern = Pattern::parse_checked(written);
            let mut own = targets.iter().filter(|target| meta.targets.contains(&target.name));
            if !pattern.needs_account() {
                let days: BTreeSet<_> = own.map(|target| pattern.fill(Fill::from_target(target))).collect();
                days.iter().for_each(|day| record(day, written.origin, None));
                continue;
            }
            let Some(target) = own.next() else { continue };
            for account in accounts.iter() {
                let texts = pattern.fill_each(Fill::from_account(target, account));
                let mut name = String::new();
                account.get("name").into_iter().for_each(|value| value.write_text(&mut name));
                texts.iter().for_each(|text| record(text, account.origin(), Some(name.clone())));
            }
        }
    }

    /// Reports fields that the workspace requires of the grants in the output.
    pub(super) fn check_requirements(
        &self,
        accounts: &Accounts,
        meta: &PolicyMeta,
        targets: &[Target],
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) {
        if linker.requirements.is_empty() {
            return;
        }
        let mut judgement = Judgement::default();
        for target in targets {
            for (_, account) in accounts.on(&target.name) {
                self.each_namespace(Fill::from_account(target, account), &mut |_, from, _| {
                    for item in self.inside.iter().chain(&self.outside) {
                        let Some(grant) = &item.required else { continue };
                        item.each(from, &mut |from| judgement.judge(grant, from, Some(account.origin()), linker));
                    }
                });
            }
        }
        judgement.finish(meta, linker, sink);
    }

    fn detached(&self) -> Self {
        let detach_each = |objects: &[(Enforcement, ObjectBlueprint)]| {
            objects.iter().map(|(enforcement, object)| (*enforcement, object.detached())).collect()
        };
        let detach_items = |items: &[ClassItem]| items.iter().map(ClassItem::detached).collect();
        let namespaces = self.namespaces.iter().map(|namespace| LinkedNamespace {
            object: namespace.object.detached(),
            by_profile: namespace.by_profile.iter().map(|(when, object)| (when.clone(), object.detached())).collect(),
            repetition: namespace.repetition.clone(),
            inside: detach_items(&namespace.inside),
            outside: detach_items(&namespace.outside),
            granted: detach_each(&namespace.granted),
        });
        Self {
            namespaces: namespaces.collect(),
            has_one_file: self.has_one_file,
            inside: detach_items(&self.inside),
            outside: detach_items(&self.outside),
            profiles: self.profiles.detached(),
            alike: self.alike.iter().map(|(is_group, name)| (*is_group, name.detached())).collect(),
            mentions: Vec::new(),
            expiries: Vec::new(),
        }
    }
}

/// The steps of all conditions of a class on a target.
const FIRST_STEPS: u64 = 50_000_000;

/// The steps that each account adds.
const STEPS_OF_AN_ACCOUNT: u64 = 5_000;

/// The failures of a condition.
struct Failure {
    target: String,
    /// The first account.
    row: Origin,
    reason: String,
    rows: BTreeSet<Origin>,
}

/// The contribution of the shared objects; no list has this many accounts.
const SHARED: Contribution = Contribution::MAX;

pub(super) struct Linked {
    pub(super) meta: PolicyMeta,
    pub(super) accounts: Arc<Accounts>,
    pub(super) classes: Vec<(String, Arc<LinkedClass>)>,
    /// The objects made by earlier accounts.
    pub(super) left_out: Arc<LeftOut>,
}

impl Linked {
    /// Whether an earlier account makes an object of the class already: the account and the object by number.
    fn is_left_out(&self, target: &Target, account: usize, object: usize) -> bool {
        self.left_out.get(&target.name).is_some_and(|left_out| left_out.contains(&(account, object)))
    }

    /// Returns the cluster-scoped objects of an account for its profiles, without the objects of earlier accounts.
    fn cluster_objects<'c>(
        &'c self,
        class: &'c LinkedClass,
        target: &'c Target,
        part: usize,
    ) -> impl Iterator<Item = &'c ProfileObject> {
        let objects = class.of_each(target.enforcement());
        objects.filter(move |(number, _)| !self.is_left_out(target, part, *number)).map(|(_, object)| object)
    }

    /// Returns the objects that the accounts share, if the profile applies to an account.
    fn shared_objects<'c>(
        &'c self,
        class: &'c LinkedClass,
        target: &'c Target,
    ) -> impl Iterator<Item = &'c ProfileObject> {
        let own = class.profiles.shared.iter().filter(|shared| shared.enforcement == target.enforcement());
        own.filter(|shared| {
            let mut accounts = self.accounts.on(&target.name);
            accounts.any(|(_, account)| shared.repetition.is_made(Fill::from_account(target, account)))
        })
    }

    fn class(&self, target: &Target) -> Option<&LinkedClass> {
        self.classes.iter().find(|(name, _)| *name == target.name).map(|(_, class)| &**class)
    }

    /// Adds the objects of an account in the file of one of its namespaces.
    fn add_namespace(&self, from: Fill<'_>, part: usize, file: &OutputFileKey, units: &mut Vec<Unit>) {
        let Some(class) = self.class(from.target) else { return };
        let OutputFileKey::Namespace(wanted) = file else { return };
        class.each_namespace(from, &mut |namespace, from, name| {
            if name != *wanted {
                return;
            }
            units.push(namespace.with_profile(from).fill_from(from));
            class.inside.iter().chain(&namespace.inside).for_each(|item| item.add(from, &name, units));
            class.profiles.granted.iter().for_each(|object| object.add(from.in_namespace(&name), units));
            let own = namespace.granted.iter().filter(|(enforcement, _)| *enforcement == from.target.enforcement());
            units.extend(own.map(|(_, object)| object.fill_from(from.in_namespace(&name))));
            if class.has_one_file {
                self.cluster_objects(class, from.target, part).for_each(|object| object.add(from, units));
            }
        });
    }
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn namespaces(&self, target: &Target, visit: &mut dyn FnMut(&Arc<str>, PolicyNamespace<'_>)) {
        let Some(class) = self.class(target) else { return };
        for (_, account) in self.accounts.on(&target.name) {
            class.each_namespace(Fill::from_account(target, account), &mut |namespace, from, name| {
                let object = namespace.with_profile(from);
                let labels = &object.fill_field("labels", from);
                let annotations = || object.fill_field("annotations", from);
                visit(&name, PolicyNamespace { labels, annotations: &annotations, account: Some(account) });
            });
        }
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        let Some(class) = self.class(target) else { return };
        if self.shared_objects(class, target).next().is_some() {
            visit(OutputFileKey::Cluster, SHARED);
        }
        for (position, account) in self.accounts.on(&target.name) {
            let part = Contribution::try_from(position).unwrap_or_default();
            let from = Fill::from_account(target, account);
            if class.has_one_file && !class.has_outside() {
                class.each_namespace(from, &mut |_, _, name| visit(OutputFileKey::Namespace(name), part));
                continue;
            }
            let mut files = BTreeSet::new();
            class.each_namespace(from, &mut |_, _, name| _ = files.insert(OutputFileKey::Namespace(name)));
            class.each_outside(from, &mut |file, make| {
                // A file without an object would be an empty file.
                if !files.contains(&file) && make().is_some() {
                    files.insert(file);
                }
            });
            let is_made = |object: &ProfileObject| object.repetition.is_made(from);
            if !files.is_empty() && !class.has_one_file && self.cluster_objects(class, target, position).any(is_made) {
                files.insert(OutputFileKey::Cluster);
            }
            files.into_iter().for_each(|file| visit(file, part));
        }
    }

    fn expand(&self, target: &Target, output_file: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        let Some(class) = self.class(target) else { return };
        if part == SHARED {
            units.extend(self.shared_objects(class, target).map(|shared| shared.object.fill(target, None, None)));
            return;
        }
        let Some(account) = self.accounts.get(part as usize) else { return };
        let from = Fill::from_account(target, account);
        self.add_namespace(from, part as usize, output_file, units);
        class.each_outside(from, &mut |file, make| {
            if file == *output_file {
                units.extend(make());
            }
        });
        if *output_file == OutputFileKey::Cluster && !class.has_one_file {
            self.cluster_objects(class, target, part as usize).for_each(|object| object.add(from, units));
        }
    }

    fn as_tenancy(&self) -> Option<&dyn TenancyPolicy> {
        Some(self)
    }
}

impl TenancyPolicy for Linked {
    fn tenants(&self, target: &Target, visit: &mut dyn FnMut(TenantPart<'_>)) {
        let Some(class) = self.class(target) else { return };
        for (is_group, name) in class.alike.iter().filter(|(_, name)| !name.needs_namespace()) {
            visit(TenantPart::Alike { is_group: *is_group, name: &name.fill(Fill::from_target(target)) });
        }
        let mut tenant = String::new();
        for (_, account) in self.accounts.on(&target.name) {
            let Some(name) = account.get("name") else { continue };
            tenant.clear();
            name.write_text(&mut tenant);
            class.each_namespace(Fill::from_account(target, account), &mut |_, _, namespace| {
                visit(TenantPart::Namespace { tenant: &tenant, namespace: &namespace });
            });
        }
    }

    fn account(&self, part: Contribution) -> Option<Account<'_>> {
        self.accounts.get(part as usize)
    }

    fn detached(&self) -> Box<dyn Policy> {
        let classes = self.classes.iter().map(|(target, class)| (target.clone(), Arc::new(class.detached()))).collect();
        let (accounts, left_out) = (Arc::clone(&self.accounts), Arc::clone(&self.left_out));
        Box::new(Self { meta: self.meta.clone(), accounts, classes, left_out })
    }
}
