//! Whether the pods of a template can come to a node: node name, selector, required affinity and taints, as the scheduler
//! and the DaemonSet controller look at them (`k8s.io/component-helpers/scheduling/corev1`, `pkg/controller/daemon`).
//!
//! Dependencies on other pods and on resources are left out: the pods may come there for this module.

use bailiwick_kubernetes::absent;
use std::collections::BTreeMap;

use super::cluster::{Cluster, Node, Taint};
use super::pod::items;
use super::restriction::{is_restricted, is_settable_by_kubelet};
use bailiwick_yaml::NodeRef;

/// Taints tolerated by the pods of every DaemonSet, and another one on the node's network.
const DAEMON_TOLERATIONS: [(&str, &str); 7] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ("node.kubernetes.io/network-unavailable", "NoSchedule"),
];

/// Prefix of the taints set by the control plane for the condition of a node.
const CONDITIONS: &str = "node.kubernetes.io/";

/// The constraints of a template on the nodes of its pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Constraints {
    /// The one node it names; empty for none.
    pub node_name: String,
    /// Labels required on the node.
    selector: Vec<(String, String)>,
    /// The required affinity: one of the terms has to hold; none without a requirement.
    affinity: Option<Vec<Term>>,
    tolerations: Vec<Toleration>,
    /// The RuntimeClass, with further labels and tolerations; empty for none.
    runtime_class: String,
    /// Whether it may have further tolerations.
    tolerates_unknown: bool,
    /// Whether it is the template of a DaemonSet: its controller checks all of it, even with a node name.
    is_daemon: bool,
}

/// Requirements with a common and.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    /// A label, or the field `metadata.name`.
    key: String,
    is_field: bool,
    operator: String,
    values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Toleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
}

/// A node, or some node of a pool of equal nodes.
#[derive(Debug, Clone, Copy)]
pub struct NodeSlot<'n> {
    /// The node's name; none for some node of a pool.
    pub name: Option<&'n str>,
    /// Its labels and taints.
    pub node: &'n Node,
    /// The changes possible for an attacker with its kubelet; none for the node as it is.
    pub taken: Option<Taken>,
}

/// The changes to a node possible for an attacker with its kubelet: the labels allowed to kubelets, and any
/// conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Until 1.30 a kubelet could get its Node removed by owners without an object (CVE-2025-5187), and until 1.12
    /// remove it: it then registers again without taints.
    sheds_taints: bool,
    /// Until 1.18 a Node could register with any unrestricted label.
    takes_any_label: bool,
    /// OpenShift lets a Node register with its role.
    takes_roles: bool,
}

impl Taken {
    /// Returns the changes left open by NodeRestriction in a version.
    pub fn from_cluster(cluster: &Cluster) -> Self {
        let version = &cluster.version;
        Self {
            sheds_taints: !version.since(31),
            takes_any_label: !version.since(19),
            takes_roles: cluster.is_openshift,
        }
    }

    fn chooses(self, label: &str) -> bool {
        is_settable_by_kubelet(label)
            || self.takes_any_label && !is_restricted(label)
            || self.takes_roles && label.starts_with("node-role.kubernetes.io/")
    }

    fn sheds(self, taint: &Taint) -> bool {
        self.sheds_taints || taint.key.starts_with(CONDITIONS)
    }
}

impl NodeSlot<'_> {
    /// Whether this label may be set and removed.
    fn chooses(&self, label: &str) -> bool {
        self.taken.is_some_and(|taken| taken.chooses(label))
    }
}

/// How well pods fit a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Nothing keeps them away.
    Sure,
    /// It depends on the name of the node, unknown here.
    Possible,
}

/// Why pods cannot come to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptAway {
    /// They name another node.
    OtherNode,
    /// A label of the selector is missing.
    Selector(String),
    /// No term of the required affinity holds.
    Affinity,
    /// A taint is not tolerated.
    Taint(Taint),
}

impl std::fmt::Display for KeptAway {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeptAway::OtherNode => formatter.write_str("they name another node"),
            KeptAway::Selector(label) => write!(formatter, "the node has no label {label}"),
            KeptAway::Affinity => formatter.write_str("no term of their required node affinity holds"),
            KeptAway::Taint(taint) => write!(formatter, "they do not tolerate the taint {taint}"),
        }
    }
}

impl std::fmt::Display for Taint {
    /// Prints `key=value:effect`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(formatter, "={}", self.value)?;
        }
        write!(formatter, ":{}", self.effect)
    }
}

impl Constraints {
    /// Reads the spec of a template; `is_daemon` is set for a DaemonSet.
    pub fn read(spec: NodeRef<'_>, is_daemon: bool) -> Self {
        let entries = spec.get("nodeSelector").into_iter().flat_map(NodeRef::entries);
        let mut tolerations: Vec<Toleration> = items(spec, "tolerations").map(Toleration::read).collect();
        if is_daemon {
            let on_network = spec.get("hostNetwork").and_then(NodeRef::as_bool) == Some(true);
            let own = DAEMON_TOLERATIONS.iter().filter(|(key, _)| on_network || !key.ends_with("network-unavailable"));
            tolerations.extend(own.map(|(key, effect)| Toleration {
                key: (*key).to_owned(),
                operator: "Exists".to_owned(),
                value: String::new(),
                effect: (*effect).to_owned(),
            }));
        }
        let required = spec.path(&["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"]);
        Self {
            node_name: absent::text_at(spec, &["nodeName"]).to_owned(),
            selector: entries
                .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned())))
                .collect(),
            affinity: required
                .filter(|required| !required.is_null())
                .map(|required| items(required, "nodeSelectorTerms").map(Term::read).collect()),
            tolerations,
            runtime_class: absent::text_at(spec, &["runtimeClassName"]).to_owned(),
            tolerates_unknown: false,
            is_daemon,
        }
    }

    /// Adds the constraints of the RuntimeClass, as admission does (`plugin/pkg/admission/runtimeclass`). An unknown
    /// class may have any tolerations.
    #[must_use]
    pub fn with_runtime_class(&self, known: &BTreeMap<String, Constraints>) -> Self {
        let mut own = self.clone();
        match known.get(&self.runtime_class) {
            _ if self.runtime_class.is_empty() => {}
            Some(class) => {
                own.selector.extend(class.selector.iter().cloned());
                own.tolerations.extend(class.tolerations.iter().cloned());
            }
            None => own.tolerates_unknown = true,
        }
        own
    }

    /// Returns the labels of the nodes of its pods: the selector's, and the labels required by every term of the
    /// affinity.
    pub fn required_labels(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = self.selector.iter().map(|(key, _)| key.as_str()).collect();
        if let Some([first, rest @ ..]) = self.affinity.as_deref() {
            let needs =
                |term: &Term, key: &str| term.requirements.iter().any(|requirement| requirement.needs_label(key));
            let own = first.requirements.iter().map(|requirement| requirement.key.as_str());
            keys.extend(own.filter(|key| needs(first, key) && rest.iter().all(|term| needs(term, key))));
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns the fit of pods for a node, or the obstacle.
    ///
    /// # Errors
    /// Obstacles of the node as it is.
    pub fn admit(&self, place: NodeSlot<'_>) -> Result<Fit, KeptAway> {
        let node = place.node;
        let is_named = !self.node_name.is_empty();
        if is_named && place.name.is_some_and(|name| name != self.node_name) {
            return Err(KeptAway::OtherNode);
        }
        if is_named && !self.is_daemon {
            // A pod with a node name needs no scheduler.
            return Ok(if place.name.is_some() { Fit::Sure } else { Fit::Possible });
        }
        let lacks = |key: &str, value: &String| node.labels.get(key) != Some(value) && !place.chooses(key);
        let missing = self.selector.iter().find(|(key, value)| lacks(key, value));
        if let Some((key, value)) = missing {
            return Err(KeptAway::Selector(format!("{key}={value}")));
        }
        if self.affinity.as_ref().is_some_and(|terms| !terms.iter().any(|term| term.holds(place))) {
            return Err(KeptAway::Affinity);
        }
        let counts = |taint: &&Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
        let tolerated = |taint: &Taint| self.tolerations.iter().any(|toleration| toleration.covers(taint));
        // Taints for conditions follow from the reports of the kubelet.
        let passes = |taint: &Taint| place.taken.is_some_and(|taken| taken.sheds(taint));
        let in_the_way = node.taints.iter().filter(counts).find(|taint| !tolerated(taint) && !passes(taint));
        match in_the_way {
            Some(_) if self.tolerates_unknown => Ok(Fit::Possible),
            Some(taint) => Err(KeptAway::Taint(taint.clone())),
            None if place.name.is_none() && (is_named || self.names_nodes()) => Ok(Fit::Possible),
            None if self.labels().any(|label| place.chooses(label)) => Ok(Fit::Possible),
            None => Ok(Fit::Sure),
        }
    }

    /// Returns every label in it.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        let terms = self.affinity.iter().flatten().flat_map(|term| &term.requirements);
        let required = terms.filter(|requirement| !requirement.is_field).map(|requirement| requirement.key.as_str());
        self.selector.iter().map(|(key, _)| key.as_str()).chain(required)
    }

    /// Whether the name of the node makes a difference.
    pub(super) fn asks_for_name(&self) -> bool {
        !self.node_name.is_empty() || self.names_nodes()
    }

    /// Whether the required affinity asks for the name of a node.
    fn names_nodes(&self) -> bool {
        let mut requirements = self.affinity.iter().flatten().flat_map(|term| &term.requirements);
        requirements.any(|requirement| requirement.is_field)
    }
}

impl Term {
    fn read(term: NodeRef<'_>) -> Self {
        let labels = items(term, "matchExpressions").map(|requirement| Requirement::read(requirement, false));
        let fields = items(term, "matchFields").map(|requirement| Requirement::read(requirement, true));
        Self { requirements: labels.chain(fields).collect() }
    }

    /// Whether a term holds; an empty term holds nowhere.
    fn holds(&self, place: NodeSlot<'_>) -> bool {
        !self.requirements.is_empty() && self.requirements.iter().all(|requirement| requirement.holds(place))
    }
}

impl Requirement {
    fn read(requirement: NodeRef<'_>, is_field: bool) -> Self {
        let own = |key| absent::text_at(requirement, &[key]).to_owned();
        let values = items(requirement, "values").filter_map(NodeRef::as_str).map(str::to_owned);
        Self { key: own("key"), is_field, operator: own("operator"), values: values.collect() }
    }

    fn needs_label(&self, key: &str) -> bool {
        !self.is_field && self.key == key && matches!(self.operator.as_str(), "In" | "Exists" | "Gt" | "Lt")
    }

    fn holds(&self, place: NodeSlot<'_>) -> bool {
        if self.is_field {
            // Some node of a pool may have the name, and another may not.
            let Some(name) = place.name else { return true };
            let is_own = self.values.iter().any(|value| value == name);
            return self.key == "metadata.name"
                && match self.operator.as_str() {
                    "In" => is_own,
                    "NotIn" => !is_own,
                    _ => false,
                };
        }
        if place.chooses(&self.key) {
            return true;
        }
        let value = place.node.labels.get(&self.key);
        let is_listed = || value.is_some_and(|value| self.values.contains(value));
        let number = |text: &String| text.parse::<i64>().ok();
        let compared = |is_meant: fn(i64, i64) -> bool| match (value.and_then(number), self.values.as_slice()) {
            (Some(own), [bound]) => number(bound).is_some_and(|bound| is_meant(own, bound)),
            _ => false,
        };
        match self.operator.as_str() {
            "In" => is_listed(),
            "NotIn" => !is_listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => compared(|own, bound| own > bound),
            "Lt" => compared(|own, bound| own < bound),
            _ => false,
        }
    }
}

impl Toleration {
    fn read(toleration: NodeRef<'_>) -> Self {
        let own = |key| absent::text_at(toleration, &[key]).to_owned();
        Self { key: own("key"), operator: own("operator"), value: own("value"), effect: own("effect") }
    }

    /// Whether it tolerates a taint (`Toleration.ToleratesTaint` of `k8s.io/api/core/v1`).
    fn covers(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match self.operator.as_str() {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                // Only a server with the gate on stores these.
                "Gt" => self.compares(taint, |taint, own| taint > own),
                "Lt" => self.compares(taint, |taint, own| taint < own),
                _ => false,
            }
    }

    fn compares(&self, taint: &Taint, is_meant: fn(i64, i64) -> bool) -> bool {
        matches!((taint.value.parse(), self.value.parse()), (Ok(taint), Ok(own)) if is_meant(taint, own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn constraints(spec: &str, is_daemon: bool) -> Constraints {
        let tree = yaml::read(spec, FileId::default(), &mut Sink::new());
        Constraints::read(tree.document(0).expect("a document"), is_daemon)
    }

    fn at<'n>(name: &'n str, node: &'n Node) -> NodeSlot<'n> {
        NodeSlot { name: Some(name), node, taken: None }
    }

    fn node(text: &str) -> Node {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        Node::read(tree.document(0).expect("a document"))
    }

    #[test]
    fn a_name_passes_taints_by() {
        let tainted = node("{spec: {taints: [{key: a, effect: NoSchedule}]}}");
        assert_eq!(constraints("{nodeName: here}", false).admit(at("here", &tainted)), Ok(Fit::Sure));
        assert_eq!(constraints("{nodeName: here}", false).admit(at("there", &tainted)), Err(KeptAway::OtherNode));
        assert!(matches!(constraints("{}", false).admit(at("here", &tainted)), Err(KeptAway::Taint(_))));
    }

    #[test]
    fn tolerations_are_the_apis() {
        let tainted = node("{spec: {taints: [{key: a, value: b, effect: NoSchedule}]}}");
        for (toleration, comes) in [
            ("{operator: Exists}", true),
            ("{key: a, operator: Exists}", true),
            ("{key: a, value: b}", true),
            ("{key: a, value: c}", false),
            ("{key: a, operator: Exists, effect: NoExecute}", false),
            ("{key: b, operator: Exists}", false),
            ("{value: b}", true),
        ] {
            let came =
                constraints(&format!("{{tolerations: [{toleration}]}}"), false).admit(at("here", &tainted)).is_ok();
            assert_eq!(came, comes, "{toleration}");
        }
        let preferred = node("{spec: {taints: [{key: a, effect: PreferNoSchedule}]}}");
        assert_eq!(constraints("{}", false).admit(at("here", &preferred)), Ok(Fit::Sure));
    }

    #[test]
    fn daemons_tolerate_more() {
        let sick = node("{spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]}}");
        assert_eq!(constraints("{}", true).admit(at("here", &sick)), Ok(Fit::Sure));
        assert!(constraints("{}", false).admit(at("here", &sick)).is_err());
        let offline = node("{spec: {taints: [{key: node.kubernetes.io/network-unavailable, effect: NoSchedule}]}}");
        assert!(constraints("{}", true).admit(at("here", &offline)).is_err());
        assert_eq!(constraints("{hostNetwork: true}", true).admit(at("here", &offline)), Ok(Fit::Sure));
    }

    #[test]
    fn one_term_of_the_affinity_is_enough() {
        let of = |terms: &str| {
            constraints(
                &format!(
                    "{{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {terms}}}}}}}}}"
                ),
                false,
            )
        };
        let node = node("{metadata: {labels: {pool: web, size: '4'}}}");
        for (terms, comes) in [
            ("[{matchExpressions: [{key: pool, operator: In, values: [web, db]}]}]", true),
            (
                "[{matchExpressions: [{key: pool, operator: NotIn, values: [web]}]}, {matchExpressions: [{key: size, operator: Gt, values: ['3']}]}]",
                true,
            ),
            ("[{matchExpressions: [{key: size, operator: Lt, values: ['4']}]}]", false),
            ("[{matchFields: [{key: metadata.name, operator: In, values: [here]}]}]", true),
            ("[{}]", false),
            ("[]", false),
        ] {
            assert_eq!(of(terms).admit(at("here", &node)).is_ok(), comes, "{terms}");
        }
        let labels = "[{matchExpressions: [{key: a, operator: Exists}, {key: b, operator: In, values: [x]}]}, {matchExpressions: [{key: a, operator: In, values: [y]}]}]";
        assert_eq!(of(labels).required_labels(), ["a"]);
    }
}
