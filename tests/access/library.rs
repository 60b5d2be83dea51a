//! The library itself, put to the tables and to its opponent.

use bailiwick::access::Builder;
use bailiwick::access::ask::Asker;
use serde_json::{Value, json};

use super::{Evaluator, assert_tables};
use crate::oracle::{Naive, duel};

/// The random worlds on which the two evaluators are compared.
const SEEDS: std::ops::Range<u64> = 1000..1300;

pub(crate) struct Library {
    asker: Asker,
}

impl Library {
    pub(crate) fn new() -> Self {
        Self { asker: Asker::new(Builder::new(36).build(), false) }
    }
}

impl Evaluator for Library {
    fn world(&mut self, objects: &[Value], baseline: Option<&str>) {
        let question = json!({ "world": { "objects": objects, "baseline": baseline } });
        self.asker.answer(&question).expect("a world");
    }

    fn ask(&self, question: &Value) -> Value {
        self.asker.ask(question).unwrap_or_else(|problem| json!({ "error": problem }))
    }
}

#[test]
fn the_library_answers_every_table() {
    assert_tables(&mut Library::new());
}

#[test]
fn the_library_agrees_with_its_opponent() {
    match duel(&mut Naive::default(), &mut Library::new(), SEEDS) {
        Ok(asked) => assert!(asked > 10_000, "only {asked} questions"),
        Err(difference) => panic!("{difference}"),
    }
}
