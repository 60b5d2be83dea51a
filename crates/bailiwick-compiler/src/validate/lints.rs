//! Advice about single objects that the server accepts and that are probably a mistake.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::Api;
use bailiwick_kubernetes::custom_fields::CustomFields;
use bailiwick_kubernetes::dead::{self, Dead, DeadPart, RuleResource};
use bailiwick_kubernetes::validation::expression_types::{Misfit, Unchecked, misfits};
use bailiwick_kubernetes::validation::{network, static_name};
use bailiwick_policy::model::Unit;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::trace::Trees;
use super::with_askers;

/// A valid object, with the place of its fields in the workspace.
#[derive(Clone, Copy)]
pub(super) struct ValidObject<'o> {
    pub(super) unit: &'o Unit,
    pub(super) root: NodeRef<'o>,
    pub(super) trees: &'o Trees,
}

/// Checks an object that is valid.
pub(super) fn check(object: ValidObject<'_>, api: &Api, definitions: &[Arc<CustomFields>], sink: &mut Sink) {
    let ValidObject { unit, root, trees } = object;
    if api.minor() == static_name::WARNED_OF_IN && static_name::is_kept(root) {
        let message = "Kubernetes 1.37 and later reject the creation of an object with this name";
        let place = trees.place_of(unit, "metadata.name", Some(&*unit.identity.name));
        sink.push(
            with_askers(Diagnostic::warning(codes::RESERVED_NAME, message).at(place), unit)
                .help("use a name that does not end in `.static.k8s.io`")
                .note(format!("in {}", unit.identity))
                .foldable(),
        );
    }
    match &*unit.identity.object_type.kind {
        "PodSecurityPolicy" => pod_security_policy(unit, root, trees, sink),
        "ValidatingAdmissionPolicy" => admission_policy(object, api, definitions, sink),
        "NetworkPolicy" if api.minor() < network::STRICT_SINCE => addresses(unit, root, trees, sink),
        // The rules of policies were judged as they were written.
        "Role" | "ClusterRole"
            if (unit.is_brought_in() || unit.template.is_own()) && root.get("aggregationRule").is_none() =>
        {
            role(unit, root, api, trees, sink);
        }
        _ => {}
    }
}

/// Reports the expressions of an object that do not fit the kinds that it matches.
pub(super) fn expression_types(
    root: NodeRef<'_>,
    api: &Api,
    definitions: &[Arc<CustomFields>],
) -> Result<Vec<Misfit>, Unchecked> {
    let is_policy = root.get("kind").and_then(NodeRef::as_str) == Some("ValidatingAdmissionPolicy");
    if is_policy { misfits(root, api.minor(), api.catalogue(), definitions) } else { Ok(Vec::new()) }
}

/// Reports the expressions that the API server accepts, and that fail for objects of a kind that the policy matches.
fn admission_policy(object: ValidObject<'_>, api: &Api, definitions: &[Arc<CustomFields>], sink: &mut Sink) {
    let ValidObject { unit, root, trees } = object;
    let warn = |message: String, place: Origin| {
        with_askers(Diagnostic::warning(codes::EXPRESSION_TYPE, message).at(place), unit)
    };
    let misfits = match expression_types(root, api, definitions) {
        Ok(misfits) => misfits,
        Err(unchecked) => {
            sink.push(
                warn(format!("the expressions are not compiled for their kinds: {unchecked}"), unit.content)
                    .help("split the policy: its expressions are not checked for its kinds")
                    .note(format!("in {}", unit.identity))
                    .foldable(),
            );
            return;
        }
    };
    for misfits in misfits.chunk_by(|one, other| one.field == other.field) {
        let Some(Misfit { field, reason, .. }) = misfits.first() else { continue };
        let kinds = |reason: &str| -> String {
            let kinds = misfits.iter().filter(|misfit| misfit.reason == reason);
            kinds.map(|misfit| format!("`{}`", misfit.kind)).collect::<Vec<_>>().join(", ")
        };
        let name = field.rsplit('.').next().unwrap_or(field);
        let source = field.split(['.', '[', ']']).filter(|key| !key.is_empty()).try_fold(root, |node, key| {
            key.parse::<usize>().map_or_else(|_| node.get(key), |index| node.items().nth(index))
        });
        let place = trees.place_in(unit, field);
        let place = place.unwrap_or_else(|| trees.place_of(unit, field, source.and_then(NodeRef::as_str)));
        let mut warning = warn(format!("`{name}` does not fit {}: {reason}", kinds(reason)), place);
        let others: BTreeSet<&str> = misfits.iter().map(|misfit| misfit.reason.as_str()).collect();
        for other in others.into_iter().filter(|other| other != reason) {
            warning = warning.note(format!("nor {}: {other}", kinds(other)));
        }
        sink.push(
            warning
                .help("correct the expression, or match other resources; `dyn(..)` around a value disables this check")
                .note(format!("`{field}` of {}, at Kubernetes 1.{}", unit.identity, api.minor()))
                .foldable(),
        );
    }
}

/// Reports the parts of the rules of a role that match no request.
fn role(unit: &Unit, root: NodeRef<'_>, api: &Api, trees: &Trees, sink: &mut Sink) {
    for (index, rule) in root.get("rules").into_iter().flat_map(NodeRef::items).enumerate() {
        let words = |field: &str| -> Vec<String> {
            let items = rule.get(field).into_iter().flat_map(NodeRef::items);
            items.filter_map(NodeRef::as_str).map(str::to_owned).collect()
        };
        let (verbs, urls, resources) = (words("verbs"), words("nonResourceURLs"), words("resources"));
        let cells: Vec<RuleResource> = resources
            .iter()
            .map(|resource| RuleResource { groups: words("apiGroups"), resource: resource.clone() })
            .collect();
        let found = if urls.is_empty() {
            dead::of_resources(api, &cells, &words("resourceNames"), &verbs)
        } else {
            dead::of_urls(&urls, &verbs)
        };
        for Dead { part, message, help, reason } in found {
            let (code, field, position) = match part {
                DeadPart::Resource(position) => (codes::UNSERVED_RESOURCE, "resources", position),
                DeadPart::Verb(position) => (codes::DEAD_VERB, "verbs", position),
                DeadPart::Url(position) => (codes::DEAD_URL, "nonResourceURLs", position),
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
        let message = format!("the range `{range}` {reason}; Kubernetes 1.36 and later reject it");
        sink.push(
            with_askers(
                Diagnostic::warning(codes::LEGACY_ADDRESS, message).at(trees.place_of(unit, "spec", Some(range))),
                unit,
            )
            .help(help)
            .note(format!("in {}", unit.identity))
            .foldable(),
        );
    }
}

/// Reports fields of a PodSecurityPolicy that contradict each other or have no effect.
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
            codes::ALLOWED_HOST_PATHS_WITHOUT_VOLUME,
            "hostPaths",
            "no pod can mount these host paths: `volumes` has no `hostPath`",
            "add `hostPath` to the volumes, or remove the paths",
        );
    }
    if host_path && !paths && !privileged {
        warn(
            codes::HOST_PATH_WITHOUT_PATHS,
            "volumes",
            "`hostPath` without a list of paths lets pods mount every path of the node",
            "list the paths, or remove `hostPath` from the volumes",
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
                codes::GROUP_RANGE_WITH_ROOT,
                field,
                &format!("`{field}` lets the pods of a tenant join the root group"),
                "use `MustRunAs` with ranges that begin at 1",
            );
        }
    }
}
