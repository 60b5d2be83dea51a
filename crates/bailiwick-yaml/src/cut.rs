//! Documents without some of their scalars, as text and as trees, to be filled in again and again.

use super::tree::{NodeId, NodeRef, NodeValue, Tree};
use super::write;
use crate::internal;

/// The text of a document with holes in place of some scalars.
#[derive(Debug, Clone)]
pub struct Cut {
    literal: String,
    /// The places of the holes in the literal, each with the number of its scalar, in order.
    places: Vec<(u32, u32)>,
}

impl Cut {
    /// Writes a document without the scalars at some nodes; none if one of the nodes is not written exactly once.
    pub fn new(root: NodeRef<'_>, nodes: &[NodeId]) -> Option<Self> {
        // A word written without quotes everywhere, and improbable in a text.
        const MARK: &str = "bailiwick-hole-";
        let mut tree = root.tree().clone();
        for (index, node) in nodes.iter().enumerate() {
            tree.set_string(*node, &format!("{MARK}{index:05}-x"));
        }
        let mut text = String::new();
        write::document(tree.at(root.id()), &mut text);
        let mut parts = text.split(MARK);
        let mut cut = Self { literal: parts.next()?.to_owned(), places: Vec::with_capacity(nodes.len()) };
        let mut found = vec![false; nodes.len()];
        for part in parts {
            let (index, after) = part.split_once("-x")?;
            let index = index.parse::<usize>().ok().filter(|_| index.len() == 5)?;
            let found = found.get_mut(index).filter(|found| !**found)?;
            *found = true;
            cut.places.push((u32::try_from(cut.literal.len()).ok()?, u32::try_from(index).ok()?));
            cut.literal.push_str(after);
        }
        found.iter().all(|found| *found).then_some(cut)
    }

    /// Writes the document with scalars; `write` writes the scalar of a number.
    pub fn fill(&self, out: &mut String, mut write: impl FnMut(usize, &mut String)) {
        let mut start = 0;
        for &(place, scalar) in &self.places {
            out.push_str(internal::slice(&self.literal, start..place as usize));
            write(scalar as usize, out);
            start = place as usize;
        }
        out.push_str(internal::slice(&self.literal, start..));
    }
}

/// A tree with some open scalars.
#[derive(Debug, Clone)]
pub struct Blank {
    tree: Tree,
    /// How long the strings of the tree are without any value filled in.
    strings: usize,
    nodes: Vec<NodeId>,
}

impl Blank {
    /// Copies a tree with some nodes open.
    pub fn new(tree: &Tree, nodes: Vec<NodeId>) -> Self {
        Self { strings: tree.string_bytes(), tree: tree.clone(), nodes }
    }

    /// Puts a value into each node, in the order they were given in: its text, and whether it is a whole number.
    pub fn fill<'v>(&mut self, values: impl Iterator<Item = (&'v str, bool)>) {
        self.tree.forget_strings(self.strings);
        for (&node, (text, is_number)) in self.nodes.iter().zip(values) {
            match text.parse() {
                Ok(number) if is_number => self.tree.set(node, NodeValue::Int(number)),
                _ => self.tree.set_string(node, text),
            }
        }
    }

    /// Returns the tree with the last scalars.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the last scalar of a node.
    pub fn scalar(&self, index: usize) -> Option<NodeRef<'_>> {
        self.nodes.get(index).map(|node| self.tree.at(*node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate as yaml;
    use crate::diag::{FileId, Sink};

    /// The text of a document with the strings at `keys` put in anew.
    fn filled(text: &str, keys: &[&str], values: &[&str]) -> Option<String> {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        let root = tree.document(0).expect("a document");
        let nodes: Vec<NodeId> = keys.iter().map(|key| root.get(key).expect("the key").id()).collect();
        let cut = Cut::new(root, &nodes)?;
        let mut out = String::new();
        cut.fill(&mut out, |index, out| write::string(values.get(index).expect("a value"), out));
        assert_eq!(cut.places.len(), keys.len());
        Some(out)
    }

    #[test]
    fn scalars_are_put_where_they_were_in_any_order() {
        let text = "a: one\nb: [x, two]\nc: three\n";
        assert_eq!(filled(text, &["c", "a"], &["3", "y"]).as_deref(), Some("a: \"y\"\nb:\n- x\n- two\nc: \"3\"\n"));
        assert_eq!(filled(text, &[], &[]).as_deref(), Some("a: one\nb:\n- x\n- two\nc: three\n"));
    }

    #[test]
    fn a_text_that_looks_like_a_place_is_none() {
        assert_eq!(filled("a: one\nb: bailiwick-hole-00000-x\n", &["a"], &["two"]), None);
        assert_eq!(filled("a: one\nb: bailiwick-hole-7\n", &["a"], &["two"]), None);
    }
}
