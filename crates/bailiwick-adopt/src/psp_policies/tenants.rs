//! Policies that differ only in numbers and in a few texts, one per namespace, as one profile with variables and a
//! Tenancy with their values.
//!
//! Programs without variables create thousands of such policies, one per tenant. Only ids, ports, host paths and parts
//! of an SELinux context may vary: any other difference makes another profile.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bailiwick_admission::level::Level;
use bailiwick_admission::psp::PodSecurityPolicy;
use bailiwick_base::alike::Shape;
use serde_json::{Map, Value, json};

use super::{Namespace, document, escaped, profile};

/// Namespaces as accounts of a Tenancy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenancyAccounts {
    /// The name of the Tenancy.
    pub tenancy: String,
    /// The one profile in the place of their policies.
    pub profile: String,
    /// The names of the columns.
    pub variables: Vec<String>,
    /// The names of the tenant namespaces.
    pub namespaces: Vec<String>,
    /// Their policies, in the same order.
    pub policies: Vec<String>,
}

/// A Tenancy with its profile.
pub(super) struct Group {
    pub(super) level: Level,
    pub(super) tenants: TenancyAccounts,
    pub(super) profile: Value,
    pub(super) tenancy: Value,
}

/// A namespace with a policy of its own.
pub(super) struct Candidate {
    name: String,
    own: Namespace,
    policy: String,
    level: TenantLevel,
    /// The spec of its profile as JSON, with a hole for each value that may vary.
    shape: Shape<Hole>,
    /// The values in the holes.
    values: Vec<Value>,
}

/// The Pod Security level of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TenantLevel {
    /// The pods of the namespace, or its own label, decide.
    Known(Level),
    /// The namespace has no pods: the tenants that are alike decide, or else the text of the policy.
    Otherwise(Level),
}

/// A value of a spec that may vary.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Hole {
    /// The field that decides the meaning of the value.
    field: String,
    is_number: bool,
}

impl Candidate {
    pub(super) fn new(name: &str, own: Namespace, level: TenantLevel, policy: &PodSecurityPolicy) -> Option<Self> {
        let candidate = Self::with_spec(name, own, policy.name(), &profile::spec(policy))?;
        Some(Self { level, ..candidate })
    }

    fn with_spec(name: &str, own: Namespace, policy: &str, spec: &Value) -> Option<Self> {
        let mut written = Written::default();
        written.add(spec, "");
        let Written { text, ranges, values } = written;
        let shape = Shape::cut(&text, ranges)?;
        let (name, policy) = (name.to_owned(), policy.to_owned());
        Some(Self { name, own, policy, level: TenantLevel::Otherwise(Level::Restricted), shape, values })
    }

    /// Returns the common parts of all tenants in a class; none for a policy unfit for a tenant.
    fn class(&self) -> Option<Class> {
        let (prefix, policy) = naming(&self.name, &self.policy)?;
        let keys = |entries: &BTreeMap<String, String>| entries.keys().cloned().collect();
        Some(Class {
            prefix,
            policy,
            shape: self.shape.clone(),
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
    shape: Shape<Hole>,
    labels: Vec<String>,
    annotations: Vec<String>,
}

/// The names that new objects may not have.
struct TakenNames<'t> {
    profiles: &'t mut BTreeSet<String>,
    tenancies: BTreeSet<String>,
}

/// Groups candidates with one profile. Taken names are not used for profiles.
pub(super) fn collapse(candidates: Vec<Candidate>, taken: &mut BTreeSet<String>) -> Vec<Group> {
    let mut classes: BTreeMap<Class, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        if let Some(class) = candidate.class() {
            classes.entry(class).or_default().push(candidate);
        }
    }
    let mut names = TakenNames { profiles: taken, tenancies: BTreeSet::new() };
    let mut groups = Vec::new();
    for (class, members) in classes {
        for (level, members) in by_level(members) {
            if members.len() > 1 {
                groups.extend(group(&class, level, &members, &mut names));
            }
        }
    }
    groups
}

/// Groups the members of a class by their levels. A member without pods gets the loosest level of the members with pods.
fn by_level(members: Vec<Candidate>) -> BTreeMap<Level, Vec<Candidate>> {
    let known = members.iter().filter_map(|member| match member.level {
        TenantLevel::Known(level) => Some(level),
        TenantLevel::Otherwise(_) => None,
    });
    let loosest = known.max();
    let mut groups: BTreeMap<Level, Vec<Candidate>> = BTreeMap::new();
    for member in members {
        let level = match member.level {
            TenantLevel::Known(level) => level,
            TenantLevel::Otherwise(level) => loosest.map_or(level, |loosest| loosest),
        };
        groups.entry(level).or_default().push(member);
    }
    groups
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

/// A spec as JSON, with the places of the values that may vary.
#[derive(Default)]
struct Written {
    text: String,
    ranges: Vec<(Range<usize>, Hole)>,
    values: Vec<Value>,
}

impl Written {
    fn add(&mut self, value: &Value, field: &str) {
        match value {
            Value::Array(items) => {
                self.text.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.text.push_str(if index > 0 { "," } else { "" });
                    self.add(item, field);
                }
                self.text.push(']');
            }
            Value::Object(entries) => {
                self.text.push('{');
                for (index, (name, value)) in entries.iter().enumerate() {
                    self.text.push_str(if index > 0 { "," } else { "" });
                    self.text.push_str(&format!("{}:", Value::from(name.as_str())));
                    // The field with the ranges decides the meaning of a number.
                    let is_part = field == "seLinuxOptions" || matches!(name.as_str(), "ranges" | "min" | "max");
                    self.add(value, if is_part { field } else { name });
                }
                self.text.push('}');
            }
            scalar => {
                let start = self.text.len();
                self.text.push_str(&scalar.to_string());
                let may_vary = matches!(field, "pathPrefix" | "seLinuxOptions");
                if scalar.is_number() || scalar.is_string() && may_vary {
                    let hole = Hole { field: field.to_owned(), is_number: scalar.is_number() };
                    self.ranges.push((start..self.text.len(), hole));
                    self.values.push(scalar.clone());
                }
            }
        }
    }
}

fn group(class: &Class, level: Level, members: &[Candidate], names_in_use: &mut TakenNames<'_>) -> Option<Group> {
    // A common prefix of the namespace names is part of both patterns.
    let common = if class.prefix.is_empty() { common_prefix(members) } else { String::new() };
    let prefix = format!("{}{common}", class.prefix);
    let names: Vec<&str> = members.iter().filter_map(|member| member.name.strip_prefix(prefix.as_str())).collect();
    let mut columns = Columns { names, variables: Vec::new() };
    let spec = columns.fill(&class.shape, members)?;
    let mut namespace = Map::new();
    namespace.insert("name".to_owned(), format!("{prefix}{{name}}").into());
    let labels: Vec<_> = members.iter().map(|member| &member.own.labels).collect();
    let annotations: Vec<_> = members.iter().map(|member| &member.own.annotations).collect();
    for (field, keys, each) in [("labels", &class.labels, labels), ("annotations", &class.annotations, annotations)] {
        let mut entries = Map::new();
        for key in keys {
            let texts = each.iter().filter_map(|entries| Some(escaped(entries.get(key)?).into())).collect();
            entries.insert(key.clone(), columns.common(texts, key)?);
        }
        if !entries.is_empty() {
            namespace.insert(field.to_owned(), entries.into());
        }
    }
    namespace.insert("podSecurity".to_owned(), json!({ "level": level.name() }));
    let (before, behind) = &class.policy;
    let profile = unused(&format!("{before}{common}{behind}"), "tenant", names_in_use.profiles);
    let tenancy = unused(&prefix, "tenants", &mut names_in_use.tenancies);
    let accounts: Vec<Value> = (0..members.len()).filter_map(|index| columns.account(index)).collect();
    let tenancy_spec = json!({
        "accounts": { "inline": accounts },
        "variables": columns.declared(),
        "class": {
            "namespace": namespace,
            "podSecurity": [{ "name": format!("{before}{common}{{name}}{behind}"), "profile": profile }],
        },
    });
    let tenants = TenancyAccounts {
        tenancy: tenancy.clone(),
        profile: profile.clone(),
        variables: columns.variables.iter().map(|variable| variable.name.clone()).collect(),
        namespaces: members.iter().map(|member| member.name.clone()).collect(),
        policies: members.iter().map(|member| member.policy.clone()).collect(),
    };
    Some(Group {
        level,
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
    /// Returns the spec with variables in the holes; none if the values of a hole have no variable.
    fn fill(&mut self, shape: &Shape<Hole>, members: &[Candidate]) -> Option<Value> {
        let mut filled: Vec<Option<String>> = shape.holes().map(|_| None).collect();
        // The user id gives its name to every equal number.
        for is_user in [true, false] {
            for (index, hole) in shape.holes().enumerate().filter(|(_, hole)| (hole.field == "runAsUser") == is_user) {
                let values = members.iter().map(|member| member.values.get(index).cloned()).collect::<Option<_>>()?;
                *filled.get_mut(index)? = Some(self.common(values, &hole.field)?.to_string());
            }
        }
        let filled = filled.into_iter().collect::<Option<Vec<String>>>()?;
        let text = shape.fill_with(|index, _| filled.get(index).map_or("", String::as_str));
        serde_json::from_str(&text).ok()
    }

    /// Returns one value for all tenants: their common value, or a text with variables; none for a text that no account can
    /// have.
    fn common(&mut self, values: Vec<Value>, field: &str) -> Option<Value> {
        let first = values.first()?;
        if values.iter().all(|value| value == first) {
            return Some(first.clone());
        }
        if first.is_number() {
            return Some(format!("{{{}}}", self.variable(values, field)).into());
        }
        let texts: Vec<&str> = values.iter().map(Value::as_str).collect::<Option<_>>()?;
        if let Some(pattern) = pattern(&texts, &self.names) {
            return Some(pattern.into());
        }
        let plain: Vec<String> = texts.iter().map(|text| unescaped(text)).collect();
        let is_fine = |text: &String| !text.is_empty() && !text.chars().any(char::is_control);
        if !plain.iter().all(is_fine) {
            return None;
        }
        Some(format!("{{{}}}", self.variable(plain.into_iter().map(Value::from).collect(), field)).into())
    }

    /// Returns the variable with these values.
    fn variable(&mut self, values: Vec<Value>, field: &str) -> String {
        if let Some(known) = self.variables.iter().find(|variable| variable.values == values) {
            return known.name.clone();
        }
        let wanted = match field {
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
        let candidate = |name: &str, kind: &str, uid: i64| {
            let ranges = json!([{ "min": uid, "max": uid }]);
            let spec = json!({ "volumes": [kind], "runAsUser": { "rule": "MustRunAs", "ranges": ranges } });
            Candidate::with_spec(name, Namespace::default(), &format!("{name}-psp"), &spec).expect("a spec")
        };
        let all = vec![candidate("a", "secret", 1), candidate("b", "secret", 2), candidate("c", "emptyDir", 3)];
        let groups = collapse(all, &mut BTreeSet::new());
        let [group] = groups.as_slice() else { panic!("one group") };
        assert_eq!(group.tenants.namespaces, ["a", "b"]);
        assert_eq!(group.tenants.variables, ["uid"]);
        assert_eq!(group.profile.pointer("/spec/runAsUser/ranges/0/max"), Some(&json!("{uid}")));
    }
}
