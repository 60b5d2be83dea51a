//! Bailiwick compiles access policy for Kubernetes clusters: policies in, validated manifests out.
pub mod diag;
pub mod k8s;
pub mod validate;
pub mod yaml;
