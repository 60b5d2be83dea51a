//! Codes of diagnostics about YAML and about the shape of a document.

crate::declare_codes! {
    // Reading text.
    YAML_SYNTAX: "yaml-syntax", [Error], "a document is not YAML";
    TAB_INDENT: "tab-indent", [Error], "a tab indents a line";
    DUPLICATE_KEY: "duplicate-yaml-key", [Error], "a key stands twice in one map";
    KEY_NOT_STRING: "key-not-string", [Error], "a key reads as something else than a string";
    NUMBER_NOT_FINITE: "number-not-finite", [Error], "a number that JSON cannot hold";
    YAML_TAG: "yaml-tag", [Error], "a tag that has no meaning here";
    YAML_ALIAS: "yaml-alias", [Error], "an alias that cannot be resolved or grows too much";
    YAML_MERGE: "yaml-merge", [Error], "a merge key whose value is not a map";
    TOO_DEEP: "too-deep", [Error], "collections nest too deeply";
    // The shape of policies.
    UNKNOWN_FIELD: "unknown-field", [Error], "a field that the kind does not have";
    MISSING_FIELD: "missing-field", [Error], "a field that the kind demands";
    WRONG_TYPE: "wrong-type", [Error], "a value of another type than the field takes";
    UNKNOWN_VALUE: "unknown-value", [Error], "a word that the field does not take";
    INVALID_VALUE: "invalid-value", [Error], "a value that the field cannot take";
}
