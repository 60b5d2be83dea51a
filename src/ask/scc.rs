//! Questions about constraints, as JSON.

use serde_json::{Map, Value, json};

use super::AskError;
use crate::access::request::{ACCOUNTS, AUTHENTICATED};
use crate::admission::level::{Level, PolicyVersion};
use crate::admission::pod::Pod;
use crate::admission::scc::convert::{self, findings};
use crate::admission::scc::lints::lints;
use crate::admission::scc::order::{points, sort};
use crate::admission::scc::range::UidRange;
use crate::admission::scc::release::Release;
use crate::admission::scc::semantic::{Guarantee, guarantee};
use crate::admission::scc::{Scc, admit};
use crate::yaml::{self, NodeRef};

/// Answers `{"scc-level": {"scc": {}, "uidRange": "", "release": "", "version": "", "stored": false}}`: the level of
/// constraints, rule by rule, beside the level they guarantee.
///
/// # Errors
/// Why it is no question.
pub(super) fn scc_level(body: &Value) -> Result<Value, AskError> {
    let scc = scc(body.get("scc").ok_or(AskError::Missing("scc"))?, is_stored(body))?;
    let range = UidRange::read(text(body, "uidRange")?);
    let mut answer = Map::new();
    match findings(&scc, range, release(body)?) {
        Ok(findings) => {
            let level = findings.iter().filter_map(|finding| finding.level).max().unwrap_or(Level::Restricted);
            let rules = findings.iter().map(|finding| {
                let level = finding.level.map_or("unknown", Level::name);
                (finding.rule.name().to_owned(), json!({ "level": level, "field": finding.field }))
            });
            answer.insert("level".to_owned(), level.name().into());
            answer.insert("rules".to_owned(), rules.collect::<Map<_, _>>().into());
        }
        Err(problem) => {
            answer.insert("failure".to_owned(), problem.code().into());
        }
    }
    answer.insert("points".to_owned(), points(&scc).into());
    answer.insert("needsRange".to_owned(), convert::needs_range(&scc).into());
    let is_for_everybody = scc.groups.iter().any(|group| matches!(group.as_str(), ACCOUNTS | AUTHENTICATED));
    let lints = lints(&scc, release(body)?, is_for_everybody);
    let lints = lints.iter().map(|lint| json!({ "code": lint.code(), "field": lint.field() }));
    answer.insert("lints".to_owned(), lints.collect::<Vec<_>>().into());
    answer.insert("guaranteed".to_owned(), guaranteed(&guarantee(&scc, range, version(body)?)));
    Ok(answer.into())
}

/// Answers `{"scc-order": {"sccs": [], "stored": false}}`: constraints in the order in which admission tries them.
///
/// # Errors
/// Why it is no question.
pub(super) fn scc_order(body: &Value) -> Result<Value, AskError> {
    let sccs = sccs(body)?;
    let mut order: Vec<&Scc> = sccs.iter().collect();
    sort(&mut order);
    let order = order.into_iter().map(|scc| json!({ "name": scc.name(), "points": points(scc) }));
    Ok(json!({ "order": order.collect::<Vec<_>>() }))
}

/// Answers `{"scc-admit": {"sccs": [], "pod": {}, "annotations": {}, "stored": false}}`: which of these constraints, all
/// of them usable, admits a pod in a namespace with these annotations.
///
/// # Errors
/// Why it is no question.
pub(super) fn scc_admit(body: &Value) -> Result<Value, AskError> {
    let sccs = sccs(body)?;
    let pod = yaml::from_json(body.get("pod").ok_or(AskError::Missing("pod"))?);
    let pod = Pod::read(pod.document(0).ok_or(AskError::Missing("pod"))?).map_err(AskError::refused)?;
    let annotations = body.get("annotations").map(yaml::from_json).unwrap_or_else(|| yaml::from_json(&json!({})));
    let text = |key: &str| annotations.document(0).and_then(|map| map.get(key)).and_then(NodeRef::as_str);
    let allocated = admit::Allocated {
        uid_range: text(crate::admission::scc::range::UID_RANGE),
        supplemental_groups: text(crate::admission::scc::range::SUPPLEMENTAL_GROUPS),
        mcs: text(crate::admission::scc::range::MCS),
    };
    let usable: Vec<&Scc> = sccs.iter().collect();
    Ok(match admit::admit(&pod, &usable, |_| true, allocated) {
        admit::SccAdmission::Skipped => json!({ "skipped": true }),
        admit::SccAdmission::Admitted { scc, refusals, .. } => {
            json!({ "scc": scc, "refused": refusals.iter().map(refusal).collect::<Vec<_>>() })
        }
        admit::SccAdmission::Refused { refusals } => {
            json!({ "scc": null, "refused": refusals.iter().map(refusal).collect::<Vec<_>>() })
        }
        admit::SccAdmission::Broken { scc, why } => json!({ "broken": scc, "why": why.to_string() }),
    })
}

fn refusal(refusal: &admit::SccRejection) -> Value {
    json!({ "scc": refusal.scc, "why": refusal.problems })
}

/// Returns a guarantee as JSON.
pub(super) fn guaranteed(guarantee: &Guarantee) -> Value {
    let gaps =
        guarantee.gaps.iter().map(|gap| json!({ "check": gap.check, "level": gap.level.name(), "field": gap.field }));
    let caveats = guarantee
        .caveats
        .iter()
        .map(|caveat| json!({ "check": caveat.check, "level": caveat.level.name(), "why": caveat.why }));
    json!({
        "level": guarantee.level.name(),
        "gaps": gaps.collect::<Vec<_>>(),
        "caveats": caveats.collect::<Vec<_>>(),
    })
}

/// Returns the release of a question; the newest where it names none.
pub(super) fn release(body: &Value) -> Result<Release, AskError> {
    match text(body, "release")? {
        None => Ok(Release::LAST),
        Some(text) => {
            Release::parse(text).ok_or_else(|| AskError::Value(format!("`{text}` is no release with a label syncer")))
        }
    }
}

/// Returns the version of the checks; the latest where a question names none.
pub(super) fn version(body: &Value) -> Result<PolicyVersion, AskError> {
    match text(body, "version")? {
        None => Ok(PolicyVersion::Latest),
        Some(text) => {
            PolicyVersion::parse(text).ok_or_else(|| AskError::Value(format!("`{text}` is no version of the checks")))
        }
    }
}

/// Returns whether the objects of a question stand as a server stores them.
pub(super) fn is_stored(body: &Value) -> bool {
    body.get("stored").and_then(Value::as_bool).unwrap_or_default()
}

/// Returns the text of a key; none where it is missing or null.
pub(super) fn text<'v>(body: &'v Value, key: &'static str) -> Result<Option<&'v str>, AskError> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(AskError::NotAString(key)),
    }
}

fn sccs(body: &Value) -> Result<Vec<Scc>, AskError> {
    let list = body.get("sccs").and_then(Value::as_array).ok_or(AskError::NotAList("sccs"))?;
    list.iter().map(|object| scc(object, is_stored(body))).collect()
}

fn scc(object: &Value, is_stored: bool) -> Result<Scc, AskError> {
    let tree = yaml::from_json(object);
    let root = tree.document(0).ok_or_else(|| AskError::value("constraints are missing"))?;
    let scc = if is_stored { Scc::read_raw(root) } else { Scc::read(root) };
    scc.map_err(AskError::refused)
}
