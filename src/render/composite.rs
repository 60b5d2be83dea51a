//! Refuses templates that glue text to a value.

/// The byte ranges of every `{{ value }}` that does not stand alone where a YAML key or value can stand.
pub(super) fn find(source: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start_of_line = 0;
    for line in source.split_inclusive('\n') {
        let blanked = blank_statements(line);
        let mut cursor = 0;
        while let Some(open) = blanked.get(cursor..).and_then(|rest| rest.find("{{")).map(|at| cursor + at) {
            let Some(close) = blanked.get(open..).and_then(|rest| rest.find("}}")).map(|at| open + at + 2) else {
                break;
            };
            let before = blanked.get(..open).unwrap_or_default();
            let after = blanked.get(close..).unwrap_or_default();
            if !can_begin(before) || !can_end(after) {
                found.push(start_of_line + open..start_of_line + close);
            }
            cursor = close;
        }
        start_of_line += line.len();
    }
    found
}

/// The line with `{% statements %}` and `{# comments #}` as blanks, so that what stands around them is seen.
fn blank_statements(line: &str) -> String {
    let mut blanked = line.to_owned();
    for (open, close) in [("{%", "%}"), ("{#", "#}")] {
        while let Some(start) = blanked.find(open) {
            let end = blanked.get(start..).and_then(|rest| rest.find(close)).map_or(blanked.len(), |at| start + at + 2);
            let width = end - start;
            blanked.replace_range(start..end, &" ".repeat(width));
        }
    }
    blanked
}

/// True when a value can begin behind this text.
fn can_begin(before: &str) -> bool {
    let text = before.trim_end_matches(' ');
    let space = text.len() < before.len();
    match text.chars().last() {
        None | Some('[' | '{' | ',') => true,
        Some(':') => space,
        Some('-') => space && text.trim_start_matches([' ', '-']).is_empty(),
        _ => false,
    }
}

/// True when nothing behind a value belongs to it.
fn can_end(after: &str) -> bool {
    let text = after.trim_start_matches(' ');
    let space = text.len() < after.len();
    match text.chars().next() {
        None | Some('\n' | '\r' | ',' | ']' | '}') => true,
        Some(':') => !space && text.get(1..).is_some_and(|rest| rest.starts_with([' ', '\n']) || rest.is_empty()),
        Some('#') => space,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_value_stands_alone_or_is_refused() {
        for fine in [
            "a: {{ b }}\n",
            "- {{ b }}\n",
            "{{ k }}: {{ v }}\n",
            "a: [{{ b }}, {{ c }}]\n",
            "a: {% if x %}{{ y }}{% endif %}\n",
            "a: {{ b }} # c\n",
            "- - {{ b }}\n",
            "{{ object }}\n",
        ] {
            assert!(find(fine).is_empty(), "{fine}");
        }
        for glued in [
            "a: tool-{{ b }}\n",
            "a: {{ b }}-psp\n",
            "a: \"{{ b }}\"\n",
            "a: x {{ b }}\n",
            "a:{{ b }}\n",
            "# {{ b }}\n",
        ] {
            assert_eq!(find(glued).len(), 1, "{glued}");
        }
    }
}
