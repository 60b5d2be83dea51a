//! How the output of a target gets into its cluster: the settings of the objects of Argo CD and Flux.

use std::collections::BTreeMap;
use std::fmt;

use bailiwick_codes as codes;
use bailiwick_kubernetes::appliers::{FLUX_FORCE, FLUX_PRUNE, SYNC_OPTIONS};
use bailiwick_kubernetes::names::{Grammar, LABEL_LENGTH, dns_label, dns_subdomain};
use bailiwick_kubernetes::readers;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::{NodeRef, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Fill, Pattern, Target, VariableScope, check_patterns};
use crate::source::names::escaped;

/// The most objects of one application. An Application of Argo CD holds about 735 bytes of status for each object, and etcd
/// refuses objects above 1.5 MiB. Flux builds a Kustomization in quadratic time.
pub const MOST_OBJECTS: u32 = 1500;

/// The objects of one application, unless the workspace sets another number.
const USUAL_OBJECTS: u32 = 1000;

/// The objects of Argo CD and Flux that apply the output: one Application or Kustomization for each folder of a target.
/// They are written to a folder beside the output.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DeliverySpec {
    /// The folder of the delivery objects, beside the output folder. Default: `delivery`.
    #[serde(default)]
    pub folder: Option<Spanned<String>>,
    /// The URL of the repository with the output, as Argo CD reads it.
    #[serde(rename = "repoURL", default)]
    pub repo_url: Option<Spanned<String>>,
    /// The branch, tag or commit for Argo CD.
    #[serde(default)]
    pub revision: Option<Spanned<String>>,
    /// The folder of the workspace in the repository. Default: the root of the repository.
    #[serde(default)]
    pub path: Option<Spanned<String>>,
    /// The fate of a Namespace in the cluster after its removal from the policies. Default: `keep`.
    #[serde(default)]
    pub on_removal: OnRemoval,
    /// The most objects of one application, up to 1500. `lint` reports a folder with more objects. Default: 1000.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1500))]
    pub objects: Option<Spanned<u32>>,
    /// Whether the appliers delete objects after their removal from the output. False while files move between folders: see
    /// `bailiwick migrate shards`. Default: true.
    #[serde(default)]
    pub prune: Option<bool>,
    /// The objects of Argo CD. Default: none.
    #[serde(default)]
    pub argocd: Option<Spanned<ArgocdSpec>>,
    /// The objects of Flux. Default: none.
    #[serde(default)]
    pub flux: Option<Spanned<FluxSpec>>,
}

/// The fate of a Namespace in the cluster after its removal from the policies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnRemoval {
    /// The Namespace stays, and everything of others in it. The objects of the policies in it are deleted.
    #[default]
    Keep,
    /// Argo CD waits for the approval of a person. Flux has no approval and keeps the Namespace.
    Confirm,
    /// The Namespace is deleted with everything in it.
    Delete,
}

impl OnRemoval {
    /// Returns the value in `bailiwick.yaml`.
    pub fn as_str(self) -> &'static str {
        match self {
            OnRemoval::Keep => "keep",
            OnRemoval::Confirm => "confirm",
            OnRemoval::Delete => "delete",
        }
    }
}

/// The objects of Argo CD. Texts can name variables of the target, such as `{target.name}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArgocdSpec {
    /// The namespace of the Applications. Default: `argocd`.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The AppProject of the Applications. Default: `default`.
    #[serde(default)]
    pub project: Option<String>,
    /// `Application` (default) writes one Application for each folder; `ApplicationSet` writes one ApplicationSet for each
    /// target.
    #[serde(default)]
    pub form: ArgocdForm,
    /// The cluster of a target.
    pub destination: DestinationSpec,
}

/// The kind of the objects of Argo CD.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum ArgocdForm {
    /// One Application for each folder.
    #[default]
    Application,
    /// One ApplicationSet for each target.
    ApplicationSet,
}

/// A cluster, as Argo CD names it: by `name` or by `server`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DestinationSpec {
    /// The name of the cluster in Argo CD.
    #[serde(default)]
    pub name: Option<String>,
    /// The URL of the API server.
    #[serde(default)]
    pub server: Option<String>,
}

/// The objects of Flux. Texts can name variables of the target, such as `{target.name}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FluxSpec {
    /// The namespace of the Kustomizations. Default: `flux-system`.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The source with the repository of the output.
    pub source_ref: SourceRefSpec,
    /// The service account of Flux for applying the output. `appliedBy` of the target names the same account. Default: the
    /// account of the controller.
    #[serde(default)]
    pub service_account_name: Option<String>,
    /// The name of the Secret with the kubeconfig of a remote cluster. Default: the cluster of Flux.
    #[serde(default)]
    pub kube_config: Option<String>,
}

/// A source of Flux.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SourceRefSpec {
    /// The kind of the source. Default: `GitRepository`.
    #[serde(default)]
    pub kind: FluxSourceKind,
    /// Its name in the namespace.
    pub name: String,
    /// The namespace of the source. Default: the namespace of the Kustomizations.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// The kinds from which Flux reads manifests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum FluxSourceKind {
    /// Cloned with git.
    #[default]
    GitRepository,
    /// An artifact of a registry.
    #[serde(rename = "OCIRepository")]
    OciRepository,
    /// A bucket of an object store.
    Bucket,
}

impl FluxSourceKind {
    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::GitRepository => "GitRepository",
            Self::OciRepository => "OCIRepository",
            Self::Bucket => "Bucket",
        }
    }
}

/// The delivery of one target: `false` for none, or settings in place of the settings of the workspace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TargetDeliverySpec {
    /// Whether the target has delivery objects.
    Enabled(bool),
    /// In place of fields of the workspace.
    Settings(TargetDeliverySettings),
}

/// Settings of a target in place of the settings of the workspace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetDeliverySettings {
    /// The cluster of the target in Argo CD.
    #[serde(default)]
    pub destination: Option<DestinationSpec>,
    /// The service account of Flux for applying the output.
    #[serde(default)]
    pub service_account_name: Option<String>,
    /// The name of the Secret with the kubeconfig of the target.
    #[serde(default)]
    pub kube_config: Option<String>,
}

/// The folder of the delivery objects, and the place of the output for the appliers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceDelivery {
    /// The folder of the delivery objects, relative to the root of the workspace.
    pub folder: String,
    /// The folder of the workspace in the repository, and the place of the setting; empty for the root.
    pub path: Spanned<String>,
}

/// The delivery of the output of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetDelivery {
    /// The name of the object for the whole target, and the beginning of the names of the objects for its folders.
    pub name: String,
    /// The folder of the target in the repository, without a slash at its ends.
    pub path: String,
    /// The fate of a Namespace without a setting of its own.
    pub on_removal: OnRemoval,
    /// The most objects of one application.
    pub objects: u32,
    /// The place of this number; the place of all settings without it.
    pub objects_origin: Origin,
    /// Whether the appliers delete objects after their removal from the output.
    pub prune: bool,
    /// The objects of Argo CD; none without Argo CD.
    pub argocd: Option<ArgocdDelivery>,
    /// The objects of Flux; none without Flux.
    pub flux: Option<FluxDelivery>,
}

/// The settings of the objects of Argo CD for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgocdDelivery {
    /// The namespace of the objects.
    pub namespace: String,
    /// The AppProject.
    pub project: String,
    /// The kind of the objects.
    pub form: ArgocdForm,
    /// The cluster.
    pub destination: Destination,
    /// The URL of the repository.
    pub repo_url: String,
    /// The branch, tag or commit.
    pub revision: String,
}

/// A cluster of Argo CD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// By its name in Argo CD.
    Name(String),
    /// By the URL of its API server.
    Server(String),
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Server(server) => formatter.write_str(server),
        }
    }
}

/// The settings of the objects of Flux for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FluxDelivery {
    /// The namespace of the Kustomizations.
    pub namespace: String,
    /// The kind, such as GitRepository.
    pub source_kind: FluxSourceKind,
    /// The name of the source.
    pub source: String,
    /// The namespace of the source, if it is another one.
    pub source_namespace: Option<String>,
    /// The service account for applying the output.
    pub service_account: Option<String>,
    /// The Secret with the kubeconfig of a remote cluster.
    pub kube_config: Option<String>,
}

impl TargetDelivery {
    /// Returns the annotations of a Namespace for its removal from the policies, by key. Both appliers read them from the
    /// object in the cluster.
    pub fn removal_annotations(&self, on_removal: Option<OnRemoval>) -> BTreeMap<String, String> {
        let (argocd, flux) = match on_removal.map_or(self.on_removal, |own| own) {
            OnRemoval::Keep => ("Delete=false,Prune=false", "disabled"),
            OnRemoval::Confirm => ("Delete=confirm,Prune=confirm", "disabled"),
            OnRemoval::Delete => return BTreeMap::new(),
        };
        let argocd = self.argocd.iter().map(|_| (SYNC_OPTIONS.to_owned(), argocd.to_owned()));
        let flux = self.flux.iter().map(|_| (FLUX_PRUNE.to_owned(), flux.to_owned()));
        argocd.chain(flux).collect()
    }

    /// Returns the annotations of a binding whose role can change under the same name, by key: the API server refuses
    /// another `roleRef`, so that Flux has to delete the binding and create it.
    ///
    /// Argo CD applies RBAC as `kubectl auth reconcile` does, which creates such a binding anew without an annotation
    /// (`pkg/utils/kube/resource_ops.go` of gitops-engine). With `Force=true,Replace=true` its first attempt fails, because
    /// the binding is there already.
    pub fn recreation_annotations(&self) -> BTreeMap<String, String> {
        self.flux.iter().map(|_| (FLUX_FORCE.to_owned(), "enabled".to_owned())).collect()
    }
}

/// Checks the settings of a workspace and of a target, and gives the target its delivery.
pub(super) struct DeliveryLinker<'l> {
    /// The settings of the workspace.
    pub(super) spec: &'l DeliverySpec,
    /// The path of the workspace in the repository.
    pub(super) path: &'l str,
    /// The name of the workspace.
    pub(super) workspace: &'l str,
    /// The output folder.
    pub(super) output: &'l str,
    /// The number of folders for the files of namespaces.
    pub(super) shards: Option<u32>,
    /// The place of the settings.
    pub(super) origin: Origin,
}

impl DeliveryLinker<'_> {
    /// Returns the delivery of a target; none if the target has none, or a setting is invalid.
    pub(super) fn link(
        &self,
        target: &Target,
        own: Option<&Spanned<TargetDeliverySpec>>,
        sink: &mut Sink,
    ) -> Option<TargetDelivery> {
        let before = sink.len();
        let own = match own.map(|own| &own.value) {
            Some(TargetDeliverySpec::Enabled(false)) => return None,
            Some(TargetDeliverySpec::Settings(settings)) => Some(settings),
            Some(TargetDeliverySpec::Enabled(true)) | None => None,
        };
        let mut texts = Texts { target, origin: self.origin, sink };
        let path = [self.path, self.output, &target.name].join("/");
        let delivery = TargetDelivery {
            name: format!("{}-{}", self.workspace, target.name),
            path: path.trim_start_matches('/').to_owned(),
            on_removal: self.spec.on_removal,
            objects: self.spec.objects.as_ref().map_or(USUAL_OBJECTS, |objects| objects.value),
            objects_origin: self.spec.objects.as_ref().map_or(self.origin, |objects| objects.origin),
            prune: self.spec.prune != Some(false),
            argocd: self.spec.argocd.as_ref().map(|argocd| self.argocd(argocd, own, &mut texts)),
            flux: self.spec.flux.as_ref().map(|flux| self.flux(flux, own, &mut texts)),
        };
        self.check_names(&delivery, sink);
        self.check_applier(&delivery, target, sink);
        (sink.len() == before).then_some(delivery)
    }

    fn argocd(
        &self,
        spec: &Spanned<ArgocdSpec>,
        own: Option<&TargetDeliverySettings>,
        texts: &mut Texts<'_, '_>,
    ) -> ArgocdDelivery {
        texts.origin = spec.origin;
        let written = own.and_then(|own| own.destination.as_ref()).map_or(&spec.destination, |own| own);
        let destination = match (&written.name, &written.server) {
            (Some(name), None) => Destination::Name(texts.fill("destination.name", name)),
            (None, Some(server)) => Destination::Server(texts.fill("destination.server", server)),
            _ => {
                texts.refuse("a destination has either a `name` or a `server`", "remove one of the two");
                Destination::Name(String::new())
            }
        };
        let mut required = |name: &str, text: &Option<Spanned<String>>| match text {
            Some(text) => texts.fill(name, text),
            None => {
                texts.refuse(&format!("Argo CD needs `{name}`"), &format!("add `{name}` to `spec.delivery`"));
                String::new()
            }
        };
        ArgocdDelivery {
            repo_url: required("repoURL", &self.spec.repo_url),
            revision: required("revision", &self.spec.revision),
            namespace: texts.name("namespace", or_usual(spec.namespace.as_ref(), "argocd"), dns_label),
            project: texts.name("project", or_usual(spec.project.as_ref(), "default"), dns_subdomain),
            form: spec.form,
            destination,
        }
    }

    fn flux(
        &self,
        spec: &Spanned<FluxSpec>,
        own: Option<&TargetDeliverySettings>,
        texts: &mut Texts<'_, '_>,
    ) -> FluxDelivery {
        texts.origin = spec.origin;
        let account = own.and_then(|own| own.service_account_name.as_ref()).or(spec.service_account_name.as_ref());
        let kube_config = own.and_then(|own| own.kube_config.as_ref()).or(spec.kube_config.as_ref());
        let SourceRefSpec { kind, name, namespace } = &spec.source_ref;
        FluxDelivery {
            namespace: texts.name("namespace", or_usual(spec.namespace.as_ref(), "flux-system"), dns_label),
            source_kind: *kind,
            source: texts.name("sourceRef.name", name, dns_subdomain),
            source_namespace: namespace.as_ref().map(|name| texts.name("sourceRef.namespace", name, dns_label)),
            service_account: account.map(|name| texts.name("serviceAccountName", name, dns_subdomain)),
            kube_config: kube_config.map(|name| texts.name("kubeConfig", name, dns_subdomain)),
        }
    }

    /// Checks the longest name of the objects.
    fn check_names(&self, delivery: &TargetDelivery, sink: &mut Sink) {
        let longest = match self.shards {
            Some(shards) => format!("{}-namespaces-{:02}", delivery.name, shards.saturating_sub(1)),
            None => delivery.name.clone(),
        };
        let problem = match dns_subdomain(&longest) {
            Err(reasons) => reasons.iter().next().map(str::to_owned),
            Ok(()) if delivery.flux.is_some() && longest.len() > LABEL_LENGTH => {
                Some("Flux labels each object with it: it must be no more than 63 characters".to_owned())
            }
            Ok(()) => None,
        };
        if let Some(problem) = problem {
            let message = format!("`{longest}` cannot name a delivery object: {problem}");
            let help = "use shorter names of lower case letters, digits and `-` for the workspace and the target";
            sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(self.origin).help(help));
        }
    }

    /// Compares the service account of Flux with the identity that applies the output.
    fn check_applier(&self, delivery: &TargetDelivery, target: &Target, sink: &mut Sink) {
        let Some(flux) = &delivery.flux else { return };
        let (Some(account), Some(applier)) = (&flux.service_account, &target.applied_by) else { return };
        let user = format!("system:serviceaccount:{}:{account}", flux.namespace);
        if applier.user != user {
            let message = format!(
                "Flux applies the output of the target `{}` as `{user}`, and `appliedBy` names `{}`",
                target.name, applier.user
            );
            let help = format!(
                "write `appliedBy: {{user: \"{user}\"}}`, so that `lint` checks the permissions of the account"
            );
            sink.push(Diagnostic::error(codes::DELIVERY_APPLIER, message).at(self.origin).help(help));
        }
    }
}

/// The texts of the settings, filled in for a target.
struct Texts<'t, 's> {
    target: &'t Target,
    origin: Origin,
    sink: &'s mut Sink,
}

impl Texts<'_, '_> {
    /// Returns a text with the variables of the target. Reports an empty text, white space, and the braces of templates:
    /// an ApplicationSet would evaluate them.
    fn fill(&mut self, field: &str, text: &str) -> String {
        let filled = Pattern::parse_checked(text).fill(Fill::from_target(self.target)).to_string();
        let is_hidden = |letter: char| letter.is_whitespace() || letter.is_control();
        if filled.is_empty() || filled.contains(is_hidden) || filled.contains("{{") {
            let shown = match escaped(&filled) {
                Some(shown) => shown,
                None => filled.clone(),
            };
            let message = format!("`{shown}` is not a value of `{field}`");
            self.refuse(&message, "use a text without white space and without `{{`");
        }
        if let Some(problem) = readers::text_problem(&filled) {
            self.refuse(&problem, "use another text");
        }
        filled
    }

    /// Returns a name with the variables of the target. Reports an invalid name.
    fn name(&mut self, field: &str, text: &str, is_valid: Grammar) -> String {
        let filled = self.fill(field, text);
        if !filled.is_empty() && is_valid(&filled).is_err() {
            self.refuse(
                &format!("`{filled}` is not a value of `{field}`"),
                "use lower case letters, digits and `-`, with a letter or digit at both ends",
            );
        }
        filled
    }

    fn refuse(&mut self, message: &str, help: &str) {
        self.sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(self.origin).help(help));
    }
}

/// Returns the written value, or the usual one.
fn or_usual<'t>(written: Option<&'t String>, usual: &'t str) -> &'t str {
    written.map_or(usual, String::as_str)
}

/// Reports invalid patterns in the settings; false after an error.
pub(super) fn check_texts(delivery: NodeRef<'_>, targets: &[Target], sink: &mut Sink) -> bool {
    let before = sink.len();
    let none = super::Variables::new();
    let scope = VariableScope { accounts: Some(&none), ..VariableScope::of_targets(targets) };
    check_patterns(delivery, scope, sink);
    sink.len() == before
}
