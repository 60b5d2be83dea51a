//! Work on a few threads, results in order, memory bounded.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, mpsc};
use std::thread;

/// The minimum and maximum number of positions that a thread takes together: low enough to share short work and to bound the results that
/// wait for their consumer, high enough to avoid contention.
const CHUNKS: std::ops::RangeInclusive<usize> = 8..=32;

/// How many chunks a thread should get at least.
const CHUNKS_EACH: usize = 32;

/// How many chunks for each thread may be finished or under way beyond the last one consumed.
const WINDOW_EACH: usize = 4;

/// How many chunks of all threads may be finished or under way beyond the last one consumed.
const MAXIMUM_WINDOW: usize = 16;

/// The stack size of a thread in bytes, a multiple of the need of the longest template: the engine recurses over
/// branches and operators. Unused stack takes no memory.
const STACK: usize = 64 << 20;

/// Runs `work` on the main thread if its stack can grow to the size of the others, on a new thread of this size, or on the current thread if
/// no thread can be started.
pub fn with_room<R: Send>(work: impl Fn() -> R + Sync) -> R {
    if is_main_with_room() {
        return work();
    }
    thread::scope(|scope| match thread::Builder::new().stack_size(STACK).spawn_scoped(scope, &work) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => work(),
    })
}

/// Lets the stack of the main thread grow to [`STACK`]. Returns whether it can, and the current thread is the main thread.
///
/// A thread of its own costs a small run its start, its end and a second heap. Linux compares the limit when the stack grows, and keeps at least
/// 128 MiB below the stack free of other memory (`mmap_base` in `arch/x86/mm/mmap.c` and `mm/util.c`, Linux 6.18).
#[cfg(target_os = "linux")]
fn is_main_with_room() -> bool {
    use rustix::process::{Resource, Rlimit, getpid, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Stack);
    let is_enough = |bytes: Option<u64>| bytes.is_none_or(|bytes| bytes >= STACK as u64);
    let can_grow = || {
        let raised = Rlimit { current: Some(STACK as u64), ..limit };
        is_enough(limit.current) || (is_enough(limit.maximum) && setrlimit(Resource::Stack, raised).is_ok())
    };
    rustix::thread::gettid() == getpid() && can_grow()
}

/// Returns false: the stack of the main thread has a fixed size.
#[cfg(not(target_os = "linux"))]
fn is_main_with_room() -> bool {
    false
}

/// Runs two works at the same time, or one after the other if no thread can be started or `jobs` is 1.
pub fn both<L: Send, R>(jobs: usize, left: impl Fn() -> L + Sync, right: impl FnOnce() -> R) -> (L, R) {
    if jobs <= 1 {
        return (left(), right());
    }
    thread::scope(|scope| match thread::Builder::new().stack_size(STACK).spawn_scoped(scope, &left) {
        Ok(thread) => {
            let right = right();
            (thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), right)
        }
        Err(_) => (left(), right()),
    })
}

/// Runs `work` for every position below `total` on `jobs` threads, each with a state of its own, and gives the
/// results to `consume` in order. `consume` returns false to stop early.
pub fn in_order<S, R: Send>(
    total: usize,
    jobs: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
    mut consume: impl FnMut(usize, R) -> bool,
) {
    let chunk_size = (total / (CHUNKS_EACH * jobs.max(1))).clamp(*CHUNKS.start(), *CHUNKS.end());
    let chunks = total.div_ceil(chunk_size);
    if jobs <= 1 || chunks <= 1 {
        let mut state = state();
        for position in 0..total {
            if !consume(position, work(&mut state, position)) {
                return;
            }
        }
        return;
    }
    let next = AtomicUsize::new(0);
    let progress = Progress::with_window((WINDOW_EACH * jobs).min(MAXIMUM_WINDOW));
    let (sender, receiver) = mpsc::channel::<Chunk<R>>();
    thread::scope(|scope| {
        for _ in 0..jobs.min(chunks) {
            let sender = sender.clone();
            let (next, progress, state, work) = (&next, &progress, &state, &work);
            let run = move || {
                let mut state = state();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= chunks || !progress.wait_for_room(number) {
                        return;
                    }
                    let positions = number * chunk_size..((number + 1) * chunk_size).min(total);
                    let results = positions.map(|position| work(&mut state, position)).collect();
                    if sender.send(Chunk { number, results }).is_err() {
                        return;
                    }
                }
            };
            if thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run.clone()).is_err() {
                scope.spawn(run);
            }
        }
        drop(sender);
        consume_in_order(receiver, chunk_size, &progress, consume);
    });
}

/// Returns a function that runs a work for each number below a total on `jobs` threads, as the libraries take one.
pub fn for_each(jobs: usize) -> impl Fn(usize, &(dyn Fn(usize) + Sync)) {
    move |total, work| in_order(total, jobs, || (), |(), number| work(number), |_, ()| true)
}

/// The results of some positions in a row.
struct Chunk<R> {
    number: usize,
    results: Vec<R>,
}

/// Gives the results of chunks that arrive in any order to `consume` in order of their positions.
fn consume_in_order<R>(
    chunks: mpsc::Receiver<Chunk<R>>,
    chunk_size: usize,
    progress: &Progress,
    mut consume: impl FnMut(usize, R) -> bool,
) {
    let mut early: BTreeMap<usize, Vec<R>> = BTreeMap::new();
    let mut due = 0;
    for Chunk { number, results } in chunks {
        early.insert(number, results);
        while let Some(results) = early.remove(&due) {
            for (offset, result) in results.into_iter().enumerate() {
                if !progress.is_stopped() && !consume(due * chunk_size + offset, result) {
                    progress.stopped.store(true, Ordering::Relaxed);
                }
            }
            due += 1;
            progress.set_consumed(due);
        }
    }
}

/// The progress of the consumer, for the threads that work.
struct Progress {
    /// How many chunks may be finished or under way beyond the last one consumed.
    window: usize,
    stopped: AtomicBool,
    /// The number of consumed chunks.
    consumed: Mutex<usize>,
    changed: Condvar,
}

impl Progress {
    fn with_window(window: usize) -> Self {
        Self { window, stopped: AtomicBool::new(false), consumed: Mutex::new(0), changed: Condvar::new() }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn set_consumed(&self, chunks: usize) {
        *locked(&self.consumed) = chunks;
        self.changed.notify_all();
    }

    /// Waits until a chunk is near enough to the last one consumed; false when the work was stopped.
    fn wait_for_room(&self, chunk: usize) -> bool {
        let mut consumed = locked(&self.consumed);
        while chunk >= *consumed + self.window && !self.is_stopped() {
            consumed = self.changed.wait(consumed).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        !self.is_stopped()
    }
}

/// Locks a mutex. A thread that panicked ends the run, so that no half-changed value is used.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// Returns the value of a mutex, as [`locked`] does.
pub fn unlocked<T>(mutex: Mutex<T>) -> T {
    match mutex.into_inner() {
        Ok(value) => value,
        Err(poisoned) => poisoned.into_inner(),
    }
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn results_arrive_in_order_on_any_number_of_threads() {
        for jobs in [1, 2, 8] {
            let mut seen = Vec::new();
            in_order(
                1000,
                jobs,
                || (),
                |(), position| position * 2,
                |position, result| {
                    assert_eq!(result, position * 2);
                    seen.push(position);
                    true
                },
            );
            assert_eq!(seen, (0..1000).collect::<Vec<_>>());
        }
    }

    #[test]
    fn it_stops_when_told_to() {
        for jobs in [1, 4] {
            let mut count = 0;
            in_order(
                100_000,
                jobs,
                || (),
                |(), position| position,
                |_, _| {
                    count += 1;
                    count < 5
                },
            );
            assert_eq!(count, 5);
        }
    }
}
