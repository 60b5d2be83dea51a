//! One file of the output: where it is, what stands at its top.

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// How every file of ours begins.
const MADE_BY: &str = "# Made by Bailiwick from ";
const DO_NOT_EDIT: &str = ". Do not edit: change those and run `bailiwick render`.\n";
const CHECKSUM: &str = "# Checksum of the rest: ";

/// The path of the file that holds an object, relative to the target's folder: that of its owner's namespace, or of
/// its kind for cluster-scoped objects of nobody's own. A function of identity alone.
///
/// With `shards`, namespaces are spread over that many folders by a stable hash of their name, so that adding
/// tenants moves no file.
pub fn path(namespace: Option<&str>, kind: &str, shards: Option<u32>) -> String {
    match (namespace, shards) {
        (None, _) => format!("cluster/{}.yaml", kind.to_lowercase()),
        (Some(name), None) => format!("namespaces/{name}.yaml"),
        (Some(name), Some(shards)) => {
            let shard = xxh3_64(name.as_bytes()) % u64::from(shards.max(1));
            let digits = shards.saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1);
            let width = digits.max(2);
            format!("namespaces/{shard:0width$}/{name}.yaml")
        }
    }
}

/// The namespace whose file has a path; none for that of cluster-scoped objects, and for anything else.
pub fn namespace(path: &str) -> Option<&str> {
    path.strip_prefix("namespaces/")?.rsplit('/').next()?.strip_suffix(".yaml")
}

/// The whole text of a file: header, then the objects.
///
/// `sources` are the policies it comes from, sorted.
pub fn assemble<S: AsRef<str>>(sources: &[S], body: &str) -> String {
    with_heading(&heading(sources), body)
}

/// How a file that comes from these policies begins; what follows depends on its objects.
pub fn heading<S: AsRef<str>>(sources: &[S]) -> String {
    let mut text = MADE_BY.to_owned();
    for (index, source) in sources.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        // A line feed in a path would end the comment and begin YAML.
        text.extend(source.as_ref().chars().map(|letter| if letter.is_control() { '?' } else { letter }));
    }
    text.push_str(DO_NOT_EDIT);
    text.push_str(CHECKSUM);
    text
}

/// The whole text of a file with this [`heading`].
pub fn with_heading(heading: &str, body: &str) -> String {
    let mut file = Writer::new(heading, body.len());
    file.body().push_str(body);
    file.finish()
}

/// A file whose objects are still being written.
#[derive(Debug)]
pub struct Writer {
    text: String,
    /// Where the checksum stands: blanks, until the rest is known.
    checksum: usize,
}

/// How many digits a checksum has.
const CHECKSUM_LENGTH: usize = 32;

impl Writer {
    /// A file with this [`heading`], and with room for so many bytes of objects.
    pub fn new(heading: &str, room: usize) -> Self {
        let mut text = String::with_capacity(heading.len() + CHECKSUM_LENGTH + 1 + room);
        text.push_str(heading);
        text.push_str("                                \n");
        Self { text, checksum: heading.len() }
    }

    /// What the objects are appended to.
    pub fn body(&mut self) -> &mut String {
        &mut self.text
    }

    /// The whole text, with the checksum of what was appended.
    pub fn finish(mut self) -> String {
        let end = self.checksum + CHECKSUM_LENGTH;
        let body = self.text.get(end + 1..).unwrap_or_default();
        self.text.replace_range(self.checksum..end, &checksum(body));
        self.text
    }
}

fn checksum(body: &str) -> String {
    data_encoding::HEXLOWER.encode(&xxh3_128(body.as_bytes()).to_be_bytes())
}

/// The first line of a file of ours, and what stands below its header.
pub(super) fn parts(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once('\n')?;
    let (_, body) = rest.strip_prefix(CHECKSUM)?.split_once('\n')?;
    Some((head, body))
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// We wrote it, and it is as we wrote it.
    Ours,
    /// We wrote it, and somebody changed it.
    Edited,
    /// It is not ours.
    Foreign,
}

/// True for the path of a folder, relative to the target's, over which namespaces may be spread.
pub fn is_shard(folder: &str) -> bool {
    let is_number = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    folder.strip_prefix("namespaces/").is_some_and(is_number)
}

/// True for a path, relative to the target's folder, at which there may be a file of ours in one layout or another.
fn is_place(path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let is_name = |name: &str| name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    (matches!(folder, "cluster" | "namespaces") || is_shard(folder)) && name.strip_suffix(".yaml").is_some_and(is_name)
}

/// Reads the header of a file, which is at this path below the target's folder.
pub fn ownership(path: &str, bytes: &[u8]) -> Ownership {
    // Nothing at all is what a crash of the machine leaves of a new file. Elsewhere it is somebody's, such as a
    // `.gitkeep`.
    if bytes.is_empty() {
        return if is_place(path) { Ownership::Ours } else { Ownership::Foreign };
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ownership::Foreign;
    };
    let Some(rest) = text.strip_prefix(MADE_BY) else {
        return Ownership::Foreign;
    };
    let checked =
        rest.split_once('\n').and_then(|(_, rest)| rest.strip_prefix(CHECKSUM)).and_then(|rest| rest.split_once('\n'));
    match checked {
        Some((written, body)) if written == checksum(body) => Ownership::Ours,
        _ => Ownership::Edited,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_its_own_files_from_others() {
        const PATH: &str = "namespaces/a.yaml";
        let text = assemble(&["policies/a.yaml"], "kind: Role\n");
        assert_eq!(ownership(PATH, text.as_bytes()), Ownership::Ours);
        assert_eq!(ownership(PATH, text.replace("Role", "Rôle").as_bytes()), Ownership::Edited);
        assert_eq!(ownership(PATH, b"kind: Role\n"), Ownership::Foreign);
    }

    #[test]
    fn an_empty_file_is_ours_where_we_write() {
        for path in ["cluster/clusterrole.yaml", "namespaces/a.yaml", "namespaces/07/7-a.yaml"] {
            assert_eq!(ownership(path, b""), Ownership::Ours, "{path}");
        }
        let others = ["", ".gitkeep", "a.yaml", "cluster/.gitkeep", "cluster/.yaml", "cluster/1/a.yaml"];
        for path in others.into_iter().chain([
            "namespaces/x/a.yaml",
            "namespaces/a",
            "namespaces/.a.yaml",
            "namespaces//a.yaml",
        ]) {
            assert_eq!(ownership(path, b""), Ownership::Foreign, "{path}");
        }
    }

    #[test]
    fn a_path_cannot_open_a_line() {
        assert_eq!(assemble(&["a\nkind: X"], "").lines().count(), 2);
    }

    #[test]
    fn shards_are_stable() {
        assert_eq!(path(Some("tool-a"), "", Some(64)), "namespaces/10/tool-a.yaml");
        assert_eq!(path(Some("tool-a"), "", None), "namespaces/tool-a.yaml");
        assert_eq!(path(None, "ClusterRole", Some(64)), "cluster/clusterrole.yaml");
    }
}
