//! JSON, the whole value.

use serde_json::Value;

use super::ReviewFormOptions;
use crate::app::review::ChangeReview;

/// The most members of a class, unless all are requested.
pub(in crate::report) const MAXIMUM_MEMBERS: usize = 1_000;

/// Returns a review as JSON. The `count` of a class counts all members.
pub(super) fn text(review: &ChangeReview, options: &ReviewFormOptions) -> String {
    let mut value = crate::report::json::value(review);
    if !options.writes_all_members {
        let classes = value.get_mut("classes").and_then(Value::as_array_mut);
        let members = classes.into_iter().flatten().filter_map(|class| class.get_mut("members")?.as_array_mut());
        members.for_each(|members| members.truncate(MAXIMUM_MEMBERS));
    }
    crate::report::json::pretty(&value)
}
