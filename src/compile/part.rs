//! Compiling a part of a target's namespaces, and judging all parts together.
//!
//! [`merge`] judges one object against another, from the records of the parts; a part alone judges everything else.
//! Labels of namespaces follow from the whole target, so that each part of a target with labels compiles the whole once to
//! collect them, and makes its own files with them.

use crate::codes;
use serde::{Deserialize, Serialize};

use super::{CompileOptions, FileConsumer, LinkedWorkspace, Pass, labels};
use crate::diag::{Diagnostic, Origin, RunError, Sink};
use crate::expand::HomeIndex;
use crate::model::Target;
use crate::validate::HomeFacts;
use crate::validate::set::{PartCollector, PartFacts, judge};

/// The results of a part during the run. Nothing is kept for a whole target.
#[derive(Debug, Default)]
pub struct ShardSummary {
    kept: Option<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    collector: PartCollector,
    /// For each diagnostic of the sink: the place of the home that it was found in; none for one that is judged anew
    /// when the parts are merged.
    homes: Vec<Option<u32>>,
}

impl ShardSummary {
    /// Begins to keep what is found.
    pub(super) fn open(&mut self) {
        self.kept = Some(Kept::default());
    }

    /// Returns whether the findings are kept.
    pub(super) fn is_open(&self) -> bool {
        self.kept.is_some()
    }

    /// Notes the facts of a home and the diagnostics of its compilation.
    pub(super) fn note(&mut self, home: u32, facts: &HomeFacts, sink: &Sink) {
        if let Some(kept) = &mut self.kept {
            kept.collector.add(home, facts);
            kept.homes.resize(sink.len(), Some(home));
        }
    }

    /// Notes the diagnostics of its facts. The merge of all parts finds two objects of one name in two homes.
    pub(super) fn note_judged(&mut self, home: u32, sink: &Sink) {
        if let Some(Kept { homes, .. }) = &mut self.kept {
            let news = sink.diagnostics().get(homes.len()..).unwrap_or_default();
            homes.extend(news.iter().map(|news| (news.code != codes::DUPLICATE_OBJECT).then_some(home)));
        }
    }

    /// Returns the record for the merge. `told` is the whole sink of the target; the diagnostics at its end have no
    /// home.
    pub fn record(self, target: &Target, told: &[Diagnostic]) -> PartRecord {
        let Kept { collector, homes } = self.kept.unwrap_or_default();
        let homes = homes.into_iter().chain(std::iter::repeat(Some(u32::MAX)));
        let kept = told.iter().zip(homes).filter_map(|(diagnostic, home)| Some((home?, diagnostic.clone())));
        PartRecord { diagnostics: kept.collect(), facts: collector.finish(target) }
    }
}

/// The results of a part in a target.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PartRecord {
    /// Diagnostics of single homes, with the position of each home among the homes of all parts.
    #[serde(deserialize_with = "codes::numbered_diagnostics")]
    pub diagnostics: Vec<(u32, Diagnostic)>,
    /// Facts that concern several homes.
    pub facts: PartFacts,
}

impl PartRecord {
    /// Returns whether every number is valid; `has` returns whether a place exists.
    pub fn is_consistent(&mut self, has: impl Fn(Origin) -> bool) -> bool {
        let told = self.diagnostics.iter_mut().flat_map(|(_, diagnostic)| diagnostic.places().map(|place| *place));
        told.chain(self.facts.places()).all(has) && self.facts.is_consistent()
    }
}

/// Makes the files of a part of a target, or of all of it; see [`super::compile`]. The sink has to be the target's own.
///
/// # Errors
/// The first error of the consumer.
pub fn compile_part<R: Send>(
    project: &LinkedWorkspace,
    target: &Target,
    options: CompileOptions,
    consumer: FileConsumer<'_, R>,
    sink: &mut Sink,
) -> Result<ShardSummary, RunError> {
    // After an error the collection is not complete. The pass that writes reports the error.
    let mut collecting = Sink::new();
    let labels = labels(project, target, options, &mut collecting)?.filter(|_| !collecting.has_errors());
    Pass { project, target, options, labels: labels.as_ref() }.run(consumer, sink)
}

/// Reports the diagnostics of all parts of a target, in the order of a single run, with the diagnostics that need several
/// parts.
pub fn merge(project: &LinkedWorkspace, target: &Target, parts: Vec<PartRecord>, sink: &mut Sink) {
    let mut facts = Vec::with_capacity(parts.len());
    let mut told = Vec::new();
    for part in parts {
        facts.push(part.facts);
        told.extend(part.diagnostics);
    }
    told.sort_by_key(|(home, _)| *home);
    let after_homes = told.partition_point(|(home, _)| *home < u32::MAX);
    let strays = told.split_off(after_homes);
    told.into_iter().for_each(|(_, diagnostic)| sink.push(diagnostic));
    judge(target, project.existing_on(target), &facts, sink);
    strays.into_iter().for_each(|(_, diagnostic)| sink.push(diagnostic));
}

/// Returns the homes of a target in all parts.
pub fn homes(project: &LinkedWorkspace, target: &Target) -> HomeIndex {
    HomeIndex::new(&project.policies, target)
}
