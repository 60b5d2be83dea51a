//! The questions of `bailiwick ask` about Crossplane; `docs/ask.md` shows each with its answer. None needs a world.

use super::AskError;
use crate::codes;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::keys::{Keys, RULE, check_keys};
use crate::crossplane::conflicts::{self, KnownDefinitions, Owners};
use crate::crossplane::definition::Definition;
use crate::crossplane::gate;
use crate::crossplane::image::{Reader, same_organisation};
use crate::crossplane::install::{Install, InstallKind};
use crate::crossplane::names::{Dots, LABEL, cut, owner_label};
use crate::crossplane::object::{PackageObject, ServiceAccountName};
use crate::crossplane::package::{App, Package};
use crate::crossplane::personas;
use crate::crossplane::provider::{Composite, Provider, is_family};
use crate::crossplane::revision::{ManagerRevision, Verbs};
use crate::crossplane::stack::Stack;
use crate::diag::{Diagnostic, FileId, Origin, Severity, Sink, Span};
use crate::k8s::rbac::PolicyRule;
use crate::yaml;
use crate::yaml::de::from_node;

/// Answers a question if it is of a kind that is known here.
///
/// # Errors
/// Inside: why it cannot be answered.
pub(super) fn answer(kind: &str, body: &Value) -> Option<Result<Value, AskError>> {
    let answer: fn(&Value) -> Result<Value, AskError> = match kind {
        "stack" => stack,
        "stack-plan" => plan,
        "namespace-personas" => namespace_personas,
        "truncate" => truncate,
        "provider" => provider,
        "composite" => composite,
        "provider-family" => family,
        "gate" => gate_question,
        "permission-request" => permission_request,
        _ => return None,
    };
    Some(check_keys(KEYS, kind, body).and_then(|()| answer(body)))
}

/// The keys of a package in a question.
const PACKAGE: &[&str] = &["install", "app", "crds", "package", "verbs", "files"];

/// The keys of what is installed.
const INSTALL: &[&str] = &["kind", "namespace", "name"];

/// Any question may name a revision, whether its answer depends on it or not.
const REVISION: &[&str] = &["revision"];

/// The keys of each kind of question.
const KEYS: &[Keys] = &[
    ("stack", &[REVISION, PACKAGE]),
    ("stack/install", &[INSTALL]),
    ("stack-plan", &[REVISION, &["installs"]]),
    ("stack-plan/installs/*", &[REVISION, PACKAGE]),
    ("stack-plan/installs/*/install", &[INSTALL]),
    ("namespace-personas", &[REVISION, &["namespaces"]]),
    ("namespace-personas/namespaces/*", &[&["name", "labels"]]),
    ("truncate", &[REVISION, &["in", "len", "multiParent"]]),
    (
        "provider",
        &[
            REVISION,
            &["providerRevision", "crds", "capabilities", "package", "family"],
            &["permissionRequests", "allowedPermissions", "serviceAccounts"],
        ],
    ),
    ("provider/family/*", &[&["package", "crds"]]),
    ("provider/serviceAccounts/*", &[&["namespace", "name"]]),
    ("provider/permissionRequests/*", &[RULE]),
    ("provider/allowedPermissions/*", &[RULE]),
    ("composite", &[REVISION, &["xrd"]]),
    ("composite/xrd", &[&["name", "group", "plural", "claimPlural"]]),
    ("provider-family", &[REVISION, &["a", "b", "defaultRegistry"]]),
    ("gate", &[REVISION, &["rule"]]),
    ("gate/rule", &[RULE]),
    ("permission-request", &[REVISION, &["owner", "servant"]]),
    ("permission-request/owner/*", &[RULE]),
    ("permission-request/servant/*", &[RULE]),
];

/// Returns the objects of one stack, or why it is refused.
fn stack(body: &Value) -> Result<Value, AskError> {
    let mut sink = Sink::new();
    let stack = read_stack(body, ManagerRevision::default(), &mut sink)?;
    let stack = stack.inspect(|stack| stack.check(&mut sink));
    Ok(answer_with_codes(&sink, || match &stack {
        Some(stack) => json!({ "objects": objects_of(stack) }),
        None => json!({}),
    }))
}

/// Returns the objects of several stacks in one cluster, or what makes them impossible.
fn plan(body: &Value) -> Result<Value, AskError> {
    let mut sink = Sink::new();
    let revision = revision(body, ManagerRevision::default())?;
    let mut stacks = Vec::new();
    for install in list(body, "installs") {
        if let Some(stack) = read_stack(install, revision, &mut sink)? {
            stacks.push(stack);
        }
    }
    let stacks: Vec<&Stack> = stacks.iter().collect();
    conflicts::check(&stacks, &Alone, &mut sink);
    stacks.iter().for_each(|stack| stack.check(&mut sink));
    let owners: BTreeMap<String, Vec<String>> = Owners::from_stacks(&stacks)
        .iter()
        .filter_map(|owners| {
            let ids = owners.iter().filter_map(|owner| Some(stacks.get(owner.stack)?.install.id()));
            Some((owners.first()?.definition.name.clone(), ids.collect()))
        })
        .collect();
    let objects: Vec<Value> = stacks.iter().flat_map(|stack| objects_of(stack)).collect();
    Ok(answer_with_codes(&sink, || json!({ "objects": objects, "crdOwners": owners })))
}

/// Nothing is there beside the stacks of the question, and only the codes of what is found are answered.
struct Alone;

impl KnownDefinitions for Alone {
    fn serves(&self, _: &str, _: &str) -> Option<bool> {
        None
    }

    fn shape(&self, _: &Definition, _: &str) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

fn objects_of(stack: &Stack) -> Vec<Value> {
    let mut objects: Vec<Value> = stack.objects().iter().map(PackageObject::to_json).collect();
    let labels = stack.definition_labels();
    if !labels.is_empty() {
        let definitions = stack.package.definitions.iter();
        objects.extend(definitions.map(|own| json!({ "crdLabels": own.name, "labels": labels })));
    }
    objects
}

/// Returns a stack with its package; none where the package is refused.
fn read_stack(body: &Value, default: ManagerRevision, sink: &mut Sink) -> Result<Option<Stack>, AskError> {
    let install = body.get("install").ok_or(AskError::Missing("install"))?;
    let word = |key: &str| install.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = InstallKind::deserialize(install.get("kind").unwrap_or(&Value::Null)).map_err(AskError::refused)?;
    let nowhere = Origin { file: FileId::default(), span: Span::default() };
    let files = list(body, "files");
    if files.iter().filter_map(Value::as_str).any(|path| path.rsplit('/').next() == Some("rbac.yaml")) {
        sink.push(Diagnostic::error(codes::RBAC_YAML_NOT_SUPPORTED, "the package has an `rbac.yaml`"));
    }
    let Some(app) = body.get("app").filter(|app| !app.is_null()) else {
        sink.push(Diagnostic::error(codes::MISSING_APP_YAML, "the package has no `app.yaml`"));
        return Ok(None);
    };
    let tree = yaml::from_json(app);
    let app: App = from_node(tree.document(0).ok_or_else(|| AskError::value("`app` is empty"))?)
        .map_err(|error| AskError::unreadable("app", error))?;
    let definitions = list(body, "crds").iter().filter_map(|text| {
        let tree = yaml::from_json(text);
        Definition::read(tree.document(0)?, sink)
    });
    let definitions = definitions.collect();
    let image = body.get("package").and_then(Value::as_str);
    let package = Package::new(&app, definitions, image, nowhere, sink);
    let verbs = if body.get("verbs").and_then(Value::as_str) == Some("full") { Verbs::Full } else { Verbs::Any };
    let install = Install { kind, namespace: word("namespace"), name: word("name"), origin: nowhere };
    let revision = revision(body, default)?;
    Ok(package.map(|package| Stack { package: Arc::new(package), install, revision, verbs }))
}

/// Returns the revision that a question is about; `default` where it names none.
fn revision(body: &Value, default: ManagerRevision) -> Result<ManagerRevision, AskError> {
    match body.get("revision") {
        None | Some(Value::Null) => Ok(default),
        Some(Value::String(text)) => {
            ManagerRevision::parse(text).ok_or_else(|| AskError::Value(format!("there is no revision `{text}`")))
        }
        Some(_) => Err(AskError::NotAString("revision")),
    }
}

/// Returns the answer with the codes of warnings; the codes of errors instead if there are any.
fn answer_with_codes(sink: &Sink, answer: impl FnOnce() -> Value) -> Value {
    let codes = |severity: Severity| -> Vec<&str> {
        let found = sink.diagnostics().iter().filter(|diagnostic| diagnostic.severity == severity);
        let mut codes: Vec<&str> = found.map(|diagnostic| diagnostic.code.id()).collect();
        codes.dedup();
        codes
    };
    let (errors, warnings) = (codes(Severity::Error), codes(Severity::Warning));
    let mut answer = match errors.first() {
        Some(first) => json!({ "error": first, "errors": errors }),
        None => answer(),
    };
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("warnings".to_owned(), json!(warnings));
    }
    answer
}

fn namespace_personas(body: &Value) -> Result<Value, AskError> {
    let mut objects = Vec::new();
    for namespace in list(body, "namespaces") {
        let name = namespace
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| AskError::value("a namespace has no `name`"))?;
        let label =
            |key: &str| namespace.pointer("/labels").and_then(|labels| labels.get(key)?.as_str()) == Some("true");
        objects.extend(personas::of_namespace(name, label).iter().map(PackageObject::to_json));
    }
    Ok(json!({ "objects": objects }))
}

fn truncate(body: &Value) -> Result<Value, AskError> {
    if let Some([namespace, name]) = body.get("multiParent").and_then(Value::as_array).map(Vec::as_slice) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        return Ok(
            json!({ "out": owner_label("parent.stacks.crossplane.io/", &text(namespace), &text(name), Dots::Kept) }),
        );
    }
    let text = body.get("in").and_then(Value::as_str).ok_or(AskError::Missing("in"))?;
    let length = body.get("len").and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
    Ok(json!({ "out": cut(text, length.unwrap_or(LABEL), Dots::Kept) }))
}

fn provider(body: &Value) -> Result<Value, AskError> {
    let revision = revision(body, ManagerRevision::RbacManager)?;
    let name = body.get("providerRevision").and_then(Value::as_str).ok_or(AskError::Missing("providerRevision"))?;
    let names = |body: &Value| -> Vec<String> {
        let crds = list(body, "crds").iter();
        crds.filter_map(|crd| crd.pointer("/metadata/name")?.as_str().map(str::to_owned)).collect()
    };
    let account = |value: &Value| {
        let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        ServiceAccountName { namespace: word("namespace"), name: word("name") }
    };
    let mut accounts: Vec<ServiceAccountName> = list(body, "serviceAccounts").iter().map(account).collect();
    if accounts.is_empty() {
        accounts.push(ServiceAccountName { namespace: "crossplane-system".to_owned(), name: name.to_owned() });
    }
    let provider = Provider {
        revision_name: name.to_owned(),
        definitions: names(body),
        accounts,
        capabilities: list(body, "capabilities").iter().filter_map(|word| word.as_str().map(str::to_owned)).collect(),
        permission_requests: rules(body, "permissionRequests"),
    };
    let image = |body: &Value| body.get("package").and_then(Value::as_str).map(str::to_owned);
    let own = image(body);
    let members =
        list(body, "family").iter().filter(|member| is_family(revision, own.as_deref(), image(member).as_deref()));
    let family: Vec<String> = members.flat_map(names).collect();
    let rejected = gate::rejected(&rules(body, "allowedPermissions"), &provider.permission_requests);
    if revision == ManagerRevision::RbacManagerV1 && !rejected.is_empty() {
        return Ok(json!({ "error": codes::PERMISSION_REQUEST_REJECTED.id(), "rejected": rejected }));
    }
    let objects: Vec<Value> = provider.objects(revision, &family).iter().map(PackageObject::to_json).collect();
    Ok(json!({ "objects": objects }))
}

fn composite(body: &Value) -> Result<Value, AskError> {
    let xrd = body.get("xrd").ok_or(AskError::Missing("xrd"))?;
    let word = |key: &str| xrd.get(key).and_then(Value::as_str).map(str::to_owned);
    let composite = Composite {
        name: word("name").ok_or_else(|| AskError::value("`xrd` has no `name`"))?,
        group: word("group").unwrap_or_default(),
        plural: word("plural").unwrap_or_default(),
        claim_plural: word("claimPlural"),
    };
    let objects = composite.objects(revision(body, ManagerRevision::RbacManager)?);
    Ok(json!({ "objects": objects.iter().map(PackageObject::to_json).collect::<Vec<_>>() }))
}

fn family(body: &Value) -> Result<Value, AskError> {
    let word = |key: &str| body.get(key).and_then(Value::as_str);
    let (Some(a), Some(b)) = (word("a"), word("b")) else { return Err(AskError::value("`a` and `b` are images")) };
    // Only v1 has a default.
    let reader =
        word("defaultRegistry").map_or(Reader::V2, |default_registry| Reader { default_registry, ..Reader::V1 });
    Ok(json!({ "sameOrg": same_organisation(a, b, reader) }))
}

fn permission_request(body: &Value) -> Result<Value, AskError> {
    Ok(json!({ "allowed": gate::rejected(&rules(body, "owner"), &rules(body, "servant")).is_empty() }))
}

fn gate_question(body: &Value) -> Result<Value, AskError> {
    let rule = body.get("rule").filter(|rule| rule.is_object()).ok_or(AskError::Missing("rule"))?;
    let rules = rules(&json!({ "rule": [rule] }), "rule");
    Ok(json!({ "allowed": rules.iter().all(gate::stack_manager_allows) }))
}

fn list<'v>(body: &'v Value, key: &str) -> &'v [Value] {
    body.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the rules at a key of a question.
fn rules(body: &Value, key: &str) -> Vec<PolicyRule> {
    let read = |rule: &Value| yaml::from_json(rule).document(0).map(PolicyRule::from_node);
    list(body, key).iter().filter_map(read).collect()
}
