//! `bailiwick explain namespace`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::super::can_i::AnswerForm;
use super::super::printing::refuse_usage;
use super::super::workspaces::{tell, with_targets};
use super::super::{Global, Outcome};
use super::Arguments;
use crate::access::Identity;
use crate::access::world::account_user;
use crate::admission::psp::PodSecurityPolicy;
use crate::admission::psp::mapping::{Reading, map};
use crate::admission::psp::select::usable;
use crate::admission::standards::labels::{Mode, Policy};
use crate::app::loaded_world::{each_object, load_target_seen};
use crate::app::{Error, LoadedWorld, Workspace, WorldOptions};
use crate::compile;
use crate::diag::{Origin, RunError, Sink, nearest};
use crate::k8s::list;
use crate::model::{DeclaredProfile, Enforcement, PodSecurityProfile, Target};
use crate::report::access::place_text;
use crate::report::page::Page;
use crate::report::{json, pod_security};
use crate::yaml::NodeRef;

/// Tells what pods of a namespace are held to on each target, and why.
pub(super) fn explain(global: &Global, arguments: &Arguments, name: &str) -> Result<Outcome, Error> {
    if !arguments.from.is_empty() {
        let help = "leave out --from; `bailiwick ask` answers `namespace-labels` about any objects";
        return Ok(refuse_usage(global, "namespaces are explained from the workspace", help));
    }
    with_targets(global, &arguments.targets, |workspace, targets| {
        let mut found = false;
        let mut known: Vec<String> = Vec::new();
        for target in targets {
            let mut sink = Sink::new();
            let labels = compile::labels(&workspace.project, target, workspace.options.compiler(), &mut sink)?;
            if labels.is_some() && tell(global, workspace.diagnostics(sink)) == Outcome::Invalid {
                return Ok(Outcome::Invalid);
            }
            let explained = match labels {
                Some(labels) => {
                    let world = labels.world();
                    known.extend(world.namespaces().map(str::to_owned));
                    let told = match arguments.format {
                        AnswerForm::Text => pod_security::synced(world, name, &workspace.project.files),
                        AnswerForm::Json => pod_security::synced_json(world, name, &workspace.project.files)
                            .map(|json| with_target(json, target)),
                    };
                    told.map_or(Explained::NotThere, Explained::Fully)
                }
                None => plain((global, workspace), target, name, arguments.format, &mut known)?,
            };
            match explained {
                Explained::Fully(told) => {
                    found = true;
                    let is_text = arguments.format == AnswerForm::Text;
                    let heading = if is_text { format!("# {}\n", target.name) } else { String::new() };
                    global.terminal().result(&format!("{heading}{told}"));
                }
                Explained::NotThere => {}
                Explained::Invalid => return Ok(Outcome::Invalid),
            }
        }
        if found {
            return Ok(Outcome::Fine);
        }
        let help = nearest(name, known.iter().map(String::as_str)).map_or_else(
            || "only namespaces that are compiled are explained".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        Ok(refuse_usage(global, format!("there is no namespace `{name}`"), help))
    })
}

fn with_target(mut json: serde_json::Value, target: &Target) -> String {
    if let Some(map) = json.as_object_mut() {
        map.insert("target".to_owned(), target.name.as_str().into());
    }
    json::line(&json)
}

/// The explanation of a namespace on one target.
enum Explained {
    Fully(String),
    NotThere,
    /// The target cannot be compiled; the reasons are printed.
    Invalid,
}

/// The objects of a target that decide about the pods of a namespace.
#[derive(Default)]
struct Seen {
    /// The labels of the namespace, with its place.
    namespace: Option<(BTreeMap<String, String>, Origin)>,
    /// The PodSecurityPolicies.
    policies: Vec<PodSecurityPolicy>,
    /// The service accounts of the namespace.
    accounts: BTreeSet<String>,
}

impl Seen {
    fn note_namespace(&mut self, object: NodeRef<'_>, place: Origin, name: &str, known: &mut Vec<String>) {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
        if text(&["kind"]) != "Namespace" {
            return;
        }
        known.push(text(&["metadata", "name"]).to_owned());
        if text(&["metadata", "name"]) == name {
            let labels = object.path(&["metadata", "labels"]).into_iter().flat_map(NodeRef::entries);
            let labels = labels.filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned())));
            self.namespace = Some((labels.collect(), place));
        }
    }

    fn note_policy(&mut self, object: NodeRef<'_>, name: &str) {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
        match text(&["kind"]) {
            "PodSecurityPolicy" => self.policies.extend(PodSecurityPolicy::read(object)),
            "ServiceAccount" if text(&["metadata", "namespace"]) == name => {
                self.accounts.insert(text(&["metadata", "name"]).to_owned());
            }
            _ => {}
        }
    }
}

/// A namespace of plain Kubernetes: its labels, and its profile.
fn plain(
    (global, workspace): (&Global, &Workspace),
    target: &Target,
    name: &str,
    format: AnswerForm,
    known: &mut Vec<String>,
) -> Result<Explained, RunError> {
    let mut seen = Seen { accounts: BTreeSet::from(["default".to_owned()]), ..Seen::default() };
    let has_policies = target.enforcement() == Enforcement::PodSecurityPolicy;
    if has_policies {
        for document in workspace.project.analyzed_documents(target) {
            list::objects(document).into_iter().for_each(|object| seen.note_policy(object, name));
        }
    }
    let mut sink = Sink::new();
    let mut see = |object: NodeRef<'_>, place: Origin| {
        seen.note_namespace(object, place, name, known);
        seen.note_policy(object, name);
    };
    let loaded = if has_policies {
        load_target_seen(workspace, target, &WorldOptions::default(), &mut see, &mut sink)?
    } else {
        each_object(workspace, target, &mut sink, &mut see)?;
        None
    };
    if tell(global, workspace.diagnostics(sink)) == Outcome::Invalid {
        return Ok(Explained::Invalid);
    }
    let Some((labels, place)) = std::mem::take(&mut seen.namespace) else { return Ok(Explained::NotThere) };
    let place = place_text(place, &workspace.project.files);
    if let Some(loaded) = loaded {
        return Ok(Explained::Fully(match policies(&loaded, &seen, name, format) {
            Told::Text(text) => {
                let mut page = Page::new();
                writeln!(page, "namespace `{name}` on Kubernetes {} ({place})", target.version);
                page.append(&text);
                page.finish()
            }
            Told::Json(json) => with_target(json!({ "namespace": name, "place": place, "accounts": json }), target),
        }));
    }
    let (policy, _) = Policy::UPSTREAM.of(&labels);
    let is_profile = |wanted: &&String| {
        let mut declared = workspace.project.facts.on(&target.name);
        declared.any(|declared: &DeclaredProfile| declared.profile.name() == wanted.as_str())
    };
    let holds = target.enforcement() == Enforcement::AdmissionPolicy;
    let profile = labels.get(PodSecurityProfile::LABEL).filter(|name| holds && is_profile(name));
    if format == AnswerForm::Json {
        let modes: serde_json::Map<String, serde_json::Value> =
            Mode::ALL.iter().map(|mode| (mode.name().to_owned(), policy.get(*mode).to_string().into())).collect();
        let json = json!({ "namespace": name, "place": place, "profile": profile, "levels": modes });
        return Ok(Explained::Fully(with_target(json, target)));
    }
    let mut text = Page::new();
    match target.version.release() {
        Some(release) => writeln!(
            text,
            "namespace `{name}` on OpenShift {release}, which leaves Pod Security labels alone ({place})"
        ),
        None => writeln!(text, "namespace `{name}` on Kubernetes {} ({place})", target.version),
    }
    for mode in Mode::ALL {
        writeln!(text, "  {}: `{}`", mode.name(), policy.get(mode));
    }
    match profile {
        Some(profile) => {
            writeln!(text, "  every pod is held to the PodSecurityProfile `{profile}` by its admission policy");
        }
        None if target.version.release().is_some() => {}
        None => text.push_str("  no PodSecurityProfile\n"),
    }
    Ok(Explained::Fully(text.finish()))
}

/// The facts about PodSecurityPolicies that both output formats print.
enum Told {
    Text(String),
    Json(serde_json::Value),
}

/// Returns the PodSecurityPolicies that each service account of a namespace may use, in the order in which admission tries
/// them, with the level from the mapping of Kubernetes' documentation.
fn policies(loaded: &LoadedWorld, seen: &Seen, name: &str, format: AnswerForm) -> Told {
    let known = &seen.policies;
    let mut text = Page::new();
    let mut json = serde_json::Map::new();
    for account in &seen.accounts {
        let who = Identity::of(&account_user(name, account));
        let usable = usable(&loaded.world, &who, name, known);
        writeln!(text, "  service account `{account}` may use {} of {} PodSecurityPolicies", usable.len(), known.len());
        let mut told = Vec::new();
        for policy in usable {
            let [practical, table, ignored] = Reading::ALL.map(|reading| map(policy, reading));
            let fields: Vec<&str> = practical.deciding().map(|field| field.field).collect();
            let by = if fields.is_empty() { String::new() } else { format!(" by {}", fields.join(", ")) };
            let otherwise = if ignored.level == practical.level {
                String::new()
            } else {
                format!("; `{}` where SELinux is not counted", ignored.level)
            };
            writeln!(text, "    `{}`: `{}`{by}{otherwise}", policy.name(), practical.level);
            told.push(json!({
                "policy": policy.name(),
                "levels": {
                    "practical": practical.level.name(),
                    "table": table.level.name(),
                    "seLinuxIgnored": ignored.level.name(),
                },
                "fields": fields,
            }));
        }
        json.insert(account.clone(), told.into());
    }
    if format == AnswerForm::Text { Told::Text(text.finish()) } else { Told::Json(json.into()) }
}
