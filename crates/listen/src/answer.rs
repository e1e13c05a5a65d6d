//! Short answers over HTTP: a status, a few headers and a text.

use std::io::Write;

#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The status: one of those that are named below; any other is sent as 400.
    pub code: u16,
    pub media_type: &'a str,
    pub body: &'a [u8],
    /// Whether the body is left out, as after `HEAD`; the headers are the same.
    pub head_only: bool,
    pub keep: bool,
}

impl<'a> Answer<'a> {
    /// A line of plain text, after which the connection is closed.
    pub fn line(code: u16, text: &'a str) -> Self {
        let media_type = "text/plain; charset=utf-8";
        Self { code, media_type, body: text.as_bytes(), head_only: false, keep: false }
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        // Writing to memory cannot fail.
        let _ = write!(
            out,
            "HTTP/1.1 {}\r\nContent-Type: {}\r\n{}{}Content-Length: {}\r\n\r\n",
            status(self.code),
            self.media_type,
            if self.code == 405 { "Allow: GET, HEAD\r\n" } else { "" },
            if self.keep { "" } else { "Connection: close\r\n" },
            self.body.len(),
        );
        if !self.head_only {
            out.extend_from_slice(self.body);
        }
    }
}

/// The words of RFC 9110, and of RFC 6585 for 431.
fn status(code: u16) -> &'static str {
    match code {
        200 => "200 OK",
        404 => "404 Not Found",
        405 => "405 Method Not Allowed",
        421 => "421 Misdirected Request",
        431 => "431 Request Header Fields Too Large",
        503 => "503 Service Unavailable",
        _ => "400 Bad Request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: Answer<'_>) -> String {
        let mut out = Vec::new();
        answer.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_answer_says_how_long_it_is_and_whether_the_connection_is_kept() {
        let line = Answer::line(404, "no\n");
        assert_eq!(
            text(line),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Connection: close\r\nContent-Length: 3\r\n\r\nno\n"
        );
        let kept = text(Answer { keep: true, head_only: true, ..line });
        assert!(!kept.contains("Connection") && kept.ends_with("Content-Length: 3\r\n\r\n"));
        assert!(text(Answer::line(405, "")).contains("Allow: GET, HEAD\r\n"));
    }
}
