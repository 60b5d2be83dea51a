//! Lists with only a part of their objects.

use crate::codes;
use crate::diag::words::number;
use crate::diag::{Diagnostic, Sink};
use crate::k8s::list;
use crate::yaml::Tree;

/// Reports a list with only a part of its objects, as `limit` of a request cuts it off: an answer about it would be wrong.
pub fn report_page(tree: &Tree, sink: &mut Sink) {
    let Some(list::ListPage { field, remaining }) = list::first_page(tree) else { return };
    let more = remaining.map_or_else(
        || "more objects".to_owned(),
        |count| number(usize::try_from(count).map_or(usize::MAX, |count| count), "more object"),
    );
    let message = format!("this list is not complete: its cluster has {more}");
    sink.push(
        Diagnostic::error(codes::INCOMPLETE_DUMP, message)
            .at(field.origin())
            .help("write the list without `limit`, as `kubectl get KINDS -A -o yaml` does"),
    );
}
