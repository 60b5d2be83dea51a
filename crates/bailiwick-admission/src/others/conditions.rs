//! The conditions of Kyverno (`validate.deny`, `validate.foreach` and `preconditions`), compared by digests of their
//! queries, without whitespace. The lists of allowed values are read.

use std::collections::BTreeSet;

use bailiwick_yaml::digest::digest;
use bailiwick_yaml::{NodeRef, NodeValue};

use super::pattern::is_plain;
use super::{Demand, UnreadRule};

/// The most values of a condition that are read.
const MOST_VALUES: usize = 200;

/// The subject of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Query {
    /// The added capabilities of all containers.
    Added,
    /// The fields of all volumes, with their names.
    VolumeFields,
    /// The containers of a pod.
    Containers,
    /// The added capabilities of a container.
    AddedHere,
    /// The dropped capabilities of a container.
    DroppedHere,
    /// The operation of a request.
    Operation,
}

/// The queries of the published policies, by the digest of their text without whitespace.
const QUERIES: [(&str, Query); 6] = [
    ("82e256a2a0649c05c7f9eb9760433cae176070b06473c89a1751403b89792254", Query::Added),
    ("c5aa1cfbcefb4b94174208fa75081d50c39f60ae0d0669ebe071c86b225c7e90", Query::VolumeFields),
    ("e4e9568d6bbe0dd5d6a717a3e4ab0c0e9a18e76298310da2dc004868380b6a9e", Query::Containers),
    ("cc4b1882a4fb6cb8c557427342a35d765ca77a490ba0239ea6132e8724c70177", Query::AddedHere),
    ("f863783130b5838371f55f16ca5e8ac5bb8a558bd54690539f885df83966bc86", Query::DroppedHere),
    ("de9c40ec1480fbf784ed7c737764a56bff231ebc9fd2a2c7216cabe4d342591e", Query::Operation),
];

/// A comparison of a query with values.
struct Condition<'c> {
    key: NodeRef<'c>,
    operator: &'c str,
    value: NodeRef<'c>,
}

/// Reads `deny`: pods with another value than the allowed ones are refused.
pub(super) fn read_deny(deny: NodeRef<'_>) -> Result<Vec<Demand>, UnreadRule> {
    let condition = only_condition(deny)?;
    let demand = match (query(condition.key), condition.operator) {
        (Some(Query::Added), "AnyNotIn") => Demand::AddedCapabilities(values(condition.value)?),
        (Some(Query::VolumeFields), "AnyNotIn") => {
            let mut fields = values(condition.value)?;
            if !fields.remove("name") {
                return Err("a condition that refuses each volume".into());
            }
            Demand::VolumeTypes(fields)
        }
        _ => return Err(OTHER.into()),
    };
    Ok(vec![demand])
}

/// Reads `foreach`: containers with another value than the allowed ones are refused.
pub(super) fn read_each(each: NodeRef<'_>) -> Result<Vec<Demand>, UnreadRule> {
    let (Some(only), 1) = (each.items().next(), each.len()) else { return Err(OTHER.into()) };
    let has_only = only.entries().all(|(key, _)| matches!(key.as_key(), "list" | "deny"));
    let (Some(list), Some(deny), true) = (only.get("list"), only.get("deny"), has_only) else {
        return Err(OTHER.into());
    };
    let condition = only_condition(deny)?;
    let demand = match (query(list), query(condition.key), condition.operator) {
        (Some(Query::Containers), Some(Query::AddedHere), "AnyNotIn") => {
            Demand::AddedCapabilities(values(condition.value)?)
        }
        (Some(Query::Containers), None, "AnyNotIn")
            if condition.key.as_str() == Some("ALL") && query(condition.value) == Some(Query::DroppedHere) =>
        {
            Demand::DroppedCapabilities
        }
        _ => return Err(OTHER.into()),
    };
    Ok(vec![demand])
}

/// Whether preconditions leave out the deletion of pods and nothing else.
pub(super) fn is_about_deletion(preconditions: NodeRef<'_>) -> bool {
    only_of_lists(preconditions).is_ok_and(|condition| {
        query(condition.key) == Some(Query::Operation)
            && condition.operator == "NotEquals"
            && condition.value.as_str() == Some("DELETE")
    })
}

/// The reason for conditions with another text.
const OTHER: &str = "other conditions than the published ones";

fn only_condition(deny: NodeRef<'_>) -> Result<Condition<'_>, UnreadRule> {
    let (Some(conditions), 1) = (deny.get("conditions"), deny.len()) else { return Err(OTHER.into()) };
    only_of_lists(conditions)
}

/// Returns the only condition of `all` or `any`.
fn only_of_lists(conditions: NodeRef<'_>) -> Result<Condition<'_>, UnreadRule> {
    let other = || UnreadRule::from(OTHER);
    let list = conditions.get("all").or_else(|| conditions.get("any")).filter(|_| conditions.len() == 1);
    let list = list.filter(|list| list.len() == 1).ok_or_else(other)?;
    let only = list.items().next().ok_or_else(other)?;
    if only.entries().any(|(key, _)| !matches!(key.as_key(), "key" | "operator" | "value" | "message")) {
        return Err(other());
    }
    let (key, value) = (only.get("key").ok_or_else(other)?, only.get("value").ok_or_else(other)?);
    Ok(Condition { key, operator: only.text_at("operator"), value })
}

/// Finds a query by the digest of its text.
fn query(node: NodeRef<'_>) -> Option<Query> {
    let text: String = node.as_str()?.split_whitespace().collect();
    let found = hex(text.as_bytes());
    QUERIES.iter().find(|(known, _)| *known == found).map(|(_, query)| *query)
}

/// Reads allowed values. The empty string stands for an absent field.
fn values(list: NodeRef<'_>) -> Result<BTreeSet<String>, UnreadRule> {
    if !matches!(list.value(), NodeValue::Seq(_)) || list.len() > MOST_VALUES {
        return Err(OTHER.into());
    }
    let words = list.items().map(|item| item.as_str().filter(|word| word.is_empty() || is_plain(word)));
    let words = words.map(|word| word.map(str::to_owned).ok_or_else(|| UnreadRule::from(OTHER)));
    let mut words = words.collect::<Result<BTreeSet<String>, UnreadRule>>()?;
    words.remove("");
    Ok(words)
}

/// Returns the BLAKE3 hash of a text in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
