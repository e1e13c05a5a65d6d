//! Lines of a program as it prints them, each of a bounded size.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A longer line is dropped, bytes. Events have a few hundred; the analysis of a run at its end has more, and is read from
/// the run's folder.
const LONGEST: usize = 1 << 20;

/// The next line without its end; `None` where there is none any more. What is too long is empty.
pub(super) async fn next(from: &mut (impl AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut is_long = false;
    loop {
        let piece = from.fill_buf().await.ok()?;
        if piece.is_empty() {
            return (!line.is_empty()).then_some(line);
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let text = &piece[..end.unwrap_or(piece.len())];
        is_long |= line.len() + text.len() > LONGEST;
        if is_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(text);
        }
        let length = text.len() + usize::from(end.is_some());
        from.consume(length);
        if end.is_some() {
            return Some(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::BufReader, runtime::Builder};

    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_is_read() {
        let text = [b"a\n".as_slice(), &vec![b'x'; LONGEST + 1], b"\nb"].concat();
        let mut from = BufReader::new(text.as_slice());
        let runtime = Builder::new_current_thread().build().unwrap();
        let lines = runtime.block_on(async {
            let mut lines = Vec::new();
            while let Some(line) = next(&mut from).await {
                lines.push(line);
            }
            lines
        });
        assert_eq!(lines, [b"a".to_vec(), Vec::new(), b"b".to_vec()]);
    }
}
