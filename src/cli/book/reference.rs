//! The generated pages of the reference: policy kinds, diagnostics by area, exit codes and schemas.

use std::fmt::Write as _;

use super::{AREAS, Area};
use crate::app::manual;
use crate::cli::{Outcome, schema};
use crate::kinds;
use crate::report::json;

/// The path of the page that lists the policy kinds.
pub(super) const KINDS: &str = "kinds.md";
/// The path of the page that lists the areas of diagnostics.
pub(super) const DIAGNOSTICS: &str = "diagnostics.md";
/// The path of the page of the exit codes.
pub(super) const EXIT_CODES: &str = "exit-codes.md";
/// The path of the page of the schemas.
pub(super) const SCHEMAS: &str = "schemas.md";

/// Returns the pages with their paths below `docs/`.
pub(super) fn pages() -> impl Iterator<Item = (String, String)> {
    let single = [(KINDS, kind_list()), (DIAGNOSTICS, area_list()), (EXIT_CODES, exit_codes()), (SCHEMAS, schemas())];
    let single = single.map(|(path, text)| (path.to_owned(), text));
    single.into_iter().chain(AREAS.iter().map(|area| (area.path.to_owned(), code_list(area))))
}

/// Returns the path of the page of a kind.
pub(super) fn kind_path(name: &str) -> String {
    format!("kinds/{}.md", name.to_lowercase())
}

fn kind_list() -> String {
    let mut text = "# Policy kinds\n\n\
        A policy is a YAML document of one of these kinds, in a file below `policies/`. `bailiwick.yaml` is a document of the kind \
        Workspace. `bailiwick explain KIND` prints the same pages.\n\n"
        .to_owned();
    for name in kinds::names() {
        let _ = writeln!(text, "- [{name}]({}): {}", kind_path(name), manual::summary(name));
    }
    text
}

fn area_list() -> String {
    let mut text = "# Diagnostics\n\n\
        Each error, warning and finding has a code, which is printed in brackets: `error[unknown-reference]`. The page of a code has its \
        meaning, an example, the remedy and the severity. `bailiwick explain CODE` prints the same page.\n\n"
        .to_owned();
    for area in AREAS {
        let _ = writeln!(text, "- [{}]({}): {}", area.name, area.path, area.about);
    }
    text.push_str("\n`spec.diagnostics` of the [Workspace](kinds/workspace.md) sets severities.\n");
    text
}

fn code_list(area: &Area) -> String {
    let mut text = format!("# Diagnostics: {}\n\nThese diagnostics are about {}.\n\n", area.name, area.about);
    for code in area.sorted() {
        let _ = writeln!(text, "- [{0}](../diagnostics/{0}.md): {1}", code.id(), code.title());
    }
    text
}

fn exit_codes() -> String {
    let mut text =
        "# Exit codes\n\nEvery command ends with one of these codes:\n\n| code | meaning |\n| --- | --- |\n".to_owned();
    for outcome in [Outcome::Fine, Outcome::No, Outcome::Invalid, Outcome::Failed] {
        let _ = writeln!(text, "| {} | {} |", outcome.code(), outcome.meaning());
    }
    text.push_str(
        "\nIf several codes apply, the highest is the exit code: invalid input outweighs a difference. `--workspaces` ends with the highest \
         code of its workspaces. A script that asks a question has to distinguish 1 from 2 and 3: only 1 is an answer.\n",
    );
    text
}

fn schemas() -> String {
    let mut text = "# Schemas\n\n\
        Each policy kind and each result has a JSON schema of draft 2020-12. `bailiwick schema NAME` prints the schema, and \
        `bailiwick schema --output DIR` writes all of them.\n\n\
        ## Policies\n\n\
        Editors check policies with `policy.json`, a schema for all kinds. The fields are on the page of the kind.\n\n\
        | schema | kind |\n| --- | --- |\n"
        .to_owned();
    for (file, _) in schema::policy_files() {
        let kind = kinds::names().find(|name| file.trim_end_matches(".json").eq_ignore_ascii_case(name));
        let kind = kind.map_or_else(|| "every kind".to_owned(), |name| format!("[{name}]({})", kind_path(name)));
        let _ = writeln!(text, "| [`{file}`](schema/{file}) | {kind} |");
    }
    text.push_str(
        "\n## Results\n\n`--format json` and `--report json=FILE` write results in these forms. `version` grows with a change that breaks \
         readers. The name of a schema is the name of its command, except for `diagnostic`, a line of `--diagnostics json`, and `run`, the \
         report of a run.\n",
    );
    for (name, schema) in json::schemas() {
        let _ = write!(text, "\n### {name}\n\n[`{name}.json`](schema/{name}.json): {}", manual::result(&schema));
    }
    text
}
