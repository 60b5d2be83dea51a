//! Codes of diagnostics about nodes and their agents.

bailiwick_yaml::declare_codes! {
    // Nodes.
    AGENT_NEEDS_NEWER_KUBERNETES: "needs-kubernetes-1.30", [Error], "an agent by node, before Kubernetes 1.30";
    AGENT_READS_CANNOT_BE_SCOPED: "reads-cannot-be-scoped-by-admission", [Error], "reads that are to be limited to the own node";
    AGENT_WILDCARD: "wildcard-resource-with-per-node-scope", [Error], "a wildcard in what an agent may write of its own node";
    AGENT_NOT_EXPRESSIBLE: "not-expressible-in-admission", [Error], "a write whose object says nothing of its node";
}
