//! Migrations of the objects of a cluster into policies.

mod inputs;
mod kubelets;
mod other_controllers;
mod shards;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Diagnostics, Error, Options};
use crate::admission::psp::plan::{self, Plan, PspCluster};
use crate::diag::{Files, Sink};
use crate::migrate::superfluous::Superfluous;
use crate::migrate::{self, Namespace, Policies};

pub use self::kubelets::KubeletInventory;
pub use self::other_controllers::OtherControllers;
pub use self::shards::{MovingTarget, ShardMigration, ShardStep};

/// The options of a migration of PodSecurityPolicies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PspMigrationOptions {
    /// The files and folders of the manifests, or standard input (`-`).
    pub from: Vec<PathBuf>,
    /// The version of the cluster, whose default policy is the baseline of the manifests.
    pub kubernetes_version: String,
}

/// The policies that replace PodSecurityPolicies.
pub struct PspMigration {
    /// The warnings about the manifests.
    pub diagnostics: Diagnostics,
    /// The outcome for each policy and each namespace.
    pub plan: Plan,
    /// The policies of the new workspace.
    pub policies: Policies,
    /// The Namespaces of the manifests.
    pub declared: BTreeMap<String, Namespace>,
    /// Roles and bindings that are no longer needed.
    pub superfluous: Superfluous,
    /// How many objects were made by another object.
    pub made_by_others: usize,
    /// The policies of other admission controllers.
    pub others: OtherControllers,
}

/// Converts PodSecurityPolicies into profiles.
///
/// # Errors
/// When the manifests cannot be read, or hold no PodSecurityPolicy.
pub fn migrate_psp(run: &Options, options: &PspMigrationOptions) -> Result<PspMigration, Error> {
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let inputs = inputs::read(run, &options.from, &options.kubernetes_version, &files, &mut sink)?;
    let diagnostics = Diagnostics { list: sink.into_sorted(&files), files };
    let Some(inputs) = inputs.filter(|_| !diagnostics.has_errors()) else { return Err(Error::Invalid(diagnostics)) };
    let plan = plan::plan(&PspCluster {
        world: &inputs.world,
        policies: &inputs.policies,
        namespaces: &inputs.namespaces,
        workloads: &inputs.workloads,
    });
    let policies = migrate::policies(&plan, &inputs.policies, &inputs.declared);
    Ok(PspMigration {
        diagnostics,
        plan,
        policies,
        declared: inputs.declared,
        superfluous: inputs.superfluous,
        made_by_others: inputs.owned,
        others: OtherControllers { rules: inputs.others, limits: inputs.policies },
    })
}
