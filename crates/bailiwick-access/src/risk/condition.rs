//! The conditions of rules, written as short texts.
//!
//! ```text
//! create,update pods,pods/exec        any of these verbs on any of these resources: an ask
//! A or B                              either ask: a need
//! A and B                             both needs, each met by whatever rule
//! A; B                                either case, the first that is met
//! high: A                             a case with a severity of its own
//! A unless B                          a case that does not count where B is met
//! deployments.apps, signers.certificates   a group stands behind a dot; see `full_group` for the short ones
//! *                                   a star in the rule, and nothing less
//! ?, ?/scale, userextras/?, impersonate-on:user-info:?    any text in the place of the question mark
//! /metrics, /?                        a URL, any URL
//! of any name                         resourceNames make no difference to this ask
//! of name aws-auth                    an ask about the object of this name
//! before 1.35, since 1.36             an ask of some minors only
//! where known                         stars count where a definition of the group is among the inputs; else the rule has to name it
//! ```

use crate::request::split_at_first;
use crate::request::{Request, ResourceRequest};
use crate::risk::RiskSeverity;
use crate::scope::is_checked_in_namespaces;
use crate::served::Liveness;
use crate::symbols::{Symbol, Symbols};
use crate::world::World;

/// A condition for one world: cases; the first one met counts.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) cases: Vec<Case>,
}

/// Needs to be met together.
#[derive(Debug)]
pub(super) struct Case {
    /// A severity in place of the rule's.
    pub(super) level: Option<RiskSeverity>,
    pub(super) needs: Vec<Need>,
    pub(super) unless: Vec<Need>,
}

/// Asks, one of them to be met.
#[derive(Debug)]
pub(super) struct Need {
    pub(super) atoms: Vec<Atom>,
}

/// One verb on one resource or URL.
#[derive(Debug)]
pub(super) struct Atom {
    pub(super) what: What,
    /// True when a rule with names is as good as one without.
    pub(super) of_any_name: bool,
    /// The name of the object, for an ask about one object.
    pub(super) of_name: Option<Symbol>,
    /// The group a rule has to name, because it is unknown whether the cluster has the group.
    pub(super) named_group: Option<Symbol>,
    /// Whether a grant can take effect cluster-wide, and in a namespace.
    pub(super) live_in_cluster: bool,
    pub(super) live_in_namespace: bool,
}

/// The scope of a grant, and of the question about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrantScope {
    /// A cluster-wide grant, for cluster-wide permissions.
    Cluster,
    /// A cluster-wide grant, for the permissions in a namespace.
    ClusterForNamespace,
    /// A grant by a RoleBinding, for the permissions there.
    Namespace,
}

/// The target of an ask.
#[derive(Debug)]
pub(super) enum What {
    /// As a request would ask.
    Exact {
        verb: Symbol,
        group: Symbol,
        resource: Symbol,
        any_of_subresource: Option<Symbol>,
        /// The effect of a request's name.
        naming: Naming,
    },
    /// Some request or other.
    Loose { verb: Word, group: Word, resource: Word },
    /// A URL; none for any.
    Url { verb: Symbol, path: Option<String> },
}

/// Whether requests carry the name of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// They do.
    Always,
    /// Names match with a selector for one.
    Sometimes,
    /// Names match with server-side apply, allowed to patch the object of this name.
    ByApply,
    /// They never do.
    Never,
}

/// A text with a gap.
#[derive(Debug)]
pub(super) enum Word {
    Is(Symbol),
    Any,
    Begins(String),
    Ends(String),
}

impl Condition {
    /// Returns the severity of a case: the severity of the rule where the case has none of its own.
    pub(super) fn level_of(&self, case: usize, of_rule: RiskSeverity) -> RiskSeverity {
        self.cases.get(case).and_then(|case| case.level).unwrap_or(of_rule)
    }

    /// Reads a condition for a world; none when the text is not one.
    pub(super) fn parse(text: &str, world: &World) -> Option<Self> {
        let mut cases = Vec::new();
        for case in text.split("; ") {
            let (level, case) = match case.split_once(": ") {
                Some((word, rest)) => (Some(RiskSeverity::from_word(word)?), rest),
                None => (None, case),
            };
            let (needs, unless) = match case.split_once(" unless ") {
                Some((needs, unless)) => (needs, Some(unless)),
                None => (case, None),
            };
            let parse = |text: &str| -> Option<Vec<Need>> {
                text.split(" and ").filter(|need| !need.is_empty()).map(|need| Need::parse(need, world)).collect()
            };
            cases.push(Case { level, needs: parse(needs)?, unless: unless.map_or(Some(Vec::new()), parse)? });
        }
        Some(Self { cases })
    }
}

impl Need {
    fn parse(text: &str, world: &World) -> Option<Self> {
        let mut atoms = Vec::new();
        for ask in text.split(" or ") {
            let words: Vec<&str> = ask.split(' ').collect();
            let ([verbs, resources], conditions) = words.split_first_chunk::<2>()?;
            let mut of_any_name = false;
            let mut of_name = None;
            let mut where_known = false;
            let mut counts = true;
            match conditions {
                [] => {}
                ["of", "any", "name"] => of_any_name = true,
                ["of", "name", name] => of_name = Some(world.symbols.find(name)),
                ["where", "known"] => where_known = true,
                ["before", version] => counts = world.minor() < minor(version)?,
                ["since", version] => counts = world.minor() >= minor(version)?,
                _ => return None,
            }
            for resource in resources.split(',').filter(|_| counts) {
                let atom = |verb| Atom { of_any_name, of_name, ..Atom::new(verb, resource, where_known, world) };
                atoms.extend(verbs.split(',').map(atom));
            }
        }
        Some(Self { atoms })
    }
}

fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("1.")?.parse().ok()
}

impl Atom {
    /// Creates an ask about objects of all names. `where_known` is for a group that clusters may lack.
    fn new(verb: &str, written: &str, where_known: bool, world: &World) -> Self {
        let symbols = &world.symbols;
        if let Some(path) = written.strip_prefix('/') {
            let path = (path != "?").then(|| written.to_owned());
            let what = What::Url { verb: symbols.find(verb), path };
            return Self {
                what,
                of_any_name: false,
                of_name: None,
                named_group: None,
                live_in_cluster: true,
                live_in_namespace: false,
            };
        }
        let (resource, group) = split_at_first(written, '.');
        let group = full_group(group);
        let is_loose = [verb, resource, &group].iter().any(|word| word.contains('?'));
        let what = if is_loose {
            What::Loose {
                verb: Word::new(verb, symbols),
                group: Word::new(&group, symbols),
                resource: Word::new(resource, symbols),
            }
        } else {
            let subresource = resource.split_once('/').map(|(_, subresource)| subresource);
            What::Exact {
                verb: exact(verb, symbols),
                group: exact(&group, symbols),
                resource: exact(resource, symbols),
                any_of_subresource: subresource.map(|subresource| symbols.find(&format!("*/{subresource}"))),
                naming: naming(verb, subresource.is_some()),
            }
        };
        let live = |in_namespace| is_loose && group == "?" || can_be_asked(world, verb, &group, resource, in_namespace);
        let is_unknown = where_known && world.api().versions_of(&group).is_empty();
        let named_group = is_unknown.then(|| symbols.find(&group));
        let (live_in_cluster, live_in_namespace) = (live(false), live(true));
        Self { what, of_any_name: false, of_name: None, named_group, live_in_cluster, live_in_namespace }
    }

    /// Whether a grant of such a rule can take effect.
    pub(super) fn is_live(&self, scope: GrantScope) -> bool {
        match scope {
            GrantScope::Cluster => self.live_in_cluster,
            GrantScope::ClusterForNamespace => self.live_in_cluster || self.live_in_namespace,
            GrantScope::Namespace => self.live_in_namespace,
        }
    }
}

/// Returns the symbol of a text; a star gets a symbol of no rule, so that only a star matches it.
fn exact(text: &str, symbols: &Symbols) -> Symbol {
    if text == "*" { Symbol::FOREIGN } else { symbols.find(text) }
}

/// Returns the full name of a group: `rbac` is `rbac.authorization.k8s.io`, and another word without a dot is short
/// for the group of that name below `k8s.io`, unless it is one of the oldest groups.
fn full_group(short: &str) -> String {
    match short {
        "" | "*" | "?" | "apps" | "autoscaling" | "batch" | "extensions" | "policy" => short.to_owned(),
        "rbac" => bailiwick_kubernetes::rbac::GROUP.to_owned(),
        "flowcontrol" => "flowcontrol.apiserver.k8s.io".to_owned(),
        _ if short.contains('.') => short.to_owned(),
        _ => format!("{short}.k8s.io"),
    }
}

fn naming(verb: &str, has_subresource: bool) -> Naming {
    match verb {
        "create" if !has_subresource => Naming::ByApply,
        "deletecollection" if !has_subresource => Naming::Never,
        "list" | "watch" => Naming::Sometimes,
        _ => Naming::Always,
    }
}

/// Whether a server of the world's minor could ever receive such a request, with a namespace or without.
pub(super) fn can_be_asked(world: &World, verb: &str, group: &str, resource: &str, in_namespace: bool) -> bool {
    let (name, subresource) = split_at_first(resource, '/');
    let is_namespaced = !world.is_cluster_scoped(group, name);
    if in_namespace && !is_namespaced && !is_checked_in_namespaces(group, name, subresource, verb) {
        return false;
    }
    let is_own_namespace = in_namespace && group.is_empty() && name == "namespaces";
    let is_nameless = naming(verb, !subresource.is_empty()) != Naming::Always;
    let request = Request::Resource(ResourceRequest {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: name.to_owned(),
        subresource: subresource.to_owned(),
        namespace: if is_namespaced || is_own_namespace { "x".to_owned() } else { String::new() },
        name: if is_nameless { String::new() } else { "x".to_owned() },
        ..ResourceRequest::default()
    });
    !matches!(world.liveness(&request), Liveness::Dead(_))
}

impl Word {
    fn new(text: &str, symbols: &Symbols) -> Self {
        match (text, text.strip_suffix('?'), text.strip_prefix('?')) {
            ("?", _, _) => Word::Any,
            (_, Some(start), _) => Word::Begins(start.to_owned()),
            (_, _, Some(end)) => Word::Ends(end.to_owned()),
            _ => Word::Is(symbols.find(text)),
        }
    }

    /// Whether some entry of a rule's list fits.
    pub(super) fn is_in(&self, list: &[Symbol], symbols: &Symbols) -> bool {
        list.iter().any(|&entry| {
            entry == Symbol::STAR
                || match self {
                    Word::Is(symbol) => entry == *symbol,
                    Word::Any => true,
                    Word::Begins(start) => symbols.text(entry).starts_with(start.as_str()),
                    Word::Ends(end) => symbols.text(entry).ends_with(end.as_str()),
                }
        })
    }
}
