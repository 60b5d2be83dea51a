//! Lists of events over several lines, such as the output of `jq`. The items of a list are read one by one.

use std::cell::Cell;
use std::fmt;
use std::io::{BufRead, Read};
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use bailiwick_yaml::limits::{LONGEST_LOG_LINE, written_size};

use crate::event::API_VERSION;
use crate::log::LogError;

/// How many events are shown together.
const TOGETHER: usize = 1_000;

/// Takes events as JSON.
type Show<'s> = dyn FnMut(Vec<Box<RawValue>>) -> Result<(), LogError> + 's;

/// Reads the values of a text, and shows their events.
pub(crate) fn read(input: impl BufRead, show: &mut Show<'_>) -> Result<(), LogError> {
    let left = Rc::new(Cell::new(LONGEST_LOG_LINE));
    let limited = Limited { input, left: Rc::clone(&left) };
    let mut values = serde_json::Deserializer::from_reader(limited);
    let mut list = EventVisitor { show, left: &left, waiting: Vec::new(), failed: None };
    loop {
        left.set(LONGEST_LOG_LINE);
        if let Err(error) = values.end() {
            if !error.is_syntax() && !error.is_data() {
                return Err(unreadable(&error));
            }
        } else {
            return list.flush();
        }
        let read = values.deserialize_map(&mut list);
        if let Some(failed) = list.failed.take() {
            return Err(failed);
        }
        read.map_err(|error| unreadable(&error))?;
    }
}

fn unreadable(error: &serde_json::Error) -> LogError {
    match error.classify() {
        serde_json::error::Category::Io => LogError::Io(std::io::Error::other(error.to_string())),
        _ => LogError::Unreadable { unreadable: 1, lines: 1, first: error.to_string() },
    }
}

/// Reads a list of events, or an event.
struct EventVisitor<'s, 'f> {
    show: &'s mut Show<'f>,
    left: &'s Cell<usize>,
    waiting: Vec<Box<RawValue>>,
    failed: Option<LogError>,
}

impl EventVisitor<'_, '_> {
    fn add(&mut self, event: Box<RawValue>) -> Result<(), LogError> {
        self.left.set(LONGEST_LOG_LINE);
        self.waiting.push(event);
        if self.waiting.len() >= TOGETHER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), LogError> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() { Ok(()) } else { (self.show)(waiting) }
    }

    /// Adds an event, and keeps the error of a log that cannot be used.
    fn add_or_keep<E: serde::de::Error>(&mut self, event: Box<RawValue>) -> Result<(), E> {
        self.add(event).map_err(|failed| {
            self.failed = Some(failed);
            E::custom("stopped")
        })
    }
}

impl<'de> Visitor<'de> for &mut EventVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an Event or an EventList")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // An event is a map of texts and small maps: it is put together again when it ends.
        let mut event = serde_json::Map::new();
        let mut is_list = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" {
                is_list = true;
                map.next_value_seed(Items(self))?;
                continue;
            }
            event.insert(key, map.next_value()?);
        }
        let text = |key: &str| event.get(key).and_then(serde_json::Value::as_str).map_or("", |text| text);
        if is_list {
            let (kind, version) = (text("kind"), text("apiVersion"));
            if kind != "EventList" || version != API_VERSION {
                let found = if kind == "EventList" { version } else { kind };
                return Err(A::Error::custom(format!("a list of `{found}`, not an EventList of {API_VERSION}")));
            }
            return Ok(());
        }
        if text("kind").is_empty() || text("apiVersion").is_empty() {
            return Err(A::Error::custom("an object without `kind` and `apiVersion`"));
        }
        let event = serde_json::value::to_raw_value(&event).map_err(A::Error::custom)?;
        self.add_or_keep(event)
    }
}

/// Reads the items of a list.
struct Items<'v, 's, 'f>(&'v mut EventVisitor<'s, 'f>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the events of a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(event) = items.next_element::<Box<RawValue>>()? {
            self.0.add_or_keep(event)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Err(A::Error::custom("`items` is a map, not a list"))
    }
}

/// A reader with a limit on the bytes without an event.
struct Limited<R> {
    input: R,
    left: Rc<Cell<usize>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.left.get());
        let Some(buffer) = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty()) else {
            let message = format!("a value is longer than {}", written_size(LONGEST_LOG_LINE as u64));
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
        };
        let read = self.input.read(buffer)?;
        self.left.set(self.left.get() - read);
        Ok(read)
    }
}
