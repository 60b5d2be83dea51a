//! Escalation paths of an identity.
//!
//! The recorded row of Toolforge lists the paths that need the API alone: another identity, another certificate,
//! permissions for others. The account has further paths through pods, secrets and policies. The paths of the row must
//! come first, literally and in its order, and the other paths are recorded beside it.

use bailiwick::access::Identity;
use bailiwick::ask::Connection;
use serde_json::{Value, json};

use super::risk::world;
use super::semantics::long_objects;
use super::{documents, rows, table, text};
use crate::support::reference;

fn cases() -> Vec<Value> {
    let table = json!({"cases": table(include_str!("paths.yaml"))});
    rows(&table, "cases").to_vec()
}

#[test]
fn paths_are_those_of_the_rows() {
    let mut wrong = Vec::new();
    for row in cases().iter().filter(|row| row.get("objects").is_some()) {
        let world = world(&long_objects(rows(row, "objects")), 36, false);
        let mut question = json!({"user": row["user"]});
        if let Some(groups) = row.get("groups") {
            question["groups"] = groups.clone();
        }
        let mut connection = Connection::new(world, true);
        let answer = connection.answer(&json!({"escalation": question})).expect("an answer");
        if answer["paths"] != row["paths"] {
            wrong.push(format!("{}: {}", text(row, "id"), answer["paths"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn a_maintainer_can_become_what_was_recorded() {
    for row in cases().iter().filter(|row| text(row, "kind") == "escalation") {
        let file = reference().join(text(&row["input"], "file"));
        let objects = documents(&std::fs::read_to_string(file).expect("a manifest"));
        // The roles of other objects, `view` among them, are the roles of Toolforge's version.
        let world = world(&objects, 21, true);
        let who = Identity::from_user(text(&row["expect"], "subject"));
        let found: Vec<Value> = world
            .escalation_paths(&who)
            .into_iter()
            .inspect(|path| assert!(!path.links.is_empty() && !path.links.iter().any(|link| link.rules.is_empty())))
            .map(|path| json!({"via": path.via, "to": path.to}))
            .collect();
        let expected = [rows(&row["expect"], "paths"), rows(row, "further")].concat();
        assert_eq!(found, expected, "{}", text(row, "id"));
    }
}
