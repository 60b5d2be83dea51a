//! A world that remembers what it was asked.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::World;
use crate::diag::RunError;

/// A question to a world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Question {
    Read(String),
    Size(String),
    LeadsOutside(String),
    Exists(String),
    List(String),
    IsLink(String),
}

/// A question with a hash of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    question: Question,
    answer: u128,
}

impl Answered {
    /// True when a world gives this answer.
    pub fn holds(&self, world: &dyn World) -> bool {
        let answer = match &self.question {
            Question::Read(path) => world.read(path).ok().map(|bytes| hash_of_bytes(bytes.as_deref())),
            Question::Size(path) => Some(hash_of_size(world.size(path))),
            Question::LeadsOutside(path) => Some(u128::from(world.leads_outside(path))),
            Question::IsLink(path) => Some(u128::from(world.is_link(path))),
            Question::Exists(path) => world.exists(path).ok().map(u128::from),
            Question::List(folder) => world.list(folder).ok().map(|paths| hash_of_list(&paths)),
        };
        answer == Some(self.answer)
    }

    /// The file whose content was asked for.
    pub fn file(&self) -> Option<&str> {
        match &self.question {
            Question::Read(path) => Some(path),
            _ => None,
        }
    }
}

fn hash_of_bytes(bytes: Option<&[u8]>) -> u128 {
    // No file is told from an empty one.
    bytes.map_or(0, xxh3_128)
}

fn hash_of_size(size: Option<u64>) -> u128 {
    size.map_or(u128::MAX, u128::from)
}

fn hash_of_list(paths: &[String]) -> u128 {
    // A path holds no NUL.
    xxh3_128(paths.join("\0").as_bytes())
}

/// What was asked so far.
pub type Answers = Arc<Mutex<Vec<Answered>>>;

/// A world whose answers are remembered.
pub struct RecordedWorld {
    world: Box<dyn World>,
    answers: Answers,
}

impl RecordedWorld {
    /// A world, with the place where its answers are remembered.
    pub fn new(world: Box<dyn World>) -> (Self, Answers) {
        let answers = Answers::default();
        (Self::with(world, &answers), answers)
    }

    /// A world whose answers are remembered beside earlier ones.
    pub fn with(world: Box<dyn World>, answers: &Answers) -> Self {
        Self { world, answers: Arc::clone(answers) }
    }

    fn note(&self, question: Question, answer: u128) {
        let answered = Answered { question, answer };
        self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(answered);
    }
}

impl World for RecordedWorld {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let bytes = self.world.read(path)?;
        self.note(Question::Read(path.to_owned()), hash_of_bytes(bytes.as_deref()));
        Ok(bytes)
    }

    fn size(&self, path: &str) -> Option<u64> {
        let size = self.world.size(path);
        self.note(Question::Size(path.to_owned()), hash_of_size(size));
        size
    }

    fn leads_outside(&self, path: &str) -> bool {
        let leads = self.world.leads_outside(path);
        self.note(Question::LeadsOutside(path.to_owned()), u128::from(leads));
        leads
    }

    fn is_link(&self, path: &str) -> bool {
        let is_link = self.world.is_link(path);
        self.note(Question::IsLink(path.to_owned()), u128::from(is_link));
        is_link
    }

    fn exists(&self, path: &str) -> Result<bool, RunError> {
        let exists = self.world.exists(path)?;
        self.note(Question::Exists(path.to_owned()), u128::from(exists));
        Ok(exists)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, RunError> {
        let paths = self.world.list(folder)?;
        self.note(Question::List(folder.to_owned()), hash_of_list(&paths));
        Ok(paths)
    }
}
