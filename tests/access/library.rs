//! The library itself, put to the tables and to its opponent.

use std::cell::RefCell;

use bailiwick::access::{Builder, Identity, Request, ResourceRequest, World};
use bailiwick::app::file_format::FileFormat;
use bailiwick::ask::Connection;
use bailiwick::diag::{Files, Sink};
use serde_json::{Value, json};

use super::{Evaluator, assert_tables};
use crate::oracle::{Naive, duel};

/// The random worlds on which the two evaluators are compared.
const SEEDS: std::ops::Range<u64> = 1000..1300;

pub(crate) struct Library {
    connection: RefCell<Connection>,
}

impl Library {
    pub(crate) fn new() -> Self {
        Self { connection: RefCell::new(Connection::new(Builder::new(36).build(), false)) }
    }
}

impl Evaluator for Library {
    fn world(&mut self, objects: &[Value], baseline: Option<&str>) {
        let question = json!({ "world": { "objects": objects, "baseline": baseline } });
        self.connection.get_mut().answer(&question).expect("a world");
    }

    fn ask(&self, question: &Value) -> Value {
        self.connection.borrow_mut().answer(question).unwrap_or_else(|problem| json!({ "error": problem.to_string() }))
    }
}

#[test]
fn the_library_answers_every_table() {
    assert_tables(&mut Library::new());
}

#[test]
fn the_library_agrees_with_its_opponent() {
    match duel(&mut Naive::default(), &mut Library::new(), SEEDS) {
        Ok(asked) => assert!(asked > 10_000, "only {asked} questions"),
        Err(difference) => panic!("{difference}"),
    }
    assert_eq!(bailiwick::yaml::internal::first(), None);
}

/// Opens an index file.
fn open(bytes: &[u8], files: &Files) -> Result<World, String> {
    let snapshot = FileFormat::INDEX.open(bytes).map_err(|broken| broken.to_string())?;
    World::restore(snapshot, files).map_err(|inconsistent| inconsistent.to_string())
}

/// A world that is restored from a file gives the same answers and places, and a shortened file is refused.
#[test]
fn a_kept_world_answers_as_before() {
    let manifests = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widgets, labels: {rbac.authorization.k8s.io/aggregate-to-edit: \"true\"}}
rules: [{apiGroups: [example.com], resources: [widgets], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: app}]
";
    let files = Files::new();
    let id = files.add("world.yaml", manifests);
    let tree = bailiwick::yaml::read(manifests, id, &mut Sink::new());
    let mut builder = Builder::new(36).with_default_policy(36);
    tree.documents().for_each(|document| builder.add_document(document, |_, _| {}));
    let world = builder.build();
    let bytes = FileFormat::INDEX.close(&world.snapshot(&files)).expect("room");
    let loaded_files = Files::new();
    let loaded = open(&bytes, &loaded_files).expect("what was saved");

    let who = Identity::from_user("system:serviceaccount:a:app");
    let widget = world.find_resource("widget").expect("its definition is there");
    assert_eq!(loaded.find_resource("widget"), Ok(widget.clone()));
    let request = |namespace: &str| {
        Request::Resource(ResourceRequest {
            verb: "get".to_owned(),
            group: widget.group.clone(),
            resource: widget.resource.clone(),
            namespace: namespace.to_owned(),
            name: "w".to_owned(),
            ..ResourceRequest::default()
        })
    };
    for namespace in ["a", "b"] {
        let decision = world.decide(&who, &request(namespace));
        assert_eq!(decision, loaded.decide(&who, &request(namespace)));
        assert_eq!(decision.allowed, namespace == "a");
    }
    let chains = loaded.chains(&who, &loaded.decide(&who, &request("a")));
    let place = chains[0].binding.place.expect("its document");
    assert_eq!(loaded_files.get(place.file).path(), "world.yaml");
    assert_eq!(loaded_files.get(place.file).line_column(place.span.start).line, 11);
    assert_eq!(chains[0].rules[0].gathered_from[0].name, "ClusterRole/widgets");

    for cut in [bytes.len() - 1, bytes.len() / 2, FileFormat::INDEX.mark_length(), 3] {
        assert!(open(&bytes[..cut], &Files::new()).is_err(), "cut at {cut}");
    }
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    assert!(open(&changed, &Files::new()).is_err());
}
