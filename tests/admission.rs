//! What admission makes of pods, against the fixtures and tables of others.

mod standards;
