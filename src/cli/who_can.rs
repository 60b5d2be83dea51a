//! `bailiwick who-can`.

use clap::Args;

use super::question::RequestArguments;
use super::reporting::FormatArguments;
use super::sandbox::Paths;
use super::worlds::{WorldArguments, with_worlds_asked};
use super::{Global, Outcome};
use crate::app::{Error, RequestOptions};
use crate::report::access::WhoCanResult;
use crate::report::page::Page;
use crate::report::{access, worlds};

/// Options of `who-can`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    #[command(flatten)]
    pub(super) world: WorldArguments,
    /// Print the binding of each subject with cluster-wide permission.
    #[arg(long)]
    bindings: bool,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        self.world.paths()
    }
}

/// Runs the command. Without a namespace, every namespace is looked at.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = arguments.world.options(false);
    let question = RequestOptions::from(&arguments.request);
    with_worlds_asked(global, &arguments.world.targets, &options, &question, |loaded_worlds| {
        for loaded in loaded_worlds {
            let answer = loaded.holders_of(&question)?;
            let terminal = global.terminal();
            if let Some(note) = question.subresource_note(&answer.asked, &loaded.world) {
                terminal.note(&note);
            }
            if let Some(reason) = answer.dead.as_ref().filter(|_| global.prints_text()) {
                let mut page = Page::new();
                writeln!(page, "note: no server receives this request: {reason}");
                terminal.note(&page.finish());
            }
            global.print_result(
                || WhoCanResult::new(&answer.found, loaded),
                || {
                    let text = access::who_can(&answer.found, &loaded.world, &loaded.files, arguments.bindings);
                    format!("{}{text}", worlds::heading(loaded))
                },
            );
        }
        Ok(Outcome::Fine)
    })
}
