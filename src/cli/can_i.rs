//! `bailiwick can-i`.

use std::path::PathBuf;

use clap::Args;

use super::printing::{end, print, refuse};
use super::question::{IdentityArguments, RequestArguments};
use super::reporting::FormatArguments;
use super::sandbox::Paths;
use super::worlds::{WorldArguments, with_worlds};
use super::{Global, Outcome};
use crate::access::{Answer, Identity};
use crate::admission::gate::unseen_policies;
use crate::app::{AdmissionOptions, CanI, CanIOptions, Diagnostics, Error, LoadedWorld, RequestOptions};
use crate::codes;
use crate::diag::Diagnostic;
use crate::node::identity::NodeIdentity;
use crate::report::access::{self, CanIDecision, CanIResult, ChainRecord, DecisionReport, GrantList};
use crate::report::page::Page;
use crate::report::worlds;

/// Options of `can-i`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    #[command(flatten)]
    identity: IdentityArguments,
    #[command(flatten)]
    pub(super) world: WorldArguments,
    /// Field selector of a list or watch: the Node authorizer evaluates it, such as `spec.nodeName=n1`, and RBAC takes the name of
    /// `metadata.name=NAME`.
    #[arg(long, value_name = "SELECTOR", conflicts_with = "list")]
    field_selector: Option<String>,
    /// Also evaluate the admission of the object in this file, by NodeRestriction, the Pod Security level of its
    /// namespace, the bound admission policies and the escalation check of RBAC; MutatingAdmissionPolicies change the object first.
    /// Without `--namespace`, the request is about the namespace of the object.
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    admission: Option<PathBuf>,
    /// Extra field of the user, as `KEY=VALUE`, for admission policies; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", requires = "admission")]
    as_user_extra: Vec<String>,
    /// File with the object before the change.
    #[arg(long, value_name = "FILE", requires = "admission")]
    admission_old: Option<PathBuf>,
    /// List all permissions of the subject in the namespace.
    #[arg(long, conflicts_with_all = ["verb", "resource", "name", "path", "http", "subresource"])]
    list: bool,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

/// Reports that a question names no subject.
pub(super) fn refuse_no_subject(global: &Global) -> Outcome {
    let no_subject = Diagnostic::error(codes::INVALID_QUESTION, "no user, group or service account given")
        .help("pass `--as alice`, `--as-group devs` or `--as system:serviceaccount:team-a:app`");
    refuse(global, no_subject)
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        self.world.paths().and_reads(self.admission.iter().chain(&self.admission_old))
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let Some(who) = arguments.identity.identity() else {
        return Ok(refuse_no_subject(global));
    };
    arguments.identity.notes().iter().for_each(|note| global.terminal().note(note));
    let is_node = NodeIdentity::from_identity(&who) != NodeIdentity::None;
    let mut options = arguments.world.options(is_node || arguments.admission.is_some());
    // Pods are judged with the defaults of their profile.
    options.with_paths = arguments.admission.is_some();
    with_worlds(global, &arguments.world.targets, &options, |worlds| {
        let mut outcome = Outcome::Fine;
        for loaded in worlds {
            let who = arguments.identity.in_world(loaded, &who);
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
    let options = arguments.options(global);
    let found = match loaded.can_i(who, &options) {
        Ok(found) => found,
        Err(error) => return refuse_question(global, error),
    };
    let CanI { answer, request, decision, node, objection, authorizers } = &found;
    let answer = *answer;
    let report = DecisionReport { world: &loaded.world, files: &loaded.files, who, request, decision, answer };
    let terminal = global.terminal();
    if let Some(note) = options.request.subresource_note(request, &loaded.world) {
        terminal.note(&note);
    }
    if let Some(note) = RequestOptions::finalizers_note(request) {
        terminal.note(note);
    }
    if let Some(note) =
        unseen_policies(loaded.world.minor()).filter(|_| arguments.admission.is_some() && answer == Answer::Yes)
    {
        terminal.note(&format!("note: {note}\n"));
    }
    let result = || {
        CanIResult::Decision(Box::new(CanIDecision {
            decision: report.record(),
            node: node.clone(),
            admission: objection.clone(),
            authorizers: authorizers.clone(),
            target: loaded.target.clone(),
        }))
    };
    let text = || {
        let word = if found.depends_on_scheduling() { "maybe" } else { word(answer) };
        let mut page = Page::new();
        writeln!(page, "{}{word}", worlds::prefix(loaded));
        if !global.quiet {
            page.append(&arguments.identity.memberships(loaded));
            objection.iter().for_each(|objection| writeln!(page, "  {objection}"));
            authorizers.iter().for_each(|stated| writeln!(page, "  {stated}"));
            node.iter().flat_map(|node| &node.reasons).for_each(|reason| writeln!(page, "  {reason}"));
            // An allowed request needs no hint about missing RBAC permissions.
            if !found.is_allowed_by_node() && loaded.asks("RBAC") {
                page.append(&report.reasons());
            }
        }
        page.finish()
    };
    global.print_result(result, text);
    if answer == Answer::Yes { Outcome::Fine } else { Outcome::No }
}

impl Arguments {
    fn options(&self, global: &Global) -> CanIOptions {
        let admission = self.admission.as_ref().map(|object| AdmissionOptions {
            object: global.input_at(object),
            old: self.admission_old.as_ref().map(|old| global.input_at(old)),
            user_extra: self.as_user_extra.clone(),
        });
        CanIOptions {
            request: (&self.request).into(),
            complete: self.world.complete,
            field_selector: self.field_selector.clone(),
            admission,
        }
    }
}

/// Prints why a question has no answer: first the diagnostics of the object for admission.
fn refuse_question(global: &Global, error: Error) -> Outcome {
    match error {
        Error::Invalid(Diagnostics { list, files }) => {
            let (question, object): (Vec<_>, Vec<_>) =
                list.into_iter().partition(|diagnostic| diagnostic.code == codes::INVALID_QUESTION);
            print(global, object, &files);
            print(global, question, &files);
            Outcome::Invalid
        }
        error => end(global, error),
    }
}

fn list(global: &Global, loaded: &LoadedWorld, arguments: &Arguments, who: &Identity) {
    let namespace =
        if arguments.request.all_namespaces { "" } else { arguments.request.namespace.as_deref().unwrap_or("default") };
    let chains = loaded.world.grants_of(who, namespace);
    let missing = loaded.world.rules_for(who, namespace).missing;
    let mut possible = loaded.world.possible_grants_of(who, namespace);
    possible.sort();
    let result = || {
        CanIResult::List(GrantList {
            target: loaded.target.clone(),
            identity: who.clone(),
            namespace: namespace.to_owned(),
            grants: ChainRecord::list(&chains, &loaded.files),
            missing: missing.iter().map(ToString::to_string).collect(),
            possible: possible.iter().map(ToString::to_string).collect(),
        })
    };
    let text = || {
        let grants = access::grants(&chains, &loaded.files);
        let gaps = access::missing(&missing) + &access::possible(&possible);
        format!("{}{grants}{gaps}", worlds::heading(loaded))
    };
    global.print_result(result, text);
}

/// Returns the answer in a word.
pub(super) fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Unknown => "unknown",
        Answer::Dead => "dead",
    }
}
