//! The end of what a program says on its error output, however much that is.
//!
//! A thread reads it, so that the program never waits for us, and keeps no more than a page.

use std::{
    collections::VecDeque,
    io::Read,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const KEPT: usize = 4096;

/// The lines that are reported: ssh needs four to say that a jump host does not lead on, the reason first.
const LINES: usize = 4;

/// A program that has ended may have left its error output to another one, which is not waited for.
const GRACE: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(crate) struct LastWords {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl LastWords {
    pub(crate) fn of(source: impl Read + Send + 'static) -> Self {
        Self::kept(KEPT, source)
    }

    /// The same, of which this many bytes are kept.
    pub(crate) fn kept(most: usize, mut source: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let shared = Arc::clone(&kept);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = source.read(&mut buffer) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..length]);
                let more = kept.len().saturating_sub(most);
                kept.drain(..more);
            }
        });
        Self { kept, reader }
    }

    /// What is kept of all that it has said so far.
    pub(crate) fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept.iter().copied().collect::<Vec<u8>>()).into_owned()
    }

    /// The last lines in one; the program must have ended.
    pub(crate) fn message(&self) -> String {
        let until = Instant::now() + GRACE;
        while !self.reader.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        let text = self.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_four_lines_are_reported_in_one() {
        let words = LastWords::of(&b"zero\none\ntwo\n\nthree\nfour\n"[..]);
        assert_eq!(words.message(), "one; two; three; four");
        assert_eq!(LastWords::of(&b""[..]).message(), "");
    }

    #[test]
    fn of_much_the_end_is_kept() {
        let much = std::io::repeat(b'x').take(1 << 22).chain(&b"\nthe end\n"[..]);
        let message = LastWords::of(much).message();
        assert!(message.len() <= KEPT && message.ends_with("; the end"), "{} bytes", message.len());
    }
}
