//! Inputs whose cost must not grow faster than they do.
//!
//! Nothing here measures time, which is what `benches/growth` does: memory is bounded by a limit of the system, and output
//! by counting.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::runs::{bailiwick, stderr};
use crate::support::rounds;

/// How many MiB the allocator rounds up.
const SLACK: usize = 8;

/// Runs the program with so many MiB of memory, and with a text on standard input.
fn within(mebibytes: usize, folder: &Path, arguments: &[&str], input: impl FnOnce(&mut dyn std::io::Write)) -> Output {
    run_below(&format!("-v {}", mebibytes * 1024), folder, arguments, input)
}

/// Runs the program with a limit of the shell.
fn run_below(limit: &str, folder: &Path, arguments: &[&str], input: impl FnOnce(&mut dyn std::io::Write)) -> Output {
    let script = format!("ulimit {limit}; exec \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_bailiwick")])
        .args(arguments)
        .current_dir(folder)
        .env("BAILIWICK_JOBS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    input(&mut child.stdin.take().expect("a pipe"));
    child.wait_with_output().expect("the program ends")
}

fn workspace(folder: &Path) {
    let text = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: x}\nspec: {targets: [{name: t, version: \"1.30\"}]}\n";
    std::fs::create_dir_all(folder.join("policies")).expect("a folder");
    std::fs::write(folder.join("bailiwick.yaml"), text).expect("a file");
}

#[test]
fn a_question_without_an_end_is_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let question = "{\"who-can\": {\"verb\": \"get\", \"resource\": \"pods\"}}\n";
    let output = within(500, folder.path(), &["ask"], |stdin| {
        let part = [b'a'; 1 << 20];
        stdin.write_all(question.as_bytes()).expect("a pipe");
        (0..600).for_each(|_| stdin.write_all(&part).expect("a pipe"));
        write!(stdin, "\n{question}").expect("a pipe");
    });
    let stdout = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{stdout} {}", stderr(&output));
    assert_eq!(lines.first(), lines.get(2));
    assert_eq!(lines.get(1), Some(&"{\"error\":\"a question of more than 16777216 bytes\"}"));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn of_many_problems_the_first_are_shown_and_errors_before_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    // Warnings stand before the one error.
    let mut policy = String::new();
    for number in 0..1_000 {
        let _ = write!(
            policy,
            "---\napiVersion: bailiwick.dev/v1alpha1\nkind: PermissionSet\nmetadata: {{name: unused-{number}}}\nspec: {{rules: [{{apiGroups: [\"\"], resources: [pods], verbs: [get]}}]}}\n"
        );
    }
    policy.push_str("---\napiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: z}\nspec: {namespaces: [{name: team-a, labels: {a: \"no good\"}}]}\n");
    std::fs::write(folder.path().join("policies/a.yaml"), policy).expect("a file");
    let text = stderr(&bailiwick(folder.path(), &["render"]));
    assert!(text.starts_with("error["), "{text}");
    assert_eq!(text.matches("\nwarning[").count(), 199);
    assert!(text.contains("... and ") && text.contains(" warnings\nnothing was written\nfor more "), "{text}");
    let commands = bailiwick(folder.path(), &["render", "--diagnostics", "github"]);
    let commands = String::from_utf8_lossy(&commands.stdout).into_owned();
    assert!(commands.starts_with("::error ") && commands.lines().count() == 12, "{commands}");
    assert_eq!(commands.matches("\n::warning ").count(), 10);
    assert!(commands.contains("\n::notice::and 99"), "{commands}");
    let lines = stderr(&bailiwick(folder.path(), &["render", "--diagnostics", "json"]));
    assert!(lines.lines().count() > 1_000, "programs get all of them");
}

#[test]
fn a_long_line_is_shown_around_the_place() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let names: Vec<String> = (0..40_000).map(|number| format!("set-{number}")).collect();
    let policy = format!(
        "{{apiVersion: bailiwick.dev/v1alpha1, kind: Grant, metadata: {{name: x}}, spec: {{to: {{groups: [g]}}, namespaces: [team-a], permissionSets: [{}]}}}}\n",
        names.join(", ")
    );
    std::fs::write(folder.path().join("policies/a.yaml"), policy).expect("a file");
    let text = stderr(&within(2_000, folder.path(), &["render"], |_| ()));
    assert!(text.lines().all(|line| line.chars().count() <= 240), "{}", text.lines().map(str::len).max().unwrap_or(0));
    assert!(text.contains("... and 39,80"), "{text}");
    let marked: Vec<&str> = text.lines().filter(|line| line.contains('^')).collect();
    assert_eq!(marked.len(), 200);
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair.last().is_some_and(|line| line.contains('^'))) {
        let [source, marks] = pair else { continue };
        let (start, end) = (marks.find('^').unwrap_or(0), marks.rfind('^').unwrap_or(0));
        let name = source.get(start..=end).unwrap_or_default();
        assert!(name.starts_with("set-"), "{source}\n{marks}");
    }
}

/// Many cells have blanks around them, so each is examined for quotes.
#[test]
fn many_cells_with_blanks_take_no_quadratic_time() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    std::fs::write(folder.path().join("policies/tenants.yaml"), include_str!("../runs/tenants.yaml")).expect("a file");
    let columns: Vec<String> = (0..rounds(25_000, 100_000)).map(|column| format!("c{column}")).collect();
    let table = format!("name,uid,{}\nann,1001,{}\n", columns.join(","), vec![" \" a \" "; columns.len()].join(","));
    std::fs::write(folder.path().join("policies/tenants.csv"), table).expect("a file");
    let output = within(700, folder.path(), &["render"], |_| ());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(output.stderr.len() < 1_000_000, "{} bytes", output.stderr.len());
}

/// The schema of a definition is another author's: patterns that blow up, schemas in schemas, keywords of wrong types.
#[test]
fn the_schema_of_a_definition_takes_little() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let policy =
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: a}\nspec: {files: [crd/*.yaml]}\n";
    std::fs::write(folder.path().join("policies/a.yaml"), policy).expect("a file");
    std::fs::create_dir(folder.path().join("policies/crd")).expect("a folder");
    let blowing = "{type: string, pattern: '((a{0,500}){0,500}){0,500}'}";
    let many = (0..5_000).fold(String::new(), |mut text, index| {
        let _ = write!(text, "p{index}: {{type: string, pattern: '^(a|aa|aaa){{1,50}}$'}}, ");
        text
    });
    let deep = "{type: object, properties: {d: ".repeat(40) + "{type: string}" + &"}}".repeat(40);
    let wrong = "{type: [object], required: 5, enum: {a: b}, properties: [x], items: [1], minimum: a, pattern: 3, maxLength: -1, additionalProperties: 7}";
    let objects = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.example.com}}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {{plural: widgets, kind: Widget}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{many}blowing: {blowing}, deep: {deep}}}}}, wrong: {wrong}}}}}\n---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: a, namespace: b}}\nspec: {{p1: b, p4999: b, blowing: \"{}\", unknown: 1}}\nwrong: [1]\n",
        "a".repeat(5_000)
    );
    std::fs::write(folder.path().join("policies/crd/a.yaml"), objects).expect("a file");
    let output = within(700, folder.path(), &["render"], |_| ());
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("unknown field `unknown`") && printed.contains("`spec.p1`"), "{printed}");
}

/// Expressions are compiled for each kind that a policy matches: many long expressions for many kinds, fields of a definition with
/// very many fields, and a definition whose keywords have wrong types.
#[test]
fn expressions_are_compiled_for_few_bytes_of_kinds() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let policy =
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: a}\nspec: {files: [plain/*.yaml]}\n";
    std::fs::write(folder.path().join("policies/a.yaml"), policy).expect("a file");
    std::fs::create_dir(folder.path().join("policies/plain")).expect("a folder");
    let definition = |group: &str, schema: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.{group}}}\nspec:\n  group: {group}\n  scope: Namespaced\n  names: {{plural: widgets, kind: Widget}}\n  versions:\n  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {schema}}}}}\n---\n"
        )
    };
    let rule = |group: &str| {
        format!("{{apiGroups: [{group}], apiVersions: [v1], operations: [CREATE], resources: [widgets]}}, ")
    };
    let admission = |name: &str, rules: &str, validations: &str| {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: {name}}}\nspec:\n  failurePolicy: Fail\n  matchConstraints: {{resourceRules: [{rules}]}}\n  validations:\n{validations}---\n"
        )
    };
    let mut text = String::new();
    let mut rules = String::new();
    for index in 0..300 {
        let group = format!("g{index}.example.com");
        text += &definition(&group, "{type: object}");
        rules += &rule(&group);
    }
    // A product of words that no run would come to the end of, and rules with very many resources.
    let words = (0..3_000).fold(String::new(), |words, index| words + &format!("a{index}, "));
    let product =
        format!("{{apiGroups: [{words}], apiVersions: [{words}], operations: [CREATE], resources: [{words}]}}, ");
    text += &admission("product", &product, "  - expression: object.nowhere == 1\n");
    let same = "{apiGroups: [x], apiVersions: [v1], operations: [CREATE], resources: [widgets]}, ".repeat(2_000);
    text += &admission("same", &same, "  - expression: object.nowhere == 1\n");
    let long = format!("  - expression: \"object.kind == '{}'\"\n", "a".repeat(20_000));
    text += &admission("long", &rules, &long);
    let fields = (0..3_000).fold(String::new(), |fields, index| fields + &format!("f{index}: {{type: string}}, "));
    text += &definition("many.example.com", &format!("{{type: object, properties: {{{fields}}}}}"));
    let looks = (0..5_000)
        .fold(String::new(), |looks, index| looks + &format!("  - expression: object.f{index} == object.g{index}\n"));
    text += &admission("many", &rule("many.example.com"), &looks);
    std::fs::write(folder.path().join("policies/plain/a.yaml"), text).expect("a file");
    let output = within(900, folder.path(), &["render"], |_| ());
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("has no field `g0`"), "{printed}");
    assert!(printed.contains("rules with very many resources"), "{printed}");
    assert!(printed.contains("bytes of expressions for 300 kinds"), "{printed}");
    assert!(output.stderr.len() < 1_000_000, "{} bytes", output.stderr.len());
    // Keywords of wrong types are errors of the definition.
    let wrong = "{type: [object], format: 3, properties: [x], items: 5, additionalProperties: [7], x-kubernetes-int-or-string: a}";
    let schema = format!(
        "{{type: object, properties: {{w: {wrong}, o: {{type: object, properties: 1, additionalProperties: {wrong}}}}}}}"
    );
    let looks = "  - expression: object.w == 1 && object.o.a == 1 && object.o['a'] == 1\n";
    let text = definition("wrong.example.com", &schema) + &admission("wrong", &rule("wrong.example.com"), looks);
    std::fs::write(folder.path().join("policies/plain/a.yaml"), text).expect("a file");
    let output = within(900, folder.path(), &["render"], |_| ());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_huge_cell_and_deep_indentation_take_memory_as_they_are_long() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let tenancy = include_str!("../runs/tenants.yaml");
    std::fs::write(folder.path().join("policies/tenants.yaml"), tenancy).expect("a file");
    std::fs::write(folder.path().join("policies/tenants.csv"), format!("name,uid\n{},1\n", "a".repeat(50 << 20)))
        .expect("a file");
    let output = within(700, folder.path(), &["render"], |_| ());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(output.stderr.len() < 100_000, "{} bytes", output.stderr.len());
    let levels: String = (0..20_000).fold(String::new(), |mut text, level| {
        let _ = writeln!(text, "{}a:", " ".repeat(level % 4_000));
        text
    });
    std::fs::write(folder.path().join("policies/tenants.yaml"), levels).expect("a file");
    let output = within(700, folder.path(), &["render"], |_| ());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// A text that nests deeper than any limit, of about so many MiB.
type Deep = fn(usize) -> String;

const DEEP: [Deep; 2] = [
    |mebibytes| {
        let mut text = String::new();
        for level in 0.. {
            if text.len() >= mebibytes << 20 {
                break;
            }
            let _ = writeln!(text, "{}a:", " ".repeat(level));
        }
        text
    },
    |mebibytes| "[".repeat(mebibytes << 20),
];

/// Returns the least address space, in MiB, in which a run finds the deep nesting of a short text: the program and its tables.
fn least(folder: &Path, path: &str, arguments: &[&str]) -> usize {
    std::fs::write(folder.join(path), "[".repeat(200)).expect("a file");
    let (mut too_few, mut enough) = (16_usize, 400_usize);
    while enough - too_few > 1 {
        let middle = too_few.midpoint(enough);
        let output = within(middle, folder, arguments, |_| ());
        let is_enough = output.status.code() == Some(2) && stderr(&output).contains("error[too-deep]");
        *(if is_enough { &mut enough } else { &mut too_few }) = middle;
    }
    enough
}

/// The text is held once, beside the bytes of the file while they are read, and the reader stops at the limit.
#[test]
fn deep_nesting_takes_no_memory_beside_its_text() {
    let mebibytes = rounds(15, 63);
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    std::fs::create_dir(folder.path().join("dump")).expect("a folder");
    for deep in DEEP {
        let text = deep(mebibytes);
        let place = if text.starts_with('[') { "1:101" } else { "101:101" };
        for (path, arguments) in
            [("policies/a.yaml", ["lint"].as_slice()), ("dump/a.yaml", &["lint", "--from", "dump/a.yaml"])]
        {
            let least = least(folder.path(), path, arguments);
            std::fs::write(folder.path().join(path), &text).expect("a file");
            let output = within(least + 2 * mebibytes + SLACK, folder.path(), arguments, |_| ());
            let printed = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{path}: {}", printed.get(..500).unwrap_or(&printed));
            assert!(
                printed.contains("error[too-deep]: ") && printed.contains(&format!("{path}:{place}\n")),
                "{printed}"
            );
            std::fs::remove_file(folder.path().join(path)).expect("a file");
        }
    }
}

/// Short texts with a problem each, which are repeated.
const PROBLEMS: [(&str, &str); 6] = [
    ("yaml-syntax", "---\n[\n"),
    ("duplicate-yaml-key", "a: 1\n"),
    ("key-not-string", "1: 1\n"),
    ("yaml-alias", "---\n*a\n"),
    ("yaml-syntax", "- [?a]\n"),
    ("yaml-syntax", "---a\n"),
];

/// A diagnostic takes more memory than the bytes that cause it.
#[test]
fn many_problems_of_one_file_take_no_memory() {
    const MEBIBYTES: usize = 4;
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    for (code, problem) in PROBLEMS {
        let text = problem.repeat((MEBIBYTES << 20) / problem.len());
        std::fs::write(folder.path().join("policies/a.yaml"), text).expect("a file");
        // The data alone: the address space has the program, and what the allocator reserves of the rest.
        let limit = format!("-d {}", (8 * MEBIBYTES + SLACK) * 1024);
        let output = run_below(&limit, folder.path(), &["lint", "--diagnostics", "json"], |_| ());
        let printed = stderr(&output);
        let shown = printed.get(..500).unwrap_or(&printed);
        assert_eq!(output.status.code(), Some(2), "{problem:?}: {shown}");
        let of_code = printed.matches(&format!("\"code\":\"{code}\"")).count();
        assert!((1_000..=1_001).contains(&of_code), "{problem:?}: {of_code}: {shown}");
        let is_one_scalar = problem == "---a\n";
        assert!(is_one_scalar || printed.contains("the rest is not read"), "{problem:?}: {shown}");
    }
}
