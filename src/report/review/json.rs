//! JSON, the whole value.

use serde_json::Value;

use super::ReviewFormOptions;
use crate::app::review::ChangeReview;

/// The most members of a class, unless all are requested.
const MAXIMUM_MEMBERS: usize = 1_000;

/// Returns a review as JSON. The `count` of a class counts all members.
pub(super) fn text(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let mut value = crate::report::json::value(review);
    if !options.writes_all_members {
        cut_members(&mut value);
    }
    crate::report::json::pretty(&value)
}

/// Removes all but the first members of each class.
pub(in crate::report) fn cut_members(value: &mut Value) {
    let classes = value.get_mut("classes").and_then(Value::as_array_mut);
    classes.into_iter().flatten().for_each(|class| cut(class, "members"));
}

/// Removes all but the first entries of a list.
pub(in crate::report) fn cut(value: &mut Value, list: &str) {
    if let Some(entries) = value.get_mut(list).and_then(Value::as_array_mut) {
        entries.truncate(MAXIMUM_MEMBERS);
    }
}
