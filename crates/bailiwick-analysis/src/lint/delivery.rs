//! Findings about the delivery of a target's output: folders with too many objects or bytes, objects that are too large or
//! of a kind that Argo CD leaves out, unprotected Namespaces, and texts with the form of variables of Flux.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::risk::RiskSeverity;
use bailiwick_codes as codes;
use bailiwick_compiler::compile::{ObjectForm, OutputFile};
use bailiwick_compiler::delivery::first_variable;
use bailiwick_compiler::emit::file;
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::appliers::{
    ARGOCD_BYTES, EXCLUDED_GROUPS, FLUX_PRUNE, FLUX_SUBSTITUTE, Keepers, OBJECT_BYTES, has_excluded_kind,
    is_excluded_by_argocd,
};
use bailiwick_policy::model::{MOST_OBJECTS, OnRemoval, TargetDelivery, WrittenNamespaces};
use bailiwick_workspace::words::{grouped, number};
use bailiwick_yaml as yaml;
use bailiwick_yaml::diag::{Code, Diagnostic, FileId, Origin, RunError, Sink};

use super::selection::Selection;
use super::{LintedTarget, severity};

/// The greatest number of shards of a workspace.
const MOST_SHARDS: u32 = 4096;

/// Reports the findings about a target.
pub(super) fn check(linted: &LintedTarget<'_>, selection: &Selection, sink: &mut Sink) -> Result<(), RunError> {
    let findings = DeliveryFindings { linted, selection };
    let files = findings.summarized()?;
    if let Some(delivery) = &linted.target.delivery {
        findings.report_large_folders(delivery, &files, sink);
        findings.report_unprotected(delivery, &files, sink);
    }
    if !linted.target.is_delivered_by_flux() {
        findings.report_variables(&files, sink);
    }
    if linted.target.delivery.as_ref().is_none_or(|delivery| delivery.argocd.is_some()) {
        findings.report_excluded(&files, sink);
        findings.report_bytes(&files, sink);
    }
    findings.report_large_objects(&files, sink);
    Ok(())
}

/// An output file of a target, or of the representative of a class of namespaces.
struct FileSummary {
    path: String,
    /// How many objects it has.
    objects: usize,
    /// The kind of each object of a file beside the namespaces.
    kind: String,
    variable: Option<TextWithVariable>,
    /// The Namespaces from manifests.
    namespaces: Vec<WrittenNamespace>,
    /// How many bytes it has.
    bytes: usize,
    /// The objects of kinds without a meaning to Argo CD.
    excluded: Vec<NamedObject>,
    /// The objects above the limit of etcd, with their bytes as JSON.
    oversized: Vec<(NamedObject, usize)>,
}

/// An object, as a message names it.
struct NamedObject {
    shown: String,
    origin: Origin,
}

/// A Namespace from manifests.
struct WrittenNamespace {
    name: String,
    origin: Origin,
    keepers: Keepers,
}

/// A text with the beginning of a variable of Flux.
struct TextWithVariable {
    object: String,
    field: String,
    origin: Origin,
}

struct DeliveryFindings<'f> {
    linted: &'f LintedTarget<'f>,
    selection: &'f Selection,
}

impl DeliveryFindings<'_> {
    fn summarized(&self) -> Result<Vec<FileSummary>, RunError> {
        let LintedTarget { workspace, target, .. } = *self.linted;
        // With the delivery by Flux, the program adds the annotation itself.
        let looks_for_variables = !target.is_delivered_by_flux();
        let facts = self.linted.workspace.project().facts.on::<WrittenNamespaces>(&self.linted.target.name);
        let written: BTreeSet<Origin> = facts.flat_map(|written| written.origins.iter().copied()).collect();
        let summarize = |file: OutputFile| {
            let variable = if looks_for_variables { variable_in(&file) } else { None };
            let kind = file.kinds.first().map_or_else(String::new, |kind| kind.to_string());
            let objects = file.kinds.len();
            let namespaces = if target.delivery.is_none() { Vec::new() } else { written_namespaces(&file, &written) };
            let (excluded, oversized) = noted_objects(&file);
            let bytes = file.text.len();
            Ok(FileSummary { path: file.path, objects, kind, variable, namespaces, bytes, excluded, oversized })
        };
        let mut files = Vec::new();
        let mut keep = |file| files.push(file);
        workspace.compile_files(target, ObjectForm::Text, &summarize, &mut keep, &mut Sink::new())?;
        Ok(files)
    }

    /// Reports the folder of the target with the most objects, if they are too many for one application.
    fn report_large_folders(&self, delivery: &TargetDelivery, files: &[FileSummary], sink: &mut Sink) {
        let LintedTarget { workspace, target, .. } = *self.linted;
        let workspace = &workspace.project().workspace;
        let shards = workspace.shards;
        let Some((folder, objects)) = self.largest_folder(files, shards) else { return };
        let most = delivery.objects as usize;
        if objects <= most {
            return;
        }
        let least = if objects > MOST_OBJECTS as usize { RiskSeverity::High } else { RiskSeverity::Medium };
        let path = format!("{}/{}/{folder}", workspace.output, target.name);
        let message = format!(
            "`{}` has {} objects, and one application applies at most {}",
            path.trim_end_matches('/'),
            grouped(objects),
            grouped(most)
        );
        let help = if folder == "cluster" {
            let of_kind = |file: &&FileSummary| file.path.starts_with("cluster/");
            let largest = files.iter().filter(of_kind).max_by_key(|file| file.objects);
            let (kind, count) = largest.map_or(("", 0), |file| (file.kind.as_str(), file.objects));
            format!("most of them are of the kind `{kind}` ({}); this folder cannot be divided", grouped(count))
        } else {
            self.fitting_shards(delivery, files)
        };
        self.report(
            codes::SHARD_TOO_LARGE,
            least,
            Diagnostic::warning(codes::SHARD_TOO_LARGE, message).at(delivery.objects_origin).help(help),
            sink,
        );
    }

    /// Returns the largest folder with a delivery object, with its number of objects.
    fn largest_folder(&self, files: &[FileSummary], shards: Option<u32>) -> Option<(String, usize)> {
        let mut folders: BTreeMap<String, usize> = BTreeMap::new();
        for file in files {
            let Some(shards) = shards else {
                let all = self.weight(file);
                *folders.entry(String::new()).or_default() += file.objects * all;
                continue;
            };
            let Some(namespace) = file::namespace(&file.path) else {
                *folders.entry("cluster".to_owned()).or_default() += file.objects;
                continue;
            };
            for name in self.linted.spread.namespaces(namespace) {
                *folders.entry(file::shard(name, shards)).or_default() += file.objects;
            }
        }
        folders.into_iter().rev().max_by_key(|(_, objects)| *objects)
    }

    /// Returns how many files a file stands for.
    fn weight(&self, file: &FileSummary) -> usize {
        file::namespace(&file.path).map_or(1, |namespace| self.linted.spread.weight(namespace))
    }

    /// Proposes the smallest power of two as the number of shards for small enough folders of namespaces.
    fn fitting_shards(&self, delivery: &TargetDelivery, files: &[FileSummary]) -> String {
        let of_namespaces: Vec<(&str, usize)> =
            files.iter().filter_map(|file| Some((file::namespace(&file.path)?, file.objects))).collect();
        let fits = |shards: &u32| {
            let mut folders: BTreeMap<String, usize> = BTreeMap::new();
            for (namespace, objects) in &of_namespaces {
                for name in self.linted.spread.namespaces(namespace) {
                    *folders.entry(file::shard(name, *shards)).or_default() += objects;
                }
            }
            folders.values().all(|objects| *objects <= delivery.objects as usize)
        };
        let numbers =
            std::iter::successors(Some(1_u32), |shards| shards.checked_mul(2).filter(|next| *next <= MOST_SHARDS));
        match numbers.into_iter().find(fits) {
            Some(shards) => {
                format!("set `layout.shards: {shards}`; `bailiwick migrate shards --to {shards}` prints the steps")
            }
            None => "one namespace has more objects than one application applies: give its objects to other namespaces"
                .to_owned(),
        }
    }

    /// Reports the unprotected Namespaces of manifests.
    fn report_unprotected(&self, delivery: &TargetDelivery, files: &[FileSummary], sink: &mut Sink) {
        if delivery.on_removal == OnRemoval::Delete {
            return;
        }
        for namespace in files.iter().flat_map(|file| &file.namespaces) {
            let appliers = [
                ("Argo CD", delivery.argocd.is_some() && !namespace.keepers.argocd),
                ("Flux", delivery.flux.is_some() && !namespace.keepers.flux),
            ];
            let deleting: Vec<&str> = appliers.iter().filter(|(_, deletes)| *deletes).map(|(name, _)| *name).collect();
            if deleting.is_empty() {
                continue;
            }
            let written = delivery.removal_annotations(None);
            let is_missing = |key: &str| match key {
                FLUX_PRUNE => !namespace.keepers.flux,
                _ => !namespace.keepers.argocd,
            };
            let missing = written.iter().filter(|(key, _)| is_missing(key));
            let annotations = missing.map(|(key, value)| format!("`{key}: {value}`")).collect::<Vec<_>>();
            let message = format!(
                "{} deletes the namespace `{}` with everything in it when it goes from the manifests",
                deleting.join(" and "),
                namespace.name
            );
            let help = format!("add to its annotations: {}", annotations.join(", "));
            let finding = Diagnostic::warning(codes::NAMESPACE_UNPROTECTED, message).at(namespace.origin).help(help);
            self.report(codes::NAMESPACE_UNPROTECTED, RiskSeverity::Medium, finding, sink);
        }
    }

    /// Reports the first text of each file with a variable of Flux.
    fn report_variables(&self, files: &[FileSummary], sink: &mut Sink) {
        for file in files {
            let Some(found) = &file.variable else { continue };
            let others = match self.weight(file) - 1 {
                0 => String::new(),
                more => format!(", and {} like it", number(more, "object")),
            };
            let message = format!("`{}` of {}{others} contains `${{`", found.field, found.object);
            let finding = Diagnostic::warning(codes::SUBSTITUTION_IN_TEXT, message)
                .at(found.origin)
                .note("a Kustomization of Flux with `postBuild` replaces `${name}` in every text")
                .help("add `spec.delivery.flux` to `bailiwick.yaml`: such objects then get the annotation `kustomize.toolkit.fluxcd.io/substitute: disabled`");
            self.report(codes::SUBSTITUTION_IN_TEXT, RiskSeverity::Low, finding, sink);
        }
    }

    /// Reports the objects of the excluded kinds of Argo CD, one for each file.
    fn report_excluded(&self, files: &[FileSummary], sink: &mut Sink) {
        for file in files {
            let Some(first) = file.excluded.first() else { continue };
            let others = match file.excluded.len() * self.weight(file) - 1 {
                0 => String::new(),
                more => format!(", and {} like it", number(more, "object")),
            };
            let message = format!("Argo CD neither applies nor prunes {}{others}: it leaves the kind out", first.shown);
            let finding = Diagnostic::warning(codes::EXCLUDED_KIND, message)
                .at(first.origin)
                .help("let another applier write it, or change `resource.exclusions` of Argo CD");
            self.report(codes::EXCLUDED_KIND, RiskSeverity::Medium, finding, sink);
        }
    }

    /// Reports the folder of the target with the most bytes, if Argo CD refuses to read it.
    fn report_bytes(&self, files: &[FileSummary], sink: &mut Sink) {
        let LintedTarget { workspace, target, .. } = *self.linted;
        let settings = &workspace.project().workspace;
        let mut folders: BTreeMap<String, usize> = BTreeMap::new();
        for file in files {
            let folder = match (settings.shards, file::namespace(&file.path)) {
                (None, _) => String::new(),
                (Some(_), None) => "/cluster".to_owned(),
                (Some(shards), Some(namespace)) => {
                    for name in self.linted.spread.namespaces(namespace) {
                        *folders.entry(format!("/{}", file::shard(name, shards))).or_default() += file.bytes;
                    }
                    continue;
                }
            };
            *folders.entry(folder).or_default() += file.bytes * self.weight(file);
        }
        let Some((folder, bytes)) = folders.into_iter().rev().max_by_key(|(_, bytes)| *bytes) else { return };
        if bytes > ARGOCD_BYTES {
            let message = format!(
                "`{}/{}{folder}` has {} bytes, and an application of Argo CD reads at most {} by default",
                settings.output,
                target.name,
                grouped(bytes),
                grouped(ARGOCD_BYTES)
            );
            let finding = Diagnostic::warning(codes::SHARD_TOO_LARGE, message)
                .at_maybe(target.delivery.as_ref().map(|delivery| delivery.objects_origin))
                .help("set `layout.shards`, or raise `reposerver.max.combined.directory.manifests.size` of Argo CD");
            // Without a stated delivery, Argo CD is one of the appliers that may read the folder.
            let severity = if target.delivery.is_none() { RiskSeverity::Medium } else { RiskSeverity::High };
            self.report(codes::SHARD_TOO_LARGE, severity, finding, sink);
        }
    }

    /// Reports the objects above the limit of etcd.
    fn report_large_objects(&self, files: &[FileSummary], sink: &mut Sink) {
        for (object, bytes) in files.iter().flat_map(|file| &file.oversized) {
            let message = format!(
                "{} has {} bytes as JSON, and an object above {} does not fit into etcd with its managed fields",
                object.shown,
                grouped(*bytes),
                grouped(OBJECT_BYTES)
            );
            let finding =
                Diagnostic::warning(codes::SHARD_TOO_LARGE, message).at(object.origin).help("divide the object");
            self.report(codes::SHARD_TOO_LARGE, RiskSeverity::High, finding, sink);
        }
    }

    /// Reports a finding with the severity of the workspace, if it is severe enough and not accepted.
    fn report(&self, code: Code, usual: RiskSeverity, finding: Diagnostic, sink: &mut Sink) {
        let project = &self.linted.workspace.project();
        let severity = severity(project.workspace.diagnostics.of_finding(code), usual);
        if severity >= self.selection.least() && !project.accepts(&finding) {
            sink.push(finding.labelled(severity.word()));
        }
    }
}

/// Returns the objects of a file of the excluded kinds of Argo CD, and the objects above the limit of etcd.
fn noted_objects(file: &OutputFile) -> (Vec<NamedObject>, Vec<(NamedObject, usize)>) {
    let names = |group: &str| memchr::memmem::find(file.text.as_bytes(), group.as_bytes()).is_some();
    let may_be_excluded =
        file.kinds.iter().any(|kind| has_excluded_kind(kind)) || EXCLUDED_GROUPS.into_iter().any(names);
    let may_be_oversized = file.text.len() > OBJECT_BYTES / 2;
    let (mut excluded, mut oversized) = (Vec::new(), Vec::new());
    if !may_be_excluded && !may_be_oversized {
        return (excluded, oversized);
    }
    let tree = yaml::read(&file.text, FileId::default(), &mut Sink::new());
    for (object, origin) in tree.documents().zip(file.origins.iter()) {
        let (kind, api_version) = (object.text_at("kind"), object.text_at("apiVersion"));
        let name = absent::text_at(object, &["metadata", "name"]);
        let named = || NamedObject { shown: format!("{kind} `{name}`"), origin: *origin };
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        if is_excluded_by_argocd(group, kind) {
            excluded.push(named());
        }
        let bytes = if may_be_oversized { yaml::schema::to_json(object).to_string().len() } else { 0 };
        if bytes > OBJECT_BYTES {
            oversized.push((named(), bytes));
        }
    }
    (excluded, oversized)
}

/// Returns the first text of a file with the beginning of a variable of Flux.
fn variable_in(file: &OutputFile) -> Option<TextWithVariable> {
    memchr::memmem::find(file.text.as_bytes(), b"${")?;
    let tree = yaml::read(&file.text, FileId::default(), &mut Sink::new());
    let is_kept = |object: yaml::NodeRef<'_>| {
        object.path(&["metadata", "annotations", FLUX_SUBSTITUTE]).and_then(yaml::NodeRef::as_str) == Some("disabled")
    };
    let mut objects = tree.documents().zip(file.origins.iter()).filter(|(object, _)| !is_kept(*object));
    objects.find_map(|(object, origin)| {
        let field = first_variable(object)?;
        let text = |keys: &[&str]| object.path(keys).and_then(yaml::NodeRef::as_str).map_or("", |text| text);
        let object = format!("{} `{}`", text(&["kind"]), text(&["metadata", "name"]));
        Some(TextWithVariable { object, field, origin: *origin })
    })
}

/// Returns the Namespaces of a file from manifests, by the locations of such objects.
fn written_namespaces(file: &OutputFile, written: &BTreeSet<Origin>) -> Vec<WrittenNamespace> {
    if !file.origins.iter().any(|origin| written.contains(origin)) {
        return Vec::new();
    }
    let tree = yaml::read(&file.text, FileId::default(), &mut Sink::new());
    let objects = tree.documents().zip(file.origins.iter()).filter(|(_, origin)| written.contains(origin));
    let namespace = |(object, origin): (yaml::NodeRef<'_>, &Origin)| WrittenNamespace {
        name: object
            .path(&["metadata", "name"])
            .and_then(yaml::NodeRef::as_str)
            .map_or_else(String::new, str::to_owned),
        origin: *origin,
        keepers: Keepers::of_object(object),
    };
    objects.map(namespace).collect()
}
