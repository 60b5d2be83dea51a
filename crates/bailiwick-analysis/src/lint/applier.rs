//! Objects that the identity which applies the output is not allowed to write.

use std::collections::{BTreeSet, HashMap, HashSet};

use bailiwick_access::write::{Escalation, Write, WriteDecision, WriteVerb};
use bailiwick_access::{Identity, Request, ResourceRequest, World, cover};
use bailiwick_codes as codes;
use bailiwick_policy::model::{AppliedBy, Target};
use bailiwick_workspace::Workspace;
use bailiwick_workspace::words::{number, rule_text};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink};

use super::MAXIMUM_RIGHTS;
use super::alike::{Alike, shape};
use crate::classes::Spread;
use crate::loaded_world::{LoadedWorld, each_object};

/// Reports the objects that the identity of the applier may not write, one finding for each reason. Objects that depend
/// on an unknown role are one finding, too.
pub(super) fn check(
    workspace: &Workspace,
    target: &Target,
    loaded: &LoadedWorld,
    spread: &Spread<'_>,
    sink: &mut Sink,
) -> Result<(), RunError> {
    let Some(applier) = &target.applied_by else { return Ok(()) };
    let who = identity(applier);
    let world = &loaded.world;
    let is_bound = world.is_bound(&who);
    let mut missing: HashMap<String, BTreeSet<String>> = HashMap::new();
    let mut refused = Refused::default();
    let delivered = Delivered::of_target(workspace, target)?;
    let mut alike = Alike::of_classes(spread);
    each_object(workspace, target, &mut Sink::new(), &mut |object, origin| {
        let Some(resource) = world.resource_of(object) else { return };
        let decisions = [WriteVerb::Create, WriteVerb::Patch]
            .map(|verb| world.may_write(&who, Write { object, old: None, verb, resource }));
        let refused_write = decisions.iter().find_map(refusal);
        let Some(reason) = refused_write.or_else(|| delivered.refusal(world, &who, object, &decisions)) else { return };
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
        let namespace = text(&["metadata", "namespace"]);
        let unknown = missing.entry(namespace.to_owned()).or_insert_with(|| {
            let missing = world.rules_for(&who, namespace).missing;
            missing.iter().map(|role| format!("`{role}`")).collect()
        });
        let name = format!("{} `{}`", text(&["kind"]), text(&["metadata", "name"]));
        // A Namespace is an object of its own class.
        let class = if text(&["kind"]) == "Namespace" { text(&["metadata", "name"]) } else { namespace };
        if !is_bound || !unknown.is_empty() {
            refused.add(origin, &name, spread.weight(class), unknown);
            return;
        }
        let finding = cannot_apply(&applier.user, &name, &reason).at(origin);
        if !workspace.project().accepts(&finding) {
            alike.add(shape(&[namespace, text(&["metadata", "name"])], &reason), &name, class, finding);
        }
    })?;
    alike.finish(sink);
    refused.finish(&applier.user, workspace, sink);
    Ok(())
}

/// The permissions that the appliers of the delivery objects need beside `create` and `patch`. Sources:
/// `pkg/utils/kube/resource_ops.go` of gitops-engine and `manager_apply.go` of `fluxcd/pkg/ssa` 0.76; the harnesses
/// `tests/conformance/argocd` and `tests/conformance/flux` show that there are no more.
#[derive(Default)]
struct Delivered {
    /// Whether an applier reads each object that it applies.
    reads: bool,
    /// The Roles of the output, as namespace and name, if Flux applies it. Flux tries all objects of namespaces on the
    /// server before it writes the first of them.
    roles: HashSet<(String, String)>,
}

impl Delivered {
    fn of_target(workspace: &Workspace, target: &Target) -> Result<Self, RunError> {
        let Some(delivery) = &target.delivery else { return Ok(Self::default()) };
        let mut roles = HashSet::new();
        if delivery.flux.is_some() {
            each_object(workspace, target, &mut Sink::new(), &mut |object, _| {
                if object.text_at("kind") == "Role"
                    && let Some(metadata) = object.get("metadata")
                {
                    roles.insert((metadata.text_at("namespace").to_owned(), metadata.text_at("name").to_owned()));
                }
            })?;
        }
        Ok(Self { reads: true, roles })
    }

    /// Returns the reason why an applier fails at an object that it may write; none if it does not.
    fn refusal(
        &self,
        world: &World,
        who: &Identity,
        object: NodeRef<'_>,
        [_, patch]: &[WriteDecision; 2],
    ) -> Option<String> {
        let Request::Resource(patch) = &patch.request else { return None };
        let get = Request::Resource(ResourceRequest { verb: "get".to_owned(), ..patch.clone() });
        if self.reads && !world.allows(who, &get) {
            return Some(format!("it may not {get}, and the applier reads each object"));
        }
        let role_ref = object.get("roleRef").filter(|role_ref| role_ref.text_at("kind") == "Role")?;
        let name = role_ref.text_at("name");
        if !self.roles.contains(&(patch.namespace.clone(), name.to_owned())) {
            return None;
        }
        let bind = ResourceRequest {
            verb: "bind".to_owned(),
            resource: "roles".to_owned(),
            name: name.to_owned(),
            ..patch.clone()
        };
        let may_bind = world.allows(who, &Request::Resource(bind));
        (!may_bind)
            .then(|| format!("Flux tries it before the Role `{name}` is there, and it may not bind the Role unseen"))
    }
}

/// The objects about which nothing is known but that no input allows to write them.
#[derive(Default)]
struct Refused {
    first: Option<(Origin, String)>,
    count: usize,
    missing: BTreeSet<String>,
}

impl Refused {
    /// Adds an object, one of `count` alike objects.
    fn add(&mut self, origin: Origin, name: &str, count: usize, missing: &BTreeSet<String>) {
        self.first.get_or_insert_with(|| (origin, name.to_owned()));
        self.count += count;
        self.missing.extend(missing.iter().cloned());
    }

    fn finish(self, user: &str, workspace: &Workspace, sink: &mut Sink) {
        let Some((origin, name)) = self.first else { return };
        let others = match self.count - 1 {
            0 => String::new(),
            more => format!(" and {}", number(more, "more object")),
        };
        let named: Vec<String> = self.missing.into_iter().take(MAXIMUM_RIGHTS).collect();
        let (message, help) = if named.is_empty() {
            let message = format!("`{user}` cannot apply {name}{others}: no binding among the inputs names it");
            (message, "add its bindings and roles with a Manifests policy or `baseline`, or bind it to a role")
        } else {
            let roles = named.join(", ");
            let message =
                format!("whether `{user}` can apply {name}{others} is unknown: {roles} is not among the inputs");
            (message, "add the role with a Manifests policy or `baseline`")
        };
        let finding = Diagnostic::warning(codes::APPLIER_CANNOT_APPLY, message).at(origin).help(help);
        if !workspace.project().accepts(&finding) {
            sink.push(finding);
        }
    }
}

fn identity(applier: &AppliedBy) -> Identity {
    let mut who = Identity::from_user(&applier.user);
    who.groups.extend(applier.groups.iter().cloned());
    who
}

fn cannot_apply(user: &str, name: &str, reason: &str) -> Diagnostic {
    Diagnostic::warning(codes::APPLIER_CANNOT_APPLY, format!("`{user}` cannot apply {name}: {reason}"))
        .help("grant the missing permissions, or apply this target with an identity that has them")
}

/// Returns the reason why an object cannot be written; none if it can.
fn refusal(decision: &WriteDecision) -> Option<String> {
    if !decision.verb_allowed {
        return Some(format!("it may not {}", decision.request));
    }
    match &decision.escalation {
        Escalation::Fine => None,
        Escalation::Forbidden(missing) => {
            let rights = cover::compacted(missing);
            let shown: Vec<String> = rights.iter().take(MAXIMUM_RIGHTS).map(rule_text).collect();
            let more = rights.len().saturating_sub(MAXIMUM_RIGHTS);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            Some(format!("it does not itself hold {}{more}", shown.join("; ")))
        }
        Escalation::NotFound(role) => {
            Some(format!("the {role} that it binds is not there, and it may not bind it unseen"))
        }
        Escalation::Invalid(reason) => Some(reason.clone()),
    }
}
