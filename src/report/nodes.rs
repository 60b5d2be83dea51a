//! What nodes reach, for people and for programs.

use serde::Serialize;
use serde_json::{Value, json};

use super::human::number;
use super::page::Page;
use crate::node::graph::{Object, ObjectKind};
use crate::node::powers::{Breach, Carried, Powers};
use crate::node::reach::{Atlas, Certainty, Pool, Reach, Reached};

/// How many objects of a kind are told one by one.
const MAXIMUM_OBJECTS: usize = 40;

/// How many rights of an account are told one by one.
const MAXIMUM_RIGHTS: usize = 4;

/// How many resources of a right are told.
const MAXIMUM_RESOURCES: usize = 3;

/// What somebody has to believe for the answers to hold.
const ASSUMPTIONS: [&str; 4] = [
    "every pod comes from these objects, and stays on the node that it is bound to",
    "the nodes have the labels and taints that they have here; a pool's nodes have no others",
    "pods of workloads run as their templates say: no webhook adds to them on the way",
    "volumes that are yet to be made, by a StorageClass, name no Secrets of others",
];

/// A node or pool in one line.
#[derive(Debug, Serialize)]
pub struct Line {
    name: String,
    secrets: usize,
    #[serde(rename = "secretsPerhaps")]
    secrets_perhaps: usize,
    accounts: usize,
    #[serde(rename = "accountsPerhaps")]
    accounts_perhaps: usize,
    /// The worst of the trampolines there, with what it does.
    worst: Option<String>,
}

impl Line {
    /// Of what is within reach.
    pub fn of(name: &str, reach: &Reach<'_>, powers: &mut Powers<'_>) -> Self {
        let count = |kind, certainty| reach.of_kind(kind).filter(|(_, reached)| reached.certainty == certainty).count();
        let worst = powers.worst(reach).map(|carried| {
            let perhaps = if carried.certainty == Certainty::Maybe { "perhaps " } else { "" };
            format!("{perhaps}{}/{} {}", carried.account.0, carried.account.1, carried.powers.join(", "))
        });
        Self {
            name: name.to_owned(),
            secrets: count(ObjectKind::Secret, Certainty::Yes),
            secrets_perhaps: count(ObjectKind::Secret, Certainty::Maybe),
            accounts: count(ObjectKind::ServiceAccount, Certainty::Yes),
            accounts_perhaps: count(ObjectKind::ServiceAccount, Certainty::Maybe),
            worst,
        }
    }

    /// The lines one below the other.
    pub fn table(lines: &[Line]) -> String {
        let width = lines.iter().map(|line| line.name.len()).max().unwrap_or_default();
        let mut text = Page::new();
        for line in lines {
            let plus = |perhaps: usize| if perhaps > 0 { format!(" (+{perhaps})") } else { String::new() };
            let counts = format!(
                "{} secrets{}, {} accounts{}",
                line.secrets,
                plus(line.secrets_perhaps),
                line.accounts,
                plus(line.accounts_perhaps)
            );
            match &line.worst {
                Some(worst) => writeln!(text, "{:width$}  {counts}; {worst}", line.name),
                None => writeln!(text, "{:width$}  {counts}", line.name),
            };
        }
        text.push_str("in brackets: what pods that may come there would bring\n");
        text.finish()
    }
}

/// All that is told of a node or a pool.
pub struct Told<'a> {
    /// Its name.
    pub name: &'a str,
    /// The pool, where it is one.
    pub pool: Option<&'a Pool>,
    /// The accounts there.
    pub carried: Vec<Carried>,
    /// What RBAC lets its kubelet do everywhere.
    pub kubelet: Vec<&'static str>,
    /// What is known of the cluster.
    pub atlas: &'a Atlas<'a>,
    /// What is within reach.
    pub plain: &'a Reach<'a>,
    /// What is within reach once it gives itself labels.
    pub relabelled: &'a Reach<'a>,
    /// Namespaces whose Secrets are asked about.
    pub asked: &'a [String],
    /// The ways to them.
    pub breaches: &'a [Breach],
}

impl Told<'_> {
    /// Section by section.
    pub fn text(&self, powers: &mut Powers<'_>) -> String {
        let mut text = Page::new();
        match self.pool {
            Some(pool) => writeln!(text, "pool {} ({} known)", self.name, number(pool.members.len(), "node")),
            None => writeln!(text, "node {}", self.name),
        }
        for namespace in self.asked {
            match self.breaches.iter().find(|breach| breach.namespace == *namespace) {
                Some(breach) => breach_lines(breach, &mut text),
                None => writeln!(text, "no way to the Secrets of `{namespace}`"),
            }
        }
        self.trampolines(powers, &mut text);
        text.push_str("what its kubelet may read\n");
        objects(self.plain.objects.iter().map(|(object, reached)| (*object, *reached)), &mut text);
        let more: Vec<(&Object, Reached<'_>)> = self.drawn().collect();
        if !more.is_empty() {
            text.push_str("and once it gives itself labels that a kubelet may set\n");
            objects(more.into_iter(), &mut text);
        }
        text.push_str("this holds as long as\n");
        for assumption in ASSUMPTIONS {
            writeln!(text, "  {assumption}");
        }
        if !self.plain.open_claims.is_empty() {
            let claims: Vec<String> =
                self.plain.open_claims.iter().take(8).map(|(namespace, name)| format!("{namespace}/{name}")).collect();
            writeln!(text, "  no volume with Secrets is bound to {}", claims.join(", "));
        }
        text.finish()
    }

    fn trampolines(&self, powers: &mut Powers<'_>, text: &mut Page) {
        if !self.kubelet.is_empty() {
            writeln!(text, "the kubelet itself, by RBAC: {}", self.kubelet.join(", "));
        }
        let worst: Vec<&Carried> = self.carried.iter().filter(|carried| !carried.powers.is_empty()).collect();
        for carried in worst {
            writeln!(text, "{} ({}, {})", carried.finding(self.atlas), carried.certainty.word(), carried.via);
        }
        text.push_str("accounts whose tokens it can make\n");
        for carried in self.carried.iter().take(MAXIMUM_OBJECTS) {
            let (namespace, name) = &carried.account;
            let rights = powers.effective(&carried.account);
            let shown: Vec<String> = rights.iter().take(MAXIMUM_RIGHTS).map(|right| shortened(right)).collect();
            let rights = match (shown.is_empty(), rights.len() - shown.len()) {
                (true, _) => "nothing of its own".to_owned(),
                (false, 0) => shown.join("; "),
                (false, more) => format!("{}; and {more} more", shown.join("; ")),
            };
            writeln!(text, "  {:5} {namespace}/{name}  {}: {rights}", carried.certainty.word(), carried.via);
        }
        rest(self.carried.len(), "account", text);
    }

    /// What comes within reach by labels alone.
    fn drawn(&self) -> impl Iterator<Item = (&Object, Reached<'_>)> {
        let more = self.relabelled.objects.iter().filter(|(object, _)| !self.plain.objects.contains_key(*object));
        more.map(|(object, reached)| (*object, *reached))
    }

    /// Everything as JSON.
    pub fn json(&self, powers: &mut Powers<'_>) -> Value {
        let object = |(object, reached): (&Object, Reached<'_>)| {
            json!({
                "kind": object.kind.word(), "namespace": object.namespace, "name": object.name,
                "certainty": reached.certainty.word(), "via": reached.via.to_string(),
            })
        };
        let accounts: Vec<Value> = self
            .carried
            .iter()
            .map(|carried| {
                json!({
                    "namespace": carried.account.0, "name": carried.account.1,
                    "certainty": carried.certainty.word(), "via": carried.via, "powers": carried.powers,
                    "effective": powers.effective(&carried.account),
                })
            })
            .collect();
        let plain = self.plain.objects.iter().map(|(object, reached)| (*object, *reached));
        json!({
            "name": self.name,
            "pool": self.pool.map(|pool| json!({ "nodes": pool.members })),
            "kubelet": self.kubelet,
            "accounts": accounts,
            "objects": plain.map(object).collect::<Vec<_>>(),
            "byLabels": self.drawn().map(object).collect::<Vec<_>>(),
            "openClaims": self.plain.open_claims,
            "breaches": self.breaches.iter().map(breach_json).collect::<Vec<_>>(),
            "assumptions": ASSUMPTIONS,
        })
    }
}

/// A right with the first of its resources alone.
fn shortened(right: &str) -> String {
    let (resources, rest) = right.split_once(' ').unwrap_or((right, ""));
    let all: Vec<&str> = resources.split(',').collect();
    match all.get(..MAXIMUM_RESOURCES).filter(|first| first.len() < all.len()) {
        Some(first) => format!("{},... {rest}", first.join(",")),
        None => right.to_owned(),
    }
}

fn objects<'o>(found: impl Iterator<Item = (&'o Object, Reached<'o>)>, text: &mut Page) {
    let mut found: Vec<(&Object, Reached<'_>)> =
        found.filter(|(object, _)| object.kind != ObjectKind::ServiceAccount).collect();
    // Secrets first: they are what it is about.
    found.sort_by_key(|(object, reached)| (object.kind != ObjectKind::Secret, reached.certainty, *object));
    for (object, reached) in found.iter().take(MAXIMUM_OBJECTS) {
        writeln!(text, "  {:5} {object}  {}", reached.certainty.word(), reached.via);
    }
    rest(found.len(), "object", text);
}

fn rest(count: usize, what: &str, text: &mut Page) {
    let more = count.saturating_sub(MAXIMUM_OBJECTS);
    if more > 0 {
        writeln!(text, "  ... and {}; --format json tells all", number(more, &format!("more {what}")));
    }
}

/// A way to Secrets, a step a line.
pub fn breach_lines(breach: &Breach, text: &mut Page) {
    let word = if breach.certainty == Certainty::Yes { "a way" } else { "perhaps a way" };
    writeln!(text, "{word} to the Secrets of `{}`", breach.namespace);
    for step in &breach.steps {
        writeln!(text, "  {step}");
    }
}

fn breach_json(breach: &Breach) -> Value {
    json!({ "namespace": breach.namespace, "certainty": breach.certainty.word(), "steps": breach.steps })
}
