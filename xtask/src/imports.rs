//! `cargo xtask imports`: the picture of imports between crates and modules.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use proc_macro2::{TokenStream, TokenTree};

use crate::repository::{File, Repository};

/// Print what each crate and each module of the root package imports
///
/// Reads the paths that begin with `crate::` or with the name of a crate of this repository. Modules with `->` in both
/// directions are a cycle, and are listed at the end.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print a graph for Graphviz, such as for `dot -Tsvg`
    #[arg(long)]
    dot: bool,
}

/// How often each unit names each other unit.
type Graph = BTreeMap<String, BTreeMap<String, usize>>;

/// Prints the picture.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let graph = graph(&Repository::read(root)?.files);
    if arguments.dot {
        println!("digraph imports {{");
        for (from, to) in &graph {
            println!("  \"{from}\";");
            for (to, count) in to {
                println!("  \"{from}\" -> \"{to}\" [label={count}];");
            }
        }
        println!("}}");
        return Ok(ExitCode::SUCCESS);
    }
    for (from, to) in &graph {
        let to: Vec<String> = to.iter().map(|(name, count)| format!("{name} {count}")).collect();
        println!("{from} -> {}", if to.is_empty() { "nothing".to_owned() } else { to.join(", ") });
    }
    for cycle in cycles(&graph) {
        println!("cycle: {}", cycle.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the crate or the module of the root package that a file belongs to; tests, `lib.rs` and `main.rs` belong to none.
fn unit(file: &File) -> Option<String> {
    let mut parts = file.path.split('/');
    match (parts.next()?, parts.next()?) {
        ("src", "lib.rs" | "main.rs") => None,
        ("src", module) => Some(module.strip_suffix(".rs").unwrap_or(module).to_owned()),
        ("crates", name) => (parts.next() == Some("src")).then(|| name.to_owned()),
        _ => None,
    }
}

/// Returns the crates that the root package re-exports, by the name of the module: `crate::access` is a crate.
fn reexports(files: &[File]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let library = files.iter().find(|file| file.path == "src/lib.rs");
    let Some(syntax) = library.and_then(|file| syn::parse_file(&file.text).ok()) else { return names };
    for item in &syntax.items {
        if let syn::Item::Use(item) = item
            && let syn::UseTree::Path(path) = &item.tree
            && path.ident.to_string().starts_with("bailiwick_")
        {
            leaves(&path.tree, &path.ident.to_string().replace('_', "-"), &mut names);
        } else if let syn::Item::Use(item) = item
            && let syn::UseTree::Rename(rename) = &item.tree
        {
            names.insert(rename.rename.to_string(), rename.ident.to_string().replace('_', "-"));
        }
    }
    names
}

/// Adds the names that a list of imports of one crate brings.
fn leaves(tree: &syn::UseTree, package: &str, names: &mut BTreeMap<String, String>) {
    match tree {
        syn::UseTree::Name(name) => {
            names.insert(name.ident.to_string(), package.to_owned());
        }
        syn::UseTree::Rename(rename) => {
            names.insert(rename.rename.to_string(), package.to_owned());
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, package, names)),
        syn::UseTree::Path(_) | syn::UseTree::Glob(_) => {}
    }
}

/// Reads the imports of the files.
fn graph(files: &[File]) -> Graph {
    let reexports = reexports(files);
    let units: BTreeSet<String> = files.iter().filter(|file| file.is_product()).filter_map(unit).collect();
    let mut graph: Graph = units.iter().map(|unit| (unit.clone(), BTreeMap::new())).collect();
    for file in files.iter().filter(|file| file.is_product()) {
        let (Some(from), Ok(tokens)) = (unit(file), file.text.parse::<TokenStream>()) else { continue };
        let is_root = file.path.starts_with("src/");
        let mut names = Vec::new();
        first_names(tokens, &mut names);
        for (head, name) in names {
            let to = match head.as_str() {
                "crate" if is_root => reexports.get(&name).cloned().unwrap_or(name),
                "crate" => continue,
                other if other.starts_with("bailiwick_") => other.replace('_', "-"),
                _ => continue,
            };
            if to != from && units.contains(&to) {
                *graph.entry(from.clone()).or_default().entry(to).or_default() += 1;
            }
        }
    }
    graph
}

/// Finds the paths with two parts or more: the first part, and each second part.
fn first_names(tokens: TokenStream, names: &mut Vec<(String, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => first_names(group.stream(), names),
            TokenTree::Ident(head) if is_colon(tokens.get(at + 1)) && is_colon(tokens.get(at + 2)) => {
                // The middle of a path is no beginning.
                if at > 1 && is_colon(tokens.get(at - 1)) && is_colon(tokens.get(at - 2)) {
                    continue;
                }
                match tokens.get(at + 3) {
                    Some(TokenTree::Ident(name)) => names.push((head.to_string(), name.to_string())),
                    Some(TokenTree::Group(group)) => {
                        let seconds = seconds(group.stream());
                        names.extend(seconds.into_iter().map(|name| (head.to_string(), name)));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// Returns the first name of each entry of a list of imports.
fn seconds(tokens: TokenStream) -> Vec<String> {
    let (mut seconds, mut begins) = (Vec::new(), true);
    for token in tokens {
        match token {
            TokenTree::Ident(name) if begins => {
                seconds.push(name.to_string());
                begins = false;
            }
            TokenTree::Punct(mark) if mark.as_char() == ',' => begins = true,
            _ => {}
        }
    }
    seconds
}

/// Returns the groups of units that reach each other.
fn cycles(graph: &Graph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|unit| (unit.as_str(), reach(graph, unit))).collect();
    let mut cycles = BTreeSet::new();
    for (unit, others) in &reached {
        let ring: Vec<String> = others
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(unit)))
            .map(|other| (*other).to_owned())
            .collect();
        if ring.len() > 1 {
            cycles.insert(ring);
        }
    }
    cycles.into_iter().collect()
}

fn reach<'g>(graph: &'g Graph, from: &str) -> BTreeSet<&'g str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(unit) = next.pop() {
        for to in graph.get(unit).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(to.as_str()) {
                next.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::{cycles, graph};
    use crate::repository::File;

    fn files(texts: &[(&str, &str)]) -> Vec<File> {
        texts.iter().map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() }).collect()
    }

    #[test]
    fn imports_are_read_in_lists_paths_and_macros() {
        let graph = graph(&files(&[
            ("src/lib.rs", "pub use bailiwick_access as access;\npub use bailiwick_yaml::{self as yaml, diag};\n"),
            ("src/report.rs", "use crate::diag::Code;\nuse crate::{access::World, yaml};\n"),
            ("crates/bailiwick-yaml/src/lib.rs", "\n"),
            ("src/cli.rs", "use crate::{app::run, yaml};\nuse bailiwick_access::World;\n"),
            ("src/app/open.rs", "fn f() { json!({ \"a\": crate::yaml::read() }); a::app::b(); }\n"),
            ("crates/bailiwick-access/src/lib.rs", "use crate::cli;\n"),
            ("tests/main.rs", "use bailiwick_access::World;\n"),
        ]));
        let lines: Vec<String> = graph.iter().map(|(from, to)| format!("{from} {to:?}")).collect();
        assert_eq!(
            lines,
            [
                "app {\"bailiwick-yaml\": 1}",
                "bailiwick-access {}",
                "bailiwick-yaml {}",
                "cli {\"app\": 1, \"bailiwick-access\": 1, \"bailiwick-yaml\": 1}",
                "report {\"bailiwick-access\": 1, \"bailiwick-yaml\": 2}",
            ]
        );
        assert_eq!(cycles(&graph), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_cycle_is_found() {
        let graph = graph(&files(&[
            ("src/a.rs", "use crate::b::B;\n"),
            ("src/b.rs", "use crate::c::C;\n"),
            ("src/c.rs", "use crate::a::A;\nuse crate::d::D;\n"),
            ("src/d.rs", "\n"),
        ]));
        assert_eq!(cycles(&graph), [["a", "b", "c"]]);
    }
}
