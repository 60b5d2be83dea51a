//! The data of the workspace for linking: what policies offer to each other.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::{Api, Resource};
use bailiwick_kubernetes::custom_fields::CustomFields;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Files, Origin, Sink, nearest};

use super::{
    Expiry, ExpirySettings, GrantRequirement, PolicyFacts, PolicyMeta, Target, WorkspaceSettings, WorkspaceTemplates,
};
use crate::source::Sources;

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

    /// Registers the last day of a grant. Returns whether the workspace leaves the grant out of the output.
    pub fn register_expiry(&mut self, expiry: Expiry) -> bool {
        let is_left_out = self.expiry.leaves_out(expiry.until);
        self.facts.push(expiry);
        is_left_out
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

/// The shared policies of all kinds, and their uses. Policies of one kind may have the same name on different targets.
#[derive(Default)]
pub struct Offers {
    offered: BTreeMap<PolicyKey, Vec<Offered>>,
    /// All policies, linked or not. An unlinked policy cannot be used, and has a diagnostic already.
    announced: BTreeMap<PolicyKey, Vec<Announced>>,
}

/// The kind and the name of a policy.
type PolicyKey = (&'static str, String);

/// A policy before it is linked.
struct Announced {
    targets: Arc<BTreeSet<String>>,
    origin: Option<Origin>,
}

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
        let policies = self.offered.entry(key).or_default();
        policies.reserve_exact(1);
        policies.push(Offered { meta, shared: Box::new(policy), is_needed });
    }

    /// Records a policy by its kind and name, whether it can be linked or not.
    pub fn announce(&mut self, kind: &'static str, name: &str, origin: Option<Origin>, targets: Arc<BTreeSet<String>>) {
        let policies = self.announced.entry((kind, name.to_owned())).or_default();
        policies.reserve_exact(1);
        policies.push(Announced { targets, origin });
    }

    /// Divides targets into groups, so that each of the names refers to one policy on all targets of a group.
    pub fn groups<'n>(
        &self,
        names: impl IntoIterator<Item = (&'static str, &'n str)>,
        targets: &BTreeSet<String>,
    ) -> Vec<BTreeSet<String>> {
        let announced = names.into_iter().filter_map(|(kind, name)| self.announced.get(&(kind, name.to_owned())));
        let shared: Vec<&Vec<Announced>> = announced.filter(|policies| policies.len() > 1).collect();
        if shared.is_empty() {
            return vec![targets.clone()];
        }
        let mut groups: BTreeMap<Vec<Option<usize>>, BTreeSet<String>> = BTreeMap::new();
        for target in targets {
            let applying = |policies: &&Vec<Announced>| policies.iter().position(|one| one.targets.contains(target));
            groups.entry(shared.iter().map(applying).collect()).or_default().insert(target.clone());
        }
        groups.into_values().collect()
    }

    /// Returns the policy of a name on the targets of a group, and marks it as used. Reports an unknown name, and targets
    /// without the policy.
    pub fn find<T: Offer>(
        &mut self,
        name: &Spanned<String>,
        targets: &BTreeSet<String>,
        sink: &mut Sink,
    ) -> Option<&Shared<T>> {
        let key = (T::KIND, name.value.clone());
        let Some(announced) = self.announced.get(&key) else {
            sink.push(unknown_reference(T::KIND, name, &self.names(T::KIND)));
            return None;
        };
        let is_on = |own: &BTreeSet<String>| targets.iter().any(|target| own.contains(target));
        let applying = announced.iter().find(|one| is_on(&one.targets)).or(announced.first())?;
        let missing: Vec<&str> = targets.difference(&applying.targets).map(String::as_str).collect();
        if !missing.is_empty() {
            sink.push(not_applying(T::KIND, name, &missing, announced));
            return None;
        }
        let place = applying.origin;
        let found = self.offered.get_mut(&key)?.iter_mut().find(|offered| Some(offered.meta.origin) == place)?;
        found.is_needed = true;
        found.shared.downcast_ref()
    }

    /// Iterates over the policies of a name, used or not.
    pub fn named<T: Offer>(&self, name: &str) -> impl Iterator<Item = &Shared<T>> {
        let offered = self.offered.get(&(T::KIND, name.to_owned())).into_iter().flatten();
        offered.filter_map(|offered| offered.shared.downcast_ref())
    }

    /// Iterates over the policies without a user that need one.
    pub fn unused(&self) -> impl Iterator<Item = &PolicyMeta> {
        self.offered.values().flatten().filter(|offered| !offered.is_needed).map(|offered| &offered.meta)
    }

    fn names(&self, kind: &str) -> Vec<&str> {
        // A policy without a name is reported for itself.
        let of_kind = self.announced.keys().filter(|(own, name)| *own == kind && !name.is_empty());
        of_kind.map(|(_, name)| name.as_str()).collect()
    }
}

/// Returns the diagnostic for a name without a policy on some targets of its user.
fn not_applying(kind: &str, name: &Spanned<String>, missing: &[&str], policies: &[Announced]) -> Diagnostic {
    let plural = if missing.len() > 1 { "s" } else { "" };
    let missing: Vec<String> = missing.iter().map(|target| format!("`{target}`")).collect();
    let message = format!("{kind} `{}` does not apply to the target{plural} {}", name.value, missing.join(", "));
    let help = match policies {
        [_] => "widen `targets` there, or narrow `targets` of the policy that uses it",
        _ => {
            "widen `targets` of one of them, add a policy of this name, or narrow `targets` of the policy that uses it"
        }
    };
    let places = policies.iter().filter_map(|policy| policy.origin).take(MAXIMUM_PLACES);
    let diagnostic = Diagnostic::error(codes::UNKNOWN_REFERENCE, message).at(name.origin).help(help);
    places.fold(diagnostic, |diagnostic, place| diagnostic.and(place, "its `targets` exclude that target"))
}

/// The greatest number of policies in a diagnostic.
const MAXIMUM_PLACES: usize = 5;

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
