//! The checks of the texts of a class: declared variables, and lists only in lists of texts.

use bailiwick_codes as codes;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Sink};

use crate::model::{
    COMMON_METADATA, NAMESPACE_NAME, Pattern, RawDocument, Target, Variable, VariableScope, VariableType, Variables,
    check_pattern, declared,
};

/// The lists of a class with items that can have `for` and `when`.
const LISTS: [&str; 8] =
    ["grants", "limitRanges", "namespaces", "objects", "podSecurity", "resourceQuotas", "roles", "serviceAccounts"];

/// The fields of an item without a pattern.
const NO_PATTERNS: [&str; 2] = ["for", "when"];

/// The list of approvers, which becomes one text.
const APPROVERS: &str = "approvedBy";

/// Checks the texts of the classes of a Tenancy.
pub(super) fn check(document: &RawDocument<'_>, variables: &Variables, targets: &[Target], sink: &mut Sink) {
    let scope = TextScope { variables: variables.clone(), targets };
    if let Some(file) = document.spec.path(&["accounts", "file"]).filter(|file| is_of_target(file.as_str())) {
        _ = check_pattern(file, VariableScope::of_targets(targets), sink);
    }
    if let Some(class) = document.spec.get("class") {
        scope.check_class(class, sink);
    }
    scope.check_common_metadata(document.spec, sink);
    for preset in document.spec.get("presets").into_iter().flat_map(NodeRef::items) {
        for (key, value) in preset.entries() {
            if key.as_str() == Some("class") {
                scope.check_class(value, sink)
            } else {
                scope.check_node(value, None, sink)
            }
        }
    }
}

/// Whether the path of an account list names a variable of the target. Other braces are a part of the path.
pub(super) fn is_of_target(path: Option<&str>) -> bool {
    path.is_some_and(|path| path.contains("{target."))
}

/// Whether a field of an object selects other objects by labels.
fn is_selector(field: &str) -> bool {
    field.to_lowercase().ends_with("selector") || matches!(field, "matchLabels" | "matchExpressions")
}

/// The variables of a text.
struct TextScope<'t> {
    variables: Variables,
    targets: &'t [Target],
}

impl TextScope<'_> {
    fn check_class(&self, class: NodeRef<'_>, sink: &mut Sink) {
        let namespaces: Vec<NodeRef<'_>> = class.get("namespaces").into_iter().flat_map(NodeRef::items).collect();
        let common = self.with(self.common_loop(&namespaces));
        for (key, value) in class.entries() {
            match key.as_str() {
                Some("namespaces") => value.items().for_each(|item| self.check_item(item, sink)),
                Some("namespace") => self.check_item(value, sink),
                Some("podSecurity") => value.items().for_each(|item| self.check_item(item, sink)),
                Some(name) if LISTS.contains(&name) => value.items().for_each(|item| common.check_item(item, sink)),
                _ => common.check_node(value, None, sink),
            }
        }
    }

    /// Checks an item of a list, with the variable of its loop.
    fn check_item(&self, item: NodeRef<'_>, sink: &mut Sink) {
        let own = self.with(self.loop_of(item));
        for (key, value) in item.entries() {
            let name = key.as_str().map_or("", |name| name);
            if NO_PATTERNS.contains(&name) {
                continue;
            }
            if name == APPROVERS {
                value.items().for_each(|item| own.check_node(item, None, sink));
            } else if matches!(name, "object" | "values") && value.is_map() {
                own.check_object(value, None, sink);
            } else if LISTS.contains(&name) && value.items().any(|item| item.is_map()) {
                value.items().for_each(|item| own.check_item(item, sink));
            } else {
                own.check_node(key, None, sink);
                own.check_node(value, None, sink);
            }
        }
    }

    /// Checks the texts below a node. `list` is the list with the node as an item.
    fn check_node(&self, node: NodeRef<'_>, list: Option<NodeRef<'_>>, sink: &mut Sink) {
        for item in node.items() {
            self.check_node(item, Some(node), sink);
        }
        for (key, value) in node.entries() {
            self.check_node(key, None, sink);
            self.check_node(value, None, sink);
        }
        let scope = VariableScope { accounts: Some(&self.variables), ..VariableScope::of_targets(self.targets) };
        let Some(pattern) = check_pattern(node, scope, sink) else { return };
        self.check_lists(&pattern, node, list.is_some(), sink);
    }

    /// Checks the texts of an object of any kind. A text that is a list variable and nothing else is the list.
    fn check_object(&self, node: NodeRef<'_>, list: Option<NodeRef<'_>>, sink: &mut Sink) {
        for item in node.items() {
            self.check_object(item, Some(node), sink);
        }
        for (key, value) in node.entries() {
            self.check_node(key, None, sink);
            match key.as_str() {
                Some(name) if is_selector(name) => self.check_selector(value, sink),
                _ => self.check_object(value, None, sink),
            }
        }
        let scope = VariableScope { accounts: Some(&self.variables), ..VariableScope::of_targets(self.targets) };
        let Some(pattern) = check_pattern(node, scope, sink) else { return };
        if pattern.pieces().len() > 1 {
            self.check_lists(&pattern, node, list.is_some(), sink);
        }
    }

    /// Checks the texts of a selector. A requirement that is left out selects more, so that no text is left out.
    fn check_selector(&self, node: NodeRef<'_>, sink: &mut Sink) {
        for item in node.items() {
            self.check_selector(item, sink);
        }
        for (key, value) in node.entries() {
            self.check_selector(key, sink);
            self.check_selector(value, sink);
        }
        let scope = VariableScope { accounts: Some(&self.variables), ..VariableScope::of_targets(self.targets) };
        let Some(pattern) = check_pattern(node, scope, sink) else { return };
        self.check_lists(&pattern, node, false, sink);
        if let Some(name) = pattern.deciding_variables().next() {
            let message =
                format!("a selector without a requirement selects more, but `{{{name}?}}` leaves the requirement out");
            let diagnostic = Diagnostic::error(codes::OPTIONAL_IN_REQUIRED, message).at(node.origin());
            sink.push(diagnostic.help(format!("give the object a condition: `when: {name} != null`")));
        }
    }

    /// Checks the texts of `commonMetadata`, whose variables are known to be declared.
    fn check_common_metadata(&self, spec: NodeRef<'_>, sink: &mut Sink) {
        for map in ["labels", "annotations"].iter().filter_map(|field| spec.path(&[COMMON_METADATA, field])) {
            for (_, value) in map.entries() {
                if let Some(Ok(pattern)) = value.as_str().map(Pattern::parse) {
                    self.check_lists(&pattern, value, false, sink);
                }
            }
        }
    }

    /// Reports a list outside a list of texts, two lists in a text, and a record.
    fn check_lists(&self, pattern: &Pattern, node: NodeRef<'_>, is_in_list: bool, sink: &mut Sink) {
        let of_type = |wanted: VariableType| {
            let is_it = move |variable: Option<&Variable>| variable.is_some_and(|own| own.r#type == wanted);
            pattern.variables().filter(move |name| is_it(declared(&self.variables, name)))
        };
        let mut lists = of_type(VariableType::List);
        let problem = match (of_type(VariableType::Record).next(), lists.next(), lists.next()) {
            (Some(record), ..) => {
                Some((format!("`{record}` is a record"), format!("name a field: `{{{record}.FIELD}}`")))
            }
            (None, Some(one), Some(other)) if one != other => {
                let message = format!("`{one}` and `{other}` are lists, and the text would stand for all pairs");
                Some((message, "use one of the lists, and a loop with `for` over the other".to_owned()))
            }
            (None, Some(list), _) if !is_in_list => {
                let message = format!("`{list}` is a list, and this is a single text");
                Some((message, format!("use it in a list of texts, or a loop: `for: {{item: {list}}}`")))
            }
            _ => None,
        };
        if let Some((message, help)) = problem {
            sink.push(Diagnostic::error(codes::LIST_IN_TEXT, message).at(node.origin()).help(help));
        }
    }

    /// Returns the variable of the loop of an item. The loop over an unknown list is reported by its link, and its variable is a text.
    fn loop_of(&self, item: NodeRef<'_>) -> Option<(String, Variable)> {
        let (name, list) = item.get("for")?.entries().next()?;
        let of = list.as_str().and_then(|list| self.variables.get(list)?.of.as_deref());
        Some((name.as_str()?.to_owned(), of.map_or_else(Variable::text, Clone::clone)))
    }

    /// Returns the variable of a loop that all namespaces have.
    fn common_loop(&self, namespaces: &[NodeRef<'_>]) -> Option<(String, Variable)> {
        let (first, others) = namespaces.split_first()?;
        let (name, variable) = self.loop_of(*first)?;
        let has_it = |item: &NodeRef<'_>| self.loop_of(*item).is_some_and(|(other, _)| other == name);
        others.iter().all(has_it).then_some((name, variable))
    }

    /// Returns the scope with a further variable, and with the name of the namespace.
    fn with(&self, variable: Option<(String, Variable)>) -> Self {
        let mut variables = self.variables.clone();
        variables.extend(variable);
        let name = self.variables.get("name").map(|name| Variable { unique: false, ..name.clone() });
        variables.extend(name.map(|name| (NAMESPACE_NAME.to_owned(), name)));
        Self { variables, targets: self.targets }
    }
}
