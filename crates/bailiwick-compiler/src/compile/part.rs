//! Compiling a part of a target's namespaces, and judging all parts together.
//!
//! [`merge`] judges one object against another, from the records of the parts; a part alone judges everything else.
//! Labels of namespaces follow from the whole target, so that each part of a target with labels compiles the whole once to
//! collect them, and makes its own files with them.

use bailiwick_codes as codes;
use bailiwick_policy::model::{OutputFileKey, Target};
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink};
use serde::{Deserialize, Serialize};

use super::{CompileOptions, FileConsumer, LinkedWorkspace, Pass, labels};
use crate::expand::{self, OutputFileIndex};
use crate::validate::OutputFileFacts;
use crate::validate::set::{PartCollector, PartFacts, judge};

/// The results of a part during the run. Nothing is kept for a whole target.
#[derive(Debug, Default)]
pub struct ShardSummary {
    kept: Option<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    collector: PartCollector,
    /// For each diagnostic of the sink: the place of the output file that it was found in; none for one that is judged anew
    /// when the parts are merged.
    places: Vec<Option<u32>>,
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

    /// Notes the facts of an output file and the diagnostics of its compilation.
    pub(super) fn note(&mut self, place: u32, facts: &OutputFileFacts, sink: &Sink) {
        if let Some(kept) = &mut self.kept {
            kept.collector.add(place, facts);
            kept.places.resize(sink.len(), Some(place));
        }
    }

    /// Notes the diagnostics of its facts. The merge of all parts finds two objects of one name in two output files.
    pub(super) fn note_judged(&mut self, place: u32, sink: &Sink) {
        if let Some(Kept { places, .. }) = &mut self.kept {
            let news = sink.diagnostics().get(places.len()..).unwrap_or_default();
            places.extend(news.iter().map(|news| (news.code != codes::DUPLICATE_OBJECT).then_some(place)));
        }
    }

    /// Returns the record for the merge. `told` is the whole sink of the target; the diagnostics at its end have no
    /// output file.
    pub fn record(self, target: &Target, told: &[Diagnostic]) -> PartRecord {
        let Kept { collector, places } = self.kept.unwrap_or_default();
        let places = places.into_iter().chain(std::iter::repeat(Some(u32::MAX)));
        let kept = told.iter().zip(places).filter_map(|(diagnostic, place)| Some((place?, diagnostic.clone())));
        PartRecord { diagnostics: kept.collect(), facts: collector.finish(target) }
    }
}

/// The results of a part in a target.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PartRecord {
    /// Diagnostics of single output files, with the position of each output file among the output files of all parts.
    #[serde(deserialize_with = "codes::numbered_diagnostics")]
    pub diagnostics: Vec<(u32, Diagnostic)>,
    /// Facts that concern several output files.
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
    told.sort_by_key(|(place, _)| *place);
    let after_places = told.partition_point(|(place, _)| *place < u32::MAX);
    let strays = told.split_off(after_places);
    told.into_iter().for_each(|(_, diagnostic)| sink.push(diagnostic));
    judge(target, project.existing_on(target), &facts, sink);
    strays.into_iter().for_each(|(_, diagnostic)| sink.push(diagnostic));
}

/// Calls a function with the output files of a target in all parts, in no order. A file can come several times.
pub fn each_output_file(project: &LinkedWorkspace, target: &Target, visit: &mut dyn FnMut(OutputFileKey)) {
    expand::each_contribution(&project.policies, target, &mut |output_file, _, _| visit(output_file));
}

/// Returns the output files of a target in all parts.
pub fn output_files(project: &LinkedWorkspace, target: &Target) -> OutputFileIndex {
    OutputFileIndex::new(&project.policies, target)
}
