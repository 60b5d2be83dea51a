//! A world without the objects that a question about one request does not need has the same answer as the whole world.

use bailiwick::access::who_can::{Capable, Where, WhoCan};
use bailiwick::access::{Builder, ObjectSource, Request, ResourceRequest, UrlRequest, World};
use bailiwick::diag::{FileId, Sink};
use bailiwick::yaml::{NodeRef, Tree};
use serde_json::{Value, json};

use crate::oracle::Dice;

const WORLDS: u64 = 4_000;
const NAMESPACES: [&str; 3] = ["a", "b", "default"];
const RBAC: &str = "rbac.authorization.k8s.io/v1";
const OPENSHIFT: &str = "authorization.openshift.io/v1";

fn tree(object: &Value) -> Tree {
    bailiwick::yaml::read(&object.to_string(), FileId::default(), &mut Sink::new())
}

fn list<'l>(dice: &mut Dice, lists: &[&'l [&'l str]]) -> Value {
    json!(dice.pick(lists))
}

fn rule(dice: &mut Dice) -> Value {
    let mut rule = json!({
        "verbs": list(dice, &[&["get"], &["*"], &["list", "watch"], &[]]),
        "apiGroups": list(dice, &[&[""], &["apps"], &["*"], &["apps", ""]]),
        "resources": list(dice, &[&["pods"], &["pods/log"], &["*/log"], &["*"], &["logs", "pods"]]),
    });
    if dice.chance(25) {
        rule["resourceNames"] = list(dice, &[&["x"], &[], &["y", "x"], &["y"]]);
    }
    if dice.chance(10) {
        rule["nonResourceURLs"] = json!(["/logs/*"]);
    }
    if dice.chance(5) {
        rule["attributeRestrictions"] = json!({"kind": "any"});
    }
    rule
}

/// Returns objects of a few names, so that bindings often have their role.
fn objects(dice: &mut Dice) -> Vec<Value> {
    (0..2 + dice.below(10))
        .map(|number| {
            let namespace = dice.pick(&NAMESPACES);
            let version = if dice.chance(85) { RBAC } else { OPENSHIFT };
            let role = format!("r{}", dice.below(3));
            match dice.below(5) {
                0 => json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": role}, "rules": [rule(dice)]}),
                1 | 2 => {
                    let rules: Vec<Value> = (0..dice.below(3)).map(|_| rule(dice)).collect();
                    let metadata = match namespace {
                        "default" => json!({"name": role}),
                        _ => json!({"name": role, "namespace": namespace}),
                    };
                    json!({"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules})
                }
                _ => {
                    let kind = dice.pick(&["Role", "Role", "ClusterRole"]);
                    let mut role_ref = json!({"kind": kind, "name": role});
                    if kind == "Role" && version == OPENSHIFT {
                        role_ref["namespace"] = json!(namespace);
                    }
                    json!({
                        "apiVersion": version, "kind": "RoleBinding",
                        "metadata": {"name": format!("b{number}"), "namespace": namespace}, "roleRef": role_ref,
                        "subjects": [{"kind": "User", "name": format!("u{}", dice.below(3))}],
                    })
                }
            }
        })
        .collect()
}

fn request(dice: &mut Dice) -> Request {
    if dice.chance(10) {
        return Request::Url(UrlRequest { verb: "get".to_owned(), path: "/logs/x".to_owned() });
    }
    Request::Resource(ResourceRequest {
        verb: dice.pick(&["get", "list", "update"]).to_owned(),
        group: dice.pick(&["", "apps"]).to_owned(),
        resource: "pods".to_owned(),
        subresource: dice.pick(&["", "log"]).to_owned(),
        name: dice.pick(&["", "x"]).to_owned(),
        namespace: dice.pick(&["", "a"]).to_owned(),
        ..ResourceRequest::default()
    })
}

/// Builds the world of objects above a baseline; with a request, of the objects that it needs. Returns the number of left out objects.
fn world(baseline: &[Tree], given: &[Tree], request: Option<&Request>) -> (World, usize) {
    let mut builder = Builder::new(36);
    let add = |builder: &mut Builder, object: NodeRef<'_>| builder.add(object, ObjectSource::Input(object.origin()));
    baseline.iter().flat_map(Tree::documents).for_each(|object| _ = add(&mut builder, object));
    builder.end_baseline();
    let objects: Vec<NodeRef<'_>> = given.iter().flat_map(Tree::documents).collect();
    let needed = match request {
        Some(request) => builder.filter_for(request).expect("a filter").needed(&objects),
        None => vec![true; objects.len()],
    };
    let left_out = needed.iter().filter(|is_needed| !**is_needed).count();
    objects
        .iter()
        .zip(needed)
        .filter(|(_, is_needed)| *is_needed)
        .for_each(|(object, _)| _ = add(&mut builder, *object));
    (builder.build(), left_out)
}

/// Returns an answer with the names of bindings in place of their numbers.
fn named(found: &WhoCan, world: &World) -> Vec<String> {
    let binding = |capable: &Capable| capable.binding.and_then(|id| world.binding_link_of(id)).map(|link| link.name);
    let capable = found.capable(world).map(|capable| format!("{capable:?} {:?}", binding(&capable)));
    let missing = found.missing.iter().map(|missing| format!("{missing} {}", missing.bound_by));
    capable.map(|line| without_number(&line)).chain(missing).collect()
}

fn without_number(line: &str) -> String {
    let (start, rest) = line.split_once("binding:").expect("a binding");
    format!("{start}{}", rest.split_once('}').expect("an end").1)
}

#[test]
fn objects_that_are_not_needed_do_not_change_the_answer() {
    let (mut left_out, mut answers) = (0, 0);
    for seed in 0..WORLDS {
        let dice = &mut Dice::new(seed);
        let baseline: Vec<Tree> =
            if dice.chance(30) { objects(dice).iter().take(3).map(tree).collect() } else { Vec::new() };
        let given: Vec<Tree> = objects(dice).iter().map(tree).collect();
        let request = request(dice);
        let (whole, _) = world(&baseline, &given, None);
        let (asked, without) = world(&baseline, &given, Some(&request));
        left_out += without;
        for place in [Where::Everywhere, Where::AsRequested] {
            let (expected, found) = (whole.who_can(&request, place), asked.who_can(&request, place));
            assert_eq!(named(&found, &asked), named(&expected, &whole), "{request:?} {place:?}, seed {seed}");
            answers += expected.capable(&whole).count() - 1;
        }
    }
    assert!(left_out > 5_000 && answers > 500, "{left_out} objects left out, {answers} answers");
}
