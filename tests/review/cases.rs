//! The simulated pull requests, compared as data.
