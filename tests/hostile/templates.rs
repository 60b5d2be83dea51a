//! Templates that grow without end, and templates that change what a policy states.
