//! The access gained and lost by the difference between the policies and the live objects.

use std::collections::BTreeSet;

use super::{DriftFinding, LiveComparison};
use crate::access::compare::{Change, ImpliedGroups, compare};
use crate::access::{ObjectSource, World};
use crate::app::Error;
use crate::app::loaded_world::{WorldOptions, below_output};
use crate::app::workspace::Workspace;
use crate::diag::{FileId, Sink};
use crate::model::Target;
use crate::yaml;

/// Compares the access of the wanted objects with the access of the live ones: live roles, live bindings of the policies, and
/// unmanaged bindings near the policies. Other bindings give access to subjects of others.
///
/// # Errors
/// When the objects below the output cannot be read.
pub(super) fn difference(
    workspace: &Workspace,
    target: &Target,
    wanted: &World,
    comparison: &LiveComparison<'_>,
    findings: &[DriftFinding],
) -> Result<Vec<Change>, Error> {
    let mut sink = Sink::new();
    let Some(mut builder) = below_output(workspace, target, &WorldOptions::default(), &mut None, &mut sink)? else {
        return Ok(Vec::new());
    };
    let near: BTreeSet<&str> =
        findings.iter().filter(|finding| finding.concerns_policies).map(|finding| finding.object.as_str()).collect();
    for (key, object) in comparison.live.iter() {
        let is_role = matches!(key.kind().1, "Role" | "ClusterRole");
        let is_binding = matches!(key.kind().1, "RoleBinding" | "ClusterRoleBinding");
        let is_wanted = comparison.wanted.get(key).is_some();
        if is_role || is_wanted || (is_binding && near.contains(key.to_string().as_str())) {
            _ = builder.add(object, ObjectSource::Input(object.origin()));
        }
    }
    // An object of a kind outside the dump is taken as wanted.
    for (key, object) in comparison.wanted.iter() {
        if !comparison.live.contains(key) && comparison.not_compared.iter().any(|kind| kind == key.kind().1) {
            let tree = yaml::read(&object.text, FileId::default(), &mut sink);
            tree.documents().for_each(|document| builder.add_document(document, |_, _| {}));
        }
    }
    Ok(compare(wanted, &builder.build(), ImpliedGroups::Counted))
}
