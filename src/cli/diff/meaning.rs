//! What differing files mean, beyond their texts and what each subject may do: wider and narrower PodSecurityPolicies,
//! new versions of stacks.

use std::collections::BTreeMap;

use super::super::session::Session;
use crate::admission::psp::{self, PodSecurityPolicy};
use crate::crossplane::upgrade::{Installed, upgrades};
use crate::diag::{FileId, Sink};
use crate::model::Target;
use crate::report::{pod_security, stacks};
use crate::yaml;

/// What the differing files mean beyond their texts.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    policies: Policies,
    stacks: Stacks,
}

impl Meaning {
    /// That of one file, as it was and as it is.
    pub(super) fn of(old: Option<&str>, new: Option<&str>, names: &StackNames) -> Self {
        Self { policies: Policies::of(old, new), stacks: Stacks::of(old, new, names) }
    }

    /// Takes that of a further file.
    pub(super) fn add(&mut self, more: Meaning) {
        self.policies.add(more.policies);
        self.stacks.old.extend(more.stacks.old);
        self.stacks.new.extend(more.stacks.new);
    }

    /// All of it, line by line.
    pub(super) fn told(&self) -> String {
        let upgrades = upgrades(&self.stacks.old, &self.stacks.new);
        format!("{}{}", self.policies.changes(), stacks::upgrades(&upgrades))
    }
}

/// The stacks of a target by the names that their objects have.
pub(super) struct StackNames(BTreeMap<(Option<String>, String), (String, String)>);

impl StackNames {
    /// Those of the workspace as it is now.
    pub(super) fn of(session: &Session<'_>, target: &Target) -> Self {
        // Under both scopes: a new version of a package may have another one.
        let stacks = session.project.stacks_of(target).flat_map(|stack| {
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
    old: Installed,
    new: Installed,
}

impl Stacks {
    fn of(old: Option<&str>, new: Option<&str>, names: &StackNames) -> Self {
        if names.0.is_empty() {
            return Self::default();
        }
        let read = |text: Option<&str>| {
            let mut installed = Installed::default();
            let tree = yaml::read(text.unwrap_or_default(), FileId::default(), &mut Sink::new());
            let of_stack = |namespace: Option<&str>, name: &str| names.stack_of(namespace, name);
            tree.documents().for_each(|object| installed.add(object, &of_stack));
            installed
        };
        Self { old: read(old), new: read(new) }
    }
}

/// The PodSecurityPolicies of the files that differ, by name, as they were and as they are. They are cluster-scoped and
/// so one of a name, in whichever file.
#[derive(Debug, Default)]
struct Policies {
    old: BTreeMap<String, PodSecurityPolicy>,
    new: BTreeMap<String, PodSecurityPolicy>,
}

impl Policies {
    fn of(old: Option<&str>, new: Option<&str>) -> Self {
        Self { old: policies(old.unwrap_or_default()), new: policies(new.unwrap_or_default()) }
    }

    fn add(&mut self, more: Policies) {
        self.old.extend(more.old);
        self.new.extend(more.new);
    }

    /// What the changes of those that were there before mean.
    fn changes(&self) -> String {
        let both = self.new.iter().filter_map(|(name, new)| Some((name.as_str(), self.old.get(name)?, new)));
        let compared = both.map(|(name, old, new)| (name, psp::compare::compare(old, new)));
        let changes: Vec<_> = compared.filter(|(_, change)| !change.is_empty()).collect();
        pod_security::policy_changes(&changes)
    }
}

/// The PodSecurityPolicies of a file; one that cannot be read shows in the difference of the texts alone.
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
