//! Codes of diagnostics about YAML and about the shape of a document.

crate::declare_codes! {
    // Reading text.
    YAML_SYNTAX: "yaml-syntax", [Error], "a document is not YAML";
    TAB_INDENT: "tab-indent", [Error], "a line is indented with a tab";
    DUPLICATE_KEY: "duplicate-yaml-key", [Error], "a map has two equal keys";
    KEY_NOT_STRING: "key-not-string", [Error], "a key is not a string";
    NUMBER_NOT_FINITE: "number-not-finite", [Error], "a number that JSON does not have";
    YAML_TAG: "yaml-tag", [Error], "an unsupported YAML tag";
    YAML_ALIAS: "yaml-alias", [Error], "an alias is unresolved or expands too much";
    YAML_MERGE: "yaml-merge", [Error], "the value of a merge key is not a map";
    TOO_DEEP: "too-deep", [Error], "too many levels of nesting";
    // The shape of policies.
    UNKNOWN_FIELD: "unknown-field", [Error], "a field that the kind does not have";
    MISSING_FIELD: "missing-field", [Error], "a required field is missing";
    WRONG_TYPE: "wrong-type", [Error], "a value of the wrong type";
    UNKNOWN_VALUE: "unknown-value", [Error], "a word that the field does not accept";
    INVALID_VALUE: "invalid-value", [Error], "a value that the field does not accept";
}
