//! `bailiwick who-can`.

use clap::Args;

use super::can_i::AnswerForm;
use super::question::RequestArguments;
use super::worlds::{WorldArguments, with_worlds};
use super::{Global, Outcome};
use crate::app::{Error, RequestOptions};
use crate::report::page::Page;
use crate::report::{access, json, worlds};

/// Options of `who-can`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    #[command(flatten)]
    world: WorldArguments,
    /// Print the binding beside each subject that is allowed everywhere.
    #[arg(long)]
    bindings: bool,
    /// Output format of the answer.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: AnswerForm,
}

/// Runs the command. Without a namespace, every namespace is looked at.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = arguments.world.options(false);
    with_worlds(global, &arguments.world.targets, &options, |loaded_worlds| {
        let question = RequestOptions::from(&arguments.request);
        for loaded in loaded_worlds {
            let answer = loaded.who_can(&question)?;
            let terminal = global.terminal();
            if let Some(note) = question.subresource_note(&answer.asked, &loaded.world) {
                terminal.note(&note);
            }
            match arguments.format {
                AnswerForm::Json => {
                    let mut json = access::who_can_json(&answer.found, &loaded.world, &loaded.files);
                    if let Some(map) = json.as_object_mut() {
                        map.insert("target".to_owned(), loaded.target.as_deref().into());
                    }
                    terminal.result(&json::line(&json));
                }
                AnswerForm::Text => {
                    if let Some(reason) = &answer.dead {
                        let mut page = Page::new();
                        writeln!(page, "note: no server receives this request: {reason}");
                        terminal.note(&page.finish());
                    }
                    let text = access::who_can(&answer.found, &loaded.world, &loaded.files, arguments.bindings);
                    terminal.result(&format!("{}{text}", worlds::heading(loaded)));
                }
            }
        }
        Ok(Outcome::Fine)
    })
}
