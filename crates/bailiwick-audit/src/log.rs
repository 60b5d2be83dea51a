//! The distinct requests of audit logs.

use std::collections::VecDeque;

use bailiwick_access::{Identity, Request};
use hashbrown::{HashMap, HashSet};

use crate::chunk::ReadChunk;
use crate::request::{AuditDecision, Basis, DecidedRequest};
use crate::time::Timestamp;

/// How many of the latest audit ids are known: an event of an older request counts again.
const KNOWN_IDS: usize = 1 << 20;

/// A share of unreadable lines above this one is an error: one in a thousand.
const MOST_UNREADABLE: u64 = 1_000;

/// The days of events without which rare work is missing.
pub const ENOUGH_DAYS: i64 = 30;

/// The distinct requests of all logs of a cluster.
#[derive(Debug, Default)]
pub struct AuditLog {
    identities: Vec<Identity>,
    identity_ids: HashMap<Identity, u32>,
    reasons: Vec<String>,
    reason_ids: HashMap<String, u32>,
    observed: Vec<ObservedRequest>,
    observed_ids: HashMap<ObservedKey, u32>,
    seen: RecentIds,
    /// The counts of the events.
    pub counts: EventCounts,
    window: Option<(Timestamp, Timestamp)>,
    /// The days with an event.
    days: HashSet<i64>,
}

/// The counts of the events of audit logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// The events of decided requests.
    pub events: u64,
    /// The events before the authorization of their request.
    pub undecided: u64,
    /// The events of requests that were not authenticated.
    pub unauthenticated: u64,
    /// The further events of the same requests.
    pub repeated: u64,
    /// The events of requests whose decision is guessed by the status code.
    pub guessed: u64,
    /// The lines and list items that are no audit event.
    pub unreadable: u64,
    /// The first of them, with the reason.
    pub first_unreadable: Option<String>,
}

/// A distinct request of an identity with a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedRequest {
    key: ObservedKey,
    /// How many requests there are.
    pub requests: u64,
    /// The number of the first log with it.
    pub log: usize,
    /// The line of the first event in the log, from 1.
    pub line: u64,
    /// The time of the latest event.
    pub last: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ObservedKey {
    identity: u32,
    request: Request,
    decision: AuditDecision,
    basis: BasisKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum BasisKey {
    Annotated(u32),
    Guessed,
    Implied,
}

/// An observed request, with its texts.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'l> {
    /// The user with its groups.
    pub identity: &'l Identity,
    /// The attributes of the authorizer.
    pub request: &'l Request,
    /// Whether the authorizer allowed it.
    pub decision: AuditDecision,
    /// The reason of the authorizer; none for a decision without an annotation.
    pub reason: Option<&'l str>,
    /// Whether the server alone asked for it, on the way of other requests.
    pub is_implied: bool,
    /// The counts and places.
    pub observed: &'l ObservedRequest,
}

/// Why a log cannot be used.
#[derive(Debug)]
pub enum LogError {
    /// It could not be read.
    Io(std::io::Error),
    /// It has another version of the API.
    Version {
        /// The line, from 1.
        line: u64,
        /// The value of `apiVersion`.
        version: String,
    },
    /// More than one in a thousand of its lines is no audit event.
    Unreadable {
        /// How many lines are no audit event.
        unreadable: u64,
        /// How many lines there are.
        lines: u64,
        /// The first of them, with the reason.
        first: String,
    },
    /// It begins with zeros.
    NoText,
    /// It has no event.
    Empty,
}

impl AuditLog {
    /// Iterates over the distinct requests, in the order of their first events.
    pub fn observations(&self) -> impl Iterator<Item = Observation<'_>> {
        self.observed.iter().filter_map(|observed| {
            let ObservedKey { identity, request, decision, basis } = &observed.key;
            let reason = match basis {
                BasisKey::Annotated(reason) => self.reasons.get(*reason as usize).map(String::as_str),
                BasisKey::Guessed | BasisKey::Implied => None,
            };
            Some(Observation {
                identity: self.identities.get(*identity as usize)?,
                request,
                decision: *decision,
                reason,
                is_implied: *basis == BasisKey::Implied,
                observed,
            })
        })
    }

    /// Returns the identities, in the order of their first events.
    pub fn identities(&self) -> &[Identity] {
        &self.identities
    }

    /// Returns the times of the first and the last event; none without a time.
    pub fn window(&self) -> Option<(Timestamp, Timestamp)> {
        self.window
    }

    /// Returns the days from the first event to the last one.
    pub fn days(&self) -> i64 {
        self.window.map_or(0, |(first, last)| first.days_until(last))
    }

    /// Returns the number of days with an event, in UTC.
    pub fn days_with_events(&self) -> usize {
        self.days.len()
    }

    /// Adds the events of a chunk of a log. `lists` has the numbers of the requests of each list of the reader of the chunk, and
    /// `first_line` is the line before the chunk.
    pub(crate) fn absorb(&mut self, chunk: ReadChunk, lists: &mut Vec<Vec<u32>>, log: usize, first_line: u64) {
        if chunk.starts_over {
            lists.clear();
        }
        for requests in chunk.requests {
            lists.push(requests.into_iter().map(|request| self.number_of(request, log)).collect());
        }
        let counts = &mut self.counts;
        counts.undecided += chunk.undecided;
        counts.unauthenticated += chunk.unauthenticated;
        counts.unreadable += chunk.unreadable;
        if let (None, Some((line, why))) = (&counts.first_unreadable, chunk.first_unreadable) {
            counts.first_unreadable = Some(format!("line {}: {why}", first_line + line));
        }
        for event in chunk.events {
            if !self.seen.add(event.id) {
                self.counts.repeated += 1;
                continue;
            }
            self.counts.events += 1;
            self.see(event.time);
            let numbers = lists.get(event.requests as usize).into_iter().flatten();
            for (position, number) in numbers.enumerate() {
                let Some(observed) = self.observed.get_mut(*number as usize) else { continue };
                if observed.line == 0 {
                    observed.line = first_line + u64::from(event.line);
                }
                observed.last = observed.last.max(event.time);
                observed.requests += 1;
                self.counts.guessed += u64::from(position == 0 && observed.key.basis == BasisKey::Guessed);
            }
        }
    }

    /// Returns the error of a log that began at these counts, if it cannot be used. `is_whole` is false while the log is being read.
    pub(crate) fn problem_since(&self, start: &EventCounts, is_whole: bool) -> Option<LogError> {
        let counts = &self.counts;
        let unreadable = counts.unreadable - start.unreadable;
        let all = |counts: &EventCounts| {
            let decided = counts.events + counts.repeated;
            decided + counts.undecided + counts.unauthenticated + counts.unreadable
        };
        let lines = all(counts) - all(start);
        let has_many = unreadable * MOST_UNREADABLE > lines && (is_whole || unreadable > MOST_UNREADABLE);
        match &counts.first_unreadable {
            Some(first) if has_many => Some(LogError::Unreadable { unreadable, lines, first: first.clone() }),
            _ if lines == 0 && is_whole => Some(LogError::Empty),
            _ => None,
        }
    }

    fn number_of(&mut self, decided: DecidedRequest, log: usize) -> u32 {
        let DecidedRequest { identity, request, decision, basis } = decided;
        let identity = interned(&mut self.identities, &mut self.identity_ids, identity);
        let basis = match basis {
            Basis::Annotated(reason) => BasisKey::Annotated(interned(&mut self.reasons, &mut self.reason_ids, reason)),
            Basis::Guessed => BasisKey::Guessed,
            Basis::Implied => BasisKey::Implied,
        };
        let key = ObservedKey { identity, request, decision, basis };
        if let Some(number) = self.observed_ids.get(&key) {
            return *number;
        }
        let number = u32::try_from(self.observed.len()).map_or(u32::MAX, |number| number);
        self.observed_ids.insert(key.clone(), number);
        self.observed.push(ObservedRequest { key, requests: 0, log, line: 0, last: None });
        number
    }

    fn see(&mut self, time: Option<Timestamp>) {
        let Some(time) = time else { return };
        self.days.insert(time.day());
        self.window = Some(match self.window {
            Some((first, last)) => (first.min(time), last.max(time)),
            None => (time, time),
        });
    }
}

/// Returns the number of a value, and adds a new one.
fn interned<T: Clone + Eq + std::hash::Hash>(list: &mut Vec<T>, ids: &mut HashMap<T, u32>, value: T) -> u32 {
    if let Some(id) = ids.get(&value) {
        return *id;
    }
    let id = u32::try_from(list.len()).map_or(u32::MAX, |id| id);
    ids.insert(value.clone(), id);
    list.push(value);
    id
}

/// The latest audit ids.
#[derive(Debug, Default)]
struct RecentIds {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl RecentIds {
    /// Adds the hash of an audit id. Returns false for a known one. The hash 0 stands for no id.
    fn add(&mut self, id: u64) -> bool {
        if id == 0 {
            return true;
        }
        if !self.known.insert(id) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > KNOWN_IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}
