//! SARIF 2.1.0, for code scanning (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/>).
//!
//! GitHub reads `security-severity` from a rule and not from a result, and so a rule is a code with a severity.

use std::collections::BTreeMap;
use std::io::Write as _;

use bailiwick_codes as codes;
use bailiwick_review::{ChangeReview, EffectSeverity, ReviewedStep};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::results::{self, GAIN, ResultPlace, ReviewResult};
use super::view::{ReviewView, severity, split_place};
use super::{ReviewFormOptions, words};
use crate::sarif::{SCHEMA, plain_message, uri};

/// The most results. GitHub shows no more.
const MAXIMUM_RESULTS: usize = 5_000;

/// The most related locations of a result.
const MAXIMUM_RELATED: usize = 100;

/// The most bytes of a log after compression by gzip.
const MAXIMUM_BYTES: usize = 10_000_000;

/// Returns a review as a SARIF log with one run.
pub(super) fn text(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let view = ReviewView::new(review, options);
    let results = results::results(&view);
    let mut shown = results.len().min(MAXIMUM_RESULTS);
    loop {
        let (list, left_out) = results.split_at(shown);
        let text = crate::json::pretty(&log(&view, list, left_out.len()));
        if shown == 0 || gzip_size(&text) <= MAXIMUM_BYTES {
            return text;
        }
        shown /= 2;
    }
}

/// Returns the number of bytes of a text after compression.
fn gzip_size(text: &str) -> usize {
    if text.len() <= MAXIMUM_BYTES {
        return text.len();
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    written.map_or(usize::MAX, |bytes| bytes.len())
}

fn log(view: &ReviewView<'_>, results: &[ReviewResult<'_>], left_out: usize) -> Value {
    let review = view.review;
    let mut rules: BTreeMap<String, &ReviewResult<'_>> = BTreeMap::new();
    for result in results {
        rules.entry(rule_id(result)).or_insert(result);
    }
    let positions: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(index, id)| (id.as_str(), index)).collect();
    let list: Vec<Value> = results.iter().map(|result| one_result(view, result, &positions)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bailiwick",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|(id, result)| rule(id, result)).collect::<Vec<_>>(),
            } },
            "invocations": [invocation(view, left_out)],
            "automationDetails": { "id": format!("bailiwick/{}/", uri(&review.workspace)) },
            "originalUriBaseIds": { "SRCROOT": { "description": { "text": "the root of the git work tree" } } },
            "columnKind": "unicodeCodePoints",
            "properties": { "verdict": review.line, "severity": severity(review.severity) },
            "results": list,
        }],
    })
}

/// Returns the outcome of the run. Left-out results and diagnostics are notifications.
fn invocation(view: &ReviewView<'_>, left_out: usize) -> Value {
    let mut notifications = Vec::new();
    if left_out > 0 {
        let text = format!("{} were left out, the worst ones are here", words::number(left_out, "result"));
        notifications.push(json!({ "level": "warning", "message": { "text": text } }));
    }
    for record in &view.review.diagnostics {
        let level = if record.is_error() { "error" } else { "warning" };
        let mut notification = json!({ "level": level, "message": { "text": line(&record.message) } });
        if let (Some(place), Some(fields)) = (&record.place, notification.as_object_mut()) {
            let region = json!({ "startLine": place.line, "startColumn": place.column });
            let location =
                json!({ "physicalLocation": { "artifactLocation": artifact(&place.path), "region": region } });
            fields.insert("locations".to_owned(), json!([location]));
        }
        notifications.push(notification);
    }
    json!({
        "executionSuccessful": view.review.verdict.is_some(),
        "exitCode": view.review.exit,
        "toolExecutionNotifications": notifications,
    })
}

/// Returns the id of a rule: a code with a severity.
fn rule_id(result: &ReviewResult<'_>) -> String {
    format!("{}/{}", result.code, severity(result.severity))
}

fn rule(id: &str, result: &ReviewResult<'_>) -> Value {
    let known = codes::find(&result.code);
    let title = known.map_or_else(|| own_title(&result.code), |code| code.title().to_owned());
    let page = known.map_or_else(|| title.clone(), |code| code.page().to_owned());
    let mut properties = Map::new();
    properties.insert("tags".to_owned(), json!(["security"]));
    if let Some(number) = security_severity(result.severity) {
        properties.insert("security-severity".to_owned(), number.into());
    }
    json!({
        "id": id,
        "name": result.code,
        "shortDescription": { "text": title },
        "fullDescription": { "text": title },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": level(result.severity) },
        "properties": properties,
    })
}

/// Returns the title of a code of reviews alone.
fn own_title(code: &str) -> String {
    let title = match code {
        GAIN => "a subject gains access",
        "pods-changed" => "the admission of pods changes",
        "lifetime-changed" => "a grant lasts longer or shorter",
        "test-failing" => "an AccessTest fails",
        "test-disarmed" => "an expectation is removed that would fail",
        "namespace-deleted" => "a namespace is deleted with everything in it",
        "target-removed" => "a target is removed with all its objects",
        "target-renamed" => "a target gets another name",
        "setting-changed" => "a setting changes that no object of the output shows",
        "lock-out" => "the last subject with a protected right loses it",
        "roleref-changed" => "a binding is deleted and created anew",
        "crd-deleted" => "a custom resource definition is deleted with all its objects",
        "binding-replaced" => "a binding gets another name",
        "mass-change" => "very many namespaces change",
        "never-pruned" => "the applier never deletes a removed object",
        edge => return format!("an escalation path by {edge}"),
    };
    title.to_owned()
}

fn security_severity(severity: EffectSeverity) -> Option<&'static str> {
    match severity {
        EffectSeverity::Critical => Some("9.5"),
        EffectSeverity::High => Some("8.0"),
        EffectSeverity::Medium => Some("5.0"),
        EffectSeverity::Low => Some("2.0"),
        EffectSeverity::Info | EffectSeverity::None => None,
    }
}

fn level(severity: EffectSeverity) -> &'static str {
    match severity {
        EffectSeverity::Critical | EffectSeverity::High => "error",
        EffectSeverity::Medium => "warning",
        EffectSeverity::Low | EffectSeverity::Info | EffectSeverity::None => "note",
    }
}

/// Returns a text on one line as a message of SARIF.
fn line(text: &str) -> String {
    plain_message(&bailiwick_yaml::diag::foreign::line(text))
}

fn one_result(view: &ReviewView<'_>, result: &ReviewResult<'_>, positions: &BTreeMap<&str, usize>) -> Value {
    let id = rule_id(result);
    let message = line(&result.message);
    let related: Vec<Value> = result.related.iter().take(MAXIMUM_RELATED).map(|place| location(place, None)).collect();
    let mut value = json!({
        "ruleId": id,
        "ruleIndex": positions.get(id.as_str()),
        "level": if result.is_absent { "none" } else { level(result.severity) },
        "message": { "text": message },
        "locations": [location(&result.place, None)],
        "relatedLocations": related,
        "partialFingerprints": {
            "bailiwick/v1": result.fingerprint,
            "primaryLocationLineHash": result.fingerprint,
        },
        "baselineState": if result.is_absent { "absent" } else { "new" },
        "properties": { "targets": result.targets, "count": result.count },
    });
    let Some(fields) = value.as_object_mut() else { return value };
    if result.is_absent {
        fields.insert("kind".to_owned(), "informational".into());
    }
    if !result.steps.is_empty() {
        let steps = result.steps.iter().enumerate();
        let steps: Vec<Value> = steps.map(|(index, step)| flow_step(view, step, index + 1)).collect();
        fields.insert("codeFlows".to_owned(), json!([{ "threadFlows": [{ "locations": steps }] }]));
    }
    value
}

/// Returns a step of a path. A step of the default policy has no file.
fn flow_step(view: &ReviewView<'_>, step: &ReviewedStep, order: usize) -> Value {
    let message = line(&words::proven_step(view, step).plain());
    let place = step.place.as_deref().map(split_place);
    let mut location = match place {
        Some((path, Some(line))) => {
            location(&ResultPlace { path: path.to_owned(), line: line.max(1), range: None }, Some(&message))
        }
        _ => json!({ "message": { "text": message } }),
    };
    let name = step.role.as_ref().or(step.binding.as_ref()).map_or(step.to.as_str(), String::as_str);
    if let Some(fields) = location.as_object_mut() {
        fields.insert("logicalLocations".to_owned(), json!([{ "fullyQualifiedName": name }]));
    }
    json!({
        "location": location,
        "executionOrder": order,
        "nestingLevel": 0,
        "importance": if step.new { "essential" } else { "important" },
    })
}

fn artifact(path: &str) -> Value {
    json!({ "uri": uri(path), "uriBaseId": "SRCROOT" })
}

fn location(place: &ResultPlace, message: Option<&str>) -> Value {
    let region = match place.range {
        Some([column, end_line, end_column]) => json!({
            "startLine": place.line,
            "startColumn": column,
            "endLine": end_line,
            "endColumn": end_column,
        }),
        None => json!({ "startLine": place.line }),
    };
    let mut location = json!({ "physicalLocation": { "artifactLocation": artifact(&place.path), "region": region } });
    if let (Some(text), Some(fields)) = (message, location.as_object_mut()) {
        fields.insert("message".to_owned(), json!({ "text": text }));
    }
    location
}
