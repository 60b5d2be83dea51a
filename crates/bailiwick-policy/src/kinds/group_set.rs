//! `GroupSet`: groups of users, and on OpenShift their Group objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::names;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use super::shared::{StringMap, with_metadata};
use crate::model::{
    Blueprint, Category, CommonMetadataSpec, Contribution, Data, GroupMembers, Kind, Linker, Mention, MentionedBy,
    Mentions, ObjectBlueprint, OutputFileKey, Pattern, Patterns, Platform, Policy, PolicyMeta, RawDocument, Target,
    Unit, is_invisible,
};
use crate::source::{Cell, Sources, TableRow, read_csv};

/// The policy kind `GroupSet`.
pub struct GroupSetKind;

/// Groups of users. On OpenShift each group becomes a Group object; elsewhere the authenticator of the cluster decides about
/// groups, and a GroupSet creates no object.
///
/// The groups are known names, as with `spec.known` of the workspace. `can-i --as USER`, `explain User/NAME` and AccessTests
/// add the groups of a user, and print where the membership is. With `--as-group`, the groups of the command line count
/// alone. Group objects of Manifests policies count in the same way.
///
/// `file` is a CSV file with the columns `group` and `user`, by its path from the folder of the policy. A line without a
/// user declares a group without members.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: GroupSet
/// metadata:
///   name: platform
/// spec:
///   groups:
///   - name: sre
///     members: [alice, bob]
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GroupSetSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// Names with their members.
    #[serde(default)]
    pub groups: Vec<GroupItem>,
    /// A CSV file with further groups.
    #[serde(default)]
    pub file: Option<Spanned<String>>,
    /// False for groups that a directory synchronises: they count in the same way, and no object is created. Default: true.
    #[serde(default = "yes")]
    pub emit: bool,
}

fn yes() -> bool {
    true
}

/// A name with its members.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GroupItem {
    /// The name of the group, as bindings refer to it.
    pub name: Spanned<String>,
    /// The names of users.
    #[serde(default)]
    pub members: Vec<Spanned<String>>,
    /// Labels of the Group object.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the Group object.
    #[serde(default)]
    pub annotations: StringMap,
}

/// A group with its names as they are written. Texts of the policy can have variables; cells of a file have none.
struct WrittenGroup {
    item: GroupItem,
    has_patterns: bool,
}

impl Kind for GroupSetKind {
    type Spec = GroupSetSpec;

    const NAME: &'static str = "GroupSet";
    const TEMPLATES: &'static [&'static str] = &["group-set/group.yaml.j2"];
    const PATTERNS: Patterns = Patterns::Targets;

    fn link(
        document: &RawDocument<'_>,
        spec: GroupSetSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let mut found = Sink::new();
        if spec.groups.is_empty() && spec.file.is_none() {
            let message = "this GroupSet has no group";
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(document.meta.origin);
            found.push(diagnostic.help("list `groups`, or name a `file`"));
        }
        let mut written: Vec<WrittenGroup> =
            spec.groups.into_iter().map(|item| WrittenGroup { item, has_patterns: true }).collect();
        if let Some(file) = &spec.file {
            let items = read_file(document, file, linker, &mut found);
            written.extend(items.into_iter().map(|item| WrittenGroup { item, has_patterns: false }));
        }
        let mut objects = BTreeMap::new();
        for target in linker.targets_of(&document.meta) {
            let groups: Vec<GroupItem> = written.iter().map(|group| group.at(&target)).collect();
            check(&groups, &target, linker, &mut found);
            if spec.emit && target.platform == Platform::Openshift {
                objects.insert(target.name.clone(), groups.iter().map(object).collect());
            }
            record(groups, &target, &document.meta, linker);
        }
        let is_valid = !found.has_errors();
        sink.absorb(found);
        is_valid.then(|| Box::new(Linked { meta: document.meta.clone(), objects }) as Box<dyn Policy>)
    }
}

impl WrittenGroup {
    /// Returns the group with the values of a target.
    fn at(&self, target: &Target) -> GroupItem {
        if !self.has_patterns {
            return self.item.clone();
        }
        let fill = |text: &Spanned<String>| Spanned::new(Pattern::at_target(text, target), text.origin);
        let GroupItem { name, members, labels, annotations } = &self.item;
        let members = members.iter().map(fill).collect();
        GroupItem { name: fill(name), members, labels: labels.clone(), annotations: annotations.clone() }
    }
}

/// Reads the groups of a CSV file.
fn read_file(
    document: &RawDocument<'_>,
    file: &Spanned<String>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<GroupItem> {
    let mut refuse = |code, message: String, help: &str| {
        sink.push(Diagnostic::error(code, message).at(file.origin).help(help));
        Vec::new()
    };
    let Some(path) = Sources::resolve(document.path, file) else {
        let message = format!("`{}` leaves the workspace", file.value);
        return refuse(codes::PATH_OUTSIDE, message, "use a file below the root of the workspace");
    };
    if !path.ends_with(".csv") {
        let message = format!("`{}` is not a CSV file", file.value);
        return refuse(
            codes::INVALID_VALUE,
            message,
            "use a file that ends in .csv, with the columns `group` and `user`",
        );
    }
    let before = sink.len();
    let text = match linker.sources.passing_text(&path, Some(file.origin), sink) {
        Ok(text) => text,
        Err(error) => {
            sink.push(Diagnostic::error(codes::MISSING_FILE, error.message).at(file.origin));
            return Vec::new();
        }
    };
    let Some((id, text)) = text else {
        if sink.len() == before {
            let message = format!("there is no file `{path}`");
            let diagnostic = Diagnostic::error(codes::MISSING_FILE, message).at(file.origin);
            sink.push(diagnostic.help("write the path relative to the folder of this policy"));
        }
        return Vec::new();
    };
    let mut table = GroupTable::default();
    read_csv(id, &text, sink, &mut |row, sink| table.add(row, sink));
    table.groups.into_values().collect()
}

/// The groups of a file by name.
#[derive(Default)]
struct GroupTable {
    groups: BTreeMap<String, GroupItem>,
    /// Whether the columns are reported already.
    has_other_columns: bool,
}

impl GroupTable {
    fn add(&mut self, row: TableRow<'_>, sink: &mut Sink) {
        let (mut group, mut user, mut other) = (None, None, None);
        row.each_cell(&mut |column, cell| {
            let Cell::Text(text, ..) = cell else { return };
            let text = Spanned::new(text.trim().to_owned(), cell.origin());
            match column {
                "group" => group = Some(text),
                "user" => user = Some(text),
                column => other = Some(column.to_owned()),
            }
        });
        let (Some(name), Some(user), None) = (group, user, &other) else {
            if !std::mem::replace(&mut self.has_other_columns, true) {
                let message = match other {
                    Some(other) => format!("a list of groups has no column `{other}`"),
                    None => "a list of groups has two columns".to_owned(),
                };
                let place = row.header.map_or(row.origin, |header| header);
                let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(place);
                sink.push(diagnostic.help("write the header `group,user`"));
            }
            return;
        };
        let (labels, annotations) = (StringMap::new(), StringMap::new());
        let item = self.groups.entry(name.value.clone());
        let item = item.or_insert_with(|| GroupItem { name, members: Vec::new(), labels, annotations });
        item.members.extend(Some(user).filter(|user| !user.is_empty()));
    }
}

/// Checks the names of the groups and users on a target.
fn check(groups: &[GroupItem], target: &Target, linker: &Linker<'_>, sink: &mut Sink) {
    let mut known: BTreeMap<String, Origin> = BTreeMap::new();
    for members in
        linker.facts.on(&target.name).filter(|members: &&GroupMembers| members.policy.kind == GroupSetKind::NAME)
    {
        known.insert(members.group.clone(), members.origin);
    }
    let is_openshift = target.platform == Platform::Openshift;
    for GroupItem { name, members, .. } in groups {
        check_name(name, "group", is_openshift.then_some(names::openshift_group), sink);
        for member in members {
            check_name(member, "user", is_openshift.then_some(names::openshift_user), sink);
        }
        if let Some(first) = known.insert(name.value.clone(), name.origin) {
            let message = format!("the group `{}` is declared twice", name.value);
            let diagnostic = Diagnostic::error(codes::DUPLICATE_OBJECT, message).at(name.origin);
            sink.push(diagnostic.and(first, "the first one").help("write all members in one place"));
        }
    }
}

/// The grammar of a name.
type Grammar = fn(&str) -> Result<(), names::Reasons>;

/// Checks the name of a group or user; `grammar` is the grammar of the platform, if it has one.
fn check_name(name: &Spanned<String>, noun: &str, grammar: Option<Grammar>, sink: &mut Sink) {
    let (text, origin) = (name.value.as_str(), name.origin);
    let mut refuse = |code, message: String, help: &str| {
        sink.push(Diagnostic::error(code, message).at(origin).help(help));
    };
    if text.is_empty() || text.contains(is_invisible) {
        let message = format!("this name of a {noun} is empty or has an invisible character");
        refuse(codes::INVALID_VALUE, message, "use visible characters");
    } else if text.starts_with("system:") {
        let message = format!("the {noun} `{text}` belongs to the cluster: its name begins with `system:`");
        refuse(codes::INVALID_VALUE, message, "the API server decides about these groups and users; remove it");
    } else if let Some(Err(reasons)) = grammar.map(|grammar| grammar(text)) {
        for reason in reasons.iter() {
            let message = format!("OpenShift refuses the name of the {noun} `{text}`: it {reason}");
            refuse(codes::INVALID_OBJECT, message, "use another name, or exclude the target with `targets`");
        }
    }
}

/// Returns the Group object of a group. The names have no variables any more.
fn object(group: &GroupItem) -> ObjectBlueprint {
    let users: BTreeSet<&str> = group.members.iter().map(|member| member.value.as_str()).collect();
    let users = Data::List(users.into_iter().map(Data::text).collect());
    let name = Pattern::constant(&group.name);
    let object =
        ObjectBlueprint::new("user.openshift.io/v1", "Group", "group-set/group.yaml.j2", name, group.name.origin);
    with_metadata(object, &group.labels, &group.annotations).with("users", Blueprint::Constant(users))
}

/// Records the groups of a target: they are known, and their members have them.
fn record(groups: Vec<GroupItem>, target: &Target, policy: &PolicyMeta, linker: &mut Linker<'_>) {
    let policy = PolicyMeta { targets: Arc::new(BTreeSet::from([target.name.clone()])), ..policy.clone() };
    let mention = |category, name: &Spanned<String>| Mention {
        category,
        text: Pattern::constant(name),
        origin: name.origin,
        repeated: Vec::new(),
    };
    let made = groups.iter().map(|group| mention(Category::Groups, &group.name)).collect();
    let users = groups.iter().flat_map(|group| &group.members);
    let named = users.map(|user| mention(Category::Users, user)).collect();
    linker.facts.push(Mentions::new(policy.clone(), MentionedBy::Made, made));
    linker.facts.push(Mentions::new(policy.clone(), MentionedBy::Manifest, named));
    for GroupItem { name, members, .. } in groups {
        let policy = policy.clone();
        linker.facts.push(GroupMembers { group: name.value, origin: name.origin, users: members, policy });
    }
}

struct Linked {
    meta: PolicyMeta,
    /// The objects of each target.
    objects: BTreeMap<String, Vec<ObjectBlueprint>>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        if self.objects.get(&target.name).is_some_and(|objects| !objects.is_empty()) {
            visit(OutputFileKey::Cluster, 0);
        }
    }

    fn expand(&self, target: &Target, _: &OutputFileKey, _: Contribution, units: &mut Vec<Unit>) {
        let objects = self.objects.get(&target.name).into_iter().flatten();
        units.extend(objects.map(|object| object.fill(target, None, None)));
    }
}
