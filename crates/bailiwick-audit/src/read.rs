//! Reads a log as a stream, on several threads.
//!
//! A log has an event or an `EventList` on each line, or is a sequence of such values in any form of JSON. Either can be compressed by
//! gzip.

use std::collections::BTreeMap;
use std::hash::RandomState;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::sync::{Mutex, mpsc};
use std::thread;

use bailiwick_yaml::limits::{LONGEST_LOG_LINE, MAXIMUM_LOG_SIZE, written_size};
use flate2::bufread::MultiGzDecoder;

use crate::chunk::{ChunkReader, ReadChunk, event_of_line};
use crate::document;
use crate::log::{AuditLog, EventCounts, LogError};

/// The size of the pieces in which a log is read, in bytes.
const PIECE: usize = 1 << 20;

/// How many pieces wait for a thread at most, for each thread.
const WAITING: usize = 4;

/// The first bytes of a file of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads logs into one record of requests.
#[derive(Debug, Default)]
pub struct LogReader {
    ids: RandomState,
    logs: usize,
}

impl LogReader {
    /// Adds the requests of a log on `jobs` threads. `progress` is called from time to time.
    ///
    /// # Errors
    /// When the log cannot be read, has no event, has events of another version, or has too many lines that are no event.
    pub fn read(
        &mut self,
        input: impl Read + Send,
        jobs: usize,
        log: &mut AuditLog,
        progress: &mut dyn FnMut(),
    ) -> Result<(), LogError> {
        let start = log.counts.clone();
        log.counts.first_unreadable = None;
        let number = self.logs;
        self.logs += 1;
        let mut input = BufReader::with_capacity(PIECE, input);
        let is_compressed = input.fill_buf().map_err(LogError::Io)?.starts_with(&GZIP);
        let input: Box<dyn Read + Send + '_> =
            if is_compressed { Box::new(MultiGzDecoder::new(input)) } else { Box::new(input) };
        let mut input = BufReader::with_capacity(PIECE, LimitedLog { input, left: MAXIMUM_LOG_SIZE });
        // A log that was cut while it was written begins with zeros, but not with as many.
        let first = input.fill_buf().map_err(LogError::Io)?;
        if !first.is_empty() && first.iter().all(|byte| *byte == 0) {
            return Err(LogError::NoText);
        }
        let mut target = Target { log, number, line: 0, start: &start, lists: BTreeMap::new(), progress };
        self.read_text(input, jobs, &mut target)?;
        let problem = log.problem_since(&start, true);
        if log.counts.first_unreadable.is_none() {
            log.counts.first_unreadable = start.first_unreadable;
        }
        problem.map_or(Ok(()), Err)
    }

    fn read_text(&self, mut input: impl BufRead + Send, jobs: usize, target: &mut Target<'_>) -> Result<(), LogError> {
        let mut first = Vec::new();
        while first.trim_ascii().is_empty() {
            target.line += u64::from(first.ends_with(b"\n"));
            first.clear();
            let read =
                (&mut input).take(LONGEST_LOG_LINE as u64).read_until(b'\n', &mut first).map_err(LogError::Io)?;
            if read == 0 {
                return Ok(());
            }
        }
        let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(event_of_line(&first)).is_ok();
        let begins_value = event_of_line(&first).starts_with(b"{");
        let input = Cursor::new(first).chain(input);
        if is_whole || !begins_value {
            return self.read_lines(input, jobs.max(1), target);
        }
        let mut reader = ChunkReader::new(&self.ids);
        document::read(input, &mut |events| {
            events.iter().for_each(|event| reader.read_value(event.get().as_bytes(), true));
            target.absorb(0, reader.take())
        })
    }

    fn read_lines(&self, input: impl BufRead + Send, jobs: usize, target: &mut Target<'_>) -> Result<(), LogError> {
        let (sender, receiver) = mpsc::sync_channel::<(usize, Piece)>(jobs * WAITING);
        let receiver = Mutex::new(receiver);
        let (results, read) = mpsc::sync_channel::<ReadPiece>(jobs * WAITING);
        thread::scope(|scope| {
            let pieces = scope.spawn(move || send_pieces(input, &sender));
            for reader in 0..jobs {
                let (receiver, results) = (&receiver, results.clone());
                scope.spawn(move || {
                    let mut lines = ChunkReader::new(&self.ids);
                    while let Some((number, piece)) = next_piece(receiver) {
                        read_piece(&piece, &mut lines);
                        if results.send(ReadPiece { number, reader, chunk: lines.take() }).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(results);
            let absorbed = absorb_in_order(&read, target);
            // The threads end when their results are no longer received.
            drop(read);
            let sent = match pieces.join() {
                Ok(sent) => sent.map_err(LogError::Io),
                Err(panic) => std::panic::resume_unwind(panic),
            };
            absorbed.and(sent)
        })
    }
}

/// A log of limited size.
struct LimitedLog<R> {
    input: R,
    left: u64,
}

impl<R: Read> Read for LimitedLog<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            std::io::Error::other(format!("it exceeds the limit of {}, decompressed", written_size(MAXIMUM_LOG_SIZE)))
        })?;
        Ok(read)
    }
}

/// Returns the next piece of a log; none at its end.
fn next_piece(receiver: &Mutex<mpsc::Receiver<(usize, Piece)>>) -> Option<(usize, Piece)> {
    let next = match receiver.lock() {
        Ok(receiver) => receiver.recv(),
        Err(poisoned) => poisoned.into_inner().recv(),
    };
    next.ok()
}

/// Reads the lines of a piece.
fn read_piece(piece: &Piece, reader: &mut ChunkReader<'_>) {
    if piece.is_too_long {
        reader.skip_line();
        return;
    }
    let mut rest = piece.bytes.as_slice();
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at(end);
        reader.read_line(line);
        rest = after;
    }
}

/// The events of a piece.
struct ReadPiece {
    /// Its place in the log, from 0.
    number: usize,
    /// The number of its reader.
    reader: usize,
    chunk: ReadChunk,
}

/// Whole lines of a log.
struct Piece {
    bytes: Vec<u8>,
    /// Whether the piece stands for a line that is too long; it then has no bytes.
    is_too_long: bool,
}

/// Sends the lines of a log in pieces.
fn send_pieces(mut input: impl BufRead, sender: &mpsc::SyncSender<(usize, Piece)>) -> std::io::Result<()> {
    let mut number = 0;
    let mut send = |piece: Piece| {
        number += 1;
        sender.send((number - 1, piece)).is_ok()
    };
    loop {
        let mut bytes = Vec::with_capacity(PIECE + PIECE / 4);
        (&mut input).take(PIECE as u64).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let last_line = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
        let mut is_too_long = false;
        if last_line < bytes.len() {
            let left = (LONGEST_LOG_LINE + 1).saturating_sub(bytes.len() - last_line);
            (&mut input).take(left as u64).read_until(b'\n', &mut bytes)?;
            is_too_long = bytes.len() - last_line > LONGEST_LOG_LINE && bytes.last() != Some(&b'\n');
        }
        if is_too_long {
            skip_line(&mut input)?;
            bytes.truncate(last_line);
        }
        if !send(Piece { bytes, is_too_long: false }) || is_too_long && !send(Piece { bytes: Vec::new(), is_too_long })
        {
            return Ok(());
        }
    }
}

/// Skips the rest of a line.
fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = memchr::memchr(b'\n', buffer);
        let length = buffer.len();
        input.consume(end.map_or(length, |end| end + 1));
        if end.is_some() || length == 0 {
            return Ok(());
        }
    }
}

fn absorb_in_order(read: &mpsc::Receiver<ReadPiece>, target: &mut Target<'_>) -> Result<(), LogError> {
    let mut early: BTreeMap<usize, ReadPiece> = BTreeMap::new();
    let mut due = 0;
    for piece in read {
        early.insert(piece.number, piece);
        while let Some(ReadPiece { reader, chunk, .. }) = early.remove(&due) {
            target.absorb(reader, chunk)?;
            due += 1;
        }
    }
    Ok(())
}

/// The record of a log while it is read.
struct Target<'t> {
    log: &'t mut AuditLog,
    /// The number of the log.
    number: usize,
    /// How many lines were read.
    line: u64,
    start: &'t EventCounts,
    /// The numbers of the requests of each list, by the reader of the list.
    lists: BTreeMap<usize, Vec<Vec<u32>>>,
    progress: &'t mut dyn FnMut(),
}

impl Target<'_> {
    /// Adds the events of a chunk of a reader.
    fn absorb(&mut self, reader: usize, chunk: ReadChunk) -> Result<(), LogError> {
        if let Some((line, version)) = &chunk.other_version {
            return Err(LogError::Version { line: self.line + line, version: version.clone() });
        }
        let lines = chunk.lines;
        let lists = self.lists.entry(reader).or_default();
        self.log.absorb(chunk, lists, self.number, self.line);
        self.line += lines;
        (self.progress)();
        self.log.problem_since(self.start, false).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_a_limit() {
        let read = |size: u64| {
            std::io::copy(&mut LimitedLog { input: std::io::repeat(b'\n').take(size), left: 100 }, &mut std::io::sink())
        };
        assert_eq!(read(100).ok(), Some(100));
        assert!(read(101).is_err_and(|error| error.to_string() == "it exceeds the limit of 64 GiB, decompressed"));
    }

    #[test]
    fn a_line_of_a_log_has_a_limit() {
        // The first piece ends in the long line, or in the short one.
        for before in [1, 3 * PIECE / 2] {
            for (length, is_too_long) in [(LONGEST_LOG_LINE, false), (LONGEST_LOG_LINE + 1, true)] {
                let log = format!("{}\n{}\nlast\n", "a".repeat(before), "b".repeat(length));
                let (sender, receiver) = mpsc::sync_channel(1_000);
                send_pieces(log.as_bytes(), &sender).expect("a log");
                drop(sender);
                let pieces: Vec<Piece> = receiver.into_iter().map(|(_, piece)| piece).collect();
                assert_eq!(pieces.iter().any(|piece| piece.is_too_long), is_too_long, "{before} {length}");
                let sent: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
                assert_eq!(sent, if is_too_long { log.len() - length - 1 } else { log.len() }, "{before} {length}");
            }
        }
    }
}
