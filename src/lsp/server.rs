//! The state of the server, and its answers to requests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use gen_lsp_types as protocol;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use protocol::{
    CodeActionParams, CompletionParams, DefinitionParams, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, HoverParams, Location, MessageType, PublishDiagnosticsParams,
    ShowMessageParams, TextDocumentPositionParams, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answers::{self, Form};
use super::text::Encoding;
use super::{End, Settings, uri};
use crate::app::{Diagnostics, EditorWorkspace, Error, Options, editor_findings};
use crate::diag::{Origin, RunError, SourceFile, Span};
use crate::parallel;
use crate::watch::{FolderWatcher, Noticed};

/// How long no text changes before the findings of `lint` are searched.
const QUIET: Duration = Duration::from_millis(300);

/// How long a watcher waits in a row. The time has no effect: it waits again.
const WATCH: Duration = Duration::from_secs(3600);

/// An event that the server handles.
pub(super) enum Event {
    /// A message of the editor.
    Message(Message),
    /// The editor is gone.
    Closed,
    /// Files of the workspace at a root changed.
    FilesChanged(PathBuf),
    /// The files of a workspace are not watched.
    NotWatched(RunError),
    /// The findings of `lint` about a workspace at a root, as it was after a number of changes.
    Findings(PathBuf, u64, Result<Diagnostics, Error>),
}

/// The server of one editor.
pub(super) struct Server {
    editor: crossbeam_channel::Sender<Message>,
    events: Sender<Event>,
    settings: Settings,
    encoding: Encoding,
    documents: HashMap<Uri, Document>,
    workspaces: BTreeMap<PathBuf, ServedWorkspace>,
    is_shut_down: bool,
}

/// An open document.
struct Document {
    text: String,
    version: i32,
    /// The workspace with the document and the path below its root; none outside of a workspace.
    place: Option<(PathBuf, String)>,
}

/// A workspace with open documents.
struct ServedWorkspace {
    editor: EditorWorkspace,
    /// The number of changes so far.
    changes: u64,
    /// Whether texts changed since the last analysis.
    is_changed: bool,
    /// The time at which the findings of `lint` are searched; none when they are found, or cannot be.
    lint_at: Option<Instant>,
    /// Whether a search for findings runs.
    is_linting: bool,
    /// The newest findings of `lint`, in files that are as they were then.
    findings: Diagnostics,
    /// The diagnostics that the editor has, by the path of the file.
    published: BTreeMap<String, Published>,
}

/// The diagnostics of a file that the editor has.
#[derive(Debug, Clone, Default, PartialEq)]
struct Published {
    /// The version of the open document; none for a file that is not open.
    version: Option<i32>,
    diagnostics: Vec<protocol::Diagnostic>,
}

impl Server {
    pub(super) fn new(
        editor: crossbeam_channel::Sender<Message>,
        events: Sender<Event>,
        settings: Settings,
        encoding: Encoding,
    ) -> Self {
        let (documents, workspaces) = (HashMap::new(), BTreeMap::new());
        Self { editor, events, settings, encoding, documents, workspaces, is_shut_down: false }
    }

    /// Opens the workspaces of folders. The editor gets the diagnostics of files that are not open, too.
    pub(super) fn open_folders(&mut self, folders: &[Uri]) {
        for folder in folders.iter().filter_map(uri::path) {
            self.open_workspace(&folder);
        }
        self.analyze();
    }

    /// Handles events until the connection ends.
    pub(super) fn run(&mut self, events: &Receiver<Event>) -> End {
        loop {
            let event = match self.next_lint().map(|at| at.saturating_duration_since(Instant::now())) {
                Some(wait) => events.recv_timeout(wait),
                None => events.recv().map_err(RecvTimeoutError::from),
            };
            match event {
                Ok(event) => {
                    if let Some(end) = self.handle(event) {
                        return end;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.lint(),
                Err(RecvTimeoutError::Disconnected) => return End::Gone,
            }
            // Edits that wait are analysed together.
            while let Ok(event) = events.try_recv() {
                if let Some(end) = self.handle(event) {
                    return end;
                }
            }
            self.analyze();
        }
    }

    fn handle(&mut self, event: Event) -> Option<End> {
        match event {
            Event::Message(Message::Request(request)) => self.answer(request),
            Event::Message(Message::Notification(notification)) if notification.method == "exit" => {
                return Some(if self.is_shut_down { End::ShutDown } else { End::Gone });
            }
            Event::Message(Message::Notification(notification)) => self.notice(notification),
            Event::Message(Message::Response(_)) => {}
            Event::Closed => return Some(End::Gone),
            Event::FilesChanged(root) => self.files_changed(&root),
            Event::NotWatched(error) => self.show(&error),
            Event::Findings(root, changes, findings) => self.add_findings(&root, changes, findings),
        }
        None
    }

    // Requests.

    fn answer(&mut self, request: Request) {
        if request.method == "shutdown" {
            self.is_shut_down = true;
            return self.send(Response::new_ok(request.id, ()));
        }
        let Request { id, method, params } = request;
        match method.as_str() {
            "textDocument/completion" => self.respond(id, params, Self::completion),
            "textDocument/hover" => self.respond(id, params, Self::hover),
            "textDocument/definition" => self.respond(id, params, Self::definition),
            "textDocument/codeAction" => self.respond(id, params, Self::code_actions),
            _ => {
                let message = format!("there is no request `{method}`");
                self.send(Response::new_err(id, ErrorCode::MethodNotFound as i32, message));
            }
        }
    }

    /// Answers a request of one method.
    fn respond<P: DeserializeOwned, R: Serialize>(
        &mut self,
        id: RequestId,
        parameters: serde_json::Value,
        answer: fn(&mut Self, P) -> R,
    ) {
        let response = match serde_json::from_value(parameters) {
            Ok(parameters) => Response::new_ok(id, answer(self, parameters)),
            Err(error) => Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
        };
        self.send(response);
    }

    fn completion(&mut self, parameters: CompletionParams) -> Vec<protocol::CompletionItem> {
        let Some(cursor) = self.cursor(&parameters.text_document_position_params) else { return Vec::new() };
        let found = cursor.workspace.editor.completions(cursor.path, cursor.byte);
        let items = found.into_iter().enumerate();
        items.map(|(index, found)| cursor.form.completion(found, cursor.text, index)).collect()
    }

    fn hover(&mut self, parameters: HoverParams) -> Option<protocol::Hover> {
        self.analyze();
        let cursor = self.cursor(&parameters.text_document_position_params)?;
        let hover = cursor.workspace.editor.hover(cursor.path, cursor.byte)?;
        let range = Some(cursor.form.encoding.range(cursor.text, hover.span));
        Some(protocol::Hover { contents: answers::hover(hover.text), range })
    }

    fn definition(&mut self, parameters: DefinitionParams) -> Vec<Location> {
        self.analyze();
        let Some(cursor) = self.cursor(&parameters.text_document_position_params) else { return Vec::new() };
        let found = cursor.workspace.editor.definitions(cursor.path, cursor.byte);
        found.iter().filter_map(|definition| cursor.form.definition(definition)).collect()
    }

    fn code_actions(&mut self, parameters: CodeActionParams) -> Vec<protocol::CodeActionResponse> {
        self.analyze();
        let uri = &parameters.text_document.uri;
        let Some((document, workspace, path)) = self.document(uri) else { return Vec::new() };
        let bytes = self.encoding.bytes(&document.text, parameters.range);
        let found = workspace.editor.corrections(path, Span::new(bytes.start, bytes.end));
        let form = Form { encoding: self.encoding, root: workspace.editor.root() };
        found.into_iter().map(|correction| form.action(correction, &document.text, uri)).collect()
    }

    /// Returns an open document of a workspace, with its path there.
    fn document(&self, uri: &Uri) -> Option<(&Document, &ServedWorkspace, &str)> {
        let document = self.documents.get(uri)?;
        let (root, path) = document.place.as_ref()?;
        Some((document, self.workspaces.get(root)?, path))
    }

    fn cursor(&self, parameters: &TextDocumentPositionParams) -> Option<Cursor<'_>> {
        let (document, workspace, path) = self.document(&parameters.text_document.uri)?;
        let byte = self.encoding.byte(&document.text, parameters.position);
        let form = Form { encoding: self.encoding, root: workspace.editor.root() };
        Some(Cursor { workspace, path, text: &document.text, byte, form })
    }

    // Notifications.

    fn notice(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        // A notification has no answer, so that a wrong one cannot be refused.
        let _ = match method.as_str() {
            "textDocument/didOpen" => serde_json::from_value(params).map(|parameters| self.opened(parameters)),
            "textDocument/didChange" => serde_json::from_value(params).map(|parameters| self.changed(parameters)),
            "textDocument/didSave" => serde_json::from_value(params).map(|parameters| self.saved(parameters)),
            "textDocument/didClose" => serde_json::from_value(params).map(|parameters| self.closed(parameters)),
            _ => Ok(()),
        };
    }

    fn opened(&mut self, parameters: DidOpenTextDocumentParams) {
        let protocol::TextDocumentItem { uri, version, text, .. } = parameters.text_document;
        let place = self.place(&uri);
        self.documents.insert(uri.clone(), Document { text, version, place });
        self.set_text(&uri);
    }

    fn changed(&mut self, parameters: DidChangeTextDocumentParams) {
        let uri = parameters.text_document.text_document_identifier.uri;
        let Some(document) = self.documents.get_mut(&uri) else { return };
        self.encoding.apply(&mut document.text, parameters.content_changes);
        document.version = parameters.text_document.version;
        self.set_text(&uri);
    }

    /// Finds the workspace of a document that had none: its workspace file may be new.
    fn saved(&mut self, parameters: DidSaveTextDocumentParams) {
        let lost: Vec<Uri> = self
            .documents
            .iter()
            .filter(|(_, document)| document.place.is_none())
            .map(|(uri, _)| uri.clone())
            .collect();
        for uri in lost {
            let place = self.place(&uri);
            if let Some(document) = self.documents.get_mut(&uri) {
                document.place = place;
            }
            self.set_text(&uri);
        }
        let place = self.documents.get(&parameters.text_document.uri).and_then(|document| document.place.clone());
        if let Some((root, _)) = place {
            self.files_changed(&root);
        }
    }

    fn closed(&mut self, parameters: DidCloseTextDocumentParams) {
        let document = self.documents.remove(&parameters.text_document.uri);
        let Some((root, path)) = document.and_then(|document| document.place) else { return };
        if let Some(workspace) = self.workspaces.get_mut(&root) {
            workspace.editor.close(&path);
            workspace.change();
        }
    }

    /// Hands the text of a document to its workspace.
    fn set_text(&mut self, uri: &Uri) {
        let Some(document) = self.documents.get(uri) else { return };
        let Some((root, path)) = &document.place else { return };
        if let Some(workspace) = self.workspaces.get_mut(root) {
            workspace.editor.set_text(path, document.text.clone());
            workspace.change();
        }
    }

    fn files_changed(&mut self, root: &Path) {
        if let Some(workspace) = self.workspaces.get_mut(root) {
            workspace.editor.files_changed();
            workspace.change();
        }
    }

    // Workspaces.

    /// Returns the workspace of a document and the path below its root. The workspace is opened with its first document.
    fn place(&mut self, uri: &Uri) -> Option<(PathBuf, String)> {
        let path = uri::path(uri)?;
        let folder = path.parent()?.canonicalize().ok()?;
        let root = self.open_workspace(&folder)?;
        let path = folder.join(path.file_name()?);
        let below = path.strip_prefix(&root).ok()?.to_str()?.replace('\\', "/");
        Some((root, below))
    }

    /// Opens the workspace of a folder, unless it is open. Returns its root; none for a folder without a workspace.
    fn open_workspace(&mut self, folder: &Path) -> Option<PathBuf> {
        let options = Options { directory: Some(folder.to_owned()), listener: None, ..self.settings.options.clone() };
        let editor = match EditorWorkspace::open(&options) {
            Ok(editor) => editor?,
            Err(error) => {
                self.show(&error);
                return None;
            }
        };
        let root = editor.root().to_owned();
        if !self.workspaces.contains_key(&root) {
            watch(root.clone(), self.events.clone());
            self.workspaces.insert(root.clone(), ServedWorkspace::new(editor));
        }
        Some(root)
    }

    /// Analyses the workspaces with changed texts, and publishes their diagnostics.
    fn analyze(&mut self) {
        let today = (self.settings.today)();
        let roots: Vec<PathBuf> = self.workspaces.keys().cloned().collect();
        for root in roots {
            let Some(workspace) = self.workspaces.get_mut(&root).filter(|workspace| workspace.is_changed) else {
                continue;
            };
            workspace.is_changed = false;
            match workspace.editor.analyze(today) {
                Ok(diagnostics) => {
                    workspace.lint_at = (!diagnostics.has_errors()).then(|| Instant::now() + QUIET);
                    workspace.findings = still_valid(&workspace.findings, diagnostics);
                    self.publish(&root);
                }
                Err(error) => self.show(&error),
            }
        }
    }

    /// Returns the time of the next search for findings.
    fn next_lint(&self) -> Option<Instant> {
        self.workspaces
            .values()
            .filter(|workspace| !workspace.is_linting)
            .filter_map(|workspace| workspace.lint_at)
            .min()
    }

    /// Starts the searches for findings that are due. They run beside the answers.
    fn lint(&mut self) {
        for (root, workspace) in &mut self.workspaces {
            let is_due = workspace.lint_at.is_some_and(|at| at <= Instant::now()) && !workspace.is_linting;
            let Some(linked) = workspace.editor.linked().filter(|_| is_due).map(Arc::clone) else { continue };
            (workspace.lint_at, workspace.is_linting) = (None, true);
            let (root, changes, events) = (root.clone(), workspace.changes, self.events.clone());
            thread::spawn(move || {
                let findings = parallel::with_room(|| editor_findings(&linked));
                // Nothing is left to do when the server is gone.
                let _ = events.send(Event::Findings(root, changes, findings));
            });
        }
    }

    /// Publishes the findings of a search, unless texts changed since it began.
    fn add_findings(&mut self, root: &Path, changes: u64, findings: Result<Diagnostics, Error>) {
        let Some(workspace) = self.workspaces.get_mut(root) else { return };
        workspace.is_linting = false;
        match findings {
            Ok(findings) if workspace.changes == changes => {
                workspace.findings = findings;
                self.publish(root);
            }
            Ok(_) | Err(Error::Invalid(_)) => {}
            Err(error) => self.show(&error),
        }
    }

    /// Sends the diagnostics of the files of a workspace that differ from what the editor has. Each edit of a document is answered,
    /// also if its diagnostics are the same.
    fn publish(&mut self, root: &Path) {
        let Some(workspace) = self.workspaces.get_mut(root) else { return };
        let form = Form { encoding: self.encoding, root };
        let mut open: BTreeMap<&str, (&Uri, i32)> = BTreeMap::new();
        for (uri, document) in &self.documents {
            if let Some((_, path)) = document.place.as_ref().filter(|(own, _)| own == root) {
                open.insert(path, (uri, document.version));
            }
        }
        let mut new: BTreeMap<String, Published> = BTreeMap::new();
        let diagnostics = form.by_file(workspace.editor.diagnostics(), answers::COMPILER);
        for (path, diagnostics) in diagnostics.into_iter().chain(form.by_file(&workspace.findings, answers::LINT)) {
            new.entry(path).or_default().diagnostics.extend(diagnostics);
        }
        for (path, (_, version)) in &open {
            new.entry((*path).to_owned()).or_default().version = Some(*version);
        }
        let earlier = std::mem::replace(&mut workspace.published, new);
        let state = |files: &BTreeMap<String, Published>, path: &str| match files.get(path) {
            Some(published) => published.clone(),
            None => Published::default(),
        };
        let paths: BTreeSet<&String> = earlier.keys().chain(workspace.published.keys()).collect();
        let messages = paths.into_iter().filter_map(|path| {
            let Published { version, diagnostics } = state(&workspace.published, path);
            let known = state(&earlier, path);
            let is_known = known.diagnostics == diagnostics && (version.is_none() || known.version == version);
            let uri = open.get(path.as_str()).map(|(uri, _)| (*uri).clone()).or_else(|| uri::of(&root.join(path)));
            Some(PublishDiagnosticsParams { uri: uri.filter(|_| !is_known)?, version, diagnostics })
        });
        let messages: Vec<PublishDiagnosticsParams> = messages.collect();
        messages.into_iter().for_each(|message| self.notify("textDocument/publishDiagnostics", message));
    }

    // Messages to the editor.

    /// Shows an error that is about no text.
    fn show(&self, error: &dyn std::fmt::Display) {
        let message = ShowMessageParams { kind: MessageType::Error, message: format!("bailiwick: {error}") };
        self.notify("window/showMessage", message);
    }

    fn notify(&self, method: &str, parameters: impl Serialize) {
        self.send(Notification::new(method.to_owned(), parameters));
    }

    fn send(&self, message: impl Into<Message>) {
        // When the editor is gone, the next event is the end of the connection.
        let _ = self.editor.send(message.into());
    }
}

impl ServedWorkspace {
    fn new(editor: EditorWorkspace) -> Self {
        Self {
            editor,
            changes: 0,
            is_changed: true,
            lint_at: None,
            is_linting: false,
            findings: Diagnostics::default(),
            published: BTreeMap::new(),
        }
    }

    fn change(&mut self) {
        self.changes += 1;
        self.is_changed = true;
        self.lint_at = None;
    }
}

/// Returns the findings in files with the same text as before; none after an error.
fn still_valid(findings: &Diagnostics, newest: &Diagnostics) -> Diagnostics {
    if newest.has_errors() || findings.list.is_empty() {
        return Diagnostics::default();
    }
    let files = &newest.files;
    let texts: HashMap<String, Arc<SourceFile>> =
        files.ids().map(|id| files.get(id)).map(|file| (file.path().to_owned(), file)).collect();
    let is_same = |place: &Origin| {
        let old = findings.files.get(place.file);
        texts.get(old.path()).is_some_and(|new| new.text() == old.text())
    };
    let mut valid = findings.clone();
    valid.list.retain_mut(|finding| finding.places().all(|place| is_same(place)));
    valid
}

/// A cursor in an open document of a workspace.
struct Cursor<'s> {
    workspace: &'s ServedWorkspace,
    path: &'s str,
    text: &'s str,
    byte: usize,
    form: Form<'s>,
}

/// Watches the files of a workspace, until the server is gone.
fn watch(root: PathBuf, events: Sender<Event>) {
    thread::spawn(move || {
        let watched = FolderWatcher::start(&root).and_then(|mut watcher| {
            loop {
                let is_changed = matches!(watcher.wait(WATCH)?, Noticed::Changed(_));
                if is_changed && events.send(Event::FilesChanged(root.clone())).is_err() {
                    return Ok(());
                }
            }
        });
        if let Err(error) = watched {
            let _ = events.send(Event::NotWatched(error));
        }
    });
}
