//! Results of the application in the form of the protocol.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use gen_lsp_types::{
    Code, CodeAction, CodeActionKind, CodeActionResponse, CompletionItem, CompletionItemKind, CompletionItemTextEdit,
    Contents, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Documentation, Location, MarkupContent,
    MarkupKind, Message, Position, Range, TextEdit, Uri, WorkspaceEdit,
};

use super::text::Encoding;
use super::uri;
use crate::app::{Completion, Correction, DefinitionPlace, Diagnostics, HoverText};
use crate::compile::WORKSPACE_FILE;
use crate::diag::{self, Files, Origin, Severity, foreign};
use crate::report::explain;

/// The name beside the diagnostics of the compiler.
pub(super) const COMPILER: &str = "bailiwick";

/// The name beside the findings of `lint`.
pub(super) const LINT: &str = "bailiwick lint";

/// The form of answers about a workspace, as the client reads them.
#[derive(Clone, Copy)]
pub(super) struct Form<'w> {
    /// The unit of columns.
    pub(super) encoding: Encoding,
    /// The folder of the workspace.
    pub(super) root: &'w Path,
}

impl Form<'_> {
    /// Returns the diagnostics of each file, by its path below the root. A diagnostic without a place in a file of the workspace is at
    /// the beginning of the workspace file. `source` is the name beside the diagnostics.
    pub(super) fn by_file(self, found: &Diagnostics, source: &str) -> BTreeMap<String, Vec<Diagnostic>> {
        let mut by_file: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
        for diagnostic in &found.list {
            let place = diagnostic.origin.filter(|origin| is_of_workspace(&found.files, *origin));
            let (path, range) = match place {
                Some(origin) => {
                    let file = found.files.get(origin.file);
                    (file.path().to_owned(), self.encoding.range(file.text(), origin.span))
                }
                None => (WORKSPACE_FILE.to_owned(), beginning()),
            };
            let shown =
                Diagnostic { range, source: Some(source.to_owned()), ..self.diagnostic(diagnostic, &found.files) };
            by_file.entry(path).or_default().push(shown);
        }
        by_file
    }

    /// Returns a diagnostic without its range and source.
    fn diagnostic(self, diagnostic: &diag::Diagnostic, files: &Files) -> Diagnostic {
        let severity = match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::Error,
            Severity::Warning => DiagnosticSeverity::Warning,
            Severity::Note => DiagnosticSeverity::Information,
        };
        let labels = diagnostic.labels.iter();
        let related = labels.filter_map(|label| {
            Some(DiagnosticRelatedInformation {
                location: self.location(label.origin, files)?,
                message: label.text.clone(),
            })
        });
        Diagnostic {
            severity: Some(severity),
            code: Some(Code::String(diagnostic.code.id().to_owned())),
            message: Message::String(message(diagnostic)),
            related_information: Some(related.collect()),
            ..Diagnostic::default()
        }
    }

    /// Returns a place; none outside of the files of the workspace.
    fn location(self, origin: Origin, files: &Files) -> Option<Location> {
        if !is_of_workspace(files, origin) {
            return None;
        }
        let file = files.get(origin.file);
        let uri = uri::of(&self.root.join(file.path()))?;
        Some(Location { uri, range: self.encoding.range(file.text(), origin.span) })
    }

    /// Returns the place of a definition.
    pub(super) fn definition(self, definition: &DefinitionPlace) -> Option<Location> {
        self.location(definition.origin, &definition.files)
    }

    /// Returns a completion of a document. `index` is its position in the list.
    pub(super) fn completion(self, completion: Completion, text: &str, index: usize) -> CompletionItem {
        let Completion { text: new_text, replaced, is_field, description } = completion;
        let kind = if is_field { CompletionItemKind::Field } else { CompletionItemKind::Value };
        CompletionItem {
            label: new_text.trim_end_matches(':').to_owned(),
            kind: Some(kind),
            // The order of the list; clients sort by the label otherwise.
            sort_text: Some(format!("{index:05}")),
            documentation: (!description.is_empty()).then(|| Documentation::MarkupContent(markdown(description))),
            text_edit: Some(CompletionItemTextEdit::TextEdit(TextEdit {
                range: self.encoding.range(text, replaced),
                new_text,
            })),
            ..CompletionItem::default()
        }
    }

    /// Returns the action for a correction of a document.
    pub(super) fn action(self, correction: Correction, text: &str, uri: &Uri) -> CodeActionResponse {
        let range = self.encoding.range(text, correction.span);
        let title = format!("Replace with `{}`", correction.text);
        let edit = TextEdit { range, new_text: correction.text };
        let fixed = Diagnostic {
            range,
            code: Some(Code::String(correction.code.to_owned())),
            source: Some(COMPILER.to_owned()),
            message: Message::String(correction.message),
            ..Diagnostic::default()
        };
        CodeActionResponse::CodeAction(CodeAction {
            title,
            kind: Some(CodeActionKind::QuickFix),
            diagnostics: Some(vec![fixed]),
            is_preferred: Some(true),
            edit: Some(WorkspaceEdit {
                changes: Some(HashMap::from([(uri.clone(), vec![edit])])),
                ..WorkspaceEdit::default()
            }),
            ..CodeAction::default()
        })
    }
}

/// Returns the documentation of a word.
pub(super) fn hover(text: HoverText<'_>) -> Contents {
    let text = match text {
        HoverText::Markdown(text) => text,
        HoverText::Role(roles) => {
            let explained = roles.iter().filter_map(|(loaded, name)| {
                let text = explain::object(loaded, name, &[])?;
                let target = loaded.target.as_deref().map_or("", |target| target);
                Some(format!("{target}\n\n{}\n", fenced(&text)))
            });
            explained.collect()
        }
    };
    Contents::MarkupContent(markdown(text))
}

fn markdown(value: String) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value }
}

/// Returns a text as a block of code. The names in the text can hold any characters.
fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().map_or(0, |longest| longest);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", foreign::lines(text).trim_end())
}

/// Returns the message of a diagnostic, with its targets, notes and remedies.
fn message(diagnostic: &diag::Diagnostic) -> String {
    let targets = match diagnostic.targets.as_slice() {
        [] => String::new(),
        targets => format!(" (target {})", targets.join(", ")),
    };
    let notes = diagnostic.notes.iter().map(|note| format!("\nnote: {note}"));
    let help = diagnostic.help.iter().map(|help| format!("\nhelp: {help}"));
    format!("{}{targets}{}", diagnostic.message, notes.chain(help).collect::<String>())
}

/// Whether a place is in a file of the workspace, and not in a text of the program. The place can be behind the end of the text, as in an
/// empty file.
fn is_of_workspace(files: &Files, origin: Origin) -> bool {
    let file = files.get(origin.file);
    !file.path().is_empty() && !file.path().starts_with('<')
}

fn beginning() -> Range {
    let start = Position { line: 0, character: 0 };
    Range { start, end: start }
}
