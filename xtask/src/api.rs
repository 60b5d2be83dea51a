//! `cargo xtask api`: the public items of each library crate, as a committed list.
//!
//! A change of a public API is a change of `crates/NAME/api.txt` in the diff of a review. The list is read from the source text:
//! modules that are public from the crate root on, their items with signatures, and the methods of their types. Items that a
//! macro declares and implementations of traits are left out.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quote::ToTokens;
use syn::{Attribute, ImplItem, Item, TraitItem, Visibility};

/// Compare the public items of each library crate with crates/NAME/api.txt
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write the lists
    #[arg(long)]
    update: bool,
}

/// Compares or writes the lists.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        folders.push(entry?.path());
    }
    folders.sort();
    let mut is_current = true;
    for folder in folders {
        let list = list(&folder)?;
        let path = folder.join("api.txt");
        if arguments.update {
            fs::write(&path, &list)?;
            continue;
        }
        let committed = if path.exists() { fs::read_to_string(&path)? } else { String::new() };
        for line in differences(&committed, &list) {
            println!(
                "{}: {line}",
                folder.file_name().map(|name| name.to_string_lossy()).into_iter().collect::<String>()
            );
            is_current = false;
        }
    }
    if is_current {
        return Ok(ExitCode::SUCCESS);
    }
    println!("the public API differs from the committed list: review the change, and run `cargo xtask api --update`");
    Ok(ExitCode::FAILURE)
}

/// Returns the lines that only one of two lists has, with `-` and `+`.
fn differences(old: &str, new: &str) -> Vec<String> {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (old.lines().collect(), new.lines().collect());
    let gone = old.difference(&new).map(|line| format!("- {line}"));
    gone.chain(new.difference(&old).map(|line| format!("+ {line}"))).collect()
}

/// Returns the public items of a crate, sorted, one a line.
fn list(folder: &Path) -> io::Result<String> {
    let mut lister = Lister { lines: BTreeSet::new() };
    lister.file(&folder.join("src/lib.rs"), "")?;
    Ok(lister.lines.iter().map(|line| format!("{line}\n")).collect())
}

struct Lister {
    lines: BTreeSet<String>,
}

impl Lister {
    /// Reads the file of a module with a path such as `decide::` and adds its public items.
    fn file(&mut self, path: &Path, module: &str) -> io::Result<()> {
        let text = fs::read_to_string(path)?;
        let file = syn::parse_file(&text).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        self.items(&file.items, path, module)
    }

    fn items(&mut self, items: &[Item], path: &Path, module: &str) -> io::Result<()> {
        for item in items {
            match item {
                Item::Mod(inner) if is_public(&inner.vis) && !is_test(&inner.attrs) => {
                    let name = format!("{module}{}::", inner.ident);
                    match &inner.content {
                        Some((_, items)) => self.items(items, path, &name)?,
                        None => self.file(&module_file(path, &inner.ident.to_string()), &name)?,
                    }
                }
                // An implementation in a private module belongs to a type that is public elsewhere.
                Item::Mod(inner) if inner.content.is_none() && !is_test(&inner.attrs) => {
                    let path = module_file(path, &inner.ident.to_string());
                    let text = fs::read_to_string(&path)?;
                    let file = syn::parse_file(&text).map_err(io::Error::other)?;
                    let exported = exports(items, &inner.ident.to_string());
                    for item in &file.items {
                        match item {
                            Item::Impl(block) => self.methods(block, module),
                            other if name_of(other).is_some_and(|name| exported.contains(&name)) => {
                                self.item(other, module);
                            }
                            _ => {}
                        }
                    }
                }
                Item::Impl(block) => self.methods(block, module),
                other => self.item(other, module),
            }
        }
        Ok(())
    }

    /// Adds an item if it is public.
    fn item(&mut self, item: &Item, module: &str) {
        match item {
            Item::Fn(function) if is_public(&function.vis) => {
                self.add(format!("fn {module}{}", text(&function.sig).trim_start_matches("fn ")));
            }
            Item::Const(item) if is_public(&item.vis) => {
                self.add(format!("const {module}{}: {}", item.ident, text(&item.ty)))
            }
            Item::Static(item) if is_public(&item.vis) => {
                self.add(format!("static {module}{}: {}", item.ident, text(&item.ty)));
            }
            Item::Type(item) if is_public(&item.vis) => {
                self.add(format!("type {module}{}{} = {}", item.ident, text(&item.generics), text(&item.ty)));
            }
            Item::Struct(item) if is_public(&item.vis) => {
                self.add(format!("struct {module}{}{}", item.ident, text(&item.generics)));
                for (number, field) in item.fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis)) {
                    let name = field.ident.as_ref().map_or_else(|| number.to_string(), ToString::to_string);
                    self.add(format!("field {module}{}.{name}: {}", item.ident, text(&field.ty)));
                }
            }
            Item::Enum(item) if is_public(&item.vis) => {
                self.add(format!("enum {module}{}{}", item.ident, text(&item.generics)));
                for variant in &item.variants {
                    self.add(format!("variant {module}{}::{}{}", item.ident, variant.ident, text(&variant.fields)));
                }
            }
            Item::Trait(item) if is_public(&item.vis) => {
                self.add(format!("trait {module}{}{}", item.ident, text(&item.generics)));
                for function in item.items.iter().filter_map(|item| match item {
                    TraitItem::Fn(function) => Some(function),
                    _ => None,
                }) {
                    self.add(format!("fn {module}{}::{}", item.ident, text(&function.sig).trim_start_matches("fn ")));
                }
            }
            Item::Use(item) if is_public(&item.vis) => self.add(format!("use {module}{}", text(&item.tree))),
            Item::Macro(item) if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) => {
                self.add(format!("macro {}", item.ident.iter().map(ToString::to_string).collect::<String>()));
            }
            _ => {}
        }
    }

    /// Adds the public methods and constants of an implementation that is of no trait.
    fn methods(&mut self, block: &syn::ItemImpl, module: &str) {
        if block.trait_.is_some() || is_test(&block.attrs) {
            return;
        }
        let owner = text(&block.self_ty);
        for item in &block.items {
            match item {
                ImplItem::Fn(function) if is_public(&function.vis) => {
                    self.add(format!("fn {module}{owner}::{}", text(&function.sig).trim_start_matches("fn ")));
                }
                ImplItem::Const(item) if is_public(&item.vis) => {
                    self.add(format!("const {module}{owner}::{}: {}", item.ident, text(&item.ty)));
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, line: String) {
        self.lines.insert(line);
    }
}

/// Returns the name of a public type.
fn public_type(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) if is_public(&item.vis) => Some(item.ident.to_string()),
        Item::Enum(item) if is_public(&item.vis) => Some(item.ident.to_string()),
        _ => None,
    }
}

/// Returns the name of an item with a name.
fn name_of(item: &Item) -> Option<String> {
    match item {
        Item::Const(item) => Some(item.ident.to_string()),
        Item::Fn(item) => Some(item.sig.ident.to_string()),
        Item::Static(item) => Some(item.ident.to_string()),
        Item::Trait(item) => Some(item.ident.to_string()),
        Item::Type(item) => Some(item.ident.to_string()),
        other => public_type(other),
    }
}

/// Returns the names that public `use` items take from a private module.
fn exports(items: &[Item], module: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in items {
        if let Item::Use(item) = item
            && is_public(&item.vis)
        {
            let path = text(&item.tree);
            let Some(rest) =
                path.trim_start_matches("self::").strip_prefix(module).and_then(|rest| rest.strip_prefix("::"))
            else {
                continue;
            };
            names.extend(rest.trim_matches(['{', '}', ' ']).split(',').map(|name| name.trim().to_owned()));
        }
    }
    names
}

/// Returns the file of a module that the file at `path` declares.
fn module_file(path: &Path, name: &str) -> PathBuf {
    let folder = path.with_extension("");
    let folder = if path.ends_with("lib.rs") { path.parent().map(Path::to_path_buf) } else { Some(folder) };
    folder.into_iter().map(|folder| folder.join(format!("{name}.rs"))).collect()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") && text(&attribute.meta).contains("test"))
}

/// Returns tokens as text, with the spaces of ordinary code.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (written, shown) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        ("& ", "&"),
        (" ,", ","),
        (" ;", ";"),
        (" : ", ": "),
        (" < ", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("->", " -> "),
        ("  ", " "),
        (",)", ")"),
        ("' ", "'"),
    ] {
        text = text.replace(written, shown);
    }
    text.replace("->(", "-> (").replace("- >", " ->").replace("  ", " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Lister, differences};

    fn listed(source: &str) -> Vec<String> {
        let file = syn::parse_file(source).expect("Rust");
        let mut lister = Lister { lines: std::collections::BTreeSet::new() };
        lister.items(&file.items, std::path::Path::new("src/lib.rs"), "").expect("no files");
        lister.lines.into_iter().collect()
    }

    #[test]
    fn public_items_are_listed_with_signatures() {
        let source = "pub struct A<'a> { pub x: &'a str, y: u8 } impl A<'_> { pub fn f(&self, n: u32) -> Result<u8, E> { } fn g() {} }
            pub enum E { One, Two(u8) } pub mod m { pub const C: u8 = 1; const D: u8 = 2; } fn private() {}
            #[cfg(test)] pub mod tests { pub fn t() {} }";
        let expected = [
            "const m::C: u8",
            "enum E",
            "field A.x: &'a str",
            "fn A<'_>::f(&self, n: u32) -> Result<u8, E>",
            "struct A<'a>",
            "variant E::One",
            "variant E::Two(u8)",
        ];
        assert_eq!(listed(source), expected);
    }

    #[test]
    fn a_change_is_a_difference() {
        assert_eq!(differences("a\nb\n", "a\nb\n"), Vec::<String>::new());
        assert_eq!(differences("a\nb\n", "a\nc\n"), ["- b", "+ c"]);
    }
}
