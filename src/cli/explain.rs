//! `bailiwick explain`.

mod namespace;
mod output;
mod stacks;

use crate::codes;
use clap::Args;

use super::can_i::{AnswerForm, refuse_nobody, word};
use super::printing::{print, refuse, refuse_usage};
use super::question::IdentityArguments;
use super::worlds::with_worlds;
use super::{Global, Outcome, pages};
use crate::access::{Identity, World, risk as catalogue};
use crate::app::loaded_world::version_of;
use crate::app::{Error, LoadedWorld, RequestOptions, Workspace, WorldOptions};
use crate::diag::{Diagnostic, Files, Sink, nearest};
use crate::k8s::catalogue::{FIRST_MINOR, LAST_MINOR};
use crate::k8s::default_policy;
use crate::kinds;
use crate::report::access::{self, Told};
use crate::report::page::Page;
use crate::report::{risk, worlds};
use crate::yaml;

/// Options of `explain`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A policy kind (`Tenancy`), a diagnostic (`duplicate-yaml-key`), an object (`ClusterRole/view`,
    /// `RoleBinding/NAMESPACE/NAME`), a subject (`User/alice`, `ServiceAccount/NAMESPACE/NAME`), the admission rules for
    /// pods of a namespace (`namespace NAME`), a file of the output (`out/production/namespaces/team-a.yaml`: each object with
    /// the policy that makes it), the stacks of a workspace (`stacks`), or a decision in the form of `can-i` (`get pods --as alice`). Without any: the list of kinds and diagnostics.
    #[arg(num_args = 0..=3)]
    words: Vec<String>,
    #[command(flatten)]
    identity: IdentityArguments,
    /// The namespace of the decision.
    #[arg(short, long)]
    namespace: Option<String>,
    /// The subresource of the decision.
    #[arg(long)]
    subresource: Option<String>,
    /// Explain the manifests in this file or folder, or on standard input (`-`), instead of the workspace.
    #[arg(long, value_name = "PATH")]
    from: Vec<std::path::PathBuf>,
    /// Only these targets of the workspace.
    #[arg(short, long = "target", value_name = "NAME", conflicts_with = "from")]
    targets: Vec<String>,
    /// Baseline RBAC to load before the manifests. Without words: print the default policy of a version, such as
    /// `--baseline=1.30`.
    #[arg(long, value_name = "VERSION-or-PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    baseline: Option<String>,
    /// Output format for objects, subjects and decisions.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: AnswerForm,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    match (arguments.words.as_slice(), &arguments.baseline) {
        ([], Some(version)) => print_baseline(global, arguments, version),
        ([], None) => {
            global.terminal().result(&pages::index());
            Ok(Outcome::Fine)
        }
        ([word], _) if word == "stacks" => stacks::explain(global, arguments),
        ([file], _) if output::is_path(file) && meant(&parts(file)).is_none() => {
            output::explain(global, arguments, file)
        }
        ([subject], _) if !subject.contains('/') => Ok(print_page(global, subject)),
        ([kind, name], _) if kind == "namespace" => namespace::explain(global, arguments, name),
        ([object], _) => explain_object(global, arguments, object),
        _ => explain_decision(global, arguments),
    }
}

fn print_page(global: &Global, subject: &str) -> Outcome {
    let terminal = global.terminal();
    let kind = kinds::names().find(|name| name.eq_ignore_ascii_case(subject));
    // `lint` names its rules by their ids in the catalogue too.
    let code = || codes::find(subject).or_else(|| Some(catalogue::of_id(&subject.to_ascii_uppercase())?.code));
    let page = match (kind, code()) {
        (Some(kind), _) => pages::kind(kind),
        (None, Some(code)) => Some(pages::code(code)),
        (None, None) => None,
    };
    if let Some(page) = page {
        terminal.result(&page);
        return Outcome::Fine;
    }
    let rules = catalogue::all().map(|rule| rule.id);
    let names = kinds::names().chain(codes::all().iter().map(|code| code.id())).chain(rules);
    let help = nearest(subject, names)
        .map_or_else(|| "`bailiwick explain` lists what there is".to_owned(), |near| format!("did you mean `{near}`?"));
    refuse_usage(global, format!("there is no policy kind, no diagnostic and no rule `{subject}`"), help)
}

/// Prints the default policy of a version as manifests; without one, that of the target's version, or of the newest.
fn print_baseline(global: &Global, arguments: &Arguments, version: &str) -> Result<Outcome, Error> {
    let terminal = global.terminal();
    let write = |minor: u32| {
        let mut text = format!("# What the API server of Kubernetes 1.{minor} makes for itself.\n");
        for object in default_policy::objects(minor) {
            if text.lines().count() > 1 {
                text.push_str("---\n");
            }
            let mut json = yaml::schema::to_json(object);
            json.as_object_mut().map(|map| map.shift_remove("minors"));
            let tree = yaml::from_json(&json);
            if let Some(root) = tree.document(0) {
                yaml::write::document(root, &mut text);
            }
        }
        terminal.result(&text);
        Outcome::Fine
    };
    if version.is_empty() {
        if Workspace::find_root(&global.options())?.is_none() {
            return Ok(write(LAST_MINOR));
        }
        return super::workspaces::with_targets(global, &arguments.targets, |_, targets| {
            Ok(targets.first().map_or(Outcome::Fine, |target| write(target.version.minor())))
        });
    }
    let mut sink = Sink::new();
    let Some(minor) = version_of(version, &mut sink) else {
        let message = format!("`{version}` is no version of Kubernetes with known facts");
        let help = format!("name one from 1.{FIRST_MINOR} to 1.{LAST_MINOR}");
        return Ok(refuse(global, Diagnostic::error(codes::UNKNOWN_VERSION, message).help(help)));
    };
    let files = Files::new();
    print(global, sink.into_sorted(&files), &files);
    Ok(write(minor.min(LAST_MINOR)))
}

impl Arguments {
    fn options(&self) -> WorldOptions {
        WorldOptions {
            from: self.from.clone(),
            baseline: self.baseline.clone().filter(|baseline| !baseline.is_empty()),
            ..WorldOptions::default()
        }
    }
}

fn explain_decision(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let word_at = |position: usize| arguments.words.get(position).cloned();
    let question = RequestOptions {
        verb: word_at(0),
        resource: word_at(1),
        name: word_at(2),
        namespace: arguments.namespace.clone(),
        all_namespaces: false,
        subresource: arguments.subresource.clone(),
        path: None,
        http: None,
        any_resource: false,
    };
    let Some(who) = arguments.identity.identity() else {
        return Ok(refuse_nobody(global));
    };
    with_worlds(global, &arguments.targets, &arguments.options(), |loaded_worlds| {
        for loaded in loaded_worlds {
            let request = question.request(&loaded.world)?;
            if let Some(note) = question.subresource_note(&request, &loaded.world) {
                global.terminal().note(&note);
            }
            let decision = loaded.world.decide(&who, &request);
            let answer = decision.answer(false);
            let told = Told {
                world: &loaded.world,
                files: &loaded.files,
                who: &who,
                request: &request,
                decision: &decision,
                answer,
            };
            if arguments.format == AnswerForm::Json {
                global.terminal().result(&worlds::json_line(loaded, told.json()));
                continue;
            }
            let groups = who.groups.join(", ");
            let asker = if who.user.is_empty() {
                format!("a member of {groups}")
            } else {
                format!("`{}`, in {groups},", who.user)
            };
            let mut page = Page::new();
            writeln!(page, "{}may {asker} {request}? {}", worlds::prefix(loaded), word(answer));
            page.append(&told.reasons());
            global.terminal().result(&page.finish());
        }
        Ok(Outcome::Fine)
    })
}

fn explain_object(global: &Global, arguments: &Arguments, object: &str) -> Result<Outcome, Error> {
    let parts = parts(object);
    with_worlds(global, &arguments.targets, &arguments.options(), |loaded_worlds| {
        let mut found = false;
        for loaded in loaded_worlds {
            let text = match arguments.format {
                AnswerForm::Text => explained(loaded, &parts).map(|text| format!("{}{text}", worlds::heading(loaded))),
                AnswerForm::Json => explained_as_json(loaded, &parts).map(|json| worlds::json_line(loaded, json)),
            };
            if let Some(text) = text {
                found = true;
                global.terminal().result(&text);
            }
        }
        if found {
            return Ok(Outcome::Fine);
        }
        let help = loaded_worlds.iter().find_map(|loaded| near_object(&loaded.world, &parts)).map_or_else(
            || {
                "write `ClusterRole/NAME`, `Role/NAMESPACE/NAME`, `User/NAME`, `Group/NAME` or `ServiceAccount/NAMESPACE/NAME`"
                    .to_owned()
            },
            |near| format!("did you mean `{near}`?"),
        );
        Ok(refuse_usage(global, format!("there is no `{object}`"), help))
    })
}

/// The parts of `KIND/NAME` and `KIND/NAMESPACE/NAME`.
fn parts(object: &str) -> Vec<&str> {
    object.splitn(3, '/').collect()
}

/// The object that a name on the command line means.
enum Meant<'p> {
    Subject(Identity),
    /// A role by namespace (none: a ClusterRole) and name.
    Role(Option<&'p str>, String),
    /// A binding likewise.
    Binding(Option<&'p str>, String),
}

fn meant<'p>(parts: &[&'p str]) -> Option<Meant<'p>> {
    let (kind, rest) = parts.split_first()?;
    let kind = kind.to_lowercase();
    Some(match (kind.trim_end_matches('s'), rest) {
        ("user", _) => Meant::Subject(Identity::of(&rest.join("/"))),
        ("group", _) => Meant::Subject(Identity::member_of(&rest.join("/"))),
        ("serviceaccount" | "sa", [namespace, name]) => {
            Meant::Subject(Identity::of(&crate::access::world::account_user(namespace, name)))
        }
        ("clusterrole", _) => Meant::Role(None, rest.join("/")),
        ("role", [namespace, name]) => Meant::Role(Some(namespace), (*name).to_owned()),
        ("clusterrolebinding", _) => Meant::Binding(None, rest.join("/")),
        ("rolebinding", [namespace, name]) => Meant::Binding(Some(namespace), (*name).to_owned()),
        _ => return None,
    })
}

fn explained(loaded: &LoadedWorld, parts: &[&str]) -> Option<String> {
    match meant(parts)? {
        Meant::Subject(who) => Some(subject(loaded, &who)),
        Meant::Role(namespace, name) => access::role(&loaded.world, namespace, &name, &loaded.files),
        Meant::Binding(namespace, name) => access::binding(&loaded.world, namespace, &name, &loaded.files),
    }
}

fn explained_as_json(loaded: &LoadedWorld, parts: &[&str]) -> Option<serde_json::Value> {
    let (world, files) = (&loaded.world, &loaded.files);
    match meant(parts)? {
        Meant::Subject(who) => {
            let grants = world.all_grants_of(&who);
            let grants: Vec<_> = grants.iter().map(|chain| access::chain_json(chain, files)).collect();
            let paths = world.escalation_paths(&who);
            let paths: Vec<_> =
                paths.iter().map(|path| serde_json::json!({ "via": path.via, "to": path.to })).collect();
            Some(serde_json::json!({ "identity": who, "grants": grants, "canBecome": paths }))
        }
        Meant::Role(namespace, name) => access::role_json(world, namespace, &name, files),
        Meant::Binding(namespace, name) => access::binding_json(world, namespace, &name, files),
    }
}

fn subject(loaded: &LoadedWorld, who: &Identity) -> String {
    let chains = loaded.world.all_grants_of(who);
    let groups = who.groups.join(", ");
    let paths = loaded.world.escalation_paths(who);
    let mut page = Page::new();
    writeln!(page, "in the groups {groups}");
    page.append(&access::grants(&chains, &loaded.files));
    page.append(&risk::paths(&paths, &loaded.files));
    page.finish()
}

/// An object of that kind whose name is near.
fn near_object(world: &World, parts: &[&str]) -> Option<String> {
    let wanted = parts.join("/");
    let names = world.object_names();
    nearest(&wanted, names.iter().map(String::as_str)).map(str::to_owned)
}
