//! Checks for impossible and for unexpectedly broad NodeAccess policies.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_kubernetes::names::{Reasons, dns_label, dns_subdomain, label_key, label_value};
use bailiwick_node::agent::{AgentScopeError, FIRST_MINOR, NODES, refusal_of_read};
use bailiwick_node::system_node::SystemNodeBinding;
use bailiwick_node::version::ServerVersion;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};

use super::objects::{binding_of, own_node, read_rule};
use super::{Agent, NodeAccessSpec};
use crate::model::{Isolation, NodePool, PlacedAgent, PolicyFacts, PolicyMeta, Target};

/// The authorizers of an API server.
const AUTHORIZERS: [&str; 6] = ["ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];

/// Checks the pools and the assertions about them.
pub(super) fn pools(spec: &NodeAccessSpec, known: &PolicyFacts, meta: &PolicyMeta, sink: &mut Sink) {
    let mut own: BTreeMap<&str, Origin> = BTreeMap::new();
    for pool in &spec.pools {
        check_name("a pool", &pool.name, pool.name.origin, dns_subdomain, sink);
        let elsewhere = known.all().find(|other: &&NodePool| {
            other.name == pool.name.value && other.targets.iter().any(|target| meta.targets.contains(target))
        });
        let before = own.insert(&pool.name, pool.name.origin).or(elsewhere.map(|other| other.origin));
        if let Some(before) = before {
            sink.push(twice("pool", &pool.name, pool.name.origin, before));
        }
        for (key, value) in &pool.labels {
            let reasons = label_key(key).and_then(|()| label_value(value));
            if let Err(reasons) = reasons {
                sink.push(invalid(format!("`{key}: {value}` is not a valid label"), pool.origin, &reasons));
            }
        }
    }
    for isolation in &spec.isolation {
        if isolation.namespaces.is_empty() {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "an isolation without namespaces is always fulfilled")
                    .at(isolation.origin)
                    .help("list the namespaces with the isolated Secrets"),
            );
        }
        for namespace in &isolation.namespaces {
            check_name("a namespace", namespace, namespace.origin, dns_label, sink);
        }
    }
}

/// Checks the agents.
pub(super) fn agents(
    spec: &NodeAccessSpec,
    known: &PolicyFacts,
    meta: &PolicyMeta,
    targets: &[Target],
    sink: &mut Sink,
) {
    let mut own: BTreeMap<&str, Origin> = BTreeMap::new();
    for agent in &spec.agents {
        let elsewhere = known.all().find(|other: &&PlacedAgent| {
            other.agent.name == agent.name.value && other.targets.iter().any(|target| meta.targets.contains(target))
        });
        let before = own.insert(&agent.name, agent.name.origin).or(elsewhere.map(|other| other.origin));
        if let Some(before) = before {
            sink.push(twice("agent", &agent.name, agent.name.origin, before));
        }
        check_agent(agent, sink);
        let old: Vec<&Target> = targets.iter().filter(|target| target.version.minor() < FIRST_MINOR).collect();
        if let Some(first) = old.first() {
            let names: Vec<String> = old.iter().map(|target| format!("`{}`", target.name)).collect();
            sink.push(
                Diagnostic::error(
                    AgentScopeError::NeedsNewerKubernetes.code(),
                    format!(
                        "`{}` cannot be limited to its node on {}: tokens contain the node since Kubernetes 1.{FIRST_MINOR}, and the target has 1.{}",
                        agent.name.value,
                        names.join(", "),
                        first.version.minor()
                    ),
                )
                .at(agent.name.origin)
                .help("exclude such targets with `targets`"),
            );
        }
    }
}

fn check_agent(agent: &Agent, sink: &mut Sink) {
    // These names are part of CEL expressions, too.
    check_name("an agent", &agent.name, agent.name.origin, dns_subdomain, sink);
    let account = &agent.service_account;
    check_name("a service account", &account.name, account.name.origin, dns_subdomain, sink);
    check_name("a namespace", &account.namespace, account.namespace.origin, dns_label, sink);
    if agent.own_node.is_empty() {
        sink.push(
            Diagnostic::error(
                codes::INVALID_VALUE,
                format!("`{}` has no write permission for its node", agent.name.value),
            )
            .at(agent.name.origin)
            .help(
                "add rules under `ownNode`; for an agent with read permissions only, use a PermissionSet and a Grant",
            ),
        );
    }
    for reads in &agent.reads {
        if let Some(refusal) = refusal_of_read(&read_rule(reads)) {
            sink.push(refused(&refusal, reads.origin));
        }
        check_lists(&reads.resources, &reads.verbs, reads.origin, sink);
    }
    for own in &agent.own_node {
        let compiled = own_node(own);
        if let Some(refusal) = compiled.refusal() {
            sink.push(refused(&refusal, own.origin));
        }
        check_lists(&own.resources, &own.verbs, own.origin, sink);
        if let Some(prefix) = &own.labels {
            let is_for_nodes =
                compiled.group.is_empty() && own.resources.iter().all(|own| NODES.contains(&own.as_str()));
            check_prefix(prefix, is_for_nodes, own.origin, sink);
        }
        if compiled.relabels_nodes() {
            let message = format!("`{}` can change every label and taint of its node", agent.name.value);
            sink.push(
                Diagnostic::warning(codes::AGENT_RELABELS_NODE, message)
                    .at(own.origin)
                    .help("set `labels: agent.example.com/` and only the verbs `patch` and `update`, so that only labels with this prefix can change"),
            );
        }
    }
}

fn check_lists(resources: &[String], verbs: &[String], origin: Origin, sink: &mut Sink) {
    for (list, what) in [(resources, "resources"), (verbs, "verbs")] {
        if list.is_empty() {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("a rule without {what} grants nothing"))
                    .at(origin)
                    .help(format!("list the {what}")),
            );
        }
    }
}

/// Checks a prefix of label keys: it is part of an expression, between quotes.
fn check_prefix(prefix: &str, is_for_nodes: bool, origin: Origin, sink: &mut Sink) {
    let whole = format!("{prefix}x");
    if let Err(reasons) = label_key(&whole) {
        sink.push(invalid(format!("no label key begins with `{prefix}`"), origin, &reasons));
    }
    if !is_for_nodes {
        sink.push(
            Diagnostic::error(
                codes::INVALID_VALUE,
                "`labels` limits the labels of Nodes, but this rule has other resources",
            )
            .at(origin)
            .help("write a separate rule for `resources: [nodes]` of the group \"\""),
        );
    }
}

fn refused(refusal: &AgentScopeError, origin: Origin) -> Diagnostic {
    let (message, help) = match refusal {
        AgentScopeError::NeedsNewerKubernetes => ("this needs a newer Kubernetes".to_owned(), "exclude the target"),
        AgentScopeError::Read(verb) => (
            format!("`{verb}` cannot be limited to the own node: admission does not see read requests"),
            "move the read permissions to `reads`; they apply to every node",
        ),
        AgentScopeError::Wildcard(text) => (
            format!("`{text}` grants more than an admission policy can list"),
            "list the groups, resources and subresources",
        ),
        AgentScopeError::NotExpressible(text) => (
            format!("`{text}` cannot be limited to the own node: its requests do not contain the node"),
            "leave the task to the kubelet, or grant it for all nodes with a PermissionSet and a Grant",
        ),
        AgentScopeError::WriteAmongReads(verb) => {
            (format!("`{verb}` is not a read verb"), "move the write permissions for its node to `ownNode`")
        }
        AgentScopeError::NotAField(field) => {
            (format!("`{field}` is not a field path"), "write a path such as `metadata.name` or `spec.nodeName`")
        }
    };
    Diagnostic::error(refusal.code(), message).at(origin).help(help)
}

/// Returns the version of each target with its feature gates, for targets with the role of nodes.
pub(super) fn versions(spec: &NodeAccessSpec, targets: &[Target], sink: &mut Sink) -> BTreeMap<String, ServerVersion> {
    let mut versions = BTreeMap::new();
    let Some(system_node) = &spec.system_node else { return versions };
    for mode in &system_node.authorization_mode {
        if !AUTHORIZERS.contains(&mode.as_str()) {
            let help = nearest(mode, AUTHORIZERS.iter().copied()).map_or_else(
                || format!("there are: {}", AUTHORIZERS.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            let told =
                Diagnostic::error(codes::UNKNOWN_VALUE, format!("there is no authorization mode `{}`", mode.value));
            sink.push(told.at(mode.origin).help(help));
        } else if mode.as_str() == "AlwaysAllow" {
            let told = Diagnostic::error(codes::INVALID_VALUE, "an API server with `AlwaysAllow` rejects no request");
            sink.push(told.at(mode.origin).help("remove the mode from `--authorization-mode`"));
        }
    }
    for target in targets {
        let gates = system_node.feature_gates.iter();
        let version = ServerVersion::new(target.version.minor());
        let version = gates.fold(version, |version, (name, is_on)| version?.with_gate(name, *is_on));
        match version {
            Ok(version) => {
                let depend = binding_of(system_node, &version) != SystemNodeBinding::Bound;
                let depending = system_node.kubelets.iter().filter(|kubelet| depend && kubelet.depends_on_group());
                for kubelet in depending {
                    let message = format!("`{}` depends on the group in the binding of `system:node`", kubelet.user);
                    sink.push(
                        Diagnostic::error(codes::NODES_GROUP_IN_USE, message)
                            .at(kubelet.origin)
                            .help("reissue its certificate as `system:node:NAME`, or set `binding: kept` until then"),
                    );
                }
                versions.insert(target.name.clone(), version);
            }
            Err(why) => sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("{why}, which `{}` has", target.name))
                    .at(system_node.origin)
                    .help("use feature gates of that version, or narrow `targets`"),
            ),
        }
    }
    versions
}

fn check_name(what: &str, name: &str, origin: Origin, valid: fn(&str) -> Result<(), Reasons>, sink: &mut Sink) {
    if let Err(reasons) = valid(name) {
        sink.push(invalid(format!("`{name}` is not a valid name of {what}"), origin, &reasons));
    }
}

fn invalid(message: String, origin: Origin, reasons: &Reasons) -> Diagnostic {
    let told =
        Diagnostic::error(codes::INVALID_VALUE, message).at(origin).help("use a name that the API server accepts");
    reasons.iter().fold(told, |told, reason| told.note(reason.to_string()))
}

fn twice(what: &str, name: &str, origin: Origin, before: Origin) -> Diagnostic {
    Diagnostic::error(codes::DUPLICATE_POLICY, format!("there are two {what}s `{name}`"))
        .at(origin)
        .and(before, "the other one")
        .help("use a different name for each")
}

/// Reports isolations of undeclared pools, after all policies are linked.
pub(super) fn unknown_pools(facts: &PolicyFacts, sink: &mut Sink) {
    for isolation in facts.all::<Isolation>() {
        let missing: Vec<&String> = isolation
            .targets
            .iter()
            .filter(|target| facts.on(target).all(|pool: &NodePool| pool.name != isolation.pool))
            .collect();
        let Some(first) = missing.first() else { continue };
        let names = facts.all().map(|pool: &NodePool| pool.name.as_str());
        let near = nearest(&isolation.pool, names.filter(|name| *name != isolation.pool));
        let help = near.map_or_else(
            || "declare it under `pools` of a NodeAccess policy for that target".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        sink.push(
            Diagnostic::error(codes::UNKNOWN_REFERENCE, format!("there is no pool `{}` on `{first}`", isolation.pool))
                .at(isolation.origin)
                .help(help),
        );
    }
}
