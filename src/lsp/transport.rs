//! The messages of the editor on standard input, and the messages of the server on standard output.
//!
//! The library sets memory aside for a message before the message is there: the sizes are checked here before.

use std::io::{self, BufRead, ErrorKind, Read};
use std::thread::{self, JoinHandle};

use crossbeam_channel::bounded;
use lsp_server::{Connection, Message};

use crate::yaml::limits::{LONGEST_MESSAGE_HEADER, MAXIMUM_MESSAGE_SIZE, written_size};

/// The threads of a connection. They end with its channels.
pub(super) struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits for the ends of the threads, and returns the failure of reading and the failure of writing.
    pub(super) fn join(self) -> (io::Result<()>, io::Result<()>) {
        let result = |thread: JoinHandle<io::Result<()>>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (result(self.reader), result(self.writer))
    }
}

/// Connects the server to standard input and standard output.
pub(super) fn connect() -> (Connection, Threads) {
    let (sender, written) = bounded::<Message>(0);
    #[expect(clippy::disallowed_methods, reason = "the messages of the protocol, which escape foreign text")]
    let writer = thread::spawn(move || {
        let mut output = io::stdout().lock();
        written.into_iter().try_for_each(|message| message.write(&mut output))
    });
    let (read, receiver) = bounded::<Message>(0);
    let reader = thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(message) = read_message(&mut input)? {
            let is_exit = matches!(&message, Message::Notification(notification) if notification.method == "exit");
            if read.send(message).is_err() || is_exit {
                break;
            }
        }
        Ok(())
    });
    (Connection { sender, receiver }, Threads { reader, writer })
}

/// Reads a message; none at the end of the input.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let mut head = Vec::new();
    let mut size = None;
    loop {
        let start = head.len();
        let left = LONGEST_MESSAGE_HEADER.saturating_sub(start);
        let read = input.by_ref().take(left as u64).read_until(b'\n', &mut head)?;
        let line = head.get(start..).map_or(&b""[..], |line| line);
        if read == 0 && start == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            let limit = written_size(LONGEST_MESSAGE_HEADER as u64);
            return Err(invalid(format!("the header of a message is not complete, or exceeds the limit of {limit}")));
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            break;
        }
        let field = std::str::from_utf8(line).ok().and_then(|line| line.split_once(':'));
        if let Some((_, value)) = field.filter(|(name, _)| name.trim().eq_ignore_ascii_case("content-length")) {
            size = value.trim().parse::<u64>().ok();
        }
    }
    let size = size.ok_or_else(|| invalid("the header of a message has no `Content-Length`".to_owned()))?;
    if size > MAXIMUM_MESSAGE_SIZE as u64 {
        let limit = written_size(MAXIMUM_MESSAGE_SIZE as u64);
        return Err(invalid(format!("a message has {size} bytes, and the limit is {limit}")));
    }
    // The memory grows with the bytes that are there.
    input.by_ref().take(size).read_to_end(&mut head)?;
    Message::read(&mut head.as_slice())
}

fn invalid(text: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"jsonrpc":"2.0","method":"exit"}"#;

    fn read(text: &str) -> Result<bool, String> {
        read_message(&mut text.as_bytes()).map(|message| message.is_some()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_message_has_limits() {
        assert_eq!(read(""), Ok(false));
        assert_eq!(read(&format!("Content-Length: {}\r\n\r\n{BODY}", BODY.len())), Ok(true));
        assert_eq!(read(&format!("Content-Length: {}\r\nContent-Type: x\r\n\r\n{BODY}", BODY.len())), Ok(true));
        let spaces = MAXIMUM_MESSAGE_SIZE - BODY.len();
        let padded = format!("{BODY}{}", " ".repeat(spaces));
        assert_eq!(read(&format!("Content-Length: {}\r\n\r\n{padded}", padded.len())), Ok(true));
        let above = format!("Content-Length: {}\r\n\r\n{padded} ", padded.len() + 1);
        assert!(read(&above).is_err_and(|error| error.contains("the limit is 128 MiB")));
        for huge in ["9223372036854775807", "18446744073709551615", "1000000000000000000000000"] {
            assert!(read(&format!("Content-Length: {huge}\r\n\r\n{BODY}")).is_err(), "{huge}");
        }
        let length = format!("Content-Length: {}\r\n", BODY.len());
        let header = |size: usize| format!("{length}X: {}\r\n\r\n{BODY}", "a".repeat(size - length.len() - 7));
        assert_eq!(read(&header(LONGEST_MESSAGE_HEADER)), Ok(true));
        assert!(read(&header(LONGEST_MESSAGE_HEADER + 1)).is_err_and(|error| error.contains("limit of 4 KiB")));
        assert!(read(&"a".repeat(LONGEST_MESSAGE_HEADER + 1)).is_err_and(|error| error.contains("limit of 4 KiB")));
        assert!(read("Content-Length: 10\r\n\r\n{}").is_err());
    }
}
