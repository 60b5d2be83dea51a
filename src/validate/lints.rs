//! Advice about single objects: accepted by the server, and still not what anybody wants.

use super::rules::{network, static_name};
use super::trace::Trees;
use super::with_askers;
use crate::diag::{Code, Diagnostic, Sink};
use crate::k8s::catalogue::Api;
use crate::k8s::dead::{self, Cell, Dead, Part};
use crate::model::Unit;
use crate::yaml::NodeRef;

/// Checks an object that is valid.
pub(super) fn check(unit: &Unit, root: NodeRef<'_>, api: &Api, trees: &Trees, sink: &mut Sink) {
    if api.minor() == static_name::WARNED_OF_IN && static_name::is_kept(root) {
        let message = "Kubernetes 1.37 and later refuse to create an object with this name";
        let place = trees.place_of(unit, "metadata.name", Some(&*unit.identity.name));
        sink.push(
            with_askers(Diagnostic::warning(Code::ReservedName, message).at(place), unit)
                .help("use a name that does not end in `.static.k8s.io`")
                .note(format!("in {}", unit.identity))
                .foldable(),
        );
    }
    match &*unit.identity.object_type.kind {
        "PodSecurityPolicy" => pod_security_policy(unit, root, trees, sink),
        "NetworkPolicy" if api.minor() < network::STRICT_SINCE => addresses(unit, root, trees, sink),
        // The rules of policies were judged as they were written.
        "Role" | "ClusterRole" if unit.is_brought_in() && root.get("aggregationRule").is_none() => {
            role(unit, root, api, trees, sink);
        }
        _ => {}
    }
}

/// What in the rules of a role can match no request (`specs/kubernetes.md` section 11).
fn role(unit: &Unit, root: NodeRef<'_>, api: &Api, trees: &Trees, sink: &mut Sink) {
    for (index, rule) in root.get("rules").into_iter().flat_map(NodeRef::items).enumerate() {
        let words = |field: &str| -> Vec<String> {
            let items = rule.get(field).into_iter().flat_map(NodeRef::items);
            items.filter_map(NodeRef::as_str).map(str::to_owned).collect()
        };
        let (verbs, urls, resources) = (words("verbs"), words("nonResourceURLs"), words("resources"));
        let cells: Vec<Cell> =
            resources.iter().map(|resource| Cell { groups: words("apiGroups"), resource: resource.clone() }).collect();
        let found = if urls.is_empty() {
            dead::of_resources(api, &cells, &words("resourceNames"), &verbs)
        } else {
            dead::of_urls(&urls, &verbs)
        };
        for Dead { part, message, help, reason } in found {
            let (code, field, position) = match part {
                Part::Resource(position) => (Code::UnservedResource, "resources", position),
                Part::Verb(position) => (Code::DeadVerb, "verbs", position),
                Part::Url(position) => (Code::DeadUrl, "nonResourceURLs", position),
            };
            let place = trees.place_in(unit, &format!("rules[{index}].{field}[{position}]"));
            let told = Diagnostic::warning(code, message)
                .at(place.unwrap_or(unit.content))
                .help(help)
                .note(format!("in {}, at Kubernetes 1.{}", unit.identity, api.minor()))
                .foldable();
            sink.push(if reason.fails_check() { told.failing_check() } else { told });
        }
    }
}

/// Ranges of addresses that later versions refuse.
fn addresses(unit: &Unit, root: NodeRef<'_>, trees: &Trees, sink: &mut Sink) {
    for range in network::ranges(root) {
        let Some((reason, help)) = network::ambiguity(range) else { continue };
        let message = format!("the range `{range}` {reason}; Kubernetes 1.36 and later refuse it");
        sink.push(
            with_askers(
                Diagnostic::warning(Code::LegacyAddress, message).at(trees.place_of(unit, "spec", Some(range))),
                unit,
            )
            .help(help)
            .note(format!("in {}", unit.identity))
            .foldable(),
        );
    }
}

/// R000-05 and R000-06 of `specs/systems.md`.
fn pod_security_policy(unit: &Unit, root: NodeRef<'_>, trees: &Trees, sink: &mut Sink) {
    let Some(spec) = root.get("spec") else { return };
    let mut warn = |code, path: &str, message: &str, help: &str| {
        sink.push(
            Diagnostic::warning(code, message)
                .at(trees.place_of(unit, path, None))
                .help(help)
                .note(format!("in {}", unit.identity))
                .foldable(),
        );
    };
    let volumes: Vec<&str> =
        spec.get("volumes").into_iter().flat_map(NodeRef::items).filter_map(NodeRef::as_str).collect();
    let host_path = volumes.iter().any(|volume| matches!(*volume, "hostPath" | "*"));
    let paths = spec.get("allowedHostPaths").is_some_and(|paths| !paths.is_empty());
    let privileged = spec.get("privileged").and_then(NodeRef::as_bool).unwrap_or_default();
    if paths && !host_path {
        warn(
            Code::AllowedHostPathsWithoutVolume,
            "hostPaths",
            "these host paths can never be mounted: `volumes` has no `hostPath`",
            "add `hostPath` to the volumes, or remove the paths",
        );
    }
    if host_path && !paths && !privileged {
        warn(
            Code::HostPathWithoutPaths,
            "volumes",
            "`hostPath` without a list of paths lets pods mount any path of the node",
            "list the paths, or take `hostPath` out of the volumes",
        );
    }
    if unit.account.is_none() {
        return;
    }
    for field in ["supplementalGroups", "fsGroup"] {
        let strategy = spec.get(field);
        let any = strategy.and_then(|strategy| strategy.get("rule")).and_then(NodeRef::as_str) == Some("RunAsAny");
        let root_in_range = strategy
            .and_then(|strategy| strategy.get("ranges"))
            .into_iter()
            .flat_map(NodeRef::items)
            .any(|range| range.get("min").and_then(NodeRef::as_int) == Some(0));
        if any || root_in_range {
            warn(
                Code::GroupRangeWithRoot,
                field,
                &format!("`{field}` lets a tenant's pods join the root group"),
                "use `MustRunAs` with ranges that begin at 1",
            );
        }
    }
}
