//! The pipeline: from a workspace to the files of its output.
//!
//! [`load`] reads and links the policies; [`compile`] makes the files of one target, one output file after the other, on
//! a few threads. Nothing is written here: each finished file is handed to the caller's `work`, whose results come
//! back in the order of the paths, whatever the number of threads. A target with computed labels of namespaces is compiled
//! twice: the first time collects the objects that decide the labels.

mod allow;
mod known;
mod link;
mod linked_workspace;
mod load;
mod order;
mod part;
mod policy_variables;

use std::sync::Arc;

use bailiwick_base::parallel;
use bailiwick_base::stats::{Lap, Stage, Stats};
use bailiwick_codes as codes;
use bailiwick_kubernetes::readers::stored_group;
use bailiwick_kubernetes::{list, names};
use bailiwick_policy::model::{Contribution, ObjectId, OutputFileKey, Part, Policy, Target, Unit};
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink};
use bailiwick_yaml::{self as yaml, NodeId, NodeRef, ReadBack, Tree, internal};

use crate::delivery;
use crate::emit::file;
pub use crate::expand::SampledFiles;
use crate::expand::{self, OutputFileIndex};
use crate::label::{self, Collector, NamespaceLabels};
use crate::render::Renderer;
use crate::validate::set::{TargetFacts, duplicate};
use crate::validate::{OutputFileFacts, RenderedText, Validator, check_stated_metadata};
pub use allow::{Accepted, AllowEntry};
pub use linked_workspace::{AccountRows, LinkedWorkspace, NamedPolicies};
pub use load::{WORKSPACE_FILE, each_baseline, load, load_workspace, report_page};
pub use part::{PartRecord, ShardSummary, compile_part, each_output_file, merge, output_files};

/// A finished file of the output.
#[derive(Debug)]
pub struct OutputFile {
    /// Path below the target's folder.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The kind of each object it holds, in order.
    pub kinds: Arc<[Arc<str>]>,
    /// The place of the content of each object, in order: for a role the permission set, for a binding the grant.
    pub origins: Arc<[Origin]>,
    /// The objects as JSON, one a line, when that was asked for.
    pub json: Vec<String>,
    /// The objects as trees, in order, when that was asked for. The text is then empty.
    pub objects: Vec<CompiledObject>,
    /// The namespace of the file; none for a file of cluster-scoped objects.
    namespace: Option<Arc<str>>,
    /// The only account with objects in it, whatever other policies add.
    tenant: Option<TenantAccount>,
}

impl OutputFile {
    /// Returns the namespace of the file; none for a file of cluster-scoped objects. The files of a run share the names.
    pub fn namespace(&self) -> Option<&Arc<str>> {
        self.namespace.as_ref()
    }

    /// Returns the only account with objects in the file, whatever other policies add.
    pub fn tenant(&self) -> Option<TenantAccount> {
        self.tenant
    }
}

/// An account of a Tenancy of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantAccount {
    /// The position of the policy.
    policy: u32,
    /// The account there.
    part: Contribution,
}

/// A compiled object as a tree.
#[derive(Debug)]
pub struct CompiledObject {
    tree: Tree,
    root: NodeId,
    place: Origin,
}

impl CompiledObject {
    /// Returns the object as it is written.
    pub fn object(&self) -> NodeRef<'_> {
        self.tree.at(self.root)
    }

    /// Returns the place of its content: for a role the permission set, for a binding the grant.
    pub fn place(&self) -> Origin {
        self.place
    }
}

/// The form of the compiled objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectForm {
    /// As the texts of files.
    Text,
    /// As that, and as JSON.
    Json,
    /// As trees alone, for questions about them: no text is written.
    Trees,
}

/// How to compile.
#[derive(Debug, Clone, Copy)]
pub struct CompileOptions<'s> {
    /// How many threads.
    pub jobs: usize,
    /// The form of the objects.
    pub wanted: ObjectForm,
    /// True when a text that differs from a checked one in names and numbers alone is not checked again. The outcome is
    /// the same.
    pub alike: bool,
    /// The measurements of the run.
    pub stats: &'s Stats,
    /// The part of the namespaces to compile; all of them without it.
    pub part: Option<Part>,
    /// The sample of the namespaces to compile; all of them without it.
    pub sample: Option<&'s SampledFiles>,
    /// Whether objects may have a name with which Flux never prunes them: an earlier state is in the cluster already.
    pub accepts_never_pruned: bool,
}

impl<'s> CompileOptions<'s> {
    /// Returns the options of a whole compilation to text, on so many threads.
    pub fn new(jobs: usize, stats: &'s Stats) -> Self {
        let wanted = ObjectForm::Text;
        Self { jobs, wanted, alike: true, stats, part: None, sample: None, accepts_never_pruned: false }
    }
}

/// The consumer of the files of a target.
pub struct FileConsumer<'c, R> {
    /// Takes a file on a compiling thread.
    pub work: &'c (dyn Fn(OutputFile) -> Result<R, RunError> + Sync),
    /// Takes the results of `work` in order of path, with the numbers of finished and of all files.
    pub each: &'c mut dyn FnMut(R, usize, usize),
}

/// Makes every file of a target.
///
/// # Errors
/// The first error of the consumer.
pub fn compile<R: Send>(
    project: &LinkedWorkspace,
    target: &Target,
    options: CompileOptions<'_>,
    consumer: FileConsumer<'_, R>,
    sink: &mut Sink,
) -> Result<(), RunError> {
    compile_part(project, target, CompileOptions { part: None, ..options }, consumer, sink).map(|_| ())
}

/// Returns the objects that decide the labels of a target's namespaces; none if no cluster computes them. After an error
/// in the sink the objects are incomplete.
///
/// # Errors
/// When the run itself fails.
pub fn labels(
    project: &LinkedWorkspace,
    target: &Target,
    options: CompileOptions<'_>,
    sink: &mut Sink,
) -> Result<Option<NamespaceLabels>, RunError> {
    let Some(settings) = label::settings(target) else { return Ok(None) };
    let mut collector = Collector::new(settings);
    for tree in project.baselines.get(&target.name).into_iter().flatten() {
        tree.documents().flat_map(list::objects).for_each(|object| collector.add(object, object.origin()));
    }
    for document in project.analyzed_documents(target) {
        list::objects(document).into_iter().for_each(|object| collector.add(object, object.origin()));
    }
    let options = CompileOptions { wanted: ObjectForm::Trees, part: None, ..options };
    let mut collect = |objects: Vec<CompiledObject>, _, _| {
        objects.iter().for_each(|compiled| collector.add(compiled.object(), compiled.place()));
    };
    let consumer = FileConsumer { work: &|file| Ok(file.objects), each: &mut collect };
    Pass { project, target, options, labels: None }.run(consumer, sink)?;
    Ok(Some(collector.finish()))
}

/// A pass over the output files of a target.
#[derive(Clone, Copy)]
struct Pass<'p> {
    project: &'p LinkedWorkspace,
    target: &'p Target,
    options: CompileOptions<'p>,
    labels: Option<&'p NamespaceLabels>,
}

impl Pass<'_> {
    fn run<R: Send>(self, consumer: FileConsumer<'_, R>, sink: &mut Sink) -> Result<ShardSummary, RunError> {
        let Self { project, target, options, .. } = self;
        let FileConsumer { work, each } = consumer;
        let index = match options.sample {
            Some(files) => files.of_target(&project.policies, target),
            None => {
                let mut index = OutputFileIndex::new(&project.policies, target);
                options.part.into_iter().for_each(|part| index.keep(part));
                Arc::new(index)
            }
        };
        let mut ledger = ShardSummary::default();
        if options.part.is_some() {
            ledger.open();
        }
        let mut facts = TargetFacts::new(target, project.existing_on(target));
        let total = index.len();
        // Many tenants have one of their own each.
        facts.expect(total);
        let mut failed = None;
        parallel::in_order(
            total,
            options.jobs,
            || Worker::new(self),
            |worker, position| worker.output_file(&index, position, work),
            |position, made: OutputFileResult<R>| {
                let place = index.place(position);
                sink.absorb(made.sink);
                ledger.note(place, &made.facts, sink);
                facts.absorb(made.facts, &|namespace| index.has_namespace(namespace), sink);
                ledger.note_judged(place, sink);
                match made.results {
                    Ok(results) => results.into_iter().for_each(|result| each(result, position + 1, total)),
                    Err(error) => {
                        failed.get_or_insert(error);
                    }
                }
                failed.is_none()
            },
        );
        if !ledger.is_open() {
            facts.finish(sink);
        }
        failed.map_or(Ok(ledger), Err)
    }
}

/// Room for the file of a typical tenant, in bytes.
const TYPICAL_FILE: usize = 4096;

/// The results of one output file, with its facts and diagnostics.
struct OutputFileResult<R> {
    results: Result<Vec<R>, RunError>,
    facts: OutputFileFacts,
    sink: Sink,
}

/// The state of a thread between output files.
struct Worker<'p> {
    project: &'p LinkedWorkspace,
    /// Copies for this thread, where sharing would cost; see [`TenancyPolicy::detached`](bailiwick_policy::model::TenancyPolicy::detached).
    detached: Vec<Option<Box<dyn Policy>>>,
    target: &'p Target,
    options: CompileOptions<'p>,
    labels: Option<&'p NamespaceLabels>,
    renderer: Renderer<'p>,
    /// The engine of the built-in templates, where the workspace replaces some.
    built_in: Option<Renderer<'p>>,
    validator: Validator<'p>,
    rendered: String,
    read_back: ReadBack,
    lap: Lap,
}

/// A file while its objects arrive.
struct Draft {
    path: String,
    text: String,
    kinds: Vec<Arc<str>>,
    origins: Vec<Origin>,
    json: Vec<String>,
    objects: Vec<CompiledObject>,
}

impl Draft {
    fn new(path: String, wanted: ObjectForm) -> Self {
        let mut text = String::new();
        if wanted != ObjectForm::Trees {
            text.reserve(TYPICAL_FILE);
            text.push_str(file::HEADER);
        }
        Self { path, text, kinds: Vec::new(), origins: Vec::new(), json: Vec::new(), objects: Vec::new() }
    }

    fn finish(self, namespace: Option<Arc<str>>, tenant: Option<TenantAccount>) -> OutputFile {
        OutputFile {
            text: self.text,
            path: self.path,
            kinds: self.kinds.into(),
            origins: self.origins.into(),
            json: self.json,
            objects: self.objects,
            namespace,
            tenant,
        }
    }
}

impl<'p> Worker<'p> {
    fn new(pass: Pass<'p>) -> Self {
        let Pass { project, target, options, labels } = pass;
        let validator =
            Validator::new(target, project.api(target), project.custom_fields(target), &project.files, &project.trees);
        Self {
            project,
            detached: project
                .policies
                .iter()
                .map(|policy| policy.as_tenancy().filter(|_| options.jobs > 1).map(|tenancy| tenancy.detached()))
                .collect(),
            target,
            options,
            labels,
            renderer: Renderer::new(&project.templates),
            built_in: project.templates.built_in().map(Renderer::new),
            validator: if options.alike { validator } else { validator.each_by_itself() },
            rendered: String::new(),
            read_back: ReadBack::default(),
            lap: Lap::default(),
        }
    }

    fn output_file<R>(
        &mut self,
        index: &OutputFileIndex,
        position: usize,
        work: &(dyn Fn(OutputFile) -> Result<R, RunError> + Sync),
    ) -> OutputFileResult<R> {
        let mut made =
            OutputFileResult { results: Ok(Vec::new()), facts: OutputFileFacts::default(), sink: Sink::new() };
        let Some(output_file) = index.output_file(position) else { return made };
        self.options.stats.lap("files", &mut self.lap);
        let mut drafts = match self.drafts(index, position, output_file, &mut made.facts, &mut made.sink) {
            Ok(drafts) => drafts,
            Err(error) => return OutputFileResult { results: Err(error), ..made },
        };
        drafts.sort_by(|left, right| left.path.cmp(&right.path));
        // A file that lacks an object would be wrong; with an error nothing is written anyway.
        if !made.sink.has_errors() {
            let tenant = index.tenant(position, |policy| {
                self.project.policies.get(policy).is_some_and(|policy| policy.as_tenancy().is_some())
            });
            let tenant = tenant.map(|(policy, part)| TenantAccount { policy: internal::number(policy), part });
            let file = |draft: Draft| draft.finish(output_file.namespace().cloned(), tenant);
            made.results = drafts.into_iter().map(|draft| work(file(draft))).collect();
        }
        made
    }

    fn drafts(
        &mut self,
        index: &OutputFileIndex,
        position: usize,
        output_file: &OutputFileKey,
        facts: &mut OutputFileFacts,
        sink: &mut Sink,
    ) -> Result<Vec<Draft>, RunError> {
        let stats = self.options.stats;
        let made = || {
            let policy = |index| policy_of(&self.detached, self.project, index);
            index.units(position, policy, |place| self.project.policy_named_at(place), self.target)
        };
        let units = stats.time(Stage::Expand, made, |units| (units.len(), 0));
        let mut drafts: Vec<Draft> = Vec::new();
        let mut previous: Option<&Unit> = None;
        for unit in &units {
            match previous.replace(unit).filter(|previous| is_same_object(&previous.identity, &unit.identity)) {
                Some(previous) => sink.push(made_twice(previous, unit)),
                None if self.check(unit, output_file, facts, sink) => self.add(unit, output_file, &mut drafts)?,
                None => {}
            }
        }
        Ok(drafts)
    }

    /// Renders and validates an object, which the validator then holds; false when it cannot be used.
    fn check(
        &mut self,
        unit: &Unit,
        output_file: &OutputFileKey,
        facts: &mut OutputFileFacts,
        sink: &mut Sink,
    ) -> bool {
        let stats = self.options.stats;
        let stated = match self.render(unit) {
            Ok(stated) => stated,
            Err(problem) => {
                sink.push(*problem);
                return false;
            }
        };
        // Without a stated delivery, any applier may read the output.
        let may_use_inventory = self.target.may_be_delivered_by_flux() && !self.options.accepts_never_pruned;
        let text = &*self.rendered;
        let rendered = RenderedText { text, stated: stated.as_deref() };
        let matches = || self.validator.matches(unit, rendered, facts);
        if !stats.time(Stage::Match, matches, |matches| if *matches { (1, text.len()) } else { (0, 0) }) {
            let before = sink.len();
            let validate = || {
                if !self.validator.check(unit, text, facts, sink)
                    || !self.validator.check_readings(unit, &self.project.templates, may_use_inventory, sink)
                {
                    return false;
                }
                if let Some(stated) = &stated
                    && !self.validator.check_meaning(unit, stated, &self.project.templates, sink)
                {
                    return false;
                }
                if sink.len() == before {
                    self.validator.keep(unit, rendered);
                }
                true
            };
            if !stats.time(Stage::Validate, validate, |_| (1, text.len())) {
                return false;
            }
        }
        self.label(unit, sink);
        match output_file {
            OutputFileKey::Namespace(name) if names::dns_label(name).is_err() => {
                sink.push(
                    Diagnostic::error(codes::INVALID_OBJECT, format!("`{name}` cannot name a namespace"))
                        .at(unit.origin)
                        .help("at most 63 lower case letters, digits and `-`, with a letter or digit at both ends"),
                );
                false
            }
            _ => self.has_stated_metadata(unit, sink),
        }
    }

    /// Whether the object has the labels and annotations of its policy.
    fn has_stated_metadata(&self, unit: &Unit, sink: &mut Sink) -> bool {
        let templates = &self.project.templates;
        self.validator.object().is_none_or(|root| check_stated_metadata(unit, root, templates, sink))
    }

    /// Renders a unit. Returns the text that its policy states, if another one was rendered: the text of the built-in template.
    fn render(&mut self, unit: &Unit) -> Result<Option<String>, Box<Diagnostic>> {
        let (project, target) = (self.project, self.target);
        let policy = policy_of(&self.detached, project, unit.source.policy as usize);
        let of_unit = |policy| expand::made_for(unit, policy, |place| project.policy_named_at(place), target);
        let input = |name: &str| of_unit(policy?).template_input(name, &unit.source);
        let rendered = &mut self.rendered;
        let render = || self.renderer.render(unit, &input, rendered).map(|()| rendered.len());
        let size = |length: &Result<usize, _>| (1, *length.as_ref().unwrap_or(&0));
        self.options.stats.time(Stage::Render, render, size)?;
        let replaced = self.built_in.as_mut().filter(|_| project.templates.is_replaced(&unit.template));
        let Some(renderer) = replaced else { return Ok(None) };
        let mut stated = String::with_capacity(self.rendered.len());
        renderer.render(unit, &input, &mut stated)?;
        Ok(Some(stated).filter(|stated| *stated != self.rendered))
    }

    /// Fills in what follows from the rest of the target, and checks the labels.
    fn label(&mut self, unit: &Unit, sink: &mut Sink) {
        if let Some(root) = self.validator.object() {
            label::check_exemption(self.target, unit, root, sink);
        }
        // An escape in a template can stand for a variable.
        let may_have_variable = |text: &str| delivery::has_variable(text) || text.contains('\\');
        if self.target.is_delivered_by_flux() && may_have_variable(&self.rendered) {
            self.validator.amend(delivery::keep_texts);
        }
        let Some(labels) = self.labels else { return };
        if NamespaceLabels::concerns(unit) {
            let filling = labels.verdict(&unit.identity.name).filling;
            self.validator.amend(|tree, root| filling.write(tree, root));
        }
        if let Some(root) = self.validator.object() {
            labels.check(unit, root, &self.project.trees, sink);
        }
    }

    /// Appends the object that the validator holds to the file it belongs in, and reads back the text unless it is like one
    /// that was read back.
    fn add(&mut self, unit: &Unit, output_file: &OutputFileKey, drafts: &mut Vec<Draft>) -> Result<(), RunError> {
        let namespace = match output_file {
            OutputFileKey::Cluster => None,
            OutputFileKey::Namespace(name) => Some(&**name),
        };
        // A namespace has one file, so that its path is made once.
        if namespace.is_none() || drafts.is_empty() {
            let path = file::path(namespace, &unit.identity.object_type.kind, self.project.workspace.shards);
            match drafts.iter().position(|draft| draft.path == path) {
                Some(found) => drafts.swap(found, 0),
                None => drafts.insert(0, Draft::new(path, self.options.wanted)),
            }
        }
        if let (Some(draft), Some(root)) = (drafts.first_mut(), self.validator.object()) {
            draft.kinds.push(Arc::clone(&unit.identity.object_type.kind));
            draft.origins.push(unit.content);
            if self.options.wanted == ObjectForm::Trees {
                let compiled = CompiledObject { tree: root.tree().clone(), root: root.id(), place: unit.content };
                draft.objects.push(compiled);
                return Ok(());
            }
            if draft.kinds.len() > 1 {
                draft.text.push_str(yaml::write::SEPARATOR);
            }
            let before = draft.text.len();
            let emit = || {
                self.validator.write(&mut draft.text);
                draft.text.len() - before
            };
            let length = self.options.stats.time(Stage::Emit, emit, |length| (1, *length));
            // The text that the object is like was read back.
            if !self.validator.has_matched() {
                let written = draft.text.get(before..).unwrap_or_default();
                let read_back = || self.read_back.compare(written, root);
                self.options.stats.time(Stage::ReadBack, read_back, |_| (1, length)).map_err(|difference| {
                    RunError::new(format!("the text of {} is not the compiled object: {difference}", unit.identity))
                        .help(
                            "this is a defect of Bailiwick, and nothing was written; please report it with the policy",
                        )
                })?;
            }
            if self.options.wanted == ObjectForm::Json {
                draft.json.push(yaml::schema::to_json(root).to_string());
            }
        }
        Ok(())
    }
}

/// Returns a policy by its index: the copy of a thread, if there is one.
fn policy_of<'w>(
    detached: &'w [Option<Box<dyn Policy>>],
    project: &'w LinkedWorkspace,
    index: usize,
) -> Option<&'w dyn Policy> {
    let own = detached.get(index).and_then(Option::as_deref);
    own.or_else(|| project.policies.get(index).map(|shared| &**shared))
}

/// Whether two objects of one file would overwrite each other. [`TargetFacts`] compares cluster-scoped
/// objects across files.
fn is_same_object(left: &ObjectId, right: &ObjectId) -> bool {
    let kind = &left.object_type.kind;
    *kind == right.object_type.kind
        && stored_group(left.object_type.group(), kind) == stored_group(right.object_type.group(), kind)
        && left.name == right.name
        && (right.namespace.is_some() || &*right.object_type.kind == "Namespace")
}

/// Reports two units with the same object: two accounts by their rows, two policies by their lines.
fn made_twice(first: &Unit, second: &Unit) -> Diagnostic {
    let place = |unit: &Unit| unit.account.filter(|_| first.origin == second.origin).unwrap_or(unit.origin);
    duplicate(&second.identity, place(second), place(first))
}
