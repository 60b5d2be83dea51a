//! `bailiwick test`.

use clap::Args;

use super::every_workspace::WorkspacesArguments;
use super::printing::{print, refuse_usage};
use super::reporting::FormatArguments;
use super::workspaces::{tell, with_targets};
use super::{Global, Outcome};
use crate::app::{Error, TestOptions, TestRun, TestedWorkspace, Workspace, test_names};
use crate::diag::words::first_names;
use crate::model::Target;
use crate::report::tests;

/// Options of `test`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Run only the tests with one of these texts in their name.
    names: Vec<String>,
    /// Test only this target; may be repeated.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    #[command(flatten)]
    pub(super) workspaces: WorkspacesArguments,
    #[command(flatten)]
    pub(super) format: FormatArguments,
    /// Exit with 1 if there is a warning.
    #[arg(long)]
    pub(super) deny_warnings: bool,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    with_targets(global, &arguments.targets, |workspace, targets| {
        if let Some((message, help)) = unmatched(workspace, targets, &arguments.names)
            && !global.is_one_of_several
        {
            return Ok(refuse_usage(global, message, help));
        }
        let (mut run, mut failures) = (TestRun::default(), tests::Failures::default());
        let options = TestOptions {
            targets: arguments.targets.clone(),
            names: arguments.names.clone(),
            ..TestOptions::default()
        };
        let tested = TestedWorkspace::new(workspace, &options)?;
        for target in targets {
            let warnings = tested.ask(target, &mut run, &mut |event| failures.add(&event))?;
            print(global, warnings.list, &warnings.files);
        }
        if run.tests.is_empty() && global.is_one_of_several {
            global.terminal().note("no AccessTest to run\n");
            return Ok(Outcome::Fine);
        }
        if run.tests.is_empty() {
            let help = "`bailiwick explain AccessTest` shows how to write one";
            return Ok(refuse_usage(global, "there is no AccessTest to run", help));
        }
        Ok(conclude(global, workspace, run, failures))
    })
}

/// How many names of tests are printed.
const SHOWN: usize = 5;

/// Returns the error of a text that is in the name of no test, and its remedy; none in a workspace without tests.
fn unmatched(workspace: &Workspace, targets: &[&Target], texts: &[String]) -> Option<(String, String)> {
    let names: Vec<String> = test_names(workspace, targets).into_iter().collect();
    let is_unmatched = |text: &&String| !names.iter().any(|name| name.contains(*text));
    let text = texts.iter().find(is_unmatched).filter(|_| !names.is_empty())?;
    let help = format!("the AccessTests are: {}", first_names(&names, SHOWN));
    Some((format!("no AccessTest has `{text}` in its name"), help))
}

/// Prints the problems, the failures and the counts.
pub(super) fn conclude(global: &Global, workspace: &Workspace, mut run: TestRun, failures: tests::Failures) -> Outcome {
    let outcome = tell(global, run.take_problems(workspace));
    global.annotate_tests(&failures.results());
    global.record_tests(failures.results());
    let terminal = global.terminal();
    if global.formats.has_results {
        let text = failures.text().to_owned();
        global.print_results(|| failures.records, || text);
    } else {
        terminal.result(failures.text());
    }
    if outcome == Outcome::Invalid && run.questions == 0 {
        return outcome;
    }
    terminal.note(&tests::counts(&run));
    outcome.worse(if run.failures > 0 { Outcome::No } else { Outcome::Fine })
}
