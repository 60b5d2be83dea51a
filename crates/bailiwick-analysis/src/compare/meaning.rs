//! The effects of differing files, beyond their texts and the permissions of subjects: wider and narrower PodSecurityPolicies,
//! new versions of stacks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use bailiwick_admission::psp::compare::PspComparison;
use bailiwick_admission::psp::{self, PodSecurityPolicy};
use bailiwick_compiler::compile::{ObjectForm, OutputFile};
use bailiwick_compiler::emit::committed::Committed;
use bailiwick_compiler::emit::objects::{ObjectChange, leaves_open};
use bailiwick_crossplane::upgrade::{InstalledStacks, Upgrade, upgrades};
use bailiwick_policy::model::{InstalledStack, Target};
use bailiwick_workspace::Workspace;
use bailiwick_workspace::output::ChangedFile;
use bailiwick_yaml::diag::{FileId, RunError, Sink};
use bailiwick_yaml::{self as yaml, NodeRef};

use super::ChangedPodSecurityPolicy;

/// Fields of a PodSecurityPolicy that mean something only together with each other.
const VOLUMES: [&str; 4] = ["volumes", "allowedHostPaths", "allowedFlexVolumes", "allowedCSIDrivers"];

/// The effects of differing files beyond their texts.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    policies: Policies,
    stacks: Stacks,
}

/// The effects of the files that differ in a target.
pub(super) struct Effects {
    /// The PodSecurityPolicies that change, with what each change means.
    pub(super) pod_security_policies: Vec<ChangedPodSecurityPolicy>,
    /// The stacks that get a new version.
    pub(super) upgrades: Vec<Upgrade>,
}

impl Meaning {
    /// Returns the effect of one file, from its text before and after.
    pub(super) fn of(found: &ChangedFile<'_>, names: &StackNames, known: &Known) -> Self {
        let is_plain = names.0.is_empty() && found.change.objects.is_some();
        let old = found.old.filter(|_| !is_plain).map(String::from_utf8_lossy);
        let (old, new) = (old.as_deref(), found.file.map(|file| &*file.text));
        Self { policies: Policies::of(found, old, new, known), stacks: Stacks::of(old, new, names) }
    }

    /// Adds the meaning of a further file.
    pub(super) fn add(&mut self, more: Meaning) {
        self.policies.add(more.policies);
        self.stacks.old.extend(more.stacks.old);
        self.stacks.new.extend(more.stacks.new);
    }

    /// Returns the changed PodSecurityPolicies and the upgraded stacks.
    pub(super) fn finish(
        mut self,
        workspace: &Workspace,
        target: &Target,
        committed: &dyn Committed,
    ) -> Result<Effects, RunError> {
        self.policies.read_moved(workspace, target, committed)?;
        let upgrades = upgrades(&self.stacks.old, &self.stacks.new);
        Ok(Effects { pod_security_policies: self.policies.changes(), upgrades })
    }
}

/// The stacks of a target by the names that their objects have.
pub(super) struct StackNames(BTreeMap<(Option<String>, String), (String, String)>);

impl StackNames {
    /// Returns the names of the current workspace.
    pub(super) fn of(workspace: &Workspace, target: &Target) -> Self {
        // Under both scopes: a new version of a package may have another one.
        let stacks = workspace.project().facts.on(&target.name).flat_map(|InstalledStack { stack, .. }| {
            let (namespace, name) = (stack.install.namespace.clone(), stack.install.name.clone());
            let places = [Some(namespace.clone()), None];
            places.map(|place| ((place, name.clone()), (namespace.clone(), name.clone())))
        });
        Self(stacks.collect())
    }

    fn stack_of(&self, namespace: Option<&str>, name: &str) -> Option<(String, String)> {
        self.0.get(&(namespace.map(str::to_owned), name.to_owned())).cloned()
    }
}

/// The objects of stacks in the files that differ, as they were and as they are.
#[derive(Debug, Default)]
struct Stacks {
    old: InstalledStacks,
    new: InstalledStacks,
}

impl Stacks {
    fn of(old: Option<&str>, new: Option<&str>, names: &StackNames) -> Self {
        if names.0.is_empty() {
            return Self::default();
        }
        let read = |text: Option<&str>| {
            let mut installed = InstalledStacks::default();
            let tree = yaml::read(text.unwrap_or_default(), FileId::default(), &mut Sink::new());
            let of_stack = |namespace: Option<&str>, name: &str| names.stack_of(namespace, name);
            tree.documents().for_each(|object| installed.add(object, &of_stack));
            installed
        };
        Self { old: read(old), new: read(new) }
    }
}

/// The known effects of changes of PodSecurityPolicies, by the form of the change.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<u128, PspComparison>>);

/// The PodSecurityPolicies of the files that differ. They are cluster-scoped and so one of a name, in whichever file.
#[derive(Debug, Default)]
struct Policies {
    /// The policies of files that cannot be compared object by object, by name, before and after.
    old: BTreeMap<String, PodSecurityPolicy>,
    new: BTreeMap<String, PodSecurityPolicy>,
    /// The names of deleted objects, with the paths of their files, and of new objects. Nothing else is kept, since few
    /// objects move between files.
    gone: BTreeMap<String, String>,
    come: BTreeSet<String>,
    /// The effects of the other changes, with the names of the policies.
    changes: BTreeMap<PspComparison, Vec<String>>,
}

impl Policies {
    fn of(found: &ChangedFile<'_>, old: Option<&str>, new: Option<&str>, known: &Known) -> Self {
        let Some(objects) = &found.change.objects else {
            return Self {
                old: policies(old.unwrap_or_default()),
                new: policies(new.unwrap_or_default()),
                ..Self::default()
            };
        };
        let mut all = Self::default();
        for object in objects.iter().filter(|object| object.facts.touches_pods) {
            all.take(object, &found.change.plan.path, known);
        }
        all
    }

    /// Takes a policy that differs.
    fn take(&mut self, object: &ObjectChange<'_>, path: &str, known: &Known) {
        if object.new.is_none() {
            self.gone.insert(object.name.to_owned(), path.to_owned());
            return;
        }
        if object.old.is_none() {
            self.come.insert(object.name.to_owned());
            return;
        }
        let lock = || known.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = object.shape.and_then(|shape| lock().get(&shape).cloned());
        let change = before.or_else(|| {
            let read = |text: &str| yaml::read(text, FileId::default(), &mut Sink::new());
            let (old, new) = (read(object.old?), read(object.new?));
            let (old, new) = (old.document(0)?, new.document(0)?);
            let change =
                psp::compare::compare(&PodSecurityPolicy::read(old).ok()?, &PodSecurityPolicy::read(new).ok()?);
            if let Some(shape) = object.shape.filter(|_| is_general(old, new, &change, path)) {
                lock().insert(shape, change.clone());
            }
            Some(change)
        });
        match change {
            Some(change) if change.is_empty() => {}
            Some(change) => self.changes.entry(change).or_default().push(object.name.to_owned()),
            // The meaning is unknown; the text shows the difference.
            None => {}
        }
    }

    /// Reads the objects that move from one file to another, which is known in the end.
    fn read_moved(
        &mut self,
        workspace: &Workspace,
        target: &Target,
        committed: &dyn Committed,
    ) -> Result<(), RunError> {
        let known = |name: &String| self.come.contains(name) || self.new.contains_key(name);
        let moved: Vec<(String, String)> =
            self.gone.iter().filter(|(name, _)| known(name)).map(|(name, path)| (name.clone(), path.clone())).collect();
        for (name, path) in moved {
            let bytes = committed.read(&path)?.unwrap_or_default();
            self.old.extend(policies(&String::from_utf8_lossy(&bytes)).into_iter().filter(|(other, _)| *other == name));
        }
        let wanted: BTreeSet<&String> = self.come.iter().filter(|name| self.old.contains_key(*name)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut new = Vec::new();
        let work = |file: OutputFile| Ok(policies(&file.text));
        let mut keep = |found: BTreeMap<_, _>| new.extend(found.into_iter().filter(|(name, _)| wanted.contains(name)));
        workspace.compile_files(target, ObjectForm::Text, &work, &mut keep, &mut Sink::new())?;
        self.new.extend(new);
        Ok(())
    }

    fn add(&mut self, more: Policies) {
        self.old.extend(more.old);
        self.new.extend(more.new);
        self.gone.extend(more.gone);
        self.come.extend(more.come);
        for (change, names) in more.changes {
            self.changes.entry(change).or_default().extend(names);
        }
    }

    /// Returns the effects of the changes of policies that exist on both sides.
    fn changes(&self) -> Vec<ChangedPodSecurityPolicy> {
        let changed = |name: &String, comparison| ChangedPodSecurityPolicy { name: name.clone(), comparison };
        let both = self.new.iter().filter_map(|(name, new)| Some((name, self.old.get(name)?, new)));
        let compared = both.map(|(name, old, new)| changed(name, psp::compare::compare(old, new)));
        let found =
            self.changes.iter().flat_map(|(change, names)| names.iter().map(|name| changed(name, change.clone())));
        compared.filter(|policy| !policy.comparison.is_empty()).chain(found).collect()
    }
}

/// Returns whether a change has the same meaning for every policy whose change has the same form: neither the
/// difference nor its meaning has an open value. Fields that are equal before and after add nothing to the comparison,
/// except for fields that another field gives a meaning.
fn is_general(old: NodeRef<'_>, new: NodeRef<'_>, change: &PspComparison, path: &str) -> bool {
    let field = |root: NodeRef<'_>, keys: &[&str]| root.path(keys).map(yaml::schema::to_json);
    let is_fixed = |keys: &[&str]| {
        let (old, new) = (field(old, keys), field(new, keys));
        let text = |value: Option<serde_json::Value>| value.map(|value| value.to_string()).unwrap_or_default();
        old == new || !(leaves_open(path, &text(old)) || leaves_open(path, &text(new)))
    };
    let names = |root: NodeRef<'_>| -> Vec<String> {
        let entries = root.get("spec").into_iter().flat_map(NodeRef::entries);
        entries.filter_map(|(key, _)| key.as_str().map(str::to_owned)).collect()
    };
    let are_open = |root: NodeRef<'_>| {
        VOLUMES.iter().filter_map(|key| field(root, &["spec", key])).any(|value| leaves_open(path, &value.to_string()))
    };
    let told = [&change.widened, &change.narrowed, &change.defaults, &change.unchanged_meaning];
    let volumes_differ = VOLUMES.iter().any(|key| field(old, &["spec", key]) != field(new, &["spec", key]));
    is_fixed(&["metadata", "annotations"])
        && names(old).iter().chain(&names(new)).all(|key| is_fixed(&["spec", key]))
        && !(volumes_differ && (are_open(old) || are_open(new)))
        && !told.into_iter().flatten().any(|text| leaves_open(path, text))
}

/// Returns the PodSecurityPolicies of a file; one that cannot be read shows in the difference of the texts alone.
fn policies(text: &str) -> BTreeMap<String, PodSecurityPolicy> {
    if !text.contains("kind: PodSecurityPolicy\n") {
        return BTreeMap::new();
    }
    let tree = yaml::read(text, FileId::default(), &mut Sink::new());
    let is_policy =
        |object: &yaml::NodeRef<'_>| object.get("kind").and_then(|kind| kind.as_str()) == Some("PodSecurityPolicy");
    let read = tree.documents().filter(is_policy).filter_map(|object| PodSecurityPolicy::read(object).ok());
    read.map(|policy| (policy.name().to_owned(), policy)).collect()
}
