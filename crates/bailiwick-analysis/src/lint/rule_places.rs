//! The words of policies and manifests behind a permission. A world keeps only the place of each role; the few reported rules are
//! searched for in the text.

use std::collections::{BTreeSet, HashMap};

use bailiwick_access::proof::{Link, RuleLink};
use bailiwick_kubernetes::list;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::kinds::permission_set::{self, AccessLevel};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::{FileId, Files, Origin, Sink};
use bailiwick_yaml::{self as yaml, NodeId, NodeRef, Tree};

/// How many bytes of a file are read again. In a larger one the place of the object has to do.
const MAXIMUM_SIZE: usize = 8 << 20;

/// The kind of the policies with rules.
const PERMISSION_SET: &str = "PermissionSet";

/// The access level with all verbs of most rules. Another verb, such as `escalate`, is the word to point at.
const WRITE: &str = "write";

/// The places of rules, file by file as they are asked for.
pub(super) struct RulePlaces<'f> {
    files: &'f Files,
    /// The workspace with the permission sets, if there is one.
    workspace: Option<&'f Workspace>,
    read: HashMap<FileId, Option<Objects>>,
}

/// The objects of a file, by where they begin.
struct Objects {
    tree: Tree,
    starts: HashMap<u32, NodeId>,
}

impl<'f> RulePlaces<'f> {
    /// Returns the places in these files.
    pub(super) fn new(files: &'f Files, workspace: Option<&'f Workspace>) -> Self {
        Self { files, workspace, read: HashMap::new() }
    }

    /// Returns the place of the word behind the permission of a rule: a verb or resource of a PermissionSet or of a manifest. Returns
    /// none for a role of the default policy, and for the value of a variable.
    pub(super) fn of(&mut self, role: &Link, link: &RuleLink) -> Option<Origin> {
        // The last role on the way has the rule, at another position.
        let (place, number) = match link.gathered_from.last() {
            Some(source) => (source.place?, None),
            None => (role.place?, link.number.checked_sub(1)),
        };
        if let Some(set) = self.permission_set_at(place) {
            return self.in_permission_set(set, &link.rule, &mut BTreeSet::new());
        }
        let files = self.files;
        let objects = self.read.entry(place.file).or_insert_with(|| Objects::read(files, place.file)).as_ref()?;
        let object = objects.tree.at(*objects.starts.get(&place.span.start)?);
        let mut rules = object.get("rules")?.items();
        let numbered = number.and_then(|number| rules.clone().nth(number));
        let found = numbered.and_then(|rule| word_of(rule, &link.rule));
        found.or_else(|| rules.find_map(|rule| word_of(rule, &link.rule)))
    }

    /// Returns the document of the permission set with a place.
    fn permission_set_at(&self, place: Origin) -> Option<NodeRef<'f>> {
        let document = self.workspace?.project().trees.document(place)?;
        (document.get("kind")?.as_str() == Some(PERMISSION_SET)).then_some(document)
    }

    /// Returns the word in a permission set, or in its included sets.
    fn in_permission_set(&self, set: NodeRef<'f>, right: &PolicyRule, seen: &mut BTreeSet<Origin>) -> Option<Origin> {
        let spec = set.get("spec")?;
        let own = spec.get("rules").into_iter().flat_map(NodeRef::items).find_map(|rule| word_of(rule, right));
        if own.is_some() {
            return own;
        }
        let project = &self.workspace?.project();
        let own = project.policy_at(set.origin())?;
        for name in spec.get("include").into_iter().flat_map(NodeRef::items).filter_map(NodeRef::as_str) {
            let metas = project.policies.iter().map(|policy| policy.meta());
            let named = metas.filter(|meta| meta.kind == PERMISSION_SET && &*meta.name == name);
            for included in named.filter(|meta| !meta.targets.is_disjoint(&own.targets)) {
                let set = self.permission_set_at(included.origin).filter(|_| seen.insert(included.origin));
                let found = set.and_then(|set| self.in_permission_set(set, right, seen));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
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

/// Returns the word of a rule behind a part of a right: a star, an unusual verb, or the verb of a single resource with other verbs.
/// Otherwise the word is the resource.
fn word_of(rule: NodeRef<'_>, right: &PolicyRule) -> Option<Origin> {
    let groups: Vec<NodeRef<'_>> = words(rule, "apiGroups").collect();
    let of_group = |group: &NodeRef<'_>| group.as_str().is_some_and(|text| covers_one(text, &right.api_groups));
    if !groups.is_empty() && !right.api_groups.is_empty() && !groups.iter().any(of_group) {
        return None;
    }
    let target = target_of(rule, right)?;
    let verb = verb_of(rule, right)?;
    let is_star = |word: &NodeRef<'_>| word.as_str() == Some("*");
    let is_unusual = verb.as_str().is_some_and(|verb| right.verbs.iter().any(|own| own == verb) && is_special(verb));
    let has_one_target = TARGETS.into_iter().flat_map(|key| words(rule, key)).count() == 1;
    let word = match (is_star(&target), is_star(&verb)) {
        (true, _) => target,
        (_, true) => verb,
        _ if is_unusual || (has_one_target && has_other_verbs(rule, right)) => verb,
        _ => target,
    };
    Some(word.origin())
}

/// The lists of a rule with its resources and URLs.
const TARGETS: [&str; 3] = ["resources", "nonResourceURLs", "paths"];

/// Returns the resource, URL or path of a rule in a right.
fn target_of<'t>(rule: NodeRef<'t>, right: &PolicyRule) -> Option<NodeRef<'t>> {
    let mut resources = words(rule, "resources");
    let mut urls = words(rule, "nonResourceURLs");
    let mut paths = words(rule, "paths");
    resources
        .find(|word| word.as_str().is_some_and(|text| covers_one(text, &right.resources)))
        .or_else(|| urls.find(|word| word.as_str().is_some_and(|text| covers_one(text, &right.non_resource_urls))))
        .or_else(|| paths.find(|word| word.as_str().is_some_and(|text| is_path_of(text, right))))
}

/// Returns the verb of a rule in a right, an unusual one first; `access` for a rule without verbs.
fn verb_of<'t>(rule: NodeRef<'t>, right: &PolicyRule) -> Option<NodeRef<'t>> {
    let gives = |word: &NodeRef<'_>| word.as_str().is_some_and(|text| covers_one(text, &right.verbs));
    let unusual = words(rule, "verbs").filter(gives).find(|word| word.as_str().is_some_and(is_special));
    unusual.or_else(|| words(rule, "verbs").find(gives)).or_else(|| rule.get("access"))
}

/// Whether a rule has verbs beside the verbs of a right.
fn has_other_verbs(rule: NodeRef<'_>, right: &PolicyRule) -> bool {
    let is_other = |verb: &str| right.verbs.iter().all(|own| own != verb);
    let access = rule.get("access").and_then(NodeRef::as_str);
    let writes = access == Some(WRITE) && AccessLevel::Write.verbs().iter().any(|verb| is_other(verb));
    writes || words(rule, "verbs").filter_map(NodeRef::as_str).any(is_other)
}

fn is_special(verb: &str) -> bool {
    verb != "*" && !AccessLevel::Write.verbs().contains(&verb)
}

/// Iterates over the texts of a list of a rule.
fn words<'t>(rule: NodeRef<'t>, key: &str) -> impl Iterator<Item = NodeRef<'t>> {
    rule.get(key).into_iter().flat_map(NodeRef::items)
}

/// Whether a word of a rule covers one of the words of a right, as the authorizer matches them.
fn covers_one(word: &str, right: &[String]) -> bool {
    let covers = |wanted: &String| {
        let is_below = || word.strip_suffix('*').is_some_and(|stem| stem.starts_with('/') && wanted.starts_with(stem));
        permission_set::covers(word, wanted) || is_below()
    };
    right.iter().any(covers)
}

/// Whether an API path names a resource of a right, or is one of its URLs.
fn is_path_of(path: &str, right: &PolicyRule) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    let names = |resource: &String| resource.split('/').all(|part| segments.contains(&part));
    covers_one(path, &right.non_resource_urls) || right.resources.iter().any(names)
}
