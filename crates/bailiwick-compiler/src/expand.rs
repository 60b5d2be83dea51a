//! Linked policies and their accounts: the assignment of objects to output files.
//!
//! The work is split by [`OutputFileKey`]: the index has every file with the contributions of policies, a few bytes each; the
//! objects themselves exist only during the creation of their file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bailiwick_base::parallel::locked;
use bailiwick_policy::model::{
    CommonMetadata, Contribution, MadeFor, NamespaceSample, OutputFileKey, Part, Policy, PolicyMeta, Target, Unit,
};
use bailiwick_yaml::diag::Origin;

/// Every output file of a target, sorted, with its contributions.
#[derive(Debug, Default)]
pub struct OutputFileIndex {
    entries: Vec<(OutputFileKey, u32, Contribution)>,
    /// The entries of each file to make.
    ranges: Vec<std::ops::Range<u32>>,
}

/// The output files of the targets of one workspace in a sample of its namespaces, collected once for all compilations.
#[derive(Debug, Default)]
pub struct SampledFiles {
    sample: Arc<NamespaceSample>,
    /// The files of each target by its name.
    files: Mutex<BTreeMap<String, Arc<OutputFileIndex>>>,
}

impl SampledFiles {
    /// Creates the files of a sample of one workspace.
    pub fn new(sample: Arc<NamespaceSample>) -> Self {
        Self { sample, files: Mutex::default() }
    }

    /// Returns the sample.
    pub fn sample(&self) -> &Arc<NamespaceSample> {
        &self.sample
    }

    /// Returns the files of a target of the workspace.
    pub fn of_target(&self, policies: &[Box<dyn Policy>], target: &Target) -> Arc<OutputFileIndex> {
        let mut all = locked(&self.files);
        let files = all
            .entry(target.name.clone())
            .or_insert_with(|| Arc::new(OutputFileIndex::of_sample(policies, target, &self.sample)));
        Arc::clone(files)
    }
}

/// Calls a function with each contribution of a policy to an output file of a target, with the position of the policy.
pub fn each_contribution(
    policies: &[Box<dyn Policy>],
    target: &Target,
    visit: &mut dyn FnMut(OutputFileKey, u32, Contribution),
) {
    for (index, policy) in (0..).zip(policies) {
        if policy.meta().targets.contains(&target.name) {
            policy.contributions(target, &mut |output_file, part| visit(output_file, index, part));
        }
    }
}

impl OutputFileIndex {
    /// Collects the output files of every policy of a target.
    pub fn new(policies: &[Box<dyn Policy>], target: &Target) -> Self {
        Self::of_sample(policies, target, &NamespaceSample::default())
    }

    /// Collects the output files of the compiled namespaces of a sample.
    fn of_sample(policies: &[Box<dyn Policy>], target: &Target, sample: &NamespaceSample) -> Self {
        let mut entries = Vec::new();
        each_contribution(policies, target, &mut |output_file, index, part| {
            if output_file.namespace().is_none_or(|namespace| sample.has(namespace)) {
                entries.push((output_file, index, part));
            }
        });
        entries.sort();
        let mut ranges: Vec<std::ops::Range<u32>> = Vec::with_capacity(entries.len());
        let mut last: Option<&OutputFileKey> = None;
        for (position, (output_file, ..)) in (0_u32..).zip(&entries) {
            match ranges.last_mut().filter(|_| last == Some(output_file)) {
                Some(range) => range.end = position + 1,
                None => ranges.push(position..position + 1),
            }
            last = Some(output_file);
        }
        Self { entries, ranges }
    }

    /// Keeps only the files of a part; the index of namespaces stays complete.
    pub fn keep(&mut self, part: Part) {
        let entries = &self.entries;
        self.ranges
            .retain(|range| entries.get(range.start as usize).is_some_and(|(output_file, ..)| part.has(output_file)));
    }

    /// Returns the number of a file among the files of all parts.
    pub fn place(&self, position: usize) -> u32 {
        self.ranges.get(position).map_or(u32::MAX, |range| range.start)
    }

    /// Returns the entries of the file at a position.
    fn entries(&self, position: usize) -> &[(OutputFileKey, u32, Contribution)] {
        let range = self.ranges.get(position).map_or(0..0, |range| range.start as usize..range.end as usize);
        self.entries.get(range).unwrap_or_default()
    }

    /// Returns the number of files; the cluster-scoped objects count as one.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether no policy adds objects.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the file at a position.
    pub fn output_file(&self, position: usize) -> Option<&OutputFileKey> {
        self.entries(position).first().map(|(output_file, ..)| output_file)
    }

    /// Returns the only policy with an account in the file at a position, by its index, with the contribution; none for several
    /// accounts. `is_tenancy` returns whether a policy has accounts.
    pub fn tenant(&self, position: usize, is_tenancy: impl Fn(usize) -> bool) -> Option<(usize, Contribution)> {
        let mut accounts = self.entries(position).iter().filter(|(_, policy, _)| is_tenancy(*policy as usize));
        match (accounts.next(), accounts.next()) {
            (Some((OutputFileKey::Namespace(_), policy, part)), None) => Some((*policy as usize, *part)),
            _ => None,
        }
    }

    /// Returns the namespaces of the files of all parts.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|(output_file, ..)| output_file.namespace()).map(|name| &**name)
    }

    /// Whether a policy makes objects in a namespace; false for a namespace that is not in the sample.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.entries
            .binary_search_by(|(output_file, ..)| match output_file {
                OutputFileKey::Cluster => std::cmp::Ordering::Less,
                OutputFileKey::Namespace(name) => (**name).cmp(namespace),
            })
            .is_ok()
    }

    /// Returns the objects of the file at a position, in apply order; `policy` finds a policy by its index, and `policy_named_at` by
    /// the location of its name. An object
    /// requested twice with the same content, such as the role of a permission set in two grants, appears once.
    pub fn units<'p>(
        &self,
        position: usize,
        policy: impl Fn(usize) -> Option<&'p dyn Policy>,
        policy_named_at: impl Fn(Origin) -> Option<&'p PolicyMeta>,
        target: &'p Target,
    ) -> Vec<Unit> {
        let mut units = Vec::new();
        for (output_file, index, part) in self.entries(position) {
            if let Some(policy) = policy(*index as usize) {
                let before = units.len();
                policy.expand(target, output_file, *part, &mut units);
                for unit in units.iter_mut().skip(before) {
                    (unit.source.policy, unit.source.part) = (*index, *part);
                    CommonMetadata::add(unit, made_for(unit, policy, &policy_named_at, target));
                }
            }
        }
        units.sort_by(|left, right| order(left).cmp(&order(right)));
        units.dedup_by(|later, first| {
            later.identity == first.identity
                && later.content == first.content
                && later.account == first.account
                && later.data == first.data
        });
        units
    }
}

/// Returns the policy, the target and the account of an object of a policy.
pub fn made_for<'p>(
    unit: &Unit,
    policy: &'p dyn Policy,
    policy_named_at: impl Fn(Origin) -> Option<&'p PolicyMeta>,
    target: &'p Target,
) -> MadeFor<'p> {
    let tenancy = policy.as_tenancy();
    // The role of a permission set is an object of the permission set, so that all its grants make one role.
    let policy = match policy_named_at(unit.content) {
        Some(content) if tenancy.is_none() => content,
        _ => policy.meta(),
    };
    let account = tenancy.and_then(|tenancy| tenancy.account(unit.source.part));
    MadeFor { policy, target, account }
}

/// Returns the apply order: by kind, then by name.
fn order(unit: &Unit) -> ((u8, u8, &str), &str, bailiwick_yaml::diag::Origin) {
    (kind_order(unit), &unit.identity.name, unit.origin)
}

/// Returns the position of a kind in apply order: the namespace, then its content with roles before bindings, then
/// cluster-scoped objects.
pub fn kind_order(unit: &Unit) -> (u8, u8, &str) {
    let identity = &unit.identity;
    let kind = &*identity.object_type.kind;
    let scope = match (kind, &identity.namespace) {
        ("Namespace", _) => 0,
        (_, Some(_)) => 1,
        (_, None) => 2,
    };
    let rank = match kind {
        "ServiceAccount" => 0,
        "ResourceQuota" => 1,
        "LimitRange" => 2,
        "PodSecurityPolicy" | "SecurityContextConstraints" => 3,
        "ClusterRole" => 4,
        "Role" => 5,
        "ClusterRoleBinding" => 6,
        "RoleBinding" => 7,
        _ => 8,
    };
    (scope, rank, kind)
}
