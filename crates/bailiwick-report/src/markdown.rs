//! Markdown, for comments and step summaries.

use bailiwick_yaml::diag::foreign;

use super::block::ReportBlock;
use super::{Report, human};

/// How many items of a list and rows of a table are shown.
const MAXIMUM_ITEMS: usize = 200;

/// How many bytes of a text are shown. A comment of GitHub has at most 65,536 characters, and a longer step summary than 1 MiB is
/// dropped as a whole.
const MAXIMUM_TEXT: usize = 40_000;

/// Returns a report as Markdown. No text of a report becomes a link, a mention, HTML or a formula.
pub fn text(report: &impl Report) -> String {
    let parts: Vec<String> = report.blocks().iter().map(block).filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn block(block: &ReportBlock) -> String {
    match block {
        ReportBlock::Heading(text) => format!("## {}\n", foreign::markdown(text)),
        ReportBlock::Paragraph(text) => format!("{}\n", foreign::markdown(text)),
        ReportBlock::Verbatim(text) if text.is_empty() => String::new(),
        ReportBlock::Verbatim(text) => verbatim(text),
        ReportBlock::List(items) => {
            let shown = items.iter().take(MAXIMUM_ITEMS).map(|item| format!("- {}\n", foreign::markdown(item)));
            shown.collect::<String>() + &more(items.len())
        }
        ReportBlock::Table { columns, rows } => {
            let mut text = row(columns.iter().map(|column| foreign::markdown(column)));
            text.push_str(&row(columns.iter().map(|_| "---".to_owned())));
            for cells in rows.iter().take(MAXIMUM_ITEMS) {
                text.push_str(&row(cells.iter().map(|cell| foreign::markdown_cell(cell))));
            }
            text + &more(rows.len())
        }
    }
}

/// Returns a text between fences, as many whole lines of it as have room.
fn verbatim(text: &str) -> String {
    let (mut shown, mut left_out) = (String::new(), 0);
    for line in text.lines() {
        let line = foreign::line(line);
        if left_out == 0 && shown.len() + line.len() < MAXIMUM_TEXT {
            shown.push_str(&line);
            shown.push('\n');
        } else {
            left_out += 1;
        }
    }
    let rest = if left_out > 0 { format!("\nand {}\n", human::number(left_out, "more line")) } else { String::new() };
    fenced("text", &shown) + &rest
}

/// Returns harmless lines between fences. A text with a fence in it needs a longer fence.
pub(super) fn fenced(language: &str, lines: &str) -> String {
    let longest = lines.split(|character| character != '`').map(str::len).fold(0, usize::max);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{lines}{fence}\n")
}

fn row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn more(count: usize) -> String {
    match count.checked_sub(MAXIMUM_ITEMS) {
        None | Some(0) => String::new(),
        Some(more) => format!("\nand {more} more\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_with_the_number_of_its_further_lines() {
        let line = "x".repeat(99);
        let text = verbatim(&format!("{line}\n").repeat(1_000));
        assert!(text.len() < 41_000, "{}", text.len());
        let shown = text.matches(&line).count();
        assert!(text.ends_with(&format!("```\n\nand {} more lines\n", 1_000 - shown)), "{shown}");
        assert_eq!(verbatim("a\nb"), "```text\na\nb\n```\n");
    }

    #[test]
    fn a_line_without_end_is_counted_and_not_cut() {
        assert_eq!(verbatim(&"`".repeat(MAXIMUM_TEXT)), "```text\n```\n\nand 1 more line\n");
    }
}
