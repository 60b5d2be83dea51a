//! The layers of the root package: which module uses which, by reading `crate::` paths.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::repository;

/// Modules of a package, each with the modules of the package that it may use.
type Layers = &'static [(&'static str, &'static [&'static str])];

/// The modules of packages that are more than one layer, each with the modules of the package that it may use. Cargo checks imports between crates.
const MAY_USE: &[(&str, Layers)] = &[
    ("crates/bailiwick-policy/src", &[("source", &[]), ("model", &["source"]), ("kinds", &["source", "model"])]),
    (
        "crates/bailiwick-compiler/src",
        &[
            ("expand", &[]),
            ("render", &[]),
            ("validate", &["render"]),
            ("label", &["validate"]),
            ("emit", &[]),
            ("delivery", &["emit"]),
            ("compile", &["expand", "render", "validate", "label", "delivery", "emit"]),
        ],
    ),
    (
        "src",
        &[
            ("app", &[]),
            ("ask", &["app"]),
            ("watch", &["app"]),
            ("lsp", &["app", "watch"]),
            ("cli", &["app", "ask", "lsp", "watch"]),
        ],
    ),
];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the modules that a text names behind `crate::`, also in a list of imports.
fn used(text: &str) -> BTreeSet<&str> {
    let mut used = BTreeSet::new();
    for (position, _) in text.match_indices("crate::") {
        let name = &text[position + "crate::".len()..];
        let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
        // A macro at the top of the crate is none of its modules.
        if !name[end..].starts_with('!') {
            used.insert(&name[..end]);
        }
    }
    used
}

/// Returns the modules of a package that its `lib.rs` takes from other crates: `pub use bailiwick_policy::{kinds, model, source};`.
fn of_other_crates(library: &str) -> BTreeSet<&str> {
    let uses = library.lines().filter(|line| line.contains("use bailiwick_"));
    uses.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')).collect()
}

#[test]
fn modules_use_only_what_lies_below_them() {
    let mut wrong = Vec::new();
    for (folder, modules) in MAY_USE {
        let source = repository().join(folder);
        let library = std::fs::read_to_string(source.join("lib.rs")).expect("a library");
        let foreign = of_other_crates(&library);
        let mut files = Vec::new();
        rust_files(&source, &mut files);
        let mut seen = BTreeSet::new();
        for path in files {
            let relative = path.strip_prefix(&source).expect("below the package");
            let module = relative.iter().next().and_then(|part| part.to_str()).expect("a name").trim_end_matches(".rs");
            if matches!(module, "lib" | "main") {
                continue;
            }
            let Some((_, below)) = modules.iter().find(|(name, _)| *name == module) else {
                wrong.push(format!("{folder}/{} is in no layer", relative.display()));
                continue;
            };
            seen.insert(module.to_owned());
            let text = std::fs::read_to_string(&path).expect("text");
            let is_wrong = |name: &&str| *name != module && !below.contains(name) && !foreign.contains(name);
            wrong.extend(
                used(&text)
                    .into_iter()
                    .filter(is_wrong)
                    .map(|name| format!("{folder}/{} uses {name}", relative.display())),
            );
        }
        assert_eq!(seen.len(), modules.len(), "every layer is there: {seen:?}");
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The crates of the application.
const APPLICATION: &[&str] = &["workspace", "analysis", "review", "adopt"];

/// Words that are not in the application: it prints nothing, reads no command line, and ends no process.
const NOT_IN_APPLICATION: &[&str] = &["clap", "println", "eprintln", "std::process"];

#[test]
fn the_application_prints_nothing() {
    let mut files = Vec::new();
    for name in APPLICATION {
        rust_files(&repository().join(format!("crates/bailiwick-{name}/src")), &mut files);
    }
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("text");
        let found = NOT_IN_APPLICATION.iter().filter(|word| text.contains(**word));
        wrong.extend(found.map(|word| format!("{}: {word}", path.display())));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn files_can_be_read_at_one_go() {
    let mut files = Vec::new();
    rust_files(&repository().join("src"), &mut files);
    rust_files(&repository().join("crates"), &mut files);
    let long: Vec<_> =
        files.iter().filter(|path| std::fs::read_to_string(path).expect("text").lines().count() > 800).collect();
    assert!(long.is_empty(), "split {long:?}");
}

/// No source, test or script names a path outside of the repository: a path with more `..` than there are folders above its start.
#[test]
fn no_file_names_a_path_outside_of_the_repository() {
    let mut outside = Vec::new();
    for folder in ["src", "crates", "tests", "xtask", "benches", "packaging", "contrib", ".ci"] {
        for entry in walkdir::WalkDir::new(repository().join(folder)).sort_by_file_name() {
            let path = entry.expect("an entry").into_path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let path = path.strip_prefix(repository()).expect("below the root");
            let of_crate =
                [("xtask", 1), ("crates", 2)].iter().find(|(name, _)| *name == folder).map_or(0, |(_, depth)| *depth);
            let starts =
                [("CARGO_MANIFEST_DIR", of_crate), ("repository()", 0), ("$here/", path.components().count() - 1)];
            let is_outside = |line: &&str| {
                starts
                    .iter()
                    .any(|(start, depth)| line.split_once(start).is_some_and(|(_, rest)| steps_up(rest) > *depth))
            };
            outside.extend(text.lines().filter(is_outside).map(|line| format!("{}: {}", path.display(), line.trim())));
        }
    }
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}

/// Returns how many folders the rest of a line goes up, up to the next variable.
fn steps_up(rest: &str) -> usize {
    let path = rest.split('$').next().unwrap_or(rest);
    ["../", "..\"", ".parent()"].iter().map(|step| path.matches(step).count()).sum()
}

#[test]
fn steps_out_of_the_repository_are_counted() {
    assert_eq!(steps_up(r#"")).parent()?.join("shared")"#), 1);
    assert_eq!(steps_up(r#"")).join("../shared")"#), 1);
    assert_eq!(steps_up(r#"../../../out" --seed "$here/../x""#), 3);
    assert_eq!(steps_up("tests/cases"), 0);
}
