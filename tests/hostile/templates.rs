//! Templates that grow without end, and templates that change what a policy states.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::runs::{peak, stderr};

/// The most memory that a run with a hostile template may take, in KiB.
const MOST_MEMORY: u64 = 300 << 10;

/// The longest that it may take, on a busy machine and without optimisation.
const LONGEST: Duration = Duration::from_secs(60);

const HEAD: &str = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ name }}\n";

fn workspace(folder: &Path, template: &str) {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write(
        "bailiwick.yaml",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata:\n  name: w\nspec:\n  targets:\n  - name: t\n    version: \"1.30\"\n",
    );
    write(
        "policies/a.yaml",
        "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata:\n  name: teams\nspec:\n  labels: {tier: a}\n  namespaces:\n  - name: team-a\n",
    );
    write("templates/namespace-set/namespace.yaml.j2", template);
}

/// Asserts that a template ends in a diagnostic at one of its lines, in time and within memory.
fn assert_bounded(name: &str, template: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path(), template);
    let mut child = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .arg("render")
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let (start, mut most) = (Instant::now(), 0);
    while child.try_wait().expect("a process").is_none() {
        most = most.max(peak(&child).unwrap_or_default());
        if start.elapsed() > LONGEST || most > MOST_MEMORY {
            child.kill().expect("a process");
            panic!("{name}: {} KiB after {:?}", most, start.elapsed());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let run = child.wait_with_output().expect("a process");
    assert_eq!(run.status.code(), Some(2), "{name}: {}", stderr(&run));
    let told = stderr(&run);
    assert!(told.contains("error[template-"), "{name}: {told}");
    assert!(told.contains(" --> templates/namespace-set/namespace.yaml.j2:"), "{name}: {told}");
}

/// Returns a chain of so many `{% set %}`, each made of the one before; `step` has it as `@`.
fn chain(first: &str, step: &str, count: usize) -> String {
    let mut text = format!("{HEAD}{{% set x0 = {first} %}}\n");
    for number in 1..=count {
        let made = step.replace('@', &format!("x{}", number - 1));
        writeln!(text, "{{% set x{number} = {made} %}}").expect("a text");
    }
    writeln!(text, "a: {{{{ x{count} }}}}").expect("a text");
    text
}

#[test]
fn values_that_double_come_to_an_end() {
    for (name, first, step) in [
        ("concatenation", "\"aaaaaaaa\"", "@ ~ @"),
        ("addition of texts", "\"aaaaaaaa\"", "@ + @"),
        ("addition of lists", "[1, 2]", "@ + @"),
        ("repetition", "\"aaaaaaaa\"", "@ * 10"),
        ("join", "\"aaaaaaaa\"", "[@, @] | join(\"--------\")"),
        ("replace", "\"aaaaaaaa\"", "@ | replace(\"a\", \"aaaa\")"),
        ("replace of nothing", "\"aaaaaaaa\"", "@ | replace(\"\", \"aa\")"),
        ("lists of lists", "[1]", "[@, @, @, @, @, @, @, @, @, @]"),
        ("maps of maps", "[1]", "{\"a\": @, \"b\": @}"),
        ("JSON of JSON", "\"\\\"\"", "@ | tojson | tojson"),
        ("split and join", "\"a a a a\"", "@ | split | join(\" \") ~ \" \" ~ @"),
        ("map and join", "[\"a\", \"a\"]", "[@ | map(\"upper\") | list, @ | map(\"upper\") | list]"),
    ] {
        for count in [40, 600] {
            assert_bounded(name, &chain(first, step, count));
        }
    }
    assert_bounded("depth", &chain("[1]", "[@]", 600));
    let capture: String = (1..60).map(|number| format!("{{% set y{number} %}}{{% include \"_none\" ignore missing %}}{{{{ y{0} }}}}{{{{ y{0} }}}}{{% endset %}}\n", number - 1)).collect();
    assert_bounded("captured blocks", &format!("{HEAD}{{% set y0 = \"a\" %}}\n{capture}a: {{{{ y59 }}}}\n"));
}

#[test]
fn work_without_growth_comes_to_an_end() {
    let many = "{% set l = range(20000) %}\n";
    let wide = "{% set d = [range(50), range(50), range(50), range(50)] %}\n";
    for (name, body) in [
        (
            "nested scans",
            "{% for a in l %}{% for b in l %}{% for c in l %}{% if a in l %}{% endif %}{% endfor %}{% endfor %}{% endfor %}\n",
        ),
        ("scans by filters", "{% for a in l %}{{ l | select(\"in\", l) | list | length }}{% endfor %}\n"),
        ("comparisons", "{% for a in l %}{% if d == d and l == l %}{% endif %}{% endfor %}\n"),
        ("sorting", "{% for a in l %}{% set s = l | sort(reverse=true) | unique %}{% endfor %}\n"),
        ("substrings", "{% set t = \"a\" * 1000000 %}{% for a in l %}{% if \"b\" in t %}{% endif %}{% endfor %}\n"),
        ("trimming", "{% set t = \"a\" * 1000000 %}{% set u = t | trim(\"a\" * 1000000) %}\n"),
        ("cases of letters", "{% set t = \"ŉ\" * 400000 %}{% for a in l %}{% set u = t | upper %}{% endfor %}\n"),
        ("a large range", "a: {{ range(9000000000000000000) }}\n"),
        ("a large number", "{% for a in l %}a: {{ 9223372036854775807 * 2 }}{% endfor %}\n"),
        ("a large power", "a: {{ 9 ** 9 ** 9 }}\n"),
        ("a large repetition", "a: {{ \"a\" * 9223372036854775807 }}\n"),
        (
            "itself",
            "{% include \"namespace-set/namespace.yaml.j2\" %}{% include \"namespace-set/namespace.yaml.j2\" %}\n",
        ),
        ("output", "{% set t = \"\\u0001\" * 1000000 %}{% for a in l %}\na: {{ t }}\n{% endfor %}\n"),
        ("one value", "a: {{ [\"\\u0001\" * 1000000, \"\\u0001\" * 1000000, \"\\u0001\" * 1000000] }}\n"),
        ("a long name", "{% include \"a\" * 1000000 %}\n"),
        ("a macro", "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}a: {{ m() }}\n"),
        ("a recursive loop", "{% for a in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}\n"),
        ("a parent", "{% extends \"namespace-set/namespace.yaml.j2\" %}\n"),
        ("an import", "{% import \"namespace-set/namespace.yaml.j2\" as i %}\n"),
        ("a namespace", "{% set n = namespace(a=1) %}\n"),
        ("a filter that formats", "a: {{ \"%1000000000d\" | format(1) }}\n"),
        ("a filter that indents", "a: {{ name | indent(1000000000) }}\n"),
        ("a filter that makes batches", "a: {{ [1] | batch(1000000000, 0) }}\n"),
        ("a filter that makes slices", "a: {{ [1] | slice(1000000000) }}\n"),
        ("a filter for people", "a: {{ d | pprint }}\n"),
    ] {
        assert_bounded(name, &format!("{HEAD}{many}{wide}{body}"));
    }
    let lookups: String = (0..4000).map(|number| format!("{{%set v{number}=1%}}")).collect();
    assert_bounded(
        "many names",
        &format!(
            "{HEAD}{lookups}{{% for a in range(9000) %}}{{% for b in range(9000) %}}{{% if name %}}{{% endif %}}{{% endfor %}}{{% endfor %}}\n"
        ),
    );
}

/// The parser and all that walks its tree.
#[test]
fn a_deep_template_comes_to_an_end() {
    let value = |text: String| format!("{HEAD}a: {{{{ {text} }}}}\n");
    for (name, template) in [
        ("operators", value(vec!["1"; 30_000].join("~"))),
        ("attributes", value(format!("name{}", ".a".repeat(30_000)))),
        ("a call of attributes", value(format!("name{}()", ".a".repeat(30_000)))),
        ("filters", value(format!("name{}", "|safe".repeat(12_000)))),
        ("negations", value(format!("{}1", "not ".repeat(15_000)))),
        ("parentheses", value(format!("{}1{}", "(".repeat(30_000), ")".repeat(30_000)))),
        ("lists", value(format!("{}1{}", "[".repeat(30_000), "]".repeat(30_000)))),
        ("choices", value(format!("{}1", "1 if 0 else ".repeat(5_000)))),
        ("constants", value(format!("([{}] * 9999999)[0]", vec!["\"a\" * 9999999"; 2_000].join(", ")))),
        ("branches", format!("{HEAD}{{% if 0 %}}{}{{% endif %}}", "{%elif 0%}".repeat(6_000))),
        ("blocks", format!("{HEAD}{}{}", "{%if 1%}".repeat(3_000), "{%endif%}".repeat(3_000))),
        (
            "loops",
            format!(
                "{HEAD}{}{}",
                "{%for a in [1, 2]%}\n- {{ a }}: \n".repeat(100),
                "{%endfor%}{{ name }}\n".repeat(100)
            ),
        ),
    ] {
        assert_bounded(name, &template);
    }
}
