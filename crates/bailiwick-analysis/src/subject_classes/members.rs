//! The members of classes as numbers of names. A name of a large workspace is in many lists: each list has its number, and its text is
//! kept once.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use bailiwick_yaml::internal;
use hashbrown::{DefaultHashBuilder, HashTable};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::Member;

/// The names of subjects and namespaces, each once.
#[derive(Debug, Default)]
pub struct NameTable {
    text: String,
    /// The end of each name; it begins at the end of the name before it.
    ends: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The rank of each name in the order of names, for the names at the last sort.
    ranks: Vec<u32>,
}

/// Members as numbers of names, each subject once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct MemberNumbers {
    subjects: Vec<u32>,
    /// The end of the namespaces of each subject.
    ends: Vec<u32>,
    namespaces: Vec<u32>,
}

/// The members of a class, in the order of their names.
#[derive(Debug, Clone, Default)]
pub struct ClassMembers {
    names: Arc<NameTable>,
    numbers: MemberNumbers,
}

/// A member of a class, with the scope of the effect.
#[derive(Debug, Clone, Copy)]
pub struct ClassMember<'m> {
    names: &'m NameTable,
    /// The subject, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub subject: &'m str,
    namespaces: &'m [u32],
}

impl NameTable {
    /// Returns the number of a name, and adds a new name.
    pub(crate) fn add(&mut self, name: &str) -> u32 {
        if let Some(known) = self.find(name) {
            return known;
        }
        let next = internal::number(self.ends.len());
        self.text.push_str(name);
        self.ends.push(internal::number(self.text.len()));
        let Self { text, ends, numbers, hasher, .. } = self;
        numbers.insert_unique(hasher.hash_one(name), next, |other| hasher.hash_one(name_of(text, ends, *other)));
        next
    }

    /// Returns the number of a name; none for a name that was not added.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.find(self.hasher.hash_one(name), |known| self.get(*known) == name).copied()
    }

    /// Returns a name.
    pub(crate) fn get(&self, number: u32) -> &str {
        name_of(&self.text, &self.ends, number)
    }

    /// Computes the ranks of the names added so far.
    pub(crate) fn sort(&mut self) {
        if self.ranks.len() == self.ends.len() {
            return;
        }
        let mut order: Vec<u32> = (0..internal::number(self.ends.len())).collect();
        // Many names were added in their order.
        order.sort_by(|left, right| self.get(*left).cmp(self.get(*right)));
        self.ranks.resize(self.ends.len(), 0);
        for (rank, number) in (0..).zip(order) {
            self.ranks.get_mut(number as usize).into_iter().for_each(|known| *known = rank);
        }
    }

    /// Returns the rank of a name among the names at the last sort; none for a later name.
    pub(crate) fn rank(&self, number: u32) -> Option<u32> {
        self.ranks.get(number as usize).copied()
    }

    /// Ends the additions.
    pub fn finish(mut self) -> Arc<Self> {
        (self.numbers, self.ranks) = (HashTable::new(), Vec::new());
        self.text.shrink_to_fit();
        Arc::new(self)
    }
}

fn name_of<'t>(text: &'t str, ends: &[u32], number: u32) -> &'t str {
    let end_of = |number: usize| ends.get(number).map_or(0, |end| *end as usize);
    let start = (number as usize).checked_sub(1).map_or(0, end_of);
    internal::slice(text, start..end_of(number as usize))
}

impl MemberNumbers {
    /// Creates the members of pairs of a subject and a namespace; without a namespace for the whole cluster.
    pub(crate) fn of_pairs(mut pairs: Vec<(u32, Option<u32>)>, names: &mut NameTable) -> Self {
        names.sort();
        let rank = |number: u32| names.rank(number);
        pairs.sort_unstable_by_key(|(subject, namespace)| (rank(*subject), namespace.and_then(rank)));
        pairs.dedup();
        let mut members = Self::default();
        for subject in pairs.chunk_by(|(left, _), (right, _)| left == right) {
            let namespaces = subject.iter().filter_map(|(_, namespace)| *namespace);
            subject.first().into_iter().for_each(|(subject, _)| members.push(*subject, namespaces.clone()));
        }
        members
    }

    /// Adds a subject behind the others.
    pub(crate) fn push(&mut self, subject: u32, namespaces: impl IntoIterator<Item = u32>) {
        self.subjects.push(subject);
        self.namespaces.extend(namespaces);
        self.ends.push(internal::number(self.namespaces.len()));
    }

    /// Removes all but the first namespace of each subject.
    pub fn with_first_namespaces(&self) -> Self {
        let mut members = Self::default();
        self.each().for_each(|(subject, namespaces)| members.push(subject, namespaces.first().copied()));
        members
    }

    /// Returns the number of subjects.
    pub(crate) fn len(&self) -> usize {
        self.subjects.len()
    }

    /// Iterates over the subjects, each with its namespaces.
    fn each(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let ranges = starts.zip(&self.ends).map(|(start, end)| *start as usize..*end as usize);
        self.subjects.iter().zip(ranges).map(|(subject, range)| (*subject, internal::items(&self.namespaces, range)))
    }

    /// Iterates over the members.
    pub(crate) fn iter<'m>(&'m self, names: &'m NameTable) -> impl Iterator<Item = ClassMember<'m>> {
        self.each().map(|(subject, namespaces)| ClassMember { names, subject: names.get(subject), namespaces })
    }
}

impl<'m> ClassMember<'m> {
    /// Iterates over the namespaces; none for the whole cluster.
    pub fn namespaces(&self) -> impl ExactSizeIterator<Item = &'m str> + use<'m> {
        let names = self.names;
        self.namespaces.iter().map(|number| names.get(*number))
    }

    /// Iterates over the scopes: the namespaces, or the whole cluster.
    pub(crate) fn scopes(self) -> impl Iterator<Item = Option<&'m str>> {
        let of_cluster = self.namespaces.is_empty().then_some(None);
        self.namespaces().map(Some).chain(of_cluster)
    }
}

impl ClassMembers {
    pub(crate) fn new(names: &Arc<NameTable>, numbers: MemberNumbers) -> Self {
        Self { names: Arc::clone(names), numbers }
    }

    /// Iterates over the members.
    pub fn iter(&self) -> impl Iterator<Item = ClassMember<'_>> {
        self.numbers.iter(&self.names)
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Keeps so many of the first members.
    pub fn truncate(&mut self, count: usize) {
        self.numbers.subjects.truncate(count);
        self.numbers.ends.truncate(count);
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl FromIterator<Member> for ClassMembers {
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Self {
        let (mut names, mut numbers) = (NameTable::default(), MemberNumbers::default());
        for member in members {
            let subject = names.add(&member.subject);
            numbers.push(subject, member.namespaces.iter().map(|namespace| names.add(namespace)));
        }
        Self { names: names.finish(), numbers }
    }
}

impl From<ClassMember<'_>> for Member {
    fn from(member: ClassMember<'_>) -> Self {
        Self { subject: member.subject.to_owned(), namespaces: member.namespaces().map(str::to_owned).collect() }
    }
}

impl PartialEq for ClassMembers {
    fn eq(&self, other: &Self) -> bool {
        self.iter().map(Member::from).eq(other.iter().map(Member::from))
    }
}

impl Eq for ClassMembers {}

impl Serialize for ClassMembers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Member::from))
    }
}

impl JsonSchema for ClassMembers {
    fn inline_schema() -> bool {
        Vec::<Member>::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Vec::<Member>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Member>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_sorted_by_name_and_share_names() {
        let mut names = NameTable::default();
        let [b, a, x, y] = ["User/b", "User/a", "x", "y"].map(|name| names.add(name));
        assert_eq!((names.add("User/b"), names.find("z"), names.get(x)), (b, None, "x"));
        let members = MemberNumbers::of_pairs(vec![(b, Some(y)), (a, None), (b, Some(x)), (b, Some(y))], &mut names);
        let first = members.with_first_namespaces();
        let names = names.finish();
        let list = |members: MemberNumbers| {
            let list = ClassMembers::new(&names, members);
            list.iter()
                .map(|member| (member.subject.to_owned(), member.namespaces().collect::<Vec<_>>().join(" ")))
                .collect::<Vec<_>>()
        };
        let pair = |subject: &str, namespaces: &str| (subject.to_owned(), namespaces.to_owned());
        assert_eq!(list(members), [pair("User/a", ""), pair("User/b", "x y")]);
        assert_eq!(list(first), [pair("User/a", ""), pair("User/b", "x")]);
    }

    #[test]
    fn later_names_have_their_rank() {
        let mut names = NameTable::default();
        let b = names.add("b");
        names.sort();
        let a = names.add("a");
        assert_eq!((names.rank(a), names.rank(b)), (None, Some(0)));
        names.sort();
        assert_eq!((names.rank(a), names.rank(b)), (Some(0), Some(1)));
    }
}
