//! Users who may create pods under looser constraints than the service accounts of a namespace, on OpenShift.

use std::collections::BTreeMap;

use bailiwick_admission::labels::Settings;
use bailiwick_admission::labels::users::StrongerUser;
use bailiwick_admission::labels::world::SyncWorld;
use bailiwick_admission::scc::release::Release;
use bailiwick_codes as codes;
use bailiwick_compiler::label::Collector;
use bailiwick_kubernetes::list;
use bailiwick_workspace::words::number;
use bailiwick_yaml as yaml;
use bailiwick_yaml::diag::{Diagnostic, Sink};

use super::alike::{Alike, shape};
use crate::classes::Spread;
use crate::loaded_world::LoadedWorld;
use crate::subject_classes::{Member, joined};

/// The word that a file with constraints has.
const KIND: &str = "SecurityContextConstraints";

/// How many constraints a finding names.
const MAXIMUM_NAMED: usize = 3;

/// Users with findings of one shape.
struct AlikeUsers {
    /// The first user in the sample of the namespaces.
    first: StrongerUser,
    /// The users in the sample.
    members: Vec<Member>,
}

/// Reports the users whose pods constraints admit and Pod Security refuses.
pub(super) fn check(
    world: &SyncWorld,
    spread: &Spread<'_>,
    is_accepted: &dyn Fn(&Diagnostic) -> bool,
    sink: &mut Sink,
) {
    let mut by_shape: BTreeMap<u128, AlikeUsers> = BTreeMap::new();
    for user in world.stronger_users().into_iter().filter(|user| !is_accepted(&finding(user))) {
        let text = format!("{} {} {}", user.constraints.join(","), user.level.name(), user.enforced.name());
        let own_names: Vec<&str> = user.namespaces.first().map(String::as_str).into_iter().collect();
        let member = Member { subject: user.subject.clone(), namespaces: user.namespaces.clone() };
        let known = by_shape.entry(shape(&own_names, &text));
        known.or_insert_with(|| AlikeUsers { first: user, members: Vec::new() }).members.push(member);
    }
    let mut alike = Alike::default();
    let mut all: Vec<(u128, StrongerUser)> = Vec::new();
    for (shape, users) in by_shape {
        let members = spread.members(joined(users.members)).into_iter();
        let user = |Member { subject, namespaces }| StrongerUser { subject, namespaces, ..users.first.clone() };
        all.extend(members.map(|member| (shape, user(member))));
    }
    let key = |user: &StrongerUser| (user.subject.clone(), user.level, user.enforced, user.constraints.clone());
    all.sort_by_cached_key(|(_, user)| key(user));
    for (shape, user) in all {
        alike.add(shape, &user.subject, "", finding(&user));
    }
    alike.finish(sink);
}

/// Reports the constraints among manifests: they belong to a cluster of OpenShift.
pub(super) fn check_manifests(loaded: &LoadedWorld, sink: &mut Sink) {
    let Some(release) = Release::of_kubernetes(loaded.world.minor()) else { return };
    let files = &loaded.files;
    if !files.ids().any(|id| files.get(id).passing_text().contains(KIND)) {
        return;
    }
    let mut collector = Collector::new(Settings::from_release(release));
    let mut has_constraints = false;
    for id in files.ids() {
        // Errors of a file were reported when it was read.
        let tree = yaml::read(&files.get(id).passing_text(), id, &mut Sink::new());
        for object in tree.documents().flat_map(list::objects) {
            has_constraints |= object.get("kind").is_some_and(|kind| kind.as_str() == Some(KIND));
            collector.add(object, object.origin());
        }
    }
    if has_constraints {
        check(collector.finish().world(), &Spread::default(), &|_| false, sink);
    }
}

fn finding(user: &StrongerUser) -> Diagnostic {
    let named: Vec<String> = user.constraints.iter().take(MAXIMUM_NAMED).map(|name| format!("`{name}`")).collect();
    let place = match user.namespaces.as_slice() {
        [] => String::new(),
        [only] => format!("in namespace `{only}`"),
        [first, others @ ..] => format!("in namespace `{first}` and {}", number(others.len(), "other")),
    };
    let (level, enforced) = (user.level.name(), user.enforced.name());
    let message = format!(
        "`{}` can create pods under the constraints {}, which come to `{level}`, {place}, where `{enforced}` is enforced",
        user.subject,
        named.join(", ")
    );
    Diagnostic::warning(codes::USER_ABOVE_ACCOUNTS, message)
        .at(user.place)
        .note("the level of a namespace follows from what its service accounts may use; what its users may use does not count")
        .help("let the service account of these pods use the constraints, or revoke their use from the user")
}
