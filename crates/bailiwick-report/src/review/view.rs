//! A review with its classes and causes looked up.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_analysis::subject_classes::SubjectClass;
use bailiwick_review::{Cause, ChangeReview, EffectSeverity, PathChange, Side};

use super::ReviewFormOptions;
use super::phrase::{FilePlace, Phrase};

/// The most names of a list in a line.
pub(super) const MAXIMUM_NAMES: usize = 4;

/// The most causes of one effect in a line.
const MAXIMUM_CAUSES: usize = 3;

/// A review with its settings.
#[derive(Debug)]
pub(super) struct ReviewView<'r> {
    pub(super) review: &'r ChangeReview,
    pub(super) options: &'r ReviewFormOptions,
    classes: BTreeMap<usize, ClassView<'r>>,
    causes: BTreeMap<usize, &'r Cause>,
}

/// A path, and the paths of other subjects that differ from it in names alone.
pub(super) struct AlikePaths<'r> {
    pub(super) first: &'r PathChange,
    pub(super) others: Vec<&'r PathChange>,
}

/// A class with the namespaces of its members.
#[derive(Debug)]
struct ClassView<'r> {
    class: &'r SubjectClass,
    first_namespaces: Vec<&'r str>,
    namespaces: usize,
    is_cut: bool,
}

impl<'r> ClassView<'r> {
    fn new(class: &'r SubjectClass) -> Self {
        let names: BTreeSet<&str> = class.members.iter().flat_map(|member| member.namespaces()).collect();
        let is_cut = class.members.len() < class.count;
        let namespaces = names.len();
        Self { class, first_namespaces: names.into_iter().take(MAXIMUM_NAMES).collect(), namespaces, is_cut }
    }
}

impl<'r> ReviewView<'r> {
    /// Looks up the classes and causes of a review.
    pub(super) fn new(review: &'r ChangeReview, options: &'r ReviewFormOptions) -> Self {
        let classes = review.classes.iter().map(|class| (class.id, ClassView::new(class))).collect();
        let causes = review.causes.iter().map(|cause| (cause.id, cause)).collect();
        Self { review, options, classes, causes }
    }

    /// Returns the common name of a class.
    pub(super) fn template(&self, class: usize) -> &'r str {
        self.classes.get(&class).map_or("", |class| class.class.template.as_str())
    }

    /// Returns the name of a class, with its number of members.
    pub(super) fn who(&self, class: usize) -> Phrase {
        let Some(ClassView { class, .. }) = self.classes.get(&class) else { return Phrase::new("no subject") };
        let who = Phrase::default().name(class.template.as_str());
        if class.count == 1 { who } else { who.words(format!(" × {}", super::words::grouped(class.count))) }
    }

    /// Returns the number of members of a class.
    pub(super) fn count(&self, class: usize) -> usize {
        self.classes.get(&class).map_or(0, |class| class.class.count)
    }

    /// Returns the first namespaces of the members of a class, and the number of the others.
    pub(super) fn namespaces(&self, class: usize) -> Phrase {
        let Some(view) = self.classes.get(&class) else { return Phrase::default() };
        let phrase = Phrase::default().names(view.first_namespaces.iter().copied(), MAXIMUM_NAMES);
        match (view.namespaces - view.first_namespaces.len(), view.is_cut) {
            (_, true) => phrase.words(" and others"),
            (0, false) => phrase,
            (more, false) => phrase.words(format!(" and {} more", super::words::grouped(more))),
        }
    }

    /// Returns the first cause of a list.
    pub(super) fn first_cause(&self, causes: &[usize]) -> Option<&'r Cause> {
        causes.iter().find_map(|id| self.causes.get(id).copied())
    }

    /// Returns the causes of a list.
    pub(super) fn causes(&self, causes: &[usize]) -> impl Iterator<Item = &'r Cause> {
        causes.iter().filter_map(|id| self.causes.get(id).copied())
    }

    /// Returns the paths, alike paths of several subjects together, in the order of their first.
    pub(super) fn alike_paths(&self) -> Vec<AlikePaths<'r>> {
        let mut groups: Vec<AlikePaths<'r>> = Vec::new();
        let mut positions = HashMap::new();
        for path in &self.review.paths {
            let key = (path.fingerprint.as_str(), path.change, &path.certainty, path.severity, &path.targets);
            let next = groups.len();
            match groups.get_mut(*positions.entry(key).or_insert(next)) {
                Some(group) => group.others.push(path),
                None => groups.push(AlikePaths { first: path, others: Vec::new() }),
            }
        }
        groups
    }

    /// Returns the difference of a smaller change; none where an earlier path has the same one.
    pub(super) fn closing_diff(&self, path: &PathChange) -> Option<&'r str> {
        let diff = path.closes.as_ref().map(|closes| &closes.diff)?;
        let mut all = self.review.paths.iter().filter_map(|path| Some((path.id, &path.closes.as_ref()?.diff)));
        all.find(|(_, known)| *known == diff).filter(|(id, _)| *id == path.id).map(|(_, diff)| diff.as_str())
    }

    /// Returns the places of causes; empty without a cause.
    pub(super) fn places(&self, causes: &[usize]) -> Phrase {
        let mut phrase = Phrase::default();
        for (index, cause) in self.causes(causes).take(MAXIMUM_CAUSES).enumerate() {
            let removed = if cause.side == Side::Base { " (earlier)" } else { "" };
            phrase = phrase.words(if index > 0 { ", " } else { "" }).place(self.cause_place(cause)).words(removed);
        }
        let more = self.causes(causes).count().saturating_sub(MAXIMUM_CAUSES);
        phrase.words(if more > 0 { format!(" and {more} more") } else { String::new() })
    }

    /// Returns the place of a cause.
    pub(super) fn cause_place(&self, cause: &Cause) -> FilePlace {
        let base = match cause.side {
            Side::Head => &self.options.link_base,
            Side::Base => &self.options.earlier_link_base,
        };
        let address = base.as_ref().map(|base| address(base, &cause.path, Some(cause.line)));
        FilePlace { path: cause.path.clone(), line: Some(cause.line), address }
    }

    /// Returns a place of the reviewed state in the form `path:line`.
    pub(super) fn place(&self, text: &str) -> FilePlace {
        self.place_below(text, self.options.link_base.as_deref())
    }

    /// Returns a place of the earlier state in the form `path:line`.
    pub(super) fn earlier_place(&self, text: &str) -> FilePlace {
        self.place_below(text, self.options.earlier_link_base.as_deref())
    }

    fn place_below(&self, text: &str, base: Option<&str>) -> FilePlace {
        let (path, line) = split_place(text);
        FilePlace { path: path.to_owned(), line, address: base.map(|base| address(base, path, line)) }
    }
}

/// Splits `path:line` into its parts.
pub(crate) fn split_place(text: &str) -> (&str, Option<usize>) {
    let parts = text.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
    parts.map_or((text, None), |(path, line)| (path, Some(line)))
}

/// Returns the address of a line below a prefix.
fn address(base: &str, path: &str, line: Option<usize>) -> String {
    let line = line.map_or_else(String::new, |line| format!("#L{line}"));
    format!("{}/{}{line}", base.trim_end_matches('/'), crate::sarif::uri(path))
}

/// Returns a severity as a word.
pub(crate) fn severity(severity: EffectSeverity) -> &'static str {
    match severity {
        EffectSeverity::None => "none",
        EffectSeverity::Info => "info",
        EffectSeverity::Low => "low",
        EffectSeverity::Medium => "medium",
        EffectSeverity::High => "high",
        EffectSeverity::Critical => "critical",
    }
}
