//! A tree with open scalars, to be filled in again and again.

use super::tree::{NodeId, NodeRef, NodeValue, Tree};

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

    #[test]
    fn the_last_values_are_in_the_tree() {
        let tree = yaml::read("a: one\nb: [x, two]\nc: 3\n", FileId::default(), &mut Sink::new());
        let root = tree.document(0).expect("a document");
        let nodes: Vec<NodeId> = ["c", "a"].iter().map(|key| root.get(key).expect("the key").id()).collect();
        let mut blank = Blank::new(&tree, nodes);
        for (number, word, expected) in
            [("7", "y", "a: \"y\"\nb:\n- x\n- two\nc: 7\n"), ("8", "z", "a: z\nb:\n- x\n- two\nc: 8\n")]
        {
            blank.fill([(number, true), (word, false)].into_iter());
            let mut text = String::new();
            blank.tree().document(0).into_iter().for_each(|root| yaml::write::document(root, &mut text));
            assert_eq!(text, expected);
        }
        assert_eq!(blank.scalar(1).and_then(NodeRef::as_str), Some("z"));
        assert!(blank.scalar(2).is_none());
    }
}
