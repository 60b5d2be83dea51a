//! Risk rules: a table with findings and with their absence for each rule.

use std::collections::BTreeSet;

use bailiwick::access::risk::{self, RiskContext, RiskOptions, RiskRule, RiskSeverity, Tenants};
use bailiwick::access::who_can::PermissionScope;
use bailiwick::access::{Builder, ObjectSource, World};
use bailiwick::diag::{FileId, Origin, Span};
use bailiwick::yaml;
use serde_json::{Value, json};

use super::semantics::{long_objects, long_rules};
use super::{rows, table, text};

/// Returns a world of objects, each at a place of its own.
pub(crate) fn world(objects: &[Value], minor: u32, baseline: bool) -> World {
    let mut builder = Builder::new(minor);
    if baseline {
        builder = builder.with_default_policy(minor);
    }
    for (position, object) in objects.iter().enumerate() {
        let tree = yaml::from_json(object);
        let origin = Origin { file: FileId::default(), span: Span::new(position, position + 1) };
        _ = builder.add(tree.document(0).expect("an object"), ObjectSource::Input(origin));
    }
    builder.build()
}

/// Returns the objects of a row: each rule in a role of its own, so that what belongs together comes from several bindings.
fn objects(row: &Value) -> Vec<Value> {
    let mut objects = long_objects(row.get("objects").and_then(Value::as_array).map_or(&[], Vec::as_slice));
    let namespace = row.get("in").and_then(Value::as_str).unwrap_or("n1");
    for (key, kind) in [("wide", "ClusterRoleBinding"), ("here", "RoleBinding")] {
        let rules = row.get(key).map(long_rules).unwrap_or_default();
        for (position, rule) in rules.into_iter().enumerate() {
            let name = format!("{key}-{position}");
            let mut metadata = json!({"name": name});
            objects.push(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule],
            }));
            if key == "here" {
                metadata["namespace"] = json!(namespace);
            }
            objects.push(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
            }));
        }
    }
    objects
}

fn cases() -> Vec<Value> {
    let table = json!({"cases": table(include_str!("risk.yaml"))});
    rows(&table, "cases").to_vec()
}

fn rules_of(row: &Value) -> Vec<&'static RiskRule> {
    text(row, "rule").split(',').map(|id| risk::of_id(id).unwrap_or_else(|| panic!("no rule {id}"))).collect()
}

fn rows_of_numbers(row: &Value, key: &str) -> Vec<u64> {
    row.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect()
}

#[test]
fn rules_say_what_the_table_says() {
    let mut wrong = Vec::new();
    for row in cases() {
        let minor = row.get("minor").and_then(Value::as_u64).map_or(36, |minor| minor as u32);
        let world = world(&objects(&row), minor, row.get("baseline").is_some());
        let options = RiskOptions { rules: rules_of(&row), apart: true, one_per_cause: false };
        // The objects of these positions belong to Tenancies.
        let own = rows_of_numbers(&row, "own");
        let is_own = |place: Origin| own.contains(&u64::from(place.span.start));
        let mut tenants = Tenants::new(&is_own, &|_, _| false);
        for (namespace, tenant) in row.get("tenants").and_then(Value::as_object).into_iter().flatten() {
            tenants.add(0, tenant.as_str().expect("a name"), namespace);
        }
        let mut found: Vec<String> = Vec::new();
        for finding in world.findings_among(RiskContext { tenants: Some(&tenants), ..RiskContext::default() }, &options)
        {
            for affected in &finding.first {
                let scope = match &affected.scope {
                    PermissionScope::Cluster => "cluster",
                    PermissionScope::Namespace(namespace) => namespace,
                };
                found.push(format!("{} {scope}", finding.severity));
            }
            let message = finding.message();
            let is_fine = !message.contains(['{', '[']) && !message.ends_with('.') && finding.place.is_some();
            if !is_fine || (finding.rule.condition().is_some() && finding.proof.is_empty()) {
                wrong.push(format!("{}: {finding:?}", text(&row, "rule")));
            }
        }
        found.sort();
        if json!(found) != row["found"] {
            wrong.push(format!("{row}\n    found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case_for_and_a_case_against() {
    let (mut told, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for row in cases() {
        let rules = rules_of(&row);
        match rows(&row, "found") {
            [] => silent.extend(rules.iter().map(|rule| rule.id)),
            _ => told.extend(rules.iter().map(|rule| rule.id)),
        }
    }
    let missing: Vec<&str> =
        risk::all().map(|rule| rule.id).filter(|id| !told.contains(id) || !silent.contains(id)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn rules_are_there_once_with_a_code_of_their_own() {
    let mut seen = BTreeSet::new();
    for rule in risk::all() {
        assert!(seen.insert(rule.id.to_owned()) && seen.insert(rule.code.id().to_owned()), "{} twice", rule.id);
        assert!(rule.cluster.is_some() || matches!(rule.id, "B016" | "E016"), "{}", rule.id);
        assert!(!rule.help.ends_with('.') && !rule.predicate.ends_with('.'), "{}", rule.id);
    }
}

/// Severities are equal to the severities of the catalogue.
#[test]
fn severities_are_those_of_the_catalogue() {
    let catalogue = table(include_str!("severities.yaml"));
    let catalogue = catalogue.as_object().expect("severities by rule");
    let letter = |severity: Option<RiskSeverity>| match severity {
        Some(RiskSeverity::Critical) => "C",
        Some(RiskSeverity::High) => "H",
        Some(RiskSeverity::Medium) => "M",
        Some(RiskSeverity::Low) => "L",
        Some(RiskSeverity::Info) => "I",
        None => "-",
    };
    // Rows of the catalogue without a rule of their own: another rule includes them, or more than RBAC decides them.
    let is_elsewhere = |id: &str| id.starts_with('X') || matches!(id, "B009" | "D012" | "D013" | "D017" | "T003");
    let is_missing = |id: &&String| !is_elsewhere(id) && risk::all().all(|rule| rule.id != **id);
    let missing: Vec<&String> = catalogue.keys().filter(is_missing).collect();
    assert!(missing.is_empty(), "rows of the catalogue without a rule: {missing:?}");
    // The catalogue has no rule for these.
    let is_ours = |rule: &&RiskRule| matches!(rule.id, "B019" | "D018" | "D019" | "E024");
    for rule in risk::all().filter(|rule| !is_ours(rule)) {
        let written = catalogue.get(rule.id).and_then(Value::as_str);
        let written = written.unwrap_or_else(|| panic!("{} is not in the catalogue", rule.id));
        let own = format!("{}/{}", letter(rule.cluster), letter(rule.namespace));
        let expected = match (rule.id, written) {
            // The catalogue forgets that a group may be added to an account of one namespace.
            ("E005", _) => "C/C",
            (_, "by content" | "by rule") => "-/-",
            // The family T has one severity.
            (_, "C") => "C/C",
            (_, "H") => "H/H",
            (_, "M") => "M/M",
            _ => written,
        };
        assert_eq!(own, expected, "{}", rule.id);
    }
}

/// Tenants of one class are one finding with a count, whatever their names are.
#[test]
fn what_is_alike_is_told_once() {
    let mut objects = Vec::new();
    for tenant in 0..50 {
        let namespace = format!("tenant-{tenant:02}");
        objects.extend(long_objects(&[
            json!({"R": "own", "ns": namespace, "rules": [[[""], ["secrets"], ["get"], [namespace]], [[""], ["pods"], ["create"]]]}),
            json!({"RB": "own", "ns": namespace, "role": "R/own", "subjects": [format!("User:{namespace}")]}),
        ]));
    }
    let world = world(&objects, 36, false);
    let options = RiskOptions {
        rules: ["S001", "W001"].iter().filter_map(|id| risk::of_id(id)).collect(),
        apart: false,
        one_per_cause: false,
    };
    let findings = world.findings(&options);
    let told: Vec<(usize, String)> = findings.iter().map(|finding| (finding.count, finding.message())).collect();
    let shown = "can run pods with any service account, Secret and ConfigMap";
    assert_eq!(
        told,
        [
            (50, format!("`User/tenant-00` {shown}, in namespace `tenant-00`")),
            (50, "`User/tenant-00` can read Secrets, in namespace `tenant-00`".to_owned()),
        ]
    );
}
