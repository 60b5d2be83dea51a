//! Nodes that are let do more than they should, agents that are not held to their node, and static pods.

use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_access::cover::{compacted, uncovered};
use bailiwick_access::who_can::Where;
use bailiwick_access::world::account_user;
use bailiwick_access::{Identity, Request, ResourceRequest, World};
use bailiwick_codes as codes;
use bailiwick_kubernetes::list;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_node::agent::operation;
use bailiwick_node::cluster::NamespacedName;
use bailiwick_node::identity::NODES;
use bailiwick_node::mirror::static_pod_problems;
use bailiwick_node::placement::{Fit, NodeSlot};
use bailiwick_node::restriction::is_settable_by_kubelet;
use bailiwick_node::system_node::{self, opened_by_stale_binding};
use bailiwick_node::version::ServerVersion;
use bailiwick_policy::model::{NodePool, PlacedAgent};
use bailiwick_workspace::Options;
use bailiwick_workspace::words::rule_text;
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Sink};

use super::MAXIMUM_RIGHTS;
use crate::loaded_world::{LoadedWorld, each_tree};

/// Reports what is wrong with the role of nodes and its binding.
pub(super) fn check_role(loaded: &LoadedWorld, sink: &mut Sink) {
    let Ok(version) = ServerVersion::new(loaded.world.minor()) else { return };
    for (binding, subjects) in loaded.world.bound_by(None, system_node::NAME) {
        // Objects of the server itself are not judged.
        let Some(place) = binding.place.filter(|_| subjects.contains(&format!("Group/{NODES}"))) else { continue };
        let message = format!("{} binds all nodes to the role `{}`", binding.name, system_node::NAME);
        let told = Diagnostic::warning(codes::STALE_NODES_BINDING, message).at(place);
        let opened = opened_by_stale_binding(&version).into_iter();
        let told = opened.fold(told, |told, opened| told.note(format!("in {version} any node then {opened}")));
        sink.push(
            told.help("remove the group once every kubelet has the identity of its node: `bailiwick migrate kubelets` lists the steps"),
        );
    }
    let Some((role, rules, _)) = loaded.world.describe_role(None, system_node::NAME) else { return };
    let Some(place) = role.place else { return };
    let own: Vec<PolicyRule> = rules.into_iter().map(|rule| rule.rule).collect();
    let extra = uncovered(&system_node::possible_rules(&version), &own);
    let missing = uncovered(&own, &system_node::rules(&version));
    if extra.is_empty() && missing.is_empty() {
        return;
    }
    let message = format!("the role `{}` differs from the role of Kubernetes {version}", system_node::NAME);
    let mut told = Diagnostic::warning(codes::SYSTEM_NODE_DRIFT, message).at(place);
    for (rules, words) in [(extra, "it grants too"), (missing, "it lacks, and the server adds when it starts,")] {
        for rule in compacted(&rules).iter().take(MAXIMUM_RIGHTS) {
            told = told.note(format!("{words} {}", rule_text(rule)));
        }
    }
    sink.push(told.help("state the role with `systemNode` of a NodeAccess policy, or leave it to the API server"));
}

/// Reports agents that are not held to their node after all.
pub(super) fn check_agents<'a>(loaded: &LoadedWorld, agents: impl Iterator<Item = &'a PlacedAgent>, sink: &mut Sink) {
    for placed in agents {
        check_bypass(&loaded.world, placed, sink);
        check_defeat(&loaded.world, placed, sink);
    }
}

fn identity_of((namespace, name): &NamespacedName) -> Identity {
    Identity::from_user(&account_user(namespace, name))
}

/// Reports permissions that the account has by other grants, on resources that the agent's policy checks but does not list.
fn check_bypass(world: &World, placed: &PlacedAgent, sink: &mut Sink) {
    let agent = &placed.agent;
    let own_role = format!("ClusterRole/{}", agent.object_name());
    let looked_at = |group: &str, resource: &str, verb: &str| {
        agent.own_node.iter().any(|own| {
            let is_listed = own.group == group && own.resources.iter().any(|listed| listed == resource);
            is_listed && own.verbs.iter().any(|own| operation(own) == operation(verb))
        })
    };
    let writes = ["create", "update", "patch", "delete", "deletecollection"];
    let is_beside = |rule: &PolicyRule| {
        agent.own_node.iter().any(|own| {
            let bases = || own.resources.iter().filter_map(|resource| resource.split('/').next());
            let touches = |resource: &String| {
                let (base, _) = resource.split_once('/').unwrap_or((resource, ""));
                base == "*" || bases().any(|own| own == base)
            };
            let groups = rule.api_groups.iter().any(|group| group == "*" || *group == own.group);
            let beside = rule.resources.iter().filter(|resource| touches(resource)).any(|resource| {
                let verbs = rule.verbs.iter().filter(|verb| *verb == "*" || writes.contains(&verb.as_str()));
                verbs
                    .into_iter()
                    .any(|verb| verb == "*" || resource.contains('*') || !looked_at(&own.group, resource, verb))
            });
            groups && beside
        })
    };
    for chain in world.all_grants_of(&identity_of(&agent.account)) {
        let Some(place) = chain.binding.place.filter(|_| chain.role.name != own_role) else { continue };
        let Some(rule) = chain.rules.iter().find(|rule| is_beside(&rule.rule)) else { continue };
        sink.push(
            Diagnostic::warning(
                codes::AGENT_SCOPE_BYPASSED,
                format!("the agent `{}` has write permissions that its admission policy does not check", agent.name),
            )
            .at(place)
            .and(placed.origin, "the agent")
            .note(format!("{} gives it {}", chain.role.name, rule_text(&rule.rule)))
            .help("remove the grant, or list its resources under `ownNode`"),
        );
    }
}

/// Reports subjects that can act as the agent of another node.
fn check_defeat(world: &World, placed: &PlacedAgent, sink: &mut Sink) {
    let agent = &placed.agent;
    let (namespace, name) = &agent.account;
    let in_group = |group: &str, verb: &str, resource: &str, subresource: &str, name: &str| {
        Request::Resource(ResourceRequest {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: namespace.clone(),
            name: name.to_owned(),
            ..ResourceRequest::default()
        })
    };
    let request =
        |verb: &str, resource: &str, subresource: &str, name: &str| in_group("", verb, resource, subresource, name);
    let ways = [
        (request("create", "serviceaccounts", "token", name), "can create tokens of the agent's account for any pod"),
        (request("create", "pods", "", ""), "can create pods with the agent's account on any node"),
        (
            request("impersonate", "serviceaccounts", "", name),
            "can impersonate the agent's account, with `userextras` on any node",
        ),
        (
            in_group("apps", "create", "deployments", "", ""),
            "can create workloads with the agent's account on any node",
        ),
        (in_group("apps", "create", "daemonsets", "", ""), "can create workloads with the agent's account on any node"),
        (request("create", "pods", "exec", ""), "can run commands in the agent's pods"),
        (request("patch", "pods", "ephemeralcontainers", ""), "can add containers to the agent's pods"),
    ];
    for (request, what) in ways {
        let found = world.who_can(&request, Where::AsRequested);
        let mut told: Vec<(String, Option<bailiwick_yaml::diag::Origin>)> = Vec::new();
        for capable in found.capable(world) {
            let Some(link) = capable.binding.and_then(|binding| world.binding_link_of(binding)) else { continue };
            // Bindings of the server itself have no place, and are not reported.
            let Some(place) = link.place else { continue };
            if told.iter().all(|(subject, _)| *subject != capable.subject) {
                told.push((capable.subject, Some(place)));
            }
        }
        let Some((first, place)) = told.first().cloned() else { continue };
        let more = match told.len() - 1 {
            0 => String::new(),
            more => format!("; so can {more} more"),
        };
        sink.push(
            Diagnostic::warning(
                codes::AGENT_CAN_BE_IMPERSONATED,
                format!("{first} can act as the agent `{}` of another node: it {what}{more}", agent.name),
            )
            .at_maybe(place)
            .and(placed.origin, "the agent")
            .help("give the agent a namespace of its own, without such permissions for other subjects"),
        );
    }
}

/// Reports workloads with Secrets that select a pool by labels that any kubelet can set on its own node.
pub(super) fn check_selectors<'p>(loaded: &LoadedWorld, pools: impl Iterator<Item = &'p NodePool>, sink: &mut Sink) {
    let Some(cluster) = loaded.cluster() else { return };
    for pool in pools {
        let place = NodeSlot { name: None, node: &pool.like, taken: None };
        for workload in cluster.workloads.values().filter(|workload| !workload.references.secrets.is_empty()) {
            let required = workload.constraints.required_labels();
            let is_kept = required.iter().any(|key| pool.like.labels.contains_key(*key));
            let is_steerable = required.iter().all(|key| is_settable_by_kubelet(key));
            let comes = matches!(workload.constraints.admit(place), Ok(Fit::Sure | Fit::Possible));
            if is_kept && is_steerable && comes {
                let labels: Vec<String> = required.iter().map(|key| format!("`{key}`")).collect();
                let message = format!(
                    "{workload} selects the pool `{}` by {}, which any kubelet can set on its own node",
                    pool.name,
                    labels.join(", ")
                );
                sink.push(
                    Diagnostic::warning(codes::STEERABLE_SELECTOR, message)
                        .at(pool.origin)
                        .help("use a label below `node-restriction.kubernetes.io/`")
                        .foldable(),
                );
            }
        }
    }
}

/// Reports what is wrong with files in folders of static pods.
pub(super) fn check_static_pods(
    run: &Options,
    paths: &[PathBuf],
    version: &ServerVersion,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<(), RunError> {
    for path in paths {
        let path = run.input_at(path);
        each_tree(&path, run, files, sink, &mut |tree, sink| {
            for manifest in tree.documents().flat_map(list::objects) {
                for problem in static_pod_problems(manifest, version) {
                    let name = manifest.path(&["metadata", "name"]).and_then(|name| name.as_str()).unwrap_or("?");
                    let is_reference = !problem.contains(' ');
                    let (code, message) = if is_reference {
                        (codes::STATIC_POD_REFERS_TO_OBJECTS, format!("the static pod `{name}` refers to {problem}"))
                    } else {
                        (codes::STATIC_POD_INVALID, format!("`{name}` is not a valid static pod: {problem}"))
                    };
                    let help = if is_reference {
                        "provide the data as files on the node, or run the pod with a DaemonSet"
                    } else {
                        "write a Pod without the annotations of the kubelet"
                    };
                    sink.push(Diagnostic::warning(code, message).at(manifest.beginning()).help(help));
                }
            }
        })?;
    }
    Ok(())
}
