//! The output that the policies of another workspace compile to, compared with the output that is committed there.
//!
//! Of a file that is committed as it is compiled only a hash of the text is kept: the text can be read again. Files of ours
//! that the policies do not make are left out. Entries that are not ours are shown as they are, because the comparison reports
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_compiler::compile::{self, CompileOptions, FileConsumer, LinkedWorkspace, OutputFile};
use bailiwick_compiler::emit::committed::{Committed, Differing, Entry, EntryKind};
use bailiwick_compiler::emit::file::{self, FileOwnership, differs_in_header_alone, ownership};
use bailiwick_policy::model::Target;
use bailiwick_yaml::diag::{RunError, Sink};
use bailiwick_yaml::digest::digest_of_run;

/// The compiled output of each target, by its name.
#[derive(Default)]
pub(super) struct CompiledTargets(pub(super) BTreeMap<String, CompiledTarget>);

/// The compiled output of a target.
pub(super) struct CompiledTarget {
    files: BTreeMap<String, Text>,
    /// The committed entries that are not ours.
    others: BTreeMap<String, EntryKind>,
    committed: Box<dyn Committed>,
}

/// The text of a compiled file.
enum Text {
    /// The committed text, with its hash in this run.
    Committed(u128),
    /// The committed text, which has the header of an earlier version.
    Former,
    /// Another text than the committed one.
    Own(Box<str>),
}

/// The committed files of ours that are not what the policies compile to, as paths below the folder of the target.
#[derive(Debug, Default)]
pub(super) struct Stale {
    pub(super) paths: Vec<String>,
    /// Whether any file of ours is committed.
    pub(super) has_output: bool,
}

impl CompiledTarget {
    /// Compiles a target, and compares each file with the committed output. After an error in the sink the output is not
    /// complete.
    pub(super) fn of(
        project: &LinkedWorkspace,
        target: &Target,
        options: CompileOptions<'_>,
        committed: Box<dyn Committed>,
        sink: &mut Sink,
    ) -> Result<(Self, Stale), RunError> {
        let mut stale = Stale::default();
        let mut files = BTreeMap::new();
        let work = |file: OutputFile| {
            let text = match committed.differing(&file.path, &file.text)? {
                Differing::Same => Text::Committed(digest_of_run(file.text.as_str())),
                Differing::Different(old) if differs_in_header_alone(&old, &file.text) => Text::Former,
                Differing::Different(_) | Differing::Missing => Text::Own(file.text.into_boxed_str()),
            };
            Ok((file.path, text))
        };
        let mut keep = |(path, text): (String, Text), _, _| {
            match text {
                Text::Own(_) => stale.paths.push(path.clone()),
                Text::Committed(_) | Text::Former => stale.has_output = true,
            }
            files.insert(path, text);
        };
        let consumer = FileConsumer { work: &work, each: &mut keep };
        compile::compile(project, target, options, consumer, sink)?;
        let is_left_out = |path: &str| {
            options.sample.zip(file::namespace(path)).is_some_and(|(files, name)| !files.sample().has(name))
        };
        let mut others = BTreeMap::new();
        for entry in committed.list()? {
            let is_ours = entry.is_file() && {
                let bytes = || committed.read(&entry.path).map(Option::unwrap_or_default);
                if is_left_out(&entry.path) {
                    continue;
                }
                files.contains_key(&entry.path) || ownership(&entry.path, &bytes()?) == FileOwnership::Ours
            };
            if !is_ours {
                others.insert(entry.path, entry.kind);
                continue;
            }
            stale.has_output = true;
            if !files.contains_key(&entry.path) {
                stale.paths.push(entry.path);
            }
        }
        stale.paths.sort();
        Ok((Self { files, others, committed }, stale))
    }
}

impl Committed for CompiledTarget {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        match self.files.get(path) {
            Some(Text::Own(text)) => Ok(Some(text.as_bytes().to_vec())),
            Some(Text::Committed(_) | Text::Former) => self.committed.read(path),
            None if self.others.contains_key(path) => self.committed.read(path),
            None => Ok(None),
        }
    }

    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        if let Some(Text::Committed(digest)) = self.files.get(path)
            && *digest == digest_of_run(text)
        {
            return Ok(Differing::Same);
        }
        Ok(match self.read(path)? {
            None => Differing::Missing,
            Some(bytes) if bytes == text.as_bytes() => Differing::Same,
            Some(bytes) => Differing::Different(bytes),
        })
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        self.files.keys().for_each(|path| see(Entry { path: path.clone(), kind: EntryKind::File }));
        self.others.iter().for_each(|(path, kind)| see(Entry { path: path.clone(), kind: *kind }));
        Ok(())
    }
}

/// The compiled output of every target, as one output folder.
pub(super) struct WholeOutput(pub(super) Arc<CompiledTargets>);

impl Committed for WholeOutput {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        let target = path.split_once('/').and_then(|(name, below)| Some((self.0.0.get(name)?, below)));
        target.map_or(Ok(None), |(target, below)| target.read(below))
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        for (name, target) in &self.0.0 {
            target.each(&mut |entry| see(Entry { path: format!("{name}/{}", entry.path), kind: entry.kind }))?;
        }
        Ok(())
    }
}

/// The compiled output of a target, which may have none.
pub(super) struct OutputOfTarget(pub(super) Arc<CompiledTargets>, pub(super) String);

impl OutputOfTarget {
    fn target(&self) -> Option<&CompiledTarget> {
        self.0.0.get(&self.1)
    }
}

impl Committed for OutputOfTarget {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, RunError> {
        self.target().map_or(Ok(None), |target| target.read(path))
    }

    fn differing(&self, path: &str, text: &str) -> Result<Differing, RunError> {
        self.target().map_or(Ok(Differing::Missing), |target| target.differing(path, text))
    }

    fn each(&self, see: &mut dyn FnMut(Entry)) -> Result<(), RunError> {
        self.target().map_or(Ok(()), |target| target.each(see))
    }
}
