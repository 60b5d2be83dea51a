//! The language server: diagnostics, completions, documentation, definitions and corrections while a policy is written.
//!
//! The server reads requests of an editor from standard input and answers on standard output, in the Language Server Protocol. It
//! reads files of workspaces only, writes nothing, and starts no program.

mod answers;
mod server;
mod text;
mod uri;

use std::sync::mpsc::{self, Sender};
use std::thread;

use gen_lsp_types::{
    CodeActionOptions, CodeActionProvider, CompletionOptions, DefinitionProvider, HoverProvider, InitializeParams,
    Save, ServerCapabilities, TextDocumentSync, TextDocumentSyncKind, TextDocumentSyncOptions, WorkspaceFolders,
};
use lsp_server::Connection;

use self::server::{Event, Server};
use self::text::Encoding;
use crate::app::Options;
use crate::diag::RunError;
use crate::model::Date;

/// The settings of the server.
pub(crate) struct Settings {
    /// The options of each workspace.
    pub(crate) options: Options,
    /// Returns the current day.
    pub(crate) today: Box<dyn Fn() -> Date>,
}

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The editor shut the server down.
    ShutDown,
    /// The editor is gone without a shutdown.
    Gone,
}

/// Serves the editor at standard input and standard output, until the connection ends.
///
/// # Errors
/// When the editor does not begin with the handshake of the protocol.
pub(crate) fn run(settings: Settings) -> Result<End, RunError> {
    let (connection, threads) = Connection::stdio();
    let end = serve(&connection, settings);
    // The threads end with their channels. An editor that is gone cannot be written to.
    drop(connection);
    match (threads.join(), &end) {
        (Err(error), Ok(End::ShutDown)) => Err(RunError::new(format!("cannot write to the editor: {error}"))),
        _ => end,
    }
}

fn serve(connection: &Connection, settings: Settings) -> Result<End, RunError> {
    let refused = |error: &dyn std::fmt::Display| {
        RunError::new(format!("the editor does not speak the Language Server Protocol: {error}"))
            .help("an editor starts `bailiwick lsp`; `bailiwick check --watch` is for a terminal")
    };
    let (id, parameters) = connection.initialize_start().map_err(|error| refused(&error))?;
    let parameters: InitializeParams = serde_json::from_value(parameters).map_err(|error| refused(&error))?;
    let general = parameters.capabilities.general.as_ref();
    let offered = general.and_then(|general| general.position_encodings.as_deref());
    let encoding = Encoding::choose(offered.map_or(&[], |offered| offered));
    let result = serde_json::json!({
        "capabilities": capabilities(encoding),
        "serverInfo": { "name": "bailiwick", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, result).map_err(|error| refused(&error))?;
    let (sender, events) = mpsc::channel();
    forward(connection, &sender);
    let mut server = Server::new(connection.sender.clone(), sender, settings, encoding);
    server.open_folders(&folders(parameters));
    Ok(server.run(&events))
}

/// Sends the messages of the editor to the events of the server.
fn forward(connection: &Connection, events: &Sender<Event>) {
    let (receiver, events) = (connection.receiver.clone(), events.clone());
    thread::spawn(move || {
        for message in receiver {
            if events.send(Event::Message(message)).is_err() {
                return;
            }
        }
        // Nothing is left to do when the server is gone, too.
        let _ = events.send(Event::Closed);
    });
}

/// Returns the folders that the editor has open.
fn folders(parameters: InitializeParams) -> Vec<gen_lsp_types::Uri> {
    let folders = parameters.workspace_folders_initialize_params.workspace_folders;
    match folders {
        Some(WorkspaceFolders::WorkspaceFolderList(folders)) => folders.into_iter().map(|folder| folder.uri).collect(),
        #[expect(deprecated, reason = "older editors name the folder in this field only")]
        Some(WorkspaceFolders::Null) | None => parameters.root_uri.into_iter().collect(),
    }
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::Incremental),
        save: Some(Save::Bool(true)),
        ..TextDocumentSyncOptions::default()
    };
    let triggers = [" ", "[", ",", "/"].map(str::to_owned).to_vec();
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSync::Options(sync)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(triggers),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProvider::Bool(true)),
        definition_provider: Some(DefinitionProvider::Bool(true)),
        code_action_provider: Some(CodeActionProvider::CodeActionOptions(CodeActionOptions {
            code_action_kinds: Some(vec![gen_lsp_types::CodeActionKind::QuickFix]),
            ..CodeActionOptions::default()
        })),
        ..ServerCapabilities::default()
    }
}
