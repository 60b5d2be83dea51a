//! Caches that an attacker can write to.
