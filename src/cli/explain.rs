//! `bailiwick explain`.

mod namespace;
mod stacks;

use std::path::PathBuf;

use clap::Args;

use super::can_i::{refuse_no_subject, word};
use super::printing::{print, refuse_usage};
use super::question::IdentityArguments;
use super::reporting::FormatArguments;
use super::sandbox::Paths;
use super::worlds::{platform_parser, with_worlds, with_worlds_about};
use super::{Global, Outcome};
use crate::app::{DefaultPolicy, Error, LoadedWorld, ManualPage, ObjectName, RequestOptions, WorldOptions};
use crate::model::Platform;
use crate::report::access::{DecisionReport, ExplainedDecision};
use crate::report::explain::{self, ExplainResult};
use crate::report::page::Page;
use crate::report::worlds;

/// Options of `explain`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Topic to explain; without a topic, the list of kinds and diagnostics
    ///
    /// Topics: a policy kind (`Tenancy`), a diagnostic (`duplicate-yaml-key`), `templates`, an object (`ClusterRole/view`,
    /// `RoleBinding/NAMESPACE/NAME`), a subject (`User/alice`, `ServiceAccount/NAMESPACE/NAME`), an output file
    /// (`out/production/namespaces/team-a.yaml`), and the stacks of a workspace (`stacks`). `namespace NAME` explains the
    /// admission rules for pods of a namespace, and `get pods --as alice` explains a decision in the form of `can-i`.
    #[arg(num_args = 0..=3)]
    words: Vec<String>,
    #[command(flatten)]
    identity: IdentityArguments,
    /// Namespace of the decision.
    #[arg(short, long)]
    namespace: Option<String>,
    /// Subresource of the decision.
    #[arg(long)]
    subresource: Option<String>,
    /// Explain the manifests in this file or folder, or on standard input (`-`), instead of the workspace.
    #[arg(long, value_name = "PATH")]
    from: Vec<PathBuf>,
    /// Platform of the cluster of the manifests.
    #[arg(long, value_name = "PLATFORM", requires = "from", value_parser = platform_parser())]
    platform: Option<Platform>,
    /// Use only this target of the workspace; may be repeated.
    #[arg(short, long = "target", value_name = "NAME", conflicts_with = "from")]
    targets: Vec<String>,
    /// Baseline RBAC to load before the manifests. Without a topic, print the default policy of a version, such as
    /// `--baseline=1.30`.
    #[arg(long, value_name = "VERSION-or-PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    baseline: Option<String>,
    /// Print every namespace of a subject, and not one of each class of alike namespaces. The other formats have every namespace.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths::default().and_reads(&self.from).and_reads(&self.baseline.as_ref().map(PathBuf::from))
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    match (arguments.words.as_slice(), &arguments.baseline) {
        ([], Some(version)) => print_baseline(global, arguments, version),
        ([], None) => Ok(print_page(global, ManualPage::index())),
        ([word], _) if word == "stacks" => stacks::explain(global, arguments),
        ([file], _) if output::is_path(file) && ObjectName::parse(file).is_none() => output::explain(global, file),
        ([word], _) if !word.contains('/') => Ok(print_page(global, ManualPage::find(word)?)),
        ([kind, name], _) if kind == "namespace" => namespace::explain(global, arguments, name),
        ([object], _) => explain_object(global, arguments, object),
        _ => explain_decision(global, arguments),
    }
}

fn print_page(global: &Global, page: ManualPage) -> Outcome {
    let text = page.page.clone();
    global.print_result(|| ExplainResult::Page(page), || text);
    Outcome::Fine
}

/// Prints the default policy of a version as manifests; without one, of the target's version, or of the newest.
fn print_baseline(global: &Global, arguments: &Arguments, version: &str) -> Result<Outcome, Error> {
    let mut policy = if version.is_empty() {
        DefaultPolicy::of_workspace(&global.options(), &arguments.targets)?
    } else {
        DefaultPolicy::of_version(version)?
    };
    let diagnostics = std::mem::take(&mut policy.diagnostics);
    print(global, diagnostics.list, &diagnostics.files);
    let text = explain::default_policy(&policy);
    global.print_result(|| ExplainResult::DefaultPolicy(policy), || text);
    Ok(Outcome::Fine)
}

impl Arguments {
    fn options(&self) -> WorldOptions {
        WorldOptions {
            from: self.from.clone(),
            platform: self.platform,
            baseline: self.baseline.clone().filter(|baseline| !baseline.is_empty()),
            ..WorldOptions::default()
        }
    }
}

fn explain_decision(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let word_at = |position: usize| arguments.words.get(position).cloned();
    let question = RequestOptions {
        verb: word_at(0),
        resource: word_at(1),
        name: word_at(2),
        namespace: arguments.namespace.clone(),
        all_namespaces: false,
        subresource: arguments.subresource.clone(),
        path: None,
        http: None,
        any_resource: false,
    };
    let Some(who) = arguments.identity.identity() else {
        return Ok(refuse_no_subject(global));
    };
    arguments.identity.notes().iter().for_each(|note| global.terminal().note(note));
    with_worlds(global, &arguments.targets, &arguments.options(), |loaded_worlds| {
        for loaded in loaded_worlds {
            let request = question.request(&loaded.world)?;
            if let Some(note) = question.subresource_note(&request, &loaded.world) {
                global.terminal().note(&note);
            }
            let who = arguments.identity.in_world(loaded, &who);
            let decision = loaded.world.decide(&who, &request);
            let answer = decision.answer(false);
            let report = DecisionReport {
                world: &loaded.world,
                files: &loaded.files,
                who: &who,
                request: &request,
                decision: &decision,
                answer,
            };
            let record = || ExplainedDecision { decision: report.record(), target: loaded.target.clone() };
            let text = || {
                let groups = who.groups.join(", ");
                let asker = if who.user.is_empty() {
                    format!("a member of {groups}")
                } else {
                    format!("`{}`, in {groups},", who.user)
                };
                let mut page = Page::new();
                writeln!(page, "{}may {asker} {request}? {}", worlds::prefix(loaded), word(answer));
                page.append(&arguments.identity.memberships(loaded));
                page.append(&report.reasons());
                page.finish()
            };
            global.print_result(|| ExplainResult::Decision(Box::new(record())), text);
        }
        Ok(Outcome::Fine)
    })
}

fn explain_object(global: &Global, arguments: &Arguments, object: &str) -> Result<Outcome, Error> {
    let name = ObjectName::parse(object);
    let with_paths = matches!(name, Some(ObjectName::Subject(_)));
    let options = WorldOptions { with_paths, ..arguments.options() };
    let explain = |worlds: &[LoadedWorld]| explain_in(global, worlds, name.as_ref(), object);
    match &name {
        // Results for programs are complete.
        Some(ObjectName::Subject(who))
            if options.is_workspace() && !arguments.all && global.prints_text() && !global.is_recorded() =>
        {
            with_worlds_about(global, &arguments.targets, &options, who, explain)
        }
        _ => with_worlds(global, &arguments.targets, &options, explain),
    }
}

/// Explains an object in some worlds.
fn explain_in(
    global: &Global,
    worlds: &[LoadedWorld],
    name: Option<&ObjectName>,
    object: &str,
) -> Result<Outcome, Error> {
    let mut is_found = false;
    for loaded in worlds {
        let Some(name) = name.map(|name| loaded.with_groups(name)) else { continue };
        let name = &name;
        let paths = loaded.paths_of(name);
        let Some(record) = ExplainResult::object(loaded, name, &paths) else { continue };
        is_found = true;
        let text = || explain::object(loaded, name, &paths).map(|text| format!("{}{text}", worlds::heading(loaded)));
        global.print_result(|| record, || text().into_iter().collect());
    }
    if is_found {
        return Ok(Outcome::Fine);
    }
    let near = worlds.iter().find_map(|loaded| loaded.nearest_object(object));
    let help = near.map_or_else(
        || {
            "write `ClusterRole/NAME`, `Role/NAMESPACE/NAME`, `User/NAME`, `Group/NAME` or `ServiceAccount/NAMESPACE/NAME`"
                .to_owned()
        },
        |near| format!("did you mean `{near}`?"),
    );
    Ok(refuse_usage(global, format!("there is no `{object}`"), help))
}

mod output {
    //! `bailiwick explain out/TARGET/FILE`.

    use std::path::Path;

    use super::super::workspaces::with_targets;
    use super::super::{Global, Outcome};
    use crate::app::{Error, explain_file};
    use crate::report::explain;

    /// Whether a word of the command line is the path of a file and not the name of something.
    pub(super) fn is_path(word: &str) -> bool {
        Path::new(word).extension().is_some_and(|extension| extension == "yaml")
    }

    /// Lists each object of an output file with the policy that makes it.
    pub(super) fn explain(global: &Global, word: &str) -> Result<Outcome, Error> {
        with_targets(global, &[], |workspace, _| {
            let file = explain_file(workspace, word)?;
            global.print_results(|| explain::file_objects(&file), || explain::file(&file));
            if let Some(state) = explain::state(&file) {
                global.terminal().note(&format!("note: `{word}` {state}\n"));
            }
            Ok(Outcome::Fine)
        })
    }
}
