//! Attacks. The author of a pull request is the attacker: policies, templates, account lists, file names, the workspace
//! file, the output and the git repository are theirs.
//!
//! An attack that a folder of files describes is a case below `tests/hostile/<topic>/`, in the form of `tests/cases.rs`;
//! the others are tests here, one file for each topic.

mod base;
mod below;
mod declared;
mod gate;
mod git;
mod growth;
mod inputs;
mod limits;
mod names;
mod one_reading;
mod output;
mod pages;
mod printing;
mod reading;
mod repeated;
mod sandbox;
mod templates;
mod tree;
mod weaker;
mod writing;
