//! Migrations of the objects of a cluster into policies.

mod constraints;
mod dump;
mod inputs;
mod kubelets;
mod shards;
mod verify;
mod workloads;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_admission::others::OtherPolicy;
use bailiwick_admission::psp::plan::{self, LevelChoice, Plan, PspCluster};
use bailiwick_admission::scc::release::Release;
use bailiwick_analysis::loaded_world::{release_of, version_of};
use bailiwick_base::parallel;
use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::LAST_MINOR;
use bailiwick_kubernetes::workers::Workers;
use bailiwick_policy::kinds::pod_security_profile::limits_beside_constraints;
use bailiwick_policy::model::Platform;
use bailiwick_workspace::{Diagnostics, Error, Options};
use bailiwick_yaml::diag::{Diagnostic, Files, Sink};

pub use self::constraints::ConstraintsVerification;
pub use self::dump::{PodDump, PodVerificationOptions};
pub use self::kubelets::KubeletInventory;
pub use self::shards::{MovingTarget, ShardMigration, ShardStep, shard_migration};
pub use self::verify::{PodRejection, PodVerification, RefusedPods, verify_pods};
use crate::psp_policies::patches::WorkloadPatches;
use crate::psp_policies::stages::FinalCluster;
use crate::psp_policies::superfluous::Superfluous;
use crate::psp_policies::{self, ConstraintRules, Namespace, Policies, stages};

/// The options of a migration of PodSecurityPolicies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PspMigrationOptions {
    /// The files and folders of the manifests, or standard input (`-`).
    pub from: Vec<PathBuf>,
    /// Globs of the files of the folders in `from` that are read, relative to the folder. Without globs, all files are read.
    pub include: Vec<String>,
    /// Globs of the files of the folders in `from` that are not read, in the same form.
    pub exclude: Vec<String>,
    /// The namespace of objects without one. Default: none.
    pub default_namespace: Option<String>,
    /// The version of the cluster, whose default policy is the baseline of the manifests.
    pub kubernetes_version: String,
    /// The platform at the end of the migration; none for Kubernetes.
    pub platform: Option<Platform>,
    /// The version of the platform at the end of the migration. Default: the newest known version.
    pub to: Option<String>,
    /// The choice of the levels of namespaces.
    pub level: LevelChoice,
}

impl PspMigrationOptions {
    /// The version of a cluster with PodSecurityPolicies, unless another one is known.
    pub const USUAL_VERSION: &str = "1.24";
}

/// The policies that replace PodSecurityPolicies.
pub struct PspMigration {
    /// The warnings about the manifests.
    pub diagnostics: Diagnostics,
    /// The outcome for each policy and each namespace.
    pub plan: Plan,
    /// The policies of the new workspace.
    pub policies: Policies,
    /// The patches of workloads that rely on the defaults of their PodSecurityPolicies.
    pub patches: WorkloadPatches,
    /// The cluster at the end of the migration.
    pub to: FinalCluster,
    /// The Namespaces of the manifests.
    pub declared: BTreeMap<String, Namespace>,
    /// Roles and bindings that are no longer needed.
    pub superfluous: Superfluous,
    /// The number of templates that another workload of the manifests owns.
    pub owned_templates: usize,
    /// The policies of other admission controllers, in order.
    pub others: Vec<OtherPolicy>,
}

/// Converts PodSecurityPolicies into profiles.
///
/// # Errors
/// When the manifests cannot be read, or hold no PodSecurityPolicy.
pub fn migrate_psp(run: &Options, options: &PspMigrationOptions) -> Result<PspMigration, Error> {
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let to = destination(options, &mut sink);
    let inputs = inputs::read(run, options, &files, &mut sink)?;
    let diagnostics = Diagnostics { list: sink.into_sorted(&files), files };
    let Some((mut inputs, to)) = inputs.zip(to).filter(|_| !diagnostics.has_errors()) else {
        return Err(Error::Invalid(diagnostics));
    };
    let cluster = PspCluster {
        world: &inputs.world,
        policies: &inputs.policies,
        namespaces: &inputs.namespaces,
        workloads: &inputs.workloads.roots,
        minors: &stages::minors(to),
    };
    let for_each = parallel::for_each(run.threads());
    let workers = Workers(&for_each);
    let mut plan = plan::plan(&cluster, workers);
    inputs.policies.extend(plan.merged.iter().cloned());
    let rules = ConstraintRules { to, limits_beside: &limits_beside_constraints };
    let policies = psp_policies::policies(&plan, &inputs.policies, &inputs.declared, options.level, rules);
    plan.set_levels(&inputs.policies, |namespace| policies.level_of(namespace));
    let patches = WorkloadPatches::new(&plan, &inputs.workloads.roots, &inputs.policies, to, workers);
    Ok(PspMigration {
        diagnostics,
        plan,
        policies,
        patches,
        to,
        declared: inputs.declared,
        superfluous: inputs.superfluous,
        owned_templates: inputs.workloads.owned_templates,
        others: inputs.others,
    })
}

/// Returns the cluster at the end of the migration; none for an unknown version.
fn destination(options: &PspMigrationOptions, sink: &mut Sink) -> Option<FinalCluster> {
    match (options.platform, &options.to) {
        (Some(Platform::Openshift), version) => {
            let release = release_of(version.as_ref(), sink)?;
            if release < Release::FIRST {
                let message = format!("the constraints of OpenShift {release} are unknown");
                let help = format!("name one from {} to {}", Release::FIRST, Release::LAST);
                sink.push(Diagnostic::error(codes::UNKNOWN_VERSION, message).help(help));
            }
            Some(FinalCluster::Openshift(release))
        }
        (Some(Platform::Kubernetes) | None, Some(version)) => version_of(version, sink).map(FinalCluster::Kubernetes),
        (Some(Platform::Kubernetes) | None, None) => Some(FinalCluster::Kubernetes(LAST_MINOR)),
    }
}
