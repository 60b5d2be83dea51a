//! The built book: every link and fragment leads to something, the text of other pages leads to each page, and no page loads a file
//! from another host.
//!
//! The requests of scripts are not checked here: `tests/conformance/site` watches them in a browser.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use walkdir::WalkDir;

use super::html::{Page, Reference, Use, style_references};

/// The page at the root.
const FIRST: &str = "index.html";
/// The frame with the table of contents, for readers without scripts. Every page has it.
const CONTENTS: &str = "toc.html";

/// The files of a built book, by their paths from its root.
#[derive(Debug, Default)]
pub(super) struct Site {
    pages: BTreeMap<String, Page>,
    styles: BTreeMap<String, Vec<Reference>>,
    /// Every file, pages included.
    files: BTreeSet<String>,
}

/// The target of a URL.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// A file of the book by its path from the root, and a fragment without `#`.
    File { path: String, fragment: String },
    /// A page of another host.
    OtherHost,
    /// A `data:` URL.
    Data,
    /// A path outside the book, or from the root of the host.
    Outside,
    /// Another scheme, such as `javascript:`.
    OtherScheme,
}

impl Site {
    /// Reads a built book.
    ///
    /// # Errors
    /// When the folder or a file cannot be read.
    pub(super) fn read(book: &Path) -> io::Result<Self> {
        let mut site = Self::default();
        for entry in WalkDir::new(book).sort_by_file_name() {
            let entry = entry?;
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(book).map_err(io::Error::other)?;
                site.add(&path.to_string_lossy().replace('\\', "/"), &std::fs::read(entry.path())?);
            }
        }
        Ok(site)
    }

    fn add(&mut self, path: &str, content: &[u8]) {
        let text = String::from_utf8_lossy(content);
        if path.ends_with(".html") {
            self.pages.insert(path.to_owned(), Page::read(&text));
        } else if path.ends_with(".css") {
            self.styles.insert(path.to_owned(), style_references(&text));
        }
        self.files.insert(path.to_owned());
    }

    /// Returns the faults, one line each.
    pub(super) fn findings(&self) -> Vec<String> {
        let mut findings = BTreeSet::new();
        let pages = self.pages.iter().map(|(path, page)| (path, &page.references));
        for (path, references) in pages.chain(&self.styles) {
            for reference in references {
                if let Some(fault) = self.fault(path, reference) {
                    findings.insert(format!("{path}: `{}` {fault}", reference.url));
                }
            }
        }
        let reached = self.reached();
        let lost = self.pages.keys().filter(|path| *path != CONTENTS && !reached.contains(path.as_str()));
        findings.extend(lost.map(|path| format!("{path}: the text of no other page leads to it")));
        findings.into_iter().collect()
    }

    /// Describes the size of the book.
    pub(super) fn summary(&self) -> String {
        let references: usize = self.pages.values().map(|page| page.references.len()).sum();
        format!("{} pages with {references} links, images and scripts", self.pages.len())
    }

    /// Returns the fault of a reference.
    fn fault(&self, page: &str, reference: &Reference) -> Option<&'static str> {
        match Target::parse(page, &reference.url) {
            Target::OtherHost if reference.used_as == Use::Loaded => Some("is loaded from another host"),
            Target::OtherHost | Target::Data => None,
            Target::Outside => Some("leads out of the book"),
            Target::OtherScheme => Some("has a scheme that no page needs"),
            Target::File { path, fragment } => {
                let Some(file) = self.file(&path) else { return Some("leads to no file") };
                let is_there = |page: &Page| fragment.is_empty() || page.anchors.contains(&fragment);
                self.pages.get(file).is_some_and(|page| !is_there(page)).then_some("leads to no element of the page")
            }
        }
    }

    /// Returns the file that a server sends for a path: a folder has a first page.
    fn file(&self, path: &str) -> Option<&str> {
        let first = if path.is_empty() { FIRST.to_owned() } else { format!("{}/{FIRST}", path.trim_end_matches('/')) };
        self.files.get(path).or_else(|| self.files.get(&first)).map(String::as_str)
    }

    /// Returns the pages that a reader reaches from the first page by links in the text.
    fn reached(&self) -> BTreeSet<&str> {
        let mut reached = BTreeSet::from([FIRST]);
        let mut open = vec![FIRST];
        while let Some(path) = open.pop() {
            let references = self.pages.get(path).into_iter().flat_map(|page| &page.references);
            for reference in references.filter(|reference| reference.used_as == Use::Text) {
                let Target::File { path: target, .. } = Target::parse(path, &reference.url) else { continue };
                if let Some(file) = self.file(&target)
                    && reached.insert(file)
                {
                    open.push(file);
                }
            }
        }
        reached
    }
}

impl Target {
    /// Returns the target of a URL in a file of the book.
    fn parse(file: &str, url: &str) -> Self {
        let (rest, fragment) = url.split_once('#').map_or((url, ""), |(rest, fragment)| (rest, fragment));
        let scheme = rest.split_once(':').map(|(scheme, _)| scheme);
        let is_scheme = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match scheme.filter(|scheme| is_scheme(scheme)).map(str::to_ascii_lowercase).as_deref() {
            Some("http" | "https") => return Self::OtherHost,
            Some("data") => return Self::Data,
            Some(_) => return Self::OtherScheme,
            None if rest.starts_with("//") => return Self::OtherHost,
            None if rest.starts_with('/') => return Self::Outside,
            None => {}
        }
        let path = decoded(rest.split('?').next().into_iter().collect::<String>().as_str());
        let path = if path.is_empty() { Some(file.to_owned()) } else { joined(file, &path) };
        path.map_or(Self::Outside, |path| Self::File { path, fragment: decoded(fragment) })
    }
}

/// Returns the path of a target, seen from a file; none for a path outside the book.
fn joined(file: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns a text with its percent-encoded bytes as bytes.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, further @ ..] = rest {
        let encoded = match further {
            [high, low, after @ ..] if *first == b'%' => hexadecimal(*high, *low).map(|byte| (byte, after)),
            _ => None,
        };
        let (byte, after) = match encoded {
            Some(encoded) => encoded,
            None => (*first, further),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the byte of two hexadecimal digits.
fn hexadecimal(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let mut site = Site::default();
        files.iter().for_each(|(path, text)| site.add(path, text.as_bytes()));
        site.findings()
    }

    #[test]
    fn a_whole_book_has_no_findings() {
        let first = "<link rel=stylesheet href='a.css'><main><a href='kinds/b.html#fields%2d1'>b</a> <a href='#here'>c</a>\
            <a href='kinds/'>d</a><h1 id=here>e</h1><a href='https://example.org/x'>f</a></main>";
        let other = "<main><h2 id=fields-1>a</h2><img src='../a.svg?v=1'><a href='../index.html'>b</a></main>";
        let kinds = "<main>a</main>";
        let style = "@font-face { src: url('a.woff2'), url(data:x) }";
        let files = [
            ("index.html", first),
            ("kinds/b.html", other),
            ("kinds/index.html", kinds),
            ("toc.html", "<a href='kinds/b.html'>b</a>"),
            ("a.css", style),
            ("a.svg", ""),
            ("a.woff2", ""),
        ];
        assert_eq!(findings(&files), Vec::<String>::new());
    }

    #[test]
    fn faults_of_links_are_found() {
        let first = "<main><a href='b.html'>a</a><a href='b.html#gone'>b</a><a href='../c.html'>c</a><a href='/d.html'>d</a>\
            <a href='javascript:x()'>e</a><a href='f.json'>f</a></main>";
        let expected = [
            "index.html: `../c.html` leads out of the book",
            "index.html: `/d.html` leads out of the book",
            "index.html: `b.html#gone` leads to no element of the page",
            "index.html: `f.json` leads to no file",
            "index.html: `javascript:x()` has a scheme that no page needs",
        ];
        assert_eq!(findings(&[("index.html", first), ("b.html", "<main></main>")]), expected);
    }

    #[test]
    fn a_file_of_another_host_is_found() {
        let first = "<script src='//cdn.example.org/a.js'></script><img srcset='https://example.org/a.png 2x'>\
            <style>@import 'https://example.org/a.css';</style><p style='background: url(http://example.org/b.png)'>a</p>";
        let style = "@font-face { src: url(https://fonts.example.org/a.woff2) }";
        let found = findings(&[("index.html", first), ("a.css", style)]);
        let urls = [
            ("a.css", "https://fonts.example.org/a.woff2"),
            ("index.html", "//cdn.example.org/a.js"),
            ("index.html", "http://example.org/b.png"),
            ("index.html", "https://example.org/a.css"),
            ("index.html", "https://example.org/a.png"),
        ];
        assert_eq!(found, urls.map(|(path, url)| format!("{path}: `{url}` is loaded from another host")));
    }

    #[test]
    fn a_page_without_a_link_to_it_is_found() {
        let first = "<main><a href='#'>a</a></main><nav><a href='b.html'>b</a></nav>";
        assert_eq!(
            findings(&[("index.html", first), ("b.html", "")]),
            ["b.html: the text of no other page leads to it"]
        );
    }
}
