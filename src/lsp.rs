//! The language server: diagnostics, completions, documentation, definitions and corrections while a policy is written.
//!
//! The server reads requests of an editor from standard input and answers on standard output, in the Language Server Protocol. It
//! reads files of workspaces only, writes nothing, and starts no program.

mod answers;
mod server;
mod text;
mod transport;
mod uri;

use std::sync::mpsc::{self, Sender};
use std::thread;

use gen_lsp_types::{CodeActionKind, TextDocumentSyncKind, Uri};
use lsp_server::Connection;
use serde_json::Value;

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
    let (connection, threads) = transport::connect();
    let end = serve(&connection, settings);
    // The threads end with their channels. An editor that is gone cannot be written to.
    drop(connection);
    match (threads.join(), &end) {
        ((_, Err(error)), Ok(End::ShutDown)) => Err(RunError::new(format!("cannot write to the editor: {error}"))),
        ((Err(error), _), _) => Err(RunError::new(format!("cannot read a message of the editor: {error}"))),
        _ => end,
    }
}

fn serve(connection: &Connection, settings: Settings) -> Result<End, RunError> {
    let refused = |error: &dyn std::fmt::Display| {
        RunError::new(format!("the editor does not speak the Language Server Protocol: {error}"))
            .help("an editor starts `bailiwick lsp`; `bailiwick check --watch` is for a terminal")
    };
    let (id, parameters) = connection.initialize_start().map_err(|error| refused(&error))?;
    // Only these parts are read: the types of all capabilities take two megabytes of the program.
    let encodings = parameters.pointer("/capabilities/general/positionEncodings").and_then(Value::as_array);
    let encoding = Encoding::choose(encodings.into_iter().flatten().filter_map(Value::as_str));
    let result = serde_json::json!({
        "capabilities": capabilities(encoding),
        "serverInfo": { "name": "bailiwick", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, result).map_err(|error| refused(&error))?;
    let (sender, events) = mpsc::channel();
    forward(connection, &sender);
    let mut server = Server::new(connection.sender.clone(), sender, settings, encoding);
    server.open_folders(&folders(&parameters));
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

/// Returns the folders that the editor has open. Older editors name one folder only.
fn folders(parameters: &Value) -> Vec<Uri> {
    let folders = parameters.get("workspaceFolders").and_then(Value::as_array);
    let uris = match folders {
        Some(folders) => folders.iter().filter_map(|folder| folder.get("uri")).collect(),
        None => parameters.get("rootUri").into_iter().collect::<Vec<_>>(),
    };
    uris.into_iter().filter_map(Value::as_str).map(|uri| Uri(uri.to_owned())).collect()
}

/// Returns the `ServerCapabilities` of the protocol.
fn capabilities(encoding: Encoding) -> Value {
    serde_json::json!({
        "positionEncoding": encoding.name(),
        "textDocumentSync": { "openClose": true, "change": TextDocumentSyncKind::Incremental, "save": true },
        "completionProvider": { "triggerCharacters": [" ", "[", ",", "/"] },
        "hoverProvider": true,
        "definitionProvider": true,
        "codeActionProvider": { "codeActionKinds": [CodeActionKind::QuickFix] },
    })
}
