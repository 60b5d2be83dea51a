//! The resources of each version, and the effect of a role's grants there.

use std::collections::BTreeSet;

use bailiwick::diag::{Files, Sink};
use bailiwick::k8s::catalogue::{Catalogue, Served};
use bailiwick::k8s::grants::{Effect, Grant, grants};
use bailiwick::yaml;
use serde_yaml::Value;

use super::{assert_none, string, table};

#[test]
fn kinds_are_served_as_recorded() {
    let table = table(include_str!("served-cases.yaml"));
    let rows = table["kinds"].as_sequence().unwrap();
    assert!(rows.len() >= 62, "{}", rows.len());
    let mut failures = Vec::new();
    for row in rows {
        let found = Catalogue::get().kind(minor(row, "minor"), string(row, "apiVersion"), string(row, "kind"));
        if word(found) != string(row, "served") {
            failures.push(format!("{row:?}: {found:?}"));
        }
    }
    assert_none(&failures);
}

#[test]
fn resources_are_served_as_recorded() {
    let table = table(include_str!("served-cases.yaml"));
    let rows = table["resources"].as_sequence().unwrap();
    assert!(rows.len() >= 77, "{}", rows.len());
    let mut failures = Vec::new();
    for row in rows {
        let found = Catalogue::get().presence(minor(row, "minor"), string(row, "group"), string(row, "resource"));
        let versions: Vec<&str> =
            row.get("versions").and_then(Value::as_sequence).into_iter().flatten().filter_map(Value::as_str).collect();
        if word(found.served) != string(row, "served") || found.versions != versions {
            failures.push(format!("{row:?}: {found:?}"));
        }
    }
    assert_none(&failures);
}

/// Toolforge grants every verb on everything; most of the grants match nothing, and the number falls with every
/// version.
#[test]
fn the_role_of_seed_000_is_live_as_far_as_recorded() {
    let text = include_str!("role-served.yaml");
    let table = table(text);
    let (files, mut sink) = (Files::new(), Sink::new());
    let tree = yaml::read(text, files.add("role-served.yaml", text), &mut sink);
    let rules = tree.document(0).and_then(|root| root.get("rules")).unwrap();
    let all = grants(rules);
    let versions = table["expect"].as_sequence().unwrap();
    assert_eq!(versions.len(), 5);
    for expected in versions {
        let version = string(expected, "k8s");
        let with = |effect| -> Vec<Grant<'_>> {
            let minor = minor(expected, "k8s");
            all.iter().filter(|grant| grant.effect(Catalogue::get(), minor) == effect).copied().collect()
        };
        let (live, dead, unserved) = (with(Effect::Live), with(Effect::DeadVerb), with(Effect::NotServed));
        let counts = ["grants", "live", "deadVerb", "notServed"].map(|key| expected[key].as_u64().unwrap() as usize);
        assert_eq!([all.len(), live.len(), dead.len(), unserved.len()], counts, "{version}");
        let dead: BTreeSet<String> = dead.iter().map(|grant| format!("{}:{}", named(grant), grant.verb)).collect();
        assert_eq!(dead, words(expected, "deadVerbs"), "{version}");
        let unserved: BTreeSet<String> = unserved.iter().map(named).collect();
        assert_eq!(unserved, words(expected, "notServedResources"), "{version}");
    }
}

fn named(grant: &Grant<'_>) -> String {
    format!("{}/{}", if grant.group.is_empty() { "core" } else { grant.group }, grant.resource)
}

fn words(row: &Value, key: &str) -> BTreeSet<String> {
    row[key].as_sequence().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

fn minor(row: &Value, key: &str) -> u32 {
    string(row, key).strip_prefix("1.").and_then(|minor| minor.parse().ok()).unwrap()
}

fn word(served: Served) -> &'static str {
    match served {
        Served::Yes => "yes",
        Served::Off => "off",
        Served::No => "no",
    }
}
