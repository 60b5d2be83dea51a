//! The names of the bindings of a grant.

use super::GrantSpec;
use crate::codes;
use crate::diag::{Diagnostic, Sink};
use crate::model::{
    COMMON_METADATA, Pattern, Piece, PolicyMeta, RawDocument, Target, Variable, VariableScope, Variables,
    check_patterns,
};

/// The field with a scope of its own.
const FIELD: &str = "bindingName";

/// The variable with the name of the role.
const ROLE: &str = "role";

/// The variable with the name of the grant.
const POLICY_NAME: &str = "policy.name";

/// Checks the variables of the grant, and that its bindings have different names.
pub(super) fn check(document: &RawDocument<'_>, spec: &GrantSpec, targets: &[Target], sink: &mut Sink) {
    let own: Variables = [ROLE, POLICY_NAME].map(|name| (name.to_owned(), Variable::text())).into();
    for (key, value) in document.spec.entries().filter(|(key, _)| key.as_str() != Some(COMMON_METADATA)) {
        let accounts = (key.as_str() == Some(FIELD)).then_some(&own);
        check_patterns(value, VariableScope { accounts, targets, open: false }, sink);
    }
    let Some(name) = &spec.binding_name else { return };
    let has_role = Pattern::parse_checked(name).variables().any(|variable| variable == ROLE);
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
    let policy = escaped(&meta.name);
    let Some(pattern) = pattern else { return format!("{policy}-{role}") };
    let pieces = pattern.pieces().iter().map(|piece| match piece {
        Piece::Text(text) => escaped(text),
        // A target has a value for each variable, so that `?` leaves out nothing.
        Piece::Variable(name) | Piece::Optional(name) => match &**name {
            ROLE => role.to_owned(),
            POLICY_NAME => policy.clone(),
            other => format!("{{{other}}}"),
        },
    });
    pieces.collect()
}
