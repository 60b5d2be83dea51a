//! Checks the assertions of NodeAccess policies about the reach of nodes against the compiled objects.

use std::collections::BTreeSet;

use bailiwick_codes as codes;
use bailiwick_node::graph::Graph;
use bailiwick_node::powers::{NodeSecretPath, Powers};
use bailiwick_node::reach::{Certainty, EqualNodes, NodeReachability};
use bailiwick_policy::model::{Isolation, NodePool, PlacedAgent, Target};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::{Diagnostic, Sink, nearest};

use super::loaded_world::LoadedWorld;

/// Whether a policy asserts something about the reach of nodes of a target.
pub(crate) fn is_asserted(workspace: &Workspace, target: &Target) -> bool {
    workspace.project().facts.on::<Isolation>(&target.name).next().is_some()
}

/// Reports every assertion that does not hold on a target; the loaded is made with its surroundings.
pub(crate) fn judge(workspace: &Workspace, target: &Target, loaded: &LoadedWorld, sink: &mut Sink) {
    let facts = &workspace.project().facts;
    let Some(cluster) = loaded.cluster() else { return };
    let graph = Graph::from_cluster(cluster);
    let atlas = NodeReachability::new(cluster, &graph);
    let agents = facts.on(&target.name).map(|placed: &PlacedAgent| &placed.agent);
    let mut powers = Powers::new(&loaded.world, &cluster.version).with_agents(agents);
    for isolation in facts.on::<Isolation>(&target.name) {
        let Some(pool) = facts.on(&target.name).find(|pool: &&NodePool| pool.name == isolation.pool) else { continue };
        let own = EqualNodes::from_cluster(cluster, pool.like.clone());
        check_namespaces(loaded, target, isolation, sink);
        // An attacker on a node can give it any label.
        let (plain, drawn) = (atlas.of_pool(&own, false), atlas.of_pool(&own, true));
        let at_once = powers.breaches(&own.members, &plain, &isolation.namespaces);
        for breach in powers.breaches(&own.members, &drawn, &isolation.namespaces) {
            let known = at_once.iter().find(|known| known.namespace == breach.namespace);
            sink.push(broken(target, isolation, pool, known.unwrap_or(&breach), known.is_none()));
        }
    }
}

/// Reports an assertion about unknown namespaces: it would hold for ever.
fn check_namespaces(loaded: &LoadedWorld, target: &Target, isolation: &Isolation, sink: &mut Sink) {
    let named = loaded.world.known_namespaces();
    let mut known: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    if let Some(cluster) = loaded.cluster() {
        known.extend(cluster.workloads.values().map(|workload| workload.id.0.as_str()));
        known.extend(cluster.pods.keys().map(|(namespace, _)| namespace.as_str()));
    }
    for namespace in isolation.namespaces.iter().filter(|namespace| !known.contains(namespace.as_str())) {
        let help = nearest(namespace, known.iter().copied()).map_or_else(
            || "make it by a NamespaceSet, or bring it in by a Manifests policy".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let message = format!("there is no namespace `{namespace}` on `{}`: the isolation has no effect", target.name);
        sink.push(Diagnostic::error(codes::UNKNOWN_REFERENCE, message).at(isolation.origin).help(help));
    }
}

fn broken(
    target: &Target,
    isolation: &Isolation,
    pool: &NodePool,
    breach: &NodeSecretPath,
    needs_labels: bool,
) -> Diagnostic {
    let perhaps = if breach.certainty == Certainty::Maybe { "may be" } else { "are" };
    let message = format!(
        "on `{}`, Secrets of `{}` {perhaps} within reach of the pool `{}`",
        target.name, breach.namespace, isolation.pool
    );
    let mut told =
        Diagnostic::error(codes::ISOLATION_BROKEN, message).at(isolation.origin).and(pool.origin, "the pool");
    for step in &breach.steps {
        told = told.note(step.clone());
    }
    if needs_labels {
        told = told.note("its kubelet can attract them with labels that it may set");
    }
    told.help(if needs_labels {
        "keep the pods to nodes by a label below `node-restriction.kubernetes.io/`, or by a taint on the pool"
    } else {
        "remove one of the steps; `bailiwick node-reach` prints everything within reach"
    })
}
