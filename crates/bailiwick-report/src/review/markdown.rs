//! Markdown, for comments of pull requests and for step summaries.
//!
//! The text is never longer than the budget. Sections consist of whole items: a row, a path, a shape. Every section that leaves
//! items out has the number of them, and fences and `<details>` are always closed.

use bailiwick_review::{AccessChange, ChangeReview, EffectChange, EffectSeverity, ObjectShape};
use bailiwick_yaml::diag::foreign;

use super::phrase::{FilePlace, Phrase, sentence};
use super::sections::{self, short_hash};
use super::view::{AlikePaths, ReviewView, severity};
use super::words::{self, Entry, grouped};
use super::{COMMENT_BUDGET, ReviewFormOptions, mermaid};
use crate::markdown::fenced;

/// The most hazards. They come before the shares of the other sections.
const MAXIMUM_HAZARDS: usize = 20;

/// The most paths with their steps.
const MAXIMUM_PATHS: usize = 5;

/// The most reasons for an approval.
const MAXIMUM_REASONS: usize = 3;

/// The columns of the effects, after the severity.
const COLUMNS: [&str; 6] = ["", "who", "where", "gains", "opens", "because"];

/// The room for a note about left-out items.
const NOTE: usize = 120;

/// Returns a review as Markdown within the budget.
pub(super) fn text(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let view = ReviewView::new(review, options);
    let mut room = Room { left: options.budget };
    let Some(opening) = room.take(opening(&view)) else { return String::new() };
    let footer = room.take(footer(&view)).into_iter().collect::<String>();
    let caution = room.take(caution(&view)).into_iter().collect::<String>();
    let mut left_out = Vec::new();
    let mut shares = Shares { carried: 0, budget: options.budget };
    let reserved = room.reserve(2 * NOTE);
    let mut whole = |room: &mut Room, part: Part| {
        let all = room.left;
        part.lay_out(room, all, &mut left_out)
    };
    let diagnostics = whole(&mut room, entries("Diagnostics", "diagnostic", &sections::diagnostics(&view)));
    let mut hazards = entries("Hazards", "hazard", &sections::hazards(&view));
    hazards.most = MAXIMUM_HAZARDS;
    let hazards = whole(&mut room, hazards);
    let unchanged = room.take(unchanged(&view)).into_iter().collect::<String>();
    let mut text = opening + &caution + &diagnostics + &hazards;
    for (share, part) in parts(&view) {
        let is_effects = share == Share::Effects;
        text.push_str(&shares.lay_out(share, part, &mut room, &mut left_out));
        if is_effects {
            text.push_str(&unchanged);
        }
    }
    text.push_str(&left_out_note(&left_out, reserved));
    text + &footer
}

/// Returns the sections with shares, in their order.
fn parts(view: &ReviewView<'_>) -> [(Share, Part); 6] {
    [
        (Share::Effects, effects(view)),
        (Share::Paths, paths(view)),
        (Share::Pods, entries("Pods, nodes, applier and lifetimes", "change", &sections::pods(view))),
        (Share::Tests, tests(view)),
        (Share::Objects, objects(view)),
        (Share::Findings, findings(view)),
    ]
}

/// The bytes that are left.
#[derive(Debug)]
struct Room {
    left: usize,
}

impl Room {
    /// Returns a text if it has room.
    fn take(&mut self, text: String) -> Option<String> {
        self.left = self.left.checked_sub(text.len())?;
        Some(text)
    }

    /// Takes bytes for a later text, at most as many as there are, and returns their number.
    fn reserve(&mut self, bytes: usize) -> usize {
        let reserved = bytes.min(self.left);
        self.left -= reserved;
        reserved
    }
}

/// A section with a share of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    Effects,
    Paths,
    Pods,
    Tests,
    Objects,
    Findings,
}

impl Share {
    /// Returns the bytes of the section in a comment of the usual size.
    fn bytes(self) -> usize {
        match self {
            Self::Effects => 8 << 10,
            Self::Paths => 16 << 10,
            Self::Pods | Self::Tests => 4 << 10,
            Self::Objects => 24 << 10,
            Self::Findings => COMMENT_BUDGET,
        }
    }
}

/// The shares of the sections. Unused bytes of a section are for the next one.
#[derive(Debug)]
struct Shares {
    carried: usize,
    budget: usize,
}

impl Shares {
    fn lay_out(
        &mut self,
        share: Share,
        part: Part,
        room: &mut Room,
        left_out: &mut Vec<(usize, &'static str)>,
    ) -> String {
        let own = (share.bytes() as u128 * self.budget as u128 / COMMENT_BUDGET as u128) as usize;
        let bytes = own.saturating_add(self.carried).min(room.left);
        let text = part.lay_out(room, bytes, left_out);
        self.carried = bytes - text.len();
        text
    }
}

/// A section of whole items.
#[derive(Debug)]
struct Part {
    head: String,
    items: Vec<String>,
    /// The most items.
    most: usize,
    /// The name of an item in the note about left-out items.
    noun: &'static str,
    /// A text after the items.
    tail: String,
}

impl Part {
    /// Returns as many items as have room. A section without room is recorded.
    fn lay_out(self, room: &mut Room, bytes: usize, left_out: &mut Vec<(usize, &'static str)>) -> String {
        let mut text = format!("\n{}", self.head);
        if self.items.is_empty() && self.tail.is_empty() {
            return String::new();
        }
        let whole: usize = self.items.iter().map(String::len).sum();
        let is_whole = self.items.len() <= self.most && text.len() + whole + self.tail.len() <= bytes;
        let limit = bytes.saturating_sub(self.tail.len() + if is_whole { 0 } else { NOTE });
        if text.len() > limit {
            left_out.push((self.items.len(), self.noun));
            return String::new();
        }
        let mut more = 0;
        for (index, item) in self.items.iter().enumerate() {
            if index - more < self.most && text.len() + item.len() <= limit {
                text.push_str(item);
            } else {
                more += 1;
            }
        }
        if more > 0 {
            text.push_str(&format!("\nand {}; all of them are in the report\n", further(more, self.noun)));
        }
        text.push_str(&self.tail);
        room.reserve(text.len());
        text
    }
}

/// Returns a number of left-out items.
fn further(count: usize, noun: &str) -> String {
    let (stem, end) = if noun == "class" { ("class", "es") } else { (noun, "s") };
    format!("{} further {stem}{}", grouped(count), if count == 1 { "" } else { end })
}

/// Returns the numbers of items of sections without room: by section, or all together, or none if even that is too long.
fn left_out_note(left_out: &[(usize, &'static str)], room: usize) -> String {
    let parts: Vec<String> = left_out.iter().map(|(count, noun)| further(*count, noun)).collect();
    let all = left_out.iter().map(|(count, _)| count).sum();
    let notes = [parts.join(", "), further(all, "item")].map(|text| format!("\nLeft out for want of room: {text}\n"));
    notes.into_iter().filter(|_| !left_out.is_empty()).find(|note| note.len() <= room).into_iter().collect()
}

/// Returns the line by which an earlier comment is found, the verdict, and what is not reviewed.
fn opening(view: &ReviewView<'_>) -> String {
    let workspace = marker(&view.review.workspace);
    let not_judged = sections::not_judged(view);
    let below = if not_judged.is_empty() { String::new() } else { format!("\n{}\n", not_judged.markdown()) };
    format!("<!-- bailiwick:review workspace={workspace} v=1 -->\n## {}\n{below}", sentence(&view.review.line))
}

/// Returns a path with an escape for each byte that could end a comment.
fn marker(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/".contains(&byte);
    let shown = path.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    shown.collect()
}

/// Returns the worst effect and the reasons for approvals, if approvals are needed.
fn caution(view: &ReviewView<'_>) -> String {
    if !sections::needs_approval(view) {
        return String::new();
    }
    let mut text = "\n> [!CAUTION]\n".to_owned();
    // A lost permission is not the reason for an approval.
    let effect = view.review.effects.first().filter(|effect| effect.severity > EffectSeverity::None);
    let worst = match (view.alike_paths().first(), effect) {
        (Some(alike), effect) if effect.is_none_or(|effect| effect.severity <= alike.first.severity) => {
            words::alike_paths(view, alike)
        }
        (_, Some(effect)) => words::effect(view, effect).words(", ").then(words::place_of(view, effect)),
        _ => Phrase::default(),
    };
    let mut lines: Vec<String> = [worst].iter().filter(|worst| !worst.is_empty()).map(Phrase::markdown).collect();
    let approvals = sections::approvals(view);
    lines.extend(approvals.iter().take(MAXIMUM_REASONS).map(|entry| entry.text.markdown()));
    text.push_str(&lines.iter().map(|line| format!("> - {line}\n")).collect::<String>());
    text
}

fn footer(view: &ReviewView<'_>) -> String {
    let review = view.review;
    let hash = |commit: &Option<String>| commit.as_deref().map(short_hash);
    let mut phrase = Phrase::new("base ").name(hash(&review.base.commit).map_or(review.base.name.clone(), |hash| hash));
    if let Some(commit) = hash(&review.head.commit) {
        phrase = phrase.words(" · head ").name(commit);
    }
    phrase = phrase.words(" · ").name(view.options.command.as_str()).words(format!(" · exit code {}", review.exit));
    let mut text = phrase.markdown();
    if let Some(url) = &view.options.report_url {
        text.push_str(&format!(" · [HTML report]({})", bracketed(url)));
    }
    format!("\n{text}\n")
}

/// Returns an address as the target of a link.
fn bracketed(url: &str) -> String {
    let is_safe = |letter: char| letter.is_ascii_graphic() && !"<>()\\`".contains(letter);
    url.chars().filter(|letter| is_safe(*letter)).collect()
}

/// Returns a section with a list of entries.
fn entries(title: &str, noun: &'static str, entries: &[Entry]) -> Part {
    let items = entries.iter().map(entry).collect();
    Part { head: format!("### {title}\n\n"), items, most: usize::MAX, noun, tail: String::new() }
}

fn entry(entry: &Entry) -> String {
    let mut text = format!("- {}{}\n", entry.severity.map_or_else(String::new, rating), entry.text.markdown());
    for detail in &entry.details {
        text.push_str(&format!("  - {}\n", detail.markdown()));
    }
    text
}

fn rating(rating: bailiwick_review::EffectSeverity) -> String {
    format!("**{}** ", severity(rating))
}

fn effects(view: &ReviewView<'_>) -> Part {
    let rows = view.review.effects.iter().map(|effect| effect_row(view, effect));
    let head = format!("| {} |\n|{}\n", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len()));
    let ground: String = sections::ground(view).iter().take(2 * MAXIMUM_HAZARDS).map(entry).collect();
    let tail = if ground.is_empty() { ground } else { format!("\n{ground}") };
    let mut part = Part { head, items: rows.collect(), most: usize::MAX, noun: "class", tail };
    if part.items.is_empty() {
        part.head.clear();
    }
    part
}

fn effect_row(view: &ReviewView<'_>, effect: &AccessChange) -> String {
    let rights = match effect.change {
        EffectChange::Gained => words::rights(effect),
        EffectChange::Lost => Phrase::new("loses ").then(words::rights(effect)),
    };
    let cells = [
        view.who(effect.class),
        words::place_of(view, effect),
        rights,
        words::opens(effect),
        view.places(&effect.causes),
    ];
    let cells: Vec<String> = cells.iter().map(Phrase::markdown_cell).collect();
    format!("| {} | {} |\n", severity(effect.severity), cells.join(" | "))
}

/// Returns the sections without a difference.
fn unchanged(view: &ReviewView<'_>) -> String {
    let lines: Vec<String> = sections::unchanged(view).iter().map(Phrase::markdown).collect();
    format!("\n**Unchanged:** {}.\n", lines.join("; "))
}

fn paths(view: &ReviewView<'_>) -> Part {
    let groups = view.alike_paths();
    let items = groups.iter().enumerate().map(|(index, alike)| one_path(view, index, alike)).collect();
    let graph =
        mermaid::graph(groups.iter().map(|alike| alike.first)).filter(|graph| graph.len() < Share::Paths.bytes() / 2);
    let graph = graph.map_or_else(String::new, |graph| format!("{graph}\n"));
    Part { head: format!("### Paths\n\n{graph}"), items, most: MAXIMUM_PATHS, noun: "path", tail: String::new() }
}

fn one_path(view: &ReviewView<'_>, index: usize, alike: &AlikePaths<'_>) -> String {
    let (path, title) = (alike.first, words::alike_paths(view, alike).markdown());
    let mut text = format!("{}{title}\n\n<details>\n<summary>Path {}</summary>\n\n", rating(path.severity), index + 1);
    for (index, step) in path.steps.iter().enumerate() {
        text.push_str(&format!("{}. {}\n", index + 1, words::proven_step(view, step).markdown()));
    }
    if let Some(closes) = &path.closes {
        let closes = sentence(&closes.words);
        match view.closing_diff(path) {
            Some(shown) => text.push_str(&format!("\nCloses this path: {closes}\n\n{}", diff(shown))),
            None => text.push_str(&format!("\nCloses this path, too: {closes}\n")),
        }
    }
    text.push_str("\n</details>\n\n");
    text
}

/// Returns a difference in a fence.
fn diff(diff: &str) -> String {
    fenced("diff", &harmless_lines(diff))
}

fn harmless_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", foreign::line(line))).collect()
}

fn tests(view: &ReviewView<'_>) -> Part {
    let mut part = entries("Tests", "test", &sections::tests(view));
    if let Some(test) = &view.review.tests.suggested {
        let title = "\nAn AccessTest that fails on the reviewed state and passes on the base:\n\n";
        part.items.push(format!("{title}{}", fenced("yaml", &harmless_lines(test))));
    }
    part
}

fn objects(view: &ReviewView<'_>) -> Part {
    let counts: String = sections::object_counts(view)
        .iter()
        .take(MAXIMUM_HAZARDS)
        .map(|line| format!("- {}\n", line.markdown()))
        .collect();
    let shapes = &view.review.objects.shapes;
    let head = format!("### Objects\n\n{counts}\n");
    let left_out = view.review.objects.left_out;
    let tail = match left_out {
        0 => String::new(),
        count => format!("\nand {} without a shape\n", words::number(count, "file")),
    };
    Part { head, items: shapes.iter().map(shape).collect(), most: usize::MAX, noun: "shape", tail }
}

fn shape(shape: &ObjectShape) -> String {
    let name = FilePlace { path: shape.sample.clone(), line: None, address: None };
    let title = words::files_of_shape(shape).place(name);
    match words::whole_file(&shape.diff) {
        Some(objects) => format!("{}: {}\n\n", title.markdown(), objects.markdown()),
        None => format!("{}\n\n{}\n", title.markdown(), diff(&shape.diff)),
    }
}

fn findings(view: &ReviewView<'_>) -> Part {
    let mut part = entries("Findings", "finding", &sections::findings(view));
    if let Some(known) = sections::known_findings(view) {
        part.tail = format!("\nUnchanged: {known}\n");
    }
    part
}
