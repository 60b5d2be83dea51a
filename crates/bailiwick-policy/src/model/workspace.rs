//! The workspace file, `bailiwick.yaml`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::readers::reader_of_name;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::{NodeRef, Spanned};
use globset::{Glob, GlobSet};
use schemars::JsonSchema;
use serde::Deserialize;

use super::delivery::{DeliveryLinker, check_texts};
use super::severities::{DiagnosticSetting, DiagnosticSettings};
use super::{
    AcceptedObject, AppliedBy, ClusterPodSecurity, CommonMetadata, CommonMetadataSpec, Data, DeclaredNames,
    DeliverySpec, DriftSpec, ExpirySettings, ExpirySpec, Features, GrantRequirement, KnownSpec, Platform,
    PodSecurityStage, RequirementSpec, Target, TargetDeliverySpec, VariableScope, Version, WorkspaceDelivery,
};
use crate::source::{glob, names};

/// The folder of a workspace and the clusters it compiles for. The file is called `bailiwick.yaml`. Its folder is the
/// root of the workspace, and Bailiwick finds it from any folder below.
///
/// `known` lists the names that exist without a policy. A stated category is closed: any other name is an error in a
/// Grant, a Tenancy or an AccessTest. A category without an entry in `known` is open. Names made by policies and
/// manifests are always known, and so are the built-in names of every cluster. A service account is known if its
/// namespace is.
///
/// Policies of one kind can have the same name if no target has both, such as a PodSecurityProfile for Kubernetes and one
/// for OpenShift. A reference to the name is a reference to the policy of the target. A policy that uses the name needs it
/// on each of its own targets.
///
/// Texts of policies can contain variables of the target, of the policy and, in a Tenancy, of the account:
///
/// - `{target.name}`, `{target.version}`, `{target.platform}`, `{target.minor}`, and the `variables` of the target, such
///   as `{target.zone}`
/// - `{policy.kind}` and `{policy.name}`
/// - `{namespace.name}` in a NamespaceSet, in a Tenancy and in a Grant
///
/// `{name?}` leaves out the text without a value. `{{` and `}}` stand for braces. A variable of a Tenancy with one of these
/// names wins over it.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: Workspace
/// metadata:
///   name: example
/// spec:
///   known:
///     users: ["*@example.com"]
///     groups: ["oidc:on-call", {file: access/groups.txt}]
///     namespaces: [flux-system]
///   targets:
///   - name: production
///     version: "1.37"
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WorkspaceSpec {
    /// The folder with the policies. Default: `policies`.
    #[serde(default)]
    pub policies: Option<Spanned<String>>,
    /// The folder with templates that replace built-in templates of the same path. Default: `templates`.
    #[serde(default)]
    pub templates: Option<Spanned<String>>,
    /// The folder the manifests are written to. Default: `out`.
    #[serde(default)]
    pub output: Option<Spanned<String>>,
    /// Globs of the policy files to read, relative to the policy folder. Default: every `.yaml` and `.yml` file.
    #[serde(default)]
    pub include: Vec<Spanned<String>>,
    /// Globs of policy files to leave out.
    #[serde(default)]
    pub exclude: Vec<Spanned<String>>,
    /// Globs of files in the output folder that Bailiwick does not manage and never removes: a `kustomization.yaml`, a
    /// README.
    #[serde(default)]
    pub keep: Vec<Spanned<String>>,
    /// Globs of output files elsewhere in the workspace that are not applied to a cluster, such as `tests/**`: output
    /// of examples and tests. `check` reports any other output file outside the output folder.
    #[serde(default)]
    pub fixtures: Vec<Spanned<String>>,
    /// The severity of diagnostics, by code: `error` (nothing is written), `warning` or `ignore`; for findings of
    /// `lint` also `critical`, `high`, `medium`, `low` or `info`. `warnings: error` applies to all warnings without an
    /// entry of their own. The severity of an error cannot be lowered.
    #[serde(default)]
    pub diagnostics: BTreeMap<String, Spanned<DiagnosticSetting>>,
    /// Labels and annotations of every object, with the objects of Manifests policies.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The days that decide about grants with an expiry date.
    #[serde(default)]
    pub expiry: ExpirySpec,
    /// The fields that grants and accepted warnings need. Default: none. `missing-justification` reports a grant without
    /// them, and `too-long` a last day that is too far off.
    #[serde(default)]
    pub requirements: Vec<Spanned<RequirementSpec>>,
    /// How files are laid out.
    #[serde(default)]
    pub layout: Layout,
    /// The objects of Argo CD and Flux that apply the output. Default: none.
    #[serde(default)]
    pub delivery: Option<Spanned<DeliverySpec>>,
    /// The settings of `bailiwick drift`. Default: no difference is accepted.
    #[serde(default)]
    pub drift: DriftSpec,
    /// In how many namespaces a renamed object makes the run warn of a mass recreate. Default: 100.
    #[serde(default)]
    pub mass_recreate_threshold: Option<usize>,
    /// Names that exist on every target without a policy.
    #[serde(default)]
    pub known: KnownSpec,
    /// The clusters compiled for; each gets a folder of the output.
    #[schemars(length(min = 1))]
    pub targets: Vec<RawTarget>,
}

/// How files are laid out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Layout {
    /// Spreads the files of namespaces over this many folders, by a stable hash of the name; for more than 3,000
    /// namespaces. Default: one folder.
    #[serde(default)]
    #[schemars(range(min = 1, max = 4096))]
    pub shards: Option<Spanned<u32>>,
}

/// A cluster to compile for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RawTarget {
    /// Its name, and the name of its folder in the output.
    pub name: Spanned<String>,
    /// The distribution: `kubernetes` or `openshift`. Default: `kubernetes`.
    #[serde(default)]
    pub platform: Option<Platform>,
    /// The Kubernetes minor such as `"1.21"`, or OpenShift's own version such as `"4.20"`. In quotes: without them
    /// 1.30 is the number 1.3.
    pub version: Spanned<String>,
    /// `stored` (default) writes objects as the API server stores them; `explicit` keeps the zero values of the
    /// templates.
    #[serde(default)]
    pub form: OutputForm,
    /// Features beyond the defaults of the version.
    #[serde(default)]
    pub features: Features,
    /// Values for patterns such as `{target.zone}`.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// The identity that applies the output. `lint` reports the objects it may not write.
    #[serde(default)]
    pub applied_by: Option<AppliedBy>,
    /// A file or folder with the other roles and bindings of the cluster, as `kubectl get -o yaml` prints them.
    /// Default: the roles and bindings that the API server of the version creates.
    #[serde(default)]
    pub baseline: Option<Spanned<String>>,
    /// Names that exist on this target without a policy, in addition to `known` of the workspace.
    #[serde(default)]
    pub known: KnownSpec,
    /// Labels and annotations of every object on this target; they override entries of the workspace.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The configuration of Pod Security admission, as the API server reads it: `defaults` and `exemptions` are no object of the
    /// output, and `lint`, `review`, `explain namespace` and `can-i --admission` evaluate pods by them. `modes` and
    /// `validationActions` are the stage of a rollout. Default: no level for namespaces without labels, no exemption, and
    /// levels and profiles that reject pods.
    #[serde(default)]
    pub pod_security: Option<Spanned<ClusterPodSecurity>>,
    /// False for a target without delivery objects, or settings in place of the settings of `delivery` of the workspace.
    #[serde(default)]
    pub delivery: Option<Spanned<TargetDeliverySpec>>,
}

/// The form of the written objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputForm {
    /// As the API server stores them.
    #[default]
    Stored,
    /// With the zero values written out.
    Explicit,
}

/// The workspace file as written.
#[derive(Debug, Clone)]
pub struct RawWorkspace {
    /// `metadata.name` of the file.
    pub name: String,
    /// The settings of the workspace.
    pub spec: WorkspaceSpec,
}

/// A workspace with checked values.
#[derive(Debug, Clone)]
pub struct WorkspaceSettings {
    /// `metadata.name` of the file.
    pub name: String,
    /// Policy folder, relative to the root.
    pub policies: String,
    /// The place that names the policy folder; none for the default.
    pub policies_named_at: Option<Origin>,
    /// Template folder, relative to the root.
    pub templates: String,
    /// Output folder, relative to the root.
    pub output: String,
    /// Files read as policies; relative to the policy folder.
    pub include: GlobSet,
    /// Files left out; relative to the policy folder.
    pub exclude: GlobSet,
    /// The globs of both, as they are written.
    pub policy_globs: Vec<Spanned<String>>,
    /// Unmanaged files of the output folder, relative to it.
    pub keep: GlobSet,
    /// The same as text.
    pub kept: Vec<String>,
    /// Output files outside the output folder that are not applied, relative to the root.
    pub fixtures: GlobSet,
    /// The same as text.
    pub fixture_globs: Vec<String>,
    /// The severities of diagnostics.
    pub diagnostics: DiagnosticSettings,
    /// The settings for the expiry of grants.
    pub expiry: ExpirySettings,
    /// The fields that grants and accepted warnings need.
    pub requirements: Vec<GrantRequirement>,
    /// Number of folders for the files of namespaces.
    pub shards: Option<u32>,
    /// The delivery objects; none without them.
    pub delivery: Option<WorkspaceDelivery>,
    /// The accepted differences between live clusters and the policies.
    pub accepted_objects: Vec<AcceptedObject>,
    /// In how many namespaces a renamed object counts as a mass recreate.
    pub mass_recreate_threshold: usize,
    /// The clusters compiled for, in the order of the file.
    pub targets: Vec<Target>,
}

impl WorkspaceSettings {
    /// Returns the folders that a run writes: the output folder, and the delivery folder.
    pub fn written_folders(&self) -> impl Iterator<Item = &str> {
        let delivery = self.delivery.as_ref().map(|delivery| delivery.folder.as_str());
        [self.output.as_str()].into_iter().chain(delivery)
    }

    /// Checks a workspace file; `root` is its document, for places.
    pub fn link(raw: RawWorkspace, root: NodeRef<'_>, sink: &mut Sink) -> Option<Self> {
        let RawWorkspace { name, spec } = raw;
        let policies = folder(spec.policies.as_ref(), "policies", sink);
        let templates = folder(spec.templates.as_ref(), "templates", sink);
        let output = folder(spec.output.as_ref(), "out", sink);
        let delivery = spec.delivery.as_ref().map(|delivery| {
            let folder = folder(delivery.folder.as_ref(), "delivery", sink);
            let path = repository_path(delivery, sink);
            WorkspaceDelivery { folder, path }
        });
        let written = WrittenFolders { spec: &spec, output: &output, delivery: delivery.as_ref(), root };
        written.refuse_hidden(sink);
        written.refuse_overlap([&policies, &templates], sink);
        let mut targets: Vec<Target> = Vec::new();
        for raw in &spec.targets {
            if let Some(target) = link_target(raw, sink) {
                if targets.iter().any(|known| known.name == target.name) {
                    sink.push(
                        Diagnostic::error(
                            codes::INVALID_WORKSPACE,
                            format!("the target `{}` exists twice", target.name),
                        )
                        .at(raw.name.origin)
                        .help("use another name: each target has its own folder in the output"),
                    );
                }
                targets.push(target);
            }
        }
        link_common_metadata(root, &mut targets, sink);
        check_shards(&spec, sink);
        if let Some(delivery) = &delivery {
            link_delivery(root, &spec, Linked { name: &name, output: &output, delivery }, &mut targets, sink);
        }
        Some(Self {
            name,
            policies,
            policies_named_at: spec.policies.as_ref().map(|folder| folder.origin),
            templates,
            output,
            include: included(&spec, sink),
            exclude: compiled_globs(&spec.exclude, true, sink),
            policy_globs: spec.include.iter().chain(&spec.exclude).cloned().collect(),
            keep: compiled_globs(&spec.keep, true, sink),
            kept: spec.keep.iter().map(|glob| glob.value.clone()).collect(),
            fixtures: compiled_globs(&spec.fixtures, true, sink),
            fixture_globs: spec.fixtures.iter().map(|glob| glob.value.clone()).collect(),
            diagnostics: DiagnosticSettings::link(&spec.diagnostics, root, sink),
            expiry: ExpirySettings::link(&spec.expiry, sink),
            requirements: GrantRequirement::link_all(&spec.requirements, sink),
            shards: shards(&spec),
            delivery,
            accepted_objects: AcceptedObject::link_all(&spec.drift, &targets, sink),
            mass_recreate_threshold: spec.mass_recreate_threshold.unwrap_or(100),
            targets,
        })
    }
}

/// Returns the globs of the policy files: every file of YAML, unless the workspace lists globs.
fn included(spec: &WorkspaceSpec, sink: &mut Sink) -> GlobSet {
    if !spec.include.is_empty() {
        return compiled_globs(&spec.include, true, sink);
    }
    let globs: Vec<Glob> = ["**/*.yaml", "**/*.yml"].iter().flat_map(|glob| glob::compile(glob, false)).collect();
    glob::set(&globs).unwrap_or_default()
}

/// Reports an invalid number of shards.
fn check_shards(spec: &WorkspaceSpec, sink: &mut Sink) {
    if let Some(shards) = spec.layout.shards
        && !(1..=4096).contains(&shards.value)
    {
        sink.push(
            Diagnostic::error(codes::INVALID_WORKSPACE, "the number of shards must be between 1 and 4096")
                .at(shards.origin)
                .help("use one shard for each 3,000 namespaces"),
        );
    }
}

/// Reads the labels and annotations of every object, for each target.
fn link_common_metadata(root: NodeRef<'_>, targets: &mut [Target], sink: &mut Sink) {
    let Some(spec) = root.get("spec") else { return };
    for target in targets {
        let mut items = spec.get("targets").into_iter().flat_map(NodeRef::items);
        let is_own = |item: &NodeRef<'_>| item.get("name").and_then(NodeRef::as_str) == Some(target.name.as_str());
        if let Some(own) = items.find(is_own) {
            let own_target = std::slice::from_ref(&*target);
            let scope = VariableScope::of_targets(own_target);
            target.common_metadata = CommonMetadata::link(&[spec, own], scope, codes::INVALID_WORKSPACE, sink);
        }
    }
}

/// Returns a folder of the workspace: a relative path other than the root.
fn folder(written: Option<&Spanned<String>>, default: &str, sink: &mut Sink) -> String {
    let Some(written) = written else {
        return default.to_owned();
    };
    let parts: Vec<&str> = written.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if written.starts_with('/') || parts.is_empty() || parts.contains(&"..") || written.contains('\\') {
        sink.push(
            Diagnostic::error(codes::PATH_OUTSIDE, format!("`{}` is not a folder inside the workspace", written.value))
                .at(written.origin)
                .help(format!("use a folder below the root of the workspace, such as `{default}`")),
        );
        return default.to_owned();
    }
    if let Some(shown) = names::escaped(written) {
        sink.push(
            Diagnostic::error(
                codes::HIDDEN_CHARACTER_IN_NAME,
                format!("the folder name `{shown}` contains invisible characters"),
            )
            .at(written.origin)
            .help("rename the folder"),
        );
    }
    parts.join("/")
}

/// The folders that a run writes.
struct WrittenFolders<'w> {
    spec: &'w WorkspaceSpec,
    output: &'w str,
    delivery: Option<&'w WorkspaceDelivery>,
    root: NodeRef<'w>,
}

/// A folder that a run writes.
struct WrittenFolder<'w> {
    path: &'w str,
    /// The description in messages.
    what: &'static str,
    /// The place of the setting; the workspace file without a setting.
    origin: Origin,
}

impl<'w> WrittenFolders<'w> {
    fn iter(&self) -> impl Iterator<Item = WrittenFolder<'w>> {
        let place = |written: Option<&Spanned<String>>| written.map_or(self.root.origin(), |written| written.origin);
        let output =
            WrittenFolder { path: self.output, what: "the output folder", origin: place(self.spec.output.as_ref()) };
        let setting = self.spec.delivery.as_ref().and_then(|delivery| delivery.folder.as_ref());
        let delivery = self.delivery.map(|delivery| WrittenFolder {
            path: &delivery.folder,
            what: "the delivery folder",
            origin: place(setting),
        });
        [output].into_iter().chain(delivery)
    }

    /// Rejects folders with a name that means something: other programs read hidden folders such as `.git` and `.github`,
    /// a shell expands `~`, and Flux leaves out `a.zip`.
    fn refuse_hidden(&self, sink: &mut Sink) {
        for WrittenFolder { path, what, origin } in self.iter() {
            let is_read = |part: &&str| part.starts_with(['.', '~']) || reader_of_name(part).is_some();
            let Some(part) = path.split('/').find(is_read) else { continue };
            let help = match reader_of_name(part).filter(|_| !part.starts_with('.')) {
                Some(reader) => format!("use another name: {reader} gives this one a meaning"),
                None => "use a name that does not begin with `.` or `~`: other programs read such folders".to_owned(),
            };
            sink.push(
                Diagnostic::error(codes::INVALID_WORKSPACE, format!("{what} `{path}` is in `{part}`"))
                    .at(origin)
                    .help(help),
            );
        }
    }

    /// Rejects overlapping folders: output inside the policies would be read as policy, and policies inside the output
    /// would be deleted.
    fn refuse_overlap(&self, [policies, templates]: [&str; 2], sink: &mut Sink) {
        let baselines = self.spec.targets.iter().filter_map(|target| target.baseline.as_ref());
        let baselines = baselines.map(|baseline| (baseline.as_str(), "the baseline"));
        let folders = [(policies, "the folder of the policies"), (templates, "the folder of the templates")];
        let read: Vec<(&str, &str)> = folders.into_iter().chain(baselines).collect();
        let mut others = read;
        for WrittenFolder { path, what, origin } in self.iter() {
            for (other, other_what) in
                others.iter().filter(|(other, _)| is_inside(path, other) || is_inside(other, path))
            {
                let message = format!("{what} `{path}` and {other_what} `{other}` overlap");
                let help = "use a separate folder for the output: the program can overwrite or remove every file in it";
                sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(origin).help(help));
            }
            others.push((path, what));
        }
    }
}

/// Whether a folder is another one or is in it. Some file systems take both cases for one.
fn is_inside(inner: &str, outer: &str) -> bool {
    let (inner, outer) = (inner.to_lowercase(), outer.to_lowercase());
    inner == outer || inner.starts_with(&format!("{outer}/"))
}

/// Returns the path of the workspace in its repository, empty for the root.
fn repository_path(delivery: &DeliverySpec, sink: &mut Sink) -> Spanned<String> {
    let Some(written) = &delivery.path else { return Spanned::new(String::new(), Origin::default()) };
    let is_root = written.split('/').all(|part| part.is_empty() || part == ".") && !written.starts_with('/');
    let path = if is_root { String::new() } else { folder(Some(written), "infra/access", sink) };
    Spanned::new(path, written.origin)
}

/// Returns the number of folders for the files of namespaces.
fn shards(spec: &WorkspaceSpec) -> Option<u32> {
    spec.layout.shards.map(|shards| shards.value.clamp(1, 4096))
}

/// The linked parts of a workspace that its delivery objects depend on.
struct Linked<'l> {
    name: &'l str,
    output: &'l str,
    delivery: &'l WorkspaceDelivery,
}

/// Gives each target its delivery.
fn link_delivery(root: NodeRef<'_>, spec: &WorkspaceSpec, linked: Linked<'_>, targets: &mut [Target], sink: &mut Sink) {
    let Some(settings) = &spec.delivery else { return };
    let is_fine = root.path(&["spec", "delivery"]).is_none_or(|node| check_texts(node, targets, sink));
    let own =
        root.path(&["spec", "targets"]).into_iter().flat_map(NodeRef::items).filter_map(|item| item.get("delivery"));
    if !own.map(|node| check_texts(node, targets, sink)).fold(is_fine, |all, one| all && one) {
        return;
    }
    if settings.argocd.is_none() && settings.flux.is_none() {
        let message = "`delivery` has neither `argocd` nor `flux`";
        let help = "add the applier of the output: `argocd` or `flux`";
        sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(settings.origin).help(help));
    }
    let linker = DeliveryLinker {
        spec: settings,
        path: &linked.delivery.path,
        workspace: linked.name,
        output: linked.output,
        shards: shards(spec),
        origin: settings.origin,
    };
    for target in targets {
        let own = spec.targets.iter().find(|raw| raw.name.value == target.name).and_then(|raw| raw.delivery.as_ref());
        target.delivery = linker.link(target, own, sink).map(Arc::new);
    }
}

/// Compiles globs of paths, or of names without folders. Reports an invalid glob.
pub(super) fn compiled_globs(written: &[Spanned<String>], is_of_paths: bool, sink: &mut Sink) -> GlobSet {
    let mut globs = Vec::with_capacity(written.len());
    let matched = if is_of_paths { "a part of a name, `**` folders" } else { "any text" };
    for text in written {
        match glob::compile(text, is_of_paths) {
            Ok(glob) => globs.push(glob),
            Err(error) => sink.push(
                Diagnostic::error(codes::INVALID_WORKSPACE, format!("`{}` is not a glob: {error}", text.value))
                    .at(text.origin)
                    .help(format!("`*` matches {matched}; close every `[` and `{{`")),
            ),
        }
    }
    glob::set(&globs).unwrap_or_else(|error| {
        let error = Diagnostic::error(codes::INVALID_WORKSPACE, error.to_string());
        sink.push(written.iter().take(1).fold(error, |error, first| error.at(first.origin)));
        GlobSet::empty()
    })
}

/// Reports features that do not exist in the version of the cluster.
fn refuse_unknown_features(raw: &RawTarget, platform: Platform, version: Version, sink: &mut Sink) {
    let minor = version.minor();
    let mut refuse = |feature: &str, message: String| {
        sink.push(
            Diagnostic::error(codes::INVALID_WORKSPACE, message)
                .at(raw.name.origin)
                .help(format!("remove `{feature}` from the `features` of this target")),
        );
    };
    if raw.features.mutating_admission_policy == Some(true) && minor < 34 {
        let message = format!("Kubernetes {version} has no MutatingAdmissionPolicy; it needs 1.34");
        refuse("mutatingAdmissionPolicy", message);
    }
    let has_policies = platform == Platform::Kubernetes && minor <= 24;
    if raw.features.pod_security_policy == Some(true) && !has_policies {
        refuse("podSecurityPolicy", format!("the target `{}` cannot have PodSecurityPolicy", raw.name.value));
    }
    if platform == Platform::Kubernetes && raw.features.pod_security_label_sync.is_some() {
        refuse("podSecurityLabelSync", "only OpenShift synchronises Pod Security labels".to_owned());
    }
}

/// Whether a text can be the name of a target, which is a folder of the output.
fn names_target(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 63
        && name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        && name
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '-' | '.'))
        && reader_of_name(name).is_none()
}

fn link_target(raw: &RawTarget, sink: &mut Sink) -> Option<Target> {
    let platform = raw.platform.unwrap_or(Platform::Kubernetes);
    if !names_target(&raw.name) {
        sink.push(
            Diagnostic::error(
                codes::INVALID_WORKSPACE,
                format!("`{}` is not a valid name of a target", raw.name.value),
            )
            .at(raw.name.origin)
            .help("use at most 63 lower case letters, digits, `-` and `.`, and no name with a meaning to an applier such as `a.zip`: the target is a folder of the output"),
        );
        return None;
    }
    let Some(version) = Version::parse(platform, &raw.version) else {
        let example = match platform {
            Platform::Kubernetes => "\"1.30\"",
            Platform::Openshift => "\"4.20\"",
        };
        sink.push(
            Diagnostic::error(codes::INVALID_WORKSPACE, format!("`{}` is not a version", raw.version.value))
                .at(raw.version.origin)
                .help(format!("write major and minor, such as {example}")),
        );
        return None;
    };
    if let Some(warning) = version.warning() {
        sink.push(warning.at(raw.version.origin));
    }
    if !Version::KNOWN.contains(&version.minor()) {
        sink.push(
            Diagnostic::error(codes::INVALID_WORKSPACE, format!("Kubernetes {version} is not known"))
                .at(raw.version.origin)
                .help(format!("use a version from 1.{} to 1.{}", Version::KNOWN.start(), Version::KNOWN.end())),
        );
        return None;
    }
    refuse_unknown_features(raw, platform, version, sink);
    Some(Target {
        name: raw.name.value.clone(),
        platform,
        version,
        explicit: raw.form == OutputForm::Explicit,
        features: raw.features.clone(),
        variables: raw.variables.iter().map(|(name, value)| (name.clone(), Data::text(value.as_str()))).collect(),
        applied_by: raw.applied_by.clone(),
        baseline: raw
            .baseline
            .as_ref()
            .map(|path| Spanned { value: folder(Some(path), "baseline", sink), origin: path.origin }),
        known: DeclaredNames::default(),
        common_metadata: CommonMetadata::default(),
        pod_security: ClusterPodSecurity::link(raw.pod_security.as_ref(), platform, version, sink),
        pod_security_stage: PodSecurityStage::link(raw.pod_security.as_ref(), platform, version, sink),
        delivery: None,
    })
}
