//! Files of `spec.keep` in the output folder, as kubectl, Argo CD and Flux read them: appliers read whole folders and know
//! nothing of `spec.keep`.

use std::collections::BTreeSet;

use bailiwick_codes as codes;
use bailiwick_compiler::compile::LinkedWorkspace;
use bailiwick_compiler::emit::committed::{Committed, Entry};
use bailiwick_compiler::emit::file;
use bailiwick_compiler::emit::write::STAGING;
use bailiwick_kubernetes::readers::{self, KUSTOMIZATIONS};
use bailiwick_kubernetes::{absent, list};
use bailiwick_policy::source::Sources;
use bailiwick_yaml::diag::{Diagnostic, FileId, RunError, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, Tree, schema};

use super::unclaimed::is_manifest_name;
use super::workspace::{Workspace, keeps};
use crate::judged_files::judged_output;

/// How many objects of a kept file, and files of a Kustomization, are named.
const NAMED: usize = 5;

/// The fields of a Kustomization that neither add an object nor change one. `buildMetadata` adds annotations.
const PLAIN_FIELDS: &[&str] = &["apiVersion", "kind", "resources", "sortOptions"];

/// The API versions of a Kustomization of kustomize.
const KUSTOMIZATION_VERSIONS: [&str; 2] = ["kustomize.config.k8s.io/v1beta1", "kustomize.config.k8s.io/v1"];

/// Reports each kept file of which an applier makes something: an object that no policy names, another set of files, or a
/// stop.
///
/// # Errors
/// When the output folder cannot be read.
pub(super) fn judge(workspace: &Workspace, kept: &BTreeSet<String>, sink: &mut Sink) -> Result<(), RunError> {
    let manifests = claimed(&workspace.project);
    let whole = judged_output(workspace, None);
    for path in kept {
        let bytes = whole.read(path)?.unwrap_or_default();
        let file = KeptFile { workspace, path, is_claimed: is_claimed(&workspace.project, &manifests, path) };
        if let Some((reason, help)) = file.problem(&bytes, kept, &*whole)? {
            let shown = format!("{}/{path}", workspace.project.workspace.output);
            let found = Diagnostic::error(codes::KEPT_MANIFEST, format!("`{shown}` is kept and {reason}"));
            sink.push(found.help(help));
        }
    }
    Ok(())
}

/// The remedy for a file with objects.
const CLAIM: &str = "remove it, or add it to a Manifests policy with `emit: false`, so that its objects are checked";

/// The remedy for a file without objects.
const MOVE: &str = "move it out of the output folder: appliers read every YAML and JSON file";

/// The reason to refuse a file, and the remedy.
type Problem = (String, String);

/// A file of `spec.keep`, in its folder.
struct KeptFile<'k> {
    workspace: &'k Workspace,
    /// The path below the output folder.
    path: &'k str,
    /// Whether a Manifests policy analyzes its objects.
    is_claimed: bool,
}

impl KeptFile<'_> {
    /// Returns what an applier makes of the file; none where all of them make nothing of it, or the objects that a policy
    /// names.
    fn problem(
        &self,
        bytes: &[u8],
        kept: &BTreeSet<String>,
        whole: &dyn Committed,
    ) -> Result<Option<Problem>, RunError> {
        let problem = |reason: &str, help: &str| Ok(Some((reason.to_owned(), help.to_owned())));
        if file::bears_header(bytes) {
            return problem("bears our header", "remove it: `spec.keep` keeps files of others");
        }
        let name = absent::text(self.path.rsplit('/').next());
        if readers::decides_about_folder(name) {
            return problem("controls how an applier reads the folder", "remove it from the output folder");
        }
        let is_opened = |folder: &&str| readers::decides_about_folder(folder) || KUSTOMIZATIONS.contains(folder);
        let mut folders = self.path.rsplit_once('/').into_iter().flat_map(|(folders, _)| folders.split('/'));
        if let Some(folder) = folders.find(is_opened) {
            return problem(
                &format!("is in a folder `{folder}`, and an applier opens a file of that name"),
                "rename the folder",
            );
        }
        let is_manifest = is_manifest_name(self.path);
        // Flux writes the names of all manifests into a Kustomization.
        if let Some(reason) = readers::text_problem(self.path).filter(|_| is_manifest) {
            return problem(&format!("has a name with several readings: {reason}"), "rename the file");
        }
        let text = String::from_utf8_lossy(bytes);
        if is_manifest && text.contains(readers::SKIP_MARKER) && self.is_claimed {
            return problem("has a text with which Argo CD skips the file", MOVE);
        }
        let documents = read_documents(&text);
        let is_kustomization = KUSTOMIZATIONS.contains(&name);
        let Some(trees) = documents.filter(|_| std::str::from_utf8(bytes).is_ok()) else {
            let is_read = is_manifest || is_kustomization;
            return if is_read {
                problem("cannot be read as YAML, so its objects are unknown", CLAIM)
            } else {
                Ok(None)
            };
        };
        if is_kustomization {
            return self.kustomization_problem(&trees, kept, whole);
        }
        let leaves_out = |part| Some((part, readers::applier_of_name(part)?));
        if let Some((part, applier)) = self.path.split('/').find_map(leaves_out).filter(|_| is_manifest) {
            return problem(
                &format!("has `{part}` on its path, a name with a meaning to {applier}"),
                &format!("rename `{part}`, or move the file out of the output folder"),
            );
        }
        Ok(self.objects_problem(&trees, is_manifest, &text))
    }

    /// Returns the problem of a file with these documents.
    fn objects_problem(&self, trees: &[Tree], is_manifest: bool, text: &str) -> Option<Problem> {
        let documents = || trees.iter().flat_map(Tree::documents).filter(|root| !root.is_null());
        let objects: Vec<NodeRef<'_>> = documents().filter(|root| is_object(*root)).collect();
        if !self.is_claimed && !objects.is_empty() {
            let identities: Vec<String> = objects.into_iter().map(|object| format!("`{}`", identity(object))).collect();
            let reason = format!("contains objects of no policy: {}", listed(&identities, "more"));
            return Some((reason, CLAIM.to_owned()));
        }
        let is_json = self.path.to_ascii_lowercase().ends_with(".json");
        let stops = documents().any(|root| !is_object(root)) || is_json && documents().count() != 1;
        if is_manifest && stops {
            let reason = "is no list of objects, so that kubectl, Argo CD or Flux stops at it";
            return Some((reason.to_owned(), MOVE.to_owned()));
        }
        if !self.is_claimed || !is_manifest {
            return None;
        }
        // Each applier has to make the analyzed objects of it.
        let whole = yaml::read(text, FileId::default(), &mut Sink::new());
        if !whole.documents().filter(|root| !root.is_null()).map(schema::to_json).eq(documents().map(schema::to_json)) {
            let reason = "has a line `---` within a text, where some readers begin a document";
            return Some((reason.to_owned(), MOVE.to_owned()));
        }
        let mut errors = Vec::new();
        for object in objects {
            if list::odd_items(object).is_some() {
                return Some(("has `items` that clients open as a list".to_owned(), MOVE.to_owned()));
            }
            list::objects(object).into_iter().for_each(|object| readers::check(object, true, &mut errors));
        }
        errors.into_iter().next().map(|error| (format!("is read differently: {}", error.message), MOVE.to_owned()))
    }

    /// Returns the problem of a Kustomization: it has to list the compiled files of its target, each once, and nothing else.
    fn kustomization_problem(
        &self,
        trees: &[Tree],
        kept: &BTreeSet<String>,
        whole: &dyn Committed,
    ) -> Result<Option<Problem>, RunError> {
        let help = |text: &str| text.to_owned();
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !self.workspace.project.workspace.targets.iter().any(|target| target.name == folder) {
            let reason = "is a Kustomization beside the folders of the targets or below one";
            return Ok(Some((help(reason), help("move it to the folder of a target"))));
        }
        let is_other = |path: &&String| {
            let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            path.as_str() != self.path && name.is_some_and(|name| KUSTOMIZATIONS.contains(&name))
        };
        if let Some(other) = kept.iter().find(is_other) {
            let reason = format!("is a Kustomization beside `{other}`");
            return Ok(Some((reason, help("keep one of them: kustomize refuses a folder with two"))));
        }
        let mut roots = trees.iter().flat_map(Tree::documents).filter(|root| !root.is_null());
        let (Some(root), None) = (roots.next(), roots.next()) else {
            return Ok(Some((help("is not one Kustomization"), help("write one document with `resources`"))));
        };
        let is_known = |key: NodeRef<'_>| key.as_str().is_some_and(|key| PLAIN_FIELDS.contains(&key));
        let fits = |field: &str, known: &[&str]| {
            root.get(field).is_none_or(|value| value.as_str().is_some_and(|text| known.contains(&text)))
        };
        let is_plain = root.entries().all(|(key, _)| is_known(key))
            && fits("kind", &["Kustomization"])
            && fits("apiVersion", &KUSTOMIZATION_VERSIONS);
        if !is_plain {
            let reason = "is a Kustomization that adds or changes objects";
            let remedy = "use no field except `resources`, with the files of the target";
            return Ok(Some((help(reason), help(remedy))));
        }
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        let is_of_other = |top: &str| top != folder;
        for entry in whole.list_except(&is_of_other)?.into_iter().filter(Entry::is_file) {
            let below = entry.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            wanted.extend(below.filter(|_| !kept.contains(&entry.path)).map(str::to_owned));
        }
        let resources = root.get("resources").into_iter().flat_map(NodeRef::items);
        for resource in resources {
            let written = absent::text(resource.as_str());
            if !resolve(written).is_some_and(|path| wanted.remove(&path)) {
                let reason = format!("lists `{written}`, which is no compiled file of `{folder}` or is listed twice");
                return Ok(Some((reason, help("list each compiled file of the target once, by its path"))));
            }
        }
        let lacking: Vec<String> = wanted.into_iter().map(|path| format!("`{path}`")).collect();
        Ok((!lacking.is_empty()).then(|| {
            let reason = format!("does not list {}: appliers prune its objects", listed(&lacking, "more files"));
            (reason, help("add the files to `resources`"))
        }))
    }
}

/// Returns the first texts of a list, and the number of the others.
fn listed(texts: &[String], others: &str) -> String {
    let named = texts.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match texts.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} {others}"),
    }
}

/// Reads the documents of a text as the stream readers of Kubernetes do: they split it at each line `---`, within a text too,
/// and take one document from each part. None if a part is not one YAML document.
///
/// Source: `YAMLReader` in `pkg/util/yaml/decoder.go` of k8s.io/apimachinery 0.36.
fn read_documents(text: &str) -> Option<Vec<Tree>> {
    let mut parts = vec![String::new()];
    for line in text.split_inclusive('\n') {
        // Only a comment can follow the dashes.
        let rest = line.strip_prefix("---").map(str::trim);
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#')) {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
        }
    }
    let mut problems = Sink::new();
    let trees: Vec<Tree> = parts.iter().map(|part| yaml::read(part, FileId::default(), &mut problems)).collect();
    let are_single = trees.iter().all(|tree| tree.document(1).is_none());
    (are_single && !problems.has_errors()).then_some(trees)
}

/// Whether a document is an object or a list of objects for some client.
fn is_object(root: NodeRef<'_>) -> bool {
    root.get("kind").is_some() || root.get("items").is_some()
}

/// Whether a document is an object for the cluster.
pub fn is_applied(root: NodeRef<'_>) -> bool {
    is_object(root) && !is_kustomization(root)
}

/// Whether a document is a Kustomization of kustomize; Flux has a kind of the same name.
fn is_kustomization(root: NodeRef<'_>) -> bool {
    root.text_at("kind") == "Kustomization" && root.text_at("apiVersion").starts_with("kustomize.config.k8s.io/")
}

/// Returns a path written in a Kustomization as a path below its folder; none for one that leaves it, and for a URL.
fn resolve(written: &str) -> Option<String> {
    let is_url = written.contains([':', '?']);
    Sources::resolve("", written).filter(|_| !is_url)
}

/// Returns the identity of an object, as far as it has one.
fn identity(root: NodeRef<'_>) -> String {
    let text = |keys: &[&str]| absent::text_at(root, keys);
    let namespace = text(&["metadata", "namespace"]);
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{} {namespace}{slash}{}", text(&["kind"]), text(&["metadata", "name"])).trim().to_owned()
}

/// Returns the kept files of a target that hold objects and that no Manifests policy names, as trees. The sink gets the errors of
/// manifests that are not YAML.
///
/// # Errors
/// When the output folder cannot be read.
pub fn kept_objects(workspace: &Workspace, target: &str, sink: &mut Sink) -> Result<Vec<Tree>, RunError> {
    let whole = match workspace.files.is_folder() {
        true => judged_output(workspace, None),
        false => workspace.files.output(&workspace.project.workspace.output, None),
    };
    kept_before(&workspace.project, target, &*whole, sink)
}

/// Returns the kept objects as [`kept_objects`] does, in other output.
///
/// # Errors
/// If the output cannot be read.
pub fn kept_before(
    project: &LinkedWorkspace,
    target: &str,
    whole: &dyn Committed,
    sink: &mut Sink,
) -> Result<Vec<Tree>, RunError> {
    let workspace = &project.workspace;
    if workspace.keep.is_empty() {
        return Ok(Vec::new());
    }
    let manifests = claimed(project);
    let mut trees = Vec::new();
    let is_of_other =
        |top: &str| top == STAGING || top != target && workspace.targets.iter().any(|one| one.name == top);
    for entry in whole.list_except(&is_of_other)?.into_iter().filter(Entry::is_file) {
        if keeps(workspace, &entry.path) && !is_claimed(project, &manifests, &entry.path) {
            let bytes = whole.read(&entry.path)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let path = format!("{}/{}", workspace.output, entry.path);
            let is_manifest = is_manifest_name(&path);
            let mut problems = Sink::new();
            let tree = yaml::read(&text, project.files.add(path, &*text), &mut problems);
            if is_manifest {
                sink.absorb(problems);
            }
            if tree.documents().any(is_object) {
                trees.push(tree);
            }
        }
    }
    Ok(trees)
}

/// Returns the files that Manifests policies bring in without writing them, each with the target that the policy applies to.
fn claimed(project: &LinkedWorkspace) -> BTreeSet<(String, String)> {
    let mut claimed = BTreeSet::new();
    for target in &project.workspace.targets {
        for document in project.analyzed_documents(target) {
            let path = project.files.get(document.origin().file).path().to_owned();
            claimed.insert((path, target.name.clone()));
        }
    }
    claimed
}

/// Whether a Manifests policy names a kept file: one of its target, or of any target for a file beside the targets.
fn is_claimed(project: &LinkedWorkspace, claimed: &BTreeSet<(String, String)>, path: &str) -> bool {
    let workspace = &project.workspace;
    let whole = format!("{}/{path}", workspace.output);
    let top = path.split('/').next().unwrap_or_default();
    let is_of_target = workspace.targets.iter().any(|target| target.name == top);
    claimed.iter().any(|(named, target)| *named == whole && (!is_of_target || target == top))
}
