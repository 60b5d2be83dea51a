//! Answers about access, for people and for programs.

mod records;

use std::collections::HashMap;
use std::rc::Rc;

use bailiwick_access::compare::{Affected, Change};
use bailiwick_access::decide::MissingRole;
use bailiwick_access::possible::PossibleGrant;
use bailiwick_access::proof::{Chain, NearMiss};
use bailiwick_access::who_can::{Capable, PermissionScope, WhoCan};
use bailiwick_access::{Answer, Decision, Identity, Liveness, Request, World, cover};
pub use bailiwick_workspace::words::{chain_text, link, place_text, rule_text};
use bailiwick_yaml::diag::Files;
pub use records::{
    CanIDecision, CanIResult, ChainRecord, DecisionRecord, ExplainedBinding, ExplainedDecision, ExplainedRole,
    ExplainedSubject, GrantList, LinkRecord, WhoCanResult,
};

use super::human::grouped;
use super::page::Page;

/// How many changes, and how many rules of each, are listed.
const MAXIMUM_CHANGES: usize = 40;

/// How many bindings of a role are listed.
const MAXIMUM_BINDINGS: usize = 20;

/// How many namespaces a line names before it counts the rest.
const MAXIMUM_NAMES: usize = 8;

/// A decision with its circumstances.
#[derive(Debug)]
pub struct DecisionReport<'a> {
    /// The world that was asked.
    pub world: &'a World,
    /// Every text, for places.
    pub files: &'a Files,
    /// The subject of the request.
    pub who: &'a Identity,
    /// For what.
    pub request: &'a Request,
    /// The decision of RBAC.
    pub decision: &'a Decision,
    /// Yes, no, unknown, or dead for a request that no API server accepts.
    pub answer: Answer,
}

impl DecisionReport<'_> {
    /// Returns the reasons, one a line; the answer itself is not among them.
    pub fn reasons(&self) -> String {
        let mut text = Page::new();
        if self.decision.by_masters {
            text.push_str(
                "  members of `system:masters` have full authority; no rule grants it, and no rule can revoke it\n",
            );
        }
        if let Liveness::Dead(reason) | Liveness::Unknown(reason) = &self.decision.liveness {
            writeln!(text, "  {reason}");
        }
        for chain in self.world.chains(self.who, self.decision) {
            text.append(&chain_lines(&chain, self.files));
        }
        if !self.decision.allowed && !matches!(self.decision.liveness, Liveness::Dead(_)) {
            for missing in &self.decision.missing {
                writeln!(text, "  {missing}, bound by {}, is not among the inputs", missing.bound_by);
            }
            for grant in &self.decision.possible {
                writeln!(text, "  {grant}");
            }
            for role in &self.decision.doubtful {
                writeln!(
                    text,
                    "  the aggregated ClusterRole/{role} states a rule that allows it; a cluster keeps that only while nothing is gathered"
                );
            }
            for miss in self.world.near_misses(self.who, self.request) {
                miss_lines(&miss, self.files, &mut text);
            }
        }
        if let Some(also) = &self.decision.also_needed {
            writeln!(text, "  but since 1.35 the API server also requires `create`, and the subject may not {also}");
        }
        text.finish()
    }
}

/// Returns a chain as lines.
pub fn chain_lines(chain: &Chain, files: &Files) -> String {
    let mut text = Page::new();
    writeln!(text, "  {} <- {}", chain.subject, link(&chain.binding, files));
    writeln!(text, "    <- {}", link(&chain.role, files));
    for rule in &chain.rules {
        writeln!(text, "    <- rule {}: {}", rule.number, rule_text(&rule.rule));
        for source in &rule.gathered_from {
            writeln!(text, "       aggregated from {}", link(source, files));
        }
    }
    text.finish()
}

fn miss_lines(miss: &NearMiss, files: &Files, text: &mut Page) {
    writeln!(text, "  nearest: {} grants {}", link(&miss.binding, files), rule_text(&miss.rule));
    writeln!(text, "    by {}, but {}", link(&miss.role, files), miss.lacks.join(" and "));
}

/// Returns the allowed subjects as lines: first cluster-wide, then by namespace. Namespaces with the same subjects are one line.
pub fn who_can(found: &WhoCan, world: &World, files: &Files, with_bindings: bool) -> String {
    let mut text = Page::new();
    let mut last = String::new();
    for capable in found.capable(world).take_while(|capable| capable.scope.is_cluster()) {
        if !with_bindings && last == capable.subject {
            continue;
        }
        let by = match capable.binding.and_then(|binding| world.binding_link_of(binding)) {
            _ if !with_bindings => String::new(),
            Some(binding) => format!("  {}", link(&binding, files)),
            None => "  no binding needed".to_owned(),
        };
        writeln!(text, "{}{by}", capable.subject);
        last = capable.subject;
    }
    for AlikeNamespaces { names, count, subjects } in alike_namespaces(found, world) {
        let more = count - names.len();
        let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
        writeln!(text, "in {}{more}: {subjects}", names.join(", "));
    }
    text.append(&self::missing(&found.missing));
    text.append(&self::possible(&found.possible));
    text.finish()
}

/// Namespaces with the same subjects.
struct AlikeNamespaces {
    /// The first of their names.
    names: Vec<String>,
    count: usize,
    subjects: Rc<str>,
}

/// Returns the namespaces of an answer, grouped by their subjects.
fn alike_namespaces(found: &WhoCan, world: &World) -> Vec<AlikeNamespaces> {
    let mut groups: Vec<AlikeNamespaces> = Vec::new();
    let mut positions: HashMap<Rc<str>, usize> = HashMap::new();
    let mut local = found.capable(world).skip_while(|capable| capable.scope.is_cluster()).peekable();
    while let Some(Capable { scope, subject, .. }) = local.next() {
        let (mut subjects, mut last) = (subject.clone(), subject);
        while let Some(next) = local.next_if(|next| next.scope == scope) {
            if next.subject != last {
                subjects.push_str(", ");
                subjects.push_str(&next.subject);
                last = next.subject;
            }
        }
        let known = positions.get(subjects.as_str()).and_then(|position| groups.get_mut(*position));
        let name = scope.namespace().map(str::to_owned);
        match known {
            Some(group) => {
                group.count += 1;
                group.names.extend(name.filter(|_| group.count <= MAXIMUM_NAMES));
            }
            None => {
                let subjects: Rc<str> = subjects.into();
                positions.insert(Rc::clone(&subjects), groups.len());
                groups.push(AlikeNamespaces { names: name.into_iter().collect(), count: 1, subjects });
            }
        }
    }
    groups
}

/// Returns the bindings that a cluster may have, one line for each binding with its subjects.
pub fn possible(grants: &[PossibleGrant]) -> String {
    let mut text = Page::new();
    let alike = |left: &PossibleGrant, right: &PossibleGrant| {
        (&left.capability, &left.binding, &left.cluster_role)
            == (&right.capability, &right.binding, &right.cluster_role)
    };
    for alike in grants.chunk_by(alike) {
        let [first, ..] = alike else { continue };
        let subjects: Vec<&str> = alike.iter().take(MAXIMUM_NAMES).map(|grant| grant.subject.as_str()).collect();
        let more = alike.len().saturating_sub(MAXIMUM_NAMES);
        let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
        writeln!(
            text,
            "unknown: {}{more}, if the cluster has the capability {}: RoleBinding {} of the namespace binds ClusterRole/{}",
            subjects.join(", "),
            first.capability,
            first.binding,
            first.cluster_role
        );
    }
    text.finish()
}

/// Roles that are bound and not there, one a line.
pub fn missing(list: &[MissingRole]) -> String {
    let mut text = Page::new();
    for missing in list {
        writeln!(text, "unknown: {missing}, bound by {}, is not among the inputs", missing.bound_by);
    }
    text.finish()
}

/// Returns a role: its rules, what they are gathered from, and who is bound to it.
pub fn role(world: &World, namespace: Option<&str>, name: &str, files: &Files) -> Option<String> {
    let (own, rules, is_aggregated) = world.describe_role(namespace, name)?;
    let mut text = Page::new();
    writeln!(text, "{}", link(&own, files));
    if is_aggregated {
        text.push_str("  aggregates the rules of the ClusterRoles that its selectors match\n");
    }
    for rule in &rules {
        writeln!(text, "  rule {}: {}", rule.number, rule_text(&rule.rule));
        for source in &rule.gathered_from {
            writeln!(text, "    aggregated from {}", link(source, files));
        }
    }
    let bound = world.bound_by(namespace, name);
    for (binding, subjects) in bound.iter().take(MAXIMUM_BINDINGS) {
        writeln!(text, "  <- {} <- {}", link(binding, files), listed(subjects));
    }
    if bound.len() > MAXIMUM_BINDINGS {
        writeln!(text, "  and {} more bindings", grouped(bound.len() - MAXIMUM_BINDINGS));
    }
    if bound.is_empty() {
        text.push_str("  no binding refers to it\n");
    }
    Some(text.finish())
}

/// Returns a binding: its role with its rules, and its subjects.
pub fn binding(world: &World, namespace: Option<&str>, name: &str, files: &Files) -> Option<String> {
    let (own, bound, subjects) = world.describe_binding(namespace, name)?;
    let mut text = Page::new();
    writeln!(text, "{}", link(&own, files));
    writeln!(text, "  subjects: {}", listed(&subjects));
    match bound {
        Ok(bound) => {
            writeln!(text, "  role: {}", link(&bound, files));
            let parts: Vec<&str> = bound.name.split('/').collect();
            let described = match parts.as_slice() {
                ["Role", namespace, name] => world.describe_role(Some(namespace), name),
                _ => world.describe_role(None, bound.name.trim_start_matches("ClusterRole/")),
            };
            for rule in described.iter().flat_map(|(_, rules, _)| rules) {
                writeln!(text, "    rule {}: {}", rule.number, rule_text(&rule.rule));
            }
        }
        Err(missing) => {
            writeln!(text, "  role: {missing}, which is not among the inputs: it grants nothing");
        }
    }
    Some(text.finish())
}

/// Returns the granted and revoked permissions, grouped by subjects with the same changes.
pub fn changes(changes: &[Change]) -> String {
    let mut text = Page::new();
    if changes.is_empty() {
        text.push_str("  access: no subject gains or loses anything\n");
    }
    for change in changes.iter().take(MAXIMUM_CHANGES) {
        let own_names = if change.own_names { ", each with its own names" } else { "" };
        writeln!(text, "  access of {}{own_names}:", affected(&change.subjects));
        for (sign, rules) in [('+', &change.gained), ('-', &change.lost)] {
            let rules = cover::compacted(rules);
            for rule in rules.iter().take(MAXIMUM_CHANGES) {
                writeln!(text, "    {sign} {}", rule_text(rule));
            }
            if rules.len() > MAXIMUM_CHANGES {
                writeln!(text, "    {sign} and {} more", grouped(rules.len() - MAXIMUM_CHANGES));
            }
        }
    }
    if changes.len() > MAXIMUM_CHANGES {
        writeln!(text, "  and {} more classes of changes", grouped(changes.len() - MAXIMUM_CHANGES));
    }
    text.finish()
}

/// Returns the affected subjects: all of a short list, otherwise the count with the first of them.
fn affected(subjects: &[Affected]) -> String {
    let one = |affected: &Affected| match &affected.scope {
        PermissionScope::Cluster => format!("{} cluster-wide", affected.subject),
        PermissionScope::Namespace(namespace) => format!("{} in {namespace}", affected.subject),
    };
    match subjects {
        [first, _, _, _, ..] => format!("{} holders, such as {}", grouped(subjects.len()), one(first)),
        few => few.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

fn listed(subjects: &[String]) -> String {
    let shown = subjects.iter().take(MAXIMUM_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match subjects.len().saturating_sub(MAXIMUM_NAMES) {
        0 if subjects.is_empty() => "nobody".to_owned(),
        0 => shown,
        more => format!("{shown} and {} more", grouped(more)),
    }
}

/// Returns the rules of an identity, one a line as `kubectl auth can-i --list` has them, with where each comes from.
pub fn grants(chains: &[Chain], files: &Files) -> String {
    let mut text = Page::new();
    for chain in chains {
        writeln!(text, "{}", chain_text(chain, files));
        for rule in &chain.rules {
            writeln!(text, "  {}", rule_text(&rule.rule));
        }
    }
    if chains.is_empty() {
        text.push_str("nothing\n");
    }
    text.finish()
}
