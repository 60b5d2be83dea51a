//! Fields that the API server accepts and does not keep. The written object differs from the stored object for ever, or
//! has less effect than its text.

use bailiwick_codes as codes;
use bailiwick_kubernetes::server_fields::METADATA;
use bailiwick_kubernetes::validation::metadata::{NAME_LABEL, NAME_LABEL_SINCE};
use bailiwick_policy::model::Unit;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Sink};

use super::trace::Trees;
use super::with_askers;

/// Checks an object for a minor of Kubernetes.
pub(super) fn check(unit: &Unit, root: NodeRef<'_>, minor: u32, trees: &Trees, sink: &mut Sink) {
    if !unit.source.is_manifest {
        owned_fields(unit, root, trees, sink);
    }
    name_label(unit, root, minor, trees, sink);
    port_ranges(unit, root, minor, trees, sink);
}

/// Fields that only the server may set. A manifest has them no more, see [`bailiwick_kubernetes::server_fields`].
fn owned_fields(unit: &Unit, root: NodeRef<'_>, trees: &Trees, sink: &mut Sink) {
    let metadata = root.get("metadata");
    let found = METADATA.iter().filter(|name| metadata.is_some_and(|metadata| metadata.entry(name).is_some()));
    let found = found.map(|name| format!("metadata.{name}"));
    let status = root.entry("status").map(|_| "status".to_owned());
    for path in found.chain(status) {
        let place = trees.place_of(unit, &path, None);
        sink.push(
            with_askers(
                Diagnostic::error(codes::SERVER_FIELD, format!("only {} `{path}`", setter(&path))).at(place),
                unit,
            )
            .help("remove the field")
            .note(format!("in {}", unit.identity))
            .foldable(),
        );
    }
}

/// Returns who sets a field of the server, as the beginning of a sentence.
fn setter(path: &str) -> &'static str {
    match path {
        "metadata.ownerReferences" => "controllers set",
        _ => "the API server sets",
    }
}

/// Reports a label of a Namespace that the server overwrites with the name of the Namespace.
fn name_label(unit: &Unit, root: NodeRef<'_>, minor: u32, trees: &Trees, sink: &mut Sink) {
    let object_type = &unit.identity.object_type;
    let is_namespace = &*object_type.kind == "Namespace" && &*object_type.api_version == "v1";
    let label = root.path(&["metadata", "labels", NAME_LABEL]).filter(|_| is_namespace && minor >= NAME_LABEL_SINCE);
    let Some(label) = label.filter(|label| label.as_str() != Some(&*unit.identity.name)) else { return };
    let message = format!("the label `{NAME_LABEL}` is {}, but the API server sets it to the name", label.describe());
    let place = trees.place_of(unit, &format!("metadata.labels.{NAME_LABEL}"), label.as_str());
    sink.push(
        with_askers(Diagnostic::error(codes::INVALID_OBJECT, message).at(place), unit)
            .help("remove the label: the API server adds it")
            .note(format!("in {}", unit.identity))
            .foldable(),
    );
}

/// The first minor that keeps `endPort` of a NetworkPolicy: the feature gate NetworkPolicyEndPort is on.
const PORT_RANGES_SINCE: u32 = 22;

/// Reports the end of a range of ports for a server that drops it: such a server opens the first port alone.
fn port_ranges(unit: &Unit, root: NodeRef<'_>, minor: u32, trees: &Trees, sink: &mut Sink) {
    if minor >= PORT_RANGES_SINCE || &*unit.identity.object_type.kind != "NetworkPolicy" {
        return;
    }
    for direction in ["ingress", "egress"] {
        let rules = root.path(&["spec", direction]).into_iter().flat_map(NodeRef::items).enumerate();
        for (rule_index, rule) in rules {
            let ports = rule.get("ports").into_iter().flat_map(NodeRef::items).enumerate();
            for (index, _) in ports.filter(|(_, port)| port.get("endPort").is_some_and(|end| !end.is_null())) {
                let path = format!("spec.{direction}[{rule_index}].ports[{index}].endPort");
                let message = format!("Kubernetes 1.{minor} drops `endPort` and opens only the first port");
                sink.push(
                    with_askers(
                        Diagnostic::error(codes::MALFORMED_OBJECT, message).at(trees.place_of(unit, &path, None)),
                        unit,
                    )
                    .help("list each port, or exclude this target; 1.22 and later keep the field")
                    .note(format!("in {}", unit.identity))
                    .foldable(),
                );
            }
        }
    }
}
