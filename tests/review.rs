//! Reviews of changes: the simulated pull requests, and the proof that the verdict is right on random changes.

mod accepted;
mod approvals;
mod cases;
mod classes;
mod closing;
mod members;
mod pods;
mod proof;
mod settings;
mod silence;
