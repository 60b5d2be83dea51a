//! Globs of policies for files below the folder of the policy.

use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use globset::GlobSet;

use crate::model::{Linker, RawDocument};
use crate::source::{Sources, glob};

/// The files that a glob matches.
pub(super) struct GlobMatches {
    /// The place of the glob.
    pub(super) origin: Origin,
    /// Whether the glob is the path of one file.
    pub(super) is_path: bool,
    /// The paths of the files from the root of the workspace, without the policy itself.
    pub(super) paths: Vec<String>,
}

/// Returns the files matched by the globs, sorted, each with its first glob; reports a glob without a match.
pub(super) fn matching_files(
    document: &RawDocument<'_>,
    globs: &[Spanned<String>],
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<(String, Origin)> {
    let matches = matches(document, globs, linker, sink);
    let found = matches.into_iter().flat_map(|found| found.paths.into_iter().map(move |path| (path, found.origin)));
    let mut found: Vec<(String, Origin)> = found.collect();
    found.sort();
    found.dedup_by(|(path, _), (earlier, _)| path == earlier);
    found
}

/// Returns the files that each glob matches; reports a glob without a match.
pub(super) fn matches(
    document: &RawDocument<'_>,
    globs: &[Spanned<String>],
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<GlobMatches> {
    let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let all = match linker.sources.list(folder, Some(document.meta.origin)) {
        Ok(all) => all,
        Err(error) => {
            sink.push(Diagnostic::error(codes::MISSING_FILE, error.message).at(document.meta.origin));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for glob in globs {
        let Some((resolved, matcher)) = matcher(document, glob, sink) else { continue };
        let Some(elsewhere) = files_above(&resolved, glob, linker, sink) else { continue };
        let is_path = !glob.value.contains(['*', '?', '[', '{', '\\']);
        let mut paths: Vec<String> = if is_path {
            let is_there = [&all, &elsewhere].iter().any(|listing| listing.binary_search(&resolved).is_ok());
            is_there.then_some(resolved).into_iter().collect()
        } else {
            all.iter().chain(&*elsewhere).filter(|path| matcher.is_match(path.as_str())).cloned().collect()
        };
        if paths.is_empty() {
            sink.push(
                Diagnostic::error(codes::MISSING_FILE, format!("no file matches `{}`", glob.value))
                    .at(glob.origin)
                    .help("write globs relative to the folder of this policy; `**` matches folders"),
            );
        }
        paths.retain(|path| path != document.path);
        found.push(GlobMatches { origin: glob.origin, is_path, paths });
    }
    found
}

/// Returns globs for paths from the root of the workspace; reports an invalid glob.
pub(super) fn matchers(document: &RawDocument<'_>, globs: &[Spanned<String>], sink: &mut Sink) -> Vec<GlobSet> {
    globs.iter().filter_map(|glob| matcher(document, glob, sink)).map(|(_, matcher)| matcher).collect()
}

/// Returns a glob as a path of the workspace, with its matcher; reports a glob that is invalid or leaves the workspace.
fn matcher(document: &RawDocument<'_>, written: &Spanned<String>, sink: &mut Sink) -> Option<(String, GlobSet)> {
    let Some(resolved) = Sources::resolve(document.path, written) else {
        sink.push(
            Diagnostic::error(codes::PATH_OUTSIDE, format!("`{}` leaves the workspace", written.value))
                .at(written.origin)
                .help("use files below the root of the workspace, relative to the folder of this policy"),
        );
        return None;
    };
    match glob::compile(&resolved, true).and_then(|glob| glob::set(&[glob])) {
        Ok(matcher) => Some((resolved, matcher)),
        Err(error) => {
            let message = format!("`{}` is not a glob: {error}", written.value);
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, message)
                    .at(written.origin)
                    .help("`*` matches a part of a name, `**` folders; close every `[` and `{`"),
            );
            None
        }
    }
}

/// Returns the files that a glob with `../` can match outside the folder of the policy; none after a reported error.
fn files_above(
    resolved: &str,
    glob: &Spanned<String>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Option<Arc<[String]>> {
    if !glob.starts_with("../") {
        return Some(Arc::from([]));
    }
    let base: Vec<&str> = resolved.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
    let base = base.join("/");
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    match linker.sources.list(folder, Some(glob.origin)) {
        Ok(paths) => Some(paths),
        Err(error) => {
            sink.push(Diagnostic::error(codes::MISSING_FILE, error.message).at(glob.origin));
            None
        }
    }
}
