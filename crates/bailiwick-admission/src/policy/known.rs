//! The known parts of a request. A request derived from a manifest has no user, and the API server fills in fields of
//! its object. An expression on such a part has no value.

use std::cell::Cell;

use super::ValidatingAdmissionPolicy;
use crate::installed::NEVER_KNOWN;
use bailiwick_cel::{Environment, EvalResult, Fail, Program};

/// The known parts of a request. By default everything is known.
#[derive(Debug, Clone)]
pub struct KnownRequest {
    /// Words for unknown parts in expressions, each with the reason.
    unknown: Vec<(String, &'static str)>,
    /// Whether fields with a server-side default may be absent.
    is_partial: bool,
    /// The remaining steps of expressions.
    steps: Cell<u64>,
}

impl Default for KnownRequest {
    fn default() -> Self {
        Self { unknown: Vec::new(), is_partial: false, steps: Cell::new(u64::MAX) }
    }
}

impl KnownRequest {
    /// Describes requests without the parts named by some words of a policy, with fields possibly absent. A word is a
    /// path such as `request.name`.
    pub fn without(policy: &ValidatingAdmissionPolicy, words: &[(&str, &'static str)]) -> Self {
        let unknown = words.iter().map(|(word, reason)| ((*word).to_owned(), *reason)).collect();
        let mut known = Self { unknown, is_partial: true, ..Self::default() };
        // A variable reads what the variables in its expression read.
        loop {
            let added: Vec<(String, &'static str)> = policy
                .variables
                .iter()
                .map(|(name, program)| (format!("variables.{name}"), program))
                .filter(|(word, _)| !known.unknown.iter().any(|(unknown, _)| unknown == word))
                .filter_map(|(word, program)| Some((word, known.reason(&program.source)?)))
                .collect();
            if added.is_empty() {
                return known;
            }
            known.unknown.extend(added);
        }
    }

    /// Describes requests for complete objects by an unknown user. All expressions have a number of steps together.
    pub(super) fn complete(policy: &ValidatingAdmissionPolicy, steps: u64) -> Self {
        Self { is_partial: false, ..Self::without(policy, &NEVER_KNOWN).within(steps) }
    }

    /// Limits the steps of all expressions together. An expression without a step left has no value.
    #[must_use]
    pub(crate) fn within(self, steps: u64) -> Self {
        Self { steps: Cell::new(steps), ..self }
    }

    /// Returns the remaining steps of expressions.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Returns a budget within the remaining steps.
    pub(super) fn budget(&self, limit: u64) -> u64 {
        limit.min(self.steps())
    }

    /// Takes the steps of an evaluation.
    pub(super) fn spend(&self, budget: u64, environment: &Environment<'_>) {
        self.steps.set(self.steps().saturating_sub(budget.saturating_sub(environment.budget())));
    }

    /// Returns the reason for an expression without a value.
    fn reason(&self, source: &str) -> Option<&'static str> {
        self.unknown.iter().find(|(word, _)| has_word(source, word)).map(|(_, reason)| *reason)
    }

    /// Evaluates an expression on the known parts.
    pub(super) fn evaluate(&self, program: &Program, environment: &Environment<'_>) -> EvalResult {
        if let Some(reason) = self.reason(&program.source) {
            return Err(Fail::Unknown(reason.to_owned()));
        }
        match program.evaluate(environment) {
            Err(Fail::Error(error)) if self.is_partial => {
                Err(Fail::Unknown(format!("an expression fails without the fields that the API server adds: {error}")))
            }
            outcome => outcome,
        }
    }
}

/// Whether an expression has a word, apart from longer names.
fn has_word(source: &str, word: &str) -> bool {
    // Quotes of names, and blanks around a point, mean nothing.
    let parts = source.split('.').map(str::trim).collect::<Vec<_>>();
    let plain = parts.join(".").replace('`', "");
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    plain.match_indices(word).any(|(at, _)| {
        let (before, behind) = (plain.get(..at), plain.get(at + word.len()..));
        !is_part(before.and_then(|text| text.chars().next_back()))
            && !is_part(behind.and_then(|text| text.chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_no_part_of_a_longer_name() {
        for source in [
            "object.metadata.name != ''",
            "has(object.metadata . name)",
            "x||metadata.`name`==y",
            "'a' in metadata\n  .name",
        ] {
            assert!(has_word(source, "metadata.name"), "{source}");
        }
        for source in ["object.metadata.namespace != ''", "mymetadata.name", "metadata.named"] {
            assert!(!has_word(source, "metadata.name"), "{source}");
        }
    }
}
