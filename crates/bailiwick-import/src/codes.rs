//! Codes of diagnostics about imports.

bailiwick_yaml::declare_codes! {
    POLICIES_EXIST: "policies-exist", [Error], "an import would replace policies of people";
}
