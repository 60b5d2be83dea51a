//! Policies that differ only in numbers and in a few texts, one per namespace, as one profile with variables and a
//! Tenancy with their values.
//!
//! Programs without variables create thousands of such policies, one per tenant. Only ids, ports, host paths and parts
//! of an SELinux context may vary: any other difference makes another profile.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Namespace, document, escaped, profile};
use crate::admission::psp::PodSecurityPolicy;

/// Namespaces as accounts of a Tenancy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenants {
    /// The name of the Tenancy.
    pub tenancy: String,
    /// The one profile in the place of their policies.
    pub profile: String,
    /// The variables of the accounts.
    pub variables: Vec<String>,
    /// The names of the tenant namespaces.
    pub namespaces: Vec<String>,
    /// Their policies, in the same order.
    pub policies: Vec<String>,
}

/// A Tenancy with its profile.
pub(super) struct Group {
    pub(super) tenants: Tenants,
    pub(super) profile: Value,
    pub(super) tenancy: Value,
}

/// A namespace with a policy of its own.
pub(super) struct Candidate {
    name: String,
    own: Namespace,
    policy: String,
    spec: Value,
}

impl Candidate {
    pub(super) fn new(name: &str, own: Namespace, policy: &PodSecurityPolicy) -> Self {
        Self { name: name.to_owned(), own, policy: policy.name().to_owned(), spec: profile::spec(policy) }
    }

    /// Returns the common parts of all tenants in a class; none for a policy unfit for a tenant.
    fn class(&self) -> Option<Class> {
        let (prefix, policy) = naming(&self.name, &self.policy)?;
        let keys = |entries: &BTreeMap<String, String>| entries.keys().cloned().collect();
        Some(Class {
            prefix,
            policy,
            shape: shape(&self.spec, "").to_string(),
            labels: keys(&self.own.labels),
            annotations: keys(&self.own.annotations),
        })
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    /// The part of the namespace name before the tenant name, if the policy does not repeat it.
    prefix: String,
    /// The parts of the policy name before and after the tenant name.
    policy: (String, String),
    shape: String,
    labels: Vec<String>,
    annotations: Vec<String>,
}

/// Groups candidates with one profile. Taken names are not used for profiles.
pub(super) fn collapse(candidates: Vec<Candidate>, taken: &mut BTreeSet<String>) -> Vec<Group> {
    let mut classes: BTreeMap<Class, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        if let Some(class) = candidate.class() {
            classes.entry(class).or_default().push(candidate);
        }
    }
    let mut tenancies = BTreeSet::new();
    let alike = classes.iter().filter(|(_, members)| members.len() > 1);
    alike.filter_map(|(class, members)| group(class, members, taken, &mut tenancies)).collect()
}

/// Splits the name of a policy by the name of its namespace: the part of the namespace name missing from the policy,
/// and the parts around the rest.
fn naming(namespace: &str, policy: &str) -> Option<(String, (String, String))> {
    let cuts = std::iter::once(0).chain(namespace.match_indices('-').map(|(at, _)| at + 1));
    cuts.filter_map(|cut| namespace.split_at_checked(cut)).find_map(|(prefix, name)| {
        let is_edge = |letter: Option<char>| letter.is_none_or(|letter| matches!(letter, '-' | '.'));
        policy.match_indices(name).filter(|_| !name.is_empty()).find_map(|(at, _)| {
            let (before, rest) = policy.split_at_checked(at)?;
            let behind = rest.strip_prefix(name)?;
            (is_edge(before.chars().next_back()) && is_edge(behind.chars().next()))
                .then(|| (prefix.to_owned(), (before.to_owned(), behind.to_owned())))
        })
    })
}

/// Returns a spec without its variable parts.
fn shape(value: &Value, key: &str) -> Value {
    match value {
        Value::Number(_) => 0.into(),
        Value::String(_) if may_vary(key) => "".into(),
        Value::Array(items) => items.iter().map(|item| shape(item, key)).collect(),
        Value::Object(entries) => entries
            .iter()
            .map(|(name, value)| {
                let inside = if key == "seLinuxOptions" { key } else { name };
                (name.clone(), shape(value, inside))
            })
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn may_vary(key: &str) -> bool {
    matches!(key, "pathPrefix" | "seLinuxOptions")
}

fn group(
    class: &Class,
    members: &[Candidate],
    taken: &mut BTreeSet<String>,
    tenancies: &mut BTreeSet<String>,
) -> Option<Group> {
    // A common prefix of the namespace names is part of both patterns.
    let common = if class.prefix.is_empty() { common_prefix(members) } else { String::new() };
    let prefix = format!("{}{common}", class.prefix);
    let names: Vec<&str> = members.iter().filter_map(|member| member.name.strip_prefix(prefix.as_str())).collect();
    let mut columns = Columns { names, variables: Vec::new() };
    let specs: Vec<&Value> = members.iter().map(|member| &member.spec).collect();
    // The user id gives its name to every equal number.
    let users: Vec<&Value> = specs.iter().filter_map(|spec| spec.get("runAsUser")).collect();
    columns.merge(&users, "runAsUser")?;
    let spec = columns.merge(&specs, "")?;
    let mut namespace = Map::new();
    namespace.insert("name".to_owned(), format!("{prefix}{{name}}").into());
    let labels = members.iter().map(|member| texts(&member.own.labels)).collect();
    let annotations = members.iter().map(|member| texts(&member.own.annotations)).collect();
    for (key, each) in [("labels", labels), ("annotations", annotations)] {
        let each: Vec<Value> = each;
        let merged = columns.merge(&each.iter().collect::<Vec<_>>(), key)?;
        if merged.as_object().is_some_and(|merged| !merged.is_empty()) {
            namespace.insert(key.to_owned(), merged);
        }
    }
    let (before, behind) = &class.policy;
    let profile = unused(&format!("{before}{common}{behind}"), "tenant", taken);
    let tenancy = unused(&prefix, "tenants", tenancies);
    let accounts: Vec<Value> = (0..members.len()).filter_map(|index| columns.account(index)).collect();
    let tenancy_spec = json!({
        "accounts": { "inline": accounts },
        "variables": columns.declared(),
        "class": {
            "namespace": namespace,
            "podSecurity": [{ "name": format!("{before}{common}{{name}}{behind}"), "profile": profile }],
        },
    });
    let tenants = Tenants {
        tenancy: tenancy.clone(),
        profile: profile.clone(),
        variables: columns.variables.iter().map(|variable| variable.name.clone()).collect(),
        namespaces: members.iter().map(|member| member.name.clone()).collect(),
        policies: members.iter().map(|member| member.policy.clone()).collect(),
    };
    Some(Group {
        tenants,
        profile: document("PodSecurityProfile", &profile, spec),
        tenancy: document("Tenancy", &tenancy, tenancy_spec),
    })
}

/// Returns the common prefix of all namespaces, up to a hyphen.
fn common_prefix(members: &[Candidate]) -> String {
    let mut names = members.iter().map(|member| member.name.as_str());
    let first = names.next().unwrap_or_default();
    let length = names.fold(first.len(), |length, name| {
        first.bytes().zip(name.bytes()).take(length).take_while(|(left, right)| left == right).count()
    });
    let common = first.get(..length).unwrap_or_default();
    common.rfind('-').and_then(|at| common.get(..=at)).unwrap_or_default().to_owned()
}

/// Returns an unused name, from the constant part of a pattern.
fn unused(rest: &str, otherwise: &str, taken: &mut BTreeSet<String>) -> String {
    let parts: Vec<&str> = rest.split(['-', '.']).filter(|part| !part.is_empty()).collect();
    let base = if parts.is_empty() { otherwise.to_owned() } else { parts.join("-") };
    let numbered = (2..).map(|number: usize| format!("{base}-{number}"));
    let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(base);
    taken.insert(name.clone());
    name
}

fn texts(entries: &BTreeMap<String, String>) -> Value {
    entries.iter().map(|(key, value)| (key.clone(), escaped(value).into())).collect::<Map<_, _>>().into()
}

/// The accounts' values.
struct Columns<'m> {
    names: Vec<&'m str>,
    variables: Vec<Column>,
}

struct Column {
    name: String,
    values: Vec<Value>,
}

impl Columns<'_> {
    /// Merges the values of all tenants into one value with variables; none if they differ in other parts.
    fn merge(&mut self, values: &[&Value], key: &str) -> Option<Value> {
        let first = *values.first()?;
        if values.iter().all(|value| *value == first) {
            return Some(first.clone());
        }
        match first {
            Value::Number(_) => Some(
                format!("{{{}}}", self.variable(values.iter().map(|value| (*value).clone()).collect(), key)).into(),
            ),
            Value::String(_) => {
                let texts: Vec<&str> = values.iter().map(|value| value.as_str()).collect::<Option<_>>()?;
                if let Some(pattern) = pattern(&texts, &self.names) {
                    return Some(pattern.into());
                }
                let plain: Vec<String> = texts.iter().map(|text| unescaped(text)).collect();
                let is_fine = |text: &String| !text.is_empty() && !text.chars().any(char::is_control);
                let is_told = plain.iter().all(is_fine);
                is_told
                    .then(|| format!("{{{}}}", self.variable(plain.into_iter().map(Value::from).collect(), key)).into())
            }
            Value::Array(items) => (0..items.len())
                .map(|index| {
                    let each: Vec<&Value> = values.iter().map(|value| value.get(index)).collect::<Option<_>>()?;
                    self.merge(&each, key)
                })
                .collect::<Option<Vec<_>>>()
                .map(Value::from),
            Value::Object(entries) => {
                let mut merged = Map::new();
                for name in entries.keys() {
                    let each: Vec<&Value> = values.iter().map(|value| value.get(name)).collect::<Option<_>>()?;
                    // The field with the ranges decides the meaning of a number.
                    let inside = if matches!(name.as_str(), "ranges" | "min" | "max") { key } else { name };
                    merged.insert(name.clone(), self.merge(&each, inside)?);
                }
                Some(merged.into())
            }
            _ => None,
        }
    }

    /// Returns the variable with these values.
    fn variable(&mut self, values: Vec<Value>, key: &str) -> String {
        if let Some(known) = self.variables.iter().find(|variable| variable.values == values) {
            return known.name.clone();
        }
        let wanted = match key {
            "runAsUser" => "uid",
            "runAsGroup" | "fsGroup" | "supplementalGroups" => "gid",
            _ => "value1",
        };
        let numbered = (1..).map(|number: usize| format!("value{number}"));
        let is_free = |name: &String| self.variables.iter().all(|variable| variable.name != *name);
        let name = std::iter::once(wanted.to_owned()).chain(numbered).find(is_free).unwrap_or_default();
        self.variables.push(Column { name: name.clone(), values });
        name
    }

    fn account(&self, index: usize) -> Option<Value> {
        let mut account = Map::new();
        account.insert("name".to_owned(), (*self.names.get(index)?).into());
        for variable in &self.variables {
            account.insert(variable.name.clone(), variable.values.get(index)?.clone());
        }
        Some(account.into())
    }

    fn declared(&self) -> Value {
        let mut declared = Map::new();
        declared.insert("name".to_owned(), json!({ "type": "string" }));
        for Column { name, values } in &self.variables {
            let numbers: Vec<i64> = values.iter().filter_map(Value::as_i64).collect();
            let mut variable = Map::new();
            let kind = if numbers.len() == values.len() { "integer" } else { "string" };
            variable.insert("type".to_owned(), kind.into());
            let is_id = matches!(name.as_str(), "uid" | "gid");
            if is_id && numbers.iter().all(|number| *number >= 1) {
                variable.insert("minimum".to_owned(), 1.into());
            }
            let different: BTreeSet<&i64> = numbers.iter().collect();
            if name == "uid" && different.len() == values.len() {
                variable.insert("unique".to_owned(), true.into());
            }
            declared.insert(name.clone(), variable.into());
        }
        declared.into()
    }
}

/// Returns the pattern with `{name}` for the texts of all tenants.
fn pattern(texts: &[&str], names: &[&str]) -> Option<String> {
    let (text, name) = (texts.first()?, names.first()?);
    let fits = |pattern: &String| texts.iter().zip(names).all(|(text, name)| pattern.replace("{name}", name) == **text);
    let single = text.match_indices(name).filter_map(|(at, _)| {
        let (before, rest) = text.split_at_checked(at)?;
        Some(format!("{before}{{name}}{}", rest.strip_prefix(name)?))
    });
    single.chain(std::iter::once(text.replace(name, "{name}"))).find(fits)
}

fn unescaped(text: &str) -> String {
    text.replace("{{", "{").replace("}}", "}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_named_after_its_namespace_or_the_end_of_it() {
        let found = |namespace, policy| {
            naming(namespace, policy).map(|(prefix, (before, behind))| format!("{prefix}|{before}{{}}{behind}"))
        };
        assert_eq!(found("tool-blurp", "tool-blurp-psp").as_deref(), Some("|{}-psp"));
        assert_eq!(found("team-a", "psp-a").as_deref(), Some("team-|psp-{}"));
        assert_eq!(found("team-a", "alpha"), None, "a letter is no name");
        assert_eq!(found("team-a", "restricted"), None);
        assert_eq!(found("team-", "restricted-"), None, "nothing is no name");
    }

    #[test]
    fn a_text_is_a_pattern_if_it_is_one_for_all() {
        let names = ["psp", "y"];
        assert_eq!(pattern(&["tool-psp-psp", "tool-y-psp"], &names).as_deref(), Some("tool-{name}-psp"));
        assert_eq!(pattern(&["/psp/psp", "/y/y"], &names).as_deref(), Some("/{name}/{name}"));
        assert_eq!(pattern(&["/data/psp", "/srv/y"], &names), None);
        assert_eq!(pattern(&["{{name}}psp", "{{name}}y"], &names), None, "a brace of the text is no variable");
    }

    #[test]
    fn names_for_new_things_are_made_of_what_is_left_and_differ() {
        let mut taken = BTreeSet::from(["tool-psp".to_owned()]);
        assert_eq!(unused("tool--psp", "tenant", &mut taken), "tool-psp-2");
        assert_eq!(unused("-", "tenant", &mut taken), "tenant");
        assert_eq!(unused("", "tenant", &mut taken), "tenant-2");
    }

    #[test]
    fn what_varies_elsewhere_is_another_class() {
        let candidate = |name: &str, kind: &str, uid: i64| Candidate {
            name: name.to_owned(),
            own: Namespace::default(),
            policy: format!("{name}-psp"),
            spec: json!({ "volumes": [kind], "runAsUser": { "rule": "MustRunAs", "ranges": [{ "min": uid, "max": uid }] } }),
        };
        let all = vec![candidate("a", "secret", 1), candidate("b", "secret", 2), candidate("c", "emptyDir", 3)];
        let groups = collapse(all, &mut BTreeSet::new());
        let [group] = groups.as_slice() else { panic!("one group") };
        assert_eq!(group.tenants.namespaces, ["a", "b"]);
        assert_eq!(group.tenants.variables, ["uid"]);
        assert_eq!(group.profile.pointer("/spec/runAsUser/ranges/0/max"), Some(&json!("{uid}")));
    }
}
