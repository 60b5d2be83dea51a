//! Spreads the effects of a representative over its class.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_base::alike::{Hints, Hole, OwnName, Shape};
use bailiwick_compiler::compile::TenantAccount;
use bailiwick_policy::model::{NamespaceSample, Target};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::{Diagnostic, Sink};
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::internal;
use hashbrown::HashMap;

use super::shapes::Shapes;
use crate::subject_classes::{Member, MemberNumbers, NameTable};

/// A sample of the namespaces of both states, with the values of their accounts.
#[derive(Default)]
pub struct Spread<'w> {
    sample: Arc<NamespaceSample>,
    /// The states of the accounts, the earlier state first.
    states: Vec<Shapes<'w>>,
    /// The accounts of each class by its representative: its own account, and the accounts of the further namespaces in their order.
    accounts: HashMap<Arc<str>, Vec<Option<ClassAccount>>>,
}

/// The account of a namespace, in the latest state with the namespace.
#[derive(Debug, Clone, Copy)]
struct ClassAccount {
    /// The position of the state.
    state: u32,
    account: TenantAccount,
}

/// A name of a representative with holes for the values of its class.
struct NameTemplate<'n> {
    shape: Shape,
    /// The name of the representative.
    own: Option<OwnName<'n>>,
    /// The columns of its account, each with the digest of its name.
    columns: Vec<(u128, String)>,
}

impl<'w> Spread<'w> {
    /// Creates the spread of a sample. Of the states, the names of the namespaces are released.
    pub(super) fn new(sample: NamespaceSample, mut states: Vec<Shapes<'w>>) -> Self {
        let account = |namespace: &Arc<str>| {
            let found = states.iter().enumerate().rev();
            let mut found = found.filter_map(|(state, shapes)| Some((state, shapes.namespace(namespace)?)));
            let (state, shape) = found.next()?;
            Some(ClassAccount { state: internal::number(state), account: shape.account? })
        };
        let classes = sample.representatives().map(|representative| {
            let further = sample.further(representative).iter();
            (Arc::clone(representative), std::iter::once(representative).chain(further).map(account).collect())
        });
        let accounts = classes.collect();
        states.iter_mut().for_each(Shapes::release);
        Self { sample: Arc::new(sample), states, accounts }
    }

    /// Returns the sample.
    pub fn sample(&self) -> &Arc<NamespaceSample> {
        &self.sample
    }

    /// Returns the warnings of the compiler about a target of a state, from all of its namespaces.
    pub(crate) fn warnings(&self, workspace: &Workspace, target: &str) -> &[Diagnostic] {
        let of_state = |state: &&Shapes<'_>| Arc::ptr_eq(state.workspace.project(), workspace.project());
        self.states.iter().find(of_state).map_or(&[], |state| state.warnings(target))
    }

    /// Replaces the warnings of the compiler about the sample of a target by the warnings about all namespaces.
    pub(crate) fn with_all_warnings(&self, workspace: &Workspace, target: &Target, sampled: Sink) -> Sink {
        let all = self.warnings(workspace, &target.name);
        if all.is_empty() {
            return sampled;
        }
        let is_of_compiler = |found: &Diagnostic| {
            let mut at_place = all.iter().filter(|known| (known.code, known.origin) == (found.code, found.origin));
            at_place.any(|known| known.is_foldable() || known == found)
        };
        let others = sampled.into_list().into_iter().filter(|found| !is_of_compiler(found));
        let mut sink = Sink::new();
        all.iter().cloned().chain(others).for_each(|diagnostic| sink.push(diagnostic));
        sink
    }

    /// Returns a namespace with its class.
    pub(crate) fn namespaces<'n>(&'n self, namespace: &'n str) -> impl Iterator<Item = &'n str> {
        std::iter::once(namespace).chain(self.sample.further(namespace).iter().map(|name| &**name))
    }

    /// Returns the size of the class of a namespace.
    pub fn weight(&self, namespace: &str) -> usize {
        self.sample.weight(namespace)
    }

    /// Returns namespaces with their classes, sorted.
    pub fn all_namespaces<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
        let all: BTreeSet<&str> = names.into_iter().flat_map(|name| self.namespaces(name)).collect();
        all.into_iter().map(str::to_owned).collect()
    }

    /// Returns a name in a namespace, with the names in its place in the other namespaces of the class.
    pub fn names(&self, name: &str, namespace: &str) -> Vec<String> {
        self.in_class(name, namespace).map(|(name, _)| name).collect()
    }

    /// Iterates over a name in a namespace, and the names in its place in the other namespaces of the class, each with its
    /// namespace.
    pub(crate) fn in_class<'n>(&'n self, name: &'n str, namespace: &'n str) -> impl Iterator<Item = (String, &'n str)> {
        let template = NameTemplate::new(name, namespace, &self.columns_of(namespace, 0));
        let further = (1..).zip(self.sample.further(namespace));
        let others = further.map(move |(position, other)| {
            let columns = self.columns_of(namespace, position);
            (template.name(other, &columns), &**other)
        });
        std::iter::once((name.to_owned(), namespace)).chain(others)
    }

    /// Returns a namespace with its class, with names that share their texts.
    pub(crate) fn shared_namespaces<'n>(&'n self, namespace: &str) -> impl Iterator<Item = Arc<str>> + use<'n, 'w> {
        std::iter::once(namespace.into()).chain(self.sample.further(namespace).iter().cloned())
    }

    /// Returns members with the members in their place in the other namespaces of each class.
    pub(crate) fn members(&self, members: Vec<Member>) -> Vec<Member> {
        if self.sample.is_whole() {
            return members;
        }
        let mut all: Vec<(String, &str)> = Vec::new();
        self.each_pair(&members, &mut |subject, namespace| all.push((subject.to_owned(), namespace)));
        all.sort_unstable();
        all.dedup();
        let mut members: Vec<Member> = Vec::new();
        for (subject, namespace) in all {
            let namespace = Some(namespace).filter(|namespace| !namespace.is_empty()).map(str::to_owned);
            match members.last_mut().filter(|last| last.subject == subject) {
                Some(last) => last.namespaces.extend(namespace),
                None => members.push(Member { subject, namespaces: namespace.into_iter().collect() }),
            }
        }
        members
    }

    /// Returns members with the members in their place in the other namespaces of each class, as numbers of names.
    pub fn member_numbers(&self, members: &[Member], names: &mut NameTable) -> MemberNumbers {
        let mut pairs: Vec<(u32, Option<u32>)> = Vec::new();
        self.each_pair(members, &mut |subject, namespace| {
            let scope = (!namespace.is_empty()).then(|| names.add(namespace));
            pairs.push((names.add(subject), scope));
        });
        MemberNumbers::of_pairs(pairs, names)
    }

    /// Calls a function with each pair of a subject and a namespace of members, and with the pairs in their place in the other
    /// namespaces of each class. The namespace is empty for the whole cluster. A pair can come twice.
    pub(crate) fn each_pair<'n>(&'n self, members: &'n [Member], add: &mut dyn FnMut(&str, &'n str)) {
        let mut by_namespace: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for member in members {
            if member.namespaces.is_empty() {
                add(&member.subject, "");
                self.cluster_wide(&member.subject).iter().for_each(|subject| add(subject, ""));
            }
            for namespace in &member.namespaces {
                add(&member.subject, namespace);
                if !self.sample.further(namespace).is_empty() {
                    by_namespace.entry(namespace).or_default().push(&member.subject);
                }
            }
        }
        for (namespace, subjects) in by_namespace {
            let columns = self.columns_of(namespace, 0);
            let template = |subject: &&str| NameTemplate::new(subject, namespace, &columns);
            let templates: Vec<NameTemplate<'_>> = subjects.iter().map(template).collect();
            for (position, other) in (1..).zip(self.sample.further(namespace)) {
                let columns = self.columns_of(namespace, position);
                templates.iter().for_each(|template| add(&template.name(other, &columns), other));
            }
        }
    }

    /// Returns the subjects that a subject without a namespace stands for.
    pub(crate) fn cluster_wide(&self, subject: &str) -> Vec<String> {
        let mut all = Vec::new();
        for representative in self.sample.representatives() {
            let columns = self.columns_of(representative, 0);
            if NameTemplate::new(subject, representative, &columns).shape.has_holes() {
                all.extend(self.names(subject, representative));
            }
        }
        all
    }

    /// Returns the columns with texts of the account at a position of the class of a representative.
    fn columns_of(&self, representative: &str, position: usize) -> Vec<(&str, &str)> {
        let account = self.accounts.get(representative).and_then(|class| *class.get(position)?);
        let state = account.and_then(|account| Some((self.states.get(account.state as usize)?, account.account)));
        state.map_or_else(Vec::new, |(state, account)| state.workspace.project().texts_of(account))
    }
}

impl<'n> NameTemplate<'n> {
    fn new(name: &str, namespace: &'n str, columns: &[(&str, &str)]) -> Self {
        let hints = Hints::of_names(&[namespace]).without_numbers().with_columns(columns);
        let columns = columns.iter().map(|(column, _)| (digest_of_run(*column), (*column).to_owned())).collect();
        Self { shape: Shape::split_message(name, &hints).0, own: OwnName::new(namespace), columns }
    }

    /// Returns the name of an account of the class.
    fn name(&self, namespace: &str, columns: &[(&str, &str)]) -> String {
        let value = |column: u128| {
            let (_, name) = self.columns.iter().find(|(known, _)| *known == column)?;
            columns.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
        };
        let short = self.own.and_then(|own| own.of_same_shape(namespace).short());
        self.shape.fill_with(|_, hole| match hole {
            Hole::Name => namespace,
            Hole::ShortName => short.map_or(namespace, |short| short),
            Hole::Column(column) => value(*column).map_or("", |value| value),
            _ => "",
        })
    }
}
