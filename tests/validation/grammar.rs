//! The strings of each grammar.

use bailiwick::k8s::names::{self, Grammar};
use bailiwick::k8s::quantity::Quantity;

use super::{assert_none, table};

/// True when a string passes.
type Check = fn(&str) -> bool;

/// The check of each column, in the order of the table.
const COLUMNS: [(&str, Check); 16] = [
    ("dnsLabel", |text| passes(names::dns_label, text)),
    ("dnsSubdomain", |text| passes(names::dns_subdomain, text)),
    ("dns1035Label", |text| passes(names::dns_1035_label, text)),
    ("dnsLabelPrefix", |text| passes(names::dns_label_prefix, text)),
    ("dnsSubdomainPrefix", |text| passes(names::dns_subdomain_prefix, text)),
    ("pathSegment", |text| passes(names::path_segment, text)),
    ("pathSegmentPrefix", |text| passes(names::path_segment_prefix, text)),
    ("labelKey", |text| passes(names::label_key, text)),
    ("annotationKey", |text| passes(names::annotation_key, text)),
    ("labelValue", |text| passes(names::label_value, text)),
    ("portName", |text| passes(names::port_name, text)),
    ("psaVersion", |text| passes(names::psa_version, text)),
    ("psaLevel", |text| passes(names::psa_level, text)),
    ("sysctlPattern", |text| passes(names::sysctl_pattern, text)),
    ("serviceAccountUser", |text| names::service_account_user(text).is_some()),
    ("quantity", |text| Quantity::parse(text).is_some()),
];

#[test]
fn every_string_passes_exactly_the_grammars_recorded() {
    let table = table(include_str!("string-grammar-cases.yaml"));
    let columns: Vec<&str> =
        table["columns"].as_sequence().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(columns, COLUMNS.map(|(name, _)| name));
    let rows = table["rows"].as_sequence().unwrap();
    assert!(rows.len() >= 559, "{}", rows.len());
    let mut failures = Vec::new();
    for row in rows {
        let (text, bits) = (row[0].as_str().unwrap(), row[1].as_str().unwrap());
        assert_eq!(bits.len(), COLUMNS.len(), "{text:?}");
        for ((name, check), bit) in COLUMNS.iter().zip(bits.bytes()) {
            if check(text) != (bit == b'1') {
                failures.push(format!("{name} of {text:?}: expected {}", bit == b'1'));
            }
        }
    }
    assert_none(&failures);
}

fn passes(grammar: Grammar, text: &str) -> bool {
    grammar(text).is_ok()
}
