//! `bailiwick who-can`.

use clap::Args;

use super::can_i::AnswerForm;
use super::printing::print;
use super::question::RequestArguments;
use super::scene::{SceneArguments, with_scenes};
use super::{Global, Outcome};
use crate::access::Liveness;
use crate::access::who_can::Where;
use crate::diag::RunError;
use crate::report::page::Page;
use crate::report::{access, machine};

/// Options of `who-can`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    #[command(flatten)]
    scene: SceneArguments,
    /// Print the binding beside each subject that is allowed everywhere.
    #[arg(long)]
    bindings: bool,
    /// Output format of the answer.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: AnswerForm,
}

/// Runs the command. Without a namespace, every namespace is looked at.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    with_scenes(global, &arguments.scene, |scenes| {
        for scene in scenes {
            let request = match arguments.request.request(&scene.world) {
                Ok(request) => request,
                Err(problem) => {
                    print(global, vec![*problem], &scene.files);
                    return Ok(Outcome::Invalid);
                }
            };
            let place = match (&arguments.request.namespace, arguments.request.all_namespaces) {
                // Only what lives in namespaces can be had in each of them; and an HTTP request says where it goes.
                (None, false) if arguments.request.is_open_to_namespaces(&scene.world, &request) => Where::Everywhere,
                _ => Where::AsRequested,
            };
            let found = scene.world.who_can(&request, place);
            let terminal = global.terminal();
            if let Some(note) = arguments.request.subresource_note(&request, &scene.world) {
                terminal.note(&note);
            }
            match arguments.format {
                AnswerForm::Json => {
                    let mut json = access::who_can_json(&found, &scene.world, &scene.files);
                    if let Some(map) = json.as_object_mut() {
                        map.insert("target".to_owned(), scene.target.as_deref().into());
                    }
                    terminal.result(&machine::line(&json));
                }
                AnswerForm::Text => {
                    if let Liveness::Dead(reason) = scene.world.liveness(&request) {
                        let mut page = Page::new();
                        writeln!(page, "note: no server receives this request: {reason}");
                        terminal.note(&page.finish());
                    }
                    let text = access::who_can(&found, &scene.world, &scene.files, arguments.bindings);
                    terminal.result(&format!("{}{text}", scene.heading()));
                }
            }
        }
        Ok(Outcome::Fine)
    })
}
