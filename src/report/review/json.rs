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
    for members in classes.into_iter().flatten().filter_map(|class| class.get_mut("members")) {
        if let Some(members) = members.as_array_mut() {
            members.truncate(MAXIMUM_MEMBERS);
        }
    }
}
