//! Random worlds: few names, so that everything meets everything, and every oddity that the specification has a word
//! on. The same seed yields the same world on every machine.

use serde_json::{Value, json};

use super::read::{RBAC, text};

/// A small generator of pseudo-random numbers (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Creates dice with a fixed sequence.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Yes, so many times out of a hundred.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns an entry of a list.
    pub(crate) fn pick<'l, T: ?Sized>(&mut self, list: &[&'l T]) -> &'l T {
        list[self.below(list.len())]
    }

    /// Returns an entry of a list that may be empty.
    pub(crate) fn one_of<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        if list.is_empty() { None } else { list.get(self.below(list.len())) }
    }

    /// Returns a number of entries from one to a limit; entries can repeat.
    pub(crate) fn some<'l>(&mut self, list: &[&'l str], at_most: usize) -> Vec<&'l str> {
        (0..=self.below(at_most)).map(|_| self.pick(list)).collect()
    }
}

pub(crate) const NAMESPACES: &[&str] = &["a", "b"];
pub(crate) const USERS: &[&str] = &["u1", "u2", "system:serviceaccount:a:s1", "system:anonymous", "*"];
pub(crate) const GROUPS: &[&str] = &[
    "g1",
    "g2",
    "system:authenticated",
    "system:serviceaccounts",
    "system:serviceaccounts:a",
    "system:unauthenticated",
    "*",
];
pub(crate) const VERBS: &[&str] =
    &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use", "*", "*", "GET", "g*"];
pub(crate) const API_GROUPS: &[&str] = &["", "", "apps", RBAC, "*", "core"];
pub(crate) const RESOURCES: &[&str] = &[
    "pods",
    "pods",
    "secrets",
    "deployments",
    "namespaces",
    "nodes",
    "pods/log",
    "pods/exec",
    "deployments/scale",
    "roles",
    "*",
    "*/log",
    "*/scale",
    "*/exec",
    "pods/*",
    "*/*",
    "pods/log/x",
    "Pods",
];
pub(crate) const NAMES: &[&str] = &["x", "y", "", "*"];
pub(crate) const URLS: &[&str] =
    &["/m", "/m/*", "/m*", "/m**", "*", "/*", "/m/*/x", "/metrics", "/", "", "m*", "/api/*", "/apis"];
const BINDING_RESOURCES: &[&str] =
    &["roles", "clusterroles", "rolebindings", "clusterrolebindings", "clusterroles", "*"];
const BINDING_VERBS: &[&str] = &["create", "update", "patch", "bind", "escalate", "*"];
const MODES: &[&str] = &["user-info", "serviceaccount", "arbitrary-node", "associated-node"];
pub(crate) const ROLE_NAMES: &[&str] = &["c0", "c1", "c2", "c3", "c4"];

/// Returns the objects of a world.
pub(crate) fn world(dice: &mut Dice) -> Vec<Value> {
    let mut objects = Vec::new();
    for role in &ROLE_NAMES[..3 + dice.below(3)] {
        objects.push(cluster_role(dice, role));
    }
    for place in NAMESPACES {
        for role in ["r0", "c1"] {
            if dice.chance(80) {
                let rules = rules(dice, true);
                objects.push(json!({"kind": "Role", "metadata": {"name": role, "namespace": place}, "rules": rules}));
            }
        }
    }
    // Without a subject that writes roles and impersonates others, few questions about these would pass the check of
    // the verb.
    if dice.chance(70) {
        objects.push(json!({"kind": "ClusterRole", "metadata": {"name": "powers"}, "rules": powers(dice)}));
        let place = if dice.chance(60) { None } else { Some(dice.pick(NAMESPACES)) };
        let mut binding = binding(dice, "powers", place);
        binding["roleRef"] = json!({"kind": "ClusterRole", "name": "powers"});
        binding["subjects"] = json!([subject(dice), subject(dice)]);
        objects.push(binding);
    }
    for number in 0..2 + dice.below(6) {
        let name = format!("b{number}");
        objects.push(if dice.chance(40) {
            binding(dice, &name, None)
        } else {
            let place = dice.pick(NAMESPACES);
            binding(dice, &name, Some(place))
        });
    }
    objects
}

/// Returns a cluster role, perhaps aggregated.
pub(crate) fn cluster_role(dice: &mut Dice, name: &str) -> Value {
    let mut role = json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules(dice, false)});
    for key in ["t", "z"] {
        if dice.chance(40) {
            role["metadata"]["labels"][key] = json!(dice.pick(&["1", "2", ""]));
        }
    }
    if dice.chance(30) {
        let selectors: Vec<Value> = (0..=dice.below(2)).map(|_| selector(dice)).collect();
        role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
    }
    role
}

fn selector(dice: &mut Dice) -> Value {
    if dice.chance(8) {
        return json!({});
    }
    let key = dice.pick(&["t", "t", "z"]);
    if dice.chance(50) {
        return json!({"matchLabels": {key: dice.pick(&["1", "2"])}});
    }
    let expression = match dice.pick(&["In", "NotIn", "Exists", "DoesNotExist"]) {
        operator @ ("In" | "NotIn") => {
            json!({"key": key, "operator": operator, "values": dice.some(&["1", "2", ""], 2)})
        }
        operator => json!({"key": key, "operator": operator}),
    };
    let mut selector = json!({"matchExpressions": [expression]});
    if dice.chance(30) {
        selector["matchLabels"] = json!({"z": "1"});
    }
    selector
}

/// Returns a few rules, or none.
pub(crate) fn rules(dice: &mut Dice, namespaced: bool) -> Vec<Value> {
    let count = if dice.chance(10) { 0 } else { 1 + dice.below(3) };
    (0..count).map(|_| rule(dice, namespaced)).collect()
}

/// Returns the rights that lead to more rights.
fn powers(dice: &mut Dice) -> Vec<Value> {
    let kinds = ["roles", "clusterroles", "rolebindings", "clusterrolebindings"];
    let mut rules = vec![json!({"apiGroups": [RBAC], "resources": kinds, "verbs": ["create", "update", "patch"]})];
    if dice.chance(40) {
        rules.push(json!({"apiGroups": [RBAC], "resources": dice.some(&kinds, 3), "verbs": [dice.pick(&["bind", "escalate"])]}));
    }
    let whom = ["users", "groups", "serviceaccounts", "userextras/scopes", "uids", "nodes"];
    if dice.chance(60) {
        let groups = ["", "authentication.k8s.io"];
        rules.push(json!({"apiGroups": groups, "resources": dice.some(&whom, 6), "verbs": ["impersonate"]}));
    }
    if dice.chance(60) {
        let modes = dice.some(MODES, 3);
        let verbs: Vec<String> = modes.iter().map(|mode| format!("impersonate:{mode}")).collect();
        rules.push(json!({"apiGroups": ["authentication.k8s.io"], "resources": whom, "verbs": verbs}));
        let verbs: Vec<String> = modes.iter().map(|mode| format!("impersonate-on:{mode}:get")).collect();
        rules.push(json!({"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": verbs}));
    }
    rules
}

/// Returns a random rule.
pub(crate) fn rule(dice: &mut Dice, namespaced: bool) -> Value {
    match dice.below(20) {
        9 if dice.chance(40) => json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}),
        0..3 if !namespaced => {
            json!({"nonResourceURLs": dice.some(URLS, 2), "verbs": dice.some(&["get", "*", "post"], 2)})
        }
        3..7 => {
            let mut rule = json!({
                "apiGroups": [dice.pick(&[RBAC, RBAC, "*"])],
                "resources": dice.some(BINDING_RESOURCES, 3),
                "verbs": dice.some(BINDING_VERBS, 3),
            });
            if dice.chance(30) {
                rule["resourceNames"] = json!(dice.some(ROLE_NAMES, 2));
            }
            rule
        }
        7 => {
            let resources = ["users", "groups", "serviceaccounts", "userextras/scopes", "uids", "nodes"];
            let mode = format!("impersonate:{}", dice.pick(MODES));
            json!({
                "apiGroups": dice.some(&["", "authentication.k8s.io", "*"], 2),
                "resources": dice.some(&resources, 4),
                "verbs": dice.some(&["impersonate", &mode, "*"], 2),
            })
        }
        8 => {
            let verbs: Vec<String> =
                dice.some(MODES, 2).iter().map(|mode| format!("impersonate-on:{mode}:get")).collect();
            json!({"apiGroups": ["", "apps"], "resources": dice.some(RESOURCES, 2), "verbs": verbs})
        }
        _ => {
            let mut rule = json!({
                "apiGroups": dice.some(API_GROUPS, 2),
                "resources": dice.some(RESOURCES, 3),
                "verbs": dice.some(VERBS, 3),
            });
            if dice.chance(30) {
                rule["resourceNames"] = json!(dice.some(NAMES, 2));
            }
            rule
        }
    }
}

/// Returns a binding of the cluster or of a namespace.
pub(crate) fn binding(dice: &mut Dice, name: &str, place: Option<&str>) -> Value {
    let subjects: Vec<Value> = (0..dice.below(4)).map(|_| subject(dice)).collect();
    let role = if dice.chance(12) { "gone" } else { dice.pick(&ROLE_NAMES[..3]) };
    let mut reference = json!({"kind": "ClusterRole", "name": role});
    if dice.chance(70) {
        reference["apiGroup"] = json!(RBAC);
    }
    let Some(place) = place else {
        return json!({
            "kind": "ClusterRoleBinding", "metadata": {"name": name}, "roleRef": reference, "subjects": subjects,
        });
    };
    if dice.chance(50) {
        reference["kind"] = json!("Role");
        reference["name"] = json!(dice.pick(&["r0", "c1", "gone"]));
    }
    json!({
        "kind": "RoleBinding", "metadata": {"name": name, "namespace": place},
        "roleRef": reference, "subjects": subjects,
    })
}

/// Returns a random subject.
pub(crate) fn subject(dice: &mut Dice) -> Value {
    let mut subject = match dice.below(10) {
        0..4 => json!({"kind": "User", "name": dice.pick(USERS)}),
        4..7 => json!({"kind": "Group", "name": dice.pick(GROUPS)}),
        7..9 => json!({"kind": "ServiceAccount", "name": dice.pick(&["s1", "s2"]), "namespace": dice.pick(NAMESPACES)}),
        _ => json!({"kind": "ServiceAccount", "name": dice.pick(&["s1", "s2"])}),
    };
    if text(&subject, "kind") != "ServiceAccount" {
        if dice.chance(50) {
            subject["apiGroup"] = json!(RBAC);
        }
        if dice.chance(15) {
            subject["namespace"] = json!(dice.pick(NAMESPACES));
        }
    }
    subject
}
