//! The members of all classes as one compressed text, for the script of the HTML form.
//!
//! Each class is a list of lines after a line with its id, and an empty line ends it. A line has the length of the common
//! beginning with the line before as one character, and the rest of the name. Names have no line feed and no tab here, since
//! [`foreign::line`] writes them as escapes. A tab separates the subject from its namespaces, and `=` at the beginning of a
//! namespace is the name of the subject. Of many namespaces the first few are named, and the others are
//! counted. A line without a slash is a namespace without a subject.

use std::io::{self, BufWriter, Write};

use bailiwick_analysis::subject_classes::{ClassMember, ClassMembers, SubjectClass};
use bailiwick_workspace::words::grouped;
use bailiwick_yaml::diag::foreign;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The character for a common beginning of no length.
const ZERO: u8 = 0x30;

/// The longest common beginning, so that its length is a character of ASCII without `=`-like meaning in HTML.
const LONGEST: u8 = 0x4a;

/// How many namespaces of a member are named.
const MAXIMUM_NAMESPACES: usize = 20;

/// A list of the search.
pub(crate) struct SearchedList<'p> {
    /// The element with the names has the id `class-` with this number.
    pub(crate) id: usize,
    pub(crate) names: SearchedNames<'p>,
}

/// The names of a list of the search.
pub(crate) enum SearchedNames<'p> {
    /// Subjects with their namespaces.
    Members(&'p ClassMembers),
    /// Other names.
    Alone(Vec<&'p str>),
}

impl<'p> SearchedList<'p> {
    /// Returns the list of the members of a class.
    pub(crate) fn of_class(class: &'p SubjectClass) -> Self {
        Self { id: class.id, names: SearchedNames::Members(&class.members) }
    }
}

/// Returns the members of all lists: front-coded, deflated, and in base64.
pub(crate) fn block(lists: &[SearchedList<'_>]) -> String {
    // Each write to the encoder clears what is free of its buffer, so that the lines are collected first.
    let mut lines = BufWriter::new(DeflateEncoder::new(Vec::new(), Compression::best()));
    let written = write_lists(lists, &mut lines).and_then(|()| lines.into_inner()?.finish());
    // Writing into memory does not fail; without the block the page has the samples.
    written.map_or_else(|_| String::new(), |bytes| data_encoding::BASE64.encode(&bytes))
}

/// Writes the front-coded lists.
fn write_lists(lists: &[SearchedList<'_>], out: &mut impl Write) -> io::Result<()> {
    for list in lists {
        writeln!(out, "{}", list.id)?;
        let mut before = String::new();
        let mut write = |line: String| {
            let common = common_length(&before, &line);
            let tail: String = utf16_tail(&line, common).collect();
            before = line;
            writeln!(out, "{}{tail}", char::from(ZERO.saturating_add(common)))
        };
        match &list.names {
            SearchedNames::Members(members) => members.iter().try_for_each(|member| write(member_line(&member)))?,
            SearchedNames::Alone(names) => names.iter().try_for_each(|name| write(foreign::line(name).into_owned()))?,
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Returns the namespaces of a member that its line names.
pub(crate) fn named_namespaces<'m>(member: &ClassMember<'m>) -> impl Iterator<Item = &'m str> + use<'m> {
    member.namespaces().take(MAXIMUM_NAMESPACES)
}

fn member_line(member: &ClassMember<'_>) -> String {
    let subject = foreign::line(member.subject);
    let name = subject.rsplit_once('/').map_or(subject.as_ref(), |(_, name)| name);
    let mut line = subject.to_string();
    for namespace in named_namespaces(member) {
        let namespace = foreign::line(namespace);
        line.push('\t');
        match namespace.strip_prefix(name).filter(|_| !name.is_empty()) {
            Some(rest) => line.push_str(&format!("={rest}")),
            None => line.push_str(&namespace),
        }
    }
    let more = member.namespaces().len().saturating_sub(MAXIMUM_NAMESPACES);
    if more > 0 {
        line.push_str(&format!("\tand {} more", grouped(more)));
    }
    line
}

/// Returns the length of the common beginning of two lines in units of UTF-16, as the script counts, at most [`LONGEST`].
fn common_length(first: &str, second: &str) -> u8 {
    let mut length = 0;
    for (letter, _) in first.chars().zip(second.chars()).take_while(|(first, second)| first == second) {
        let units = if letter.len_utf16() == 1 { 1 } else { 2 };
        if length + units > LONGEST {
            break;
        }
        length += units;
    }
    length
}

/// Returns the characters after a number of units of UTF-16.
fn utf16_tail(text: &str, units: u8) -> impl Iterator<Item = char> {
    let mut before = 0;
    text.chars().skip_while(move |letter| {
        before += letter.len_utf16();
        before <= usize::from(units)
    })
}

#[cfg(test)]
mod tests {
    use bailiwick_analysis::subject_classes::Member;

    use super::*;

    #[test]
    fn lists_are_front_coded() {
        let member = |subject: &str, namespaces: &[&str]| Member {
            subject: subject.to_owned(),
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
        };
        let members: ClassMembers =
            [member("Group/team-1", &["team-1", "x"]), member("Group/team-2\n", &["y"])].into_iter().collect();
        let lists = [
            SearchedList { id: 7, names: SearchedNames::Members(&members) },
            SearchedList { id: 8, names: SearchedNames::Alone(vec!["x-1", "x-2"]) },
        ];
        assert_eq!(utf16_tail("a🦀b", common_length("a🦀c", "a🦀b")).collect::<String>(), "b");
        let mut text = Vec::new();
        write_lists(&lists, &mut text).expect("memory");
        assert_eq!(String::from_utf8_lossy(&text), "7\n0Group/team-1\t=\tx\n;2\\n\ty\n\n8\n0x-1\n22\n\n");
    }
}
