//! The access gained and lost by the difference between the policies and the live objects.

use std::collections::BTreeSet;

use super::AccessDifference;
use super::comparison::{LiveComparison, ObjectFindings};
use super::wanted::WantedObject;
use crate::access::compare::{Change, ImpliedGroups, compare};
use crate::access::{Builder, ObjectSource, World};
use crate::app::Error;
use crate::app::loaded_world::{WorldOptions, below_output};
use crate::app::proof::Proof;
use crate::diag::{FileId, Sink};
use crate::yaml;

/// Compares the access of the wanted objects with the access of the live ones: live roles, live bindings of the policies, and
/// unmanaged bindings near the policies. Other bindings give access to subjects of others. Accepted objects are as the policies
/// have them.
///
/// # Errors
/// When the objects below the output cannot be read.
pub(super) fn difference(
    comparison: &LiveComparison<'_>,
    wanted: &World,
    found: &ObjectFindings,
) -> Result<Vec<AccessDifference>, Error> {
    let LiveComparison { workspace, target, .. } = comparison;
    let mut sink = Sink::new();
    let Some(mut builder) = below_output(workspace, target, &WorldOptions::default(), &mut None, &mut sink)? else {
        return Ok(Vec::new());
    };
    let near = found.findings.iter().filter(|finding| finding.concerns_policies);
    let near: BTreeSet<&str> = near.map(|finding| finding.object.as_str()).collect();
    for (position, (key, object)) in comparison.live.iter().enumerate() {
        let own = comparison.wanted.get(key);
        if found.accepted.contains(&position) {
            own.into_iter().for_each(|own| add_wanted(&mut builder, own));
            continue;
        }
        let is_role = matches!(key.kind().1, "Role" | "ClusterRole");
        let is_binding = matches!(key.kind().1, "RoleBinding" | "ClusterRoleBinding");
        if is_role || own.is_some() || (is_binding && near.contains(key.to_string().as_str())) {
            _ = builder.add(object, ObjectSource::Input(object.origin()));
        }
    }
    // An object of a kind outside the dump is taken as wanted.
    for (key, object) in comparison.wanted.iter() {
        if !comparison.live.contains(key) && comparison.not_compared.iter().any(|kind| kind == key.kind().1) {
            add_wanted(&mut builder, object);
        }
    }
    let live = builder.build();
    let changes = compare(wanted, &live, ImpliedGroups::Counted);
    Ok(changes.into_iter().map(|change| AccessDifference { by: bindings(&change, wanted, &live), change }).collect())
}

/// Returns the bindings of the first subject of a change with their roles: the live ones of gained permissions, and the wanted ones
/// of lost permissions.
fn bindings(change: &Change, wanted: &World, live: &World) -> Vec<String> {
    let Some(first) = change.subjects.first() else { return Vec::new() };
    let sides = [(live, &change.gained), (wanted, &change.lost)];
    let parts = sides.into_iter().flat_map(|(world, rules)| Proof::find(world, first, rules).parts);
    let links = parts.map(|part| {
        let gathered = part.rule.gathered_from.iter().map(|source| format!(" <- {}", source.name));
        format!("{} <- {}{}", part.chain.binding.name, part.chain.role.name, gathered.collect::<String>())
    });
    links.collect::<BTreeSet<String>>().into_iter().collect()
}

fn add_wanted(builder: &mut Builder, object: &WantedObject) {
    let tree = yaml::read(&object.text, FileId::default(), &mut Sink::new());
    tree.documents().for_each(|document| builder.add_document(document, |_, _| {}));
}
