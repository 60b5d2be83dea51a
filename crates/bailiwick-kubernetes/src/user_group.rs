//! The Groups of OpenShift: objects with the names of their members.

use bailiwick_yaml::NodeRef;

/// Returns the names of the members of a Group of `user.openshift.io`; none for another object.
pub fn members<'t>(api_version: &str, kind: &str, object: NodeRef<'t>) -> Option<impl Iterator<Item = NodeRef<'t>>> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let users = || object.get("users").into_iter().flat_map(NodeRef::items).filter(|user| user.as_str().is_some());
    (group == "user.openshift.io" && kind == "Group").then(users)
}
