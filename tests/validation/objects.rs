//! Manifests with the verdict of the real API server code.

use bailiwick::codes;
use bailiwick::diag::{Code, Files, Sink};
use bailiwick::k8s::schemas;
use bailiwick::k8s::stored::{StoredForm, server_owned, to_stored};
use bailiwick::k8s::validation::{self, FieldError};
use bailiwick::yaml::schema::{ProblemKind, to_json};
use bailiwick::yaml::{self, NodeRef, Tree};
use serde_json::Value as Json;
use serde_yaml::Value;

use super::{assert_none, string, table};

/// Kinds whose rules are not written yet, with the number of their cases.
const LEFT_OUT: [(&str, usize); 3] = [("Secret", 1), ("Deployment", 1), ("CronJob", 2)];

/// Refused for the type of an expression; types are not looked at here.
const NOT_COMPILED: [&str; 0] = [];

/// Returns the rows of both tables.
fn recorded_cases() -> Vec<Value> {
    let tables = [include_str!("validation-cases.yaml"), include_str!("admission-policy-cases.yaml")];
    tables.iter().flat_map(|text| table(text)["cases"].as_sequence().unwrap().clone()).collect()
}

/// Recorded as refused by the decoder, for no reason that the manifest shows; here the rules refuse it.
const REFUSED_LATER: &str = "owner-two-controllers";

#[test]
fn every_manifest_gets_the_verdict_recorded() {
    let cases = recorded_cases();
    assert!(cases.len() >= 369, "{}", cases.len());
    let mut failures = Vec::new();
    let mut left_out = LEFT_OUT.map(|(kind, _)| (kind, 0));
    for case in &cases {
        if let Some(entry) = left_out.iter_mut().find(|(kind, _)| *kind == string(case, "kind")) {
            entry.1 += 1;
            continue;
        }
        if NOT_COMPILED.contains(&string(case, "id")) {
            assert!(verdict(case).is_err(), "{} is refused now: take it off the list", string(case, "id"));
        } else if let Err(difference) = verdict(case) {
            failures.push(format!("{}: {difference}", string(case, "id")));
        }
    }
    assert_eq!(left_out, LEFT_OUT);
    assert_none(&failures);
}

#[test]
fn the_stored_form_is_its_own_stored_form_and_still_valid() {
    let mut failures = Vec::new();
    let mut checked = 0;
    for case in &recorded_cases() {
        let left_out = LEFT_OUT.iter().any(|(kind, _)| *kind == string(case, "kind"));
        if left_out || case["valid"].as_bool() != Some(true) {
            continue;
        }
        checked += 1;
        let old = case.get("old").and_then(Value::as_str).map(Object::read);
        for form in [StoredForm::Stored, StoredForm::Explicit] {
            let mut object = Object::read(string(case, "manifest"));
            object.fill_namespace();
            object.store(form);
            let once = object.json().to_string();
            object.store(form);
            let twice = object.json().to_string();
            if twice != once {
                failures.push(format!("{}: {form:?} is not a fixpoint: {once}", string(case, "id")));
            }
            let problems = object.schema_problems();
            let errors = object.rule_errors(old.as_ref(), 36);
            if !problems.is_empty() || !errors.is_empty() {
                failures.push(format!("{}: {form:?}: {problems:?} {errors:?}", string(case, "id")));
            }
        }
    }
    assert!(checked >= 128, "{checked}");
    assert_none(&failures);
}

/// Cases of this repository: old and new object, minor, errors (`pkg/apis/*/validation` of Kubernetes).
#[test]
fn an_update_is_judged_by_what_it_changes() {
    let namespace = |level: &str, other: &str| {
        format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: a, labels: {{\
             pod-security.kubernetes.io/enforce: {level}, other: {other}}}}}}}"
        )
    };
    let quota = |scopes: &str| {
        format!(
            "{{apiVersion: v1, kind: ResourceQuota, metadata: {{name: a}}, spec: {{hard: {{}}, scopes: {scopes}}}}}"
        )
    };
    let role = |value: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: a}}, aggregationRule: \
             {{clusterRoleSelectors: [{{matchExpressions: [{{key: k, operator: In, values: [{value}]}}]}}]}}}}"
        )
    };
    let selector = "aggregationRule.clusterRoleSelectors[0]";
    let rows = [
        (namespace("strict", "x"), namespace("strict", "y"), 36, vec![]),
        (
            namespace("baseline", "x"),
            namespace("strict", "x"),
            36,
            vec![pair("invalid", "metadata.labels[pod-security.kubernetes.io/enforce]")],
        ),
        (quota("[BestEffort, PriorityClass]"), quota("[PriorityClass, BestEffort]"), 36, vec![]),
        (quota("[BestEffort]"), quota("[]"), 36, vec![pair("invalid", "spec.scopes")]),
        (role("a b"), role("c d"), 36, vec![]),
        (
            role("a"),
            role("c d"),
            36,
            vec![pair("invalid", selector), pair("invalid", &format!("{selector}.matchExpressions[0].values[0]"))],
        ),
        (role("a"), role("c d"), 25, vec![pair("invalid", selector)]),
    ];
    for (old, new, minor, expected) in rows {
        let mut found: Vec<_> = Object::read(&new)
            .rule_errors(Some(&Object::read(&old)), minor)
            .iter()
            .map(|error| pair(error.kind.id(), &error.path))
            .collect();
        found.sort();
        assert_eq!(found, expected, "{new}");
    }
}

/// A case of this repository: an error names the wrong bytes and the right form.
#[test]
fn an_error_points_and_teaches() {
    let rows = [
        ("kind: Rolle", "did you mean `Role`?", "roleRef: {kind: Rolle, name: a}"),
        ("ann/x", "any text without `/` and `%`, such as `team-a:reader`", "metadata: {name: ann/x}"),
    ];
    for (wrong, help, part) in rows {
        let other = if part.starts_with("roleRef") { "metadata: {name: a}" } else { "roleRef: {kind: Role, name: a}" };
        let text = format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n{part}\n{other}\n");
        let object = Object::read(&text);
        let errors = object.rule_errors(None, 36);
        assert_eq!(errors.len(), 1, "{errors:?}");
        let span = object.tree.at(errors[0].node).span();
        assert_eq!(text.get(span.start as usize..span.end as usize), wrong.split(": ").last());
        assert_eq!(errors[0].help.as_deref(), Some(help));
    }
}

/// No value in the place of any node causes a panic, and the stored form is a fixpoint.
#[test]
fn a_value_of_another_type_does_no_harm_anywhere() {
    let mut tried = 0;
    for case in recorded_cases().iter().filter(|case| string(case, "manifest").len() < 2000) {
        let original = Object::read(string(case, "manifest"));
        let Some(root) = original.tree.document(0) else { continue };
        let mut nodes = vec![root];
        let mut next = 0;
        while let Some(node) = nodes.get(next).copied() {
            nodes.extend(node.items());
            nodes.extend(node.entries().map(|(_, value)| value));
            next += 1;
        }
        for node in nodes {
            for replacement in ["null", "number", "string", "list", "map"] {
                let mut object = Object { tree: original.tree.clone(), reading: Vec::new() };
                match replacement {
                    "null" => object.tree.set(node.id(), yaml::NodeValue::Null),
                    "number" => object.tree.set(node.id(), yaml::NodeValue::Int(-3)),
                    "string" => object.tree.set_string(node.id(), "-3"),
                    "list" => object.tree.set_items(node.id(), &[]),
                    _ => object.tree.set_entries(node.id(), &[]),
                }
                object.rule_errors(Some(&original), 24).iter().for_each(|error| well_worded(error).unwrap());
                object.store(StoredForm::Stored);
                let once = object.json().to_string();
                object.store(StoredForm::Stored);
                assert_eq!(object.json().to_string(), once, "{}: {replacement}", string(case, "id"));
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 28_720);
}

/// Compares all that is recorded of a case.
fn verdict(case: &Value) -> Result<(), String> {
    let minor = string(case, "target").strip_prefix("1.").and_then(|minor| minor.parse().ok()).unwrap();
    let old = case.get("old").and_then(Value::as_str).map(Object::read);
    let mut object = Object::read(string(case, "manifest"));
    object.fill_namespace();
    let problems = object.schema_problems();
    let errors = object.rule_errors(old.as_ref(), minor);
    for error in &errors {
        well_worded(error)?;
    }
    let malformed = object.reading.iter().any(|code| *code != codes::DUPLICATE_KEY)
        || problems.iter().any(|(kind, _)| *kind != ProblemKind::UnknownField);
    let mut found: Vec<(String, String)> = errors.iter().map(|error| pair(error.kind.id(), &error.path)).collect();
    found.extend(
        problems
            .iter()
            .filter(|(kind, _)| *kind == ProblemKind::UnknownField)
            .map(|(_, path)| pair("unknown-field", path)),
    );
    // The recorded path of a doubled key is the key alone.
    found.extend(
        object.reading.iter().filter(|code| **code == codes::DUPLICATE_KEY).map(|_| pair("duplicate-key", "name")),
    );
    found.sort();
    if case["valid"].as_bool() == Some(true) {
        if malformed || !found.is_empty() {
            return Err(format!("valid, but found {found:?} {problems:?} {:?}", object.reading));
        }
        return stored_as_recorded(case, object);
    }
    match string(case, "stage") {
        "decode" | "admission:DefaultSCC" if string(case, "id") == REFUSED_LATER => {
            (!found.is_empty()).then_some(()).ok_or_else(|| "accepted".to_owned())
        }
        "decode" | "admission:DefaultSCC" => malformed.then_some(()).ok_or_else(|| format!("decoded, found {found:?}")),
        "strict" | "validation" | "update" | "admission:PodSecurity" | "admission:ValidateSCC" => {
            let expected = recorded(case);
            (found == expected).then_some(()).ok_or_else(|| format!("expected {expected:?}, found {found:?}"))
        }
        stage => Err(format!("unknown stage {stage}")),
    }
}

fn recorded(case: &Value) -> Vec<(String, String)> {
    let mut errors: Vec<(String, String)> = case["errors"]
        .as_sequence()
        .unwrap()
        .iter()
        .map(|error| pair(string(error, "type"), string(error, "field")))
        .collect();
    errors.sort();
    errors
}

fn pair(kind: &str, path: &str) -> (String, String) {
    (kind.to_owned(), path.to_owned())
}

fn stored_as_recorded(case: &Value, mut object: Object) -> Result<(), String> {
    let Some(persisted) = case.get("persisted") else { return Ok(()) };
    let expected: Json = serde_json::to_value(persisted).map_err(|error| error.to_string())?;
    object.store(StoredForm::Stored);
    let root = object.root().id();
    server_owned(&mut object.tree, root);
    let (expected, found) = (without_nulls(expected), without_nulls(object.json()));
    (expected == found).then_some(()).ok_or_else(|| format!("stored as\n  {found}, recorded\n  {expected}"))
}

/// Returns a live object without its null values, which the committed form does not have.
fn without_nulls(value: Json) -> Json {
    match value {
        Json::Object(members) => Json::Object(
            members
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        Json::Array(items) => items.into_iter().map(without_nulls).collect(),
        plain => plain,
    }
}

/// Checks the grammar of messages: lower case, one line, no final stop.
fn well_worded(error: &FieldError) -> Result<(), String> {
    let lines = [Some(&error.message), error.help.as_ref()];
    for line in lines.into_iter().flatten() {
        let fits = !line.is_empty()
            && !line.contains('\n')
            && !line.ends_with('.')
            && !line.chars().next().is_some_and(char::is_uppercase)
            && line.matches('`').count() % 2 == 0;
        if !fits {
            return Err(format!("badly worded: {line:?}"));
        }
    }
    Ok(())
}

/// A manifest, as far as it could be read.
struct Object {
    tree: Tree,
    reading: Vec<Code>,
}

impl Object {
    fn read(manifest: &str) -> Self {
        let (files, mut sink) = (Files::new(), Sink::new());
        let text = repeated(manifest);
        let file = files.add("manifest.yaml", text.as_str());
        let tree = yaml::read(&text, file, &mut sink);
        let reading = sink.into_sorted(&files).iter().map(|diagnostic| diagnostic.code).collect();
        Self { tree, reading }
    }

    fn root(&self) -> NodeRef<'_> {
        self.tree.document(0).expect("a document")
    }

    fn text(&self, key: &str) -> String {
        self.tree.document(0).and_then(|root| root.get(key)?.as_str()).unwrap_or_default().to_owned()
    }

    /// Writes the namespace of the request, as kubectl would.
    fn fill_namespace(&mut self) {
        let namespaced =
            schemas::find(&self.text("apiVersion"), &self.text("kind")).is_some_and(|kind| kind.namespaced);
        let Some(metadata) = self.tree.document(0).and_then(|root| root.get("metadata")) else { return };
        if !namespaced || !metadata.is_map() || metadata.get("namespace").is_some() {
            return;
        }
        let (id, span) = (metadata.id(), metadata.span());
        let mut entries: Vec<_> = metadata.entries().map(|(key, value)| (key.id(), value.id())).collect();
        entries.push((self.tree.add_string("namespace", span), self.tree.add_string("default", span)));
        self.tree.set_entries(id, &entries);
    }

    /// Returns the problems by the schema of the kind; an unknown kind is one problem of its own.
    fn schema_problems(&self) -> Vec<(ProblemKind, String)> {
        if self.tree.document(0).is_none() {
            return Vec::new();
        }
        // A misspelt field name is reported, although the kind cannot be determined without the field.
        let api_version = [self.text("apiVersion"), self.text("apiversion")].into_iter().find(|text| !text.is_empty());
        let schema = schemas::schema_of(&api_version.unwrap_or_default(), &self.text("kind"));
        let Some(schema) = schema else { return vec![(ProblemKind::MissingField, "kind".to_owned())] };
        schema.problems(self.root()).into_iter().map(|problem| (problem.kind, problem.path)).collect()
    }

    fn rule_errors(&self, old: Option<&Object>, minor: u32) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if self.tree.document(0).is_some() {
            validation::check(self.root(), old.map(Object::root), minor, &mut errors);
        }
        errors
    }

    fn store(&mut self, form: StoredForm) {
        let root = self.root().id();
        to_stored(&mut self.tree, root, form);
    }

    fn json(&self) -> Json {
        to_json(self.root())
    }
}

/// Writes out `%REPEAT(c,n)%`.
fn repeated(manifest: &str) -> String {
    let mut text = manifest.to_owned();
    while let Some((before, rest)) = text.split_once("%REPEAT(") {
        let (call, after) = rest.split_once(")%").expect("a closed call");
        let (piece, count) = call.split_once(',').expect("two arguments");
        text = format!("{before}{}{after}", piece.repeat(count.parse().expect("a number")));
    }
    text
}
