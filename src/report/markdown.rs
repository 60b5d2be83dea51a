//! Markdown, for comments and step summaries.

use super::Report;
use super::block::ReportBlock;
use crate::diag::foreign;

/// How many items of a list and rows of a table are shown.
const MAXIMUM_ITEMS: usize = 200;

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
        ReportBlock::Verbatim(text) => {
            // A text with a fence in it needs a longer one.
            let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
            let fence = "`".repeat(longest.max(2) + 1);
            let lines = text.lines().map(|line| format!("{}\n", foreign::line(line)));
            format!("{fence}text\n{}{fence}\n", lines.collect::<String>())
        }
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

fn row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn more(count: usize) -> String {
    match count.checked_sub(MAXIMUM_ITEMS) {
        None | Some(0) => String::new(),
        Some(more) => format!("\nand {more} more\n"),
    }
}
