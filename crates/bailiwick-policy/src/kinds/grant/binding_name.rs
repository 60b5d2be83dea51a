//! The names of the bindings of a grant.

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, Sink};

use super::GrantSpec;
use crate::model::{Pattern, Piece, PolicyMeta};

/// The variable with the name of the role.
pub(super) const ROLE: &str = "role";

/// Whether the names of bindings contain the name of the role.
pub(super) fn names_role(name: &str) -> bool {
    Pattern::parse_checked(name).variables().any(|variable| variable == ROLE)
}

/// Reports several roles whose bindings have one name.
pub(super) fn check(spec: &GrantSpec, sink: &mut Sink) {
    let Some(name) = &spec.binding_name else { return };
    let has_role = names_role(name);
    let roles = spec.permission_sets.len() + spec.cluster_roles.len() + spec.roles.len();
    if !has_role && roles > 1 {
        sink.push(
            Diagnostic::error(codes::DUPLICATE_OBJECT, format!("the bindings of {roles} roles have one name"))
                .at(name.origin)
                .help("use `{role}`"),
        );
    }
}

/// Returns the name of the binding of a role, as a pattern. The name of the role is a pattern, too.
pub(super) fn of(pattern: Option<&Pattern>, meta: &PolicyMeta, role: &str) -> String {
    let escaped = |text: &str| text.replace('{', "{{").replace('}', "}}");
    let Some(pattern) = pattern else { return format!("{}-{role}", escaped(&meta.name)) };
    let pieces = pattern.pieces().iter().map(|piece| match piece {
        Piece::Text(text) => escaped(text),
        // A target has a value for each variable, so that `?` leaves out nothing.
        Piece::Variable(name) | Piece::Optional(name) if **name == *ROLE => role.to_owned(),
        Piece::Variable(name) | Piece::Optional(name) => format!("{{{name}}}"),
    });
    pieces.collect()
}
