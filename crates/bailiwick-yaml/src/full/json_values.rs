//! Several JSON values in one text.

use std::ops::Range;

use serde::de::IgnoredAny;

use crate::internal;

/// Returns the places of the JSON values of a text; none for a text that is not JSON. kubectl reads a text that begins with `{` as
/// JSON values, one behind the other (`pkg/util/yaml/decoder.go` of apimachinery 0.36.3).
pub(super) fn json_values(body: &str) -> Vec<Range<usize>> {
    if !body.trim_start().starts_with('{') {
        return Vec::new();
    }
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<IgnoredAny>();
    let (mut found, mut start) = (Vec::new(), 0);
    while let Some(value) = values.next() {
        if value.is_err() {
            return Vec::new();
        }
        let end = values.byte_offset();
        let blank = internal::slice(body, start..end);
        found.push(end - blank.trim_start().len()..end);
        start = end;
    }
    found
}
