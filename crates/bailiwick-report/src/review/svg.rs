//! The picture of a path: a row of boxes with arrows, with further rows for long paths.

use bailiwick_review::ReviewedStep;

use super::phrase::{Phrase, escaped};
use super::words;

/// The most boxes of a picture. A longer path is a list alone.
const MAXIMUM_BOXES: usize = 13;

/// The boxes of a row.
const IN_ROW: usize = 4;

/// The size of a box, and the distances between boxes.
const BOX: [usize; 2] = [236, 66];
const GAP: [usize; 2] = [36, 34];

/// The most characters of a line in a box.
const MAXIMUM_LETTERS: usize = 28;

/// The margin of a picture.
const MARGIN: usize = 6;

/// A box of a picture.
struct PathBox<'p> {
    /// The step that leads to the box.
    step: String,
    /// The last part of the name.
    name: &'p str,
    /// The other parts of the name, such as the kind.
    kind: &'p str,
    class: &'static str,
}

impl<'p> PathBox<'p> {
    fn new(step: String, name: &'p str, class: &'static str) -> Self {
        let (kind, name) = name.rsplit_once('/').map_or(("power", name), |parts| parts);
        Self { step, name, kind, class }
    }
}

/// Returns the picture of a path; none for a path without steps or with too many.
pub(crate) fn picture(id: usize, title: &Phrase, steps: &[ReviewedStep]) -> Option<String> {
    let boxes = boxes(steps);
    if boxes.len() < 2 || boxes.len() > MAXIMUM_BOXES {
        return None;
    }
    let columns = boxes.len().min(IN_ROW);
    let rows = boxes.len().div_ceil(IN_ROW);
    let width = 2 * MARGIN + columns * BOX[0] + (columns - 1) * GAP[0];
    let height = 2 * MARGIN + rows * BOX[1] + (rows - 1) * GAP[1];
    let title = escaped(&title.plain());
    let steps: Vec<String> = steps.iter().map(|step| words::step(step).plain()).collect();
    let mut text = format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"path-{id}-title path-{id}-desc\">\n<title id=\"path-{id}-title\">{title}</title>\n\
         <desc id=\"path-{id}-desc\">{}</desc>\n",
        escaped(&steps.join("; "))
    );
    for (index, path_box) in boxes.iter().enumerate() {
        if index > 0 {
            text.push_str(&arrow(index, path_box.class));
        }
        text.push_str(&drawn(index, path_box));
    }
    text.push_str("</svg>");
    Some(text)
}

/// Returns the boxes: the subject, and one for each step.
fn boxes(steps: &[ReviewedStep]) -> Vec<PathBox<'_>> {
    let first = steps.first().map(|step| PathBox::new("begins as".to_owned(), &step.from, "box"));
    let last = steps.len().saturating_sub(1);
    let steps = steps.iter().enumerate().map(|(index, step)| {
        let class = match (index == last, step.new) {
            (true, true) => "box power new",
            (true, false) => "box power",
            (false, true) => "box new",
            (false, false) => "box",
        };
        PathBox::new(caption(step), &step.to, class)
    });
    first.into_iter().chain(steps).collect()
}

fn caption(step: &ReviewedStep) -> String {
    let phrase = Phrase::new(if step.new { "new: " } else { "by " }).name(step.edge.as_str());
    match &step.namespace {
        Some(namespace) => phrase.words(" in ").name(namespace.as_str()).plain(),
        None => phrase.plain(),
    }
}

/// Returns the upper left corner of a box.
fn corner(index: usize) -> [usize; 2] {
    [MARGIN + index % IN_ROW * (BOX[0] + GAP[0]), MARGIN + index / IN_ROW * (BOX[1] + GAP[1])]
}

fn drawn(index: usize, path_box: &PathBox<'_>) -> String {
    let [x, y] = corner(index);
    let [width, height] = BOX;
    let left = x + 12;
    let lines = [("step", 20, path_box.step.as_str()), ("name", 39, path_box.name), ("kind", 56, path_box.kind)];
    let lines = lines.map(|(class, down, text)| {
        let most = if class == "name" { MAXIMUM_LETTERS } else { MAXIMUM_LETTERS + 3 };
        format!("<text class=\"{class}\" x=\"{left}\" y=\"{}\">{}</text>", y + down, escaped(&cut(text, most)))
    });
    let rect = format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>");
    format!("<g class=\"{}\">{rect}{}</g>\n", path_box.class, lines.concat())
}

/// Returns a text of at most `most` characters, a longer text without its middle: its beginning is the kind, its end the name.
fn cut(text: &str, most: usize) -> String {
    bailiwick_yaml::diag::foreign::shortened(&bailiwick_yaml::diag::foreign::line(text), most).into_owned()
}

/// Returns the arrow to a box: a line in a row, and a line around the end of a row.
fn arrow(index: usize, class: &str) -> String {
    let ([from_x, from_y], [x, y]) = (corner(index - 1), corner(index));
    let (middle, start) = (y + BOX[1] / 2, from_x + BOX[0]);
    let line = if from_y == y {
        format!("M{start} {middle}H{}", x - 8)
    } else {
        let turn = from_y + BOX[1] + GAP[1] / 2;
        let under = from_x + BOX[0] / 2;
        format!("M{under} {}V{turn}H{}V{}", from_y + BOX[1], x + BOX[0] / 2, y - 8)
    };
    let head = if from_y == y {
        format!("M{} {}l9 5-9 5z", x - 10, middle - 5)
    } else {
        format!("M{} {}l5 9 5-9z", x + BOX[0] / 2 - 5, y - 10)
    };
    let class = if class.contains("new") { "arrow new" } else { "arrow" };
    format!("<path class=\"{class}\" d=\"{line}\"/><path class=\"{class} head\" d=\"{head}\"/>\n")
}
