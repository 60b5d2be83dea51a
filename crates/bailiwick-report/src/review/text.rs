//! Plain text, for terminals.

use bailiwick_review::{AccessChange, ChangeReview, EffectSeverity, ObjectShape};
use bailiwick_yaml::diag::foreign;

use super::phrase::Phrase;
use super::view::{AlikePaths, ReviewView, severity};
use super::words::{self, Entry, number};
use super::{ReviewFormOptions, sections};
use crate::page::Page;

/// The most entries of a section.
const MAXIMUM_ENTRIES: usize = 100;

/// The most shapes of objects.
const MAXIMUM_SHAPES: usize = 20;

/// The most lines of a difference.
const MAXIMUM_DIFF_LINES: usize = 60;

/// The width of the severities.
const WIDTH: usize = 10;

/// Returns a review as plain text.
pub(super) fn text(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let view = ReviewView::new(review, options);
    let mut page = Page::new();
    writeln!(page, "{}", review.line);
    writeln!(page, "{}", sections::states(&view).plain());
    let not_judged = sections::not_judged(&view);
    if !not_judged.is_empty() {
        writeln!(page, "{}", not_judged.plain());
    }
    if sections::needs_approval(&view) {
        section(&mut page, "approvals", &sections::approvals(&view));
    }
    section(&mut page, "diagnostics", &sections::diagnostics(&view));
    section(&mut page, "hazards", &sections::hazards(&view));
    effects(&mut page, &view);
    paths(&mut page, &view);
    section(&mut page, "inputs and accounts", &sections::ground(&view));
    section(&mut page, "pods, nodes, applier and lifetimes", &sections::pods(&view));
    section(&mut page, "tests", &sections::tests(&view));
    suggestion(&mut page, &view);
    objects(&mut page, &view);
    section(&mut page, "findings", &sections::findings(&view));
    if let Some(known) = sections::known_findings(&view) {
        page.push_str("\n");
        writeln!(page, "unchanged findings: {known}");
    }
    unchanged(&mut page, &view);
    page.finish()
}

/// Appends an empty line and a heading with the number of entries.
fn heading(page: &mut Page, title: &str, count: usize) {
    page.push_str("\n");
    writeln!(page, "{title} ({})", words::grouped(count));
}

fn section(page: &mut Page, title: &str, entries: &[Entry]) {
    if entries.is_empty() {
        return;
    }
    heading(page, title, entries.len());
    for entry in entries.iter().take(MAXIMUM_ENTRIES) {
        line(page, entry.severity, &entry.text);
        entry.details.iter().for_each(|detail| below(page, detail));
    }
    more(page, entries.len(), MAXIMUM_ENTRIES);
}

/// Appends a line with a severity in front.
fn line(page: &mut Page, rating: Option<EffectSeverity>, text: &Phrase) {
    let rating = rating.map_or("-", severity);
    writeln!(page, "  {rating:WIDTH$}{}", text.plain());
}

/// Appends a line below a line with a severity.
fn below(page: &mut Page, text: &Phrase) {
    writeln!(page, "  {:WIDTH$}{}", "", text.plain());
}

fn more(page: &mut Page, count: usize, most: usize) {
    if count > most {
        writeln!(page, "  and {}; JSON and HTML have all of them", number(count - most, "further item"));
    }
}

fn effects(page: &mut Page, view: &ReviewView<'_>) {
    let effects = &view.review.effects;
    if effects.is_empty() {
        return;
    }
    heading(page, "effects", effects.len());
    effects.iter().take(MAXIMUM_ENTRIES).for_each(|effect| one_effect(page, view, effect));
    more(page, effects.len(), MAXIMUM_ENTRIES);
}

fn one_effect(page: &mut Page, view: &ReviewView<'_>, effect: &AccessChange) {
    line(page, Some(effect.severity), &words::effect(view, effect));
    let rights = words::rights_of_role(effect);
    if !rights.is_empty() {
        below(page, &Phrase::new("rights   ").then(rights));
    }
    below(page, &Phrase::new("where    ").then(words::place_of(view, effect)));
    if !effect.opens.is_empty() {
        below(page, &Phrase::new("opens    ").then(words::opens(effect)));
    }
    let places = view.places(&effect.causes);
    let indirect = if effect.indirect { " (indirect)" } else { "" };
    if !places.is_empty() {
        below(page, &Phrase::new("because  ").then(places).words(indirect));
    }
    if let Some(cause) = view.first_cause(&effect.causes).filter(|cause| !cause.text.trim().is_empty()) {
        below(page, &Phrase::new("         > ").then(Phrase::sentence(cause.text.trim())));
    }
}

fn paths(page: &mut Page, view: &ReviewView<'_>) {
    let groups = view.alike_paths();
    if groups.is_empty() {
        return;
    }
    heading(page, "paths", view.review.paths.len());
    groups.iter().take(MAXIMUM_ENTRIES).for_each(|alike| one_path(page, view, alike));
    more(page, groups.len(), MAXIMUM_ENTRIES);
}

fn one_path(page: &mut Page, view: &ReviewView<'_>, alike: &AlikePaths<'_>) {
    let path = alike.first;
    line(page, Some(path.severity), &words::alike_paths(view, alike));
    for (index, step) in path.steps.iter().enumerate() {
        below(page, &Phrase::new(format!("{}. ", index + 1)).then(words::step(step)));
        let proof = words::proof(step, |place| view.place(place));
        if !proof.is_empty() {
            below(page, &Phrase::new("   ").then(proof));
        }
    }
    let Some(closes) = &path.closes else { return };
    let shown = view.closing_diff(path);
    let title = if shown.is_some() { "closes this path: " } else { "closes this path, too: " };
    below(page, &Phrase::new(title).then(Phrase::sentence(&closes.words)));
    shown.into_iter().for_each(|shown| diff(page, shown));
}

/// Appends the first lines of a difference.
fn diff(page: &mut Page, diff: &str) {
    let lines = diff.lines().count();
    diff.lines().take(MAXIMUM_DIFF_LINES).for_each(|text| writeln!(page, "  {:WIDTH$}  {text}", ""));
    if lines > MAXIMUM_DIFF_LINES {
        writeln!(page, "  {:WIDTH$}  and {}", "", number(lines - MAXIMUM_DIFF_LINES, "more line"));
    }
}

fn suggestion(page: &mut Page, view: &ReviewView<'_>) {
    if let Some(test) = &view.review.tests.suggested {
        page.push_str("\nan AccessTest that fails on the reviewed state and passes on the base\n");
        test.lines().for_each(|text| writeln!(page, "    {text}"));
    }
}

fn objects(page: &mut Page, view: &ReviewView<'_>) {
    let objects = &view.review.objects;
    if objects.shapes.is_empty() {
        return;
    }
    heading(page, "objects by shape", objects.shapes.len());
    sections::object_counts(view).iter().for_each(|counts| writeln!(page, "  {}", counts.plain()));
    objects.shapes.iter().take(MAXIMUM_SHAPES).for_each(|shape| one_shape(page, shape));
    let left_out = objects.shapes.len().saturating_sub(MAXIMUM_SHAPES);
    if left_out > 0 {
        writeln!(page, "  and {}", number(left_out, "further shape"));
    }
    if objects.left_out > 0 {
        writeln!(page, "  and {} without a shape", number(objects.left_out, "file"));
    }
}

fn one_shape(page: &mut Page, shape: &ObjectShape) {
    writeln!(page, "  {}{}", words::files_of_shape(shape).plain(), foreign::line(&shape.sample));
    diff(page, &shape.diff);
}

fn unchanged(page: &mut Page, view: &ReviewView<'_>) {
    page.push_str("\n");
    for (index, phrase) in sections::unchanged(view).iter().enumerate() {
        writeln!(page, "{}{}", if index == 0 { "unchanged: " } else { "" }, phrase.plain());
    }
}
