//! Classes of subjects, and their members: shared by a review and by a map of access.

mod members;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_access::compare::Affected;
use bailiwick_access::risk::subject_of_user;
use bailiwick_access::who_can::PermissionScope;
use bailiwick_access::world::SubjectKind;
use bailiwick_access::{ObjectSource, World};
use bailiwick_base::alike::{common_prefix, common_suffix};
use bailiwick_kubernetes::absent;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::members::{ClassMember, ClassMembers, MemberNumbers, NameTable};

/// How many members of a class are its sample.
const SAMPLE: usize = 3;

/// A class of subjects, namespaces or nodes with the same effects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SubjectClass {
    /// The position in the list, to which effects refer.
    pub id: usize,
    /// The common form of the names, such as `Group/{team}` or `Group/sre`.
    pub template: String,
    /// The number of members.
    pub count: usize,
    /// The names of the members with the namespaces of their effect, at most 1,000 unless all are requested.
    pub members: ClassMembers,
    /// The first members.
    pub sample: Vec<String>,
}

/// A member of a class, with the scope of the effect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Member {
    /// The subject, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub subject: String,
    /// The namespaces; empty for the whole cluster.
    pub namespaces: Vec<String>,
}

impl Member {
    /// Iterates over the namespaces; none for the whole cluster.
    pub fn scopes(&self) -> impl Iterator<Item = Option<&str>> {
        let of_cluster = self.namespaces.is_empty().then_some(None);
        self.namespaces.iter().map(|namespace| Some(namespace.as_str())).chain(of_cluster)
    }
}

/// A class before all names of its list of classes are known.
#[derive(Debug)]
pub struct ClassDraft {
    template: String,
    sample: Vec<String>,
    members: MemberNumbers,
}

impl ClassDraft {
    /// Creates a class. `of_accounts` are the common forms of several members with the columns of their accounts, if there are any.
    pub fn new(of_accounts: Option<String>, members: MemberNumbers, names: &NameTable) -> Self {
        let subjects = || members.iter(names).map(|member| member.subject);
        let template = match of_accounts.filter(|_| members.len() > 1) {
            Some(template) => template,
            None => common_name(subjects),
        };
        let sample = subjects().take(SAMPLE).map(str::to_owned).collect();
        Self { template, sample, members }
    }

    /// Ends the class with its position.
    pub fn finish(self, id: usize, names: &Arc<NameTable>) -> SubjectClass {
        let Self { template, sample, members } = self;
        SubjectClass { id, template, count: members.len(), sample, members: ClassMembers::new(names, members) }
    }
}

/// Returns the subjects that a binding names beside the default policy. A user with the name of a service account is the service account.
pub fn bound_by_inputs(world: &World) -> BTreeSet<String> {
    let own = world.bindings().filter(|binding| binding.layer() != ObjectSource::Baseline);
    let names = own.flat_map(|binding| {
        let place = absent::text(binding.namespace()).to_owned();
        binding.subjects().map(move |subject| match (subject.kind(), subject.namespace()) {
            (SubjectKind::Group, _) => format!("Group/{}", subject.name()),
            (SubjectKind::ServiceAccount, "") => format!("ServiceAccount/{place}/{}", subject.name()),
            (SubjectKind::ServiceAccount, namespace) => format!("ServiceAccount/{namespace}/{}", subject.name()),
            (SubjectKind::User | SubjectKind::Unknown, _) => subject_of_user(subject.name()),
        })
    });
    names.collect()
}

/// Returns members with each subject once.
pub fn joined(members: Vec<Member>) -> Vec<Member> {
    let mut by_subject: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for member in members {
        by_subject.entry(member.subject).or_default().extend(member.namespaces);
    }
    let member = |(subject, namespaces): (String, BTreeSet<String>)| Member {
        subject,
        namespaces: namespaces.into_iter().collect(),
    };
    by_subject.into_iter().map(member).collect()
}

/// Returns the subjects with the namespaces of each.
pub fn members_of(affected: &[&Affected]) -> Vec<Member> {
    let mut by_subject: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for one in affected {
        let namespaces = by_subject.entry(&one.subject).or_default();
        if let PermissionScope::Namespace(namespace) = &one.scope {
            namespaces.insert(namespace.clone());
        }
    }
    let member = |(subject, namespaces): (&str, BTreeSet<String>)| Member {
        subject: subject.to_owned(),
        namespaces: namespaces.into_iter().collect(),
    };
    by_subject.into_iter().map(member).collect()
}

/// Returns the common form of the names of subjects: the only name, or the common beginning and end with a star between.
fn common_name<'m, I: Iterator<Item = &'m str>>(subjects: impl Fn() -> I) -> String {
    let mut names = subjects();
    let Some(first) = names.next() else { return String::new() };
    let (mut head, mut tail) = (first.len(), first.len());
    let mut count = 1;
    for name in names {
        count += 1;
        head = head.min(common_prefix(first.as_bytes(), name.as_bytes()));
        tail = tail.min(common_suffix(first.as_bytes(), name.as_bytes()));
    }
    let beginning = absent::text(first.get(..head));
    let end = absent::text(first.get(first.len().saturating_sub(tail).max(head)..));
    // A few names without a common part are all named.
    let is_common = !matches!(beginning.split_once('/'), None | Some((_, "")));
    if !is_common && count <= SAMPLE {
        return subjects().collect::<Vec<&str>>().join(", ");
    }
    if count == 1 { first.to_owned() } else { format!("{beginning}*{end}") }
}
