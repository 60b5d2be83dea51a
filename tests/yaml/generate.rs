//! Random YAML, the same on every machine: a small generator of numbers, texts built from pieces of the grammar,
//! and bytes changed afterwards so that the border between accepted and refused is hit from both sides.

use crate::random::Random;

const KEYS: [&str; 24] = [
    "a",
    "b",
    "name",
    "metadata",
    "apiVersion",
    "x.y/z",
    "k-8s",
    "_",
    "'q'",
    "\"q\"",
    "\"a\\nb\"",
    "'it''s'",
    "a b",
    "1",
    "y",
    "null",
    "<<",
    "*x",
    "$ref",
    ".dot",
    "/path",
    "a:b",
    "-x",
    "é",
];

const PLAIN: [&str; 54] = [
    "x",
    "pods",
    "two words",
    "a:b",
    "http://x/y",
    "a#b",
    "x #y",
    "1",
    "010",
    "0x1F",
    "1.5",
    "-1",
    "+1",
    "1e3",
    "1_000",
    ".5",
    ".",
    "..",
    "...",
    "---",
    "--- x",
    "-",
    "- x",
    "--",
    "~",
    "null",
    "yes",
    "n",
    "true",
    "<<",
    "=",
    ".inf",
    "2024-01-01",
    "1:30",
    "*",
    "*a",
    "&a x",
    "!t x",
    "!!str 1",
    "%x",
    "@x",
    "`x",
    "|",
    ">",
    "? x",
    ": x",
    "a: b",
    "a:",
    "x,y",
    "(x)",
    "#c",
    "^x",
    "[",
    "}",
];

const QUOTED: [&str; 22] = [
    "''",
    "\"\"",
    "'x'",
    "\"x\"",
    "'a: b'",
    "'it''s'",
    "\"a\\\"b\"",
    "\"\\u00e9\"",
    "\"\\x41\"",
    "\"\\ud800\"",
    "\"\\/\"",
    "\"\\n\\t\\r\\\\\"",
    "\"\\q\"",
    "'#'",
    "\" # \"",
    "'a'b",
    "\"a\" b",
    "'open",
    "\"open",
    "'a\n  b'",
    "\"a\n b\"",
    "\"a\\\n b\"",
];

const FLOW: [&str; 34] = [
    "[]",
    "{}",
    "[ ]",
    "{ }",
    "[a]",
    "[a, b]",
    "[a,b]",
    "[a b]",
    "[a, ]",
    "[, a]",
    "[a,, b]",
    "{a: b}",
    "{a: b, c: d}",
    "{a: b,}",
    "{a:b}",
    "{a}",
    "{a: }",
    "{\"a\":b}",
    "{\"a\": b}",
    "{'a': [1, {b: c}]}",
    "[[a], [b, [c]]]",
    "[a: b]",
    "[\"x\", 'y']",
    "[a",
    "{a: b",
    "[a] x",
    "{a: b} # c",
    "[a]#c",
    "{a: 1, a: 2}",
    "[-1, -x, - x]",
    "[a\n, b]",
    "{a: b,\n c: d}",
    "[/x/*, a.b]",
    "{y: 1}",
];

const BLOCK: [&str; 10] = [
    "|\n  x\n  y",
    "|-\n  x",
    ">\n  x\n  y",
    ">+\n  x\n\n",
    "|2\n   x",
    "|\n x\n  y\n",
    "x\n  y",
    "x\n\n  y",
    "&a x",
    "*a",
];

/// Bytes that mean something.
const BYTES: &[u8] = b"  \n\n::--##''\"\"[]{},&*!|>%@`?\\\t\rAz09~./_";

/// Returns a YAML text, or something close to one.
pub(super) fn text(seed: u64) -> String {
    let mut generator = Generator { random: Random::new(seed), out: String::new() };
    // Most texts are tame, so that the fast reader has something to accept.
    let wild = generator.random.one_in(3);
    generator.stream(wild);
    let mut bytes = generator.out.into_bytes();
    let mut random = generator.random;
    if random.one_in(3) {
        for _ in 0..=random.below(3) {
            mutate(&mut bytes, &mut random);
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Changes, inserts, doubles or removes something.
pub(super) fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(5) {
        0 => bytes[at] = *random.pick(BYTES),
        1 => bytes.insert(at, *random.pick(BYTES)),
        2 => {
            bytes.remove(at);
        }
        3 => {
            let end = (at + 1 + random.below(12)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => bytes.truncate(at),
    }
}

struct Generator {
    random: Random,
    out: String,
}

impl Generator {
    fn stream(&mut self, wild: bool) {
        for _ in 0..=self.random.below(3) {
            match self.random.below(if wild { 12 } else { 4 }) {
                0 => {}
                1 => self.out.push_str("--- # next\n"),
                2 | 3 => self.out.push_str("---\n"),
                4 => self.out.push_str("--- "),
                5 => self.out.push_str("...\n---\n"),
                6 => self.out.push_str("%YAML 1.2\n---\n"),
                7 => self.out.push_str("# comment\n\n"),
                8 => self.out.push_str("---\n---\n"),
                9 => self.out.push_str(" # indented\n---\n"),
                10 => self.out.push_str("---\r\n"),
                _ => self.out.push_str("--- {a: b}\n---\n"),
            }
            let indent = if wild && self.random.one_in(8) { 2 } else { 0 };
            self.node(indent, 0, wild);
        }
        if self.random.one_in(6) && self.out.ends_with('\n') {
            self.out.pop();
        }
    }

    fn node(&mut self, indent: usize, depth: usize, wild: bool) {
        match self.random.below(if wild { 8 } else { 6 }) {
            0..=3 => self.map(indent, depth, wild),
            4 | 5 => self.sequence(indent, depth, wild),
            _ => {
                self.blanks(indent);
                self.scalar(wild);
                self.end(wild);
            }
        }
    }

    fn map(&mut self, indent: usize, depth: usize, wild: bool) {
        for index in 0..=self.random.below(4) {
            self.noise(indent, wild);
            self.blanks(indent);
            self.entry(index, indent, depth, wild);
        }
    }

    /// Writes a key and its value behind the indentation.
    fn entry(&mut self, index: usize, indent: usize, depth: usize, wild: bool) {
        if wild {
            let key = *self.random.pick(&KEYS);
            self.out.push_str(key);
        } else {
            let key = *self.random.pick(&KEYS[..8]);
            self.out.push_str(key);
            self.out.push_str(&index.to_string());
        }
        if wild && self.random.one_in(12) {
            self.out.push(' ');
        }
        self.out.push(':');
        self.value(indent, depth, wild);
    }

    fn value(&mut self, indent: usize, depth: usize, wild: bool) {
        match self.random.below(if depth > 4 { 4 } else { 8 }) {
            0..=3 => {
                let blanks = if wild { self.random.below(3) } else { 1 };
                self.blanks(blanks);
                self.scalar(wild);
                self.end(wild);
            }
            4 => {
                self.end(wild);
                self.sequence(indent, depth + 1, wild);
            }
            5 if wild && self.random.one_in(2) => self.end(wild),
            _ => {
                self.end(wild);
                let deeper = indent + if wild { self.random.below(4) } else { 1 + self.random.below(4) };
                self.node(deeper, depth + 1, wild);
            }
        }
    }

    fn sequence(&mut self, indent: usize, depth: usize, wild: bool) {
        for _ in 0..=self.random.below(3) {
            self.noise(indent, wild);
            self.blanks(indent);
            self.out.push('-');
            let blanks = 1 + if self.random.one_in(4) { self.random.below(3) } else { 0 };
            match self.random.below(if wild { 8 } else { 6 }) {
                0 | 1 => {
                    self.blanks(blanks);
                    self.scalar(wild);
                    self.end(wild);
                }
                2 | 3 if depth < 5 => {
                    self.blanks(blanks);
                    let inner = indent + 1 + blanks;
                    self.entry(0, inner, depth + 1, wild);
                    for index in 0..self.random.below(3) {
                        let off = if wild && self.random.one_in(8) { 1 } else { 0 };
                        self.blanks(inner - off);
                        self.entry(index + 1, inner, depth + 1, wild);
                    }
                }
                4 | 5 if depth < 5 => {
                    self.end(wild);
                    let deeper = indent + if wild { self.random.below(4) } else { 1 + self.random.below(3) };
                    self.node(deeper, depth + 1, wild);
                }
                6 => self.out.push_str(" - x\n"),
                _ => self.end(wild),
            }
        }
    }

    fn scalar(&mut self, wild: bool) {
        let piece = match self.random.below(if wild { 10 } else { 7 }) {
            0..=2 => *self.random.pick(&PLAIN[..if wild { PLAIN.len() } else { 16 }]),
            3 | 4 => *self.random.pick(&QUOTED[..if wild { QUOTED.len() } else { 7 }]),
            5 | 6 => *self.random.pick(&FLOW[..if wild { FLOW.len() } else { 6 }]),
            7 => *self.random.pick(&BLOCK),
            8 => *self.random.pick(&FLOW),
            _ => *self.random.pick(&PLAIN),
        };
        self.out.push_str(piece);
    }

    /// Writes the end of a line, sometimes behind a comment or blanks.
    fn end(&mut self, wild: bool) {
        self.out.push_str(match self.random.below(if wild { 24 } else { 12 }) {
            0 => " # comment\n",
            1 => "  \n",
            12 => "#x\n",
            13 => "\r\n",
            14 => "\t\n",
            15 => " #\n",
            16 => "\n\n",
            _ => "\n",
        });
    }

    /// Writes blank lines and comments between entries.
    fn noise(&mut self, indent: usize, wild: bool) {
        match self.random.below(if wild { 16 } else { 20 }) {
            0 => self.out.push('\n'),
            1 => {
                self.blanks(indent);
                self.out.push_str("# note\n");
            }
            2 => self.out.push_str("# note: x\n"),
            3 => self.out.push_str("   \n"),
            4 if wild => self.out.push(' '),
            _ => {}
        }
    }

    fn blanks(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
    }
}
