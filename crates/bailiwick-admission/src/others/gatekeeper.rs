//! Gatekeeper's constraints with their templates.
//!
//! A constraint has a kind of the library's pod security policies (`K8sPSP..`), and its template in the dump has the text of
//! the rule. The text decides: a template whose digest is not in the table is compared by its name alone, and the report
//! shows that. From `pkg/mutation/match` and the constraint framework of Gatekeeper 3.23.

use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_yaml::NodeRef;

use super::conditions::hex;
use super::gatekeeper_parameters as parameters;
use super::scope::is_like;
use super::{Demand, OtherController, OtherRule, RuleAction, RuleContent, RuleScope, UnreadRule};

/// The longest text of a template that is compared, in bytes.
const LONGEST: usize = 200_000;

/// The most items of a list that are read.
const MOST_ITEMS: usize = 1_000;

/// The templates with a known text, by kind and the digest of their Rego, as in the Gatekeeper module up to 3.23.
const TEMPLATES: [(&str, &str); 5] = [
    ("K8sPSPHostFilesystem", "51d3d2be93a760d223b65766e7a73fcc64fda1f24e5d8047ef68b24815fda726"),
    ("K8sPSPHostNamespace", "e14f12d1769c9d49d548be7001b1224c464cc9a06f05f448a1e8d37b8090f24e"),
    ("K8sPSPHostNetworkingPorts", "f8b9a37af8f5f3a11c8d2d26040c9abc1c8ce969a19fd81a10e4adf948e72022"),
    ("K8sPSPPrivilegedContainer", "e7f07365d81545c0f72085d81fed74d365f4206c577774e6fc10f98e4a3cc7e5"),
    ("K8sPSPVolumeTypes", "883d7a5f1f2cd521637963ca3c9263cb8664c33dce14c24a3ea2b53255ff3080"),
];

/// The text of a template.
#[derive(Debug)]
pub(super) struct Template {
    digest: String,
}

/// A constraint before its template is known.
#[derive(Debug)]
pub(super) struct Constraint {
    /// The kind of the constraint and of its template.
    pub(super) kind: String,
    name: String,
    action: RuleAction,
    scope: RuleScope,
    /// The demands of the library's template of the kind; none for another kind.
    demands: Option<Result<Vec<Demand>, UnreadRule>>,
}

/// Reads a template: the kind of its constraints, and its text.
pub(super) fn template(object: NodeRef<'_>) -> (String, Template) {
    let names = object.path(&["spec", "crd", "spec", "names"]);
    let kind = names.map_or("", |names| names.text_at("kind"));
    let targets = object.path(&["spec", "targets"]).into_iter().flat_map(NodeRef::items);
    let mut text = String::new();
    for target in targets.take(MOST_ITEMS) {
        add_lines(target.text_at("rego"), &mut text);
        target.get("libs").into_iter().flat_map(NodeRef::items).for_each(|library| {
            text.push_str("library\n");
            library.as_str().into_iter().for_each(|library| add_lines(library, &mut text));
        });
        // A second engine has precedence over the text.
        if target.get("code").is_some() {
            text.push_str("code\n");
        }
        text.push_str("target\n");
    }
    (kind.to_owned(), Template { digest: hex(text.as_bytes()) })
}

/// Adds the lines of a text without the whitespace around them.
fn add_lines(lines: &str, text: &mut String) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if text.len() > LONGEST {
            text.push_str("cut");
            return;
        }
        text.push_str(line);
        text.push('\n');
    }
}

/// Reads a constraint.
pub(super) fn constraint(object: NodeRef<'_>) -> Constraint {
    let kind = object.text_at("kind");
    let spec = |key: &str| object.path(&["spec", key]);
    Constraint {
        kind: kind.to_owned(),
        name: object.get("metadata").map_or("", |metadata| metadata.text_at("name")).to_owned(),
        action: action(spec("enforcementAction")),
        scope: spec("match").map_or_else(RuleScope::everything, matched),
        demands: parameters::read(kind, spec("parameters")),
    }
}

impl Constraint {
    /// Returns the rule of the constraint with its template and the namespaces that the configuration exempts.
    pub(super) fn with(self, template: Option<&Template>, exempted: &[RuleScope]) -> OtherRule {
        let digest = template.map(|template| template.digest.as_str());
        let is_known = TEMPLATES.iter().any(|(kind, known)| *kind == self.kind && digest == Some(*known));
        let content = match self.demands {
            None => RuleContent::NotCompared("no kind of the library's pod security policies".to_owned()),
            Some(Err(UnreadRule(reason))) => RuleContent::NotCompared(reason),
            Some(Ok(demands)) if is_known => RuleContent::Stated(demands),
            Some(Ok(would_state)) => {
                let reason = if digest.is_some() { "its template has another text" } else { "its template is missing" };
                RuleContent::NameOnly { reason, would_state }
            }
        };
        let exempted = RuleScope::Not(Box::new(RuleScope::Any(exempted.to_vec())));
        OtherRule {
            controller: OtherController::Gatekeeper,
            kind: self.kind,
            namespace: String::new(),
            name: self.name,
            rule: None,
            content,
            action: self.action,
            scope: RuleScope::All(vec![self.scope, exempted]),
        }
    }
}

fn action(written: Option<NodeRef<'_>>) -> RuleAction {
    match written.map(NodeRef::as_str) {
        // The default of the constraint framework.
        None | Some(Some("deny" | "")) => RuleAction::Refuses,
        Some(Some("dryrun" | "warn")) => RuleAction::Reports,
        Some(Some("scoped")) => RuleAction::Undecided("the action depends on the enforcement point".to_owned()),
        Some(_) => RuleAction::Undecided("the action has an unknown value".to_owned()),
    }
}

/// Reads `match`. Conditions besides kinds and namespaces select only some pods.
fn matched(block: NodeRef<'_>) -> RuleScope {
    let mut scopes = Vec::new();
    for (key, value) in block.entries().take(MOST_ITEMS) {
        match key.as_key() {
            _ if value.is_empty() && key.as_key() != "namespaces" && !is_text(value) => {}
            "kinds" => scopes.push(kinds(value)),
            "namespaces" => scopes.push(names(value)),
            "excludedNamespaces" => scopes.push(RuleScope::Not(Box::new(names(value)))),
            "namespaceSelector" => scopes.push(RuleScope::Labels(LabelSelector::from_node(value))),
            "scope" if value.as_str() == Some("Cluster") => scopes.push(RuleScope::nothing()),
            "scope" if matches!(value.as_str(), Some("Namespaced" | "*" | "")) => {}
            "source" if matches!(value.as_str(), Some("All" | "Original" | "")) => {}
            _ => scopes.push(RuleScope::Some("only some pods, by their names, labels or source".to_owned())),
        }
    }
    RuleScope::All(scopes)
}

fn is_text(value: NodeRef<'_>) -> bool {
    value.as_str().is_some()
}

fn kinds(list: NodeRef<'_>) -> RuleScope {
    let has = |entry: NodeRef<'_>, key: &str, wanted: &str| {
        let items = entry.get(key).into_iter().flat_map(NodeRef::items).take(MOST_ITEMS);
        items.filter_map(NodeRef::as_str).any(|item| item == wanted || item == "*")
    };
    let selects_pods = |entry| has(entry, "apiGroups", "") && has(entry, "kinds", "Pod");
    if list.items().take(MOST_ITEMS).any(selects_pods) { RuleScope::everything() } else { RuleScope::nothing() }
}

/// Reads names of namespaces. Gatekeeper has the wildcard `*` at the beginning and at the end of a name.
fn names(list: NodeRef<'_>) -> RuleScope {
    if list.len() > MOST_ITEMS {
        return RuleScope::Some(format!("more than {MOST_ITEMS} namespaces"));
    }
    RuleScope::Names(list.items().filter_map(NodeRef::as_str).map(str::to_owned).collect())
}

/// Reads the namespaces exempted by the configuration of Gatekeeper from the webhook.
pub(super) fn exempted(config: NodeRef<'_>) -> Option<RuleScope> {
    let entries = config.path(&["spec", "match"])?.items().take(MOST_ITEMS);
    let for_webhook = entries.filter(|entry| {
        let processes = entry.get("processes").into_iter().flat_map(NodeRef::items).take(MOST_ITEMS);
        processes.filter_map(NodeRef::as_str).any(|process| is_like(process, "webhook"))
    });
    let scopes: Vec<RuleScope> = for_webhook.filter_map(|entry| entry.get("excludedNamespaces")).map(names).collect();
    (!scopes.is_empty()).then_some(RuleScope::Any(scopes))
}
