//! The objects below the output of a target: the baseline of its cluster, the objects of Manifests that are not written, and
//! the objects that `spec.keep` keeps in the output folder.

use std::sync::Arc;

use bailiwick_access::Builder;
use bailiwick_access::world::Added;
use bailiwick_admission::scc::bootstrap;
use bailiwick_compiler::compile::{self, LinkedWorkspace};
use bailiwick_compiler::emit::committed::Committed;
use bailiwick_policy::model::Target;
use bailiwick_policy::source::{self, Sources};
use bailiwick_workspace::workspace::{Workspace, keeps};
use bailiwick_workspace::{Options, kept_files};
use bailiwick_yaml::diag::{FileId, RunError, Sink};
use bailiwick_yaml::{self as yaml, Tree};

use super::manifests::{ManifestReader, add_with_surroundings, refuse_nothing, rejected};
use super::{Baseline, Surroundings, WorldOptions, read_baseline};
use crate::memberships::Memberships;

/// The inputs of a workspace that decide what is below the output of a target.
pub struct BaselineInputs<'g> {
    /// The options of the run.
    pub(crate) run: &'g Options,
    /// The policies.
    pub(crate) project: &'g LinkedWorkspace,
    /// The files that a baseline is read from.
    pub(crate) files: Box<dyn source::FileSource>,
    /// The kept files that hold objects and that no policy names.
    pub(crate) kept: Vec<Tree>,
}

/// Returns the objects below the output of a target in the workspace of the run.
pub(crate) fn below_output(
    workspace: &Workspace,
    target: &Target,
    options: &WorldOptions,
    surroundings: &mut Option<Surroundings>,
    sink: &mut Sink,
) -> Result<Option<Builder>, RunError> {
    let inputs = BaselineInputs {
        run: workspace.options(),
        project: workspace.project(),
        files: workspace.files().boxed_source(),
        // An applier of the output folder applies what `spec.keep` keeps there.
        kept: kept_files::kept_objects(workspace, &target.name, sink)?,
    };
    inputs.builder(target, options, surroundings, sink)
}

impl BaselineInputs<'_> {
    /// Begins the world of a target with the objects below its output; none where they cannot be read.
    pub(crate) fn builder(
        self,
        target: &Target,
        options: &WorldOptions,
        surroundings: &mut Option<Surroundings>,
        sink: &mut Sink,
    ) -> Result<Option<Builder>, RunError> {
        let Self { run, project, files, kept } = self;
        let minor = target.version.minor();
        let baseline = match (&options.baseline, &target.baseline) {
            (Some(written), _) => read_baseline(written, run, sink),
            (None, Some(_)) => Some(Baseline::None),
            (None, None) => Some(Baseline::DefaultPolicy(minor)),
        };
        let Some(baseline) = baseline else { return Ok(None) };
        let memberships = Memberships::default();
        let mut reader = ManifestReader { run, files: &project.files, surroundings, memberships };
        let mut builder = reader.start(minor, &baseline, sink)?;
        if options.baseline.is_none() && target.baseline.is_some() {
            let mut sources = Sources::new(files, Arc::clone(&project.files));
            add_baseline(&mut builder, target, &mut sources, surroundings, sink)?;
        }
        if let (Baseline::DefaultPolicy(_), Some(release)) = (&baseline, target.version.release()) {
            bootstrap::add_to(&mut builder, release);
        }
        // The objects of packages are there, independent of the installer.
        project.api(target).custom().for_each(|resource| builder.know(resource.clone()));
        for document in project.analyzed_documents(target).chain(kept.iter().flat_map(Tree::documents)) {
            surroundings.iter_mut().for_each(|known| known.add_document(document, sink));
            builder.add_document(document, |place, added| {
                if let Added::Misshapen(why) = added {
                    sink.push(rejected(place.origin(), why));
                }
            });
        }
        Ok(Some(builder))
    }
}

/// Returns the world of a cluster without any policy: the default policy of its version and its platform.
pub fn platform_world(target: &Target) -> Builder {
    let minor = target.version.minor();
    let mut builder = Builder::new(minor).with_default_policy(minor);
    if let Some(release) = target.version.release() {
        bootstrap::add_to(&mut builder, release);
    }
    builder
}

/// Adds the objects of the earlier output of a target.
pub(crate) fn add_committed(
    builder: &mut Builder,
    project: &LinkedWorkspace,
    target: &Target,
    committed: &dyn Committed,
) -> Result<(), RunError> {
    let is_kept = |path: &str| keeps(&project.workspace, &format!("{}/{path}", target.name));
    for entry in committed.list()?.iter().filter(|entry| entry.is_file() && !is_kept(&entry.path)) {
        let bytes = committed.read(&entry.path)?.unwrap_or_default();
        let tree = yaml::read(&String::from_utf8_lossy(&bytes), FileId::default(), &mut Sink::new());
        tree.documents().for_each(|document| builder.add_document(document, |_, _| {}));
    }
    Ok(())
}

/// Adds the objects that the workspace names as the baseline of a target.
fn add_baseline(
    builder: &mut Builder,
    target: &Target,
    sources: &mut Sources,
    surroundings: &mut Option<Surroundings>,
    sink: &mut Sink,
) -> Result<(), RunError> {
    let mut taken = 0;
    compile::each_baseline(target, sources, sink, &mut |tree, sink| {
        taken += add_with_surroundings(builder, &tree, surroundings, sink);
    })?;
    builder.end_baseline();
    let name = target.baseline.as_ref().map_or("", |baseline| &baseline.value);
    refuse_nothing(taken, name, sink);
    Ok(())
}
