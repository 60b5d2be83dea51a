//! The exports of the module: bytes in, bytes out.
//!
//! The page calls `request` with a length and writes a request to the returned address, calls `run`, and reads `response_length`
//! bytes at `response`. The buffers are ordinary vectors, and no function reads an address that the page passes.
//!
//! A panic ends the module with a trap, after which only `response` may be called: it then has the message of the panic.

#![cfg(target_family = "wasm")]
#![expect(unsafe_code, reason = "an export has a name of its own in the module, and Rust calls the attribute unsafe")]

use std::sync::{Mutex, MutexGuard};

use super::{MAXIMUM_REQUEST, answer};

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static RESPONSE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn locked(buffer: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    match buffer.lock() {
        Ok(bytes) => bytes,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// Returns the address for a request of so many bytes; 0 if it is too long.
#[unsafe(no_mangle)]
extern "C" fn request(length: usize) -> *mut u8 {
    if length > MAXIMUM_REQUEST {
        return std::ptr::null_mut();
    }
    let mut buffer = locked(&REQUEST);
    *buffer = vec![0; length];
    buffer.as_mut_ptr()
}

/// Answers the request.
#[unsafe(no_mangle)]
extern "C" fn run() {
    std::panic::set_hook(Box::new(|panic| {
        *locked(&RESPONSE) = panic.to_string().into_bytes();
    }));
    let request = std::mem::take(&mut *locked(&REQUEST));
    let response = answer(&request);
    *locked(&RESPONSE) = response;
}

/// Returns the address of the response.
#[unsafe(no_mangle)]
extern "C" fn response() -> *const u8 {
    locked(&RESPONSE).as_ptr()
}

/// Returns the number of bytes of the response.
#[unsafe(no_mangle)]
extern "C" fn response_length() -> usize {
    locked(&RESPONSE).len()
}

/// Fills the bytes that `getrandom` asks for with a constant, since a module without imports has no other source. The bytes are
/// the seeds of hash maps alone, and a reader who attacks them slows down a page of their own.
///
/// # Safety
/// `bytes` is the address of `length` bytes that can be written.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(bytes: *mut u8, length: usize) -> Result<(), getrandom::Error> {
    // SAFETY: `getrandom` passes the address and the length of its own buffer.
    unsafe { std::ptr::write_bytes(bytes, 0x5a, length) };
    Ok(())
}
