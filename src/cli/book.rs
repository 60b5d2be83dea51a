//! The pages of `docs/` that list others, and the page of the commands. `docs/` holds the same text, as an mdBook.

mod reference;

use std::fmt::Write as _;

use clap::CommandFactory as _;

use super::Cli;
use crate::codes;
use crate::diag::Code;
use crate::kinds;

/// The width of help texts on the page of the commands.
const WIDTH: usize = 100;

/// A page: path, title, and contents in a sentence.
type Entry = (&'static str, &'static str, &'static str);

/// A part of the book for one need of a reader: a page, and further pages below it in groups.
struct Part {
    path: &'static str,
    title: &'static str,
    /// The first paragraph of the page. None for a page written by hand.
    introduction: Option<&'static str>,
    /// The name of each group, and its pages.
    groups: &'static [(&'static str, &'static [Entry])],
}

/// The parts of the book.
const PARTS: &[Part] = &[
    Part {
        path: "tutorial.md",
        title: "Tutorial",
        introduction: None,
        groups: &[(
            "Chapters",
            &[
                ("tutorial/teams.md", "Teams", "twelve teams from a CSV file"),
                ("tutorial/operator.md", "An operator", "manifests of another team"),
                ("tutorial/tests.md", "Tests and questions", "findings, answers and tests"),
                ("tutorial/gate.md", "The gate", "a check of each pull request"),
                ("tutorial/delivery.md", "Delivery to a cluster", "Argo CD or Flux applies the output"),
            ],
        )],
    },
    Part {
        path: "howto.md",
        title: "How-to guides",
        introduction: Some(
            "Each guide solves one task, for readers with a workspace. New users begin with the [tutorial](tutorial.md).",
        ),
        groups: &[
            (
                "Install and write",
                &[
                    ("install.md", "Installing", "packages, the image, and the checks of a download"),
                    ("editors.md", "Editors", "the language server, and a check after each change"),
                ],
            ),
            (
                "Begin with existing access",
                &[
                    ("adopt.md", "Adopting a repository", "from hand-written manifests to policies, without a change"),
                    ("import.md", "Importing a cluster", "the objects of clusters as policies, with proof"),
                    ("psp-migration.md", "Leaving PodSecurityPolicy", "from the objects of a cluster to policies"),
                ],
            ),
            (
                "Ask and review",
                &[
                    ("playground.md", "Playground", "policies, manifests and questions in the browser"),
                    ("questions.md", "Questions about access", "`can-i`, `who-can`, `lint` and AccessTests"),
                    ("review.md", "Reviewing a change", "verdicts, approvals, and findings that are new"),
                    ("report.md", "Reporting access", "the access of one state, for an audit"),
                    ("audit.md", "Unused access", "audit logs against grants, and the least permissions"),
                ],
            ),
            (
                "Check and deliver",
                &[
                    ("ci.md", "Continuous integration", "the gate and its formats"),
                    ("delivery.md", "Delivery", "Applications of Argo CD and Kustomizations of Flux"),
                    ("drift.md", "Drift", "a live cluster against the policies"),
                    (
                        "packaging.md",
                        "Other tools",
                        "functions of kustomize, post-renderer of Helm, plugin of Argo CD, OCI images",
                    ),
                ],
            ),
            (
                "Platforms",
                &[
                    ("openshift.md", "OpenShift", "groups, constraints and labels of namespaces"),
                    ("pods.md", "Limits of pods", "one profile for every platform"),
                    ("nodes.md", "Nodes", "kubelets, agents, and Secrets within reach of a node"),
                    ("crossplane.md", "Packages of Crossplane", "the permissions of stacks and of their manager"),
                ],
            ),
            (
                "Many tenants",
                &[
                    ("tenants.md", "100,000 tenants", "one class, a table of tenants, and grouped changes"),
                    ("parts.md", "Many machines", "compile in parts, and merge the parts"),
                ],
            ),
        ],
    },
    Part {
        path: "reference.md",
        title: "Reference",
        introduction: Some("These pages have the facts, most of them generated from the source."),
        groups: &[
            (
                "Policies",
                &[
                    (reference::KINDS, "Policy kinds", "each kind with its fields and examples"),
                    ("templates.md", "Templates", "the form of the output, and the inputs of each template"),
                ],
            ),
            (
                "The program",
                &[
                    ("commands.md", "Commands", "the help of every command"),
                    (reference::EXIT_CODES, "Exit codes", "the result of a run for scripts"),
                    (reference::DIAGNOSTICS, "Diagnostics", "each error, warning and finding with examples"),
                    (reference::SCHEMAS, "Schemas", "the JSON schemas of policies and of results"),
                    ("ask.md", "Protocol of ask", "questions and answers as JSON lines"),
                    ("git.md", "Git", "how a revision is read"),
                    ("sandbox.md", "Sandbox", "the limits of a confined run"),
                ],
            ),
            ("Words", &[("glossary.md", "Glossary", "the nouns of this book")]),
        ],
    },
    Part {
        path: "explanation.md",
        title: "Explanation",
        introduction: Some("These pages give the reasons: why an answer can be trusted, and how far."),
        groups: &[(
            "",
            &[
                ("decisions.md", "How a decision is made", "from objects to a world, and from a question to an answer"),
                ("guarantees.md", "Guarantees", "properties of every run, and speed"),
                ("evidence.md", "Evidence", "the comparisons with the code of Kubernetes and other projects"),
                ("performance.md", "Performance", "the figures of each release, with their targets and the machine"),
                ("limits.md", "Limits", "everything that Bailiwick does not do"),
            ],
        )],
    },
    Part {
        path: "architecture.md",
        title: "Architecture",
        introduction: None,
        groups: &[(
            "Contributing",
            &[
                ("releasing.md", "Making a release", "the steps, the workflow and the packages"),
                ("new-kubernetes-minor.md", "A new Kubernetes minor", "the steps to add a version"),
            ],
        )],
    },
];

/// The diagnostics of one area.
struct Area {
    /// The path of the page with the list.
    path: &'static str,
    name: &'static str,
    /// The contents in a sentence.
    about: &'static str,
    codes: &'static [Code],
}

/// The codes of each area.
const AREAS: &[Area] = &[
    Area {
        path: "areas/compiler.md",
        name: "Policies, output and commands",
        about: "the workspace, policies, templates and accounts, the output, drift, and wrong usage",
        codes: codes::CODES,
    },
    Area {
        path: "areas/grants.md",
        name: "Grants",
        about: "dangerous, unused and ineffective permissions",
        codes: crate::access::codes::CODES,
    },
    Area {
        path: "areas/pods.md",
        name: "Pods and their limits",
        about: "Pod Security levels, PodSecurityPolicies, and constraints of OpenShift",
        codes: crate::admission::codes::CODES,
    },
    Area {
        path: "areas/audit.md",
        name: "Audit logs",
        about: "audit logs, and grants without a use",
        codes: crate::audit::codes::CODES,
    },
    Area {
        path: "areas/import.md",
        name: "Import of clusters",
        about: "the folder of an import",
        codes: crate::import::codes::CODES,
    },
    Area {
        path: "areas/crossplane.md",
        name: "Packages of Crossplane",
        about: "packages, their dependencies and conflicts",
        codes: crate::crossplane::codes::CODES,
    },
    Area {
        path: "areas/nodes.md",
        name: "Nodes",
        about: "permissions of the agents of nodes",
        codes: crate::node::codes::CODES,
    },
    Area {
        path: "areas/objects.md",
        name: "Objects",
        about: "manifests, and the rules of the API server",
        codes: crate::k8s::codes::CODES,
    },
    Area {
        path: "areas/yaml.md",
        name: "YAML",
        about: "the structure and the values of a file",
        codes: crate::diag::codes::CODES,
    },
];

impl Area {
    /// Returns the codes, sorted by id.
    fn sorted(&self) -> Vec<Code> {
        let mut codes = self.codes.to_vec();
        codes.sort_unstable();
        codes
    }
}

/// Returns the generated pages that list others, the page of the commands and the table of contents, with their paths below `docs/`.
pub(super) fn pages() -> Vec<(String, String)> {
    let mut pages = vec![("SUMMARY.md".to_owned(), contents()), ("commands.md".to_owned(), commands())];
    pages.extend(PARTS.iter().filter_map(|part| Some((part.path.to_owned(), part.page()?))));
    pages.extend(reference::pages());
    pages
}

impl Part {
    /// Returns the page, a list of the pages below it; none for a page written by hand.
    fn page(&self) -> Option<String> {
        let mut text = format!("# {}\n\n{}\n", self.title, self.introduction?);
        for (name, entries) in self.groups {
            let heading = if name.is_empty() { String::new() } else { format!("\n## {name}\n") };
            let _ = writeln!(text, "{heading}");
            for (path, title, about) in *entries {
                let _ = writeln!(text, "- [{title}]({path}): {about}");
            }
        }
        Some(text)
    }
}

/// Returns the table of contents, in the form of mdBook.
fn contents() -> String {
    let mut text = "# Summary\n\n[Bailiwick](README.md)\n\n".to_owned();
    for part in PARTS {
        line(&mut text, 0, part.title, part.path);
        for (path, title, _) in part.groups.iter().flat_map(|(_, entries)| *entries) {
            line(&mut text, 1, title, path);
            match *path {
                reference::KINDS => {
                    kinds::names().for_each(|name| line(&mut text, 2, name, &reference::kind_path(name)))
                }
                reference::DIAGNOSTICS => AREAS.iter().for_each(|area| area.add_contents(&mut text)),
                _ => {}
            }
        }
    }
    text
}

impl Area {
    fn add_contents(&self, text: &mut String) {
        line(text, 2, self.name, self.path);
        for code in self.sorted() {
            line(text, 3, code.id(), &format!("diagnostics/{}.md", code.id()));
        }
    }
}

/// Writes a line of the table of contents.
fn line(text: &mut String, depth: usize, title: &str, path: &str) {
    let _ = writeln!(text, "{}- [{title}]({path})", "  ".repeat(depth));
}

/// Returns the page with the help of every command, without the options that all commands share.
fn commands() -> String {
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
