//! T005: tenants with other bindings in their namespaces than most tenants of the same Tenancy.
//!
//! A binding counts by its role and its subjects, and not by its name. The objects of a Tenancy are left out: its
//! author states their differences. Names with the name of the tenant or of its namespace are alike, unless several
//! namespaces have the very same name: then it is the name of a team of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::judge::{Finding, Findings, Judge, Likeness};
use super::objects::few;
use super::table::{RiskRule, TenantCheck, When};
use super::tenants::Tenancy;
use crate::compare::Affected;
use crate::proof::place;
use crate::who_can::PermissionScope;
use crate::world::{Binding, Role};
use bailiwick_yaml::digest::digest_of_run;

/// The fewest namespaces of a Tenancy with a majority.
const FEWEST: usize = 4;

/// A role for a subject, in a form that namespaces can share.
type Shape = String;

/// A subject of a binding in a namespace of a tenant.
struct Given<'w> {
    namespace: &'w str,
    binding: &'w Binding,
    /// The role and the subject with their own names.
    exact: Shape,
    /// The same with places for the names of the tenant.
    general: Shape,
    /// For people.
    text: String,
}

/// A namespace unlike the others: its additional and missing grants, by shape.
struct Unlike<'g, 'w> {
    namespace: &'w str,
    extra: BTreeMap<&'g Shape, &'g Given<'w>>,
    missing: BTreeMap<&'g Shape, &'g Given<'w>>,
}

impl Judge<'_> {
    /// Adds a finding about each tenant unlike the others of its Tenancy.
    pub(super) fn unlike_tenants(&self, findings: &mut Findings) {
        let is_it = |rule: &&&'static RiskRule| matches!(rule.when, When::Tenants(TenantCheck::UnlikeOthers));
        let Some((rule, tenancy)) = self.options.rules.iter().find(is_it).copied().zip(self.tenancy.as_ref()) else {
            return;
        };
        let mut by_class: BTreeMap<usize, Vec<Given<'_>>> = BTreeMap::new();
        for (number, binding) in (0..).zip(&self.world.bindings) {
            let Some(namespace) = binding.namespace.map(|namespace| self.world.symbols.text(namespace)) else {
                continue;
            };
            let (Some(class), Some(role)) = (tenancy.class_of(namespace), self.world.role_of(binding)) else {
                continue;
            };
            let is_expected = tenancy.is_own(binding) || self.gives_default(number, binding, role);
            if !is_expected && !tenancy.is_accepted(rule, binding) && !tenancy.is_reported(number) {
                by_class.entry(class).or_default().extend(self.given(tenancy, namespace, binding, role));
            }
        }
        let namespaces = tenancy.namespaces_by_class();
        for (class, given) in &by_class {
            let weight = |namespace: &str| tenancy.weight(namespace);
            let size = |namespaces: &&BTreeSet<&str>| namespaces.iter().map(|name| weight(name)).sum::<usize>();
            if let Some(namespaces) = namespaces.get(class).filter(|namespaces| size(namespaces) >= FEWEST) {
                for unlike in unlike(namespaces, given, &weight) {
                    self.report_unlike(rule, tenancy, &unlike, findings);
                }
            }
        }
    }

    /// Returns the grants of a binding to each of its subjects.
    fn given<'w>(
        &'w self,
        tenancy: &Tenancy<'_>,
        namespace: &'w str,
        binding: &'w Binding,
        role: &'w Role,
    ) -> Vec<Given<'w>> {
        let link = self.world.role_link(role);
        // A role of the namespace is known by its rules.
        let rules = || {
            let rules = self.world.rules_of(role).iter().map(|rule| rule.to_policy_rule(&self.world.symbols));
            let mut texts: Vec<String> = rules
                .map(|rule| {
                    let lists =
                        [rule.api_groups, rule.resources, rule.resource_names, rule.non_resource_urls, rule.verbs];
                    lists.map(|list| list.join("\u{1}")).join("\u{2}")
                })
                .collect();
            texts.sort_unstable();
            texts.join("\u{3}")
        };
        let of_role = if role.namespace.is_some() { rules() } else { link.name.clone() };
        let names = [namespace, tenancy.tenant_name(namespace)];
        let subjects = self.world.subjects(binding).iter();
        subjects
            .filter_map(|subject| self.world.subject_name(*subject, binding.namespace))
            .map(|subject| Given {
                namespace,
                binding,
                exact: format!("{of_role}\u{4}{subject}"),
                general: format!("{}\u{4}{}", without_names(&of_role, names), without_names(&subject, names)),
                text: format!("`{}` for `{subject}`", link.name),
            })
            .collect()
    }

    fn report_unlike(
        &self,
        rule: &'static RiskRule,
        tenancy: &Tenancy<'_>,
        unlike: &Unlike<'_, '_>,
        findings: &mut Findings,
    ) {
        let Some(severity) = rule.level(true, false) else { return };
        let Some(first) = unlike.extra.values().chain(unlike.missing.values()).next() else { return };
        let texts = |given: &BTreeMap<&Shape, &Given<'_>>| {
            few(&given.values().map(|given| given.text.clone()).collect::<Vec<_>>())
        };
        let part = |word: &str, given: &BTreeMap<&Shape, &Given<'_>>| {
            (!given.is_empty()).then(|| format!("{word} {}", texts(given)))
        };
        let parts = [part("also has", &unlike.extra), part("lacks", &unlike.missing)];
        let what = parts.into_iter().flatten().collect::<Vec<_>>().join(", and ");
        let origin = place(first.binding.layer);
        let shapes: Vec<(bool, &Shape)> = unlike
            .extra
            .keys()
            .map(|shape| (true, *shape))
            .chain(unlike.missing.keys().map(|shape| (false, *shape)))
            .collect();
        let likeness = Likeness {
            rule: rule.id,
            severity,
            in_namespace: true,
            shapes: vec![digest_of_run(&shapes)],
            place: self.apart(origin),
            reached: None,
        };
        let tenant = tenancy.tenant_name(unlike.namespace);
        let affected = || Affected {
            subject: format!("Tenant/{tenant}"),
            scope: PermissionScope::Namespace(unlike.namespace.to_owned()),
        };
        findings.add(likeness, affected, || Finding {
            what: format!("differs from the other tenants of its Tenancy: it {what}"),
            ..Finding::new(rule, severity, origin)
        });
    }
}

/// Finds the namespaces with another set of shapes than at least three quarters of all. In a sample, `weight` is how many
/// namespaces a namespace stands for.
fn unlike<'g, 'w>(
    namespaces: &BTreeSet<&'w str>,
    given: &'g [Given<'w>],
    weight: &dyn Fn(&str) -> usize,
) -> Vec<Unlike<'g, 'w>> {
    let mut having: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for one in given {
        having.entry(&one.exact).or_default().insert(one.namespace);
    }
    let is_shared = |one: &Given<'_>| having.get(one.exact.as_str()).is_some_and(|namespaces| namespaces.len() > 1);
    let mut sets: BTreeMap<&str, BTreeMap<&Shape, &Given<'w>>> = BTreeMap::new();
    for one in given {
        let shape = if is_shared(one) { &one.exact } else { &one.general };
        sets.entry(one.namespace).or_default().entry(shape).or_insert(one);
    }
    let empty = BTreeMap::new();
    let set_of = |namespace: &str| sets.get(namespace).unwrap_or(&empty);
    let mut counts: HashMap<Vec<&Shape>, usize> = HashMap::new();
    for namespace in namespaces {
        *counts.entry(set_of(namespace).keys().copied().collect()).or_default() += weight(namespace);
    }
    let all: usize = counts.values().sum();
    let most = counts.into_iter().find(|(_, count)| count * 4 >= all * 3);
    let Some((common, _)) = most else { return Vec::new() };
    let common: BTreeSet<&Shape> = common.into_iter().collect();
    let example = sets.values().find(|set| set.keys().copied().collect::<BTreeSet<_>>() == common);
    let differs = |namespace: &&'w str| {
        let own = set_of(namespace);
        let extra: BTreeMap<_, _> =
            own.iter().filter(|(shape, _)| !common.contains(*shape)).map(|(s, g)| (*s, *g)).collect();
        let missing = example.into_iter().flatten().filter(|(shape, _)| !own.contains_key(*shape));
        let missing: BTreeMap<_, _> = missing.map(|(shape, given)| (*shape, *given)).collect();
        (!extra.is_empty() || !missing.is_empty()).then_some(Unlike { namespace, extra, missing })
    };
    namespaces.iter().filter_map(differs).collect()
}

/// Replaces names in a text by a zero byte, as whole words. An empty name replaces nothing.
pub fn without_names(text: &str, names: [&str; 2]) -> String {
    names.into_iter().filter(|name| !name.is_empty()).fold(text.to_owned(), |text, name| {
        let mut made = String::new();
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once(name) {
            let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            let is_part = is_word(before.chars().next_back().or_else(|| made.chars().next_back()))
                || is_word(behind.chars().next());
            made.push_str(before);
            made.push_str(if is_part { name } else { "\u{0}" });
            rest = behind;
        }
        made + rest
    })
}

#[cfg(test)]
mod tests {
    use super::without_names;

    #[test]
    fn names_are_whole_words() {
        for (text, expected) in [
            ("red", "*"),
            ("User/red-owner", "User/*-owner"),
            ("ServiceAccount/tool-red/ci", "ServiceAccount/*/ci"),
            ("Group/hundred", "Group/hundred"),
            ("Group/redred red", "Group/redred *"),
            ("redo red.red", "redo *.*"),
        ] {
            assert_eq!(without_names(text, ["tool-red", "red"]).replace('\0', "*"), expected, "{text}");
        }
    }
}
