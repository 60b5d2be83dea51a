//! Completions: the fields of a map, and the names and words of a value.

use std::collections::BTreeSet;

use bailiwick_kubernetes::catalogue::{Api, LAST_MINOR};
use bailiwick_policy::kinds;
use bailiwick_yaml::diag::Span;

use super::cursor::{Place, Slot, places_to_complete};
use super::vocabulary::Vocabulary;
use super::{EditorWorkspace, schema};

/// A text that can be written at a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The text in place of the word at the cursor.
    pub text: String,
    /// The bytes of the word at the cursor.
    pub replaced: Span,
    /// Whether the text is a field, or a value.
    pub is_field: bool,
    /// A description, in Markdown; empty without one.
    pub description: String,
}

impl EditorWorkspace {
    /// Returns the texts that can be written at a byte of a document, in the order of relevance.
    pub fn completions(&self, path: &str, offset: usize) -> Vec<Completion> {
        let Some(text) = self.text(path) else { return Vec::new() };
        let places = places_to_complete(&text, offset);
        places.iter().flat_map(|place| self.completions_at(place)).collect()
    }

    fn completions_at(&self, place: &Place) -> Vec<Completion> {
        match &place.slot {
            Slot::Key(others) => field_completions(place, others),
            Slot::Value => self.value_completions(place),
        }
    }

    fn value_completions(&self, place: &Place) -> Vec<Completion> {
        let found = schema::at_path(&place.kind, &place.path);
        let is_list = found.as_ref().is_some_and(|schema| schema::has_type(schema, "array"));
        let item = found.as_ref().filter(|_| is_list).and_then(|schema| schema.get("items").cloned());
        let words = match item.or(found) {
            Some(schema) => schema::words(&schema),
            None => Vec::new(),
        };
        let names = if words.is_empty() { self.names_at(place) } else { words };
        let completion = |name: String| {
            let name = quoted(&name);
            let text = if is_list { format!("[{name}]") } else { name };
            Completion { text, replaced: place.span, is_field: false, description: String::new() }
        };
        names.into_iter().map(completion).collect()
    }

    /// Returns the names that the value at a place can have.
    fn names_at(&self, place: &Place) -> Vec<String> {
        let Some(vocabulary) = Vocabulary::of(place) else { return Vec::new() };
        let names = self.names();
        let owned = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect();
        match vocabulary {
            Vocabulary::Kinds => owned(&mut kinds::names()),
            Vocabulary::ApiVersion => vec![kinds::API_VERSION.to_owned()],
            Vocabulary::Policies(kind) => owned(&mut names.policies(kind).into_iter()),
            Vocabulary::Targets => names.targets().keys().cloned().collect(),
            Vocabulary::ClusterRoles => self.cluster_roles(),
            Vocabulary::Learned(fields) => owned(&mut names.learned(fields).into_iter()),
            Vocabulary::Templates => self.template_names(),
            Vocabulary::Resources => self.of_apis(&|api, found| {
                let groups = place.beside("apiGroups");
                let served = api.served_names().into_iter();
                found.extend(served.filter(|name| is_in(name.group, groups)).map(|name| name.name));
            }),
            Vocabulary::ApiGroups => self.of_apis(&|api, found| {
                found.extend(api.served_names().into_iter().map(|name| name.group.to_owned()));
            }),
            Vocabulary::Verbs => self.of_apis(&|api, found| {
                let (groups, resources) = (place.beside("apiGroups"), place.beside("resources"));
                let is_of_rule = |resource: &str| resources.is_empty() || resources.iter().any(|own| own == resource);
                let served = api.served_names().into_iter();
                let of_rule = served.filter(|name| is_in(name.group, groups) && is_of_rule(&name.name));
                found.extend(of_rule.flat_map(|name| name.verbs).map(str::to_owned));
            }),
        }
    }

    /// Returns names of the APIs of all targets, sorted. Without a workspace, the API of the newest version has them.
    fn of_apis(&self, collect: &dyn Fn(&Api, &mut BTreeSet<String>)) -> Vec<String> {
        let mut found = BTreeSet::new();
        match self.linked() {
            Some(workspace) => {
                let project = workspace.project();
                project.workspace.targets.iter().for_each(|target| collect(&project.api(target), &mut found));
            }
            None => collect(&Api::new(LAST_MINOR), &mut found),
        }
        found.into_iter().collect()
    }
}

/// Whether a group is one of the groups of a rule; a rule without groups has all of them.
fn is_in(group: &str, groups: &[String]) -> bool {
    groups.is_empty() || groups.iter().any(|own| own == group || own == "*")
}

fn field_completions(place: &Place, others: &[String]) -> Vec<Completion> {
    let Some(found) = schema::at_path(&place.kind, &place.path).or_else(|| top_of_document(place)) else {
        return Vec::new();
    };
    let is_open = |name: &str| !others.iter().any(|other| other == name);
    let fields = schema::fields(&found).filter(|(name, _)| is_open(name));
    let completion = |(name, field): (&str, &serde_json::Value)| Completion {
        text: format!("{name}:"),
        replaced: place.span,
        is_field: true,
        description: schema::description(field).to_owned(),
    };
    fields.map(completion).collect()
}

/// Returns the schema of a document without a kind: the fields that every policy has.
fn top_of_document(place: &Place) -> Option<serde_json::Value> {
    let is_top = place.path.is_empty() && kinds::schema_of(&place.kind).is_none();
    if is_top { schema::at_path(kinds::WORKSPACE, &[]) } else { None }
}

/// Returns a name as YAML writes it in a list of a flow.
fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./:@".contains(letter))
        && !name.ends_with(':')
        && !matches!(name.to_ascii_lowercase().as_str(), "y" | "n" | "yes" | "no" | "on" | "off" | "null");
    if is_plain || matches!(name, "true" | "false") { name.to_owned() } else { serde_json::json!(name).to_string() }
}
