//! The verbs and resources of a written rule that a step needs, and edits that remove them.

use std::collections::BTreeSet;

use bailiwick_access::risk;
use bailiwick_policy::kinds::permission_set::AccessLevel;
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

use super::candidates::lists_below;
use super::edit::{range, replaced, with_items, without_item};
use crate::paths::NeededRule;

/// A list of strings in a rule, with the positions of the needed ones.
pub(super) struct NeededItems<'t> {
    list: NodeRef<'t>,
    positions: Vec<usize>,
}

impl<'t> NeededItems<'t> {
    /// Finds the needed strings of a list of a rule; none without one.
    pub(super) fn find(rule: NodeRef<'t>, key: &str, is_needed: impl Fn(&str) -> bool) -> Option<Self> {
        let list = rule.get(key).filter(|list| list.is_seq())?;
        let needed = list.items().enumerate().filter(|(_, item)| item.as_str().is_some_and(&is_needed));
        let positions: Vec<usize> = needed.map(|(index, _)| index).collect();
        (!positions.is_empty()).then_some(Self { list, positions })
    }

    /// Returns the needed items.
    pub(super) fn nodes(&self) -> Vec<NodeRef<'t>> {
        let needed = self.list.items().enumerate().filter(|(index, _)| self.positions.contains(index));
        needed.map(|(_, item)| item).collect()
    }

    /// Returns the needed strings.
    pub(super) fn texts(&self) -> Vec<&'t str> {
        self.nodes().into_iter().filter_map(NodeRef::as_str).collect()
    }

    /// Iterates over the other strings.
    pub(super) fn others(&self) -> impl Iterator<Item = &'t str> {
        let others = self.list.items().enumerate().filter(|(index, _)| !self.positions.contains(index));
        others.filter_map(|(_, item)| item.as_str())
    }

    /// Whether every item is needed.
    pub(super) fn is_all(&self) -> bool {
        self.positions.len() == self.list.len()
    }

    /// Returns the text without the needed items. The last items go first, so that the list keeps its beginning.
    pub(super) fn removed(&self, text: &str) -> Option<String> {
        let start = self.list.span().start;
        let mut edited = text.to_owned();
        for index in self.positions.iter().rev() {
            let tree = yaml::read(&edited, FileId::default(), &mut Sink::new());
            edited = without_item(&edited, list_at(&tree, start)?, *index)?;
        }
        Some(edited)
    }
}

/// Returns the list that begins at a byte.
fn list_at(tree: &Tree, start: u32) -> Option<NodeRef<'_>> {
    let mut lists = Vec::new();
    tree.documents().for_each(|root| lists_below(root, "", &mut lists));
    lists.into_iter().map(|(_, list)| list).find(|list| list.span().start == start)
}

/// The verbs of a rule: the needed ones and the others.
pub(super) struct RuleVerbs<'t> {
    /// The needed verbs.
    pub(super) taken: Vec<&'t str>,
    /// The other verbs.
    pub(super) rest: Vec<&'t str>,
    place: VerbsPlace<'t>,
}

/// The place of the verbs of a rule.
enum VerbsPlace<'t> {
    List(NeededItems<'t>),
    /// A list with a star, and the position of the star.
    Star(NodeRef<'t>, usize),
    /// The key and the value of an access level.
    Level(NodeRef<'t>, NodeRef<'t>),
}

impl<'t> RuleVerbs<'t> {
    /// Finds the needed verbs of a rule; none without one.
    pub(super) fn find(rule: NodeRef<'t>, needed: &'t BTreeSet<String>) -> Option<Self> {
        let is_needed = |verb: &str| needed.contains("*") || needed.contains(verb);
        if let Some((key, value)) = rule.entry("access") {
            let level = match value.as_str()? {
                "read" => AccessLevel::Read,
                "write" => AccessLevel::Write,
                _ => return None,
            };
            let (taken, rest): (Vec<&str>, Vec<&str>) = level.verbs().iter().partition(|verb| is_needed(verb));
            return (!taken.is_empty()).then_some(Self { taken, rest, place: VerbsPlace::Level(key, value) });
        }
        let items = NeededItems::find(rule, "verbs", |verb| verb == "*" || is_needed(verb))?;
        let star = items.list.items().position(|item| item.as_str() == Some("*"));
        let Some(star) = star.filter(|_| !needed.contains("*")) else {
            let (taken, rest) = (items.texts(), items.others().collect());
            return Some(Self { taken, rest, place: VerbsPlace::List(items) });
        };
        let written: Vec<&str> = items.list.items().filter_map(NodeRef::as_str).collect();
        let is_left = |verb: &&&str| !is_needed(verb) && !written.contains(*verb);
        Some(Self {
            taken: needed.iter().map(String::as_str).collect(),
            rest: AccessLevel::Write.verbs().iter().filter(is_left).copied().collect(),
            place: VerbsPlace::Star(items.list, star),
        })
    }

    /// Returns the nodes of the needed verbs.
    pub(super) fn nodes(&self) -> Vec<NodeRef<'t>> {
        match &self.place {
            VerbsPlace::List(items) => items.nodes(),
            VerbsPlace::Star(list, star) => list.items().nth(*star).into_iter().collect(),
            VerbsPlace::Level(_, value) => vec![*value],
        }
    }

    /// Returns the text without the needed verbs. A star and an access level become the other verbs.
    pub(super) fn removed(&self, text: &str) -> Option<String> {
        match &self.place {
            VerbsPlace::List(items) => items.removed(text),
            VerbsPlace::Star(list, star) => with_items(text, *list, *star, &self.rest),
            VerbsPlace::Level(key, value) => {
                let verbs = format!("verbs: [{}]", self.rest.join(", "));
                replaced(text, range(*key).start..range(*value).end, &verbs)
            }
        }
    }
}

/// Returns the verbs of a rule behind a step, the fewest first: without all verbs of one set the step is not possible. The sets are the
/// parts of the condition of the step, which has to meet each.
pub(super) fn needed_verbs(need: &NeededRule) -> Vec<BTreeSet<String>> {
    let own = &need.rule.verbs;
    let is_star = own.iter().any(|verb| verb == "*");
    let is_own = |name: &str| {
        let plain = name.split_once('.').map_or(name, |(plain, _)| plain);
        need.rule.resources.iter().any(|own| own == "*" || own == plain)
    };
    let of_ask = |ask: &'static str| {
        let mut words = ask.split(' ');
        let (verbs, resources) = (words.next()?, words.next()?);
        resources.split(',').any(is_own).then_some(verbs.split(','))
    };
    let rows = risk::all().filter(|row| row.edges().any(|edge| edge.kind == need.edge));
    let cases = rows.filter_map(risk::RiskRule::condition).flat_map(|condition| condition.split("; "));
    let mut sets: Vec<BTreeSet<String>> = Vec::new();
    for part in cases.flat_map(|case| case.split(" and ")) {
        let verbs = part.split(" or ").filter_map(of_ask).flatten().map(str::to_owned);
        let verbs: BTreeSet<String> = verbs.filter(|verb| is_star || own.contains(verb)).collect();
        if !verbs.is_empty() && !sets.contains(&verbs) {
            sets.push(verbs);
        }
    }
    sets.sort_by_key(BTreeSet::len);
    sets
}
