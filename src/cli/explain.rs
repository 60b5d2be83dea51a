//! `bailiwick explain`.

use clap::Args;

use super::{Global, Outcome, pages};
use crate::diag::{Code, RunError, nearest};
use crate::kinds;

/// Options of `explain`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A policy kind, such as `Tenancy`, or a diagnostic, such as `duplicate-yaml-key`. Without one: the list.
    subject: Option<String>,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    let terminal = global.terminal();
    let Some(subject) = &arguments.subject else {
        terminal.result(&pages::index());
        return Ok(Outcome::Fine);
    };
    let kind = kinds::names().find(|name| name.eq_ignore_ascii_case(subject));
    let page = match (kind, Code::from_id(subject)) {
        (Some(kind), _) => pages::kind(kind),
        (None, Some(code)) => Some(pages::code(code)),
        (None, None) => None,
    };
    if let Some(page) = page {
        terminal.result(&page);
        return Ok(Outcome::Fine);
    }
    let names = kinds::names().chain(Code::ALL.iter().map(|code| code.id()));
    let help = nearest(subject, names)
        .map_or_else(|| "`bailiwick explain` lists what there is".to_owned(), |near| format!("did you mean `{near}`?"));
    terminal.problem(&format!("error: there is no policy kind and no diagnostic `{subject}`\nhelp: {help}\n"));
    Ok(Outcome::Invalid)
}
