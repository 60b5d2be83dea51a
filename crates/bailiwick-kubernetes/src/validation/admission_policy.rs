//! ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings
//! (`pkg/apis/admissionregistration/validation/validation.go` of Kubernetes 1.37).
//!
//! [`super::expression_types`] checks the expressions against the matching kinds. Left out on purpose: the author's
//! permission to read the parameters.

use crate::absent;
use std::collections::{BTreeMap, BTreeSet};

use crate::names::{self, Reasons};
use crate::validation_action::ValidationAction;
use bailiwick_cel::{self as cel, ExpectedType, ExpressionError, ExpressionScope};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::schema::to_json;

use super::metadata::generated;
use super::{ErrorKind, Path, Report, is_empty, items, place, selector, shown, strings, text};

/// The limit of match conditions of a policy.
const MAXIMUM_CONDITIONS: usize = 64;
/// The most audit annotations of a policy, and the most bytes of the expression of one.
const MAXIMUM_ANNOTATIONS: usize = 20;
const MAXIMUM_ANNOTATION_EXPRESSION: usize = 5 * 1024;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MUTATED_OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

/// Checks one of the four kinds.
pub(super) fn check(object: NodeRef<'_>, old: Option<NodeRef<'_>>, kind: &str, report: &mut Report<'_>) {
    let spec = place(object, "spec");
    let path = Path::root("spec");
    let mutates = kind.starts_with("Mutating");
    if kind.ends_with("Binding") {
        binding(spec, &path, mutates, report);
    } else {
        let old = old.map(|old| place(old, "spec"));
        policy(object, old, mutates, report);
    }
}

fn policy(object: NodeRef<'_>, old: Option<NodeRef<'_>>, mutates: bool, report: &mut Report<'_>) {
    let (spec, path) = (place(object, "spec"), &Path::root("spec"));
    word(spec, path, &Word { field: "failurePolicy", what: "the failure policy", words: &["Fail", "Ignore"] }, report);
    if let Some(kind) = given(spec, "paramKind") {
        param_kind(kind, &path.field("paramKind"), report);
    }
    let constraints = path.field("matchConstraints");
    match given(spec, "matchConstraints") {
        None => {
            let message = "the policy has no match constraints".to_owned();
            let help = "add `matchConstraints:` with at least one entry in `resourceRules`";
            report.teach(ErrorKind::Required, &constraints, place(spec, "matchConstraints"), message, help);
        }
        Some(matching) => {
            match_resources(matching, &constraints, mutates, report);
            if is_empty(matching, "resourceRules") {
                let path = constraints.field("resourceRules");
                let message = "the policy matches no resource".to_owned();
                report.add(ErrorKind::Required, &path, place(matching, "resourceRules"), message);
            }
        }
    }
    // Values of a stored policy may stay.
    let is_stored = |old| ["paramKind", "matchConditions"].iter().all(|field| is_same(spec, old, field));
    let scope = ExpressionScope {
        minor: report.minor,
        params: given(spec, "paramKind").is_some(),
        authorizer: true,
        ..ExpressionScope::default()
    };
    let mut expressions = Expressions { scope, stored: old.map_or_else(BTreeSet::new, stored_expressions) };
    if !old.is_some_and(is_stored) {
        match_conditions(spec, &path.field("matchConditions"), &mut expressions, report);
    }
    if mutates || !is_empty(spec, "variables") {
        expressions.scope.variables = Some(BTreeMap::new());
    }
    let variables = path.field("variables");
    for (index, item) in items(spec, "variables") {
        variable(item, &variables.index(index), &mut expressions, report);
    }
    if mutates {
        expressions.scope.patches = true;
        mutations(spec, path, &mut expressions, report);
    } else {
        validations(object, spec, path, &mut expressions, report);
    }
}

fn binding(spec: NodeRef<'_>, path: &Path<'_>, mutates: bool, report: &mut Report<'_>) {
    let name = text(spec, "policyName");
    let node = place(spec, "policyName");
    if name.is_empty() {
        let message = "the binding names no policy".to_owned();
        report.add(ErrorKind::Required, &path.field("policyName"), node, message);
    } else {
        report.grammar(names::dns_subdomain(name), &path.field("policyName"), node, "the name of the policy", name);
    }
    if let Some(reference) = given(spec, "paramRef") {
        param_ref(reference, &path.field("paramRef"), report);
    }
    if let Some(matching) = given(spec, "matchResources") {
        match_resources(matching, &path.field("matchResources"), mutates, report);
    }
    if !mutates {
        validation_actions(spec, &path.field("validationActions"), report);
    }
}

fn param_kind(kind: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let api_version = text(kind, "apiVersion");
    let (node, at) = (place(kind, "apiVersion"), path.field("apiVersion"));
    match api_version.split('/').collect::<Vec<_>>().as_slice() {
        _ if api_version.is_empty() => {
            report.add(ErrorKind::Required, &at, node, "the kind of the parameters has no apiVersion".to_owned());
        }
        // Read as neither a group nor a version.
        _ if api_version == "/" => no_version(node, &at, api_version, report),
        [version] => all_at_once(
            names::dns_1035_label(version),
            &at,
            node,
            &Named { what: "the version", value: version },
            report,
        ),
        [group, version] => {
            if !group.is_empty() {
                all_at_once(
                    names::dns_subdomain(group),
                    &at,
                    node,
                    &Named { what: "the API group", value: group },
                    report,
                );
            }
            if version.is_empty() {
                no_version(node, &at, api_version, report);
            } else {
                all_at_once(
                    names::dns_1035_label(version),
                    &at,
                    node,
                    &Named { what: "the version", value: version },
                    report,
                );
            }
        }
        _ => {
            let message = format!("`{}` is not a group and a version", shown(api_version));
            report.teach(
                ErrorKind::Invalid,
                &at,
                node,
                message,
                "such as `example.com/v1`, or `v1` for the core group",
            );
        }
    }
    let name = text(kind, "kind");
    let (node, at) = (place(kind, "kind"), path.field("kind"));
    if name.is_empty() {
        report.add(ErrorKind::Required, &at, node, "the kind of the parameters is missing".to_owned());
    } else {
        let what = "in lower case, the kind of the parameters";
        all_at_once(names::dns_1035_label(&name.to_lowercase()), &at, node, &Named { what, value: name }, report);
    }
}

fn no_version(node: NodeRef<'_>, path: &Path<'_>, api_version: &str, report: &mut Report<'_>) {
    let message = format!("`{}` has no version", shown(api_version));
    report.teach(ErrorKind::Invalid, path, node, message, "such as `example.com/v1`, or `v1` for the core group");
}

/// A value with its name in messages.
struct Named<'n> {
    what: &'n str,
    value: &'n str,
}

/// Adds one error with all reasons, as the API server does in some places.
fn all_at_once(
    verdict: Result<(), Reasons>,
    path: &Path<'_>,
    node: NodeRef<'_>,
    named: &Named<'_>,
    report: &mut Report<'_>,
) {
    let Named { what, value } = *named;
    if let Err(reasons) = verdict {
        let reasons: Vec<&str> = reasons.iter().collect();
        let message = format!("{what} `{}` {}", shown(value), reasons.join(" and "));
        report.add(ErrorKind::Invalid, path, node, message);
    }
}

fn match_resources(matching: NodeRef<'_>, path: &Path<'_>, mutates: bool, report: &mut Report<'_>) {
    word(
        matching,
        path,
        &Word { field: "matchPolicy", what: "the match policy", words: &["Exact", "Equivalent"] },
        report,
    );
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(node) = given(matching, field) {
            selector::check(node, &path.field(field), true, report);
        }
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        let path = path.field(list);
        for (index, item) in items(matching, list) {
            rule(item, &path.index(index), report);
        }
    }
    if mutates {
        let path = path.field("resourceRules");
        let path = path.field("operations");
        for (_, rule) in items(matching, "resourceRules") {
            for (_, item) in items(rule, "operations") {
                let operation = absent::text(item.as_str());
                if !MUTATED_OPERATIONS.contains(&operation) {
                    let what = "in a policy that changes objects, the operation";
                    report.unsupported(&path, item, what, operation, &MUTATED_OPERATIONS);
                }
            }
        }
    }
}

fn rule(rule: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let mut seen = BTreeSet::new();
    let names = path.field("resourceNames");
    for (index, item) in items(rule, "resourceNames") {
        let name = absent::text(item.as_str());
        let path = names.index(index);
        report.grammar(names::path_segment(name), &path, item, "the name of a resource", name);
        if !seen.insert(name) {
            report.add(ErrorKind::Duplicate, &path, item, format!("the name `{}` is in the list twice", shown(name)));
        }
    }
    for (field, what) in [("operations", "operation"), ("apiGroups", "API group"), ("apiVersions", "API version")] {
        let path = path.field(field);
        let node = place(rule, field);
        if is_empty(rule, field) {
            report.add(ErrorKind::Required, &path, node, format!("the rule names no {what}"));
        }
        if node.is_seq() && node.len() > 1 && strings(rule, field).any(|entry| entry == "*") {
            let message = format!("`*` and another {what} are in one list");
            report.teach(ErrorKind::Invalid, &path, node, message, "remove `*`, or every other entry");
        }
    }
    let operations = path.field("operations");
    for (index, item) in items(rule, "operations") {
        let operation = absent::text(item.as_str());
        if !OPERATIONS.contains(&operation) {
            report.unsupported(&operations.index(index), item, "the operation", operation, &OPERATIONS);
        }
    }
    let versions = path.field("apiVersions");
    for (index, item) in items(rule, "apiVersions") {
        if absent::text(item.as_str()).is_empty() {
            report.add(ErrorKind::Required, &versions.index(index), item, "the API version is empty".to_owned());
        }
    }
    resources(rule, &path.field("resources"), report);
    word(rule, path, &Word { field: "scope", what: "the scope", words: &["*", "Cluster", "Namespaced"] }, report);
}

fn resources(rule: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let list = place(rule, "resources");
    if is_empty(rule, "resources") {
        report.add(ErrorKind::Required, path, list, "the rule names no resource".to_owned());
    }
    let (mut every_subresource, mut every_resource) = (BTreeSet::new(), BTreeSet::new());
    // Only the last plain resource counts, so `*` after plain ones is let through.
    let mut ends_with_plain = false;
    for (index, item) in items(rule, "resources") {
        let resource = absent::text(item.as_str());
        let path = path.index(index);
        if resource.is_empty() {
            report.add(ErrorKind::Required, &path, item, "the resource is empty".to_owned());
            continue;
        }
        let Some((name, subresource)) = resource.split_once('/') else {
            ends_with_plain = resource != "*";
            continue;
        };
        let covers = [
            every_subresource.contains(name).then(|| format!("{name}/*")),
            every_resource.contains(subresource).then(|| format!("*/{subresource}")),
        ];
        for cover in covers.into_iter().flatten() {
            let message = format!(
                "`{}` and `{}` are in one list, and the second covers the first",
                shown(resource),
                shown(&cover)
            );
            report.teach(ErrorKind::Invalid, &path, item, message, "remove the covered entry");
        }
        if subresource == "*" {
            every_subresource.insert(name);
        }
        if name == "*" {
            every_resource.insert(subresource);
        }
    }
    let has = |wanted: &str| strings(rule, "resources").any(|resource| resource == wanted);
    if list.is_seq() && list.len() > 1 && has("*/*") {
        let message = "`*/*` and another resource are in one list".to_owned();
        report.teach(ErrorKind::Invalid, path, list, message, "remove `*/*`, or every other entry");
    }
    if ends_with_plain && has("*") {
        let message = "`*` covers another resource of the list".to_owned();
        report.teach(ErrorKind::Invalid, path, list, message, "remove `*`, or the plain resources");
    }
}

fn match_conditions(spec: NodeRef<'_>, path: &Path<'_>, expressions: &mut Expressions, report: &mut Report<'_>) {
    let list = place(spec, "matchConditions");
    if list.is_seq() && list.len() > MAXIMUM_CONDITIONS {
        let message = format!("{} conditions exceed the limit of {MAXIMUM_CONDITIONS}", list.len());
        report.teach(ErrorKind::TooMany, path, list, message, "join some of them with `&&`");
    }
    let mut seen = BTreeSet::new();
    for (index, item) in items(spec, "matchConditions") {
        let path = path.index(index);
        expressions.check(item, "expression", &path, ExpectedType::Bool, report);
        let name = text(item, "name");
        let (node, at) = (place(item, "name"), path.field("name"));
        if name.is_empty() {
            report.add(ErrorKind::Required, &at, node, "the condition has no name".to_owned());
            continue;
        }
        report.grammar(names::label_key(name), &at, node, "the name of the condition", name);
        if !seen.insert(name) {
            let message = format!("two conditions have the name `{}`", shown(name));
            report.add(ErrorKind::Duplicate, &at, node, message);
        }
    }
}

fn variable(item: NodeRef<'_>, path: &Path<'_>, expressions: &mut Expressions, report: &mut Report<'_>) {
    let name = text(item, "name");
    let (node, at) = (place(item, "name"), path.field("name"));
    if name.trim().is_empty() {
        report.add(ErrorKind::Required, &at, node, "the variable has no name".to_owned());
    } else if !is_identifier(name) {
        let message = format!("`{}` is not a valid name of a variable", shown(name));
        let help = "use letters, digits and `_`, without a digit at the start, and no reserved word such as `in`";
        report.teach(ErrorKind::Invalid, &at, node, message, help);
    }
    let of = expressions.check(item, "expression", path, ExpectedType::Any, report);
    // An empty expression is not compiled, and declares nothing.
    if let (Some(variables), Some(of)) = (&mut expressions.scope.variables, of) {
        variables.insert(name.to_owned(), of);
    }
}

fn is_identifier(name: &str) -> bool {
    let is_word = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    is_word && !name.starts_with(|first: char| first.is_ascii_digit()) && !cel::RESERVED.contains(&name)
}

fn validations(
    object: NodeRef<'_>,
    spec: NodeRef<'_>,
    path: &Path<'_>,
    expressions: &mut Expressions,
    report: &mut Report<'_>,
) {
    if is_empty(spec, "validations") && is_empty(spec, "auditAnnotations") {
        for field in ["validations", "auditAnnotations"] {
            let message = "the policy has neither validations nor audit annotations".to_owned();
            let help = "add `validations:` or `auditAnnotations:`";
            report.teach(ErrorKind::Required, &path.field(field), place(spec, field), message, help);
        }
    }
    let list = path.field("validations");
    for (index, item) in items(spec, "validations") {
        validation(item, &list.index(index), expressions, report);
    }
    let list = path.field("auditAnnotations");
    let node = place(spec, "auditAnnotations");
    if node.is_seq() && node.len() > MAXIMUM_ANNOTATIONS {
        let message = format!("{} audit annotations exceed the limit of {MAXIMUM_ANNOTATIONS}", node.len());
        report.add(ErrorKind::Invalid, &list, node, message);
    }
    let metadata = place(object, "metadata");
    let policy = match (text(metadata, "name"), text(metadata, "generateName")) {
        ("", prefix) if !prefix.is_empty() => generated(prefix),
        (name, _) => name.to_owned(),
    };
    let mut keys = AnnotationKeys { policy, seen: BTreeSet::new() };
    for (index, item) in items(spec, "auditAnnotations") {
        audit_annotation(item, &list.index(index), &mut keys, expressions, report);
    }
}

fn validation(item: NodeRef<'_>, path: &Path<'_>, expressions: &mut Expressions, report: &mut Report<'_>) {
    expressions.check(item, "expression", path, ExpectedType::Bool, report);
    for field in ["messageExpression", "message"] {
        let written = text(item, field);
        let (node, at) = (place(item, field), path.field(field));
        if !written.is_empty() && written.trim().is_empty() {
            report.add(ErrorKind::Invalid, &at, node, format!("`{field}` contains only spaces"));
        } else if field == "message" && written.trim().contains(['\n', '\r']) {
            let message = format!("the message `{}` has a line break", shown(written));
            report.teach(ErrorKind::Invalid, &at, node, message, "write it on one line");
        } else if field == "messageExpression" && !written.is_empty() {
            // An API server makes messages without an authorizer.
            expressions.scope.authorizer = false;
            expressions.compile(item, field, path, ExpectedType::String, report);
            expressions.scope.authorizer = true;
        }
    }
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    word(item, path, &Word { field: "reason", what: "the reason", words: &reasons }, report);
}

/// The keys of the audit annotations of a policy.
struct AnnotationKeys<'t> {
    policy: String,
    seen: BTreeSet<&'t str>,
}

fn audit_annotation<'t>(
    item: NodeRef<'t>,
    path: &Path<'_>,
    keys: &mut AnnotationKeys<'t>,
    expressions: &mut Expressions,
    report: &mut Report<'_>,
) {
    let key = text(item, "key");
    let (node, at) = (place(item, "key"), path.field("key"));
    let policy = &keys.policy;
    if policy.is_empty() {
        let message = format!("the key `{}` needs the name of the policy, which is empty", shown(key));
        report.add(ErrorKind::Invalid, &at, node, message);
    } else {
        // The annotation is named after both.
        let full = format!("{policy}/{key}");
        report.grammar(names::label_key(&full), &at, node, "with the name of the policy, the key", &full);
    }
    let written = text(item, "valueExpression").trim();
    if written.len() > MAXIMUM_ANNOTATION_EXPRESSION {
        let (node, at) = (place(item, "valueExpression"), path.field("valueExpression"));
        let message =
            format!("the expression has {} bytes; the limit is {MAXIMUM_ANNOTATION_EXPRESSION}", written.len());
        report.teach(ErrorKind::Required, &at, node, message, "shorten it");
    } else {
        expressions.check(item, "valueExpression", path, ExpectedType::StringOrNull, report);
    }
    if !keys.seen.insert(key) {
        let message = format!("two audit annotations have the key `{}`", shown(key));
        report.add(ErrorKind::Duplicate, &at, node, message);
    }
}

fn mutations(spec: NodeRef<'_>, path: &Path<'_>, expressions: &mut Expressions, report: &mut Report<'_>) {
    let list = path.field("mutations");
    if is_empty(spec, "mutations") {
        let message = "the policy changes nothing".to_owned();
        report.add(ErrorKind::Required, &list, place(spec, "mutations"), message);
    }
    for (index, item) in items(spec, "mutations") {
        mutation(item, &list.index(index), expressions, report);
    }
    let again = text(spec, "reinvocationPolicy");
    let (node, at) = (place(spec, "reinvocationPolicy"), path.field("reinvocationPolicy"));
    if again.is_empty() {
        let message = "the policy has no reinvocation policy".to_owned();
        let help = "add `reinvocationPolicy:` with `Never` or `IfNeeded`";
        report.teach(ErrorKind::Required, &at, node, message, help);
    } else if !matches!(again, "Never" | "IfNeeded") {
        report.unsupported(&at, node, "the reinvocation policy", again, &["Never", "IfNeeded"]);
    }
}

fn mutation(item: NodeRef<'_>, path: &Path<'_>, expressions: &mut Expressions, report: &mut Report<'_>) {
    let patch = text(item, "patchType");
    let (own, other, wanted) = match patch {
        "JSONPatch" => ("jsonPatch", "applyConfiguration", ExpectedType::Patches),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", ExpectedType::Object),
        "" => {
            let message = "the type of the patch is missing".to_owned();
            let help = "add `patchType:` with `ApplyConfiguration` or `JSONPatch`";
            report.teach(ErrorKind::Required, &path.field("patchType"), place(item, "patchType"), message, help);
            return;
        }
        unknown => {
            let words = ["ApplyConfiguration", "JSONPatch"];
            let node = place(item, "patchType");
            report.unsupported(&path.field("patchType"), node, "the type of the patch", unknown, &words);
            return;
        }
    };
    match given(item, own) {
        Some(patch) => {
            expressions.check(patch, "expression", &path.field(own), wanted, report);
        }
        None => {
            let message = format!("a patch of the type `{patch}` needs `{own}`");
            report.add(ErrorKind::Required, &path.field(own), place(item, own), message);
        }
    }
    if let Some(node) = given(item, other) {
        let message = format!("a patch of the type `{patch}` cannot have `{other}`");
        report.teach(ErrorKind::Invalid, &path.field(other), node, message, format!("remove `{other}`"));
    }
}

fn param_ref(reference: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let name = text(reference, "name");
    let selector = given(reference, "selector");
    report.grammar(
        if name.is_empty() { Ok(()) } else { names::path_segment(name) },
        &path.field("name"),
        place(reference, "name"),
        "the name of the parameters",
        name,
    );
    if let Some(selector) = selector {
        selector::check(selector, &path.field("selector"), true, report);
    }
    if selector.is_some() && !name.is_empty() {
        for field in ["name", "selector"] {
            let message = "`name` and `selector` exclude each other".to_owned();
            report.add(ErrorKind::Forbidden, &path.field(field), place(reference, field), message);
        }
    }
    if selector.is_none() && name.is_empty() {
        let message = "the parameters have neither a name nor a selector".to_owned();
        report.add(ErrorKind::Required, path, reference, message);
    }
    let action = text(reference, "parameterNotFoundAction");
    let (node, at) = (place(reference, "parameterNotFoundAction"), path.field("parameterNotFoundAction"));
    if action.is_empty() {
        let message = "the binding has no `parameterNotFoundAction`".to_owned();
        let help = "add `parameterNotFoundAction:` with `Deny` or `Allow`";
        report.teach(ErrorKind::Required, &at, node, message, help);
    } else if !matches!(action, "Deny" | "Allow") {
        report.unsupported(&at, node, "the action", action, &["Deny", "Allow"]);
    }
}

fn validation_actions(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let node = place(spec, "validationActions");
    let mut seen = BTreeSet::new();
    for (index, item) in items(spec, "validationActions") {
        let action = absent::text(item.as_str());
        let path = path.index(index);
        if !ValidationAction::ALL.iter().any(|known| known.name() == action) {
            report.unsupported(&path, item, "the action", action, &ValidationAction::ALL.map(ValidationAction::name));
        }
        if !seen.insert(action) {
            let message = format!("the action `{}` is in the list twice", shown(action));
            report.add(ErrorKind::Duplicate, &path, item, message);
        }
    }
    let known = ValidationAction::ALL.into_iter().filter(|action| seen.contains(action.name()));
    if ValidationAction::exclude_each_other(known) {
        let message = "`Deny` and `Warn` exclude each other".to_owned();
        report.teach(
            ErrorKind::Invalid,
            path,
            node,
            message,
            "remove `Warn`: a denied request returns the same message",
        );
    }
    if seen.is_empty() {
        let message = "the binding has no validation actions".to_owned();
        let help = "add `validationActions:` with `Deny`, `Warn` or `Audit`";
        report.teach(ErrorKind::Required, path, node, message, help);
    }
}

/// The names for the expressions of a policy, at one place.
struct Expressions {
    scope: ExpressionScope,
    /// The expressions of the stored policy.
    stored: BTreeSet<String>,
}

impl Expressions {
    /// Checks the presence and the compilation of an expression. The type belongs to a present expression.
    fn check(
        &mut self,
        map: NodeRef<'_>,
        field: &str,
        path: &Path<'_>,
        wanted: ExpectedType,
        report: &mut Report<'_>,
    ) -> Option<cel::Type> {
        if text(map, field).trim().is_empty() {
            let message = format!("`{field}` is empty");
            report.teach(ErrorKind::Required, &path.field(field), place(map, field), message, "write a CEL expression");
            return None;
        }
        Some(self.compile(map, field, path, wanted, report))
    }

    /// Returns the API server compiles expressions when the policy is written
    /// (`pkg/apis/admissionregistration/validation/validation.go` of Kubernetes 1.37.2).
    fn compile(
        &mut self,
        map: NodeRef<'_>,
        field: &str,
        path: &Path<'_>,
        wanted: ExpectedType,
        report: &mut Report<'_>,
    ) -> cel::Type {
        let source = text(map, field);
        self.scope.is_stored = self.stored.contains(source);
        let refusal = match cel::compiled(source, &self.scope, wanted) {
            Ok(of) => return of,
            Err(refusal) => refusal,
        };
        let message = match refusal {
            ExpressionError::Syntax(why) => format!("`{field}` is not a CEL expression: {why}"),
            ExpressionError::Meaning(why) => format!("`{field}` does not compile: {why}"),
        };
        let help = "correct the expression: the API server compiles it and rejects the policy";
        report.teach(ErrorKind::Invalid, &path.field(field), place(map, field), message, help);
        cel::Type::Dyn
    }
}

/// Returns the expressions of a policy, at any place.
fn stored_expressions(spec: NodeRef<'_>) -> BTreeSet<String> {
    let lists = ["matchConditions", "variables", "validations", "auditAnnotations", "mutations"];
    let entries = lists.into_iter().flat_map(|list| items(spec, list)).map(|(_, item)| item);
    let places = entries.flat_map(|item| [Some(item), given(item, "jsonPatch"), given(item, "applyConfiguration")]);
    let fields = ["expression", "messageExpression", "valueExpression"];
    let texts = places.flatten().flat_map(|place| fields.into_iter().map(move |field| text(place, field)));
    texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// A field with a few words as its values.
struct Word<'w> {
    field: &'w str,
    what: &'w str,
    words: &'w [&'w str],
}

/// Checks a value against a few words, if present; the server completes a missing value.
fn word(map: NodeRef<'_>, path: &Path<'_>, word: &Word<'_>, report: &mut Report<'_>) {
    let Word { field, what, words } = *word;
    if let Some(node) = given(map, field) {
        let value = absent::text(node.as_str());
        if !words.contains(&value) {
            report.unsupported(&path.field(field), node, what, value, words);
        }
    }
}

/// Returns the value at a key, if present and not null.
fn given<'t>(map: NodeRef<'t>, key: &str) -> Option<NodeRef<'t>> {
    map.get(key).filter(|node| !node.is_null())
}

/// Whether a field is equal in two objects.
fn is_same(new: NodeRef<'_>, old: NodeRef<'_>, field: &str) -> bool {
    let value = |map| given(map, field).filter(|node| !node.is_empty()).map(to_json);
    value(new) == value(old)
}
