//! The options that name the world of a question.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};

use super::printing::print;
use super::sandbox::Paths;
use super::workspaces::with_targets;
use super::{Global, Outcome};
use crate::access::Identity;
use crate::app::{Error, LoadedWorld, RequestOptions, Workspace, WorldOptions};
use crate::model::{Platform, Target};

/// Options of every command that asks.
#[derive(Debug, Clone, Default, Args)]
#[command(group = ArgGroup::new("cluster").args(["from", "platform"]).multiple(true))]
pub(super) struct WorldArguments {
    /// Evaluate the manifests in this file or folder, or on standard input (`-`), instead of the workspace.
    #[arg(long, value_name = "PATH")]
    pub(super) from: Vec<PathBuf>,
    /// Read only the files that match this glob, relative to the folder of --from; may be repeated.
    #[arg(long, value_name = "GLOB", requires = "from")]
    pub(super) include: Vec<String>,
    /// Do not read the files that match this glob, relative to the folder of --from; may be repeated.
    #[arg(long, value_name = "GLOB", requires = "from")]
    pub(super) exclude: Vec<String>,
    /// Namespace of the objects of --from that have none, as with `kubectl -n`. Default: `default`.
    #[arg(long, value_name = "NAMESPACE", requires = "from")]
    pub(super) default_namespace: Option<String>,
    /// Use only this target of the workspace; may be repeated.
    #[arg(short, long = "target", value_name = "NAME", conflicts_with = "cluster")]
    pub(super) targets: Vec<String>,
    /// Baseline RBAC to load before the manifests: the default policy of a version (`1.36`), `none`, or the objects of a
    /// file or folder. Default: the baseline of the target, else the default policy of its version.
    #[arg(long, value_name = "VERSION-or-PATH")]
    pub(super) baseline: Option<String>,
    /// Platform of the cluster of the manifests. Without --from, evaluate a new cluster of the platform instead of the
    /// workspace. Default: openshift if the manifests have an object that OpenShift alone serves, else kubernetes.
    #[arg(long, value_name = "PLATFORM", value_parser = platform_parser())]
    pub(super) platform: Option<Platform>,
    /// Version of the cluster, with --from: of Kubernetes, or of OpenShift with --platform openshift.
    #[arg(long, value_name = "VERSION", requires = "cluster")]
    pub(super) kubernetes_version: Option<String>,
    /// Treat the manifests as the whole cluster: a role that is not among them does not exist.
    #[arg(long)]
    pub(super) complete: bool,
}

impl WorldArguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        let reads = self.from.iter().cloned().chain(self.baseline.iter().map(PathBuf::from)).collect();
        Paths { reads, ..Paths::default() }
    }

    /// Returns the options of the world, with the objects that decide beside RBAC or without them.
    pub(super) fn options(&self, with_surroundings: bool) -> WorldOptions {
        WorldOptions {
            from: self.from.clone(),
            baseline: self.baseline.clone(),
            platform: self.platform,
            kubernetes_version: self.kubernetes_version.clone(),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            default_namespace: self.default_namespace.clone(),
            external: Vec::new(),
            is_complete: self.complete,
            with_surroundings,
            with_paths: false,
        }
    }
}

/// Returns the parser of `--platform`.
pub(super) fn platform_parser() -> impl TypedValueParser<Value = Platform> {
    PossibleValuesParser::new(Platform::ALL.map(Platform::as_str)).try_map(|written| {
        let platform = Platform::ALL.into_iter().find(|platform| platform.as_str() == written);
        platform.ok_or("no platform")
    })
}

/// Loads the worlds that the options name and hands them to `run`. The warnings about each are printed.
pub(super) fn with_worlds(
    global: &Global,
    targets: &[String],
    options: &WorldOptions,
    run: impl FnOnce(&[LoadedWorld]) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    let load = |workspace: &Workspace, target: &Target| LoadedWorld::from_target(workspace, target, options);
    with_worlds_by(global, targets, options, load, run)
}

/// Loads worlds as [`with_worlds`] does, and the worlds of targets for a question about one request.
pub(super) fn with_worlds_asked(
    global: &Global,
    targets: &[String],
    options: &WorldOptions,
    question: &RequestOptions,
    run: impl FnOnce(&[LoadedWorld]) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    let load =
        |workspace: &Workspace, target: &Target| LoadedWorld::about_request(workspace, target, options, question);
    with_worlds_by(global, targets, options, load, run)
}

/// Loads worlds as [`with_worlds`] does, and the world of each target by `load`.
fn with_worlds_by(
    global: &Global,
    targets: &[String],
    options: &WorldOptions,
    load: impl Fn(&Workspace, &Target) -> Result<LoadedWorld, Error>,
    run: impl FnOnce(&[LoadedWorld]) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    if options.is_workspace() {
        return with_targets(global, targets, |workspace, targets| {
            let load = |target: &&Target| with_warnings(global, load(workspace, target)?);
            run(&targets.iter().map(load).collect::<Result<Vec<_>, Error>>()?)
        });
    }
    run(&[load_manifests(global, options)?])
}

/// Loads the worlds of a workspace for questions about one subject, and hands them to `run`. The warnings about each are printed.
pub(super) fn with_worlds_about(
    global: &Global,
    targets: &[String],
    options: &WorldOptions,
    subject: &Identity,
    run: impl FnOnce(&[LoadedWorld]) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    with_targets(global, targets, |workspace, targets| {
        let loaded = LoadedWorld::about_subject(workspace, targets, options, subject)?;
        run(&loaded.into_iter().map(|loaded| with_warnings(global, loaded)).collect::<Result<Vec<_>, Error>>()?)
    })
}

/// Loads the world of a target, and prints the warnings about it.
pub(super) fn load_target(
    global: &Global,
    workspace: &Workspace,
    target: &Target,
    options: &WorldOptions,
) -> Result<LoadedWorld, Error> {
    with_warnings(global, LoadedWorld::from_target(workspace, target, options)?)
}

/// Loads the world of manifests, and prints the warnings about it.
pub(super) fn load_manifests(global: &Global, options: &WorldOptions) -> Result<LoadedWorld, Error> {
    with_warnings(global, LoadedWorld::from_manifests(&global.options(), options)?)
}

fn with_warnings(global: &Global, mut loaded: LoadedWorld) -> Result<LoadedWorld, Error> {
    print(global, std::mem::take(&mut loaded.diagnostics), &loaded.files);
    Ok(loaded)
}
