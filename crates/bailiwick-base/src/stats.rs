//! Time measurements of a run: calls, time and bytes for each stage, and a profile over time.
//!
//! Measurement is optional and never changes the output.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Policies, templates and account lists are read and linked.
    Load,
    /// Policies and accounts become objects without text.
    Expand,
    /// Templates make text of an object.
    Render,
    /// Finds that a text is equivalent to a checked one.
    Match,
    /// Any other text is read and checked.
    Validate,
    /// The object is written in its canonical form.
    Emit,
    /// The written text is read again and compared with the object.
    ReadBack,
    /// Compares a file with the existing one.
    Compare,
    /// The output folder is listed.
    List,
    /// Staged files are put into place.
    Commit,
}

impl Stage {
    const ALL: [(Stage, &'static str); 10] = [
        (Stage::Load, "load"),
        (Stage::Expand, "expand"),
        (Stage::Render, "render"),
        (Stage::Match, "match"),
        (Stage::Validate, "validate"),
        (Stage::Emit, "emit"),
        (Stage::ReadBack, "read back"),
        (Stage::Compare, "compare"),
        (Stage::List, "list"),
        (Stage::Commit, "commit"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(stage, _)| *stage == self).map_or("", |(_, name)| name)
    }
}

/// Returns the number of the current thread.
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

/// The measurements of a stage.
#[derive(Debug, Default)]
struct Counter {
    documents: AtomicU64,
    nanoseconds: AtomicU64,
    bytes: AtomicU64,
}

/// A stretch of time on one thread.
#[derive(Debug)]
struct Stretch {
    name: &'static str,
    thread: u64,
    start: Duration,
    length: Duration,
    documents: u64,
}

/// Measures a run, or does nothing.
#[derive(Debug)]
pub struct Stats {
    is_on: bool,
    /// The beginning of a measured run. A run that is not measured looks at no clock: a browser may have none.
    start: Option<Instant>,
    counters: [Counter; Stage::ALL.len()],
    /// The data of a profile, if requested.
    stretches: Option<Mutex<Vec<Stretch>>>,
    notes: Mutex<Vec<String>>,
}

/// Work of one thread, shown in intervals by a profile.
#[derive(Debug, Default)]
pub struct Lap {
    start: Option<Instant>,
    documents: usize,
}

/// How long a stretch of short work is.
const LONGEST_LAP: Duration = Duration::from_millis(5);

/// The shortest separate call of a stage in a profile; shorter calls are combined.
const SHORTEST: Duration = Duration::from_micros(200);

impl Default for Stats {
    fn default() -> Self {
        Self::off()
    }
}

impl Stats {
    /// Measures nothing.
    pub fn off() -> Self {
        Self::new(false, false)
    }

    /// Measures, with a profile or without.
    pub fn new(is_on: bool, with_profile: bool) -> Self {
        let is_on = is_on || with_profile;
        Self {
            is_on,
            start: is_on.then(Instant::now),
            counters: Default::default(),
            stretches: with_profile.then(Mutex::default),
            notes: Mutex::default(),
        }
    }

    /// Runs a part of a stage. `size` returns the number of documents and bytes.
    pub fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T, size: impl FnOnce(&T) -> (usize, usize)) -> T {
        if !self.is_on {
            return work();
        }
        let before = Instant::now();
        let made = work();
        let length = before.elapsed();
        let (documents, bytes) = size(&made);
        if let Some(counter) = self.counter(stage) {
            counter.documents.fetch_add(documents as u64, Ordering::Relaxed);
            counter.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
            counter.nanoseconds.fetch_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        if length >= SHORTEST {
            self.stretch(stage.name(), before, length, documents);
        }
        made
    }

    /// Returns the number of documents of a stage so far; none without measurement.
    pub fn documents(&self, stage: Stage) -> u64 {
        self.counter(stage).map_or(0, |counter| counter.documents.load(Ordering::Relaxed))
    }

    fn counter(&self, stage: Stage) -> Option<&Counter> {
        let mut counters = Stage::ALL.iter().zip(&self.counters);
        counters.find(|((known, _), _)| *known == stage).map(|(_, counter)| counter)
    }

    /// Records one document of work too short to be shown alone; a profile shows intervals of it.
    pub fn lap(&self, name: &'static str, lap: &mut Lap) {
        if self.stretches.is_none() {
            return;
        }
        lap.documents += 1;
        let start = *lap.start.get_or_insert_with(Instant::now);
        if start.elapsed() >= LONGEST_LAP {
            self.stretch(name, start, start.elapsed(), lap.documents);
            *lap = Lap::default();
        }
    }

    fn stretch(&self, name: &'static str, before: Instant, length: Duration, documents: usize) {
        if let Some(stretches) = &self.stretches {
            let thread = thread_number();
            let start = self.start.map_or(Duration::ZERO, |start| before.duration_since(start));
            let stretch = Stretch { name, thread, start, length, documents: documents as u64 };
            stretches.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(stretch);
        }
    }

    /// Notes a fact about the run.
    pub fn note(&self, fact: impl FnOnce() -> String) {
        if self.is_on {
            self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(fact());
        }
    }

    /// Formats the stages, one per line; seconds are the sum of all threads.
    pub fn table(&self) -> String {
        let mut text = format!("{:<10} {:>12} {:>10} {:>14}\n", "stage", "documents", "seconds", "bytes");
        for ((_, name), counter) in Stage::ALL.iter().zip(&self.counters) {
            let get = |value: &AtomicU64| value.load(Ordering::Relaxed);
            let (documents, bytes) = (get(&counter.documents), get(&counter.bytes));
            let seconds = Duration::from_nanos(get(&counter.nanoseconds)).as_secs_f64();
            if seconds > 0.0 {
                _ = writeln!(text, "{name:<10} {documents:>12} {seconds:>10.3} {bytes:>14}");
            }
        }
        let whole = self.start.map_or(Duration::ZERO, |start| start.elapsed());
        _ = writeln!(text, "{:<10} {:>12} {:>10.3}", "whole run", "", whole.as_secs_f64());
        for note in self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
            _ = writeln!(text, "{note}");
        }
        text
    }

    /// Returns the profile in the format of browsers and Perfetto: an array of complete events, with times in
    /// microseconds.
    pub fn profile(&self) -> serde_json::Value {
        let stretches = self.stretches.iter().flat_map(|stretches| {
            let mut stretches = stretches.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::take(&mut *stretches)
        });
        let event = |stretch: Stretch| {
            serde_json::json!({
                "name": stretch.name,
                "ph": "X",
                "pid": 1,
                "tid": stretch.thread,
                "ts": stretch.start.as_micros() as u64,
                "dur": stretch.length.as_micros() as u64,
                "args": {"documents": stretch.documents},
            })
        };
        stretches.map(event).collect()
    }
}
