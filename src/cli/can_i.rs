//! `bailiwick can-i`.

use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::question::{IdentityArguments, RequestArguments};
use super::scene::{Scene, SceneArguments, with_scenes};
use super::session::print;
use super::{Global, Outcome};
use crate::access::{Answer, Identity};
use crate::diag::{Code, Diagnostic, Files, RunError};
use crate::report::access::{self, Told};

/// Options of `can-i`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    #[command(flatten)]
    identity: IdentityArguments,
    #[command(flatten)]
    scene: SceneArguments,
    /// List everything the identity may do in the namespace.
    #[arg(long, conflicts_with_all = ["verb", "resource", "name", "path", "http", "subresource"])]
    list: bool,
    /// In which form the answer is printed.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: AnswerForm,
}

/// The forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum AnswerForm {
    /// For people.
    Text,
    /// One JSON object for each target.
    Json,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    let Some(who) = arguments.identity.identity() else {
        let nobody = Diagnostic::error(Code::InvalidQuestion, "nobody is asked about")
            .help("name somebody: `--as alice`, `--as-group devs`, `--as system:serviceaccount:team-a:app`");
        print(global, vec![nobody], &Arc::new(Files::new()));
        return Ok(Outcome::Invalid);
    };
    with_scenes(global, &arguments.scene, |scenes| {
        let mut outcome = Outcome::Fine;
        for scene in scenes {
            let told = if arguments.list {
                list(global, scene, arguments, &who);
                Outcome::Fine
            } else {
                decide(global, scene, arguments, &who)
            };
            outcome = outcome.worse(told);
        }
        Ok(outcome)
    })
}

fn decide(global: &Global, scene: &Scene, arguments: &Arguments, who: &Identity) -> Outcome {
    let request = match arguments.request.request(&scene.world) {
        Ok(request) => request,
        Err(problem) => {
            print(global, vec![*problem], &scene.files);
            return Outcome::Invalid;
        }
    };
    let decision = scene.world.decide(who, &request);
    let answer = decision.answer(arguments.scene.complete);
    let told = Told { world: &scene.world, files: &scene.files, who, request: &request, decision: &decision, answer };
    let terminal = global.terminal();
    if let Some(hint) = arguments.request.subresource_hint(&request, scene.world.minor()) {
        terminal.note(&hint);
    }
    match arguments.format {
        AnswerForm::Json => {
            terminal.result(&scene.json_line(told.json()));
        }
        AnswerForm::Text => {
            let reasons = if global.quiet { String::new() } else { told.reasons() };
            terminal.result(&format!("{}{}\n{reasons}", scene.prefix(), word(answer)));
        }
    }
    if answer == Answer::Yes { Outcome::Fine } else { Outcome::No }
}

fn list(global: &Global, scene: &Scene, arguments: &Arguments, who: &Identity) {
    let namespace =
        if arguments.request.all_namespaces { "" } else { arguments.request.namespace.as_deref().unwrap_or("default") };
    let chains = scene.world.grants_of(who, namespace);
    let missing = scene.world.rules_for(who, namespace).missing;
    let terminal = global.terminal();
    match arguments.format {
        AnswerForm::Json => {
            let chains: Vec<_> = chains.iter().map(|chain| access::chain_json(chain, &scene.files)).collect();
            let json = serde_json::json!({
                "target": scene.target, "identity": who, "namespace": namespace, "grants": chains,
                "missing": missing.iter().map(ToString::to_string).collect::<Vec<_>>(),
            });
            terminal.result(&format!("{json}\n"));
        }
        AnswerForm::Text => {
            let grants = access::grants(&chains, &scene.files);
            let missing = access::missing(&missing);
            terminal.result(&format!("{}{grants}{missing}", scene.heading()));
        }
    }
}

/// The answer in a word.
pub(super) fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Unknown => "unknown",
        Answer::Dead => "dead",
    }
}
