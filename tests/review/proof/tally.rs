//! The counts of a run: enough pairs of every kind, or the run proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick::app::review::{ChangeReview, PodChangeKind, Verdict};

use super::worlds::{Area, Pair};

/// The counts of the pairs of an area.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pairs: usize,
    equal: usize,
    different: usize,
    /// Pairs with a bound role that is missing on one side.
    unknown: usize,
    /// Pairs whose review lists possible changes, hazards or paths, and whose answers are alike.
    cautious: usize,
    /// Pairs with a possible change of pods.
    pub(super) possible: usize,
    pub(super) questions: usize,
    pub(super) pods: usize,
    /// The pairs with a change of each section.
    sections: BTreeMap<String, usize>,
    pub(super) faults: Vec<String>,
}

impl Tally {
    /// Counts a pair. `is_confirmed` means that a question is answered differently.
    pub(super) fn add(&mut self, pair: &Pair, review: &ChangeReview, is_confirmed: bool) {
        self.pairs += 1;
        match review.verdict {
            Some(Verdict::CannotTell) => self.unknown += 1,
            Some(Verdict::NoChange) => self.equal += 1,
            _ if is_confirmed => self.different += 1,
            _ => self.cautious += 1,
        }
        let mut sections: BTreeSet<String> = review.pods.iter().map(|change| section(change.kind)).collect();
        sections.extend((!review.effects.is_empty()).then(|| section_of(Area::Access)));
        sections.extend((pair.base.version != pair.head.version).then(|| section_of(Area::Version)));
        for section in sections {
            *self.sections.entry(section).or_default() += 1;
        }
    }

    /// Fails with the faults, or if too few pairs of a kind were drawn.
    pub(super) fn check(&self, area: Area) {
        println!(
            "{area:?}: {} pairs: {} without an effect, {} with effects, {} with effects by caution, {} that cannot be compared, {} with a possible change",
            self.pairs, self.equal, self.different, self.cautious, self.unknown, self.possible
        );
        println!("{area:?}: {} questions about access, {} about pods", self.questions, self.pods);
        println!("{area:?}: pairs with a change of a section: {:?}", self.sections);
        assert!(self.faults.is_empty(), "{} faults\n{}", self.faults.len(), self.faults.join("\n\n"));
        assert!(self.equal * 4 >= self.pairs && self.different * 4 >= self.pairs, "too few pairs of a kind");
        assert!((self.unknown + self.cautious) * 8 <= self.pairs, "too many pairs without an answer");
        assert_eq!(self.possible, 0, "pairs with possible changes of pods");
        let own = self.sections.get(&section_of(area)).copied().unwrap_or_default();
        assert!(own * 5 >= self.pairs, "{own} pairs with a change of the area");
    }
}

/// Returns the name of the section of an area.
fn section_of(area: Area) -> String {
    format!("{area:?}")
}

fn section(kind: PodChangeKind) -> String {
    format!("{kind:?}")
}
