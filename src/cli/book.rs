//! The pages of `docs/` that list others, and the page of the commands. `docs/` holds the same text, as an mdBook.

use std::fmt::Write as _;

use clap::CommandFactory as _;

use super::{Cli, schema};
use crate::app::manual;
use crate::codes;
use crate::diag::Code;
use crate::kinds;

/// The width of help texts on the page of the commands.
const WIDTH: usize = 100;

/// The hand-written pages of a part of the book: path, title, and contents in a sentence.
type Part = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

/// The hand-written pages of the book. The page of the commands is generated and listed here.
const PARTS: &[Part] = &[
    (
        "Learning",
        &[
            (
                "tutorial.md",
                "Tutorial",
                "a workspace with three clusters, twelve teams and an operator, in ten minutes",
            ),
            ("playground.md", "Playground", "policies, manifests and questions in the browser"),
            ("glossary.md", "Glossary", "the nouns of this book"),
        ],
    ),
    (
        "Guides",
        &[
            ("questions.md", "Questions about access", "`can-i`, `who-can`, `lint` and AccessTests"),
            ("import.md", "Importing a cluster", "the objects of clusters as policies, with proof"),
            ("audit.md", "Unused access", "audit logs against grants, and the least permissions"),
            ("review.md", "Reviewing a change", "verdicts, approvals, and findings that are new"),
            ("report.md", "Reporting access", "the access of one state, for an audit"),
            ("ci.md", "Continuous integration", "the gate and its formats"),
            ("delivery.md", "Delivery", "Applications of Argo CD and Kustomizations of Flux"),
            ("drift.md", "Drift", "a live cluster against the policies"),
            (
                "packaging.md",
                "Other tools",
                "functions of kustomize, post-renderer of Helm, plugin of Argo CD, OCI images",
            ),
            ("pods.md", "Limits of pods", "one profile for every platform"),
            ("psp-migration.md", "Leaving PodSecurityPolicy", "from the objects of a cluster to policies"),
            ("nodes.md", "Nodes", "kubelets, agents, and Secrets within reach of a node"),
            ("crossplane.md", "Packages of Crossplane", "the permissions of stacks and of their manager"),
            ("templates.md", "Templates", "the form of the output"),
            ("parts.md", "Many machines", "compile in parts, and merge the parts"),
        ],
    ),
    (
        "Reference",
        &[
            ("commands.md", "Commands", "the help of every command"),
            ("ask.md", "Protocol of ask", "questions and answers as JSON lines"),
            ("guarantees.md", "Guarantees", "properties of every run, the cache, and speed"),
            ("git.md", "Git", "how a revision is read"),
            ("sandbox.md", "Sandbox", "the limits of a confined run"),
        ],
    ),
    (
        "Contributing",
        &[
            ("architecture.md", "Architecture", "crates and modules with their invariants"),
            ("new-kubernetes-minor.md", "A new Kubernetes minor", "the steps to add a version"),
        ],
    ),
];

/// The codes of each area, with the name of the area.
const AREAS: &[(&str, &[Code])] = &[
    ("Policies, output and commands", codes::CODES),
    ("Grants", crate::access::codes::CODES),
    ("Pods and their limits", crate::admission::codes::CODES),
    ("Audit logs", crate::audit::codes::CODES),
    ("Import of clusters", crate::import::codes::CODES),
    ("Packages of Crossplane", crate::crossplane::codes::CODES),
    ("Nodes", crate::node::codes::CODES),
    ("Objects", crate::k8s::codes::CODES),
    ("YAML", crate::diag::codes::CODES),
];

/// Returns the codes of each area, sorted by id.
fn areas() -> impl Iterator<Item = (&'static str, Vec<Code>)> {
    AREAS.iter().map(|(name, codes)| {
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        (*name, codes)
    })
}

/// Returns the first page of the book: an introduction, and every page as a link with its contents.
pub(super) fn introduction() -> String {
    let mut text = "# Bailiwick's manual\n\n\
        Bailiwick compiles short policy files to the access objects of Kubernetes and OpenShift clusters, and evaluates access offline. \
        New users begin with the [tutorial](tutorial.md).\n\n\
        `bailiwick explain` prints the pages of kinds and diagnostics, and `bailiwick schema` the schemas.\n"
        .to_owned();
    for (part, list) in PARTS {
        let _ = write!(text, "\n## {part}\n\n");
        for (path, title, about) in *list {
            let _ = writeln!(text, "- [{title}]({path}): {about}");
        }
    }
    text.push_str("\n## Policy kinds\n\n");
    for name in kinds::names() {
        let _ = writeln!(text, "- [{name}](kinds/{}.md): {}", name.to_lowercase(), manual::summary(name));
    }
    text.push_str("\n## Schemas\n\n");
    for (name, _) in schema::files() {
        let _ = writeln!(text, "- [`{name}`](schema/{name})");
    }
    text.push_str("\n## Diagnostics\n");
    for (area, codes) in areas() {
        let _ = write!(text, "\n### {area}\n\n");
        for code in codes {
            let _ = writeln!(text, "- [{0}](diagnostics/{0}.md): {1}", code.id(), code.title());
        }
    }
    text
}

/// Returns the table of contents, in the form of mdBook.
pub(super) fn contents() -> String {
    let mut text = "# Summary\n\n[Introduction](README.md)\n".to_owned();
    for (part, list) in PARTS {
        let _ = write!(text, "\n# {part}\n\n");
        for (path, title, _) in *list {
            let _ = writeln!(text, "- [{title}]({path})");
        }
    }
    text.push_str("\n# Policy kinds\n\n");
    for name in kinds::names() {
        let _ = writeln!(text, "- [{name}](kinds/{}.md)", name.to_lowercase());
    }
    for (area, codes) in areas() {
        let _ = write!(text, "\n# Diagnostics: {area}\n\n");
        for code in codes {
            let _ = writeln!(text, "- [{0}](diagnostics/{0}.md)", code.id());
        }
    }
    text
}

/// Returns the page with the help of every command, without the options that all commands share.
pub(super) fn commands() -> String {
    let mut text = "# Commands\n\nThis page is the help of every command, as `bailiwick COMMAND --help` prints it. The last section has \
        the options of all commands.\n"
        .to_owned();
    let program = Cli::command();
    for command in program.get_subcommands() {
        section(&mut text, command, "bailiwick");
    }
    let options = program.mut_subcommands(|command| command.hide(true));
    let _ = write!(text, "\n## Options of all commands\n\n```text\n{}\n```\n", help(options));
    text
}

/// Writes the help of a command, and then of its own commands.
fn section(text: &mut String, command: &clap::Command, parent: &str) {
    let name = format!("{parent} {}", command.get_name());
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", help(command.clone().bin_name(&name)));
    for inner in command.get_subcommands() {
        section(text, inner, &name);
    }
}

/// Returns the help of a command without values of the environment.
fn help(command: clap::Command) -> String {
    let mut command = command.term_width(WIDTH).mut_args(|argument| argument.hide_env_values(true));
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}
