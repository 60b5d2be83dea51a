//! RoleBinding and ClusterRoleBinding (`pkg/apis/rbac/validation/validation.go` of Kubernetes 1.37).

use crate::names;
use bailiwick_yaml::NodeRef;

use super::metadata::NameRule;
use super::open::{self, Accepts, Position};
use super::{ErrorKind, Path, Report, items, place, text};

/// The only API group of role references, users and groups.
const GROUP: &str = "rbac.authorization.k8s.io";

/// The names in a binding of a namespace. The checks of subjects in `lints` and `set` hold for these values, too.
pub(super) const POSITIONS: &[Position] = &[
    Position {
        kinds: &["RoleBinding"],
        path: &["roleRef", "name"],
        holds: |_, role| open::is(role, "kind", "Role"),
        accepts: Accepts::Text(|name| NameRule::SEGMENT.fits(name)),
    },
    Position {
        kinds: &["RoleBinding"],
        path: &["subjects", "[]", "name"],
        holds: |_, subject| open::is(subject, "kind", "User"),
        accepts: Accepts::Text(|name| !name.starts_with("system:serviceaccount:")),
    },
    Position {
        kinds: &["RoleBinding"],
        path: &["subjects", "[]", "name"],
        holds: |_, subject| open::is(subject, "kind", "Group"),
        accepts: Accepts::Text(|name| !name.starts_with("system:")),
    },
    Position {
        kinds: &["RoleBinding"],
        path: &["subjects", "[]", "name"],
        holds: |_, subject| open::is(subject, "kind", "ServiceAccount"),
        accepts: Accepts::Text(|name| NameRule::SUBDOMAIN.fits(name)),
    },
    Position {
        kinds: &["RoleBinding"],
        path: &["subjects", "[]", "namespace"],
        holds: |_, _| true,
        accepts: Accepts::Namespace,
    },
];

/// Checks a binding, of the whole cluster or of a namespace.
pub(super) fn check(object: NodeRef<'_>, old: Option<NodeRef<'_>>, cluster: bool, report: &mut Report<'_>) {
    role_ref(object, cluster, report);
    let path = Path::root("subjects");
    for (index, item) in items(object, "subjects") {
        subject(item, index, cluster, &path.index(index), report);
    }
    if let Some(old) = old.filter(|old| reference(*old) != reference(object)) {
        let (_, kind, name) = reference(old);
        report.teach(
            ErrorKind::Invalid,
            &Path::root("roleRef"),
            place(object, "roleRef"),
            format!("the binding refers to {kind} `{name}`, and the reference cannot change"),
            "rename the binding, or delete it and create it again",
        );
    }
}

fn role_ref(object: NodeRef<'_>, cluster: bool, report: &mut Report<'_>) {
    let path = Path::root("roleRef");
    let role = place(object, "roleRef");
    // The server fills in a missing group before it looks.
    let (group, kind, name) = reference(object);
    if group != GROUP {
        report.unsupported(
            &path.field("apiGroup"),
            place(role, "apiGroup"),
            "the API group of the role",
            group,
            &[GROUP],
        );
    }
    let kinds: &[&str] = if cluster { &["ClusterRole"] } else { &["Role", "ClusterRole"] };
    if !kinds.contains(&kind) {
        report.unsupported(&path.field("kind"), place(role, "kind"), "the kind of the role", kind, kinds);
    }
    let path = path.field("name");
    if name.is_empty() {
        report.add(ErrorKind::Required, &path, place(role, "name"), "the role has no name".to_owned());
    } else {
        report.grammar(names::path_segment(name), &path, place(role, "name"), "the role name", name);
    }
}

/// Returns group, kind and name of the role, with the group completed as in the server.
fn reference<'t>(object: NodeRef<'t>) -> (&'t str, &'t str, &'t str) {
    let role = place(object, "roleRef");
    let group = text(role, "apiGroup");
    (if group.is_empty() { GROUP } else { group }, text(role, "kind"), text(role, "name"))
}

fn subject(subject: NodeRef<'_>, index: usize, cluster: bool, path: &Path<'_>, report: &mut Report<'_>) {
    let name = text(subject, "name");
    let group = text(subject, "apiGroup");
    if name.is_empty() {
        let message = format!("subject {index} has no name");
        report.add(ErrorKind::Required, &path.field("name"), place(subject, "name"), message);
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let node = place(subject, "name");
                report.grammar(names::dns_subdomain(name), &path.field("name"), node, "the service account name", name);
            }
            if !group.is_empty() {
                let node = place(subject, "apiGroup");
                let message = format!("the API group `{}` is not the group of a ServiceAccount", super::shown(group));
                let help = "remove `apiGroup`: service accounts belong to the core group";
                report.teach(ErrorKind::Unsupported, &path.field("apiGroup"), node, message, help);
            }
            if cluster && text(subject, "namespace").is_empty() {
                let message =
                    format!("subject {index}, the service account `{}`, has no namespace", super::shown(name));
                report.add(ErrorKind::Required, &path.field("namespace"), place(subject, "namespace"), message);
            }
        }
        kind @ ("User" | "Group") => {
            if !group.is_empty() && group != GROUP {
                let what = format!("the API group of a {kind},");
                report.unsupported(&path.field("apiGroup"), place(subject, "apiGroup"), &what, group, &[GROUP]);
            }
        }
        kind => {
            let words = ["User", "Group", "ServiceAccount"];
            report.unsupported(&path.field("kind"), place(subject, "kind"), "the kind of the subject", kind, &words);
        }
    }
}
