//! Documentation of the word at a cursor: the field of a policy, its kind, and the role behind a name.

use bailiwick_yaml::diag::Span;

use super::cursor::{Place, Slot, Step, place_at};
use super::vocabulary::{PERMISSION_SET, Vocabulary};
use super::{EditorWorkspace, schema};
use crate::manual::ManualPage;
use crate::{LoadedWorld, ObjectName};

/// The documentation of a word.
pub struct Hover<'e> {
    /// The bytes of the word.
    pub span: Span,
    /// The documentation.
    pub text: HoverText<'e>,
}

/// The documentation of a word.
pub enum HoverText<'e> {
    /// The description of a field, a kind or a resource.
    Markdown(String),
    /// A role, in the world of each target that has it.
    Role(Vec<(&'e LoadedWorld, ObjectName)>),
}

impl EditorWorkspace {
    /// Returns the documentation of the word at a byte of a document.
    pub fn hover(&self, path: &str, offset: usize) -> Option<Hover<'_>> {
        let text = self.text(path)?;
        let place = place_at(&text, offset)?;
        let text = match place.slot {
            Slot::Key(_) => HoverText::Markdown(field_page(&place)?),
            Slot::Value => match Vocabulary::of(&place)? {
                Vocabulary::Kinds => HoverText::Markdown(kind_page(&place.word)?),
                Vocabulary::Policies(PERMISSION_SET) => self.role(&place.word, &["ClusterRole", "Role"])?,
                Vocabulary::ClusterRoles => self.role(&place.word, &["ClusterRole"])?,
                Vocabulary::Resources => HoverText::Markdown(self.resource_page(&place.word)?),
                _ => return None,
            },
        };
        Some(Hover { span: place.span, text })
    }

    /// Returns the first role of a name in each world, of the first of the kinds that has one.
    fn role(&self, name: &str, kinds: &[&str]) -> Option<HoverText<'_>> {
        let roles = self.worlds().iter().filter_map(|loaded| {
            let names = loaded.world.object_names();
            let found = kinds.iter().find_map(|kind| names.iter().find(|own| is_role(own, kind, name)))?;
            Some((loaded, ObjectName::parse(found)?))
        });
        let roles: Vec<_> = roles.collect();
        (!roles.is_empty()).then_some(HoverText::Role(roles))
    }

    /// Describes a resource: its groups and verbs on each target.
    fn resource_page(&self, resource: &str) -> Option<String> {
        let workspace = self.linked()?;
        let project = workspace.project();
        let mut lines: Vec<String> = Vec::new();
        for target in &project.workspace.targets {
            let api = project.api(target);
            for served in api.served_names().into_iter().filter(|served| served.name == resource) {
                let group = if served.group.is_empty() { "the core group" } else { served.group };
                let scope = if served.is_namespaced { "in namespaces" } else { "cluster-wide" };
                let line =
                    format!("- {}: `{resource}` in {group}, {scope}: {}\n", target.name, served.verbs.join(", "));
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        (!lines.is_empty()).then(|| lines.concat())
    }
}

/// Whether the name of an object is the name of a role: `KIND/NAME`, or `KIND/NAMESPACE/NAME` in any namespace.
fn is_role(object: &str, kind: &str, name: &str) -> bool {
    let below = object.strip_prefix(kind).and_then(|rest| rest.strip_prefix('/'));
    below.is_some_and(|below| below == name || below.split_once('/').is_some_and(|(_, own)| own == name))
}

/// Returns the description of a field, with its path.
fn field_page(place: &Place) -> Option<String> {
    let mut path = place.path.clone();
    path.push(Step::Field(place.word.clone()));
    let found = schema::at_path(&place.kind, &path)?;
    let steps = path.iter().map(|step| match step {
        Step::Field(name) => format!(".{name}"),
        Step::Item => "[]".to_owned(),
    });
    let name = steps.collect::<String>();
    Some(format!("`{}{name}`\n\n{}\n", place.kind, schema::description(&found)))
}

/// Returns the introduction of the page of a kind.
fn kind_page(kind: &str) -> Option<String> {
    let page = ManualPage::find(kind).ok()?.page;
    let introduction = page.split("\n## ").next()?;
    Some(introduction.to_owned())
}
