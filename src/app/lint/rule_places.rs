//! The places of the rules of roles. A world keeps only the place of each object; the few printed rules are read again.

use std::collections::HashMap;

use crate::access::proof::RuleLink;
use crate::diag::{FileId, Files, Origin, Sink};
use crate::k8s::list;
use crate::k8s::rbac::PolicyRule;
use crate::yaml::{self, NodeId, NodeRef, Tree};

/// How many bytes of a file are read again. In a larger one the place of the object has to do.
const MAXIMUM_SIZE: usize = 8 << 20;

/// The places of rules, file by file as they are asked for.
pub(super) struct RulePlaces<'f> {
    files: &'f Files,
    read: HashMap<FileId, Option<Objects>>,
}

/// The objects of a file, by where they begin.
struct Objects {
    tree: Tree,
    starts: HashMap<u32, NodeId>,
}

impl<'f> RulePlaces<'f> {
    /// Returns the places in these files.
    pub(super) fn new(files: &'f Files) -> Self {
        Self { files, read: HashMap::new() }
    }

    /// Returns the place of a rule in the object of its role; none for a rule that was gathered from another role, and where the object
    /// does not state the rule, as with one that was compiled from a policy.
    pub(super) fn of(&mut self, role: Origin, link: &RuleLink) -> Option<Origin> {
        if !link.gathered_from.is_empty() {
            return None;
        }
        let files = self.files;
        let objects = self.read.entry(role.file).or_insert_with(|| Objects::read(files, role.file)).as_ref()?;
        let object = objects.tree.at(*objects.starts.get(&role.span.start)?);
        let rule = object.get("rules")?.items().nth(link.number.checked_sub(1)?)?;
        states(rule, link).then(|| rule.origin())
    }
}

impl Objects {
    fn read(files: &Files, id: FileId) -> Option<Self> {
        let file = files.get(id);
        if file.text().len() > MAXIMUM_SIZE {
            return None;
        }
        let tree = yaml::read(file.text(), id, &mut Sink::new());
        let objects = tree.documents().flat_map(list::objects);
        let starts = objects.map(|object| (object.span().start, object.id())).collect();
        Some(Self { tree, starts })
    }
}

/// Returns whether a rule has these verbs and resources or URLs.
fn states(rule: NodeRef<'_>, link: &RuleLink) -> bool {
    let is_same = |field: &str, wanted: &[String]| {
        let own = rule.get(field).into_iter().flat_map(NodeRef::items).map(NodeRef::as_str);
        own.eq(wanted.iter().map(|text| Some(text.as_str())))
    };
    let PolicyRule { verbs, resources, non_resource_urls, .. } = &link.rule;
    is_same("verbs", verbs) && is_same("resources", resources) && is_same("nonResourceURLs", non_resource_urls)
}
