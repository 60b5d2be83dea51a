//! `bailiwick migrate`.

mod kubelets;
mod output;
mod psp;
mod verify;

use clap::{Args, Subcommand};

use super::reporting::Formats;
use super::sandbox::Paths;
use super::{Global, Outcome};
use crate::app::Error;

/// Options of `migrate`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

/// The object of a migration.
#[derive(Debug, Subcommand)]
enum What {
    /// Convert PodSecurityPolicies into PodSecurityProfiles.
    ///
    /// Reads PodSecurityPolicies, RBAC, Namespaces, ServiceAccounts, workloads and pods, and determines the PodSecurityPolicy of
    /// each workload: by its grants, and for a pod of an unknown creator by the annotation `kubernetes.io/psp`. Writes a
    /// PodSecurityProfile for each PodSecurityPolicy in use, and each namespace with its profiles and its Pod Security level.
    /// PodSecurityPolicies that differ only in numbers become one profile, and their namespaces become a Tenancy.
    ///
    /// Exit codes: 0 success; 1 the report lists open decisions; 2 wrong usage or invalid input; 3 the run failed.
    Psp(psp::Arguments),
    /// Evaluate the pods of a cluster by the compiled output.
    ///
    /// Reads the workloads and pods of a cluster, and evaluates the pods by the Pod Security levels, profiles, PodSecurityPolicies
    /// or constraints of each target. Evaluates new pods of each template. Evaluates as it runs a pod without a template, or with
    /// containers that its template lacks. Prints the rejected pods, with the reason and the way to admission. Admission policies
    /// and webhooks of the cluster itself are not evaluated.
    ///
    /// Exit codes: 0 every pod is admitted; 1 a pod is rejected; 2 wrong usage or invalid input; 3 the run failed.
    Verify(verify::Arguments),
    /// Report the migration of kubelets from the binding of `system:node` to the Node authorizer.
    ///
    /// Reads an inventory: `kubelets`, each with `user` and `groups` of its certificate; `apiserver` with
    /// `authorizationMode` and `admissionPlugins`; `nodes`. Reports the kubelets with the identity of their node, the
    /// permissions of the other kubelets, and the progress of the four steps. Reads Bindings and Nodes from the manifests too.
    ///
    /// Exit codes: 0 every step except the check of the audit log is done; 1 a step is left; 2 wrong usage or invalid input; 3 the run failed.
    Kubelets(kubelets::Arguments),
    /// Print the steps to another number of folders for the files of namespaces.
    ///
    /// Each folder has its own Application or Kustomization. The applier of the old folder deletes the objects of a file that
    /// moved, unless the applier of the new folder took them over before. The steps stop the pruning, move the files, and
    /// start the pruning again. The command writes nothing.
    ///
    /// Exit codes: 0 success; 2 wrong usage or invalid input; 3 the run failed.
    Shards(shards::Arguments),
}

impl Arguments {
    /// Returns the formats of the results, and the reports to write.
    pub(super) fn formats(&self) -> Formats {
        match &self.what {
            What::Psp(arguments) => arguments.formats(),
            What::Verify(arguments) => Formats::of_results(&arguments.format),
            What::Kubelets(arguments) => Formats::of_results(&arguments.format),
            What::Shards(arguments) => Formats::of_results(&arguments.format),
        }
    }
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        match &self.what {
            What::Psp(arguments) => arguments.paths(),
            What::Verify(arguments) => arguments.paths(),
            What::Kubelets(arguments) => arguments.paths(),
            What::Shards(_) => Paths::default(),
        }
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    match &arguments.what {
        What::Psp(arguments) => psp::run(global, arguments),
        What::Verify(arguments) => verify::run(global, arguments),
        What::Kubelets(arguments) => kubelets::run(global, arguments),
        What::Shards(arguments) => shards::run(global, arguments),
    }
}

mod shards {
    //! `bailiwick migrate shards`.

    use clap::Args;

    use super::super::reporting::FormatArguments;
    use super::super::workspaces::with_targets;
    use super::super::{Global, Outcome};
    use crate::app::{Error, shard_migration};
    use crate::report::shards;

    /// Options of `migrate shards`.
    #[derive(Debug, Args)]
    pub(super) struct Arguments {
        /// Number of folders for the files of namespaces
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
        to: u32,
        #[command(flatten)]
        pub(super) format: FormatArguments,
    }

    /// Runs the command.
    pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
        with_targets(global, &[], |workspace, _| {
            let migration = shard_migration(workspace, arguments.to)?;
            global.print_result(|| migration.clone(), || shards::text(&migration));
            Ok(Outcome::Fine)
        })
    }
}
