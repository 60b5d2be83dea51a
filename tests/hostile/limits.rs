//! The limits of inputs: for each limit an input of this size, and a larger one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bailiwick::yaml::limits::{self, written_size};

use super::inputs::Site;
use crate::runs::{git, stderr};
use crate::support::rounds;

/// A limit of the table.
struct Limit {
    /// The limit, as the page writes it.
    shown: String,
    tested: Tested,
}

/// Makes an input of this size, and runs the program on it.
type Attempt = fn(&Site, u64) -> Output;

/// The test of a limit.
enum Tested {
    /// The program is run with an input of the size of the limit, and with a larger one. The words are in the error about the larger
    /// input alone.
    Here(u64, Attempt, &'static str),
    /// The same, but an input of the size of the limit takes a minute without optimization, and is left to the nightly workflow.
    Slow(u64, Attempt, &'static str),
    /// The text of a file, and the name of a test in the file.
    In(&'static str, &'static str),
}

use Tested::{Here, In, Slow};

/// Returns every limit, in the order of the page.
fn limits() -> Vec<Limit> {
    let size = |size: u64, tested: fn(u64) -> Tested| Limit { shown: written_size(size), tested: tested(size) };
    let bytes = |bytes: usize, tested: fn(u64) -> Tested| size(bytes as u64, tested);
    let count =
        |count: usize, tested: fn(u64) -> Tested| Limit { shown: count.to_string(), tested: tested(count as u64) };
    vec![
        bytes(limits::MAXIMUM_FILE_SIZE, |most| Slow(most, named_file, "it exceeds the limit of 512 MiB")),
        bytes(limits::MAXIMUM_TREE_SIZE, |most| Here(most, policy, "the limit is 64 MiB")),
        size(limits::MAXIMUM_LIST_SIZE, |most| Here(most, dump, "the limit of 8 GiB")),
        size(limits::MAXIMUM_INDEX_SIZE, |most| Slow(most, index, "the limit of 4 GiB")),
        bytes(limits::MAXIMUM_SUMMARY_SIZE, |most| Here(most, summary, "it is larger than 1 GiB")),
        bytes(limits::MAXIMUM_TEMPLATE_SIZE, |most| Here(most, template, "at most 64 KiB")),
        size(limits::MAXIMUM_LOG_SIZE, |_| In(AUDIT_LOGS, "a_log_has_a_limit")),
        bytes(limits::LONGEST_LOG_LINE, |_| In(AUDIT_LOGS, "a_line_of_a_log_has_a_limit")),
        bytes(limits::LONGEST_TABLE_LINE, |most| Here(most, account, "more than 1572864 bytes")),
        bytes(limits::LONGEST_QUESTION, |most| Here(most, question, "more than 16777216 bytes")),
        bytes(limits::MAXIMUM_MESSAGE_SIZE, |_| In(MESSAGES, "a_message_has_limits")),
        bytes(limits::LONGEST_MESSAGE_HEADER, |_| In(MESSAGES, "a_message_has_limits")),
        bytes(limits::MAXIMUM_GLOB_SIZE, |_| In(GLOBS, "a_glob_has_limits")),
        count(limits::MAXIMUM_GLOB_DEPTH, |_| In(GLOBS, "a_glob_has_limits")),
        bytes(limits::LARGEST_PATTERN, |_| In(PATTERNS, "what_cannot_be_read_or_is_too_large_is_left_out")),
        count(limits::MAXIMUM_QUESTIONS, |_| In(include_str!("limits.rs"), "an_access_test_has_a_limit_of_questions")),
        count(limits::MAXIMUM_DEPTH, |_| In(YAML, "nesting_is_bounded")),
        count(limits::MAXIMUM_ALIASED_NODES, |_| In(YAML, "the_nodes_of_aliases_have_a_limit")),
        count(limits::MAXIMUM_REPORTED, |_| In(YAML, "the_problems_of_a_text_have_a_limit")),
        count(limits::MAXIMUM_PATH_LINKS, |most| Here(most, links_on_a_path, "through more than 40 links")),
        count(limits::MAXIMUM_FOLDER_LINKS, |most| Here(most, links_to_folders, "at most 256 are followed")),
        bytes(limits::MAXIMUM_PATTERNS_SIZE, |most| Here(most, patterns, "at most 1 MiB")),
        count(limits::MAXIMUM_CONVERSIONS, |_| In(ATTRIBUTES, "the_lines_that_convert_files_have_a_limit")),
        count(limits::MAXIMUM_ENTRIES, |_| In(REVISIONS, "the_entries_of_a_revision_have_limits")),
        bytes(limits::MAXIMUM_PATHS_SIZE, |_| In(REVISIONS, "the_entries_of_a_revision_have_limits")),
        size(limits::MAXIMUM_GIT_PATH_SIZE, |most| Here(most, path_of_git, "larger than 16 KiB")),
        size(limits::MAXIMUM_GIT_CONFIGURATION_SIZE, |most| Here(most, configuration_of_git, "larger than 64 MiB")),
    ]
}

const AUDIT_LOGS: &str = include_str!("../../crates/bailiwick-audit/src/read.rs");
const MESSAGES: &str = include_str!("../../src/lsp/transport.rs");
const GLOBS: &str = include_str!("../../crates/bailiwick-policy/src/source/glob.rs");
const PATTERNS: &str = include_str!("../../crates/bailiwick-kubernetes/src/custom_fields/pattern.rs");
const YAML: &str = include_str!("../yaml/hostile.rs");
const ATTRIBUTES: &str = include_str!("../../crates/bailiwick-workspace/src/judged_tree.rs");
const REVISIONS: &str = include_str!("../../crates/bailiwick-compiler/src/emit/revision.rs");

/// Runs the program in the workspace, without the bounds of [`Site::run`] on time and memory.
fn run(site: &Site, arguments: &[&str], input: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bailiwick"));
    command.args(arguments).current_dir(site.path("w")).stdin(input);
    command.env("NO_COLOR", "1").env_remove("CI");
    command.output().expect("the program starts")
}

/// Extends a file with zeros that take no room.
fn extend(path: &Path, size: u64) {
    let file = fs::File::options().create(true).append(true).open(path).expect("a file");
    file.set_len(size).expect("a sparse file");
}

/// Returns a text with spaces in place of the mark `@`, so that it has this size.
fn padded(text: &str, size: u64) -> String {
    text.replace('@', &" ".repeat(size as usize + 1 - text.len()))
}

fn named_file(site: &Site, size: u64) -> Output {
    extend(&site.path("file"), size);
    run(site, &["lint", "--from", "../file"], Stdio::null())
}

fn policy(site: &Site, size: u64) -> Output {
    fs::write(site.path("w/policies/a.yaml"), padded("#@\n", size)).expect("a file");
    run(site, &["render"], Stdio::null())
}

fn dump(site: &Site, size: u64) -> Output {
    extend(&site.path("dump.json"), size);
    run(site, &["drift", "--live", "../dump.json"], Stdio::null())
}

fn index(site: &Site, size: u64) -> Output {
    let written = run(site, &["index", "--from", "../from", "--output", "../index"], Stdio::null());
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    let mark: Vec<u8> = fs::read(site.path("index")).expect("a file").into_iter().take(1_000).collect();
    fs::write(site.path("index"), mark).expect("a file");
    extend(&site.path("index"), size);
    run(site, &["who-can", "get", "pods", "--from", "../index"], Stdio::null())
}

fn summary(site: &Site, size: u64) -> Output {
    extend(&site.path("summary"), size);
    run(site, &["merge", "../summary"], Stdio::null())
}

fn template(site: &Site, size: u64) -> Output {
    let text = format!("{{#@#}}\n{}", include_str!("../../templates/tenancy/namespace.yaml.j2"));
    fs::create_dir_all(site.path("w/templates/tenancy")).expect("a folder");
    fs::write(site.path("w/templates/tenancy/namespace.yaml.j2"), padded(&text, size)).expect("a file");
    run(site, &["render"], Stdio::null())
}

fn account(site: &Site, size: u64) -> Output {
    // The cells of a line have no comma.
    let row = padded("tenant-0,1000@", size + 1);
    fs::write(site.path("w/policies/tenants.csv"), format!("name,uid\n{row}\n")).expect("a file");
    run(site, &["render"], Stdio::null())
}

fn question(site: &Site, size: u64) -> Output {
    fs::write(site.path("questions"), padded("{@}\n", size + 1)).expect("a file");
    let input = fs::File::open(site.path("questions")).expect("a file");
    let run = run(site, &["ask"], input.into());
    // The answer is the error.
    Output { status: run.status, stdout: Vec::new(), stderr: run.stdout }
}

fn links_on_a_path(site: &Site, size: u64) -> Output {
    for link in 0..size {
        let target = if link == 0 { "a.yaml".to_owned() } else { format!("link-{}.yaml", link - 1) };
        symlink(target, site.path(&format!("from/link-{link}.yaml"))).expect("a link");
    }
    run(site, &["lint", "--from", "../from"], Stdio::null())
}

fn links_to_folders(site: &Site, size: u64) -> Output {
    fs::create_dir(site.path("w/policies/folder")).expect("a folder");
    for link in 0..size {
        symlink("folder", site.path(&format!("w/policies/link-{link}"))).expect("a link");
    }
    run(site, &["render"], Stdio::null())
}

fn patterns(site: &Site, size: u64) -> Output {
    git(&site.path("w"), &["init", "--quiet"]);
    fs::write(site.path("w/.sourceignore"), padded("#@\n", size)).expect("a file");
    run(site, &["check"], Stdio::null())
}

/// Runs in a work tree whose file `.git` names a repository elsewhere.
fn path_of_git(site: &Site, size: u64) -> Output {
    let repository = site.path("elsewhere");
    fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
    fs::write(repository.join("gitdir"), format!("{}\n", site.path("w/.git").display())).expect("a file");
    let named = format!("gitdir: {}\n", repository.display());
    fs::write(site.path("w/.git"), format!("{named}{}", "\n".repeat(size as usize - named.len()))).expect("a file");
    run(site, &["check"], Stdio::null())
}

fn configuration_of_git(site: &Site, size: u64) -> Output {
    git(&site.path("w"), &["init", "--quiet"]);
    fs::write(site.path("w/.git/config"), padded("[core]\n\tbare = false\n#@\n", size)).expect("a file");
    run(site, &["check"], Stdio::null())
}

#[test]
fn an_input_of_the_size_of_a_limit_is_read_and_a_larger_one_is_an_error() {
    let mut wrong = Vec::new();
    for Limit { shown, tested } in limits() {
        let (most, attempt, words, sizes) = match tested {
            Here(most, attempt, words) => (most, attempt, words, 0..=1),
            Slow(most, attempt, words) => (most, attempt, words, rounds(1, 0)..=1),
            In(file, name) => {
                assert!(file.contains(&format!("fn {name}()")), "{shown}: {name}");
                continue;
            }
        };
        for above in sizes {
            let run = attempt(&Site::new(), most + above);
            let (printed, code) = (stderr(&run), run.status.code());
            let is_named = printed.contains(words) && matches!(code, Some(1..=3));
            if is_named != (above == 1) || !matches!(code, Some(0..=3)) {
                wrong.push(format!("{shown} and {above}, {code:?}: {printed:.2000}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The page of limits has the table of limits.
#[test]
fn the_page_of_limits_has_every_limit() {
    let values: Vec<String> = limits().into_iter().map(|limit| limit.shown).collect();
    let source = include_str!("../../crates/bailiwick-yaml/src/limits.rs");
    assert_eq!(source.matches("\npub const ").count(), values.len(), "the test has every limit");
    let page = include_str!("../../docs/limits.md");
    let rows = page.lines().skip_while(|line| *line != "| input | limit |").skip(2);
    let shown: Vec<&str> =
        rows.map_while(|row| row.strip_suffix(" |")?.rsplit_once("| ").map(|(_, value)| value)).collect();
    assert_eq!(shown, values);
}

/// The questions of a test are a product of lists, so that a small file can ask very many. Groups without a
/// binding have the same answers, and are asked about once.
#[test]
fn an_access_test_has_a_limit_of_questions() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = |word: &str, count: usize| {
        let items: Vec<String> = (0..count).map(|index| format!("{word}-{index}")).collect();
        items.join(", ")
    };
    let run = |bound: usize, names: usize| {
        fs::create_dir_all(folder.path().join("policies")).expect("a folder");
        let workspace = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: x}\nspec:\n  known: {groups: [g-*]}\n  targets: [{name: t, version: \"1.36\"}]\n";
        fs::write(folder.path().join("bailiwick.yaml"), workspace).expect("a file");
        let grant = format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Grant\nmetadata: {{name: viewers}}\nspec:\n  to: {{groups: [{}]}}\n  clusterRoles: [view]\n  namespaces: [x]\n",
            list("g", bound)
        );
        fs::write(folder.path().join("policies/grant.yaml"), grant).expect("a file");
        let policy = format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: AccessTest\nmetadata: {{name: many}}\nspec:\n  who: {{groups: [{}]}}\n  mustNot:\n  - verbs: [get]\n    resources: [nodes]\n    names: [{}]\n",
            list("g", 1_000),
            list("n", names)
        );
        fs::write(folder.path().join("policies/test.yaml"), policy).expect("a file");
        Command::new(env!("CARGO_BIN_EXE_bailiwick")).args(["test", "-C"]).arg(folder.path()).output().expect("a run")
    };
    for (bound, names, asked) in [(1_000, rounds(10, 1_000), rounds("10,000", "1,000,000")), (9, 1_001, "1,001,000")] {
        let output = run(bound, names);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("{asked} questions asked")), "{}", stderr(&output));
    }
    let many = run(1_000, 1_001);
    assert_eq!(many.status.code(), Some(2), "{}", stderr(&many));
    for part in [
        "has 1,001,000 questions up to here, and the limit is 1,000,000",
        "policies/test.yaml:7:",
        "shorten `names`, which has 1,001 items",
    ] {
        assert!(stderr(&many).contains(part), "{part}: {}", stderr(&many));
    }
}
