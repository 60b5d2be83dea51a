//! The bounds of one object's rendering.
//!
//! Every expression, every item of a loop and every byte of a value that a template makes is paid from one budget, so
//! that time and memory are bounded alike on every machine. A value is paid with everything that it contains, a shared
//! part each time: ten references to a list cost ten lists. Nothing needs a clock.

use bailiwick_policy::model::Data;
use bailiwick_yaml as yaml;

/// How many steps one object may take: hundreds of times what the largest one needs.
pub(super) const MAXIMUM_STEPS: u64 = 2_000_000;

/// How many bytes a string may have that a template makes: about what an object of the API server may have.
pub(super) const MAXIMUM_TEXT: usize = 1 << 20;

/// How many bytes one object may have: several times what the API server takes.
pub(super) const MAXIMUM_OBJECT: usize = 16 << 20;

/// How many bytes of a string one step pays.
const BYTES_PER_STEP: usize = 8;

/// How many steps an item of a list or a map costs.
const STEPS_PER_ITEM: u64 = 4;

/// How many entries are looked at in one step.
const ENTRIES_PER_STEP: usize = 16;

/// How deep statements, expressions and included templates may nest.
const MAXIMUM_NESTING: usize = 200;

/// Why a template cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cause {
    /// A value that the object does not have, as the template writes it.
    Undefined(String),
    /// The steps are used up.
    Steps,
    /// A string is longer than [`MAXIMUM_TEXT`].
    LongText,
    /// The object is longer than [`MAXIMUM_OBJECT`].
    LongObject,
    /// Statements, expressions, included templates or values nest too deep.
    Nesting,
    /// There is no such template to include.
    NoTemplate(String),
    /// The template cannot be parsed; with the problem.
    Syntax(String),
    /// An operation that templates do not have, or that the value does not allow: the problem and the remedy.
    Wrong(String, String),
}

/// Returns the price of bytes that are written or compared.
pub(super) fn steps_of_bytes(bytes: usize) -> u64 {
    (bytes / BYTES_PER_STEP) as u64
}

/// The rest of the budget of one object.
#[derive(Debug)]
pub(super) struct Budget {
    steps: u64,
    nesting: usize,
}

impl Budget {
    /// Returns the budget of one object.
    pub(super) fn new() -> Self {
        Self { steps: MAXIMUM_STEPS, nesting: 0 }
    }

    /// Pays for a number of steps.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Cause> {
        self.steps = self.steps.checked_sub(steps).ok_or(Cause::Steps)?;
        Ok(())
    }

    /// Returns the steps that were spent.
    pub(super) fn spent(&self) -> u64 {
        MAXIMUM_STEPS - self.steps
    }

    /// Pays for the bytes that are written or compared.
    pub(super) fn bytes(&mut self, bytes: usize) -> Result<(), Cause> {
        self.spend(steps_of_bytes(bytes))
    }

    /// Pays for a string before it is made.
    pub(super) fn text(&mut self, bytes: usize) -> Result<(), Cause> {
        if bytes > MAXIMUM_TEXT {
            return Err(Cause::LongText);
        }
        self.bytes(bytes)
    }

    /// Pays for the items of a list or a map before it is made.
    pub(super) fn items(&mut self, count: usize) -> Result<(), Cause> {
        self.spend((count as u64).saturating_mul(STEPS_PER_ITEM))
    }

    /// Pays for looking at some entries for one of a name.
    pub(super) fn search(&mut self, entries: usize) -> Result<(), Cause> {
        self.spend((entries / ENTRIES_PER_STEP) as u64)
    }

    /// Returns the value of a key, of a map.
    pub(super) fn get(&mut self, map: &Data, key: &str) -> Result<Option<Data>, Cause> {
        if let Data::Map(entries) = map {
            self.search(entries.len())?;
        }
        Ok(map.get(key).cloned())
    }

    /// Pays for a value with everything in it.
    pub(super) fn value(&mut self, data: &Data) -> Result<(), Cause> {
        self.nested_value(data, 0)
    }

    fn nested_value(&mut self, data: &Data, depth: usize) -> Result<(), Cause> {
        if depth > yaml::MAXIMUM_DEPTH {
            return Err(Cause::Nesting);
        }
        match data {
            Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) => self.spend(1),
            Data::Str(text) => self.bytes(text.len()),
            Data::List(items) => {
                self.items(items.len())?;
                items.iter().try_for_each(|item| self.nested_value(item, depth + 1))
            }
            Data::Map(entries) => {
                self.items(entries.len())?;
                entries.iter().try_for_each(|(key, value)| {
                    self.bytes(key.len())?;
                    self.nested_value(value, depth + 1)
                })
            }
        }
    }

    /// Goes one statement, expression or template deeper, for one step.
    pub(super) fn enter(&mut self) -> Result<(), Cause> {
        self.nesting += 1;
        if self.nesting > MAXIMUM_NESTING {
            return Err(Cause::Nesting);
        }
        self.spend(1)
    }

    /// Comes back from [`Budget::enter`].
    pub(super) fn leave(&mut self) {
        self.nesting -= 1;
    }
}
