//! One output file: its path and its header.

use bailiwick_kubernetes::readers::{file_name, name_of_file};
use xxhash_rust::xxh3::xxh3_64;

/// The first line of every output file. Nothing of the workspace is ever written into a comment: a name with a line
/// break of YAML 1.1 would end the comment and begin an object.
pub const HEADER: &str = "# Made by Bailiwick. Do not edit: change the policies and run `bailiwick render`.\n";

/// The beginning of the first line in files of earlier versions, where policy paths followed.
const FORMER_HEADER: &str = "# Made by Bailiwick from ";

/// The beginning of the second line in files of earlier versions.
const FORMER_SECOND_LINE: &str = "# Checksum of the rest: ";

/// The beginning of the first line of a conflict, as git writes it.
const CONFLICT: &str = "<<<<<<< ";

/// Returns the path of the file that holds an object, relative to the target's folder: the file of the namespace of its
/// owner, or the file of its kind for cluster-scoped objects without an owner. The path depends on the identity alone.
///
/// With `shards`, namespaces are distributed over that many folders by a stable hash of their name, so adding tenants
/// moves no file. A name with a meaning to an applier gets an underscore at its end, which no namespace and no kind has.
pub fn path(namespace: Option<&str>, kind: &str, shards: Option<u32>) -> String {
    match (namespace, shards) {
        (None, _) => format!("cluster/{}", file_name(&kind.to_lowercase())),
        (Some(name), None) => format!("namespaces/{}", file_name(name)),
        (Some(name), Some(shards)) => {
            format!("{}/{}", shard(name, shards), file_name(name))
        }
    }
}

/// Returns the folder with the file of a namespace, relative to the target's folder, if namespaces are distributed over so
/// many folders: the number of the folder has as many digits as the greatest number, and at least two.
pub fn shard(namespace: &str, shards: u32) -> String {
    let shard = xxh3_64(namespace.as_bytes()) % u64::from(shards.max(1));
    let digits = shards.saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1);
    format!("namespaces/{shard:0width$}", width = digits.max(2))
}

/// Returns the namespace whose file has a path; none for the files of cluster-scoped objects and for other paths.
pub fn namespace(path: &str) -> Option<&str> {
    name_of_file(path.strip_prefix("namespaces/")?.rsplit('/').next()?)
}

/// Returns the whole text of a file: the header, then the objects.
pub fn assemble(body: &str) -> String {
    [HEADER, body].concat()
}

/// Splits the text of an output file, of this version or an earlier one, into its header and its objects.
pub(super) fn parts(text: &str) -> Option<(&str, &str)> {
    if let Some(body) = text.strip_prefix(HEADER) {
        return Some((HEADER, body));
    }
    let (head, rest) = text.split_once('\n').filter(|(head, _)| head.starts_with(FORMER_HEADER))?;
    let (_, body) = rest.strip_prefix(FORMER_SECOND_LINE)?.split_once('\n')?;
    Some((head, body))
}

/// Whether an earlier version wrote these bytes and this version writes the same objects below its own header.
pub fn differs_in_header_alone(old: &[u8], new: &str) -> bool {
    let old = std::str::from_utf8(old).ok().filter(|old| old.starts_with(FORMER_HEADER)).and_then(parts);
    old.is_some_and(|(_, body)| new.strip_prefix(HEADER) == Some(body))
}

/// The owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwnership {
    /// This program wrote it, whatever became of it since: it is in a place of the layout and bears a header.
    Ours,
    /// It is not ours, and is never overwritten or removed.
    Foreign,
}

/// Returns whether a path, relative to the target's folder, is a folder over which namespaces can be distributed.
pub fn is_shard(folder: &str) -> bool {
    let is_number = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    folder.strip_prefix("namespaces/").is_some_and(is_number)
}

/// Returns whether an output file can have a path, relative to the target's folder, in any layout.
pub fn is_place(path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let is_name = |name: &str| name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    (matches!(folder, "cluster" | "namespaces") || is_shard(folder)) && name.strip_suffix(".yaml").is_some_and(is_name)
}

/// Returns whose file this is, from its path below the target's folder and its bytes.
///
/// Beside whole files, those are ours that a crash of the machine or an unfinished merge leaves: the beginning of a
/// header, zero bytes, and a header below the marker of a conflict.
pub fn ownership(path: &str, bytes: &[u8]) -> FileOwnership {
    if is_place(path) && (bears_header(bytes) || is_torn(bytes)) { FileOwnership::Ours } else { FileOwnership::Foreign }
}

/// Returns whether a path, relative to the delivery folder, is the place of a delivery object: the folder of a target, the
/// folder of an applier, and a file.
pub fn is_delivery_place(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_name = |name: &str| name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    match [parts.next(), parts.next(), parts.next(), parts.next()] {
        [Some(target), Some("argocd" | "flux"), Some(name), None] => {
            is_name(target) && name.strip_suffix(".yaml").is_some_and(is_name)
        }
        _ => false,
    }
}

/// Returns whose file this is, from its path below the delivery folder and its bytes; see [`ownership`].
pub fn delivery_ownership(path: &str, bytes: &[u8]) -> FileOwnership {
    if is_delivery_place(path) && (bears_header(bytes) || is_torn(bytes)) {
        FileOwnership::Ours
    } else {
        FileOwnership::Foreign
    }
}

/// Whether a file is what a crash of the machine leaves of an output file: the beginning of the header, or zero bytes.
fn is_torn(bytes: &[u8]) -> bool {
    HEADER.as_bytes().starts_with(bytes) || bytes.iter().all(|byte| *byte == 0)
}

/// Whether a file begins with the header of this version or of an earlier one, if need be below the marker of a conflict.
pub fn bears_header(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let line = if first.starts_with(CONFLICT.as_bytes()) { lines.next().unwrap_or_default() } else { first };
    line == HEADER.trim_end().as_bytes() || line.starts_with(FORMER_HEADER.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "namespaces/a.yaml";
    const FORMER: &str = "# Made by Bailiwick from policies/a.yaml. Do not edit: change those and run `bailiwick render`.\n\
                          # Checksum of the rest: 00000000000000000000000000000000\n";

    #[test]
    fn a_header_in_a_place_makes_a_file_ours() {
        let text = assemble("kind: Role\n");
        let former = format!("{FORMER}kind: Role\n");
        let ours = [
            text.clone(),
            former.clone(),
            text.replace("Role", "RoleBinding"),
            text.replace('\n', "\r\n"),
            format!("<<<<<<< HEAD\n{text}=======\n{former}>>>>>>> other\n"),
            format!("<<<<<<< HEAD\n{former}"),
            "\0\0\0".to_owned(),
        ];
        for text in &ours {
            assert_eq!(ownership(PATH, text.as_bytes()), FileOwnership::Ours, "{text:?}");
            assert_eq!(ownership("a.yaml", text.as_bytes()), FileOwnership::Foreign, "{text:?}");
        }
        for end in 0..text.len() {
            assert_eq!(ownership(PATH, &text.as_bytes()[..end]), FileOwnership::Ours, "the first {end} bytes");
        }
        let foreign = [
            "kind: Role\n".to_owned(),
            format!("\u{feff}{text}"),
            format!("\n{text}"),
            format!(" {text}"),
            format!("<<<<<<< HEAD\n<<<<<<< HEAD\n{text}"),
            text.replacen(".\n", ". \n", 1),
            "# Made by hand\n".to_owned(),
            "\0\0a".to_owned(),
        ];
        for text in &foreign {
            assert_eq!(ownership(PATH, text.as_bytes()), FileOwnership::Foreign, "{text:?}");
        }
    }

    #[test]
    fn an_empty_file_is_ours_where_we_write() {
        for path in ["cluster/clusterrole.yaml", "namespaces/a.yaml", "namespaces/07/7-a.yaml"] {
            assert_eq!(ownership(path, b""), FileOwnership::Ours, "{path}");
        }
        let others = ["", ".gitkeep", "a.yaml", "cluster/.gitkeep", "cluster/.yaml", "cluster/1/a.yaml"];
        for path in others.into_iter().chain([
            "namespaces/x/a.yaml",
            "namespaces/a",
            "namespaces/.a.yaml",
            "namespaces//a.yaml",
        ]) {
            assert_eq!(ownership(path, b""), FileOwnership::Foreign, "{path}");
        }
    }

    #[test]
    fn only_the_header_of_an_earlier_version_is_overlooked() {
        let text = assemble("kind: Role\n");
        assert!(differs_in_header_alone(format!("{FORMER}kind: Role\n").as_bytes(), &text));
        assert!(!differs_in_header_alone(format!("{FORMER}kind: Roles\n").as_bytes(), &text));
        assert!(!differs_in_header_alone(text.as_bytes(), &text));
        let without_checksum = FORMER.lines().next().expect("a line");
        assert!(!differs_in_header_alone(format!("{without_checksum}\nkind: Role\n").as_bytes(), &text));
    }

    #[test]
    fn shards_are_stable() {
        assert_eq!(path(Some("tool-a"), "", Some(64)), "namespaces/10/tool-a.yaml");
        assert_eq!(path(Some("tool-a"), "", None), "namespaces/tool-a.yaml");
        assert_eq!(path(None, "ClusterRole", Some(64)), "cluster/clusterrole.yaml");
    }

    #[test]
    fn a_name_with_a_meaning_to_an_applier_gets_another_file() {
        assert_eq!(path(Some("kustomization"), "", None), "namespaces/kustomization_.yaml");
        assert_eq!(path(Some("cloudbuild"), "", Some(1)), "namespaces/00/cloudbuild_.yaml");
        assert_eq!(path(Some("con"), "", None), "namespaces/con_.yaml");
        assert_eq!(path(None, "Kustomization", None), "cluster/kustomization_.yaml");
        assert_eq!(path(None, "HelmChart", None), "cluster/helmchart.yaml");
        for name in ["kustomization", "con", "team-a"] {
            assert_eq!(namespace(&path(Some(name), "", Some(7))), Some(name));
            assert!(is_place(&path(Some(name), "", None)));
        }
    }
}
