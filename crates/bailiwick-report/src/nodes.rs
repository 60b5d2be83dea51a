//! The reach of nodes, as text and as JSON.

use bailiwick_analysis::{NodeReach, NodeSummary, ReachedObject, SecretPath};
use bailiwick_node::graph::ObjectKind;
use bailiwick_node::reach::Certainty;
use schemars::JsonSchema;
use serde::Serialize;

use super::human::number;
use super::page::Page;
use super::result::CommandResult;

/// How many objects of a kind are printed.
const MAXIMUM_OBJECTS: usize = 40;

/// How many permissions of an account are printed.
const MAXIMUM_RIGHTS: usize = 4;

/// How many resources of a permission are printed.
const MAXIMUM_RESOURCES: usize = 3;

/// The JSON of `node-reach`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NodeReachResult {
    /// The objects.
    #[serde(flatten)]
    pub reach: NodeReachForm,
    /// The target; absent for manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// The objects within reach of one node, or a summary of all nodes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum NodeReachForm {
    /// Every node and pool.
    List {
        /// The nodes and pools.
        nodes: Vec<NodeSummary>,
    },
    /// A node or a pool.
    One(Box<NodeReach>),
}

impl CommandResult for NodeReachResult {
    const NAME: &'static str = "node-reach";
}

impl NodeReachForm {
    /// Returns the objects as text, for a question about the Secrets of these namespaces.
    pub fn text(&self, secrets_of: &[String]) -> String {
        match self {
            Self::List { nodes } => table(nodes),
            Self::One(reach) => one(reach, secrets_of),
        }
    }

    /// Whether the Secrets of a requested namespace are within reach.
    pub fn has_breach(&self) -> bool {
        match self {
            Self::List { .. } => false,
            Self::One(reach) => !reach.breaches.is_empty(),
        }
    }
}

fn table(nodes: &[NodeSummary]) -> String {
    let width = nodes.iter().map(|node| node.name.len()).max().unwrap_or_default();
    let mut text = Page::new();
    for node in nodes {
        let plus = |perhaps: usize| if perhaps > 0 { format!(" (+{perhaps})") } else { String::new() };
        let counts = format!(
            "{} secrets{}, {} accounts{}",
            node.secrets,
            plus(node.secrets_perhaps),
            node.accounts,
            plus(node.accounts_perhaps)
        );
        match &node.worst {
            Some(worst) => writeln!(text, "{:width$}  {counts}; {worst}", node.name),
            None => writeln!(text, "{:width$}  {counts}", node.name),
        };
    }
    text.push_str("in brackets: objects of pods that can be scheduled there\n");
    text.finish()
}

fn one(reach: &NodeReach, secrets_of: &[String]) -> String {
    let mut text = Page::new();
    match &reach.pool {
        Some(pool) => writeln!(text, "pool {} ({} known)", reach.name, number(pool.nodes.len(), "node")),
        None => writeln!(text, "node {}", reach.name),
    }
    for namespace in secrets_of {
        match reach.breaches.iter().find(|path| path.namespace == *namespace) {
            Some(path) => path_lines(path, &mut text),
            None => writeln!(text, "no path to the Secrets of `{namespace}`"),
        }
    }
    accounts(reach, &mut text);
    text.push_str("objects that its kubelet may read\n");
    objects(&reach.objects, &mut text);
    if !reach.by_labels.is_empty() {
        text.push_str("objects that its kubelet may read after it sets labels of its node\n");
        objects(&reach.by_labels, &mut text);
    }
    text.push_str("this holds as long as\n");
    for assumption in reach.assumptions {
        writeln!(text, "  {assumption}");
    }
    if !reach.open_claims.is_empty() {
        let claims = reach.open_claims.iter().take(8).map(|(namespace, name)| format!("{namespace}/{name}"));
        writeln!(text, "  no volume with Secrets is bound to {}", claims.collect::<Vec<_>>().join(", "));
    }
    text.finish()
}

fn accounts(reach: &NodeReach, text: &mut Page) {
    if !reach.kubelet.is_empty() {
        writeln!(text, "the kubelet itself, by RBAC: {}", reach.kubelet.join(", "));
    }
    for account in reach.accounts.iter().filter(|account| !account.powers.is_empty()) {
        writeln!(text, "{} ({}, {})", account.finding, account.certainty.word(), account.via);
    }
    text.push_str("accounts whose tokens it can create\n");
    for account in reach.accounts.iter().take(MAXIMUM_OBJECTS) {
        let rights = &account.effective;
        let shown: Vec<String> = rights.iter().take(MAXIMUM_RIGHTS).map(|right| shortened(right)).collect();
        let rights = match (shown.is_empty(), rights.len() - shown.len()) {
            (true, _) => "nothing of its own".to_owned(),
            (false, 0) => shown.join("; "),
            (false, more) => format!("{}; and {more} more", shown.join("; ")),
        };
        let name = format!("{}/{}", account.namespace, account.name);
        writeln!(text, "  {:5} {name}  {}: {rights}", account.certainty.word(), account.via);
    }
    rest(reach.accounts.len(), "account", text);
}

/// Returns a permission with the first of its resources alone.
fn shortened(right: &str) -> String {
    let (resources, rest) = right.split_once(' ').unwrap_or((right, ""));
    let all: Vec<&str> = resources.split(',').collect();
    match all.get(..MAXIMUM_RESOURCES).filter(|first| first.len() < all.len()) {
        Some(first) => format!("{},... {rest}", first.join(",")),
        None => right.to_owned(),
    }
}

fn objects(reached: &[ReachedObject], text: &mut Page) {
    let mut reached: Vec<&ReachedObject> =
        reached.iter().filter(|reached| reached.kind != ObjectKind::ServiceAccount).collect();
    // Secrets are the most important objects.
    reached.sort_by_key(|reached| (reached.kind != ObjectKind::Secret, reached.certainty, reached.object()));
    for object in reached.iter().take(MAXIMUM_OBJECTS) {
        writeln!(text, "  {:5} {}  {}", object.certainty.word(), object.object(), object.via);
    }
    rest(reached.len(), "object", text);
}

fn rest(count: usize, what: &str, text: &mut Page) {
    let more = count.saturating_sub(MAXIMUM_OBJECTS);
    if more > 0 {
        writeln!(text, "  ... and {}; --format json prints all", number(more, &format!("more {what}")));
    }
}

fn path_lines(path: &SecretPath, text: &mut Page) {
    let word = if path.certainty == Certainty::Yes { "a way" } else { "perhaps a way" };
    writeln!(text, "{word} to the Secrets of `{}`", path.namespace);
    for step in &path.steps {
        writeln!(text, "  {step}");
    }
}
