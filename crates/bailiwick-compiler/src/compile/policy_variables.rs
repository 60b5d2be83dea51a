//! The variables that every text of a policy may use: `{policy.kind}` and `{policy.name}`.

use bailiwick_policy::model::{POLICY_VARIABLES, Pattern, Patterns, PolicyMeta};
use bailiwick_yaml::{NodeId, NodeRef, Tree};

use super::link::Document;

/// The field of a Tenancy with the declared variables.
const VARIABLES: &str = "variables";

/// The names of [`POLICY_VARIABLES`] that a Tenancy declares as variables of its accounts.
#[derive(Default)]
pub(super) struct DeclaredNames(Vec<&'static str>);

impl DeclaredNames {
    /// Returns the names that any of the policies declares.
    pub(super) fn of_all(documents: &[Document]) -> Self {
        let specs = documents.iter().filter_map(|document| document.tree.document(document.index)?.get("spec"));
        Self::of(&specs.collect::<Vec<_>>())
    }

    fn of(specs: &[NodeRef<'_>]) -> Self {
        let is_declared = |name: &&'static str| specs.iter().any(|spec| spec.path(&[VARIABLES, name]).is_some());
        Self(POLICY_VARIABLES.into_iter().filter(is_declared).collect())
    }
}

/// Returns the tree of a policy with the kind and the name of the policy in its texts. None for texts without these
/// variables. A declared variable of the same name wins: a variable of the policy itself, and for a policy with variables
/// of its users a variable of any policy in `anywhere`.
pub(super) fn filled(
    document: &Document,
    spec: NodeRef<'_>,
    meta: &PolicyMeta,
    anywhere: &DeclaredNames,
) -> Option<Tree> {
    let own = DeclaredNames::of(&[spec]);
    let declared = match document.kind.patterns {
        Patterns::Own => return None,
        Patterns::Open => anywhere,
        Patterns::Targets | Patterns::Namespaces | Patterns::Scoped => &own,
    };
    let values = [meta.kind, &*meta.name];
    let values = POLICY_VARIABLES.into_iter().zip(values).filter(|(name, _)| !declared.0.contains(name));
    let values: Vec<(&str, &str)> = values.collect();
    let mut found = Vec::new();
    for (key, value) in spec.entries().filter(|(key, _)| key.as_str() != Some(VARIABLES)) {
        collect(key, &values, &mut found);
        collect(value, &values, &mut found);
    }
    if found.is_empty() {
        return None;
    }
    let mut tree = Tree::clone(&document.tree);
    found.iter().for_each(|(id, text)| tree.set_string(*id, text));
    Some(tree)
}

/// Collects the texts with one of the values, filled in.
fn collect(node: NodeRef<'_>, values: &[(&str, &str)], found: &mut Vec<(NodeId, String)>) {
    node.items().for_each(|item| collect(item, values, found));
    for (key, value) in node.entries() {
        collect(key, values, found);
        collect(value, values, found);
    }
    // An invalid pattern has a diagnostic of its own.
    if let Some(text) = node.as_str().filter(|text| text.contains("{policy."))
        && let Ok(pattern) = Pattern::parse(text)
        && pattern.variables().any(|used| values.iter().any(|(name, _)| *name == used))
    {
        found.push((node.id(), pattern.with_values(values)));
    }
}
