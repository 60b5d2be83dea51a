//! The decision of the Node authorizer, before the decision of RBAC.

use bailiwick_access::{Answer, Identity, Request};
use bailiwick_node::Cluster;
use bailiwick_node::authorize::{Authorizer, FieldRequirement, NodeAuthorization, NodeReason};
use bailiwick_node::graph::Graph;
use bailiwick_node::identity::NodeIdentity;
use bailiwick_node::reach::{Certainty, NodeReachability};
use bailiwick_workspace::words::rule_text;
use schemars::JsonSchema;
use serde::Serialize;

/// The decision of the Node authorizer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeDecision {
    /// Yes; unknown where it depends on where pods are scheduled; no where it has no opinion.
    pub answer: Answer,
    /// The reasons, one line each.
    pub reasons: Vec<String>,
}

/// Asks the Node authorizer; none for an identity that is no node.
pub(super) fn ask(
    cluster: &Cluster,
    graph: &Graph,
    who: &Identity,
    request: &Request,
    selector: &[FieldRequirement],
) -> Option<NodeDecision> {
    let identity = NodeIdentity::from_identity(who);
    if identity == NodeIdentity::None {
        return None;
    }
    let said = |answer, reasons| Some(NodeDecision { answer, reasons });
    let no_opinion = match Authorizer::new(&cluster.version, graph).decide(who, request, selector) {
        NodeAuthorization::Allow(reason) => return said(Answer::Yes, vec![words(&reason)]),
        NodeAuthorization::NoOpinion(why) => why,
    };
    let NodeIdentity::Node(node) = identity else { return said(Answer::No, told(&no_opinion)) };
    // The same with the pods of workloads where they may come to.
    let atlas = NodeReachability::new(cluster, graph);
    let reach = atlas.of_node(node, false);
    let wider = Graph::of_reach(&reach, node);
    let NodeAuthorization::Allow(NodeReason::Way(way)) =
        Authorizer::new(&cluster.version, &wider).decide(who, request, selector)
    else {
        return said(Answer::No, told(&no_opinion));
    };
    let reached = way.first().and_then(|object| reach.objects.get(object));
    let (certainty, via) =
        reached.map_or((Certainty::Maybe, String::new()), |reached| (reached.certainty, reached.via.to_string()));
    let lines = match certainty {
        Certainty::Yes => {
            vec![format!("the Node authorizer: {via} has a pod on every node it may come to, and names it")]
        }
        Certainty::Maybe => vec![
            format!("the Node authorizer: {via} names it, and its pods may come to `{node}`"),
            "as long as every pod comes from these objects, and the node has these labels and taints".to_owned(),
        ],
    };
    said(if certainty == Certainty::Yes { Answer::Yes } else { Answer::Unknown }, lines)
}

fn told(no_opinion: &str) -> Vec<String> {
    if no_opinion.is_empty() { Vec::new() } else { vec![format!("the Node authorizer: {no_opinion}")] }
}

fn words(reason: &NodeReason) -> String {
    match reason {
        NodeReason::Way(way) => {
            let steps: Vec<String> = way.iter().map(ToString::to_string).collect();
            format!("the Node authorizer: {}", steps.join(" <- "))
        }
        NodeReason::Rule(rule) => format!("the Node authorizer, for every node: {}", rule_text(rule)),
        NodeReason::Own => {
            "the Node authorizer: it is about the node itself, or limited to what belongs to it".to_owned()
        }
        NodeReason::LeftToAdmission => {
            "the Node authorizer: NodeRestriction looks at the object when it is written".to_owned()
        }
    }
}
