//! A world that remembers what it was asked.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::{FileContent, FileSource, Listing};
use crate::diag::RunError;

/// A question to a world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Question {
    Read(String, u64),
    List(String),
    IsLink(String),
}

/// A hash of an answer.
type Digest = [u8; 32];

/// A question with a hash of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    question: Question,
    answer: Digest,
}

impl Answered {
    /// Returns whether a world gives this answer.
    pub fn holds(&self, world: &dyn FileSource) -> bool {
        let answer = match &self.question {
            Question::Read(path, most) => world.read(path, *most).ok().map(|content| hash_of_content(&content)),
            Question::IsLink(path) => Some(hash_of_bool(world.is_link(path))),
            Question::List(folder) => world.list(folder).ok().map(|listing| hash_of_list(&listing)),
        };
        answer == Some(self.answer)
    }
}

fn hash_of_content(content: &FileContent) -> Digest {
    match content {
        FileContent::Bytes(bytes) => hash(0, bytes),
        FileContent::Text(text) => hash(0, text.as_bytes()),
        other => hash(1, format!("{other:?}").as_bytes()),
    }
}

fn hash_of_bool(is_so: bool) -> Digest {
    hash(2, &[u8::from(is_so)])
}

fn hash_of_list(listing: &Listing) -> Digest {
    hash(3, format!("{listing:?}").as_bytes())
}

/// Returns a hash of an answer of one kind.
fn hash(kind: u8, bytes: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[kind]).update(bytes);
    hasher.finalize().into()
}

/// The recorded questions with their answers.
pub type RecordedAnswers = Arc<Mutex<Vec<Answered>>>;

/// A world whose answers are remembered.
pub struct RecordedSource {
    world: Box<dyn FileSource>,
    answers: RecordedAnswers,
}

impl RecordedSource {
    /// Returns a world, with the place where its answers are remembered.
    pub fn new(world: Box<dyn FileSource>) -> (Self, RecordedAnswers) {
        let answers = RecordedAnswers::default();
        (Self::with(world, &answers), answers)
    }

    /// Returns a world whose answers are remembered beside earlier ones.
    pub fn with(world: Box<dyn FileSource>, answers: &RecordedAnswers) -> Self {
        Self { world, answers: Arc::clone(answers) }
    }

    fn note(&self, question: Question, answer: Digest) {
        let answered = Answered { question, answer };
        self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(answered);
    }
}

impl FileSource for RecordedSource {
    fn read(&self, path: &str, most: u64) -> Result<FileContent, RunError> {
        let content = self.world.read(path, most)?;
        self.note(Question::Read(path.to_owned(), most), hash_of_content(&content));
        Ok(content)
    }

    fn is_link(&self, path: &str) -> bool {
        let is_link = self.world.is_link(path);
        self.note(Question::IsLink(path.to_owned()), hash_of_bool(is_link));
        is_link
    }

    fn list(&self, folder: &str) -> Result<Listing, RunError> {
        let listing = self.world.list(folder)?;
        self.note(Question::List(folder.to_owned()), hash_of_list(&listing));
        Ok(listing)
    }
}
