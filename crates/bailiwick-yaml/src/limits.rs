//! The limits of inputs: one table.
//!
//! A text above a limit is an error that names the limit, and never ends the program in another way. Sizes are in bytes.

/// The size of a file: an account list in CSV, a baseline, a file that the command line names, or standard input.
pub const MAXIMUM_FILE_SIZE: usize = 512 << 20;

/// The size of a YAML or JSON file of a workspace. Its tree takes several times as much.
pub const MAXIMUM_TREE_SIZE: usize = 64 << 20;

/// The size of a list in JSON that is read item by item: the dump of a live cluster.
pub const MAXIMUM_LIST_SIZE: u64 = 8 << 30;

/// The size of an index file.
pub const MAXIMUM_INDEX_SIZE: u64 = 4 << 30;

/// The size of the summary of a part.
pub const MAXIMUM_SUMMARY_SIZE: usize = 1 << 30;

/// The size of a template: ten times what the largest has. The engine reads its branches and operators one within the other.
pub const MAXIMUM_TEMPLATE_SIZE: usize = 64 << 10;

/// The size of an audit log, decompressed.
pub const MAXIMUM_LOG_SIZE: u64 = 64 << 30;

/// The longest line of an audit log, decompressed. The server accepts objects of 3 MiB, and a webhook batches 400 events.
pub const LONGEST_LOG_LINE: usize = 64 << 20;

/// How many bytes the cells of a line of an account list have: etcd takes no request of more than 1.5 MiB.
pub const LONGEST_TABLE_LINE: usize = 3 << 19;

/// The longest line of a question to `ask`.
pub const LONGEST_QUESTION: usize = 16 << 20;

/// The size of a message of an editor: twice the largest file of a workspace, since JSON escapes its text.
pub const MAXIMUM_MESSAGE_SIZE: usize = 2 * MAXIMUM_TREE_SIZE;

/// The longest header of a message of an editor.
pub const LONGEST_MESSAGE_HEADER: usize = 4 << 10;

/// The bytes of one pattern for paths or names.
pub const MAXIMUM_GLOB_SIZE: usize = 16 << 10;

/// How deep the braces of a glob nest. The library reads them one within the other.
pub const MAXIMUM_GLOB_DEPTH: usize = 10;

/// The memory of one compiled pattern of another author.
pub const LARGEST_PATTERN: usize = 1 << 20;

/// How many questions an AccessTest asks on a target, with one namespace of each class of namespaces and one of
/// several subjects with the same answers.
pub const MAXIMUM_QUESTIONS: usize = 1_000_000;

/// How deep collections may nest. Kubernetes objects need about twelve levels.
pub const MAXIMUM_DEPTH: usize = 100;

/// The most nodes added by the aliases of one file in total, against "billion laughs". A long string counts as a node
/// for every 256 bytes, since each copy of it may be written out.
pub const MAXIMUM_ALIASED_NODES: usize = 100_000;

/// The most reported problems of one text. A diagnostic takes a hundred times as much memory as the shortest text
/// that causes one.
pub const MAXIMUM_REPORTED: usize = 1_000;

/// How many links one path may lead over, as with the system's own limit.
pub const MAXIMUM_PATH_LINKS: usize = 40;

/// How many links to folders are followed below a folder: links to links multiply what is found.
pub const MAXIMUM_FOLDER_LINKS: usize = 256;

/// The size of a file of a repository with patterns: `.gitattributes` and `.sourceignore`.
pub const MAXIMUM_PATTERNS_SIZE: usize = 1 << 20;

/// How many pairs of a converting line of `.gitattributes` and an output file are compared.
pub const MAXIMUM_CONVERSIONS: usize = 5_000_000;

/// How many files and folders of a revision are read. A tree of git may have another tree many times, so that a small
/// repository has more entries than any disk.
pub const MAXIMUM_ENTRIES: usize = 4 << 20;

/// The size of the paths of a revision together.
pub const MAXIMUM_PATHS_SIZE: usize = 512 << 20;

/// The size of a file of git with one path, such as the `.git` file of a linked work tree.
pub const MAXIMUM_GIT_PATH_SIZE: u64 = 16 << 10;

/// The size of the configuration of a repository, and of the list of its references.
pub const MAXIMUM_GIT_CONFIGURATION_SIZE: u64 = 64 << 20;

/// Returns a size in the largest unit that has a whole number of it, such as `64 MiB`.
pub fn written_size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes >> shift > 0 && bytes.trailing_zeros() >= *shift);
    unit.map_or_else(|| format!("{bytes} bytes"), |(shift, name)| format!("{} {name}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::written_size;

    #[test]
    fn sizes_are_written_in_whole_units() {
        let sizes =
            [(8 << 30, "8 GiB"), (1536 << 20, "1536 MiB"), (64 << 10, "64 KiB"), (1000, "1000 bytes"), (0, "0 bytes")];
        for (bytes, written) in sizes {
            assert_eq!(written_size(bytes), written);
        }
    }
}
