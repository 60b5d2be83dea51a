//! Odd, broken and hostile texts: each has one result, the data and the problems.

use bailiwick::codes;
use bailiwick::diag::{Code, Sink};
use bailiwick::yaml::limits::MAXIMUM_REPORTED;
use bailiwick::yaml::{self, MAXIMUM_ALIASED_NODES};
use serde_json::{Value as Json, json};

use super::{data, full, reading};

type Problem = (Code, usize, usize);

/// Checks that the text reads as these documents, without problems.
fn reads(text: &str, expected: &[Json]) {
    let reading = reading(text);
    assert_eq!((reading.documents.as_slice(), reading.problems.as_slice()), (expected, [].as_slice()), "{text:?}");
}

/// Checks that the text has exactly these problems, in order.
fn fails(text: &str, expected: &[Problem]) {
    assert_eq!(reading(text).problems, expected, "{text:?}");
}

/// Checks that the text has exactly these problems, and that the rest of it is read.
fn reads_past(text: &str, documents: &[Json], problems: &[Problem]) {
    fails(text, problems);
    assert_eq!(reading(text).documents, documents, "{text:?}");
}

#[test]
fn every_doubled_key_is_told() {
    reads_past(
        "a: 1\na: 2\nb:\n  c: 1\n  \"c\": 2\n  'c': 3\n",
        &[json!({"a": 2, "b": {"c": 3}})],
        &[(codes::DUPLICATE_KEY, 2, 1), (codes::DUPLICATE_KEY, 5, 3), (codes::DUPLICATE_KEY, 6, 3)],
    );
    fails("{a: 1, b: 2, a: 3}\n---\nx: 1\nx: 1\n", &[(codes::DUPLICATE_KEY, 1, 14), (codes::DUPLICATE_KEY, 4, 1)]);
    fails("- a: 1\n  a: 1\n- a: 1\n", &[(codes::DUPLICATE_KEY, 2, 3)]);
}

#[test]
fn tabs_do_not_indent() {
    fails("a:\n\tb: 1\n", &[(codes::TAB_INDENT, 2, 1)]);
    fails("a: b\n\tc: d\n", &[(codes::TAB_INDENT, 2, 1)]);
    fails("a:\n  b: 1\n \tc: 1\n", &[(codes::TAB_INDENT, 3, 2)]);
    reads("a:\t1\nb: x\ty\t# z\n", &[json!({"a": 1, "b": "x\ty"})]);
}

#[test]
fn encodings_and_line_ends() {
    reads("\u{feff}a: 1\n", &[json!({"a": 1})]);
    reads("\u{feff}# c\n---\na: é\n", &[json!({"a": "é"})]);
    fails("\u{feff}a: é\n\na: 2\n", &[(codes::DUPLICATE_KEY, 3, 1)]);
    fails("\u{feff}: a\n", &[(codes::KEY_NOT_STRING, 1, 2)]);
    fails("a: 1\n\u{feff}b: 2\n", &[(codes::YAML_SYNTAX, 2, 1)]);
    fails("# c\n\u{feff}a: 1\n", &[(codes::YAML_SYNTAX, 2, 1)]);
    fails("\u{feff}\u{feff}a: 1\n", &[(codes::YAML_SYNTAX, 1, 2)]);
    fails(">\na\n", &[(codes::YAML_SYNTAX, 2, 1)]);
    fails("{a \":}\n", &[(codes::YAML_SYNTAX, 1, 5)]);
    reads("{\"a\":}\n", &[json!({"a": null})]);
    reads("j: |+\n |+\n ", &[json!({"j": "|+\n"})]);
    for count in 0..4 {
        reads(&format!("j: |+\n{} ", "\n".repeat(count)), &[json!({ "j": "\n".repeat(count) })]);
        reads(&format!("j: |+\n{}", "\n".repeat(count)), &[json!({ "j": "\n".repeat(count) })]);
        reads(&format!("j: |+\n x\n{} ", "\n".repeat(count)), &[json!({ "j": format!("x\n{}", "\n".repeat(count)) })]);
    }
    reads("j: |+\n\n \n", &[json!({"j": "\n\n"})]);
    for (text, value) in [
        ("|\n  a: \n  ", "a: \n"),
        ("|\n  a \n    ", "a \n  "),
        ("|\n  a \n   \n  ", "a \n \n"),
        ("|\n  a \n   b \n   ", "a \n b \n "),
        (">\n  a\n  b \n  ", "a b \n"),
        (">\n  a \n   ", "a \n "),
        ("|+\n  a \n  ", "a \n"),
        ("|\n\n  \n  a: \n  ", "\n\na: \n"),
        ("|\n\n  \n  a: \n   ", "\n\na: \n "),
        ("|2\n    a\n   ", "  a\n "),
        ("|2\n    a\n   b\n  ", "  a\n b\n"),
    ] {
        reads(&format!("j: {text}"), &[json!({ "j": value })]);
    }
    fails("a: 1\n--- |\n  b\n", &[(codes::YAML_SYNTAX, 3, 3)]);
    reads(
        "a: 1\r\nb: |\r\n  x\r\n  y\r\nc: \"x\r\n  y\"\r\nd: 'z'\r\n",
        &[json!({"a": 1, "b": "x\ny\n", "c": "x y", "d": "z"})],
    );
    fails("a: b\rc: d\r\ne: f\r", &[(codes::YAML_SYNTAX, 1, 5)]);
    fails("a: \0b\n", &[(codes::YAML_SYNTAX, 1, 4)]);
    fails("a: b\0\n", &[(codes::YAML_SYNTAX, 1, 5)]);
    fails("a: \"\u{1}\"\n", &[(codes::YAML_SYNTAX, 1, 5)]);
    reads("a: \"\\0\\x01\"\n", &[json!({"a": "\0\u{1}"})]);
}

#[test]
fn characters_that_end_a_line_for_kubectl_alone_are_refused() {
    // kubectl reads a key `b` here.
    reads_past("a: 1 # note\u{2028}b: 2\n", &[json!({"a": 1})], &[(codes::YAML_SYNTAX, 1, 12)]);
    fails("a: \"x\u{85}y\"\nb: 'x\u{2029}y'\n", &[(codes::YAML_SYNTAX, 1, 6), (codes::YAML_SYNTAX, 2, 6)]);
    reads("a: \"x\\u2028y\\N\"\n", &[json!({"a": "x\u{2028}y\u{85}"})]);
}

#[test]
fn lines_that_kubectl_takes_for_separators_are_refused() {
    fails("a: 1\n---b: 2\n", &[(codes::YAML_SYNTAX, 2, 1)]);
    fails("----\n", &[(codes::YAML_SYNTAX, 1, 1)]);
    reads("a: 1\n--- # note\nb: ---x\n---\t\n- ---y\n", &[json!({"a": 1}), json!({"b": "---x"}), json!(["---y"])]);
}

#[test]
fn marks_that_kubectl_takes_for_others_are_refused() {
    fails(
        "a: [b:]\nc: {d:}\ne: {f:, g: 1}\n",
        &[(codes::YAML_SYNTAX, 1, 6), (codes::YAML_SYNTAX, 2, 6), (codes::YAML_SYNTAX, 3, 6)],
    );
    fails("a: {b :}\nc: [d\n  :, e]\n", &[(codes::YAML_SYNTAX, 1, 7), (codes::YAML_SYNTAX, 3, 3)]);
    reads("a: {b : , \"c\" :}\n", &[json!({"a": {"b": null, "c": null}})]);
    fails("a: [b,?c]\n", &[(codes::YAML_SYNTAX, 1, 7)]);
    reads("a: {b: , \"c\":}\nd: [e:f]\n", &[json!({"a": {"b": null, "c": null}, "d": ["e:f"]})]);
}

#[test]
fn documents_that_kubectl_does_not_see_are_refused() {
    fails("a: 1\n...\nb: 2\n", &[(codes::YAML_SYNTAX, 3, 1)]);
    fails("...\n# c\nb: 2\n...\n c: 3\n", &[(codes::YAML_SYNTAX, 5, 2)]);
    reads("a: 1\n...\n---\nb: 2\n...\n", &[json!({"a": 1}), json!({"b": 2})]);
}

#[test]
fn aliases_are_resolved_within_bounds() {
    reads(
        "a: &x b\nc: *x\nd: &y {e: [*x]}\ng: *y\nh: &z !!str 1\ni: *z\nj: &n\nk: *n\n",
        &[json!({"a": "b", "c": "b", "d": {"e": ["b"]}, "g": {"e": ["b"]}, "h": "1", "i": "1", "j": null, "k": null})],
    );
    reads("a: &x 1\nb: &x 2\nc: *x\n", &[json!({"a": 1, "b": 2, "c": 2})]);
    fails("a: *nope\n", &[(codes::YAML_ALIAS, 1, 4)]);
    fails("a: &x 1\n---\na: *x\n", &[(codes::YAML_ALIAS, 3, 4)]);
    fails("a: &x [b, *x]\n", &[(codes::YAML_ALIAS, 1, 11)]);
    fails("a: &x {b: {c: *x}}\n", &[(codes::YAML_ALIAS, 1, 15)]);
    fails("a: &x: 1\n", &[(codes::YAML_ALIAS, 1, 4)]);
}

/// Returns a map whose last entry stands for ten to the power of `levels` strings.
fn bomb(levels: usize, item: &str) -> String {
    let mut text = format!("l0: &l0 [{}]\n", [item; 10].join(", "));
    for level in 1..levels {
        let below = [format!("*l{}", level - 1).as_str(); 10].join(", ");
        text.push_str(&format!("l{level}: &l{level} [{below}]\n"));
    }
    text
}

#[test]
fn a_billion_laughs_end_early() {
    let text = bomb(9, "lol");
    let mut sink = Sink::new();
    let tree = yaml::read(&text, Default::default(), &mut sink);
    assert!(tree.node_count() < 3 * MAXIMUM_ALIASED_NODES, "{} nodes", tree.node_count());
    let problems = reading(&text).problems;
    assert_eq!(problems.iter().map(|problem| problem.0).collect::<Vec<_>>(), [codes::YAML_ALIAS]);
    assert!(reading(&bomb(4, "lol")).problems.is_empty(), "a thousand copies are fine");

    // The bound is for the whole file, however it is cut into documents.
    let many = "---\n".to_owned() + &bomb(4, "lol");
    assert!(!reading(&many.repeat(100)).problems.is_empty());

    // A long string costs more than a short one.
    let copies = |count: usize| format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; count].join(", "));
    assert!(reading(&copies(20)).problems.is_empty());
    assert_eq!(reading(&copies(30)).problems.len(), 1);

    // Each line is one level deeper than the one before.
    let ladder = |levels: usize| {
        let rungs = (1..levels).map(|level| format!("l{level}: &l{level} [*l{}]\n", level - 1));
        "l0: &l0 [x]\n".to_owned() + &rungs.collect::<String>()
    };
    assert!(reading(&ladder(99)).problems.is_empty());
    assert_eq!(reading(&ladder(400)).problems, [(codes::TOO_DEEP, 100, 12)]);

    let mut merges = "a0: &a0 {k: v}\n".to_owned();
    for level in 1..60 {
        merges.push_str(&format!("a{level}: &a{level} {{<<: [*a{0}, *a{0}], k{level}: *a{0}}}\n", level - 1));
    }
    assert!(full(&merges).is_none(), "maps merged twice at each level");
}

#[test]
fn the_nodes_of_aliases_have_a_limit() {
    let copies = |count: usize| format!("a: &a x\nb: [{}]\n", vec!["*a"; count].join(", "));
    assert!(reading(&copies(MAXIMUM_ALIASED_NODES)).problems.is_empty());
    let problems = reading(&copies(MAXIMUM_ALIASED_NODES + 1)).problems;
    assert_eq!(problems.iter().map(|problem| problem.0).collect::<Vec<_>>(), [codes::YAML_ALIAS]);
}

#[test]
fn the_problems_of_a_text_have_a_limit() {
    let problems = |count: usize| reading(&"a: *b\n---\n".repeat(count)).problems;
    assert_eq!(problems(MAXIMUM_REPORTED).len(), MAXIMUM_REPORTED);
    assert!(problems(MAXIMUM_REPORTED).iter().all(|problem| problem.0 == codes::YAML_ALIAS));
    let above = problems(MAXIMUM_REPORTED + 9);
    assert_eq!(above.len(), MAXIMUM_REPORTED + 1);
    assert_eq!(above.last().map(|problem| problem.0), Some(codes::YAML_SYNTAX), "the rest is not read");
}

#[test]
fn merge_keys() {
    reads("x: &x {a: 1, b: 2}\nz: {<<: *x, b: 3}\n", &[json!({"x": {"a": 1, "b": 2}, "z": {"a": 1, "b": 3}})]);
    reads("z: {<<: [{a: 1}, {a: 2, b: 2}], c: 3}\n", &[json!({"z": {"a": 1, "b": 2, "c": 3}})]);
    reads(
        "x: &x {a: 1}\nw: &w {<<: *x, b: 2}\nz:\n  <<: *w\n",
        &[json!({"x": {"a": 1}, "w": {"b": 2, "a": 1}, "z": {"b": 2, "a": 1}})],
    );
    reads("\"<<\": {a: 1}\n", &[json!({"<<": {"a": 1}})]);
    reads("a: <<\n", &[json!({"a": "<<"})]);
    reads("c: 1\n<<: {a: 1}\nd: 2\n", &[json!({"c": 1, "d": 2, "a": 1})]);
    fails("a: {<<: 1}\nb: {<<: [{c: 1}, 2]}\n", &[(codes::YAML_MERGE, 1, 9), (codes::YAML_MERGE, 2, 18)]);
    fails("<<: {a: 1}\n<<: {b: 1}\n", &[(codes::DUPLICATE_KEY, 2, 1)]);
    // kubectl takes the merged value, kustomize the written one.
    fails("b: 3\n<<: {a: 1, b: 2}\n", &[(codes::YAML_MERGE, 1, 1)]);
}

/// Runs in a thread of the size that threads have by default, whatever the test harness uses.
fn in_a_small_thread(check: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, check);
        thread.expect("a thread").join().expect("no panic");
    });
}

fn flow_sequences(levels: usize) -> String {
    format!("{}{}\n", "[".repeat(levels), "]".repeat(levels))
}

fn flow_maps(levels: usize) -> String {
    format!("{}1{}\n", "{a: ".repeat(levels), "}".repeat(levels))
}

fn block_maps(levels: usize) -> String {
    (0..levels)
        .map(|level| format!("{}a:{}\n", " ".repeat(level), if level + 1 == levels { " 1" } else { "" }))
        .collect()
}

fn block_sequences(levels: usize) -> String {
    format!("{}x\n", "- ".repeat(levels))
}

#[test]
fn nesting_is_bounded() {
    in_a_small_thread(|| {
        for nested in [flow_sequences, flow_maps, block_maps, block_sequences] {
            assert!(reading(&nested(100)).problems.is_empty(), "100 levels: {}", nested(100));
            for levels in [101, 102, 200, 1_000] {
                let problems = reading(&nested(levels)).problems;
                assert_eq!(problems.first().map(|problem| problem.0), Some(codes::TOO_DEEP), "{levels} levels");
                assert_eq!(problems.len(), 1, "{levels} levels: {problems:?}");
            }
        }
        let mixed = |block: usize, flow: usize| format!("{}{}", "- ".repeat(block), flow_sequences(flow));
        for (block, flow) in [(60, 41), (100, 1), (99, 2), (1, 100)] {
            let problems = [(codes::TOO_DEEP, 1, 2 * block + 101 - block)];
            assert_eq!(reading(&mixed(block, flow)).problems, problems, "{block} and {flow}");
            assert!(reading(&mixed(block, flow - 1)).problems.is_empty(), "{block} and {}", flow - 1);
        }
        for levels in 98..103 {
            let text = block_maps(levels).replace(" 1", " {b: [c]}");
            assert_eq!(reading(&text).problems.is_empty(), levels <= 98, "{levels} levels and two");
        }
        reads_past(&format!("a: {}---\nb: 1\n", flow_maps(300)), &[json!({"b": 1})], &[(codes::TOO_DEEP, 1, 400)]);
    });
}

#[test]
fn twenty_thousand_levels_end_in_a_diagnostic() {
    in_a_small_thread(|| {
        let unclosed = [
            "[".repeat(20_000),
            "{a: ".repeat(20_000),
            "- ".repeat(20_000),
            "? ".repeat(20_000),
            "a: {".repeat(20_000),
        ];
        for text in [flow_sequences(20_000), flow_maps(20_000), block_sequences(20_000)].into_iter().chain(unclosed) {
            let problems = reading(&text).problems;
            assert_eq!(problems.first().map(|problem| problem.0), Some(codes::TOO_DEEP), "{}", &text[..20]);
        }
        // Indentation alone makes a text of 20,000 levels 200 MB long; 3,000 show the same.
        assert_eq!(reading(&block_maps(3_000)).problems.first().map(|problem| problem.0), Some(codes::TOO_DEEP));
    });
}

#[test]
fn tags() {
    reads(
        "a: !!str 123\nb: !!str\nc: !!int '7'\nd: !!map {}\ne: !!seq []\nf: !!bool \"true\"\n",
        &[json!({"a": "123", "b": "", "c": 7, "d": {}, "e": [], "f": true})],
    );
    fails(
        "a: !Ref x\nb: !!binary aGk=\nc: ! 12\n",
        &[(codes::YAML_TAG, 1, 4), (codes::YAML_TAG, 2, 4), (codes::YAML_TAG, 3, 4)],
    );
    fails("a: !!set {b}\nc: !!omap [d: 1]\n", &[(codes::YAML_TAG, 1, 4), (codes::YAML_TAG, 2, 4)]);
    fails(
        "a: !!int foo\nb: !!map []\nc: !!bool 1\n",
        &[(codes::YAML_TAG, 1, 4), (codes::YAML_TAG, 2, 4), (codes::YAML_TAG, 3, 4)],
    );
}

#[test]
fn a_broken_document_does_not_hide_the_next() {
    reads_past(
        "a: 1\n---\nb: [\n---\nc: 1\n---\nd: 'x\n---\ne: 1\n---\nf: @\n",
        &[json!({"a": 1}), json!({"c": 1}), json!({"e": 1})],
        &[(codes::YAML_SYNTAX, 3, 4), (codes::YAML_SYNTAX, 8, 1), (codes::YAML_SYNTAX, 11, 4)],
    );
    reads_past(
        "a: *x\n---\nb: &x [*x]\n---\nc: 1\n",
        &[json!({"c": 1})],
        &[(codes::YAML_ALIAS, 1, 4), (codes::YAML_ALIAS, 3, 8)],
    );
}

#[test]
fn empty_documents_are_none() {
    for text in ["", "\n", "# c\n", "---\n", "---\n---\n# x\n---\n~\n", "--- null\n", "...\n", "\u{feff}"] {
        reads(text, &[]);
    }
    reads("---\n---\na: 1\n---\n", &[json!({"a": 1})]);
    reads("a: 1\n...\n---\nb: 2\n", &[json!({"a": 1}), json!({"b": 2})]);
}

#[test]
fn keys_are_strings() {
    reads_past(
        "1: a\nnull: b\ny: c\n[x]: d\n{a: b}: c\n? [x, y]\n: z\n.5: e\nok: f\n",
        &[json!({"ok": "f"})],
        &[1, 2, 3, 4, 5]
            .map(|line| (codes::KEY_NOT_STRING, line, 1))
            .into_iter()
            .chain([(codes::KEY_NOT_STRING, 6, 3), (codes::KEY_NOT_STRING, 8, 1)])
            .collect::<Vec<_>>(),
    );
    reads("? a\n: b\n? c\n? \"d\"\n: - e\n", &[json!({"a": "b", "c": null, "d": ["e"]})]);
    reads("'1': a\n\"y\": b\n!!str 2: c\n", &[json!({"1": "a", "y": "b", "2": "c"})]);
}

#[test]
fn numbers_at_the_borders() {
    reads("a: 9223372036854775807\nb: -9223372036854775808\n", &[json!({"a": i64::MAX, "b": i64::MIN})]);
    reads("a: 123456789012345678901234567890\n", &[json!({"a": 123456789012345678901234567890.0})]);
    reads("a: 1e400\nb: 0x\nc: 1e-400\n", &[json!({"a": "1e400", "b": "0x", "c": 0.0})]);
    fails(
        "a: .inf\nb: -.Inf\nc: [.nan]\n",
        &[(codes::NUMBER_NOT_FINITE, 1, 4), (codes::NUMBER_NOT_FINITE, 2, 4), (codes::NUMBER_NOT_FINITE, 3, 5)],
    );
    let digits = format!("a: {}\nb: 1e{}\n", "9".repeat(100_000), "9".repeat(100_000));
    reads(&digits, &[json!({"a": "9".repeat(100_000), "b": format!("1e{}", "9".repeat(100_000))})]);
}

#[test]
fn scalars_of_many_lines() {
    reads(
        "a: x\n  y\n\n  z\nb: \"x\n  y\\\n  z\"\nc: 'x\n\n  y'\n",
        &[json!({"a": "x y\nz", "b": "x yz", "c": "x\ny"})],
    );
    reads(
        "a: |\n x\n  y\n z\nb: >-\n x\n y\n\n z\nc: |+\n x\n\nd: |2-\n   x\n  y\n",
        &[json!({"a": "x\n y\nz\n", "b": "x y\nz", "c": "x\n\n", "d": " x\ny"})],
    );
    for (text, value) in [
        ("a: |\n x", "x"),
        ("a: >+\n x\n ", "x\n"),
        ("a: |\n x\n  ", "x\n "),
        ("a: >\n x\n ", "x\n"),
        ("a: |+\n ", ""),
        ("a: |\n x\n", "x\n"),
        ("a: |+\n x\n\n", "x\n\n"),
    ] {
        reads(text, &[json!({"a": value})]);
    }
    reads("a:\n- b\n c\n", &[json!({"a": ["b c"]})]);
    reads("a: |\n  # no comment\n  b: c\n", &[json!({"a": "# no comment\nb: c\n"})]);
    reads("a:\n  b\n  c\n", &[json!({"a": "b c"})]);
}

#[test]
fn slips_are_told_where_they_are() {
    for (text, line, column) in [
        ("a: \"x", 1, 4),
        ("a: 'x", 1, 4),
        ("a: [x", 1, 4),
        ("a: {x: y", 1, 4),
        ("a: [a]]\n", 1, 7),
        ("a: ]\n", 1, 4),
        ("a: x: y\n", 1, 5),
        ("a: @x\n", 1, 4),
        ("a: `x\n", 1, 4),
        ("a: %x\n", 1, 4),
        ("a: 'b' c\n", 1, 8),
        ("a: \"\\q\"\n", 1, 4),
        ("a: \"\\ud800\"\n", 1, 4),
        ("a: - b\n", 1, 4),
        ("a: b\n c: d\n", 2, 3),
        ("- a\nb: c\n", 2, 1),
        ("a: 1\n... x\n", 2, 5),
        ("é: [é, é\n", 1, 4),
    ] {
        fails(text, &[(codes::YAML_SYNTAX, line, column)]);
    }
}

#[test]
fn large_texts_take_no_quadratic_time() {
    let scalar = "x".repeat(10 << 20);
    for text in [
        format!("a: {scalar}\n"),
        format!("a: \"{scalar}\"\n"),
        format!("a: é{scalar}\n"),
        format!("a: |\n  {scalar}\n"),
    ] {
        let tree = full(&text).expect("one long scalar");
        let value = tree.document(0).and_then(|root| root.get("a")).and_then(|value| value.as_str());
        assert!(value.is_some_and(|value| value.trim_start_matches('é').trim_end().len() == scalar.len()));
    }

    let wide: String = (0..100_000).map(|index| format!("k{index}: v\n")).collect();
    let long: String = (0..100_000).map(|index| format!("- name: n{index}\n")).collect();
    let flow = format!("[{}]\n", (0..100_000).map(|index| index.to_string()).collect::<Vec<_>>().join(", "));
    let documents = "a: 1\n---\n".repeat(100_000);
    let comments = "# c\n".repeat(300_000) + "a: 1\n";
    for (text, len) in [(&wide, 100_000), (&long, 100_000), (&flow, 100_000), (&documents, 1), (&comments, 1)] {
        let mut sink = Sink::new();
        let tree = yaml::read(text, Default::default(), &mut sink);
        assert!(sink.is_empty());
        assert_eq!(tree.document(0).map(|root| root.len()), Some(len));
        assert!(full(text).is_some());
    }
    assert_eq!(data(&full(&documents).expect("documents")).len(), 100_000);

    // As many problems as lines: a thousand are reported, and that there are more.
    let doubled = "a: 1\n".repeat(20_000);
    let mut sink = Sink::new();
    let _ = yaml::read(&doubled, Default::default(), &mut sink);
    assert_eq!(sink.len(), 1_001);
    let broken = "a: [\n---\n".repeat(20_000);
    let mut sink = Sink::new();
    let _ = yaml::read(&broken, Default::default(), &mut sink);
    assert_eq!(sink.len(), 1_001);
}

/// The parser reports for these texts a collection that ends before it starts.
#[test]
fn odd_ranges_of_the_parser_are_no_internal_errors() {
    for text in ["---\n-  b:\n    {a: b} # c\n   $ref:\n", "\u{feff}-  b:\n    {a: b} # c\n   $ref:\n"] {
        assert_eq!(reading(text).documents, [json!([{ "b": { "a": "b" }, "$ref": null }])], "{text:?}");
    }
}
