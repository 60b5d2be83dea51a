//! The files of an imported workspace.

use bailiwick_kubernetes::workers::Workers;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_yaml::diag::foreign;
use bailiwick_yaml::digest::digest;
use bailiwick_yaml::write::SEPARATOR;
use serde_json::{Map, Value};

use crate::fold::{FoldedCluster, FoldedPolicy, PolicyKind};
use crate::object::{ClusterObjects, Object};
use crate::text;

/// The first line of every policy file of an import.
pub const FIRST_LINE: &str = "# Imported by bailiwick. A later import replaces this file while it is unchanged.";

/// The start of the second line, before the digest.
const DIGEST: &str = "# blake3: ";

/// The start of the lines with the places of objects.
const FROM: &str = "# from: ";

/// A policy file becomes several files, by the first letter of the names, above this number of lines.
const LONGEST_FILE: usize = 2000;

/// The files of an import, below the folder of the policies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyFiles {
    /// The texts by path.
    pub files: BTreeMap<String, String>,
    /// The policies by path and line of their start, with the objects of each.
    pub homes: BTreeMap<(String, usize), Home>,
    /// The objects that are not written: the positions of a cluster and of an object in it.
    pub unwritten: BTreeSet<(usize, usize)>,
    /// The number of policies.
    pub policies: usize,
    /// How many lines the policies of each cluster about access have, with their tables.
    pub lines_about_access: Vec<usize>,
    /// How many comments are in no policy, because the objects of the policy have different ones.
    pub dropped_comments: usize,
}

impl PolicyFiles {
    /// Returns the objects of the policy at a line of a file.
    pub fn home(&self, path: &str, line: usize) -> Option<&Home> {
        let start = (path.to_owned(), 0);
        self.homes.range(start..=(path.to_owned(), line)).next_back().map(|(_, home)| home)
    }
}

/// The objects of a policy, or of a document of a Manifests file: their clusters and positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    /// The kind of the policy.
    pub kind: &'static str,
    /// The name of the policy.
    pub name: String,
    /// The position of a cluster and of an object in it.
    pub objects: Vec<(usize, usize)>,
}

/// A policy of one or more clusters.
struct Merged<'f> {
    /// The policy of each cluster, by the position of the cluster. They are equal but for their objects.
    policies: BTreeMap<usize, &'f FoldedPolicy>,
}

impl Merged<'_> {
    /// Returns the objects that `of` selects from the policy of each cluster.
    fn objects(&self, of: impl Fn(&FoldedPolicy) -> &[usize]) -> Vec<(usize, usize)> {
        let all = self.policies.iter();
        all.flat_map(|(cluster, policy)| of(policy).iter().map(|index| (*cluster, *index))).collect()
    }
}

/// Arranges the policies of all clusters as files. `targets` is the number of targets of the workspace.
pub fn arrange(
    clusters: &[ClusterObjects],
    folded: &[FoldedCluster],
    targets: usize,
    workers: Workers<'_>,
) -> PolicyFiles {
    let mut merged: BTreeMap<(PolicyKind, &str), Vec<Merged<'_>>> = BTreeMap::new();
    for (position, folded) in folded.iter().enumerate() {
        for policy in &folded.policies {
            let alike = merged.entry((policy.kind, &policy.name)).or_default();
            let is_same = |other: &&mut Merged<'_>| {
                let other = other.policies.values().next();
                other.is_some_and(|other| (&other.spec, &other.files) == (&policy.spec, &policy.files))
            };
            match alike.iter_mut().find(is_same) {
                Some(other) => _ = other.policies.insert(position, policy),
                None => alike.push(Merged { policies: [(position, policy)].into() }),
            }
        }
    }
    let mut layout = PolicyFiles { lines_about_access: vec![0; clusters.len()], ..PolicyFiles::default() };
    let mut writer = Writer { clusters, targets, layout: &mut layout, documents: BTreeMap::new() };
    let unwritten: Vec<Unwritten<'_>> =
        merged.into_values().flatten().filter_map(|policy| writer.take(policy)).collect();
    let texts = workers.map(unwritten.len(), |number| unwritten.get(number).map_or_else(String::new, Unwritten::text));
    unwritten.into_iter().zip(texts).for_each(|(document, text)| writer.add(document, text));
    writer.finish();
    layout
}

/// A policy document with its objects.
struct Document {
    letter: char,
    text: String,
    home: Home,
    /// The paths of its tables.
    tables: Vec<String>,
}

/// A policy document before its text.
struct Unwritten<'f> {
    policy: &'f FoldedPolicy,
    spec: Cow<'f, Value>,
    /// The lines of comments above the document.
    comments: String,
    home: Home,
    tables: Vec<String>,
    /// The positions of the clusters with the policy.
    clusters: Vec<usize>,
}

impl Unwritten<'_> {
    fn text(&self) -> String {
        let mut text = self.comments.clone();
        text::document(self.policy.kind.name(), &self.policy.name, &self.spec, &mut text);
        text
    }
}

struct Writer<'w> {
    clusters: &'w [ClusterObjects],
    targets: usize,
    layout: &'w mut PolicyFiles,
    /// The documents by the names of their files, without ending.
    documents: BTreeMap<&'static str, Vec<Document>>,
}

impl Writer<'_> {
    /// Takes a policy and its further files.
    fn take<'f>(&mut self, merged: Merged<'f>) -> Option<Unwritten<'f>> {
        let policy = merged.policies.values().next().copied()?;
        let objects = merged.objects(|policy| &policy.objects);
        self.layout.policies += 1;
        if policy.spec.get("emit") == Some(&Value::Bool(false)) {
            self.layout.unwritten.extend(&objects);
        }
        let mut own = Map::new();
        if merged.policies.len() < self.targets {
            let names = merged.policies.keys().filter_map(|position| self.clusters.get(*position));
            own.insert("targets".to_owned(), names.map(|cluster| cluster.target.clone()).collect());
        }
        let mut spec = Cow::Borrowed(&policy.spec);
        if !own.is_empty() {
            own.extend(policy.spec.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
            spec = Cow::Owned(own.into());
        }
        let tables = self.add_files(policy, &merged, &mut spec);
        let mut comments = String::new();
        self.provenance(policy.kind, &objects, &mut comments);
        let home = Home { kind: policy.kind.name(), name: policy.name.clone(), objects };
        Some(Unwritten { policy, spec, comments, home, tables, clusters: merged.policies.into_keys().collect() })
    }

    /// Adds the text of a policy.
    fn add(&mut self, document: Unwritten<'_>, text: String) {
        let Unwritten { policy, home, tables, clusters, .. } = document;
        if !matches!(policy.kind, PolicyKind::Manifests | PolicyKind::GroupSet) {
            let tables = policy.files.iter().map(|(_, text)| text.lines().count());
            let lines = text.lines().count() + 1 + tables.sum::<usize>();
            for cluster in clusters {
                self.layout.lines_about_access.get_mut(cluster).into_iter().for_each(|count| *count += lines);
            }
        }
        let letter = policy.name.chars().next().map_or('0', |letter| letter);
        let letter = if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '0' };
        self.documents.entry(stem(policy.kind)).or_default().push(Document { letter, text, home, tables });
    }

    /// Adds the files of a policy, and returns the paths of its tables. A path that another policy has for another text gets the name of the target in front.
    fn add_files(&mut self, policy: &FoldedPolicy, merged: &Merged<'_>, spec: &mut Cow<'_, Value>) -> Vec<String> {
        let objects = merged.objects(|policy| &policy.objects);
        let mut tables = Vec::new();
        for (path, text) in &policy.files {
            let is_taken = self.layout.files.get(path).is_some_and(|other| other != text);
            let target = merged.policies.keys().next().and_then(|position| self.clusters.get(*position));
            let own = match target.filter(|_| is_taken) {
                Some(cluster) => format!("{}-{path}", cluster.target),
                None => path.clone(),
            };
            if *path != own {
                replace_text(spec.to_mut(), path, &own);
            }
            if policy.kind == PolicyKind::Manifests {
                self.add_manifest_homes(policy, &own, text, &objects);
                self.layout.files.insert(own, with_header(text));
            } else {
                let home = Home { kind: policy.kind.name(), name: policy.name.clone(), objects: objects.clone() };
                self.layout.homes.insert((own.clone(), 1), home);
                self.add_row_homes(policy, &own, merged);
                tables.push(own.clone());
                self.layout.files.insert(own, text.clone());
            }
        }
        tables
    }

    /// Records the objects of each line of a table.
    fn add_row_homes(&mut self, policy: &FoldedPolicy, path: &str, merged: &Merged<'_>) {
        for row in 0..policy.rows.len() {
            let objects = merged.objects(|policy| policy.rows.get(row).map_or(&[], Vec::as_slice));
            let home = Home { kind: policy.kind.name(), name: policy.name.clone(), objects };
            self.layout.homes.insert((path.to_owned(), row + 2), home);
        }
    }

    /// Records the start of each object of a Manifests file.
    fn add_manifest_homes(&mut self, policy: &FoldedPolicy, path: &str, text: &str, objects: &[(usize, usize)]) {
        let starts = text.lines().enumerate().filter(|(_, line)| *line == SEPARATOR.trim_end());
        // The header has two lines.
        let starts = std::iter::once(3).chain(starts.map(|(index, _)| index + 4));
        for (start, object) in starts.zip(objects) {
            let home = Home { kind: policy.kind.name(), name: policy.name.clone(), objects: vec![*object] };
            self.layout.homes.insert((path.to_owned(), start), home);
        }
    }

    /// Appends the places of the objects of a policy, and their comments.
    fn provenance(&mut self, kind: PolicyKind, objects: &[(usize, usize)], text: &mut String) {
        let find = |(cluster, index): &(usize, usize)| self.clusters.get(*cluster)?.objects.get(*index);
        let found: Vec<&Object> = objects.iter().filter_map(find).collect();
        let Some(first) = found.iter().min_by_key(|object| &object.place) else { return };
        text.push_str(FROM);
        text.push_str(&foreign::line(&first.place.path));
        text.push_str(&format!(":{}", first.place.line));
        if found.len() > 1 {
            text.push_str(&format!(" (and {} more)", found.len() - 1));
        }
        text.push('\n');
        if kind == PolicyKind::Manifests {
            return;
        }
        if found.iter().all(|object| object.comments == first.comments) {
            for comment in &first.comments {
                text.push_str(&foreign::line(comment));
                text.push('\n');
            }
        } else {
            self.layout.dropped_comments += found.iter().filter(|object| !object.comments.is_empty()).count();
        }
    }

    /// Joins the documents to files.
    fn finish(self) {
        let Self { layout, documents, .. } = self;
        for (stem, documents) in documents {
            let lines: usize = documents.iter().map(|document| document.text.lines().count() + 1).sum();
            let mut files: BTreeMap<String, Vec<Document>> = BTreeMap::new();
            for document in documents {
                let name = if lines > LONGEST_FILE {
                    format!("{stem}-{}.yaml", document.letter)
                } else {
                    format!("{stem}.yaml")
                };
                files.entry(name).or_default().push(document);
            }
            for (name, documents) in files {
                let tables: BTreeSet<&String> = documents.iter().flat_map(|document| &document.tables).collect();
                let header: Vec<String> =
                    tables.iter().filter_map(|path| Some(table_line(path, layout.files.get(*path)?))).collect();
                let mut body = header.concat();
                let mut line = 3 + header.len();
                for (index, document) in documents.into_iter().enumerate() {
                    if index > 0 {
                        body.push_str(SEPARATOR);
                        line += 1;
                    }
                    layout.homes.insert((name.clone(), line), document.home);
                    line += document.text.lines().count();
                    body.push_str(&document.text);
                }
                layout.files.insert(name, with_header(&body));
            }
        }
    }
}

/// Returns a file with the lines that mark it as the work of an import.
pub(crate) fn with_header(body: &str) -> String {
    format!("{FIRST_LINE}\n{DIGEST}{}\n{body}", content_digest(body))
}

/// Returns the line with the digest of a table.
fn table_line(path: &str, text: &str) -> String {
    format!("{DIGEST}{} {path}\n", content_digest(text))
}

/// Replaces a text in a `spec`, wherever it is a whole value.
fn replace_text(value: &mut Value, text: &str, by: &str) {
    match value {
        Value::String(found) if found == text => by.clone_into(found),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_text(item, text, by)),
        Value::Object(entries) => entries.values_mut().for_each(|value| replace_text(value, text, by)),
        _ => {}
    }
}

/// Returns the name of the files of a kind, without ending.
fn stem(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::PermissionSet => "permissionsets",
        PolicyKind::Grant => "grants",
        PolicyKind::NamespaceSet => "namespaces",
        PolicyKind::Tenancy => "tenancies",
        PolicyKind::GroupSet => "groups",
        PolicyKind::Manifests => "manifests",
    }
}

/// Returns the digest of a policy file below its second line, without the lines with the places of objects.
fn content_digest(body: &str) -> String {
    let lines = body.lines().filter(|line| !line.starts_with(FROM));
    let lines: Vec<&str> = lines.collect();
    digest(lines.join("\n").as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the paths of those files of a folder that are the unchanged work of an import. Each file is a path with its text.
pub fn unchanged(files: &BTreeMap<String, &str>) -> BTreeSet<String> {
    let mut unchanged = BTreeSet::new();
    for (path, text) in files {
        let mut parts = text.splitn(3, '\n');
        let (first, second, Some(body)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let digest = second.and_then(|line| line.strip_prefix(DIGEST));
        if first != Some(FIRST_LINE) || digest != Some(content_digest(body).as_str()) {
            continue;
        }
        unchanged.insert(path.clone());
        let tables = body.lines().map_while(|line| line.strip_prefix(DIGEST)).filter_map(|line| line.split_once(' '));
        let is_same =
            |(digest, path): &(&str, &str)| files.get(*path).is_some_and(|text| content_digest(text) == *digest);
        unchanged.extend(tables.filter(is_same).map(|(_, path)| path.to_owned()));
    }
    unchanged
}

/// A target of a new workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTarget {
    /// The name of the folder of its output.
    pub name: String,
    /// Its platform; none for Kubernetes.
    pub platform: Option<String>,
    /// The version of Kubernetes or of OpenShift.
    pub version: String,
}

/// A workspace that an import makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorkspace {
    /// The name in its metadata.
    pub name: String,
    /// The clusters that it compiles for.
    pub targets: Vec<NewTarget>,
}

/// Returns the text of the workspace file. `unknown_roles` has the ClusterRoles and the Roles of each target that exist without a
/// policy.
pub fn workspace_file<'r>(
    workspace: &NewWorkspace,
    unknown_roles: impl Iterator<Item = (&'r BTreeSet<String>, &'r BTreeSet<String>)>,
) -> String {
    let mut unknown = unknown_roles;
    let targets = workspace.targets.iter().map(|target| {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), target.name.clone().into());
        if let Some(platform) = &target.platform {
            entry.insert("platform".to_owned(), platform.clone().into());
        }
        entry.insert("version".to_owned(), target.version.clone().into());
        let (cluster_roles, roles) = unknown.next().unzip();
        let mut known = Map::new();
        for (key, names) in [("clusterRoles", cluster_roles), ("roles", roles)] {
            let names = names.into_iter().flatten().map(|name| Value::from(literal_glob(name)));
            let names: Vec<Value> = names.collect();
            if !names.is_empty() {
                known.insert(key.to_owned(), names.into());
            }
        }
        if !known.is_empty() {
            entry.insert("known".to_owned(), known.into());
        }
        Value::Object(entry)
    });
    let targets: Vec<Value> = targets.collect();
    let spec = serde_json::json!({ "targets": targets });
    let mut text = String::new();
    text::document("Workspace", &workspace.name, &spec, &mut text);
    text
}

/// Returns a glob that matches a name alone: the names of a dump are the names of its tenants.
fn literal_glob(name: &str) -> String {
    let mut glob = String::new();
    for character in name.chars() {
        match character {
            '*' | '?' | '[' | '{' | '\\' => glob.extend(['[', character, ']']),
            _ => glob.push(character),
        }
    }
    glob
}
