//! The differing files of one part of a run, as the merge of the parts groups them.
//!
//! A single run groups the files of all parts, and shows the first files of a group. So a part keeps what any order of the
//! parts can need: the way of each file, and the texts of the first files of each way. The merge adds the files in the order
//! of a single run to the same [`Groups`].
//!
//! A part keeps three times the bytes that a run shows. Of a group with four files a run shows the first, and a part may have
//! no more than three of them. A run leaves out a text without room; beyond three times the room, the merge does the same.

use std::collections::HashMap;

use bailiwick_base::alike::{NAMED, Note, Own};
use bailiwick_compiler::emit::file;
use bailiwick_compiler::emit::group::{DiffText, Groups, SINGLE};
use bailiwick_compiler::emit::objects::ChangeSignature;
use bailiwick_policy::model::Part;
use bailiwick_yaml::digest::Digest;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

use super::folded::folded;

/// How many bytes of differences are kept; the rest is counted.
pub const MAXIMUM_DIFF: usize = 16 << 20;

/// How many bytes of differences a part keeps for the merge.
pub(crate) const MAXIMUM_KEPT: usize = 3 * MAXIMUM_DIFF;

/// A differing file of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartFile {
    /// The path below the folder of the target, or below the delivery folder.
    path: String,
    /// Whether the policies make no such file.
    is_gone: bool,
    /// The way of the change; none for a file without a group.
    way: Option<PartFileWay>,
    /// The length of the difference in bytes; 0 where the groups need no text.
    length: usize,
    /// The difference; none where no group can show it, or where the part had no room.
    text: Option<String>,
}

/// The way in which a file of a part changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PartFileWay {
    digest: Digest,
    /// The name that the file calls its tenant by; empty beyond the first files of a way.
    name: String,
    own: Own,
}

/// The differing files of a target in a part, while they are compared.
#[derive(Debug)]
pub struct PartFiles {
    /// How many bytes of text may still be kept.
    room: usize,
    files: Vec<PartFile>,
    ways: HashMap<Digest, FirstOfWay>,
}

/// The first files of a way.
#[derive(Debug, Default)]
struct FirstOfWay {
    count: usize,
    /// The positions of the first files.
    first: Vec<usize>,
    /// The first few values of each note.
    notes: HashMap<String, Vec<Digest>>,
}

impl PartFiles {
    /// Returns an empty list with room for this many bytes of text.
    pub(crate) fn new(room: usize) -> Self {
        Self { room, files: Vec::new(), ways: HashMap::new() }
    }

    /// Adds a file by its path, in the order of the run, with its difference if [`Groups::needs_text`] holds.
    pub fn add(&mut self, path: &str, is_gone: bool, way: Option<&ChangeSignature>, text: &str) {
        let position = self.files.len();
        let mut file = PartFile { path: path.to_owned(), is_gone, way: None, length: 0, text: None };
        let mut is_needed = true;
        if let Some(way) = way {
            let known = self.ways.entry(way.digest).or_default();
            known.count += 1;
            is_needed = known.count <= SINGLE;
            file.way = Some(known.thinned(way, is_needed));
            if is_needed {
                known.first.push(position);
            } else if known.count == SINGLE + 1 {
                // A run has as many files of the way as this part, and shows the first.
                for further in known.first.drain(1..) {
                    let text = self.files.get_mut(further).and_then(|file| file.text.take());
                    self.room += text.map_or(0, |text| text.len());
                }
            }
        }
        if is_needed {
            file.length = text.len();
            if text.len() <= MAXIMUM_DIFF.min(self.room) {
                self.room -= text.len();
                file.text = Some(text.to_owned());
            }
        }
        self.files.push(file);
    }

    /// Returns the files.
    pub(crate) fn into_files(self) -> Vec<PartFile> {
        self.files
    }
}

impl FirstOfWay {
    /// Returns a way without the values that no merge prints.
    fn thinned(&mut self, way: &ChangeSignature, is_first: bool) -> PartFileWay {
        let mut own = way.own.clone();
        for column in own.columns.iter_mut().filter(|column| !column.is_changed) {
            column.value.clear();
        }
        for note in &mut own.notes {
            if !self.is_new_value(note) {
                note.value.clear();
            }
        }
        PartFileWay { digest: way.digest, name: if is_first { way.name.clone() } else { String::new() }, own }
    }

    /// Whether a value of a note is among the first few values and not a repetition.
    fn is_new_value(&mut self, note: &Note) -> bool {
        let known = self.notes.entry(note.key.clone()).or_default();
        let is_new = known.len() < NAMED && !known.contains(&note.shape);
        if is_new {
            known.push(note.shape);
        }
        is_new
    }
}

impl PartFile {
    /// Returns the position of the file in a run: the files of the policies by namespace, then the files that go by path.
    fn order(&self) -> (bool, Option<&str>) {
        (self.is_gone, if self.is_gone { Some(&self.path) } else { file::namespace(&self.path) })
    }

    /// Returns how many bytes of text the file has.
    pub(crate) fn kept(&self) -> usize {
        self.text.as_ref().map_or(0, String::len)
    }
}

/// Returns whether a part writes, checks and removes an output file, from its path below the target's folder.
pub(crate) fn is_of_part(path: &str, part: Part) -> bool {
    file::namespace(path).map_or(part.is_first(), |name| part.has_namespace(name))
}

/// Whether a part can have these files: each once, at a path of the part below a folder.
pub(crate) fn are_consistent(files: &[PartFile], is_of_part: impl Fn(&str) -> bool) -> bool {
    let mut paths = HashSet::new();
    files.iter().all(|file| {
        is_plain_path(&file.path)
            && is_of_part(&file.path)
            && paths.insert(&file.path)
            && u32::try_from(file.length).is_ok()
            && file.text.as_ref().is_none_or(|text| text.len() == file.length)
    })
}

/// Whether a path leads to a file below the folder that it is relative to.
fn is_plain_path(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

/// Puts the files of a target of all parts in the order of a single run.
pub fn sort(files: &mut [PartFile]) {
    // Files of one position are of one part, in the order of the run.
    files.sort_by(|left, right| left.order().cmp(&right.order()));
}

/// Returns the difference of files as a run with room for this many bytes prints it, and how many files it leaves out.
/// `folder` is the shown path of the folder that the paths are relative to.
pub fn joined_diff(files: Vec<PartFile>, folder: &str, room: usize) -> (String, usize) {
    let mut groups = Groups::new(room);
    for PartFile { path, way, length, text, .. } in files {
        let way = way.map(|PartFileWay { digest, name, own }| ChangeSignature::of_part(digest, name, own));
        groups.add(&format!("{folder}/{path}"), way, DiffText::of_part(length, text));
    }
    groups.finish(folded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::digest::digest;

    const PARTS: u16 = 3;

    /// A differing file, with the number of its way and its difference.
    struct Differing {
        path: String,
        is_gone: bool,
        way: Option<usize>,
        text: String,
    }

    /// Returns files in the order of a run. Files of one way have texts of one length.
    fn files(seed: usize) -> Vec<Differing> {
        let mut files = Vec::new();
        for is_gone in [false, true] {
            for number in 0..40 {
                let mixed = seed.wrapping_mul(31).wrapping_add(number).wrapping_mul(0x9E37_79B9) >> 7;
                let way = Some(mixed % 14).filter(|way| *way > 1);
                let text = format!("{number:02}{}\n", "x".repeat(way.map_or(mixed % 9, |way| way % 5 * 3)));
                files.push(Differing { path: format!("namespaces/n{number:02}{is_gone}.yaml"), is_gone, way, text });
            }
        }
        files
    }

    fn signature(file: &Differing) -> Option<ChangeSignature> {
        let way = file.way?;
        Some(ChangeSignature::of_part(digest(&[u8::try_from(way).ok()?]), file.path.clone(), Own::default()))
    }

    fn whole(files: &[Differing], room: usize) -> (String, usize) {
        let mut groups = Groups::new(room);
        for file in files {
            groups.add(&format!("out/t/{}", file.path), signature(file), file.text.clone().into());
        }
        groups.finish(folded)
    }

    fn joined(files: &[Differing], room: usize, room_of_part: usize) -> (String, usize) {
        let mut all = Vec::new();
        for number in (1..=PARTS).rev() {
            let part = Part::new(number, PARTS).expect("a part");
            let mut of_part = PartFiles::new(room_of_part);
            for file in files.iter().filter(|file| is_of_part(&file.path, part)) {
                of_part.add(&file.path, file.is_gone, signature(file).as_ref(), &file.text);
            }
            assert!(are_consistent(&of_part.files, |path| is_of_part(path, part)));
            all.extend(of_part.into_files());
        }
        sort(&mut all);
        joined_diff(all, "out/t", room)
    }

    #[test]
    fn files_of_parts_are_grouped_as_the_files_of_a_run() {
        for seed in 0..60 {
            let files = files(seed);
            for room in [0, 20, 60, 150, 1000, usize::MAX] {
                assert_eq!(joined(&files, room, usize::MAX), whole(&files, room), "{seed}, {room} bytes");
            }
        }
    }

    #[test]
    fn a_text_without_room_is_left_out_and_counted() {
        let files = files(1);
        let (text, left_out) = joined(&files, usize::MAX, 30);
        let further: usize = text
            .lines()
            .filter_map(|line| line.strip_prefix("# ")?.split_once(" further file")?.0.parse::<usize>().ok())
            .sum();
        let shown = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!(left_out > 0 && shown > 0, "{text}");
        assert_eq!(shown + further + left_out, files.len());
    }

    /// The writer of a summary may be an attacker.
    #[test]
    fn files_that_no_part_has_are_refused() {
        let file = |path: &str| PartFile { path: path.to_owned(), is_gone: false, way: None, length: 0, text: None };
        let refused = |files: &[PartFile]| !are_consistent(files, |_| true);
        for path in ["", "/etc/passwd", "..", "../x", "a/../../x", "a//b", "a/", "./a", "a/."] {
            assert!(refused(&[file(path)]), "{path}");
        }
        assert!(refused(&[file("a"), file("b"), file("a")]));
        assert!(refused(&[PartFile { length: usize::MAX, ..file("a") }]));
        assert!(refused(&[PartFile { text: Some("x".to_owned()), ..file("a") }]));
        assert!(!are_consistent(&[file("a")], |_| false));
        assert!(!refused(&[file("a"), PartFile { length: 9, ..file("b") }]));
    }

    #[test]
    fn a_file_is_of_the_part_that_makes_its_objects() {
        let paths_of = |name| [file::path(Some(name), "", None), file::path(Some(name), "", Some(64))];
        for of in [1, 2, 3, 7] {
            let parts = || (1..=of).filter_map(|number| Part::new(number, of));
            for name in ["tool-a", "kube-system", "x", "kustomization", "cloudbuild", "con"] {
                let making: Vec<Part> = parts().filter(|part| part.has_namespace(name)).collect();
                assert_eq!(making.len(), 1);
                for path in paths_of(name) {
                    assert_eq!(parts().filter(|part| is_of_part(&path, *part)).collect::<Vec<_>>(), making, "{path}");
                }
            }
            let others =
                ["cluster/clusterrole.yaml", "cluster/x_.yaml", "namespaces/README.md", "namespaces", "a.yaml", ""];
            for path in others {
                assert!(parts().all(|part| is_of_part(path, part) == part.is_first()), "{path}");
            }
        }
    }
}
