//! Changes since a revision beside the output: changes of the gate itself, and of inputs that decide access and are not
//! written. The effects of such inputs are not computed here; a line reports them.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::scc::bootstrap;
use bailiwick_admission::scc::defaults::{self, Start};
use bailiwick_compiler::compile::{Accepted, LinkedWorkspace};
use bailiwick_compiler::emit::committed::Committed;
use bailiwick_compiler::emit::plan::changed_grants;
use bailiwick_kubernetes::{default_policy, list};
use bailiwick_policy::model::{
    self, AccessCheck, Category, DiagnosticSettings, Expectation, Isolation, NodePool, PathCheck, Target, Tested,
};
use bailiwick_policy::source::{DiskSource, FileContent, FileSource};
use bailiwick_workspace::words::number;
use bailiwick_workspace::{Workspace, kept_files};
use bailiwick_yaml::diag::{FileId, Origin, RunError, Sink};
use bailiwick_yaml::limits::MAXIMUM_FILE_SIZE;
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

use super::{delivery_settings, guard_settings, settings_of_workspace};

/// Describes every change, one line each; `world` holds the files of the revision, and `output` its whole output folder.
pub(super) fn changes(
    old: &LinkedWorkspace,
    world: &dyn FileSource,
    output: &dyn Committed,
    workspace: &Workspace,
) -> Result<Vec<String>, RunError> {
    let new = &workspace.project();
    let mut lines = workspace_fields(&old.workspace, &new.workspace);
    lines.extend(tests(old, new));
    lines.extend(isolations(old, new));
    lines.extend(known(old, new));
    lines.extend(accepted(old, new));
    for target in &new.workspace.targets {
        if let Some(before) = old.workspace.targets.iter().find(|before| before.name == target.name) {
            let named = |line: String| named(target, &line);
            lines.extend(settings(before, target).into_iter().map(named));
            let shards = [old.workspace.shards, new.workspace.shards];
            lines.extend(delivery_settings::of_target(before, target, shards).into_iter().map(named));
            if has_other_baseline(before, target, world, workspace)? {
                lines.push(named("its baseline changes, which the output does not show".to_owned()));
            }
            lines.extend(guard_settings::of_target(old, new, target).into_iter().map(named));
            lines.extend(judged(old, new, target).into_iter().map(named));
            let kept_before = kept_objects_before(old, target, output)?;
            lines.extend(kept(&kept_before, &kept_objects(workspace, target)?).into_iter().map(named));
        }
    }
    Ok(lines)
}

/// Returns the changes as [`changes`] does, if only the workspace file of the revision can be read.
pub(super) fn of_workspaces(old: &model::WorkspaceSettings, new: &model::WorkspaceSettings) -> Vec<String> {
    let mut lines = workspace_fields(old, new);
    for target in &new.targets {
        if let Some(before) = old.targets.iter().find(|before| before.name == target.name) {
            let of_delivery = delivery_settings::of_target(before, target, [old.shards, new.shards]);
            lines.extend(settings(before, target).into_iter().chain(of_delivery).map(|line| named(target, &line)));
        }
    }
    lines
}

fn named(target: &Target, line: &str) -> String {
    format!("target `{}`: {line}", target.name)
}

/// A target in an earlier revision.
pub(super) struct EarlierTarget<'e> {
    pub(super) workspace: &'e LinkedWorkspace,
    pub(super) target: &'e Target,
    /// The files of the revision.
    pub(super) world: &'e dyn FileSource,
    /// The whole output folder of the revision.
    pub(super) output: &'e dyn Committed,
}

impl EarlierTarget<'_> {
    /// Returns whether access beside the output of the target changes: its version, its baseline, or the objects that are judged
    /// and not written.
    pub(super) fn differs_beside_output(&self, workspace: &Workspace, target: &Target) -> Result<bool, RunError> {
        let Self { workspace: old, target: before, world, output } = *self;
        Ok((before.platform, before.version) != (target.platform, target.version)
            || has_other_baseline(before, target, world, workspace)?
            || judged_objects(old, target) != judged_objects(workspace.project(), target)
            || kept_objects_before(old, target, output)? != kept_objects(workspace, target)?)
    }
}

/// Fields of the workspace that decide what is looked at, and how.
fn workspace_fields(old: &model::WorkspaceSettings, new: &model::WorkspaceSettings) -> Vec<String> {
    let mut lines = settings_of_workspace::changes(old, new);
    lines.extend(diagnostics(&old.diagnostics, &new.diagnostics));
    lines
}

/// Describes the changed severities of diagnostics.
fn diagnostics(old: &DiagnosticSettings, new: &DiagnosticSettings) -> Vec<String> {
    let mut lines = Vec::new();
    let codes: BTreeSet<&String> = old.settings().keys().chain(new.settings().keys()).collect();
    for code in codes {
        let setting = |settings: &DiagnosticSettings| settings.settings().get(code).map(|setting| setting.value);
        match (setting(old), setting(new)) {
            (Some(before), Some(after)) if before == after => {}
            (Some(before), Some(after)) => {
                lines.push(format!("`spec.diagnostics` changes `{code}` from `{before}` to `{after}`"));
            }
            (None, Some(after)) => lines.push(format!("`spec.diagnostics` sets `{code}` to `{after}`")),
            (Some(before), None) => lines.push(format!("`spec.diagnostics` no longer sets `{code}` to `{before}`")),
            (None, None) => {}
        }
    }
    lines
}

/// One question of an AccessTest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    target: String,
    who: String,
    must: bool,
    verb: String,
    /// A resource or a URL.
    what: String,
    namespace: String,
    name: String,
}

impl std::fmt::Display for Question {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let must = if self.must { "must" } else { "must not" };
        write!(formatter, "{} {must} {} {}", self.who, self.verb, self.what)?;
        if !self.name.is_empty() {
            write!(formatter, " `{}`", self.name)?;
        }
        if !self.namespace.is_empty() {
            write!(formatter, " in {}", self.namespace)?;
        }
        write!(formatter, " on `{}`", self.target)
    }
}

/// AccessTests that are gone, or ask less.
fn tests(old: &LinkedWorkspace, new: &LinkedWorkspace) -> Vec<String> {
    // A target that is gone is named by itself.
    let targets: BTreeSet<&str> = new.workspace.targets.iter().map(|target| target.name.as_str()).collect();
    let (before, after) = (questions(old, &targets), questions(new, &targets));
    let mut lines = Vec::new();
    for (name, asked) in before {
        let Some(now) = after.get(name) else {
            let count = number(asked.len(), "expectation");
            let first = asked.values().min_by_key(|origin| origin.span);
            lines.push(format!("the AccessTest `{name}` is removed, with {count}{}", place_before(old, first)));
            continue;
        };
        let in_all = |question: &Question| Question { namespace: "*".to_owned(), ..question.clone() };
        let is_asked = |question: &Question| {
            now.contains_key(question) || (!question.namespace.is_empty() && now.contains_key(&in_all(question)))
        };
        let lost: Vec<(&Question, &Origin)> = asked.iter().filter(|(question, _)| !is_asked(question)).collect();
        if let Some((first, origin)) = lost.first() {
            let (count, place) = (number(lost.len(), "expectation"), place_before(old, Some(origin)));
            lines.push(format!("the AccessTest `{name}` is narrower: without {count}, such as {first}{place}"));
        }
    }
    lines
}

/// Returns the questions of each AccessTest, with the place of each.
fn questions<'p>(
    project: &'p LinkedWorkspace,
    targets: &BTreeSet<&str>,
) -> BTreeMap<&'p str, BTreeMap<Question, Origin>> {
    let mut all: BTreeMap<&str, BTreeMap<Question, Origin>> = BTreeMap::new();
    for check in project.facts.all::<AccessCheck>() {
        let asked = all.entry(&check.meta.name).or_default();
        for target in check.meta.targets.iter().filter(|target| targets.contains(target.as_str())) {
            asked.extend(questions_of(check, target).into_iter().map(|question| (question, check.origin)));
        }
    }
    for check in project.facts.all::<PathCheck>() {
        let asked = all.entry(&check.meta.name).or_default();
        for target in check.meta.targets.iter().filter(|target| targets.contains(target.as_str())) {
            let possible = if check.allows_possible { " by a proven path" } else { "" };
            let question = |who: &Tested| Question {
                target: target.clone(),
                who: who.to_string(),
                must: false,
                verb: "become".to_owned(),
                what: format!("{}{possible}", check.power),
                namespace: String::new(),
                name: String::new(),
            };
            asked.extend(check.who.iter().map(|who| (question(who), check.origin)));
        }
    }
    all
}

fn questions_of(check: &AccessCheck, target: &str) -> Vec<Question> {
    let some = |list: &[String]| if list.is_empty() { vec![String::new()] } else { list.to_vec() };
    let mut questions = Vec::new();
    for (who, verb) in check.who.iter().flat_map(|who| check.verbs.iter().map(move |verb| (who, verb))) {
        for what in check.resources.iter().chain(&check.urls) {
            for namespace in some(&check.namespaces) {
                for name in some(&check.names) {
                    questions.push(Question {
                        target: target.to_owned(),
                        who: who.to_string(),
                        must: check.expectation == Expectation::Must,
                        verb: verb.clone(),
                        what: what.clone(),
                        namespace: namespace.clone(),
                        name,
                    });
                }
            }
        }
    }
    questions
}

/// Names the place of something in the earlier policies, as the end of a line.
fn place_before(old: &LinkedWorkspace, origin: Option<&Origin>) -> String {
    origin.map_or_else(String::new, |origin| {
        let file = old.files.get(origin.file);
        format!(" (before: {}:{})", file.path(), file.line_column(origin.span.start).line)
    })
}

/// Isolations of node pools that are removed, or protect fewer namespaces, and their pools that change.
fn isolations(old: &LinkedWorkspace, new: &LinkedWorkspace) -> Vec<String> {
    let mut lines = Vec::new();
    for target in new.workspace.targets.iter().map(|target| target.name.as_str()) {
        let protected: BTreeSet<(&str, &str)> = new
            .facts
            .on(target)
            .flat_map(|isolation: &Isolation| {
                isolation.namespaces.iter().map(|namespace| (&*isolation.pool, &**namespace))
            })
            .collect();
        for isolation in old.facts.on::<Isolation>(target) {
            let pool = &isolation.pool;
            let namespaces: BTreeSet<&str> = isolation.namespaces.iter().map(String::as_str).collect();
            let (kept, lost): (Vec<&str>, Vec<&str>) =
                namespaces.into_iter().partition(|namespace| protected.contains(&(pool, namespace)));
            let place = place_before(old, Some(&isolation.origin));
            if !lost.is_empty() {
                let change = if kept.is_empty() { "is removed" } else { "is narrower" };
                lines.push(format!(
                    "the isolation of the pool `{pool}` on `{target}` {change}: without {}{place}",
                    few("the namespace", &lost)
                ));
            }
            let like = |project: &LinkedWorkspace| {
                let found = project.facts.on(target).find(|known: &&NodePool| known.name == *pool);
                found.map(|pool| pool.like.clone())
            };
            if !kept.is_empty() && like(old) != like(new) {
                lines.push(format!("the isolated pool `{pool}` on `{target}` has other labels or taints{place}"));
            }
        }
    }
    lines
}

/// Entries of `spec.known` that come and go, and categories that are no longer limited, each with its targets.
fn known(old: &LinkedWorkspace, new: &LinkedWorkspace) -> Vec<String> {
    let mut changes: BTreeMap<(Category, String), (Vec<String>, String)> = BTreeMap::new();
    for target in &new.workspace.targets {
        let Some(earlier) = old.workspace.targets.iter().find(|before| before.name == target.name) else { continue };
        for category in Category::ALL.into_iter().filter(|category| earlier.known.is_closed(*category)) {
            let (had, has) = (earlier.known.declared(category), target.known.declared(category));
            let (gone, come): (Vec<&str>, Vec<&str>) =
                (had.difference(&has).copied().collect(), has.difference(&had).copied().collect());
            let change = if !target.known.is_closed(category) {
                "is removed: any name can be used".to_owned()
            } else {
                let gone = (!gone.is_empty()).then(|| format!("removes {}", few("", &gone)));
                let come = (!come.is_empty()).then(|| format!("adds {}", few("", &come)));
                [come, gone].into_iter().flatten().collect::<Vec<_>>().join(", and ")
            };
            if !change.is_empty() {
                let place = earlier.known.place(category, gone.first().copied());
                let entry = changes.entry((category, change)).or_default();
                entry.0.push(format!("`{}`", target.name));
                entry.1 = place_before(old, place.as_ref());
            }
        }
    }
    let line = |((category, change), (targets, place)): ((Category, String), (Vec<String>, String))| {
        format!("`known.{}` of {} {change}{place}", category.field(), targets.join(", "))
    };
    changes.into_iter().map(line).collect()
}

/// Names the first of several names, and counts the others.
pub(super) fn few(noun: &str, names: &[&str]) -> String {
    const NAMED: usize = 5;
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let noun = match (noun, names.len()) {
        ("", _) => String::new(),
        (noun, 1) => format!("{noun} "),
        (noun, _) => format!("{noun}s "),
    };
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{noun}{}{more}", shown.join(", "))
}

/// Warnings that a policy accepts and none of its file accepted before.
fn accepted(old: &LinkedWorkspace, new: &LinkedWorkspace) -> Vec<String> {
    let counted = |project: &LinkedWorkspace| {
        let mut counts: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
        for Accepted { code, document, .. } in project.valid_acceptances() {
            *counts.entry((project.files.get(document.file).path().to_owned(), code.id())).or_default() += 1;
        }
        counts
    };
    let before = counted(old);
    let mut lines = Vec::new();
    for ((path, code), count) in counted(new) {
        if count > before.get(&(path.clone(), code)).copied().unwrap_or_default() {
            lines.push(format!("`metadata.allow` in `{path}` accepts the warning `{code}`"));
        }
    }
    lines
}

/// Changes of a target that decide access and are not written to the output.
fn settings(old: &Target, new: &Target) -> Vec<String> {
    let mut lines = Vec::new();
    if (old.platform, old.version) != (new.platform, new.version) {
        lines.push(format!(
            "its version changes from {} to {}; what the default policy grants changes with it, which the output does not show",
            old.version, new.version
        ));
        if old.baseline.is_none() && new.baseline.is_none() {
            lines.extend(default_policy_change(old, new));
        }
    }
    if old.features != new.features {
        lines.push("its features change, which the output does not show".to_owned());
    }
    if old.applied_by != new.applied_by {
        lines.push("another identity applies its output".to_owned());
    }
    lines.extend(settings_of_workspace::of_pod_security(old, new));
    lines.extend(settings_of_workspace::of_stage(old, new));
    lines
}

fn has_other_baseline(
    old: &Target,
    new: &Target,
    world: &dyn FileSource,
    workspace: &Workspace,
) -> Result<bool, RunError> {
    let path = |target: &Target| target.baseline.as_ref().map(|baseline| baseline.value.clone());
    let contents = |world: &dyn FileSource, path: &str| {
        let mut files = world.list(path)?.files;
        files.push(path.to_owned());
        let read = |file: &String| Ok((file.clone(), world.read(file, MAXIMUM_FILE_SIZE as u64)?));
        files.iter().map(read).collect::<Result<Vec<(String, FileContent)>, RunError>>()
    };
    Ok(match (path(old), path(new)) {
        (None, None) => false,
        (Some(old), Some(new)) if old == new => {
            let bytes = |files: Vec<(String, FileContent)>| -> BTreeMap<String, Vec<u8>> {
                let with_bytes = |(path, content): (String, FileContent)| Some((path, content.bytes()?.to_vec()));
                files.into_iter().filter_map(with_bytes).collect()
            };
            bytes(contents(world, &old)?) != bytes(contents(&DiskSource::new(workspace.root()), &new)?)
        }
        _ => true,
    })
}

/// Objects of `Manifests` that are judged and not written.
fn judged(old: &LinkedWorkspace, new: &LinkedWorkspace, target: &Target) -> Vec<String> {
    let (before, after) = (judged_objects(old, target), judged_objects(new, target));
    let changes = changed_objects(&before, &after);
    let line = |(key, change): (&str, String)| format!("{key}, which is judged and not written, {change}");
    changes.into_iter().map(line).collect()
}

/// Returns the objects that are new, gone or other, with what happens to them.
fn changed_objects<'o>(before: &'o JsonByName, after: &'o JsonByName) -> Vec<(&'o str, String)> {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut changes = Vec::new();
    for key in keys {
        let change = match (before.get(key), after.get(key)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => changed_rules(old, new).unwrap_or_else(|| "changes".to_owned()),
            (None, _) => "is new".to_owned(),
            (_, None) => "is gone".to_owned(),
        };
        changes.push((key.as_str(), change));
    }
    changes
}

/// Returns the roles and bindings that the API server makes for itself and that are others in another version.
fn default_policy_change(old: &Target, new: &Target) -> Option<String> {
    let objects = |target: &Target| {
        let mut objects = JsonByName::new();
        // The tables have fields that are no fields of an object.
        let mut add = |root: NodeRef<'_>| {
            let mut json = yaml::schema::to_json(root);
            json.as_object_mut().into_iter().for_each(|fields| fields.retain(|field, _| !is_table_field(field)));
            objects.insert(name_of(root), json.to_string());
        };
        default_policy::objects(target.version.minor()).for_each(&mut add);
        if let Some(release) = target.version.release() {
            bootstrap::objects(release).for_each(&mut add);
            defaults::trees(Start::new(release)).iter().flat_map(Tree::documents).for_each(&mut add);
        }
        objects
    };
    let (before, after) = (objects(old), objects(new));
    let changes = changed_objects(&before, &after);
    let names: Vec<&str> = changes.iter().map(|(key, _)| *key).collect();
    (!names.is_empty()).then(|| format!("its default policy has another {}", few("", &names)))
}

fn is_table_field(field: &str) -> bool {
    field == "minors" || bootstrap::TABLE_FIELDS.contains(&field)
}

/// Objects that `spec.keep` keeps in the output folder and that no policy names. `check` refuses them.
fn kept(before: &JsonByName, after: &JsonByName) -> Vec<String> {
    let mut lines: Vec<String> =
        after.keys().map(|key| format!("{key} is kept in the output folder, and no policy names it")).collect();
    let is_old = |key: &str| before.contains_key(key);
    let changes = changed_objects(before, after).into_iter().filter(|(key, _)| is_old(key));
    lines.extend(changes.map(|(key, change)| format!("{key}, which was kept in the output folder, {change}")));
    lines
}

fn kept_objects(workspace: &Workspace, target: &Target) -> Result<JsonByName, RunError> {
    Ok(applied(&kept_files::kept_objects(workspace, &target.name, &mut Sink::new())?))
}

fn kept_objects_before(
    project: &LinkedWorkspace,
    target: &Target,
    output: &dyn Committed,
) -> Result<JsonByName, RunError> {
    Ok(applied(&kept_files::kept_before(project, &target.name, output, &mut Sink::new())?))
}

fn applied(trees: &[Tree]) -> JsonByName {
    let mut objects = JsonByName::new();
    let documents = trees.iter().flat_map(Tree::documents).filter(|root| kept_files::is_applied(*root));
    documents.for_each(|root| add_objects(root, &mut objects));
    objects
}

/// Objects as JSON by kind and name.
type JsonByName = BTreeMap<String, String>;

fn judged_objects(project: &LinkedWorkspace, target: &Target) -> JsonByName {
    let mut objects = BTreeMap::new();
    project.analyzed_documents(target).for_each(|document| add_objects(document, &mut objects));
    objects
}

/// Adds the object of a document, or the objects of a list.
fn add_objects(document: NodeRef<'_>, objects: &mut JsonByName) {
    let mut add = |object: NodeRef<'_>| {
        // A second object of the same name hides no change of the first.
        objects.entry(name_of(object)).or_default().push_str(&yaml::schema::to_json(object).to_string());
    };
    list::objects(document).into_iter().for_each(&mut add);
}

/// Returns the kind of an object with its namespace and name.
fn name_of(object: NodeRef<'_>) -> String {
    let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
    let (kind, namespace, name) = (text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"]));
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{kind} {namespace}{slash}{name}")
}

/// Describes the permissions that the rules of a role gain and lose; none if they grant the same, or without rules.
fn changed_rules(old: &str, new: &str) -> Option<String> {
    let read = |text: &str| yaml::read(text, FileId::default(), &mut Sink::new());
    let (old, new) = (read(old), read(new));
    changed_grants(new.document(0)?, old.document(0)?)
}
