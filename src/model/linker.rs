//! The data of the workspace for linking: what policies offer to each other.

use crate::codes;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ExpirySettings, GrantRequirement, PolicyFacts, PolicyMeta, Target, WorkspaceSettings, WorkspaceTemplates};
use crate::diag::{Diagnostic, Files, Sink, nearest};
use crate::k8s::catalogue::{Api, Resource};
use crate::k8s::custom_fields::CustomFields;
use crate::source::Sources;
use crate::yaml::Spanned;

/// The data of the workspace for linking. Every kind uses its fields; the data of one kind are facts or offers.
pub struct Linker<'w> {
    /// The workspace's targets.
    pub targets: &'w [Target],
    /// The settings for the expiry of grants.
    pub expiry: ExpirySettings,
    /// The requirements for grants.
    pub requirements: &'w [GrantRequirement],
    /// The texts read so far, and the way to further ones.
    pub sources: &'w mut Sources,
    /// The templates for items of `objects`.
    pub templates: WorkspaceTemplates,
    /// The policies that others refer to by name.
    pub offers: Offers,
    /// The facts registered by policies.
    pub facts: PolicyFacts,
    /// Files of the policy folder that belong to a policy and are not policies themselves.
    pub claimed: BTreeSet<String>,
    /// The API of each target by its name, with the custom resources of [`Linker::learn`].
    pub apis: BTreeMap<String, Api>,
    /// The fields of custom resources, by target, in the order of their definitions.
    pub custom_fields: BTreeMap<String, Vec<Arc<CustomFields>>>,
    /// Custom resources of the policies, not yet added to the API.
    custom: BTreeMap<String, Vec<Resource>>,
}

impl<'w> Linker<'w> {
    /// Creates a linker for a workspace.
    pub fn new(workspace: &'w WorkspaceSettings, sources: &'w mut Sources) -> Self {
        let targets = &workspace.targets;
        Self {
            targets,
            expiry: workspace.expiry,
            requirements: &workspace.requirements,
            sources,
            templates: WorkspaceTemplates::default(),
            offers: Offers::default(),
            facts: PolicyFacts::default(),
            claimed: BTreeSet::new(),
            apis: targets.iter().map(|target| (target.name.clone(), target.version.api())).collect(),
            custom_fields: BTreeMap::new(),
            custom: BTreeMap::new(),
        }
    }

    /// Returns the registered texts.
    pub fn files(&self) -> &Files {
        self.sources.files()
    }

    /// Brings custom resources to some targets.
    pub fn bring(&mut self, targets: &BTreeSet<String>, resources: &[Resource]) {
        for target in targets {
            self.custom.entry(target.clone()).or_default().extend_from_slice(resources);
        }
    }

    /// Brings the fields of custom resources to some targets.
    pub fn bring_fields(&mut self, targets: &BTreeSet<String>, fields: &[Arc<CustomFields>]) {
        for target in targets.iter().filter(|_| !fields.is_empty()) {
            self.custom_fields.entry(target.clone()).or_default().extend_from_slice(fields);
        }
    }

    /// Adds all recorded custom resources to the API together: each addition walks over all known resources.
    pub fn learn(&mut self) {
        for (target, resources) in std::mem::take(&mut self.custom) {
            self.apis.entry(target).and_modify(|api| api.extend(&resources));
        }
    }

    /// Returns the targets of a policy.
    pub fn targets_of(&self, meta: &PolicyMeta) -> Vec<Target> {
        self.targets.iter().filter(|target| meta.targets.contains(&target.name)).cloned().collect()
    }
}

/// The content of a policy for policies of other kinds, which refer to it by its name.
pub trait Offer: Any + Send + Sync {
    /// The kind of the policies with such content.
    const KIND: &'static str;
}

/// A policy for use by others, with the location of its content.
#[derive(Debug, Clone)]
pub struct Shared<T> {
    /// Name, place and targets of the policy.
    pub meta: PolicyMeta,
    /// The content for its users.
    pub content: Arc<T>,
    /// The account variables of its texts; none for a policy that needs no account.
    pub variables: Vec<String>,
    /// Whether the policy has an effect without a user.
    pub stands_alone: bool,
}

/// The shared policies of all kinds, and their uses.
#[derive(Default)]
pub struct Offers {
    offered: BTreeMap<PolicyKey, Offered>,
    /// The names of all policies, linked or not. An unlinked policy cannot be used, and has a diagnostic already.
    announced: BTreeSet<PolicyKey>,
}

/// The kind and the name of a policy.
type PolicyKey = (&'static str, String);

/// A shared policy of any type.
struct Offered {
    meta: PolicyMeta,
    /// A [`Shared`] policy.
    shared: Box<dyn Any + Send + Sync>,
    /// Whether a policy uses it, or it needs no user.
    is_needed: bool,
}

impl Offers {
    /// Adds a policy.
    pub fn add<T: Offer>(&mut self, policy: Shared<T>) {
        let key = (T::KIND, policy.meta.name.to_string());
        let (meta, is_needed) = (policy.meta.clone(), policy.stands_alone);
        self.offered.insert(key, Offered { meta, shared: Box::new(policy), is_needed });
    }

    /// Records a policy name, whether the policy can be linked or not.
    pub fn announce(&mut self, kind: &'static str, name: &str) {
        self.announced.insert((kind, name.to_owned()));
    }

    /// Returns a policy by its name and marks it as used. Reports an unknown name.
    pub fn find<T: Offer>(&mut self, name: &Spanned<String>, sink: &mut Sink) -> Option<&Shared<T>> {
        let key = (T::KIND, name.value.clone());
        if !self.announced.contains(&key) {
            sink.push(unknown_reference(T::KIND, name, &self.names(T::KIND)));
            return None;
        }
        let found = self.offered.get_mut(&key)?;
        found.is_needed = true;
        found.shared.downcast_ref()
    }

    /// Returns a policy by its name, used or not.
    pub fn get<T: Offer>(&self, name: &str) -> Option<&Shared<T>> {
        self.offered.get(&(T::KIND, name.to_owned()))?.shared.downcast_ref()
    }

    /// Iterates over the policies without a user that need one.
    pub fn unused(&self) -> impl Iterator<Item = &PolicyMeta> {
        self.offered.values().filter(|offered| !offered.is_needed).map(|offered| &offered.meta)
    }

    fn names(&self, kind: &str) -> Vec<&str> {
        let of_kind = self.announced.iter().filter(|(own, _)| *own == kind);
        of_kind.map(|(_, name)| name.as_str()).collect()
    }
}

fn unknown_reference(kind: &str, name: &Spanned<String>, names: &[&str]) -> Diagnostic {
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => format!("write a {kind} of this name"),
        None => {
            let some: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
            format!("there are: {}", some.join(", "))
        }
    };
    let message = format!("there is no {kind} `{}`", name.value);
    Diagnostic::error(codes::UNKNOWN_REFERENCE, message).at(name.origin).help(help)
}
