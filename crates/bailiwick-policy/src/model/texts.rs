//! Texts with one copy for many policies, such as names of fields.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// How many texts a thread remembers.
const REMEMBERED: usize = 1024;

/// The length in bytes from which a text is not remembered: a long text is hardly ever repeated.
const LONG: usize = 128;

thread_local! {
    /// The latest text of each hash.
    static TEXTS: RefCell<(RandomState, Vec<Option<Arc<str>>>)> =
        RefCell::new((RandomState::new(), vec![None; REMEMBERED]));
}

/// Returns a text; an equal one of the last texts of the thread, if there is one. The policies of a large workspace repeat a few
/// words, and the reference counts of a copy of its own are longer than most of these words.
pub fn shared_text(text: &str) -> Arc<str> {
    if text.len() >= LONG {
        return text.into();
    }
    TEXTS.with_borrow_mut(|(hashes, texts)| {
        let place = usize::try_from(hashes.hash_one(text) % REMEMBERED as u64).map_or(0, |place| place);
        let Some(latest) = texts.get_mut(place) else { return text.into() };
        match latest {
            Some(known) if **known == *text => Arc::clone(known),
            _ => Arc::clone(latest.insert(text.into())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_text() {
        let first = shared_text("subjects");
        assert!(Arc::ptr_eq(&first, &shared_text("subjects")));
        for number in 0..10 * REMEMBERED {
            assert_eq!(*shared_text(&number.to_string()), *number.to_string());
        }
        assert_eq!(*shared_text("subjects"), *first);
        let long = "x".repeat(LONG);
        assert!(!Arc::ptr_eq(&shared_text(&long), &shared_text(&long)), "a long text is not remembered");
    }
}
