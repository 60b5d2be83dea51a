//! Codes of diagnostics about nodes and their agents.

bailiwick_yaml::declare_codes! {
    // Nodes.
    AGENT_NEEDS_NEWER_KUBERNETES: "needs-kubernetes-1.30", [Error], "an agent for each node needs Kubernetes 1.30";
    AGENT_READS_CANNOT_BE_SCOPED: "reads-cannot-be-scoped-by-admission", [Error], "admission cannot limit reads to the own node";
    AGENT_WILDCARD: "wildcard-resource-with-per-node-scope", [Error], "a wildcard in the write permissions of an agent";
    AGENT_NOT_EXPRESSIBLE: "not-expressible-in-admission", [Error], "the object of a write request does not name its node";
}
