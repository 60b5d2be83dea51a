//! `bailiwick fn`.

use std::io::Read as _;

use clap::Args;

use super::printing::refuse_usage;
use super::workspaces::{tell, with_targets};
use super::worlds::platform_parser;
use super::{Global, Outcome};
use crate::app::{Error, FunctionOptions, FunctionOutcome, Validation, run_function, test_manifests};
use crate::diag::RunError;
use crate::model::Platform;
use crate::report::function::FunctionResults;
use crate::report::tests;
use crate::yaml::limits::{MAXIMUM_FILE_SIZE, written_size};

/// Options of `fn`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Read manifests instead of a ResourceList, run the AccessTests of the workspace on its objects with these manifests in place
    /// of those with the same names, and print the same bytes if no test fails
    #[arg(long)]
    stream: bool,
    /// With --stream: target of the cluster. Default: the only target of the workspace.
    #[arg(short, long = "target", value_name = "NAME", requires = "stream")]
    target: Option<String>,
    /// Namespace of namespaced objects of the input that have none, for tests. Without it, such an object is an error.
    #[arg(long, value_name = "NAMESPACE", env = "HELM_NAMESPACE")]
    default_namespace: Option<String>,
    /// Platform of the cluster of an AccessTest in `functionConfig`. Default: kubernetes.
    #[arg(long, value_name = "PLATFORM", value_parser = platform_parser(), conflicts_with = "stream")]
    platform: Option<Platform>,
    /// Version of this cluster: of Kubernetes, or of OpenShift with --platform openshift. Default: the newest known version.
    #[arg(long, value_name = "VERSION", conflicts_with = "stream")]
    kubernetes_version: Option<String>,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let Some(input) = read_input()? else {
        let message = format!("standard input is larger than {}", written_size(MAXIMUM_FILE_SIZE as u64));
        return Ok(refuse_usage(global, &message, "split the build"));
    };
    if arguments.stream { stream(global, arguments, input) } else { function(global, arguments, input) }
}

/// Reads standard input; none if it is too large.
fn read_input() -> Result<Option<Vec<u8>>, RunError> {
    let mut bytes = Vec::new();
    let most = MAXIMUM_FILE_SIZE as u64;
    let read = std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| RunError::new(format!("cannot read standard input: {error}")))?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

fn write_output(global: &Global, bytes: &[u8]) -> Result<(), RunError> {
    global.terminal().pipe(bytes).map_err(|error| RunError::new(format!("cannot write to standard output: {error}")))
}

/// Runs as a generator or a validator.
fn function(global: &Global, arguments: &Arguments, input: Vec<u8>) -> Result<Outcome, Error> {
    let Arguments { default_namespace, platform, kubernetes_version, .. } = arguments;
    let options = FunctionOptions {
        version: kubernetes_version.clone(),
        platform: *platform,
        default_namespace: default_namespace.clone(),
    };
    let (mut failures, mut results) = (tests::Failures::default(), FunctionResults::default());
    let outcome = run_function(&global.options(), &options, input, &mut |event| {
        failures.add(&event);
        results.add(&event);
    })?;
    match outcome {
        FunctionOutcome::Generated(text, diagnostics) => {
            tell(global, diagnostics);
            write_output(global, text.as_bytes())?;
            Ok(Outcome::Fine)
        }
        FunctionOutcome::Validated(mut validation) => {
            let outcome = conclude(global, &mut validation, &failures);
            if outcome != Outcome::Invalid {
                let text = validation.list.map(|list| list.with_results(results.into_list()));
                text.map_or(Ok(()), |text| write_output(global, text.as_bytes()))?;
            }
            Ok(outcome)
        }
    }
}

/// Runs as a filter of manifests.
fn stream(global: &Global, arguments: &Arguments, input: Vec<u8>) -> Result<Outcome, Error> {
    with_targets(global, &[], |workspace, _| {
        let (target, namespace) = (arguments.target.as_deref(), arguments.default_namespace.as_deref());
        let mut failures = tests::Failures::default();
        let tested = test_manifests(workspace, target, namespace, input.clone(), &mut |event| failures.add(&event));
        let outcome = conclude(global, &mut tested?, &failures);
        if outcome == Outcome::Fine {
            write_output(global, &input)?;
        }
        Ok(outcome)
    })
}

/// Prints the problems, the failures and the counts.
fn conclude(global: &Global, validation: &mut Validation, failures: &tests::Failures) -> Outcome {
    let outcome = tell(global, std::mem::take(&mut validation.diagnostics));
    let outcome = outcome.worse(tell(global, std::mem::take(&mut validation.problems)));
    let terminal = global.terminal();
    terminal.problem(failures.text());
    terminal.note(&tests::counts(&validation.tests));
    let answer = match (validation.tests.questions, validation.tests.failures) {
        // Without a question, nothing is tested.
        (0, _) if outcome != Outcome::Invalid => refuse_usage(
            global,
            "no AccessTest asks a question about the input",
            "`*` needs a namespace among the objects",
        ),
        (_, 0) => Outcome::Fine,
        _ => Outcome::No,
    };
    outcome.worse(answer)
}
