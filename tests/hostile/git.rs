//! What a repository can make git do.
