//! Reads the folder of a package, file by file: nothing in it may be left out in silence.

use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_crossplane::controller::Controller;
use bailiwick_crossplane::definition::Definition;
use bailiwick_crossplane::package::{App, Package};
use bailiwick_kubernetes::catalogue::{Resource, read_custom};
use bailiwick_yaml::de::from_node;
use bailiwick_yaml::diag::{Diagnostic, FileId, Origin, Sink, Span};
use bailiwick_yaml::{NodeRef, Spanned, Tree};

use super::StackSpec;
use crate::kinds::BuiltInSchema;
use crate::model::{Linker, RawDocument};
use crate::source::Sources;

/// The content of a package folder.
pub(super) struct Folder {
    /// The package; none when it is refused, and why is then in the sink.
    pub(super) package: Option<Package>,
    /// The locations of its YAML documents.
    pub(super) documents: Vec<Origin>,
}

/// Reads the package of a policy. None when the folder cannot be read.
pub(super) fn read(
    document: &RawDocument<'_>,
    spec: &StackSpec,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Option<Folder> {
    let (folder, paths) = files_of(&spec.package, document, linker, sink)?;
    let mut contents = Contents::default();
    for path in &paths {
        let relative = path.strip_prefix(&format!("{folder}/")).unwrap_or(path);
        contents.add(path, relative, linker);
    }
    if !contents.has_app {
        let has_metadata = paths.iter().any(|path| path.ends_with("/crossplane.yaml"));
        contents.diagnostics.push(missing_app(&folder, spec, has_metadata));
    }
    let Contents { mut diagnostics, documents, definitions, controllers, custom, app, .. } = contents;
    linker.bring(&document.meta.targets, &custom);
    let image = spec.image.as_ref().map(|image| image.value.as_str());
    let is_refused = diagnostics.has_errors();
    let package = app.and_then(|(app, origin)| Package::new(&app, definitions, image, origin, &mut diagnostics));
    sink.absorb(diagnostics);
    let package = package.filter(|_| !is_refused).map(|package| Package { controllers, ..package });
    Some(Folder { package, documents })
}

/// The content of the files of a package folder.
#[derive(Default)]
struct Contents {
    diagnostics: Sink,
    documents: Vec<Origin>,
    definitions: Vec<Definition>,
    controllers: Vec<Controller>,
    custom: Vec<Resource>,
    app: Option<(App, Origin)>,
    has_app: bool,
}

impl Contents {
    /// Adds a file of the package; `relative` is its path below the folder.
    fn add(&mut self, path: &str, relative: &str, linker: &mut Linker<'_>) {
        match role_of(relative) {
            FileRole::App => {
                self.has_app = true;
                self.app = read_app(path, linker, &mut self.diagnostics);
                let tree = tree_of(path, linker, &mut Sink::new());
                self.documents.extend(tree.iter().flat_map(|tree| tree.documents()).map(NodeRef::origin));
            }
            FileRole::Definitions => {
                let tree = tree_of(path, linker, &mut self.diagnostics);
                for root in tree.iter().flat_map(|tree| tree.documents()) {
                    self.documents.push(root.origin());
                    self.definitions.extend(Definition::read(root, &mut self.diagnostics));
                    self.custom.extend(read_custom(root));
                }
            }
            FileRole::Rbac => self.diagnostics.push(
                Diagnostic::error(codes::RBAC_YAML_NOT_SUPPORTED, "the package has an `rbac.yaml`")
                    .at(start_of(path, linker, &mut Sink::new()))
                    .help("remove it: the permissions follow from the owned definitions and `dependsOn`"),
            ),
            FileRole::Install => {
                let tree = tree_of(path, linker, &mut self.diagnostics);
                let roots = tree.iter().flat_map(|tree| tree.documents()).filter(|root| !root.is_null());
                for root in roots {
                    self.documents.push(root.origin());
                    self.controllers.extend(Controller::read(root));
                }
            }
            FileRole::Known => {}
            FileRole::Unknown => self.diagnostics.push(
                Diagnostic::error(
                    codes::UNEXPECTED_PACKAGE_FILE,
                    format!("the Stack Manager does not read `{relative}`"),
                )
                .at(start_of(path, linker, &mut Sink::new()))
                .help("name a file of definitions `*crd.yaml`, and move other files out of the folder of the package"),
            ),
        }
    }
}

/// Returns the diagnostic for a folder without `app.yaml`; `has_metadata` is true for a package of a later format.
fn missing_app(folder: &str, spec: &StackSpec, has_metadata: bool) -> Diagnostic {
    let help = if has_metadata {
        "set `revision: rbac-manager`: the package has a `crossplane.yaml`"
    } else {
        "use the folder of `app.yaml`"
    };
    Diagnostic::error(codes::MISSING_APP_YAML, format!("there is no `{folder}/app.yaml`"))
        .at(spec.package.origin)
        .help(help)
}

/// Returns the folder as a path of the workspace, and claims every YAML file below it for the policy.
pub(super) fn files_of(
    written: &Spanned<String>,
    document: &RawDocument<'_>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Option<(String, Vec<String>)> {
    let Some(folder) = Sources::resolve(document.path, written.trim_end_matches('/')) else {
        sink.push(
            Diagnostic::error(codes::PATH_OUTSIDE, format!("`{}` leaves the workspace", written.value))
                .at(written.origin)
                .help("use a folder below the root of the workspace, relative to the folder of this policy"),
        );
        return None;
    };
    let all = match linker.sources.list(&folder, Some(written.origin)) {
        Ok(all) => all,
        Err(error) => {
            sink.push(Diagnostic::error(codes::MISSING_FILE, error.message).at(written.origin));
            return None;
        }
    };
    if all.is_empty() {
        sink.push(
            Diagnostic::error(codes::MISSING_FILE, format!("the folder `{folder}` is missing or empty"))
                .at(written.origin)
                .help("write the folder relative to the folder of this policy"),
        );
        return None;
    }
    let is_yaml = |path: &&String| path.ends_with(".yaml") || path.ends_with(".yml");
    let paths: Vec<String> = all.iter().filter(is_yaml).cloned().collect();
    linker.claimed.extend(paths.iter().cloned());
    Some((folder, paths))
}

/// The role of a file, by its name (`pkg/stacks/unpack.go` of Crossplane v0.9).
enum FileRole {
    App,
    Definitions,
    /// Permissions as they were asked for before the design.
    Rbac,
    /// The controller's Deployment.
    Install,
    /// Texts and pictures for people.
    Known,
    Unknown,
}

fn role_of(relative: &str) -> FileRole {
    let name = relative.rsplit('/').next().unwrap_or(relative);
    match name {
        _ if relative == "app.yaml" => FileRole::App,
        "rbac.yaml" => FileRole::Rbac,
        "install.yaml" => FileRole::Install,
        "behavior.yaml" | "group.yaml" => FileRole::Known,
        _ if name.ends_with("resource.yaml") || name.ends_with("ui-schema.yaml") => FileRole::Known,
        _ if name.ends_with("crd.yaml") || name.ends_with("crds.yaml") => FileRole::Definitions,
        _ => FileRole::Unknown,
    }
}

pub(super) fn tree_of(path: &str, linker: &mut Linker<'_>, sink: &mut Sink) -> Option<Arc<Tree>> {
    match linker.sources.tree(path, None, sink) {
        Ok(tree) => tree,
        Err(error) => {
            sink.push(Diagnostic::error(codes::MISSING_FILE, error.message));
            None
        }
    }
}

/// Returns the start of a file.
pub(super) fn start_of(path: &str, linker: &mut Linker<'_>, sink: &mut Sink) -> Origin {
    let file = tree_of(path, linker, sink).map_or_else(FileId::default, |tree| tree.file());
    Origin { file, span: Span::new(0, 1) }
}

/// The schema of `app.yaml`.
pub(in crate::kinds) static APP_SCHEMA: BuiltInSchema = BuiltInSchema::of_file::<App>("app.yaml");

fn read_app(path: &str, linker: &mut Linker<'_>, sink: &mut Sink) -> Option<(App, Origin)> {
    let tree = tree_of(path, linker, sink)?;
    let root = only_document(&tree, "app.yaml", sink)?;
    Some((typed(root, &APP_SCHEMA, sink)?, root.beginning()))
}

/// Returns the single document of a file that describes the package.
pub(super) fn only_document<'t>(tree: &'t Tree, name: &str, sink: &mut Sink) -> Option<NodeRef<'t>> {
    let root = tree.document(0).filter(|root| root.is_map() && tree.document(1).is_none());
    if root.is_none() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, format!("`{name}` must be one document with fields"))
                .at(Origin { file: tree.file(), span: Span::new(0, 1) })
                .help("keep one document with the description of the package"),
        );
    }
    root
}

/// Reads a document of a package by the schema of its type, and reports every error in its structure.
pub(super) fn typed<'t, T: serde::Deserialize<'t>>(
    root: NodeRef<'t>,
    schema: &BuiltInSchema,
    sink: &mut Sink,
) -> Option<T> {
    if !schema.fits(root) {
        schema.report(root, None, sink);
        return None;
    }
    match from_node(root) {
        Ok(value) => Some(value),
        Err(error) => {
            schema.report(root, Some(error), sink);
            None
        }
    }
}
