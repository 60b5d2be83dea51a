//! The texts of a grant with values of the namespaces of its bindings: `oidc:{namespace.labels.team}`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::namespaces::GrantNamespaces;
use crate::kinds::findings::Findings;
use crate::model::{
    Account, AccountTargets, AccountValue, Accounts, KnownNamespace, NAMESPACE_MAPS, NAMESPACE_NAME, Namespaces,
    Pattern, Target,
};

/// The variables of namespaces in the texts of a grant, each with its first use.
#[derive(Debug, Clone, Default)]
pub(super) struct NamespaceUses(BTreeMap<Arc<str>, NamespaceUse>);

/// The use of a variable.
#[derive(Debug, Clone, Copy)]
struct NamespaceUse {
    /// The location of a text with the variable: one that needs a value, if there is one.
    origin: Origin,
    /// Whether a text without `?` has the variable.
    is_required: bool,
}

impl NamespaceUses {
    /// Adds the variables of the texts below a node.
    pub(super) fn add(&mut self, node: NodeRef<'_>) {
        node.items().for_each(|item| self.add(item));
        for (key, value) in node.entries() {
            self.add(key);
            self.add(value);
        }
        let Some(text) = node.as_str().filter(|text| text.contains('{')) else { return };
        let pattern = Pattern::parse_checked(text);
        let required: BTreeSet<&str> = pattern.unconditional_variables().collect();
        for variable in pattern.variables().filter(|name| is_of_namespace(name)) {
            let own = NamespaceUse { origin: node.origin(), is_required: required.contains(variable) };
            let known = self.0.entry(variable.into()).or_insert(own);
            if own.is_required && !known.is_required {
                *known = own;
            }
        }
    }

    /// Whether no text has a variable of the namespace.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text has an annotation of the namespace.
    pub(super) fn has_annotations(&self) -> bool {
        let [_, annotations] = NAMESPACE_MAPS;
        self.0.keys().any(|name| name.starts_with(annotations))
    }

    /// Returns the location of the first text with a variable of the namespace.
    pub(super) fn first_origin(&self) -> Option<Origin> {
        self.0.values().map(|of| of.origin).min()
    }
}

/// Whether a variable is of the namespace of a binding.
pub(super) fn is_of_namespace(name: &str) -> bool {
    name == NAMESPACE_NAME || NAMESPACE_MAPS.iter().any(|map| name.starts_with(map))
}

/// The values of the variables in each namespace of a grant: a row for each target and namespace.
#[derive(Debug, Clone)]
pub(super) struct NamespaceValues {
    pub(super) rows: Arc<Accounts>,
    positions: BTreeMap<String, BTreeMap<Arc<str>, usize>>,
}

impl Default for NamespaceValues {
    fn default() -> Self {
        Self { rows: Accounts::none(), positions: BTreeMap::new() }
    }
}

impl NamespaceValues {
    /// Returns the row of a namespace.
    pub(super) fn of(&self, target: &Target, namespace: &Arc<str>) -> Option<Account<'_>> {
        self.rows.get(*self.positions.get(&target.name)?.get(namespace)?)
    }
}

/// The namespaces of a grant, while their values are read.
pub(super) struct ValueReader<'r> {
    /// The variables to read.
    pub(super) uses: &'r NamespaceUses,
    /// The namespaces of the policies.
    pub(super) known: &'r Namespaces,
    /// Whether an account, and with it a namespace, could not be read.
    pub(super) lacks_namespaces: bool,
}

impl ValueReader<'_> {
    /// Reads the values of the namespaces of each target. Reports missing ones.
    pub(super) fn read(&self, namespaces: &GrantNamespaces, targets: &[Target], sink: &mut Sink) -> NamespaceValues {
        let columns: Vec<Arc<str>> = self.uses.0.keys().map(Arc::clone).collect();
        let mut rows = Accounts::new(columns.into());
        let mut on = AccountTargets::default();
        let mut positions: BTreeMap<String, BTreeMap<Arc<str>, usize>> = BTreeMap::new();
        let mut findings = Findings::new(targets.len());
        for target in targets {
            let mut lacking = LackingValues::default();
            for name in namespaces.on(&target.name) {
                let found = self.known.named(&target.name, name);
                let values: Vec<Option<Arc<str>>> = self
                    .uses
                    .0
                    .iter()
                    .map(|(variable, used)| self.value(variable, *used, name, found, &mut lacking))
                    .collect();
                positions.entry(target.name.clone()).or_default().insert(Arc::clone(name), rows.len());
                on.sets_of_rows.push(on.sets.len());
                let cells = values
                    .iter()
                    .map(|value| value.as_ref().map_or(AccountValue::Null, |text| AccountValue::Text(text)));
                rows.push(cells, found.first().map_or(Origin::default(), |of| of.origin));
            }
            on.sets.push(BTreeSet::from([target.name.clone()]));
            lacking.diagnostics(self.uses).for_each(|diagnostic| findings.add(target, diagnostic));
        }
        findings.tell(sink);
        NamespaceValues { rows: Arc::new(rows.on_targets(on)), positions }
    }

    /// Returns the value of a variable in a namespace of some policies. Records a missing value.
    fn value(
        &self,
        variable: &Arc<str>,
        used: NamespaceUse,
        namespace: &Arc<str>,
        policies: &[KnownNamespace],
        lacking: &mut LackingValues,
    ) -> Option<Arc<str>> {
        let [labels, annotations] = NAMESPACE_MAPS;
        let value = |of: &KnownNamespace| {
            let value = match (variable.strip_prefix(labels), variable.strip_prefix(annotations)) {
                (Some(key), _) => of.labels.get(key),
                (_, Some(key)) => of.annotations.get(key),
                _ => None,
            };
            value.filter(|value| !value.is_empty()).map(Arc::clone)
        };
        if **variable == *NAMESPACE_NAME {
            return Some(Arc::clone(namespace));
        }
        let found = policies.iter().find_map(value);
        // Without a policy of the namespace, the value is not absent but unknown.
        let is_unknown = policies.is_empty() && !self.lacks_namespaces;
        if found.is_none() && (is_unknown || (used.is_required && !policies.is_empty())) {
            let policy = policies.first().map(|of| format!("{} `{}`", of.kind, of.policy));
            let known = lacking.0.entry((Arc::clone(variable), policy.is_some()));
            known.or_insert_with(|| LackingNamespace { name: Arc::clone(namespace), policy, count: 0 }).count += 1;
        }
        found
    }
}

/// The namespaces without a value, by the variable and by whether a policy makes or declares the namespace.
#[derive(Default)]
struct LackingValues(BTreeMap<(Arc<str>, bool), LackingNamespace>);

/// The first namespace without a value.
struct LackingNamespace {
    name: Arc<str>,
    /// Such as NamespaceSet `teams`; none for a namespace of no policy.
    policy: Option<String>,
    /// The number of namespaces without the value.
    count: usize,
}

impl LackingValues {
    /// Returns a diagnostic for each variable.
    fn diagnostics(self, uses: &NamespaceUses) -> impl Iterator<Item = Diagnostic> {
        self.0.into_iter().filter_map(|((variable, _), LackingNamespace { name, policy, count })| {
            let used = uses.0.get(&variable)?;
            let is_known = policy.is_some();
            let message = match policy {
                Some(policy) => format!("the namespace `{name}` of the {policy} has no value for `{{{variable}}}`"),
                None => format!("no policy has the namespace `{name}`, and the value of `{{{variable}}}` is unknown"),
            };
            let help = match (is_known, used.is_required) {
                (true, _) => format!("add the value, or write `{{{variable}?}}` to leave the text out"),
                (false, _) => {
                    "bring the namespace in with a Manifests policy; `emit: false` only declares it".to_owned()
                }
            };
            let note = (count > 1).then(|| format!("namespaces without the value: {count}"));
            let diagnostic = Diagnostic::error(codes::MISSING_VALUE, message).at(used.origin).help(help);
            Some(note.into_iter().fold(diagnostic, Diagnostic::note))
        })
    }
}
