//! The fast reader against the full one, and the full one against the reader of the crate `serde_yaml`.

use bailiwick::yaml::scalar::{self, Plain};
use bailiwick::yaml::{self, NodeRef, NodeValue, Tree};
use serde::Deserialize as _;
use serde_json::{Value, json};
use serde_yaml::Value as Reference;

use super::{corpus, full, generate};
use crate::random::Random;

/// How many random texts are compared.
const GENERATED: u64 = 6_000;

fn generated() -> impl Iterator<Item = (String, String)> {
    (0..GENERATED).map(|seed| (format!("seed {seed}"), generate::text(seed)))
}

/// Returns texts with colons in words of flow collections.
fn colons() -> impl Iterator<Item = (String, String)> {
    let words = [
        "a:b",
        "a:b:c",
        "12:30",
        "12:30:45",
        "1:2:3.5",
        "0:1",
        "a::b",
        "a:",
        ":a",
        "a:/b",
        "http://x/y",
        "-:a",
        "a:-",
        "a:~",
        "~:a",
        "on:off",
        "a:b ",
        "a:[b]",
        "a:{b}",
        "a:,b",
        "oidc:team-1",
        "a:\"b\"",
        "a:#b",
        "+1:2",
        ".5:1",
        "0x1:2",
    ];
    let forms = ["[X]", "{k: X}", "{X: v}", "[X, y]", "{X}", "[X: v]", "{k: X, l: X}", "[[X], {k: [X]}]"];
    let texts = words.into_iter().flat_map(move |word| forms.map(|form| form.replace('X', word)));
    texts
        .flat_map(|flow| [format!("{flow}\n"), format!("a: {flow}\nb: 1\n"), format!("- {flow}\n- 1\n")])
        .map(|text| (text.clone(), text))
}

/// Returns the first difference of two trees in value or span, with its path.
fn tree_difference(left: &Tree, right: &Tree) -> Option<String> {
    let (left, right): (Vec<_>, Vec<_>) = (left.documents().collect(), right.documents().collect());
    if left.len() != right.len() {
        return Some(format!("{} documents, not {}", left.len(), right.len()));
    }
    std::iter::zip(left, right)
        .enumerate()
        .find_map(|(index, (left, right))| node_difference(left, right, &format!("[{index}]")))
}

fn node_difference(left: NodeRef<'_>, right: NodeRef<'_>, path: &str) -> Option<String> {
    if left.span() != right.span() {
        return Some(format!("{path}: {:?}, not {:?}", left.span(), right.span()));
    }
    let same = match (left.value(), right.value()) {
        (NodeValue::Null, NodeValue::Null) => true,
        (NodeValue::Bool(left), NodeValue::Bool(right)) => left == right,
        (NodeValue::Int(left), NodeValue::Int(right)) => left == right,
        (NodeValue::Float(left), NodeValue::Float(right)) => left.to_bits() == right.to_bits(),
        (NodeValue::Str(_), NodeValue::Str(_)) => left.as_str() == right.as_str(),
        (NodeValue::Seq(_), NodeValue::Seq(_)) | (NodeValue::Map(_), NodeValue::Map(_)) => left.len() == right.len(),
        _ => false,
    };
    if !same {
        return Some(format!("{path}: {}, not {}", left.describe(), right.describe()));
    }
    let items = std::iter::zip(left.items(), right.items())
        .enumerate()
        .find_map(|(index, (left, right))| node_difference(left, right, &format!("{path}[{index}]")));
    items.or_else(|| {
        std::iter::zip(left.entries(), right.entries()).find_map(|((left_key, left), (right_key, right))| {
            let path = format!("{path}.{}", left_key.as_str().unwrap_or("?"));
            node_difference(left_key, right_key, &path).or_else(|| node_difference(left, right, &path))
        })
    })
}

/// Fails with the shortest texts first.
fn assert_none(mut differences: Vec<(String, String, String)>) {
    differences.sort_by_key(|(_, text, _)| text.len());
    for (name, text, difference) in differences.iter().take(12) {
        println!("{name}: {difference}\n{text:?}\n");
    }
    assert!(differences.is_empty(), "{} texts are read differently", differences.len());
}

#[test]
fn the_fast_reader_reads_what_the_full_one_reads() {
    let mut readings = FastReadings::default();
    let (own, _) = readings.compare("own", &mut corpus::own().into_iter());
    let (with_colons, _) = readings.compare("colons", &mut colons());
    let (accepted, readable) = readings.compare("generated", &mut generated());
    let (of_json, json_values) = readings.compare("JSON", &mut json_texts());
    readings.compare("edited JSON", &mut edited(json_texts()));
    assert_none(readings.differences);
    assert!(of_json * 10 > json_values * 7, "{of_json} of {json_values} JSON texts");
    assert!(own >= 6, "{own} texts of the repository");
    assert!(with_colons > 200, "{with_colons} texts with colons");
    assert!(accepted * 3 > readable, "{accepted} of {readable}");
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn the_readers_agree_on_the_reference_manifests() {
    let mut readings = FastReadings::default();
    let (accepted, _) = readings.compare("others", &mut corpus::others().into_iter());
    assert_none(readings.differences);
    assert!(accepted > 0, "the fast reader accepts no text");
    let (compared, differences) = compare_with_reference(corpus::others().into_iter());
    assert_none(differences);
    assert!(compared > 0, "no text is compared");
}

/// The texts that the fast reader reads differently: their names, the texts and the first differences.
#[derive(Default)]
struct FastReadings {
    differences: Vec<(String, String, String)>,
}

impl FastReadings {
    /// Compares the fast reader with the full one. Returns the number of texts that the fast reader accepts, and of readable texts.
    fn compare(&mut self, what: &str, texts: &mut dyn Iterator<Item = (String, String)>) -> (usize, usize) {
        let (mut accepted, mut readable, mut all) = (0, 0, 0);
        for (name, text) in texts {
            all += 1;
            let slow = full(&text);
            readable += usize::from(slow.is_some());
            let Some(quick) = yaml::read_fast(&text, Default::default()) else { continue };
            accepted += 1;
            let difference = match &slow {
                Some(slow) => tree_difference(&quick, slow),
                None => Some("the full reader finds something wrong".to_owned()),
            };
            if let Some(difference) = difference {
                self.differences.push((name, text, difference));
            }
        }
        println!("{what}: {accepted} of {readable} readable texts by the fast reader ({all} in all)");
        (accepted, readable)
    }
}

/// Returns random objects of JSON, as kubectl, jq and other programs print them.
fn json_texts() -> impl Iterator<Item = (String, String)> {
    let mut random = Random::new(12);
    (0..3_000).map(move |number| {
        let values: Vec<Value> = (0..1 + random.below(2)).map(|_| json_object(&mut random, 0)).collect();
        let texts = values.iter().map(|value| match number % 3 {
            0 => value.to_string(),
            1 => serde_json::to_string_pretty(value).expect("JSON"),
            _ => serde_json::to_string_pretty(value).expect("JSON").replace("  ", "    "),
        });
        let texts: Vec<String> = texts.collect();
        (format!("JSON {number}"), texts.join(["\n", "", " "][number % 5 % 3]))
    })
}

fn json_object(random: &mut Random, depth: usize) -> Value {
    let entries = random.below(if depth == 0 { 30 } else { 5 });
    (0..entries).map(|_| (json_string(random), json_value(random, depth + 1))).collect()
}

fn json_value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 4 { 7 } else { 10 }) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 => json!(random.below(100)),
        3 => json!([-1_i64, i64::MAX, i64::MIN, 1 << 53][random.below(4)]),
        4 => json!([0.5, -0.0, 1e300, 1e-7, 80.0, u64::MAX as f64][random.below(6)]),
        5 | 6 => Value::String(json_string(random)),
        7 => (0..random.below(4)).map(|_| json_value(random, depth + 1)).collect(),
        _ => json_object(random, depth + 1),
    }
}

/// Strings with a meaning in YAML, and seldom characters with an escape or a special meaning.
fn json_string(random: &mut Random) -> String {
    const WORDS: [&str; 18] = [
        "metadata",
        "f:labels",
        ".",
        "<<",
        "---",
        "- a",
        "# no",
        "null",
        "true",
        "12",
        "y",
        "é",
        "日本",
        "\u{1f600}",
        "",
        "a: b, c",
        "'",
        "...",
    ];
    const SPECIAL: [&str; 9] =
        ["k:{\"name\":\"a\"}", "\\", "\"", "\n", "\t", "\u{2028}", "\u{feff}", "\u{85}", "\u{7f}"];
    let mut text: String = (0..1 + random.below(3)).map(|_| WORDS[random.below(WORDS.len())]).collect();
    text.push_str(&random.below(1_000).to_string());
    if random.one_in(100) {
        text.push_str(SPECIAL[random.below(SPECIAL.len())]);
    }
    text
}

/// Texts with one random edit each.
fn edited(texts: impl Iterator<Item = (String, String)>) -> impl Iterator<Item = (String, String)> {
    const INSERTS: [&str; 16] =
        ["\n", "\t", "\r", " ", ",", ":", "\"", "{", "}", "[", "]", "#", "1", "\\u12ab", "\\ud800", "\u{7f}"];
    let mut random = Random::new(13);
    texts.flat_map(move |(name, text)| {
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        let place = places.get(random.below(places.len().max(1))).copied().unwrap_or_default();
        let (before, behind) = text.split_at(place);
        let inserted = format!("{before}{}{behind}", INSERTS[random.below(INSERTS.len())]);
        let mut characters = behind.chars();
        characters.next();
        let removed = format!("{before}{}", characters.as_str());
        let doubled = text.replacen('{', "{\"same\": 1, \"same\": 2, ", 1);
        [("inserted", inserted), ("removed", removed), ("doubled", doubled)]
            .map(|(edit, text)| (format!("{name}, {edit}"), text))
    })
}

#[test]
fn the_full_reader_reads_what_the_reference_reads() {
    let (compared, differences) = compare_with_reference(corpus::own().into_iter().chain(generated()));
    println!("{compared} texts read by both");
    assert_none(differences);
    assert!(compared > 1_000, "{compared}");
}

/// Compares the full reader with the reference. Returns the number of texts that both read, and the differences.
fn compare_with_reference(texts: impl Iterator<Item = (String, String)>) -> (usize, Vec<(String, String, String)>) {
    let (mut compared, mut differences) = (0, Vec::new());
    for (name, text) in texts {
        let (Some(tree), Some(mut reference)) = (full(&text), reference(&text)) else { continue };
        if !reference.iter_mut().all(|document| document.apply_merge().is_ok()) {
            continue;
        }
        compared += 1;
        let ours: Vec<NodeRef<'_>> = tree.documents().collect();
        let difference = if ours.len() == reference.len() {
            std::iter::zip(&ours, &reference).find_map(|(ours, theirs)| reference_difference(*ours, theirs, &text))
        } else {
            Some(format!("{} documents, not {}", ours.len(), reference.len()))
        };
        if let Some(difference) = difference {
            differences.push((name, text, difference));
        }
    }
    (compared, differences)
}

/// Returns the documents that are not null, as the reference reads them; none when it refuses one.
pub(super) fn reference(text: &str) -> Option<Vec<Reference>> {
    let mut documents = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let value = Reference::deserialize(document).ok()?;
        if !value.is_null() {
            documents.push(value);
        }
    }
    Some(documents)
}

/// Returns the first difference from the reference, except in the type of a plain scalar: the reference follows YAML
/// 1.2, and the reader follows Kubernetes.
fn reference_difference(ours: NodeRef<'_>, theirs: &Reference, text: &str) -> Option<String> {
    let written = text.get(ours.span().start as usize..ours.span().end as usize).unwrap_or_default();
    let told = || Some(format!("{written:?}: {}, not {theirs:?}", ours.describe()));
    let plain = !written.starts_with(['"', '\'', '|', '>']);
    match (ours.value(), theirs) {
        (NodeValue::Seq(_), Reference::Sequence(theirs)) if ours.len() == theirs.len() => {
            std::iter::zip(ours.items(), theirs).find_map(|(ours, theirs)| reference_difference(ours, theirs, text))
        }
        (NodeValue::Map(_), Reference::Mapping(theirs)) if ours.len() == theirs.len() => {
            ours.entries().find_map(|(key, value)| {
                let name = key.as_str().unwrap_or_default();
                let found = theirs.get(name).or_else(|| {
                    // A key that is a number or similar in YAML 1.2, and a string in Kubernetes.
                    let same =
                        |other: &Reference| !other.is_string() && scalar_text(other).is_some_and(|text| text == name);
                    theirs.iter().find(|(other, _)| same(other)).map(|(_, value)| value)
                });
                match found {
                    Some(theirs) => reference_difference(value, theirs, text),
                    None => Some(format!("the key {name:?} is missing in {theirs:?}")),
                }
            })
        }
        (NodeValue::Str(_), Reference::String(theirs)) if ours.as_str() == Some(theirs) => None,
        (NodeValue::Null, Reference::Null) => None,
        (NodeValue::Bool(ours), Reference::Bool(theirs)) if ours == *theirs => None,
        (NodeValue::Int(_) | NodeValue::Float(_), Reference::Number(theirs)) if number(ours) == theirs.as_f64() => None,
        // A number to YAML 1.2, as large as it may be; a string to Kubernetes.
        (NodeValue::Str(_), Reference::Number(_)) if plain => None,
        (_, Reference::String(theirs)) if plain && means(theirs, ours.value()) => None,
        // Leading zeros are octal to one and decimal to the other.
        (NodeValue::Int(_), Reference::Number(_))
            if plain && written.trim_start_matches(['+', '-']).starts_with('0') =>
        {
            None
        }
        _ => told(),
    }
}

fn scalar_text(value: &Reference) -> Option<String> {
    match value {
        Reference::Null => Some("null".to_owned()),
        Reference::Bool(truth) => Some(truth.to_string()),
        Reference::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn number(node: NodeRef<'_>) -> Option<f64> {
    match node.value() {
        NodeValue::Int(number) => Some(number as f64),
        NodeValue::Float(number) => Some(number),
        _ => None,
    }
}

fn means(text: &str, value: NodeValue) -> bool {
    match scalar::resolve(text) {
        Plain::Null => value == NodeValue::Null,
        Plain::Bool(truth) => value == NodeValue::Bool(truth),
        Plain::Int(number) => value == NodeValue::Int(number),
        Plain::Float(number) => value == NodeValue::Float(number),
        Plain::NotFinite | Plain::Str => false,
    }
}
