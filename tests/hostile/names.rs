//! Names of input files that could become objects, and files that readers take in different ways.
