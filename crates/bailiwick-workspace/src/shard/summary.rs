//! The file that a part of a run leaves for `bailiwick merge`: facts and counts, and what was found.
//!
//! One of another version of the program is refused. Places in it are places of the input that it names by a hash; only
//! texts that are no input, such as what a template rendered, are in it themselves.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_compiler::compile::PartRecord;
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_git::GitObjectId;
use bailiwick_policy::model::Part;
use bailiwick_yaml::diag::{Diagnostic, FileId, Files, Origin};
use bailiwick_yaml::digest::Digest;
use bailiwick_yaml::limits::{MAXIMUM_SUMMARY_SIZE, written_size};
use serde::{Deserialize, Serialize};

use crate::file_format::{Broken, EncodeError, FileFormat};
use crate::left_behind::NotJudged;
use crate::part_files::{PartFile, are_consistent, is_of_part};
use crate::removal::Consent;
use crate::target_changes::ObjectsByTarget;

/// Marks such a file, with the version of its format and of the program. Templates that are built in are input and not
/// looked at here.
const FORMAT: FileFormat = FileFormat::new("bailiwick parts", concat!("\x0a", env!("CARGO_PKG_VERSION"), "\n"));

/// The results of a part.
#[derive(Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Its number, and how many there are.
    pub part: (u16, u16),
    /// A hash of everything that was read.
    pub(crate) input: Digest,
    /// The command of the run.
    pub command: Command,
    /// The results by target.
    pub targets: Vec<TargetSummary>,
    /// Files of targets that are gone, by target.
    pub leftovers: BTreeMap<String, Totals>,
    /// The differences of the delivery folder; none in a part without them.
    pub delivery: Option<DeliverySummary>,
    /// The objects of targets that are gone.
    pub leftover_objects: ObjectsByTarget,
    /// The objects that the part has of targets that may be new, where another target is gone.
    pub new_objects: ObjectsByTarget,
    /// Diagnostics about entries beside the folders of the targets.
    #[serde(deserialize_with = "codes::diagnostics")]
    pub beside_targets: Vec<Diagnostic>,
    /// Isolations of nodes that do not hold.
    #[serde(deserialize_with = "codes::diagnostics")]
    pub isolation: Vec<Diagnostic>,
    /// The output files outside the output folder that the first part did not judge.
    pub not_judged: NotJudged,
    /// Texts that diagnostics point into and that are no input: the number of each, its name and itself.
    pub(crate) texts: Vec<(FileId, String, String)>,
}

/// The results of a part in a target.
#[derive(Debug, Serialize, Deserialize)]
pub struct TargetSummary {
    /// As the workspace file names the target.
    pub name: String,
    /// The facts and diagnostics that the merge judges.
    pub record: PartRecord,
    /// The counts of the differing files and objects.
    pub totals: Totals,
    /// The differing files, where the merge prints their differences.
    pub files: Vec<PartFile>,
}

/// The differences of the delivery folder.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeliverySummary {
    /// The counts of the differing files and objects.
    pub totals: Totals,
    /// The differing files, where the merge prints their differences.
    pub files: Vec<PartFile>,
}

/// The command of the shards together, with the options that decide its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// The shard wrote its output files.
    Render {
        /// The targets that were named.
        targets: Vec<String>,
        /// The deletions that were accepted.
        consent: Consent,
    },
    /// The shard compared its output files and wrote none.
    Check {
        /// The targets that were named.
        targets: Vec<String>,
        /// True when the counts only were asked for.
        summary: bool,
        /// True when files with similar changes were not grouped.
        ungrouped: bool,
        /// The commit that the shard judged; none for the files on disk.
        commit: Option<String>,
        /// A sentence about the files that were compiled or compared instead of the files of a commit.
        other_files: Option<String>,
    },
}

/// The reason why a file is no summary that a merge can use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableSummary {
    /// The file is larger than the limit.
    #[error("it is larger than {}", written_size(MAXIMUM_SUMMARY_SIZE as u64))]
    TooLarge,
    /// The file has another format.
    #[error("it is not a summary of a part")]
    Foreign,
    /// The file has the format and cannot be read; the reason.
    #[error("{0}")]
    Broken(String),
    /// The part read other files than this run.
    #[error("it is of another input than this workspace's")]
    OtherInput,
    /// The counts contradict each other.
    #[error("its parts do not fit together")]
    Inconsistent,
    /// The part ran on other targets.
    #[error("it is of other targets than this run's")]
    OtherTargets,
}

impl Command {
    /// Returns the name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Render { .. } => "render",
            Self::Check { .. } => "check",
        }
    }

    /// Whether the merge of the shards prints the differences of the files.
    fn prints_differences(&self) -> bool {
        matches!(self, Self::Check { summary: false, .. })
    }

    /// Whether a run can have this command: an id of git in place of a commit.
    fn is_plausible(&self) -> bool {
        match self {
            Self::Check { commit: Some(commit), .. } => GitObjectId::parse(commit).is_some(),
            Self::Check { commit: None, .. } | Self::Render { .. } => true,
        }
    }
}

impl TargetSummary {
    /// Whether the counts fit each other and the files. A file with the header of an earlier version has no difference.
    fn is_consistent(&self, part: Part, command: &Command) -> bool {
        let Totals { changed_files, renewals, .. } = &self.totals;
        let shown = if command.prints_differences() { changed_files.checked_sub(renewals.count) } else { Some(0) };
        self.totals.is_plausible()
            && shown == Some(self.files.len())
            && are_consistent(&self.files, |path| is_of_part(path, part))
    }
}

impl DeliverySummary {
    /// Whether the counts fit the files: the first part judges the folder.
    fn is_consistent(&self, part: Part, command: &Command) -> bool {
        let shown = if command.prints_differences() { self.totals.changed_files } else { 0 };
        part.is_first()
            && self.totals.is_plausible()
            && shown == self.files.len()
            && are_consistent(&self.files, |_| true)
    }
}

impl Summary {
    /// Returns the file. `known` texts were input; those after them are taken along where a diagnostic points into one.
    ///
    /// # Errors
    /// When the summary cannot be encoded.
    pub(crate) fn into_bytes(mut self, files: &Files, known: usize) -> Result<Vec<u8>, EncodeError> {
        let mut texts: BTreeMap<FileId, (String, String)> = BTreeMap::new();
        for place in
            self.diagnostics().flat_map(Diagnostic::places).filter(|place| place.file.number() as usize >= known)
        {
            texts.entry(place.file).or_insert_with(|| {
                let file = files.get(place.file);
                (file.path().to_owned(), file.text().to_owned())
            });
        }
        self.texts = texts.into_iter().map(|(id, (path, text))| (id, path, text)).collect();
        FORMAT.close(&self)
    }

    /// Returns the summary in a file. Texts in it are registered in `files`, which had the hash `input` before.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub fn from_bytes(bytes: &[u8], files: &Files, input: Digest) -> Result<Self, UnusableSummary> {
        let mut summary: Self = FORMAT.open(bytes).map_err(|broken| match broken {
            Broken::Foreign => UnusableSummary::Foreign,
            other => UnusableSummary::Broken(other.to_string()),
        })?;
        if summary.input != input {
            return Err(UnusableSummary::OtherInput);
        }
        if !summary.settle(files) {
            return Err(UnusableSummary::Inconsistent);
        }
        Ok(summary)
    }

    /// Points the diagnostics into `files`. Returns false for an invalid number: a checksum detects accidents only.
    fn settle(&mut self, files: &Files) -> bool {
        let ids: BTreeMap<FileId, FileId> =
            std::mem::take(&mut self.texts).into_iter().map(|(id, path, text)| (id, files.add(path, text))).collect();
        for diagnostic in self.diagnostics() {
            for place in diagnostic.places() {
                place.file = ids.get(&place.file).copied().unwrap_or(place.file);
            }
            diagnostic.escape();
        }
        let countable = self.diagnostics().all(|diagnostic| u32::try_from(diagnostic.repeated).is_ok());
        let has = |place: Origin| files.has(place);
        let told = self.beside_targets.iter_mut().chain(&mut self.isolation);
        let (number, of) = self.part;
        let Some(part) = Part::new(number, of) else { return false };
        let command = &self.command;
        countable
            && command.is_plausible()
            && self.not_judged.is_plausible()
            && told.flat_map(Diagnostic::places).all(|place| has(*place))
            && self.leftovers.values().all(Totals::is_plausible)
            && self.delivery.as_ref().is_none_or(|delivery| delivery.is_consistent(part, command))
            && self
                .targets
                .iter_mut()
                .all(|target| target.is_consistent(part, command) && target.record.is_consistent(has))
    }

    fn diagnostics(&mut self) -> impl Iterator<Item = &mut Diagnostic> {
        let of_targets = self.targets.iter_mut().flat_map(|target| &mut target.record.diagnostics);
        of_targets.map(|(_, diagnostic)| diagnostic).chain(&mut self.beside_targets).chain(&mut self.isolation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part_files::PartFiles;
    use bailiwick_yaml::diag::Span;

    fn summary() -> Summary {
        Summary {
            part: (1, 2),
            input: [7; 32],
            command: Command::Check {
                targets: Vec::new(),
                summary: false,
                ungrouped: false,
                commit: None,
                other_files: None,
            },
            targets: vec![TargetSummary {
                name: "t".to_owned(),
                record: PartRecord::default(),
                totals: Totals { files: 3, ..Totals::default() },
                files: Vec::new(),
            }],
            leftovers: BTreeMap::new(),
            delivery: None,
            leftover_objects: BTreeMap::new(),
            new_objects: BTreeMap::new(),
            beside_targets: vec![Diagnostic::error(codes::FOREIGN_FILE, "`out/x` is not an output file of Bailiwick")],
            isolation: Vec::new(),
            not_judged: NotJudged::default(),
            texts: Vec::new(),
        }
    }

    fn files_at(paths: &[&str]) -> Vec<PartFile> {
        let mut files = PartFiles::new(100);
        paths.iter().for_each(|path| files.add(path, false, None, "\u{1b}[2J"));
        files.into_files()
    }

    impl TargetSummary {
        fn differ_at(&mut self, paths: &[&str]) {
            self.files = files_at(paths);
            self.totals.changed_files = paths.len();
        }
    }

    fn pointing_at(file: FileId, start: usize, end: usize) -> Diagnostic {
        Diagnostic::error(codes::INVALID_OBJECT, "x").at(Origin { file, span: Span::new(start, end) })
    }

    #[test]
    fn what_is_not_a_whole_summary_is_refused() {
        let files = Files::new();
        let bytes = summary().into_bytes(&files, files.count()).expect("bytes");
        assert!(Summary::from_bytes(&bytes, &files, [7; 32]).is_ok());
        assert!(
            Summary::from_bytes(&bytes, &files, [8; 32]).is_err_and(|why| matches!(why, UnusableSummary::OtherInput))
        );
        for length in 0..bytes.len() {
            assert!(Summary::from_bytes(&bytes[..length], &files, [7; 32]).is_err(), "{length} bytes");
        }
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 0x10;
            assert!(Summary::from_bytes(&changed, &files, [7; 32]).is_err(), "byte {position}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Summary::from_bytes(&longer, &files, [7; 32]).is_err());
    }

    /// A right checksum is no proof: the writer of a file can write the checksum, too.
    #[test]
    fn numbers_that_fit_nothing_are_refused() {
        let files = Files::new();
        let file = files.add("policies/a.yaml", "ä: 1\n");
        let known = files.count();
        type Change<'c> = &'c dyn Fn(&mut Summary);
        let wrong: [Change<'_>; 15] = [
            &|summary| summary.part = (3, 2),
            &|summary| summary.part = (0, 0),
            &|summary| summary.targets[0].totals.files = usize::MAX,
            &|summary| summary.targets[0].totals.renewals.count = 1,
            &|summary| summary.targets[0].totals.changed_files = 1,
            &|summary| summary.targets[0].files = files_at(&["cluster/role.yaml"]),
            &|summary| summary.targets[0].differ_at(&["../cluster/role.yaml"]),
            &|summary| summary.targets[0].differ_at(&["cluster/role.yaml", "cluster/role.yaml"]),
            &|summary| {
                summary.part = (2, 2);
                summary.targets[0].differ_at(&["cluster/role.yaml"]);
            },
            &|summary| {
                summary.part = (2, 2);
                summary.delivery = Some(DeliverySummary { totals: Totals::default(), files: Vec::new() });
            },
            &|summary| summary.not_judged.fixtures = usize::MAX,
            &|summary| {
                if let Command::Check { commit, .. } = &mut summary.command {
                    *commit = Some("\u{1b}[2J".to_owned());
                }
            },
            &|summary| summary.isolation.push(pointing_at(FileId::from_number(9), 0, 0)),
            &|summary| summary.beside_targets.push(pointing_at(file, 0, 1)),
            &|summary| summary.targets[0].record.diagnostics.push((0, pointing_at(file, 4, 9))),
        ];
        for (number, change) in wrong.iter().enumerate() {
            let mut changed = summary();
            change(&mut changed);
            // Every text counts as input, so that none is taken along.
            let bytes = changed.into_bytes(&files, usize::MAX).expect("bytes");
            assert!(Summary::from_bytes(&bytes, &files, [7; 32]).is_err(), "change {number}");
        }
        let mut right = summary();
        right.targets[0].differ_at(&["cluster/role.yaml", "cluster/\u{1b}[2J"]);
        right.isolation.push(pointing_at(file, 0, 2));
        let bytes = right.into_bytes(&files, known).expect("bytes");
        assert!(Summary::from_bytes(&bytes, &files, [7; 32]).is_ok());
    }

    #[test]
    fn rendered_texts_come_along() {
        let here = Files::new();
        here.add("policies/a.yaml", "a: 1\n");
        let known = here.count();
        let rendered = here.add("<rendered Role a/b>", "kind: [\n");
        let mut told = summary();
        told.isolation.push(pointing_at(rendered, 6, 7));
        let bytes = told.into_bytes(&here, known).expect("bytes");
        let there = Files::new();
        there.add("policies/a.yaml", "a: 1\n");
        let read = Summary::from_bytes(&bytes, &there, [7; 32]).expect("a summary");
        let place = read.isolation.first().and_then(|diagnostic| diagnostic.origin).expect("a place");
        assert_eq!(there.get(place.file).path(), "<rendered Role a/b>");
        assert_eq!(there.get(place.file).text(), "kind: [\n");
    }
}
