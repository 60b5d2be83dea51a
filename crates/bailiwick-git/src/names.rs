//! The references that a revision names.
//!
//! Git takes the first reference with a short name: a tag before a branch, and both before the branch of a remote. The author
//! of a change can push a tag or a branch, so that a short name with several commits is an error here.

use bailiwick_yaml::diag::RunError;

use super::Repository;

/// The beginning of the full name of a reference.
const FULL: &str = "refs/";

/// The fewest digits of an object id that git takes for one.
const FEWEST_DIGITS: usize = 4;

/// The number of digits of a whole object id.
const ALL_DIGITS: [usize; 2] = [40, 64];

/// The references that a revision can name.
pub(super) enum Named {
    /// Git finds the revision: the name leads to one commit, or is no reference.
    ForGit,
    /// A full name of a reference that is not there. Git would take a tag of that name.
    Absent,
}

impl Repository {
    /// Finds the references that a revision names.
    ///
    /// # Errors
    /// When its name leads to different commits, or git does not read the repository.
    pub(super) fn references(&self, revision: &str) -> Result<Named, RunError> {
        let name = name(revision);
        if name.is_empty() || name == "@" || is_whole_id(name) || self.is_of_git(name) {
            return Ok(Named::ForGit);
        }
        if name.starts_with(FULL) {
            let is_there = !self.existing(&[name.to_owned()])?.is_empty();
            return Ok(if is_there { Named::ForGit } else { Named::Absent });
        }
        let references = self.existing(&candidates(name))?;
        let Some((first, others)) = references.split_first() else { return Ok(Named::ForGit) };
        let commit = self.peeled(first)?;
        for other in others {
            if self.peeled(other)? != commit {
                let example = references.iter().rfind(|name| name.starts_with("refs/remotes/"));
                return Err(ambiguous(name, [first, other], example.map_or(other, |example| example)));
            }
        }
        for id in self.abbreviated(name)? {
            let found = self.peeled(&id)?;
            if found.is_some() && found != commit {
                return Err(ambiguous(name, [first, &id], first));
            }
        }
        Ok(Named::ForGit)
    }

    /// Whether a name is a file of git itself, such as `HEAD`, which git takes before every reference.
    fn is_of_git(&self, name: &str) -> bool {
        let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        name.bytes().all(is_letter) && self.git_dir.join(name).symlink_metadata().is_ok()
    }

    /// Returns the references with these full names that exist, in the order of the names.
    fn existing(&self, names: &[String]) -> Result<Vec<String>, RunError> {
        let head = ["for-each-ref", "--format=%(refname)"];
        let arguments: Vec<&str> = head.into_iter().chain(names.iter().map(String::as_str)).collect();
        let found = self.answer(&arguments)?.ok_or_else(|| self.not_read())?;
        let found = String::from_utf8_lossy(&found);
        // Git lists the references below a name, too.
        let is_there = |name: &&String| found.lines().any(|line| line == name.as_str());
        Ok(names.iter().filter(is_there).cloned().collect())
    }

    /// Returns the ids of the objects whose abbreviation a name is, or ends with as in the output of `git describe`.
    fn abbreviated(&self, name: &str) -> Result<Vec<String>, RunError> {
        let digits = name.rsplit_once("-g").map_or(name, |(_, digits)| digits);
        if digits.len() < FEWEST_DIGITS || !is_hexadecimal(digits) {
            return Ok(Vec::new());
        }
        let found = self.answer(&["rev-parse", &format!("--disambiguate={digits}")])?;
        let found = found.map(|ids| String::from_utf8_lossy(&ids).lines().map(str::to_owned).collect());
        Ok(found.into_iter().flat_map(|ids: Vec<String>| ids).collect())
    }
}

/// Returns the name at the start of a revision, without steps to ancestors, an entry of the log, and a path.
fn name(revision: &str) -> &str {
    let end = revision.find(['~', '^', ':']).into_iter().chain(revision.find("@{")).min();
    end.and_then(|end| revision.get(..end)).map_or(revision, |name| name)
}

/// Returns the references that git takes for a short name, in its order.
fn candidates(name: &str) -> [String; 5] {
    [
        format!("refs/{name}"),
        format!("refs/tags/{name}"),
        format!("refs/heads/{name}"),
        format!("refs/remotes/{name}"),
        format!("refs/remotes/{name}/HEAD"),
    ]
}

fn is_whole_id(name: &str) -> bool {
    ALL_DIGITS.contains(&name.len()) && is_hexadecimal(name)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn ambiguous(name: &str, [one, other]: [&str; 2], example: &str) -> RunError {
    RunError::new(format!("the revision `{name}` is ambiguous: `{one}` and `{other}` are different commits"))
        .help(format!("write the full name, such as `{example}`"))
}
