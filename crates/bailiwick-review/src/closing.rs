//! Smaller changes that close new escalation paths.
//!
//! A candidate takes a part of the change back: a verb, a resource, an entry of a list, or a changed part of a file. The whole workspace
//! with the edited file is compiled and reviewed against the earlier state. A candidate is proposed if the path is gone, if there is
//! no effect that the reviewed change does not have, and if no further AccessTest fails. Nothing is proposed unchecked.

mod candidates;
mod edit;
mod rules;
mod within;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_compiler::emit::diff::unified;
use bailiwick_workspace::review_base::OpenedBase;
use bailiwick_workspace::workspace::open_other;
use bailiwick_workspace::workspace_files::WorkspaceFiles;

use self::candidates::{Candidate, ChangedText, Wanted, candidates};
use self::within::is_within;
use super::assembly::Sections;
use super::causes::InputChanges;
use super::paths::{NeededRule, PathDelta};
use super::record::{EffectSeverity, SmallerChange};
use super::suggestion::{Suggestion, Suggestions};
use super::{Error, Workspace, compare_targets};

/// The most paths with a smaller change: as many as the Markdown form shows.
const MAXIMUM_PATHS: usize = 5;

/// The most candidates that are compiled.
const MAXIMUM_TRIALS: usize = 6;

/// The most namespaces that all candidates together compile for a target.
const MAXIMUM_COMPILED: usize = 1_000;

/// The most edits of a smaller change.
const MAXIMUM_EDITS: usize = 3;

/// Both states, and the reviewed change.
pub(super) struct Closing<'r, 's> {
    pub(super) base: &'r OpenedBase,
    pub(super) head: &'r Workspace,
    pub(super) inputs: &'r InputChanges<'r>,
    pub(super) below: &'r str,
    /// The names of the reviewed targets.
    pub(super) targets: &'r [String],
    /// The sections of the review.
    pub(super) sections: &'r Sections<'s>,
}

/// The texts of edited files by their paths.
type Edits = BTreeMap<String, String>;

/// A reviewed candidate.
struct Trial {
    edits: Edits,
    /// Whether it compiles and has no effect beyond the effects of the reviewed change.
    is_within: bool,
    /// The positions of the paths that it does not close.
    open: BTreeSet<usize>,
    /// The rules behind the open paths.
    needs: BTreeMap<usize, Vec<NeededRule>>,
}

/// A path to close, with the test of it.
struct OpenPath<'r> {
    position: usize,
    delta: &'r PathDelta,
    test: &'r Suggestion,
}

/// The search for the smaller changes of a review.
struct Search<'r, 's> {
    closing: &'r Closing<'r, 's>,
    paths: Vec<OpenPath<'r>>,
    trials: Vec<Trial>,
    most_trials: usize,
}

/// The edits so far, in words, with the rules behind the path that is still open.
struct Progress {
    edits: Edits,
    words: Vec<String>,
    needs: Vec<NeededRule>,
}

impl Closing<'_, '_> {
    /// Returns the smaller changes of the first new paths, by the positions of the paths.
    ///
    /// # Errors
    /// When an input cannot be read.
    pub(super) fn find(&self) -> Result<Vec<(usize, SmallerChange)>, Error> {
        let deltas = self.sections.paths.iter().enumerate();
        let worst = deltas.filter(|(_, delta)| delta.is_new() && delta.severity >= EffectSeverity::High);
        let tested = worst.filter_map(|(position, delta)| {
            let test = self.sections.suggestions.about(delta)?;
            Some(OpenPath { position, delta, test })
        });
        let paths: Vec<OpenPath<'_>> = tested.take(MAXIMUM_PATHS).collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut search = Search { closing: self, paths, trials: Vec::new(), most_trials: self.most_trials() };
        let mut found = Vec::new();
        for index in 0..search.paths.len() {
            let Some(path) = search.paths.get(index) else { continue };
            let position = path.position;
            found.extend(search.close(index)?.map(|change| (position, change)));
        }
        Ok(found)
    }

    /// Returns how many candidates are compiled: fewer in a large workspace.
    fn most_trials(&self) -> usize {
        let (project, sampled) = (self.head.project(), self.head.sampled());
        let targets = project.workspace.targets.iter().filter(|target| self.targets.contains(&target.name));
        let sizes = targets.map(|target| sampled.of_target(&project.policies, target).len());
        sizes.fold(MAXIMUM_TRIALS, |most, size| most.min(MAXIMUM_COMPILED / size.max(1)))
    }
}

impl Search<'_, '_> {
    /// Returns a smaller change that closes a path.
    fn close(&mut self, index: usize) -> Result<Option<SmallerChange>, Error> {
        let Some(path) = self.paths.get(index) else { return Ok(None) };
        let (delta, needs) = (path.delta, path.delta.needs.clone());
        let start = Progress { edits: Edits::new(), words: Vec::new(), needs };
        if let Some(found) = self.narrow(index, &start)? {
            return Ok(Some(found));
        }
        for cause in &delta.causes {
            let Some(part) = self.closing.inputs.without(*cause) else { continue };
            let place = format!("{}:{}", self.closing.inputs.path_from_root(part.path), part.line);
            let candidate = Candidate {
                path: part.path.to_owned(),
                text: part.text,
                words: format!("take back the change at `{place}`"),
            };
            let next = start.with(candidate);
            if self.try_edits(&next.edits)?.is_some_and(|trial| trial.closes(index)) {
                return Ok(self.proposal(index, &next));
            }
        }
        Ok(None)
    }

    /// Returns the first edits, from narrow to wide, that close a path.
    fn narrow(&mut self, index: usize, progress: &Progress) -> Result<Option<SmallerChange>, Error> {
        for candidate in self.candidates(index, progress) {
            let mut next = progress.with(candidate);
            let Some(trial) = self.try_edits(&next.edits)?.filter(|trial| trial.is_within) else { continue };
            if trial.closes(index) {
                return Ok(self.proposal(index, &next));
            }
            // Another step leads to the same power.
            let Some(needs) = trial.needs.get(&index).filter(|needs| **needs != progress.needs) else { continue };
            next.needs.clone_from(needs);
            if next.words.len() < MAXIMUM_EDITS {
                let found = self.narrow(index, &next)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Returns the next edits for a path.
    fn candidates(&self, index: usize, progress: &Progress) -> Vec<Candidate> {
        let Some(path) = self.paths.get(index) else { return Vec::new() };
        let wanted = Wanted { subject: &path.delta.subject, needs: &progress.needs };
        let mut files: Vec<&str> = Vec::new();
        for place in progress.needs.iter().flat_map(|need| &need.places) {
            if !files.contains(&place.path.as_str()) {
                files.push(&place.path);
            }
        }
        let of_file = |path: &&str| {
            let [base, head] = self.closing.inputs.texts(path)?;
            let head = progress.edits.get(*path).map_or(head, String::as_str);
            Some(candidates(ChangedText { path, base, head }, wanted))
        };
        files.iter().filter_map(of_file).flatten().collect()
    }

    /// Reviews the workspace with edited files; none if no further one is compiled.
    fn try_edits(&mut self, edits: &Edits) -> Result<Option<&Trial>, Error> {
        if let Some(known) = self.trials.iter().position(|trial| trial.edits == *edits) {
            return Ok(self.trials.get(known));
        }
        if self.trials.len() >= self.most_trials {
            return Ok(None);
        }
        let trial = self.trial(edits)?;
        self.trials.push(trial);
        Ok(self.trials.last())
    }

    fn trial(&self, edits: &Edits) -> Result<Trial, Error> {
        let Closing { base, head, below, targets, sections, .. } = *self.closing;
        let useless = Trial { edits: edits.clone(), is_within: false, open: BTreeSet::new(), needs: BTreeMap::new() };
        let files = WorkspaceFiles::Edited(Arc::new(head.files().clone()), edits.clone());
        let edited = match open_other(head, files) {
            Ok(edited) => edited.with_sample(sections.spread.sample()),
            Err(Error::Invalid(_)) => return Ok(useless),
            Err(error) => return Err(error),
        };
        let inputs = InputChanges::new(base.workspace(), &edited, below);
        let mut own = Sections::new(&edited, base, &inputs, below, sections.spread);
        own.suggestions = Suggestions::to_ask(self.paths.iter().map(|path| path.test.clone()).collect());
        if compare_targets(&edited, targets, base, &inputs, &mut own)?.is_some() {
            return Ok(useless);
        }
        let is_open = |delta: &&PathDelta, path: &OpenPath<'_>| {
            delta.is_new() && (&delta.subject, &delta.reaches) == (&path.delta.subject, &path.delta.reaches)
        };
        let needs_of =
            |path: &OpenPath<'_>| own.paths.iter().find(|delta| is_open(delta, path)).map(|delta| delta.needs.clone());
        let paths = self.paths.iter().enumerate();
        Ok(Trial {
            is_within: is_within(&own, sections),
            needs: paths.filter_map(|(index, path)| Some((index, needs_of(path)?))).collect(),
            open: own.suggestions.failed().clone(),
            ..useless
        })
    }

    fn proposal(&self, index: usize, progress: &Progress) -> Option<SmallerChange> {
        let Closing { head, inputs, .. } = *self.closing;
        let diff = |(path, text): (&String, &String)| {
            let before = inputs.texts(path).map(|[_, head]| head);
            unified(&inputs.path_from_root(path), before, Some(text))
        };
        Some(SmallerChange {
            words: progress.words.join(" and "),
            diff: progress.edits.iter().map(diff).collect(),
            test: Some(self.paths.get(index)?.test.text(head)),
        })
    }
}

impl Trial {
    /// Whether the candidate closes a path, and can be proposed.
    fn closes(&self, index: usize) -> bool {
        self.is_within && !self.open.contains(&index) && !self.needs.contains_key(&index)
    }
}

impl Progress {
    /// Returns the edits with a further one.
    fn with(&self, candidate: Candidate) -> Self {
        let (mut edits, mut words) = (self.edits.clone(), self.words.clone());
        edits.insert(candidate.path, candidate.text);
        words.push(candidate.words);
        Self { edits, words, needs: self.needs.clone() }
    }
}
