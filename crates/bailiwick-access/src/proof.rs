//! Proofs: subject <- binding <- role <- rule <- gathered role, and for a no the nearest grant.

use std::collections::{BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::decide::{Decision, MissingRole, url_matches};
use super::request::{ACCOUNTS, AUTHENTICATED, Identity, Request, UNAUTHENTICATED};
use super::rules::InternedRule;
use super::symbols::Symbol;
use super::world::{Binding, ObjectSource, Role, RoleKind, Subject, SubjectKind, World, account_user};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::Origin;

/// An object in a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Link {
    /// As `Kind/name` or `Kind/namespace/name`.
    pub name: String,
    /// The place of the object; none for an object of the API server.
    #[serde(skip)]
    pub place: Option<Origin>,
}

/// A proving binding of a yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Chain {
    /// The subject of the binding that stands for the identity.
    pub subject: String,
    /// The proving binding.
    pub binding: Link,
    /// The role of the binding.
    pub role: Link,
    /// The allowing rules of the role.
    pub rules: Vec<RuleLink>,
}

/// An allowing rule of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleLink {
    /// Its position in the role, from 1.
    pub number: usize,
    /// The rule as text.
    pub rule: PolicyRule,
    /// For an aggregated role, the roles on the way to the rule; the last one contains it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub gathered_from: Vec<Link>,
}

/// A grant that nearly allows a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// The nearly allowing binding.
    pub binding: Link,
    /// The role of the binding.
    pub role: Link,
    /// The nearly allowing rule.
    pub rule: PolicyRule,
    /// The missing parts of the rule, in words.
    pub lacks: Vec<String>,
}

/// The most reported near misses.
const MAXIMUM_MISSES: usize = 3;

/// A binding whose role is not among the objects.
#[derive(Debug, Clone)]
pub struct DanglingBinding {
    /// The name and the place of the object.
    pub binding: Link,
    /// The bound role.
    pub role: MissingRole,
    /// Its subjects, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub subjects: Vec<String>,
}

impl World {
    /// Returns the proofs of a decision, in the order of the bindings' names.
    pub fn chains(&self, who: &Identity, decision: &Decision) -> Vec<Chain> {
        let mut chains: Vec<Chain> = decision
            .proofs
            .iter()
            .filter_map(|proof| {
                let binding = self.binding(proof.binding)?;
                let role = self.role_of(binding)?;
                let rules = self.rules_of(role);
                Some(Chain {
                    subject: self.matching_subject(who, binding)?,
                    binding: self.binding_link(binding),
                    role: self.role_link(role),
                    rules: proof
                        .rules
                        .iter()
                        .filter_map(|&position| {
                            let rule = rules.get(position)?;
                            Some(RuleLink {
                                number: position + 1,
                                rule: rule.to_policy_rule(&self.symbols),
                                gathered_from: self.gathered_from(role, rule),
                            })
                        })
                        .collect(),
                })
            })
            .collect();
        chains.sort_by(|left, right| left.binding.name.cmp(&right.binding.name));
        chains
    }

    /// Returns a binding by its number in answers.
    pub fn binding_link_of(&self, binding: u32) -> Option<Link> {
        self.binding(binding).map(|binding| self.binding_link(binding))
    }

    pub(crate) fn binding_link(&self, binding: &Binding) -> Link {
        Link { name: self.binding_name(binding), place: place(binding.layer) }
    }

    pub(crate) fn role_link(&self, role: &Role) -> Link {
        let name = self.symbols.text(role.name);
        let name = match role.namespace {
            Some(namespace) => format!("Role/{}/{name}", self.symbols.text(namespace)),
            None => format!("ClusterRole/{name}"),
        };
        Link { name, place: place(role.layer) }
    }

    /// Returns the place of a ClusterRole.
    pub fn place_of_cluster_role(&self, name: &str) -> Option<Origin> {
        self.role(None, name).and_then(|role| place(role.layer))
    }

    /// Returns the subject of a binding for an identity.
    fn matching_subject(&self, who: &Identity, binding: &Binding) -> Option<String> {
        let found = self.subjects(binding).iter().find(|subject| self.is_subject(who, **subject, binding.namespace));
        found.and_then(|subject| self.subject_name(*subject, binding.namespace))
    }

    fn is_subject(&self, who: &Identity, subject: Subject, binding_namespace: Option<Symbol>) -> bool {
        let name = self.symbols.text(subject.name);
        match subject.kind {
            SubjectKind::User => who.user == name,
            SubjectKind::Group => who.groups.iter().any(|group| group == name),
            SubjectKind::ServiceAccount => {
                let own = (subject.namespace != Symbol::EMPTY).then_some(subject.namespace);
                let namespace = own.or(binding_namespace).map(|namespace| self.symbols.text(namespace));
                namespace.is_some_and(|namespace| account_user(namespace, name) == who.user)
            }
            SubjectKind::Unknown => false,
        }
    }

    /// Returns the roles through which an aggregated role has a rule.
    pub(crate) fn gathered_from(&self, role: &Role, rule: &InternedRule) -> Vec<Link> {
        self.sources_of(role, rule).into_iter().map(|source| self.role_link(source)).collect()
    }

    /// Returns the roles through which an aggregated role has a rule; the last one contains it.
    pub(crate) fn sources_of(&self, role: &Role, rule: &InternedRule) -> Vec<&Role> {
        let mut path = Vec::new();
        let mut met = HashSet::new();
        let mut at = role;
        // No chain is longer than there are roles, and a ring is left at the first repetition.
        while let Some(source) = self.gathered(at).and_then(|gathered| gathered.get(rule)).copied() {
            let Some(role) = self.roles.get(source).filter(|_| met.insert(source)) else { break };
            path.push(role);
            at = role;
        }
        path
    }

    pub(crate) fn label(&self, role: &Role, key: &str) -> Option<&str> {
        self.symbols.value_of(&role.labels, key)
    }

    /// Returns the nearest grants of an identity to a request, best first.
    pub fn near_misses(&self, who: &Identity, request: &Request) -> Vec<NearMiss> {
        let mut misses: Vec<NearMiss> = Vec::new();
        for binding in &self.bindings {
            let Some(role) = self.role_of(binding) else { continue };
            if !self.subjects(binding).iter().any(|subject| self.is_subject(who, *subject, binding.namespace)) {
                continue;
            }
            for rule in self.rules_of(role) {
                let rule = rule.to_policy_rule(&self.symbols);
                let mut lacks = lacking(&rule, request);
                if let Some(namespace) = binding.namespace.map(|namespace| self.symbols.text(namespace))
                    && (namespace != request.namespace() || matches!(request, Request::Url(_)))
                {
                    lacks.push(format!("it holds in namespace `{namespace}` only"));
                }
                if lacks.len() <= 2 {
                    let rule = about(rule, request);
                    misses.push(NearMiss {
                        binding: self.binding_link(binding),
                        role: self.role_link(role),
                        rule,
                        lacks,
                    });
                }
            }
        }
        misses.sort_by(|left, right| {
            (left.lacks.len(), &left.binding.name).cmp(&(right.lacks.len(), &right.binding.name))
        });
        let least = misses.first().map_or(0, |miss| miss.lacks.len());
        misses.retain(|miss| miss.lacks.len() == least);
        misses.truncate(MAXIMUM_MISSES);
        misses
    }

    /// Returns every rule of an identity in a scope, with its place.
    pub fn grants_of(&self, who: &Identity, namespace: &str) -> Vec<Chain> {
        let bindings = self.bindings_of(who, self.namespace_symbol(namespace));
        let mut chains: Vec<Chain> = bindings
            .into_iter()
            .filter_map(|id| self.binding(id))
            .filter_map(|binding| {
                let role = self.role_of(binding)?;
                Some(self.chain_of(self.matching_subject(who, binding)?, binding, role))
            })
            .collect();
        chains.sort_by(|left, right| left.binding.name.cmp(&right.binding.name));
        chains
    }

    /// Returns a proof with every rule of the role.
    fn chain_of(&self, subject: String, binding: &Binding, role: &Role) -> Chain {
        Chain { subject, binding: self.binding_link(binding), role: self.role_link(role), rules: self.rule_links(role) }
    }

    pub(crate) fn rule_links(&self, role: &Role) -> Vec<RuleLink> {
        let rules = (1..).zip(self.rules_of(role)).map(|(number, rule)| RuleLink {
            number,
            rule: rule.to_policy_rule(&self.symbols),
            gathered_from: self.gathered_from(role, rule),
        });
        rules.collect()
    }

    /// Returns every rule of an identity in any scope, with its place: cluster-wide rules first.
    pub fn all_grants_of(&self, who: &Identity) -> Vec<Chain> {
        let bindings = self.bindings.iter().filter_map(|binding| {
            let subject = self.matching_subject(who, binding)?;
            let role = self.role_of(binding)?;
            Some((binding.namespace.is_some(), self.chain_of(subject, binding, role)))
        });
        let mut chains: Vec<(bool, Chain)> = bindings.collect();
        chains.sort_by(|left, right| (left.0, &left.1.binding.name).cmp(&(right.0, &right.1.binding.name)));
        chains.into_iter().map(|(_, chain)| chain).collect()
    }

    /// Whether some binding names an identity or one of its groups, except for groups of all identities of its kind.
    pub fn is_bound(&self, who: &Identity) -> bool {
        let is_named = |subject: &Subject, namespace| {
            let Some(name) = self.subject_name(*subject, namespace) else { return false };
            match name.split_once('/') {
                Some(("User", user)) => user == who.user,
                Some(("ServiceAccount", account)) => {
                    account.split_once('/').is_some_and(|(of, name)| account_user(of, name) == who.user)
                }
                Some(("Group", group)) => {
                    let is_given = matches!(group, AUTHENTICATED | UNAUTHENTICATED) || group.starts_with(ACCOUNTS);
                    !is_given && who.groups.iter().any(|own| own == group)
                }
                _ => false,
            }
        };
        let mut bindings = self.bindings.iter();
        bindings.any(|binding| self.subjects(binding).iter().any(|subject| is_named(subject, binding.namespace)))
    }

    /// Returns the names of the bound ClusterRoles, sorted.
    pub fn bound_cluster_roles(&self) -> BTreeSet<String> {
        let bound = self.bindings.iter().filter(|binding| binding.role_kind == RoleKind::ClusterRole);
        bound.map(|binding| self.symbols.text(binding.role_name).to_owned()).collect()
    }

    /// Returns the bindings of a role, with their subjects.
    pub fn bound_by(&self, namespace: Option<&str>, name: &str) -> Vec<(Link, Vec<String>)> {
        let Some(role) = self.role(namespace, name) else { return Vec::new() };
        let bindings = self.bindings.iter().filter(|binding| {
            self.role_of(binding).is_some_and(|bound| bound.name == role.name && bound.namespace == role.namespace)
        });
        let mut list: Vec<(Link, Vec<String>)> =
            bindings.map(|binding| (self.binding_link(binding), self.subject_names(binding))).collect();
        list.sort_by(|left, right| left.0.name.cmp(&right.0.name));
        list
    }

    /// Returns the subjects of a binding by name.
    fn subject_names(&self, binding: &Binding) -> Vec<String> {
        let subjects = self.subjects(binding).iter();
        subjects.filter_map(|subject| self.subject_name(*subject, binding.namespace)).collect()
    }

    /// Returns a role with its rules and the roles it gathers.
    pub fn describe_role(&self, namespace: Option<&str>, name: &str) -> Option<(Link, Vec<RuleLink>, bool)> {
        let role = self.role(namespace, name)?;
        Some((self.role_link(role), self.rule_links(role), role.aggregation.is_some()))
    }

    /// Returns a binding with its role, whether the role is present, and its subjects.
    pub fn describe_binding(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<(Link, Result<Link, MissingRole>, Vec<String>)> {
        let binding = self.find_binding(namespace, name)?;
        let role = self.role_of(binding).map(|role| self.role_link(role));
        let role = role.ok_or_else(|| self.missing_role(binding));
        Some((self.binding_link(binding), role, self.subject_names(binding)))
    }

    /// Returns the bindings with a missing role, by name.
    pub fn dangling(&self) -> Vec<DanglingBinding> {
        let bindings = self.bindings.iter().filter(|binding| binding.role.is_none());
        let dangling = |binding: &Binding| DanglingBinding {
            binding: self.binding_link(binding),
            role: self.missing_role(binding),
            subjects: self.subject_names(binding),
        };
        let mut list: Vec<DanglingBinding> = bindings.map(dangling).collect();
        list.sort_by(|left, right| left.binding.name.cmp(&right.binding.name));
        list
    }

    /// Returns every role and binding, as `Kind/name` or `Kind/namespace/name`.
    pub fn object_names(&self) -> Vec<String> {
        let roles = self.roles.iter().map(|role| self.role_link(role).name);
        roles.chain(self.bindings.iter().map(|binding| self.binding_name(binding))).collect()
    }
}

/// Returns the location of an object; none for an object of the default policy.
pub fn place(layer: ObjectSource) -> Option<Origin> {
    match layer {
        ObjectSource::Baseline => None,
        ObjectSource::Dump(origin) | ObjectSource::Input(origin) => Some(origin),
    }
}

/// Returns the part of a rule for the requested resource.
fn about(mut rule: PolicyRule, request: &Request) -> PolicyRule {
    if let Request::Resource(request) = request {
        let is_related = |own: &String| own.starts_with('*') || own.split('/').next() == Some(&request.resource);
        rule.resources.retain(is_related);
    }
    rule
}

/// Returns the missing parts of a rule for a request, in words; a rule about another resource lacks more than it has.
fn lacking(rule: &PolicyRule, request: &Request) -> Vec<String> {
    let has = |list: &[String], wanted: &str| list.iter().any(|entry| entry == "*" || entry == wanted);
    let mut lacks = Vec::new();
    let hopeless = || vec![String::new(); 3];
    match request {
        Request::Url(request) => {
            if !has(&rule.verbs, &request.verb) {
                lacks.push(format!("not `{}`", request.verb));
            }
            if rule.non_resource_urls.is_empty() {
                return hopeless();
            }
            if !rule.non_resource_urls.iter().any(|url| url_matches(url, &request.path)) {
                lacks.push(format!("no URL of it covers `{}`", request.path));
            }
        }
        Request::Resource(request) => {
            let full = request.full_resource();
            let of_any = format!("*/{}", request.subresource);
            let has_resource =
                has(&rule.resources, &full) || (!request.subresource.is_empty() && rule.resources.contains(&of_any));
            if !has_resource {
                let is_related = rule.resources.iter().any(|own| own.split('/').next() == Some(&request.resource));
                if !is_related {
                    return hopeless();
                }
                lacks.push(format!("not on `{full}`"));
            }
            if !has(&rule.verbs, &request.verb) {
                lacks.push(format!("not `{}`", request.verb));
            }
            if !has(&rule.api_groups, &request.group) {
                lacks.push(if request.group.is_empty() {
                    "not in the core group".to_owned()
                } else {
                    format!("not in group `{}`", request.group)
                });
            }
            if !rule.resource_names.is_empty() && !rule.resource_names.contains(&request.name) {
                lacks.push(if request.name.is_empty() {
                    "only for objects it names, and the request names none".to_owned()
                } else {
                    format!("not for the name `{}`", request.name)
                });
            }
        }
    }
    lacks
}
