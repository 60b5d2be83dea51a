//! The events of some lines.

use std::hash::{BuildHasher, RandomState};

use bailiwick_yaml::limits::{LONGEST_LOG_LINE, written_size};
use hashbrown::HashMap;
use serde_json::value::RawValue;

use crate::event::{API_VERSION, Event, EventUser, Stage};
use crate::request::{DecidedRequest, NoRequest, decided_requests};
use crate::time::Timestamp;

/// The longest prefix of a line before its event, in bytes: the name of a node.
const LONGEST_PREFIX: usize = 256;

/// From how many lists of requests on a reader forgets them: a log can have a new path in each line.
const MOST_KNOWN: usize = 1 << 16;

/// The events of some lines.
#[derive(Debug, Default)]
pub(crate) struct ReadChunk {
    /// Whether the reader forgot the lists of its earlier chunks.
    pub(crate) starts_over: bool,
    /// The lists of requests after the lists of the earlier chunks of the reader.
    pub(crate) requests: Vec<Vec<DecidedRequest>>,
    pub(crate) events: Vec<ReadEvent>,
    pub(crate) undecided: u64,
    pub(crate) unauthenticated: u64,
    pub(crate) unreadable: u64,
    /// The first line without an event, from 1 in the chunk, with the reason.
    pub(crate) first_unreadable: Option<(u64, String)>,
    /// The first line with another version of the API, from 1 in the chunk, with the version.
    pub(crate) other_version: Option<(u64, String)>,
    /// How many lines the chunk has.
    pub(crate) lines: u64,
}

/// An event of a decided request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadEvent {
    /// The number of its list of requests, among all lists of the reader.
    pub(crate) requests: u32,
    /// The hash of its audit id; 0 for none.
    pub(crate) id: u64,
    /// Its line in the chunk, from 1.
    pub(crate) line: u32,
    pub(crate) time: Option<Timestamp>,
}

/// Reads lines into chunks, with the lists of requests of all its chunks.
pub(crate) struct ChunkReader<'h> {
    chunk: ReadChunk,
    ids: &'h RandomState,
    /// The numbers of the lists of requests by the fields behind them.
    known: HashMap<Vec<u8>, u32>,
    fields: Vec<u8>,
}

impl<'h> ChunkReader<'h> {
    /// Creates a reader. All readers of a log hash audit ids with the same state.
    pub(crate) fn new(ids: &'h RandomState) -> Self {
        Self { chunk: ReadChunk::default(), ids, known: HashMap::new(), fields: Vec::new() }
    }

    /// Returns the events since the last chunk.
    pub(crate) fn take(&mut self) -> ReadChunk {
        let chunk = std::mem::take(&mut self.chunk);
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
            self.chunk.starts_over = true;
        }
        chunk
    }

    /// Adds the event of a line, or the events of a list on a line.
    pub(crate) fn read_line(&mut self, line: &[u8]) {
        self.chunk.lines += 1;
        let line = event_of_line(line);
        if !line.is_empty() {
            self.read_value(line, false);
        }
    }

    /// Counts a line of more than [`LONGEST_LOG_LINE`] bytes.
    pub(crate) fn skip_line(&mut self) {
        self.chunk.lines += 1;
        self.refuse(format!("it is longer than {}", written_size(LONGEST_LOG_LINE as u64)));
    }

    /// Reads an event or a list of events as JSON. An item of a list can lack its kind and its API version.
    pub(crate) fn read_value(&mut self, json: &[u8], is_item: bool) {
        match serde_json::from_slice::<Event<'_>>(json) {
            Ok(event) => self.read_event(&event, is_item),
            Err(error) => self.refuse(error.to_string()),
        }
    }

    /// Reads an event or a list of events.
    pub(crate) fn read_event(&mut self, event: &Event<'_>, is_item: bool) {
        let is_list = event.kind == "EventList";
        let has_kind = is_list || event.kind == "Event" || is_item && event.kind.is_empty();
        if !has_kind {
            return self.refuse(format!("`kind` is `{}`, not `Event`", event.kind));
        }
        if event.api_version != API_VERSION && !(is_item && event.api_version.is_empty()) {
            let found = (self.chunk.lines, event.api_version.clone().into_owned());
            self.chunk.other_version.get_or_insert(found);
            return;
        }
        if is_list {
            for item in event.items.iter().flatten() {
                self.read_value(RawValue::get(item).as_bytes(), true);
            }
            return;
        }
        match Stage::read(&event.stage) {
            Some(Stage::RequestReceived) => self.chunk.undecided += 1,
            Some(_) => self.add(event),
            None => self.refuse(format!("`stage` is `{}`", event.stage)),
        }
    }

    fn add(&mut self, event: &Event<'_>) {
        self.fields.clear();
        write_fields(event, &mut self.fields);
        let requests = match self.known.get(&self.fields) {
            Some(number) => *number,
            None => match decided_requests(event) {
                Ok(requests) => {
                    let number = u32::try_from(self.known.len()).map_or(u32::MAX, |number| number);
                    self.chunk.requests.push(requests);
                    self.known.insert(self.fields.clone(), number);
                    number
                }
                Err(NoRequest::Unauthenticated) => {
                    self.chunk.unauthenticated += 1;
                    return;
                }
                Err(NoRequest::Undecided) => {
                    self.chunk.undecided += 1;
                    return;
                }
                Err(NoRequest::Unreadable(why)) => return self.refuse(why.to_owned()),
            },
        };
        let id = if event.audit_id.is_empty() { 0 } else { self.ids.hash_one(&*event.audit_id).max(1) };
        let line = u32::try_from(self.chunk.lines).map_or(u32::MAX, |line| line);
        self.chunk.events.push(ReadEvent { requests, id, line, time: Timestamp::read(event.time()) });
    }

    fn refuse(&mut self, why: String) {
        self.chunk.unreadable += 1;
        self.chunk.first_unreadable.get_or_insert((self.chunk.lines, why));
    }
}

/// Returns the event of a line without blanks around it. A line may begin with the name of a node, as `oc adm node-logs` prints it.
pub(crate) fn event_of_line(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    let line = line.strip_prefix("\u{feff}".as_bytes()).map_or(line, |line| line);
    let Some(start) = memchr::memchr(b'{', line).filter(|start| (1..=LONGEST_PREFIX).contains(start)) else {
        return line;
    };
    match line.split_at_checked(start) {
        Some(([word @ .., b' '], event)) if !word.iter().any(|byte| b" \"[\\".contains(byte)) => event,
        _ => line,
    }
}

/// Returns the part of a path that decides about the request: without a query that has no field selector in any spelling.
fn deciding_part(uri: &str) -> &str {
    match uri.split_once('?') {
        Some((path, query)) if !query.contains("fieldSelector") && !query.contains('%') => path,
        _ => uri,
    }
}

/// Writes the fields behind the requests of an event. Each text ends with a byte outside of JSON.
fn write_fields(event: &Event<'_>, out: &mut Vec<u8>) {
    let mut text = |text: &str| {
        out.extend_from_slice(text.as_bytes());
        out.push(0xff);
    };
    text(&event.verb);
    text(deciding_part(&event.request_uri));
    event.user.iter().flat_map(EventUser::texts).for_each(&mut text);
    text("");
    event.impersonated_user.iter().flat_map(EventUser::target_texts).for_each(&mut text);
    text("");
    if let Some(reference) = &event.object_ref {
        let fields =
            [&reference.api_group, &reference.resource, &reference.subresource, &reference.namespace, &reference.name];
        fields.into_iter().for_each(|field| text(field));
    }
    text("");
    if let Some(annotations) = &event.annotations {
        text(&annotations.decision);
        text(&annotations.reason);
    }
    text("");
    event.authentication_metadata.iter().for_each(|metadata| text(&metadata.impersonation_constraint));
    text("");
    if let Some(status) = event.response_status.as_ref().filter(|_| matches!(event.code(), 400 | 401 | 403)) {
        text(&status.message);
    }
    out.extend_from_slice(&event.code().to_le_bytes());
}
