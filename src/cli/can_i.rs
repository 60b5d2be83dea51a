//! `bailiwick can-i`.

mod node;

use crate::codes;
use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use node::Admission;

use super::printing::{end, print, refuse};
use super::question::{IdentityArguments, RequestArguments};
use super::worlds::{WorldArguments, with_worlds};
use super::{Global, Outcome};
use crate::access::{Answer, Identity, Request};
use crate::admission::gate::unseen_policies;
use crate::app::{Error, LoadedWorld, RequestOptions};
use crate::diag::{Diagnostic, Sink};
use crate::node::authorize::field_selector;
use crate::node::graph::Graph;
use crate::node::identity::NodeIdentity;
use crate::report::access::{self, Told};
use crate::report::page::Page;
use crate::report::{machine, worlds};

/// Options of `can-i`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    #[command(flatten)]
    identity: IdentityArguments,
    #[command(flatten)]
    world: WorldArguments,
    /// Field selector of a list or watch, such as `spec.nodeName=n1`, for the Node authorizer.
    #[arg(long, value_name = "SELECTOR", conflicts_with = "list")]
    field_selector: Option<String>,
    /// Also ask admission whether the object in this file may be written: NodeRestriction and the bound
    /// ValidatingAdmissionPolicies.
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    admission: Option<PathBuf>,
    /// An extra field of the user, as `KEY=VALUE`, for admission policies; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", requires = "admission")]
    as_user_extra: Vec<String>,
    /// The object before the change.
    #[arg(long, value_name = "FILE", requires = "admission")]
    admission_old: Option<PathBuf>,
    /// List everything the identity may do in the namespace.
    #[arg(long, conflicts_with_all = ["verb", "resource", "name", "path", "http", "subresource"])]
    list: bool,
    /// Output format of the answer.
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

/// Reports that a question names no subject.
pub(super) fn refuse_nobody(global: &Global) -> Outcome {
    let nobody = Diagnostic::error(codes::INVALID_QUESTION, "nobody is asked about")
        .help("name somebody: `--as alice`, `--as-group devs`, `--as system:serviceaccount:team-a:app`");
    refuse(global, nobody)
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let Some(who) = arguments.identity.identity() else {
        return Ok(refuse_nobody(global));
    };
    let is_node = NodeIdentity::of(&who) != NodeIdentity::None;
    let options = arguments.world.options(is_node || arguments.admission.is_some());
    with_worlds(global, &arguments.world.targets, &options, |worlds| {
        let mut outcome = Outcome::Fine;
        for loaded in worlds {
            let told = if arguments.list {
                list(global, loaded, arguments, &who);
                Outcome::Fine
            } else {
                decide(global, loaded, arguments, &who)
            };
            outcome = outcome.worse(told);
        }
        Ok(outcome)
    })
}

fn decide(global: &Global, loaded: &LoadedWorld, arguments: &Arguments, who: &Identity) -> Outcome {
    let question = RequestOptions::from(&arguments.request);
    let request = match question.request(&loaded.world) {
        Ok(request) => request,
        Err(problem) => return end(global, problem),
    };
    let selector = match field_selector(arguments.field_selector.as_deref().unwrap_or_default()) {
        Ok(selector) => selector,
        Err(why) => return invalid(global, loaded, why),
    };
    let decision = loaded.world.decide(who, &request);
    let graph = loaded.cluster().map(Graph::of);
    let said = loaded.cluster().zip(graph.as_ref()).filter(|_| loaded.asks("Node"));
    let said = said.and_then(|cluster| node::ask(cluster, who, &request, &selector));
    let by_rbac = if loaded.asks("RBAC") { decision.answer(arguments.world.complete) } else { Answer::No };
    // The first authorizer that allows decides; one that has no opinion leaves it to the next.
    let by_node = said.as_ref().map_or(Answer::No, |said| said.answer);
    let mut answer = match (by_node, by_rbac) {
        (Answer::Yes, _) | (_, Answer::Yes) => Answer::Yes,
        (Answer::Unknown, _) => Answer::Unknown,
        (_, by_rbac) => by_rbac,
    };
    if answer == Answer::No && !loaded.unknown_authorizers().is_empty() {
        answer = Answer::Unknown;
    }
    let stated = stated_authorizers(loaded, NodeIdentity::of(who) != NodeIdentity::None, answer);
    let objection = match admission(global, (loaded, graph.as_ref()), arguments, who, &request) {
        Ok(_) if answer == Answer::No => None,
        Ok(Admission::Passes) => None,
        Ok(Admission::Refuses(why)) => {
            answer = Answer::No;
            Some(why)
        }
        Ok(Admission::Unknown(why)) => {
            answer = Answer::Unknown;
            Some(why)
        }
        Err(why) => return invalid(global, loaded, why),
    };
    let told = Told { world: &loaded.world, files: &loaded.files, who, request: &request, decision: &decision, answer };
    let terminal = global.terminal();
    if let Some(note) = question.subresource_note(&request, &loaded.world) {
        terminal.note(&note);
    }
    if let Some(note) = RequestOptions::finalizers_note(&request) {
        terminal.note(note);
    }
    if let Some(note) =
        unseen_policies(loaded.world.minor()).filter(|_| arguments.admission.is_some() && answer == Answer::Yes)
    {
        terminal.note(note);
    }
    match arguments.format {
        AnswerForm::Json => {
            let mut json = told.json();
            if let Some(map) = json.as_object_mut() {
                map.extend(said.iter().map(|said| ("node".to_owned(), said.json())));
                map.extend(objection.iter().map(|objection| ("admission".to_owned(), objection.as_str().into())));
                map.extend(stated.iter().map(|stated| ("authorizers".to_owned(), stated.as_str().into())));
            }
            terminal.result(&worlds::json_line(loaded, json));
        }
        AnswerForm::Text => {
            let is_maybe = answer == Answer::Unknown && by_node == Answer::Unknown;
            let word = if is_maybe { "maybe" } else { word(answer) };
            let mut page = Page::new();
            writeln!(page, "{}{word}", worlds::prefix(loaded));
            if !global.quiet {
                objection.iter().for_each(|objection| writeln!(page, "  {objection}"));
                stated.iter().for_each(|stated| writeln!(page, "  {stated}"));
                page.append(&said.as_ref().map_or_else(String::new, node::Said::text));
                // An allowed request needs no hint about missing RBAC permissions.
                if by_node != Answer::Yes && loaded.asks("RBAC") {
                    page.append(&told.reasons());
                }
            }
            terminal.result(&page.finish());
        }
    }
    if answer == Answer::Yes { Outcome::Fine } else { Outcome::No }
}

/// What the authorizers that a policy states mean for an answer; none where they are the usual ones or make no difference.
fn stated_authorizers(loaded: &LoadedWorld, is_node: bool, answer: Answer) -> Option<String> {
    let modes = loaded.authorization_modes.join(",");
    let unknown = loaded.unknown_authorizers();
    if !loaded.asks("RBAC") {
        Some(format!("the API server does not ask RBAC: its authorization mode is {modes}"))
    } else if is_node && !loaded.asks("Node") {
        Some(format!("the API server does not ask the Node authorizer: its authorization mode is {modes}"))
    } else if answer == Answer::Unknown && !unknown.is_empty() {
        Some(format!("the API server asks {} too, and the answer of that is not known here", unknown.join(" and ")))
    } else {
        None
    }
}

fn invalid(global: &Global, loaded: &LoadedWorld, why: String) -> Outcome {
    let problem = Diagnostic::error(codes::INVALID_QUESTION, why).help("`bailiwick can-i --help` shows how to ask");
    print(global, vec![problem], &loaded.files);
    Outcome::Invalid
}

/// The decision of admission on an allowed request; none if admission was not requested.
fn admission(
    global: &Global,
    (loaded, graph): (&LoadedWorld, Option<&Graph>),
    arguments: &Arguments,
    who: &Identity,
    request: &Request,
) -> Result<Admission, String> {
    let Some(new) = &arguments.admission else { return Ok(Admission::Passes) };
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for written in &arguments.as_user_extra {
        let (key, value) = written.split_once('=').ok_or_else(|| format!("`{written}` is no `KEY=VALUE`"))?;
        extra.entry(key.to_lowercase()).or_default().push(value.to_owned());
    }
    let (new, old) = (global.input_at(new), arguments.admission_old.as_ref().map(|old| global.input_at(old)));
    let mut sink = Sink::new();
    let written = node::Written::read(Some(&new), old.as_deref(), global.jobs(), &loaded.files, &mut sink)
        .map_err(|error| error.to_string())?;
    if sink.has_errors() {
        print(global, sink.into_sorted(&loaded.files), &loaded.files);
        return Err("the object cannot be read".to_owned());
    }
    node::admission(loaded, graph, who, &extra, request, &written)
}

fn list(global: &Global, loaded: &LoadedWorld, arguments: &Arguments, who: &Identity) {
    let namespace =
        if arguments.request.all_namespaces { "" } else { arguments.request.namespace.as_deref().unwrap_or("default") };
    let chains = loaded.world.grants_of(who, namespace);
    let missing = loaded.world.rules_for(who, namespace).missing;
    let terminal = global.terminal();
    match arguments.format {
        AnswerForm::Json => {
            let chains: Vec<_> = chains.iter().map(|chain| access::chain_json(chain, &loaded.files)).collect();
            let json = serde_json::json!({
                "target": loaded.target, "identity": who, "namespace": namespace, "grants": chains,
                "missing": missing.iter().map(ToString::to_string).collect::<Vec<_>>(),
            });
            terminal.result(&machine::line(&json));
        }
        AnswerForm::Text => {
            let grants = access::grants(&chains, &loaded.files);
            let missing = access::missing(&missing);
            terminal.result(&format!("{}{grants}{missing}", worlds::heading(loaded)));
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
