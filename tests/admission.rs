//! Admission: tables of pods and policies with the verdicts recorded for them.

mod psp;
