//! Names that exist without a policy (`spec.known`), and the names mentioned by policies.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_kubernetes::rbac::{RbacForm, SubjectFields};
use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::{NodeRef, Spanned};
use globset::GlobSet;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Accounts, Fill, Pattern, Platform, PolicyMeta, Repetition};

/// Names that exist without a policy, by category. A stated category is closed: any other name is an error. A category
/// without entries in `known` is open.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KnownSpec {
    /// Users, as the authenticator names them: names, globs, and `{file: PATH}` for a file with one name per line, by
    /// its path from the root of the workspace. Empty lines and lines that begin with `#` are skipped. In a `.csv`
    /// file, the names are in the first column, below the header.
    #[serde(default)]
    pub users: Option<Vec<Spanned<KnownEntry>>>,
    /// Groups, in the same way.
    #[serde(default)]
    pub groups: Option<Vec<Spanned<KnownEntry>>>,
    /// Namespaces, in the same way. A service account is known if its namespace is.
    #[serde(default)]
    pub namespaces: Option<Vec<Spanned<KnownEntry>>>,
    /// ClusterRoles that bindings may refer to, in the same form.
    #[serde(default)]
    pub cluster_roles: Option<Vec<Spanned<KnownEntry>>>,
    /// Roles that bindings of any namespace may refer to, in the same form.
    #[serde(default)]
    pub roles: Option<Vec<Spanned<KnownEntry>>>,
}

/// One or several names.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum KnownEntry {
    /// A name or a glob, such as `*@example.com`.
    Glob(String),
    /// The names of a file.
    File(KnownFile),
}

/// A file with names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFile {
    /// Its path from the workspace's root.
    pub file: String,
}

// One schema with two types: with alternatives, an editor and a diagnostic would not know the intended field.
impl JsonSchema for KnownEntry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "KnownEntry".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["string", "object"],
            "properties": {
                "file": { "type": "string", "description": "A file with one name a line, by its path from the workspace's root." },
            },
            "required": ["file"],
            "additionalProperties": false,
        })
    }
}

/// A kind of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Names of the authenticator, such as `jane@example.com`.
    Users,
    /// Groups of the authenticator.
    Groups,
    /// Names of namespaces.
    Namespaces,
    /// Cluster-wide roles.
    ClusterRoles,
    /// Namespaced roles.
    Roles,
}

impl Category {
    /// Every category, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Users, Self::Groups, Self::Namespaces, Self::ClusterRoles, Self::Roles];

    /// Returns the name of the field in `spec.known`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Groups => "groups",
            Self::Namespaces => "namespaces",
            Self::ClusterRoles => "clusterRoles",
            Self::Roles => "roles",
        }
    }

    /// Returns the singular noun of the category.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Users => "user",
            Self::Groups => "group",
            Self::Namespaces => "namespace",
            Self::ClusterRoles => "ClusterRole",
            Self::Roles => "Role",
        }
    }
}

impl KnownSpec {
    /// Returns the entries of a category; none for an open one.
    pub fn entries(&self, category: Category) -> Option<&[Spanned<KnownEntry>]> {
        match category {
            Category::Users => self.users.as_deref(),
            Category::Groups => self.groups.as_deref(),
            Category::Namespaces => self.namespaces.as_deref(),
            Category::ClusterRoles => self.cluster_roles.as_deref(),
            Category::Roles => self.roles.as_deref(),
        }
    }
}

/// The declared names of one category.
#[derive(Debug, Default)]
pub struct NameSet {
    globs: GlobSet,
    /// Sorted.
    names: Vec<Box<str>>,
    /// Each entry with its location; a file entry has the path of the file.
    entries: Vec<(Box<str>, Origin)>,
    /// The globs as texts.
    patterns: Vec<Box<str>>,
}

impl NameSet {
    /// Returns a set of names and of globs with their texts, `patterns`; `entries` are their declarations.
    pub fn new(
        globs: GlobSet,
        patterns: Vec<Box<str>>,
        mut names: Vec<Box<str>>,
        entries: Vec<(Box<str>, Origin)>,
    ) -> Self {
        names.sort_unstable();
        names.dedup();
        Self { globs, names, entries, patterns }
    }

    fn lists(&self, name: &str) -> bool {
        self.names.binary_search_by(|known| (**known).cmp(name)).is_ok()
    }

    /// Globs match printable characters only.
    fn has(&self, name: &str) -> bool {
        self.lists(name) || self.globs.is_match(name) && !name.contains(is_invisible)
    }
}

/// The declared names of a target: the names of the workspace and its own.
#[derive(Debug, Clone, Default)]
pub struct DeclaredNames {
    stated: Vec<(Category, Arc<NameSet>)>,
}

impl DeclaredNames {
    /// Adds names, and closes their category.
    pub fn state(&mut self, category: Category, names: Arc<NameSet>) {
        self.stated.push((category, names));
    }

    /// Whether the category is stated.
    pub fn is_closed(&self, category: Category) -> bool {
        self.sets(category).next().is_some()
    }

    /// Whether a name of the category is declared.
    pub fn declares(&self, category: Category, name: &str) -> bool {
        self.sets(category).any(|names| names.has(name))
    }

    /// Whether a name of the category is declared as itself, and not by a glob.
    pub fn lists(&self, category: Category, name: &str) -> bool {
        self.sets(category).any(|names| names.lists(name))
    }

    /// Returns the declared names and globs of the category.
    pub fn declared(&self, category: Category) -> BTreeSet<&str> {
        self.sets(category).flat_map(|set| set.names.iter().chain(&set.patterns).map(|name| &**name)).collect()
    }

    /// Returns the location of the entry that declares a name or a glob. For a name from a file, and without a name, it
    /// is the location of the first entry of the category.
    pub fn place(&self, category: Category, name: Option<&str>) -> Option<Origin> {
        let entries = || self.sets(category).flat_map(|set| &set.entries);
        let own = entries().find(|(entry, _)| Some(&**entry) == name);
        own.or_else(|| entries().next()).map(|(_, origin)| *origin)
    }

    /// Returns the declared names of the category without globs.
    pub fn names(&self, category: Category) -> impl Iterator<Item = &str> {
        self.sets(category).flat_map(|set| set.names.iter().map(|name| &**name))
    }

    fn sets(&self, category: Category) -> impl Iterator<Item = &NameSet> {
        self.stated.iter().filter(move |(stated, _)| *stated == category).map(|(_, names)| &**names)
    }
}

/// Whether a character is written and not seen: controls, formatting characters and line separators.
pub fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The namespaces of every cluster.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The groups defined by Kubernetes.
const GROUPS: [&str; 5] =
    ["system:authenticated", "system:masters", "system:nodes", "system:serviceaccounts", "system:unauthenticated"];

/// The groups defined or bound by OpenShift (`pkg/bootstrappolicy/constants.go` of openshift/openshift-apiserver, 4.x).
const OPENSHIFT_GROUPS: [&str; 4] =
    ["system:authenticated:oauth", "system:cluster-admins", "system:cluster-readers", "system:node-admins"];

/// Whether every cluster of a platform has a name of the category. The roles of the default policy are elsewhere
/// ([`bailiwick_kubernetes::default_policy`], [`bailiwick_admission::scc::bootstrap`]).
pub fn is_always_known(category: Category, name: &str, platform: Platform) -> bool {
    let openshift = platform == Platform::Openshift;
    match category {
        Category::Users => name.strip_prefix("system:node:").is_some_and(|node| !node.is_empty()),
        Category::Groups => GROUPS.contains(&name) || openshift && OPENSHIFT_GROUPS.contains(&name),
        Category::Namespaces => {
            let of_platform = || name == "openshift" || name.starts_with("openshift-");
            NAMESPACES.contains(&name) || openshift && of_platform()
        }
        // Operators of OpenShift make roles with this prefix.
        Category::ClusterRoles => openshift && name.starts_with("openshift-"),
        Category::Roles => false,
    }
}

/// Returns the names of the category on every cluster of a platform, for suggestions.
pub fn always_known_names(category: Category, platform: Platform) -> impl Iterator<Item = &'static str> {
    let (common, of_openshift): (&[_], &[_]) = match category {
        Category::Groups => (&GROUPS, &OPENSHIFT_GROUPS),
        Category::Namespaces => (&NAMESPACES, &["openshift"]),
        Category::Users | Category::ClusterRoles | Category::Roles => (&[], &[]),
    };
    let own = if platform == Platform::Openshift { of_openshift } else { &[] };
    common.iter().chain(own).copied()
}

/// Returns the name to look up for a subject: the namespace of a service account, written as a user or as the group of
/// the service accounts of the namespace; for other subjects the name itself.
pub fn deciding_name(category: Category, name: &str) -> (Category, &str) {
    let namespace = match category {
        Category::Users => name
            .strip_prefix("system:serviceaccount:")
            .and_then(|rest| rest.split_once(':'))
            .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty() && !name.contains(':'))
            .map(|(namespace, _)| namespace),
        Category::Groups => name.strip_prefix("system:serviceaccounts:").filter(|namespace| !namespace.is_empty()),
        _ => None,
    };
    namespace.map_or((category, name), |namespace| (Category::Namespaces, namespace))
}

/// Returns the subjects of a binding; a service account is represented by its namespace.
pub fn subjects(binding: NodeRef<'_>) -> impl Iterator<Item = (Category, &str)> {
    let form = match binding.text_at("apiVersion") {
        // An item of a list.
        "" => Some(RbacForm::Rbac),
        api_version => RbacForm::of_api_version(api_version),
    };
    let subjects = form.map_or_else(Vec::new, |form| form.subjects(binding)).into_iter();
    let named = subjects.filter_map(|SubjectFields { kind, name, namespace }| match kind {
        "User" => Some((Category::Users, name)),
        "Group" => Some((Category::Groups, name)),
        "ServiceAccount" => Some((Category::Namespaces, namespace)),
        _ => None,
    });
    named.filter(|(_, name)| !name.is_empty())
}

/// A name mentioned, but not created, by a policy.
#[derive(Debug, Clone)]
pub struct Mention {
    /// The category of the name.
    pub category: Category,
    /// The name.
    pub text: Pattern,
    /// The location of the name.
    pub origin: Origin,
    /// The repetitions of the item with the name, the outermost first.
    pub repeated: Vec<Repetition>,
}

impl Mention {
    /// Visits the texts of the name with some values.
    pub fn each_text(&self, from: Fill<'_>, visit: &mut dyn FnMut(&str)) {
        fn each(repeated: &[Repetition], from: Fill<'_>, visit: &mut dyn FnMut(Fill<'_>)) {
            match repeated.split_first() {
                Some((first, rest)) => first.each(from, &mut |from| each(rest, from, visit)),
                None => visit(from),
            }
        }
        each(&self.repeated, from, &mut |from| self.text.fill_each(from).iter().for_each(|text| visit(text)));
    }
}

/// The source of a mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MentionedBy {
    /// A policy with permissions: the name must be known, and a test of it can fail.
    Grant,
    /// An AccessTest: the name must be known and have a mention outside tests.
    Test,
    /// A manifest with a reference to the name: the name is not checked, and a test of it can fail.
    Manifest,
    /// A manifest that creates the name: the name is known.
    Made,
}

/// The names mentioned by a policy.
#[derive(Debug, Clone)]
pub struct Mentions {
    /// The policy, with the targets of the mentions.
    pub meta: PolicyMeta,
    /// The source of the mentions.
    pub by: MentionedBy,
    /// The mentioned names.
    pub names: Vec<Mention>,
    /// The accounts for the variables in the names.
    pub accounts: Arc<Accounts>,
}

impl Mentions {
    /// Names without variables of accounts.
    pub fn new(meta: PolicyMeta, by: MentionedBy, names: Vec<Mention>) -> Self {
        Self { meta, by, names, accounts: Accounts::none() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_accounts_are_known_by_their_namespace() {
        let users = |name| deciding_name(Category::Users, name);
        assert_eq!(users("system:serviceaccount:shop:web"), (Category::Namespaces, "shop"));
        for name in ["system:serviceaccount:shop", "system:serviceaccount::web", "system:serviceaccount:a:b:c", "shop"]
        {
            assert_eq!(users(name), (Category::Users, name));
        }
        let group = "system:serviceaccounts:shop";
        assert_eq!(deciding_name(Category::Groups, group), (Category::Namespaces, "shop"));
        assert_eq!(deciding_name(Category::Users, group), (Category::Users, group));
        assert_eq!(deciding_name(Category::Groups, "system:serviceaccounts:").0, Category::Groups);
    }

    #[test]
    fn a_name_is_known_in_its_own_category_alone() {
        let known = |category, name| is_always_known(category, name, Platform::Kubernetes);
        assert!(known(Category::Groups, "system:masters") && !known(Category::Users, "system:masters"));
        assert!(known(Category::Users, "system:node:a") && !known(Category::Groups, "system:node:a"));
        assert!(!known(Category::Users, "system:node:") && !known(Category::Namespaces, "openshift-config"));
        assert!(is_always_known(Category::Namespaces, "openshift-config", Platform::Openshift));
    }
}
