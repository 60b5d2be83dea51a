//! One HTML file, without a request and without a library.
//!
//! The template escapes every text. [`Phrase::html`] and the pictures are the only markup that this module makes. The page has
//! all sections without scripts; a script adds the search of members.

use bailiwick_review::{AccessChange, ChangeReview, EffectChange, ObjectShape, PathChange, PathChangeKind, Verdict};
use minijinja::{Value, context};

use super::phrase::{Phrase, escaped, html_sentence};
use super::view::{ReviewView, severity};
use super::words::{self, Entry, grouped, number};
use super::{ReviewFormOptions, sections, svg};
use crate::html_page::{HtmlPage, SearchedList, class_row, escaped_value, html};

const TEMPLATE: &str = include_str!("review.html");

/// The most entries, rows and shapes of a section. JSON has all of them.
const MAXIMUM_ROWS: usize = 2_000;

/// The most paths.
const MAXIMUM_PATHS: usize = 200;

/// The paths with a picture; the others are lists alone.
const MAXIMUM_PICTURES: usize = 8;

/// The most lines of a difference.
const MAXIMUM_DIFF_LINES: usize = 400;

/// The most bytes of all differences together. The other sections are whole.
const MAXIMUM_DIFF_BYTES: usize = 24 << 10;

/// The shapes that are open at first.
const OPEN_SHAPES: usize = 3;

/// Returns a review as one HTML file.
pub(super) fn text(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let view = ReviewView::new(review, options);
    let values = context! {
        line => escaped_value(&review.line),
        verdict => verdict(review.verdict),
        tone => tone(review),
        severity => severity(review.severity),
        states => html(&states(&view)),
        approvals => approvals(&view),
        facts => facts(review),
        sections => page_sections(&view),
        footer => html(&footer(&view)),
    };
    let searched: Vec<SearchedList<'_>> = review.classes.iter().map(SearchedList::of_class).collect();
    HtmlPage { template: TEMPLATE, own_style: "", values, searched: &searched }.render()
}

fn verdict(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::NoChange) => "no change",
        Some(Verdict::OnlyLess) => "only less",
        Some(Verdict::WithinLimits) => "within limits",
        Some(Verdict::NeedsApproval) => "needs approval",
        Some(Verdict::CannotTell) => "cannot tell",
        None => "invalid",
    }
}

fn tone(review: &ChangeReview) -> &'static str {
    match review.verdict {
        Some(Verdict::NoChange | Verdict::OnlyLess) => "good",
        Some(Verdict::WithinLimits) => "fine",
        Some(Verdict::NeedsApproval) | None => "bad",
        Some(Verdict::CannotTell) => "unsure",
    }
}

fn states(view: &ReviewView<'_>) -> Phrase {
    let not_judged = sections::not_judged(view);
    let end = if not_judged.is_empty() { "" } else { "; " };
    Phrase::new("bailiwick review, ").then(sections::states(view)).words(end).then(not_judged)
}

fn footer(view: &ReviewView<'_>) -> Phrase {
    Phrase::new("Written by ").name(view.options.command.as_str()).words(concat!(
        ", bailiwick ",
        env!("CARGO_PKG_VERSION"),
        ". The page makes no request."
    ))
}

fn approvals(view: &ReviewView<'_>) -> Vec<Value> {
    if sections::needs_approval(view) { sections::approvals(view).iter().map(entry).collect() } else { Vec::new() }
}

/// Returns the numbers below the verdict.
fn facts(review: &ChangeReview) -> Vec<Value> {
    let changes = |change| review.effects.iter().filter(|effect| effect.change == change).count();
    let paths = review.paths.iter().filter(|path| path.change != PathChangeKind::Gone).count();
    let objects: usize = review.objects.counts.values().map(|c| c.created + c.changed + c.deleted).sum();
    let facts = [
        ("gains", changes(EffectChange::Gained)),
        ("losses", changes(EffectChange::Lost)),
        ("new paths", paths),
        ("hazards", review.hazards.len()),
        ("changes of pods", review.pods.len()),
        ("failed questions", review.tests.failures),
        ("objects that differ", objects),
        ("new findings", review.findings.new.len()),
    ];
    facts.into_iter().map(|(name, value)| context! { name => name, value => grouped(value) }).collect()
}

/// Returns the sections with content, in their order.
fn page_sections(view: &ReviewView<'_>) -> Vec<Value> {
    let all = [
        list("diagnostics", "Diagnostics", &sections::diagnostics(view)),
        list("hazards", "Hazards", &sections::hazards(view)),
        effects(view),
        Some(unchanged(view)),
        paths(view),
        list("inputs", "Inputs and accounts", &sections::ground(view)),
        list("pods", "Pods, nodes, applier and lifetimes", &sections::pods(view)),
        tests(view),
        objects(view),
        findings(view),
        classes(view),
    ];
    all.into_iter().flatten().collect()
}

/// Returns a sentence about left-out items; empty without them.
fn more(count: usize, most: usize, noun: &str) -> String {
    match count.saturating_sub(most) {
        0 => String::new(),
        more => format!("and {}; the JSON form has all of them", number(more, &format!("further {noun}"))),
    }
}

fn entry(entry: &Entry) -> Value {
    context! {
        severity => entry.severity.map_or("", severity),
        text => html(&entry.text),
        details => entry.details.iter().map(html).collect::<Vec<Value>>(),
    }
}

fn shown(entries: &[Entry]) -> Vec<Value> {
    entries.iter().take(MAXIMUM_ROWS).map(entry).collect()
}

fn list(id: &str, title: &str, entries: &[Entry]) -> Option<Value> {
    let count = grouped(entries.len());
    let more = more(entries.len(), MAXIMUM_ROWS, "item");
    let section = || context! { id => id, title => title, count => count, entries => shown(entries), more => more };
    (!entries.is_empty()).then(section)
}

fn effects(view: &ReviewView<'_>) -> Option<Value> {
    let effects = &view.review.effects;
    let rows = effects.iter().take(MAXIMUM_ROWS).map(|effect| effect_row(view, effect));
    let section = || {
        context! {
            id => "effects",
            title => "Effects",
            count => grouped(effects.len()),
            effects => rows.collect::<Vec<Value>>(),
            more => more(effects.len(), MAXIMUM_ROWS, "row"),
        }
    };
    (!effects.is_empty()).then(section)
}

fn effect_row(view: &ReviewView<'_>, effect: &AccessChange) -> Value {
    let line = view.first_cause(&effect.causes).map_or("", |cause| cause.text.trim());
    let indirect = if effect.indirect { " (indirect)" } else { "" };
    context! {
        severity => severity(effect.severity),
        class => effect.class,
        who => html(&view.who(effect.class)),
        change => match effect.change { EffectChange::Gained => "gains", EffectChange::Lost => "loses" },
        rights => html(&words::rights(effect)),
        rules => html(&words::rights_of_role(effect)),
        place => html(&words::place_of(view, effect)),
        opens => html(&words::opens(effect)),
        because => html(&view.places(&effect.causes).words(indirect)),
        line => escaped_value(line),
    }
}

fn unchanged(view: &ReviewView<'_>) -> Value {
    let lines: Vec<Value> = sections::unchanged(view).iter().map(html).collect();
    context! { id => "unchanged", title => "Unchanged", lines => lines }
}

fn paths(view: &ReviewView<'_>) -> Option<Value> {
    let groups = view.alike_paths();
    let rows = groups.iter().take(MAXIMUM_PATHS).enumerate().map(|(index, alike)| {
        let (path, title) = (alike.first, words::alike_paths(view, alike));
        let picture = if index < MAXIMUM_PICTURES { svg::picture(path.id, &title, &path.steps) } else { None };
        one_path(view, path, &title, picture)
    });
    let section = || {
        context! {
            id => "paths",
            title => "Paths",
            count => grouped(view.review.paths.len()),
            paths => rows.collect::<Vec<Value>>(),
            more => more(groups.len(), MAXIMUM_PATHS, "path"),
        }
    };
    (!groups.is_empty()).then(section)
}

fn one_path(view: &ReviewView<'_>, path: &PathChange, title: &Phrase, picture: Option<String>) -> Value {
    let closes = path.closes.as_ref();
    let step = |step| context! { text => html(&words::step(step)), proof => html(&words::proof(step, |place| view.place(place))) };
    context! {
        id => path.id,
        severity => severity(path.severity),
        title => html(title),
        picture => Value::from_safe_string(picture.into_iter().collect()),
        steps => path.steps.iter().map(step).collect::<Vec<Value>>(),
        closes => Value::from_safe_string(closes.map_or_else(String::new, |closes| html_sentence(&closes.words))),
        diff => view.closing_diff(path).map(diff),
    }
}

/// Returns a difference with an element for each run of equal signs.
fn diff(text: &str) -> Value {
    let sign = |line: &str| line.chars().next().filter(|first| "+-".contains(*first));
    let mut shown = String::new();
    let mut before = None;
    for line in text.lines().take(MAXIMUM_DIFF_LINES) {
        let sign = sign(line);
        if before == Some(sign) {
            shown.push('\n');
        } else {
            shown.push_str(if before.is_some() { "</span><span" } else { "<span" });
            shown.push_str(match sign {
                Some('+') => " class=\"plus\">",
                Some(_) => " class=\"minus\">",
                None => ">",
            });
            before = Some(sign);
        }
        shown.push_str(&escaped(line));
    }
    shown.push_str(if before.is_some() { "</span>" } else { "" });
    let more = text.lines().count().saturating_sub(MAXIMUM_DIFF_LINES);
    if more > 0 {
        shown.push_str(&format!("<span>and {}</span>", number(more, "more line")));
    }
    Value::from_safe_string(shown)
}

fn tests(view: &ReviewView<'_>) -> Option<Value> {
    let (entries, suggested) = (sections::tests(view), view.review.tests.suggested.as_deref());
    let section = || {
        context! {
            id => "tests",
            title => "Tests",
            count => grouped(entries.len()),
            entries => shown(&entries),
            suggested => diff(suggested.map_or("", |test| test)),
            more => more(entries.len(), MAXIMUM_ROWS, "item"),
        }
    };
    (!entries.is_empty() || suggested.is_some()).then(section)
}

fn objects(view: &ReviewView<'_>) -> Option<Value> {
    let objects = &view.review.objects;
    let mut bytes = 0;
    let has_room = |shape: &&ObjectShape| {
        bytes += shape.sample.len() + shape.diff.len();
        bytes <= MAXIMUM_DIFF_BYTES
    };
    let shapes: Vec<&ObjectShape> = objects.shapes.iter().take_while(has_room).collect();
    let more = match objects.left_out {
        0 => more(objects.shapes.len(), shapes.len(), "shape"),
        count => format!("and {} without a shape", number(count, "file")),
    };
    let shapes = shapes.into_iter().enumerate();
    let section = || {
        context! {
            id => "objects",
            title => "Objects by shape",
            count => grouped(objects.shapes.len()),
            lines => sections::object_counts(view).iter().map(html).collect::<Vec<Value>>(),
            shapes => shapes.map(|(index, shape)| one_shape(index, shape)).collect::<Vec<Value>>(),
            more => more,
        }
    };
    (!objects.shapes.is_empty() || !objects.counts.is_empty()).then(section)
}

fn one_shape(index: usize, shape: &ObjectShape) -> Value {
    let title = words::files_of_shape(shape);
    context! { title => html(&title.name(shape.sample.as_str())), diff => diff(&shape.diff), open => index < OPEN_SHAPES }
}

fn findings(view: &ReviewView<'_>) -> Option<Value> {
    let (entries, known) = (sections::findings(view), sections::known_findings(view));
    let lines: Vec<String> = known.iter().map(|known| format!("unchanged: {known}")).collect();
    let section = || {
        context! {
            id => "findings",
            title => "Findings",
            count => grouped(entries.len()),
            entries => shown(&entries),
            lines => lines,
            more => more(entries.len(), MAXIMUM_ROWS, "finding"),
        }
    };
    (!entries.is_empty() || known.is_some()).then(section)
}

fn classes(view: &ReviewView<'_>) -> Option<Value> {
    let classes = &view.review.classes;
    let section = || {
        context! {
            id => "classes",
            title => "Subjects and namespaces",
            count => grouped(classes.len()),
            classes => classes.iter().take(MAXIMUM_ROWS).map(class_row).collect::<Vec<Value>>(),
            more => more(classes.len(), MAXIMUM_ROWS, "row"),
        }
    };
    (!classes.is_empty()).then(section)
}
