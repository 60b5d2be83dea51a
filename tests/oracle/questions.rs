//! Random questions about random worlds: most are aimed at a rule that is there, and some of them then miss.

use serde_json::{Value, json};

use super::aggregate::settle;
use super::cover::atoms;
use super::decide::role_at;
use super::read::{RBAC, items, name, namespace, strings, text};
use super::worlds::{
    API_GROUPS, Dice, GROUPS, NAMES, NAMESPACES, RESOURCES, ROLE_NAMES, URLS, USERS, VERBS, binding, cluster_role,
    rule, rules, subject,
};

/// Returns a question of any kind.
pub(crate) fn question(dice: &mut Dice, objects: &[Value]) -> Value {
    match dice.below(100) {
        0..45 => can_i(dice, objects),
        45..55 => {
            let mut question = can_i(dice, objects)["can-i"].take();
            let line = match written_out(&question) {
                Some(line) if dice.chance(70) => line,
                _ => http(dice),
            };
            question.as_object_mut().into_iter().for_each(|map| map.retain(|key, _| key == "user" || key == "groups"));
            question["http"] = json!(line);
            json!({"can-i": question})
        }
        55..61 => {
            let mut question = can_i(dice, objects)["can-i"].take();
            question.as_object_mut().into_iter().for_each(|map| map.retain(|key, _| key != "user" && key != "groups"));
            json!({"who-can": question})
        }
        61..65 => {
            let mut question = who(dice, objects);
            question["namespace"] = json!(dice.pick(&["", "a", "b"]));
            json!({"rules": question})
        }
        65..72 => {
            let (owner, wanted) = covering(dice);
            json!({"covers": {"owner": owner, "wanted": wanted}})
        }
        72..74 => json!({"aggregate": {}}),
        74..84 => write(dice, objects),
        84..88 => reconcile(dice),
        88..92 => impersonate(dice, objects),
        92..97 => json!({"compare": {"old": objects, "new": changed(dice, objects)}}),
        97..99 => {
            let (owner, servant) = covering(dice);
            json!({"permission-request": {"owner": owner, "servant": servant}})
        }
        _ => {
            let core = json!({"apiGroups": [""], "resources": ["configmaps", "events", "secrets"], "verbs": ["*"]});
            let groups = dice.some(&["", "a.io", "k8s.io", "x.k8s.io", "ak8s.io", "*"], 2);
            let other = json!({"apiGroups": groups, "resources": ["x"], "verbs": ["get"]});
            json!({"gate": {"revision": "v0.9", "rule": if dice.chance(20) { core } else { other }}})
        }
    }
}

/// Returns a subject of a binding, or any subject.
fn who(dice: &mut Dice, objects: &[Value]) -> Value {
    let (actor, _) = who_holds(dice, objects, |_| true);
    actor
}

/// Returns a subject of a binding to a role with a certain rule, and the place of the binding; without such a binding,
/// any subject.
fn who_holds(dice: &mut Dice, objects: &[Value], wanted: impl Fn(&Value) -> bool) -> (Value, String) {
    let mut bindings: Vec<&Value> = Vec::new();
    for object in objects.iter().filter(|object| text(object, "kind").ends_with("Binding")) {
        let role = role_at(objects, &object["roleRef"], namespace(object));
        if role.is_ok_and(|role| items(role, "rules").iter().any(&wanted)) && !items(object, "subjects").is_empty() {
            bindings.push(object);
        }
    }
    let binding = dice.one_of(&bindings).copied().unwrap_or(&Value::Null);
    let place = if dice.chance(20) { "" } else { namespace(binding) };
    (actor_of(dice, binding), if place.is_empty() { dice.pick(NAMESPACES) } else { place }.to_owned())
}

/// Returns a subject of the binding, or any subject.
fn actor_of(dice: &mut Dice, binding: &Value) -> Value {
    let subject = dice.one_of(items(binding, "subjects")).unwrap_or(&Value::Null);
    let meant = text(subject, "name");
    let mut actor = match text(subject, "kind") {
        "Group" => json!({"user": dice.pick(USERS), "groups": [meant, dice.pick(GROUPS)]}),
        "ServiceAccount" => {
            let own = text(subject, "namespace");
            let place = if own.is_empty() { namespace(binding) } else { own };
            json!({"user": format!("system:serviceaccount:{place}:{meant}")})
        }
        "User" => json!({"user": meant}),
        _ => json!({"user": dice.pick(USERS)}),
    };
    if actor.get("groups").is_none() && dice.chance(40) {
        actor["groups"] = json!(dice.some(GROUPS, 3));
    }
    if dice.chance(2) {
        actor["groups"] = json!(["system:masters"]);
    }
    actor
}

fn can_i(dice: &mut Dice, objects: &[Value]) -> Value {
    let mut settled = objects.to_vec();
    settle(&mut settled);
    let bindings: Vec<&Value> = settled.iter().filter(|object| text(object, "kind").ends_with("Binding")).collect();
    let binding = dice.one_of(&bindings).copied().unwrap_or(&Value::Null);
    let mut question = actor_of(dice, binding);
    let role = role_at(&settled, &binding["roleRef"], namespace(binding)).ok();
    let rule = role.and_then(|role| dice.one_of(items(role, "rules"))).cloned();
    let rule = rule.unwrap_or_else(|| super::worlds::rule(dice, false));
    let scope = if text(binding, "kind") == "RoleBinding" { namespace(binding) } else { dice.pick(&["", "a", "b"]) };
    let verbs: Vec<&str> = strings(&rule, "verbs");
    question["verb"] = json!(starred(dice, &verbs, &["get", "list", "create", "escalate", "frob"]));
    let urls = strings(&rule, "nonResourceURLs");
    if let Some(url) = dice.one_of(&urls) {
        let stem = url.trim_end_matches('*');
        let rest = if stem == *url { "" } else { dice.pick(&["", "x", "/x", "*"]) };
        question["path"] = json!(format!("{stem}{rest}"));
        if dice.chance(40) {
            let key = dice.pick(&["path", "verb"]);
            question[key] = json!(dice.pick(if key == "path" { URLS } else { VERBS }));
        }
        return json!({"can-i": question});
    }
    question["group"] = json!(starred(dice, &strings(&rule, "apiGroups"), &["", "apps", "foo.io"]));
    let resource = starred(dice, &strings(&rule, "resources"), &["pods", "pods/log", "widgets", "roles"]);
    let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
    question["resource"] = json!(if resource == "*" { dice.pick(&["pods", "deployments"]) } else { resource });
    if !subresource.is_empty() {
        question["subresource"] = json!(subresource);
    }
    question["namespace"] = json!(scope);
    let names = strings(&rule, "resourceNames");
    question["name"] = json!(dice.one_of(&names).copied().unwrap_or_else(|| dice.pick(NAMES)));
    if dice.chance(30) {
        let key = dice.pick(&["verb", "group", "resource", "subresource", "namespace", "name", "user"]);
        question[key] = json!(match key {
            "verb" => dice.pick(VERBS),
            "group" => dice.pick(API_GROUPS),
            "resource" => dice.pick(&["pods", "secrets", "nodes", "deployments", "*"]),
            "subresource" => dice.pick(&["", "log", "scale", "*", "exec"]),
            "namespace" => dice.pick(&["", "a", "b", "c"]),
            "name" => dice.pick(NAMES),
            _ => dice.pick(USERS),
        });
    }
    json!({"can-i": question})
}

/// Returns an entry of a list; for a star, something it stands for.
fn starred(dice: &mut Dice, list: &[&str], instead: &[&str]) -> String {
    let entry = dice.one_of(list).copied().unwrap_or("get");
    if entry == "*" { dice.pick(instead).to_owned() } else { entry.to_owned() }
}

/// Returns the request line that has the attributes of a question, if one has.
fn written_out(question: &Value) -> Option<String> {
    let verb = text(question, "verb");
    if let Some(path) = question.get("path").and_then(Value::as_str) {
        return (verb == "get" && path.starts_with('/')).then(|| format!("GET {path}"));
    }
    let (method, collection) = match verb {
        "get" => ("GET", false),
        "list" | "watch" => ("GET", true),
        "create" => ("POST", true),
        "update" => ("PUT", false),
        "patch" => ("PATCH", false),
        "delete" => ("DELETE", false),
        "deletecollection" => ("DELETE", true),
        _ => return None,
    };
    let mut line = match text(question, "group") {
        "" => format!("{method} /api/v1"),
        group => format!("{method} /apis/{group}/v1"),
    };
    let resource = text(question, "resource");
    if !text(question, "namespace").is_empty() {
        line += &format!("/namespaces/{}", text(question, "namespace"));
    }
    line += &format!("/{resource}");
    let (named, subresource) = (text(question, "name"), text(question, "subresource"));
    if !collection || !subresource.is_empty() {
        line += &format!("/{named}");
    }
    if !subresource.is_empty() {
        line += &format!("/{subresource}");
    }
    if verb == "watch" {
        line += "?watch=true";
    }
    if collection && verb != "create" && !named.is_empty() {
        line += &format!("{}fieldSelector=metadata.name%3D{named}", if verb == "watch" { "&" } else { "?" });
    }
    Some(line)
}

/// Returns a request line: mostly of the API, in every legacy form, with selectors and stray slashes.
fn http(dice: &mut Dice) -> String {
    let method = dice.pick(&["GET", "GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "DELETE", "OPTIONS"]);
    let mut path = if dice.chance(15) {
        dice.pick(&[
            "/",
            "/m",
            "/m/x",
            "/healthz/",
            "/api",
            "/api/v1",
            "/api/v1/",
            "/apis/apps/v1",
            "/apis/apps",
            "/m/%2A",
        ])
        .to_owned()
    } else {
        let mut path = dice.pick(&["/api/v1", "/apis/apps/v1", "/apis/rbac.authorization.k8s.io/v1"]).to_owned();
        if dice.chance(12) {
            path += dice.pick(&["/watch", "/proxy"]);
        }
        if dice.chance(60) {
            path += dice.pick(&["/namespaces/a", "/namespaces/b"]);
        }
        path +=
            dice.pick(&["/pods", "/pods", "/secrets", "/roles", "/status", "/finalize", "/namespaces", "/deployments"]);
        path += dice.pick(&["", "", "/x", "/x", "/y", "/%2A", "/x/log", "/x/exec", "/x/proxy/log/x", "/x/scale"]);
        path
    };
    if dice.chance(8) {
        path += "/";
    }
    if dice.chance(3) {
        path = path.replacen("/v1/", "/v1//", 1);
    }
    for (number, _) in (0..dice.below(3)).enumerate() {
        path += if number == 0 { "?" } else { "&" };
        path += dice.pick(&[
            "watch=true",
            "watch=false",
            "watch=0",
            "watch=1",
            "watch",
            "watch=nonsense",
            "fieldSelector=metadata.name%3Dx",
            "fieldSelector=metadata.name=x",
            "fieldSelector=metadata.name%3D%3Dy",
            "fieldSelector=metadata.name%21%3Dx",
            "fieldSelector=spec.nodeName%3Dn%2Cmetadata.name%3Dx",
            "fieldSelector=metadata.namespace%3Dx",
            "fieldSelector=metadata.name%3Dx%2Fy",
            "fieldSelector=metadata.name",
            "labelSelector=metadata.name%3Dx",
            "resourceVersion=1",
        ]);
    }
    format!("{method} {path}")
}

/// Rules, and others of which they cover a part.
fn covering(dice: &mut Dice) -> (Vec<Value>, Vec<Value>) {
    let owner: Vec<Value> = (0..=dice.below(3)).map(|_| mixed(dice)).collect();
    let mut wanted = Vec::new();
    for _ in 0..dice.below(4) {
        let all: Vec<Value> = owner.iter().flat_map(atoms).collect();
        let mut atom = match dice.one_of(&all) {
            Some(atom) if dice.chance(70) => atom.clone(),
            _ => mixed(dice),
        };
        if dice.chance(40) {
            let key = dice.pick(&["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"]);
            if atom.get(key).is_some() || key == "resourceNames" {
                let list = match key {
                    "verbs" => VERBS,
                    "apiGroups" => API_GROUPS,
                    "resources" => RESOURCES,
                    "resourceNames" => NAMES,
                    _ => URLS,
                };
                atom[key] = json!(dice.some(list, 2));
            }
        }
        wanted.push(atom);
    }
    (owner, wanted)
}

/// Returns a rule that may name URLs beside resources, which only validation forbids.
fn mixed(dice: &mut Dice) -> Value {
    let mut rule = super::worlds::rule(dice, false);
    if dice.chance(8) {
        rule["nonResourceURLs"] = json!(dice.some(URLS, 2));
    }
    rule
}

fn write(dice: &mut Dice, objects: &[Value]) -> Value {
    let kind = dice.below(4);
    let resource = ["roles", "clusterroles", "rolebindings", "clusterrolebindings"][kind];
    let writes = |rule: &Value| {
        let has = |key: &str, one: &str| strings(rule, key).iter().any(|entry| *entry == "*" || *entry == one);
        has("apiGroups", RBAC) && has("resources", resource) && has("verbs", "create")
    };
    let (mut question, place) = who_holds(dice, objects, writes);
    let place = place.as_str();
    let object = match kind {
        0 => {
            let rules = held_rules(dice, objects, true);
            json!({"kind": "Role", "metadata": {"name": dice.pick(ROLE_NAMES), "namespace": place}, "rules": rules})
        }
        1 => {
            let mut role = cluster_role(dice, "c1");
            role["rules"] = json!(held_rules(dice, objects, false));
            role["metadata"]["name"] = json!(dice.pick(ROLE_NAMES));
            role
        }
        2 => valid(binding(dice, "b0", Some(place))),
        _ => valid(binding(dice, "b0", None)),
    };
    if dice.chance(50) {
        let mut old = object.clone();
        match dice.below(6) {
            0 => {}
            1 => old["metadata"]["finalizers"] = json!(["x.io/y"]),
            2 => old["metadata"]["labels"]["other"] = json!("x"),
            3 if old.get("roleRef").is_some() => old["roleRef"]["name"] = json!("c4"),
            4 if old.get("aggregationRule").is_some() => {
                _ = old.as_object_mut().and_then(|old| old.shift_remove("aggregationRule"));
            }
            _ if old.get("subjects").is_some() => old["subjects"] = json!([]),
            _ => old["rules"] = json!([]),
        }
        question["old"] = old;
    }
    if dice.chance(30) {
        question["verb"] = json!(if question.get("old").is_some() { "patch" } else { dice.pick(&["update", "patch"]) });
    }
    question["object"] = object;
    json!({"write": question})
}

/// Returns rules that a subject probably has.
fn held_rules(dice: &mut Dice, objects: &[Value], namespaced: bool) -> Vec<Value> {
    let all: Vec<Value> = objects.iter().flat_map(|object| items(object, "rules").to_vec()).collect();
    let fits = |rule: &&Value| !namespaced || strings(rule, "nonResourceURLs").is_empty();
    let mut rules: Vec<Value> = (0..dice.below(3)).filter_map(|_| dice.one_of(&all).filter(fits).cloned()).collect();
    if dice.chance(30) {
        rules.push(rule(dice, namespaced));
    }
    rules
}

/// Returns a binding without the account of no namespace that a cluster has no use for.
fn valid(mut binding: Value) -> Value {
    if text(&binding, "kind") == "ClusterRoleBinding" {
        let fits =
            |subject: &Value| text(subject, "kind") != "ServiceAccount" || !text(subject, "namespace").is_empty();
        binding["subjects"].as_array_mut().into_iter().for_each(|subjects| subjects.retain(fits));
    }
    binding
}

fn reconcile(dice: &mut Dice) -> Value {
    let object = |dice: &mut Dice| {
        let mut object = cluster_role(dice, "c0");
        if dice.chance(20) {
            object["metadata"]["annotations"]["rbac.authorization.kubernetes.io/autoupdate"] =
                json!(dice.pick(&["true", "false"]));
        }
        object
    };
    let mut question = if dice.chance(50) {
        let (mut expected, mut existing) = (object(dice), object(dice));
        let (have, want) = covering(dice);
        existing["rules"] = json!(have);
        expected["rules"] = json!(want);
        json!({"expected": expected, "existing": existing})
    } else {
        let (expected, mut existing) = (binding(dice, "b", None), binding(dice, "b", None));
        if dice.chance(80) {
            existing["roleRef"] = expected["roleRef"].clone();
        }
        json!({"expected": expected, "existing": existing})
    };
    if dice.chance(15) {
        question.as_object_mut().and_then(|question| question.shift_remove("existing"));
    }
    question["removeExtra"] = json!(dice.chance(50));
    json!({"reconcile": question})
}

fn impersonate(dice: &mut Dice, objects: &[Value]) -> Value {
    let impersonates =
        |rule: &Value| strings(rule, "verbs").iter().any(|verb| *verb == "*" || verb.starts_with("impersonate"));
    let (mut question, _) = who_holds(dice, objects, impersonates);
    question["asUser"] = json!(dice.pick(&[
        "u1",
        "system:serviceaccount:a:s1",
        "system:serviceaccount:b:s1",
        "system:node:n",
        "system:anonymous"
    ]));
    if dice.chance(30) {
        question["asGroups"] = json!(dice.some(&["g1", "system:masters", "system:authenticated"], 2));
    }
    if dice.chance(20) {
        question["asExtra"] = json!({dice.pick(&["scopes", "example.org/scopes", "Example.org/other", "other"]): dice.some(&["x", "y"], 2)});
    }
    if dice.chance(15) {
        question["asUid"] = json!("1");
    }
    if dice.chance(80) {
        question["verb"] = json!(dice.pick(&["get", "get", "get", "list"]));
        question["group"] = json!("");
        question["resource"] = json!(dice.pick(&["pods", "secrets"]));
        question["namespace"] = json!(dice.pick(NAMESPACES));
    }
    if dice.chance(30) {
        question["minor"] = json!(35);
    }
    if dice.chance(50) {
        question["extra"] = json!({"authentication.kubernetes.io/node-name": [dice.pick(&["n", "m"])]});
    }
    json!({"impersonate": question})
}

/// Returns the world with a few objects gone, moved or written anew.
fn changed(dice: &mut Dice, objects: &[Value]) -> Vec<Value> {
    let mut objects = objects.to_vec();
    for _ in 0..=dice.below(2) {
        let index = dice.below(objects.len());
        let mut object = objects[index].clone();
        let (kind, named) = (text(&object, "kind").to_owned(), name(&object).to_owned());
        match (dice.below(4), kind.as_str()) {
            (0, _) => {
                objects.remove(index);
                continue;
            }
            (1, "RoleBinding") => object["metadata"]["namespace"] = json!(dice.pick(NAMESPACES)),
            (_, "ClusterRole") => object = cluster_role(dice, &named),
            (_, "Role") => object["rules"] = json!(rules(dice, true)),
            (2, _) => object["subjects"].as_array_mut().into_iter().for_each(|subjects| subjects.push(subject(dice))),
            (_, "RoleBinding") => object = binding(dice, &named, Some(namespace(&objects[index]))),
            _ => object = binding(dice, &named, None),
        }
        objects[index] = object;
    }
    objects
}
