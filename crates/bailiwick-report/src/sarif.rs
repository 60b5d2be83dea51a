//! SARIF 2.1.0, for code scanning (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/>).

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_workspace::{FindingRecord, SourceRange};
use serde_json::{Value, json};

use super::run::fingerprints;
use super::{Report, workspace_file};

/// The schema that a log names.
pub(super) const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Returns a report as a SARIF log with one run. Each code is a rule, each finding a result.
pub fn text(report: &impl Report) -> String {
    let (findings, workspace) = (report.findings(), workspace_file(report));
    let mut rules: BTreeMap<&str, Vec<&FindingRecord>> = BTreeMap::new();
    for finding in findings {
        rules.entry(&finding.code).or_default().push(finding);
    }
    let index: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(index, code)| (*code, index)).collect();
    let results = findings.iter().zip(fingerprints(findings)).map(|(finding, fingerprint)| {
        json!({
            "ruleId": finding.code,
            "ruleIndex": index.get(finding.code.as_str()),
            "level": level(finding),
            "message": { "text": message(finding) },
            "locations": [location(finding.place.as_ref().ok_or(workspace.as_str()), None)],
            "relatedLocations": finding
                .related
                .iter()
                .map(|related| location(Ok(&related.place), Some(&related.text)))
                .collect::<Vec<_>>(),
            // GitHub matches alerts by the second one.
            "partialFingerprints": { "bailiwick/v1": fingerprint, "primaryLocationLineHash": fingerprint },
        })
    });
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bailiwick",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|(code, findings)| rule(code, findings)).collect::<Vec<_>>(),
            } },
            "invocations": [{ "executionSuccessful": report.exit_code() < 3, "exitCode": report.exit_code() }],
            "automationDetails": { "id": category(report) },
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    });
    super::json::pretty(&log)
}

/// Returns the name of a series of runs. GitHub replaces the alerts of an earlier run with the same name.
fn category(report: &impl Report) -> String {
    match report.workspace() {
        "" | "." => format!("bailiwick/{}/", report.command()),
        folder => format!("bailiwick/{}/{}/", report.command(), uri(folder)),
    }
}

fn rule(id: &str, findings: &[&FindingRecord]) -> Value {
    let code = codes::find(id);
    let title = code.map_or(id, |code| code.title());
    let mut rule = json!({
        "id": id,
        "shortDescription": { "text": title },
        "help": {
            "text": code.map_or(id, |code| code.page()),
            "markdown": code.map_or(id, |code| code.page()),
        },
        "properties": { "tags": ["security"] },
    });
    // GitHub sorts security alerts by this number, which a rule and not a result has.
    let severity = findings.iter().filter_map(|finding| security_severity(finding.level())).max_by(f64::total_cmp);
    if let (Some(severity), Some(properties)) = (severity, rule.get_mut("properties").and_then(Value::as_object_mut)) {
        properties.insert("security-severity".to_owned(), format!("{severity:.1}").into());
    }
    rule
}

/// Returns the middle of the range that GitHub gives a severity.
fn security_severity(level: &str) -> Option<f64> {
    match level {
        "critical" => Some(9.5),
        "high" => Some(8.0),
        "medium" => Some(5.5),
        "low" => Some(2.0),
        _ => None,
    }
}

fn level(finding: &FindingRecord) -> &'static str {
    match finding.level() {
        "critical" | "high" | "error" => "error",
        "medium" | "warning" => "warning",
        _ => "note",
    }
}

fn message(finding: &FindingRecord) -> String {
    let mut text = finding.message.clone();
    for help in &finding.help {
        text.push_str("\nhelp: ");
        text.push_str(help);
    }
    plain_message(&text)
}

/// Returns a text as a message that has no link (SARIF 2.1.0, 3.11.6) and no placeholder (3.11.5), whatever names are in it.
pub(super) fn plain_message(text: &str) -> String {
    let mut message = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '[' | ']' | '\\' => message.extend(['\\', character]),
            '{' | '}' => message.extend([character; 2]),
            _ => message.push(character),
        }
    }
    message
}

/// Returns a location: a place, or the whole file of the workspace. Code scanning accepts no result without a file.
fn location(place: Result<&SourceRange, &str>, text: Option<&str>) -> Value {
    let mut location = match place {
        Err(file) => json!({ "physicalLocation": { "artifactLocation": { "uri": uri(file) } } }),
        Ok(place) => json!({
            "physicalLocation": {
                "artifactLocation": { "uri": uri(&place.path) },
                "region": {
                    "startLine": place.line,
                    "startColumn": place.column,
                    "endLine": place.end_line,
                    "endColumn": place.end_column,
                },
            },
        }),
    };
    if let (Some(text), Some(location)) = (text, location.as_object_mut()) {
        location.insert("message".to_owned(), json!({ "text": plain_message(text) }));
    }
    location
}

/// Returns a path as a relative reference of RFC 3986: every byte that is not an unreserved character or a slash is encoded.
pub(super) fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte.into()),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::{plain_message, uri};

    #[test]
    fn a_name_in_a_message_is_no_link_and_no_placeholder() {
        assert_eq!(plain_message("[a](https://b.example) {0} c\\[d]"), "\\[a\\](https://b.example) {{0}} c\\\\\\[d\\]");
        assert_eq!(plain_message("plain text\nhelp: (more)"), "plain text\nhelp: (more)");
    }

    #[test]
    fn paths_are_encoded() {
        assert_eq!(uri("policies/a b#ü.yaml"), "policies/a%20b%23%C3%BC.yaml");
        assert_eq!(uri("javascript:x"), "javascript%3Ax");
    }
}
