//! Guards that lock out the applier or a controller of Kubernetes, and subjects that can switch a Guard off.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::request::MASTERS;
use bailiwick_access::who_can::Where;
use bailiwick_access::{Request, ResourceRequest, World};
use bailiwick_admission::policy::{AdmissionRequest, Binding, PolicyAnswer, ValidatingAdmissionPolicy};
use bailiwick_codes as codes;
use bailiwick_policy::model::{GuardedKind, GuardedTarget, Target};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink};
use bailiwick_yaml::schema::to_json;
use serde_json::Value as Json;

use super::MAXIMUM_RIGHTS;
use crate::loaded_world::{LoadedWorld, each_object};

/// The API group of admission policies.
const ADMISSION: &str = "admissionregistration.k8s.io";

/// Resources with pods in them, and the verbs by which a subject runs or enters a pod of another service account.
const RUNS_PODS: [(&str, &str, &[&str]); 9] = [
    ("", "pods", &["create"]),
    ("", "pods/exec", &["create"]),
    ("", "pods/ephemeralcontainers", &["patch", "update"]),
    ("", "replicationcontrollers", &["create", "patch", "update"]),
    ("apps", "daemonsets", &["create", "patch", "update"]),
    ("apps", "deployments", &["create", "patch", "update"]),
    ("apps", "statefulsets", &["create", "patch", "update"]),
    ("batch", "cronjobs", &["create", "patch", "update"]),
    ("batch", "jobs", &["create"]),
];

/// The prefix of the user name of a service account.
const ACCOUNT: &str = "system:serviceaccount:";

/// Reports the findings about the Guards of a target.
pub(super) fn check(
    workspace: &Workspace,
    target: &Target,
    loaded: &LoadedWorld,
    sink: &mut Sink,
) -> Result<(), RunError> {
    for guard in workspace.project().facts.on::<GuardedTarget>(&target.name) {
        check_lock(workspace, target, guard, sink)?;
        for finding in switches(&loaded.world, guard) {
            if !workspace.project().accepts(&finding) {
                sink.push(finding);
            }
        }
    }
    Ok(())
}

/// The objects of a target that decide whether guarded objects can be written.
#[derive(Default)]
struct Written {
    policies: BTreeMap<String, (ValidatingAdmissionPolicy, Origin)>,
    bindings: Vec<Binding>,
    namespaces: BTreeMap<String, Json>,
    guarded: Vec<AdmissionRequest>,
}

impl Written {
    fn of_target(workspace: &Workspace, target: &Target) -> Result<Self, RunError> {
        let mut written = Self::default();
        each_object(workspace, target, &mut Sink::new(), &mut |object, origin| {
            written.add(object, origin, target.version.minor());
        })?;
        Ok(written)
    }

    /// Adds an object. Admission policies with an invalid shape are errors of the compiler.
    fn add(&mut self, object: NodeRef<'_>, origin: Origin, minor: u32) {
        let kind = object.text_at("kind");
        match kind {
            "ValidatingAdmissionPolicy" => {
                if let Ok(policy) = ValidatingAdmissionPolicy::read(object, minor) {
                    self.policies.insert(policy.name.clone(), (policy, origin));
                }
            }
            "ValidatingAdmissionPolicyBinding" => self.bindings.extend(Binding::read(object).ok()),
            _ => {}
        }
        let Some(guarded) = GuardedKind::ALL.iter().find(|guarded| guarded.kind == kind) else { return };
        let Some(metadata) = object.get("metadata") else { return };
        let json = to_json(object);
        let name = metadata.text_at("name").to_owned();
        if kind == "Namespace" {
            self.namespaces.insert(name.clone(), json.clone());
        }
        self.guarded.push(AdmissionRequest {
            api_group: guarded.api_group.to_owned(),
            version: "v1".to_owned(),
            resource: guarded.resource.to_owned(),
            kind: kind.to_owned(),
            namespace: if kind == "Namespace" { name.clone() } else { metadata.text_at("namespace").to_owned() },
            name,
            object: Some(json),
            ..AdmissionRequest::default()
        });
    }

    /// Returns the first policy that refuses a request, with its location and message.
    fn refusal(&self, request: &AdmissionRequest) -> Option<(&str, Origin, String)> {
        let namespace = self.namespaces.get(&request.namespace);
        self.bindings.iter().find_map(|binding| {
            let (policy, origin) = self.policies.get(&binding.policy)?;
            let decision = policy.evaluate(request, Some(binding), namespace);
            (decision.answer == PolicyAnswer::Deny).then_some((policy.name.as_str(), *origin, decision.message))
        })
    }
}

/// The refused writes of an admission policy.
struct Lock {
    origin: Origin,
    /// The first refused write of each user.
    writes: BTreeMap<String, String>,
    /// The message of the first refusal.
    message: String,
}

/// Reports the admission policies of a target that refuse a write of the applier or of a controller.
fn check_lock(workspace: &Workspace, target: &Target, guard: &GuardedTarget, sink: &mut Sink) -> Result<(), RunError> {
    let written = Written::of_target(workspace, target)?;
    let mut locks: BTreeMap<String, Lock> = BTreeMap::new();
    for object in &written.guarded {
        for (user, operation) in writes_of(guard, &object.kind) {
            let request = write_of(user, operation, object);
            let Some((policy, origin, message)) = written.refusal(&request) else { continue };
            let lock =
                locks.entry(policy.to_owned()).or_insert_with(|| Lock { origin, writes: BTreeMap::new(), message });
            let write = || format!("`{user}` may not {} {} `{}`", operation.to_lowercase(), object.kind, object.name);
            lock.writes.entry(user.to_owned()).or_insert_with(write);
        }
    }
    for (policy, lock) in locks {
        let message = if lock.writes.contains_key(&guard.applier) {
            format!("the admission policy `{policy}` locks the applier of `{}` out", target.name)
        } else {
            format!("the admission policy `{policy}` locks controllers of the platform out")
        };
        let finding = Diagnostic::warning(codes::GUARD_LOCKS_OUT, message)
            .at(lock.origin)
            .and(guard.origin, "the Guard")
            .help("except these users in the policy, or bind it with `validationActions: [Audit]`");
        let finding = lock.writes.into_values().fold(finding, Diagnostic::note).note(lock.message);
        if !workspace.project().accepts(&finding) {
            sink.push(finding);
        }
    }
    Ok(())
}

/// Iterates over the users that write objects of a kind, with their operations.
fn writes_of<'g>(guard: &'g GuardedTarget, kind: &str) -> impl Iterator<Item = (&'g str, &'static str)> {
    let by_applier = ["CREATE", "UPDATE", "DELETE"].map(|operation| (guard.applier.as_str(), operation));
    let writers = guard.platform.iter().filter(move |writer| writer.kinds.is_empty() || writer.kinds.contains(&kind));
    let by_platform =
        writers.flat_map(|writer| writer.operations.iter().map(|operation| (writer.user.as_str(), *operation)));
    by_applier.into_iter().chain(by_platform)
}

/// Returns the request of a user for an operation on an object.
fn write_of(user: &str, operation: &str, object: &AdmissionRequest) -> AdmissionRequest {
    let groups = match user.strip_prefix(ACCOUNT).and_then(|account| account.split_once(':')) {
        Some((namespace, _)) => {
            vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
        }
        None => Vec::new(),
    };
    let json = object.object.clone();
    AdmissionRequest {
        user: user.to_owned(),
        groups: groups.into_iter().chain(["system:authenticated".to_owned()]).collect(),
        operation: operation.to_owned(),
        object: json.clone().filter(|_| operation != "DELETE"),
        old_object: json.filter(|_| operation != "CREATE"),
        ..object.clone()
    }
}

/// Returns the findings about subjects with a way around a Guard, one for each way.
fn switches(world: &World, guard: &GuardedTarget) -> Vec<Diagnostic> {
    let mut found: BTreeMap<String, (BTreeSet<String>, Option<Origin>)> = BTreeMap::new();
    for (request, way) in ways(guard) {
        for capable in world.who_can(&Request::Resource(request), Where::AsRequested).capable(world) {
            // Bindings of the server itself have no place, and are not reported.
            let link = capable.binding.and_then(|binding| world.binding_link_of(binding));
            let Some(place) = link.and_then(|link| link.place) else { continue };
            if !is_writer(&capable.subject, guard) {
                let (subjects, origin) = found.entry(way.clone()).or_default();
                subjects.insert(capable.subject);
                origin.get_or_insert(place);
            }
        }
    }
    let finding = |(way, (subjects, origin)): (String, (BTreeSet<String>, Option<Origin>))| {
        let shown: Vec<&str> = subjects.iter().take(MAXIMUM_RIGHTS).map(String::as_str).collect();
        let more = match subjects.len().saturating_sub(MAXIMUM_RIGHTS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!("a subject can switch the Guard off: it may {way}");
        Diagnostic::warning(codes::GUARD_CAN_BE_SWITCHED_OFF, message)
            .at_maybe(origin)
            .and(guard.origin, "the Guard")
            .note(format!("the subjects: {}{more}", shown.join(", ")))
            .help("remove the permission, or add the group to `breakGlass` if its members may write guarded objects")
    };
    found.into_iter().map(finding).collect()
}

/// Returns the requests that lead around a Guard, each with its words. The API server asks no admission policy about
/// admission policies: `admissionResources` of `k8s.io/apiserver/pkg/admission/plugin/policy/generic/plugin.go`.
fn ways(guard: &GuardedTarget) -> Vec<(ResourceRequest, String)> {
    let mut ways = Vec::new();
    for resource in ["validatingadmissionpolicies", "validatingadmissionpolicybindings"] {
        for verb in ["update", "patch", "delete", "deletecollection"] {
            let name = if verb == "deletecollection" { "" } else { GuardedTarget::OBJECT };
            let way = format!("{verb} {resource}.{ADMISSION}");
            ways.push((request(verb, [ADMISSION, resource, ""], ["", name]), way));
        }
    }
    // The Guard refuses this group, and the group can delete the Guard.
    for group in guard.groups.iter().map(String::as_str).chain([MASTERS]) {
        ways.push((
            request("impersonate", ["", "groups", ""], ["", group]),
            format!("impersonate the group `{group}`"),
        ));
    }
    for user in &guard.users {
        let account = user.strip_prefix(ACCOUNT).and_then(|account| account.split_once(':'));
        let Some((namespace, name)) = account else {
            let way = format!("impersonate the user `{user}`");
            ways.push((request("impersonate", ["", "users", ""], ["", user]), way));
            continue;
        };
        let whose = format!("the service account `{namespace}/{name}`");
        let own = [namespace, name];
        ways.extend([
            (request("impersonate", ["", "serviceaccounts", ""], own), format!("impersonate {whose}")),
            (request("create", ["", "serviceaccounts", "token"], own), format!("create tokens of {whose}")),
            (request("create", ["", "secrets", ""], [namespace, ""]), format!("create token Secrets of {whose}")),
            (request("list", ["", "secrets", ""], [namespace, ""]), format!("read token Secrets of {whose}")),
        ]);
        for (group, resource, verbs) in RUNS_PODS {
            let (resource, subresource) = resource.split_once('/').map_or((resource, ""), |parts| parts);
            ways.extend(verbs.iter().map(|verb| {
                (
                    request(verb, [group, resource, subresource], [namespace, ""]),
                    format!("run or enter pods of {whose}"),
                )
            }));
        }
    }
    ways
}

fn request(verb: &str, [group, resource, subresource]: [&str; 3], [namespace, name]: [&str; 2]) -> ResourceRequest {
    ResourceRequest {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ResourceRequest::default()
    }
}

/// Whether a subject may write guarded objects anyway.
fn is_writer(subject: &str, guard: &GuardedTarget) -> bool {
    if let Some(group) = subject.strip_prefix("Group/") {
        return group == MASTERS || guard.groups.contains(group);
    }
    match subject.strip_prefix("ServiceAccount/").and_then(|account| account.split_once('/')) {
        Some((namespace, name)) => guard.users.contains(&format!("{ACCOUNT}{namespace}:{name}")),
        None => subject.strip_prefix("User/").is_some_and(|user| guard.users.contains(user)),
    }
}
