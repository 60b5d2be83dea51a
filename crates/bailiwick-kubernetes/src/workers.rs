//! Work on the threads of the caller.

use std::sync::OnceLock;

/// Runs a work for each number below a total, on several threads if there are any.
pub type ForEach<'w> = &'w dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// The threads of the caller: a library starts none.
#[derive(Clone, Copy)]
pub struct Workers<'w>(pub ForEach<'w>);

impl Workers<'_> {
    /// Returns the results of a work for each number below a total, in order.
    pub fn map<R: Send + Sync>(&self, total: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let results: Vec<OnceLock<R>> = std::iter::repeat_with(OnceLock::new).take(total).collect();
        (self.0)(total, &|number| {
            if let Some(result) = results.get(number) {
                result.get_or_init(|| work(number));
            }
        });
        results.into_iter().filter_map(OnceLock::into_inner).collect()
    }

    /// Returns the results of a work for each item, in order.
    pub fn map_each<T: Sync, R: Send + Sync>(&self, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let results = self.map(items.len(), |number| items.get(number).map(&work));
        // Each number is the place of an item.
        results.into_iter().flatten().collect()
    }
}
