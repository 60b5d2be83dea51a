//! The variables in the texts of a grant.

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, Sink};

use super::GrantSpec;
use super::binding_name::ROLE;
use super::namespace_values::{NamespaceUses, is_of_namespace};
use crate::kinds::shared::left_out;
use crate::model::{
    COMMON_METADATA, NamespaceVariables, Pattern, RawDocument, Target, Variable, VariableScope, Variables,
    check_patterns,
};

/// The field whose texts can also name the role.
const BINDING_NAME: &str = "bindingName";

/// The fields whose texts each namespace of the grant fills in with its own values.
const OF_NAMESPACE: [&str; 9] =
    ["to", "clusterRoles", "roles", BINDING_NAME, "owner", "reason", "approvedBy", "labels", "annotations"];

/// Checks the variables of the grant. Returns the variables of its namespaces.
pub(super) fn check(
    document: &RawDocument<'_>,
    spec: &GrantSpec,
    targets: &[Target],
    sink: &mut Sink,
) -> NamespaceUses {
    let role: Variables = [(ROLE.to_owned(), Variable::text())].into();
    let mut uses = NamespaceUses::default();
    for (key, value) in document.spec.entries() {
        let field = key.as_str().filter(|field| *field != COMMON_METADATA);
        let Some(field) = field else { continue };
        let accounts = (field == BINDING_NAME).then_some(&role);
        let mut scope = VariableScope { accounts, ..VariableScope::of_targets(targets) };
        if OF_NAMESPACE.contains(&field) {
            scope.namespace = NamespaceVariables::All;
            uses.add(value);
        }
        check_patterns(value, scope, sink);
    }
    if let Some(origin) = uses.first_origin().filter(|_| spec.cluster_wide.is_some_and(|wide| wide.value)) {
        let message = "a cluster-wide grant has no namespace with values";
        let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(origin);
        sink.push(diagnostic.help("remove the variable, or list `namespaces` instead of `clusterWide`"));
    }
    check_required(spec, sink);
    uses
}

/// Reports texts that a namespace cannot leave out, and a namespace that depends on another one.
fn check_required(spec: &GrantSpec, sink: &mut Sink) {
    for name in spec.cluster_roles.iter().chain(&spec.roles).chain(&spec.binding_name) {
        let pattern = Pattern::parse_checked(name);
        if let Some(variable) = pattern.deciding_variables().find(|name| is_of_namespace(name)) {
            sink.push(left_out(name, variable, format!("write `{{{variable}}}`")));
        }
    }
    let created = spec.to.service_accounts.iter().filter(|account| account.create);
    for namespace in created.filter_map(|account| account.namespace.as_ref()) {
        if Pattern::parse_checked(namespace).variables().any(is_of_namespace) {
            let message = "the namespace of a new service account depends on another namespace";
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(namespace.origin);
            sink.push(diagnostic.help("leave out `namespace`, or name one namespace"));
        }
    }
}
