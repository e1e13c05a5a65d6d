//! The head of an HTTP request: which page, in which format, and whether the connection is kept.
//!
//! Bodies are not read: a request with one is not for us.

use crate::{BadHost, Hosts};

const HEADERS: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    OpenMetrics,
    /// Prometheus' text format 0.0.4.
    Prometheus,
}

impl Format {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Metrics(Format),
    Front,
    Missing,
    /// Another method than GET and HEAD.
    NotAllowed,
    /// A `Host` that is not served.
    Misdirected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub page: Page,
    pub head_only: bool,
    pub keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A request, and its length in bytes.
    Whole(Request, usize),
    Partial,
    /// Nothing that HTTP knows.
    Rubbish,
}

/// Reads a head that was sent to one of these hosts.
pub fn parse(bytes: &[u8], hosts: &Hosts) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Rubbish,
    };
    let header = |name: &str| {
        let mut named = head.headers.iter().filter(|one| one.name.eq_ignore_ascii_case(name));
        named.next().and_then(|one| std::str::from_utf8(one.value).ok())
    };
    let has_body = header("transfer-encoding").is_some()
        || header("content-length").is_some_and(|length| length.trim() != "0");
    let (Some(method), Some(path), Some(version)) = (head.method, head.path, head.version) else {
        return Parsed::Rubbish;
    };
    if has_body {
        return Parsed::Rubbish;
    }
    let is_1_1 = version == 1;
    let mut asked = header("connection").unwrap_or_default().split(',');
    let keep = is_1_1 && !asked.any(|word| word.trim().eq_ignore_ascii_case("close"));
    let named = head.headers.iter().filter(|one| one.name.eq_ignore_ascii_case("host"));
    let mut checked = hosts.check(named.map(|one| one.value), is_1_1);
    let (authority, path) = parted(path);
    if let Some(authority) = authority
        && checked != Err(BadHost::Malformed)
    {
        // It counts, and not the header (RFC 9112, section 3.2.2).
        checked = hosts.check([authority.as_bytes()].into_iter(), true);
    }
    let page = match checked {
        Ok(()) => page(method, path, header("accept")),
        Err(BadHost::Foreign) => Page::Misdirected,
        Err(BadHost::Malformed) => return Parsed::Rubbish,
    };
    Parsed::Whole(Request { page, head_only: method == "HEAD", keep }, length)
}

/// The authority of a target in absolute form, as `http://127.0.0.1:9810/metrics`, and the path.
fn parted(target: &str) -> (Option<&str>, &str) {
    const SCHEME: &str = "http://";
    match target.split_at_checked(SCHEME.len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(SCHEME) => {
            let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            (Some(authority), if path.starts_with('/') { path } else { "/" })
        }
        _ => (None, target),
    }
}

fn page(method: &str, path: &str, accept: Option<&str>) -> Page {
    if !matches!(method, "GET" | "HEAD") {
        return Page::NotAllowed;
    }
    match path.split('?').next() {
        Some("/metrics") => Page::Metrics(format(accept.unwrap_or_default())),
        Some("/") => Page::Front,
        _ => Page::Missing,
    }
}

/// OpenMetrics where it is asked for by name and not less than the other.
fn format(accept: &str) -> Format {
    let (mut open, mut plain) = (0.0, 0.0);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let mut weight = 1.0_f32;
        let mut version = None;
        for part in parts {
            match part.split_once('=') {
                Some(("q", value)) => weight = value.parse().unwrap_or(1.0),
                Some(("version", value)) => version = Some(value.trim_matches('"')),
                _ => {}
            }
        }
        match (kind, version) {
            ("application/openmetrics-text", None | Some("1.0.0")) => open = weight.max(open),
            ("text/plain" | "text/*" | "*/*", None | Some("0.0.4")) => plain = weight.max(plain),
            _ => {}
        }
    }
    if open > 0.0 && open >= plain { Format::OpenMetrics } else { Format::Prometheus }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Request {
        match parse(text.as_bytes(), &Hosts::any()) {
            Parsed::Whole(request, length) if length == text.len() => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn prometheus_gets_openmetrics() {
        let accept = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                      version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let request =
            whole(&format!("GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n"));
        assert_eq!(request.page, Page::Metrics(Format::OpenMetrics));
        assert!(request.keep && !request.head_only);
    }

    #[test]
    fn anyone_who_does_not_name_openmetrics_gets_the_older_text() {
        for accept in [
            "",
            "*/*",
            "text/plain",
            "application/openmetrics-text;version=9.0.0",
            "application/openmetrics-text;q=0.1,text/plain;q=0.2",
            "application/openmetrics-text;q=0",
        ] {
            assert_eq!(format(accept), Format::Prometheus, "{accept}");
        }
        assert_eq!(format("application/openmetrics-text; version=\"1.0.0\""), Format::OpenMetrics);
    }

    #[test]
    fn other_paths_and_methods_are_distinguished() {
        let page = |first: &str| whole(&format!("{first}\r\n\r\n")).page;
        assert_eq!(page("GET / HTTP/1.1"), Page::Front);
        assert_eq!(page("GET /metrics?name=x HTTP/1.0"), Page::Metrics(Format::Prometheus));
        assert_eq!(page("GET /metricsx HTTP/1.1"), Page::Missing);
        assert_eq!(page("DELETE /metrics HTTP/1.1"), Page::NotAllowed);
        assert!(whole("HEAD / HTTP/1.1\r\n\r\n").head_only);
        assert!(!whole("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n").keep);
        assert!(!whole("GET / HTTP/1.0\r\n\r\n").keep);
    }

    #[test]
    fn half_a_request_is_waited_for_and_rubbish_is_not() {
        let parse = |bytes: &[u8]| parse(bytes, &Hosts::any());
        assert_eq!(parse(b"GET /met"), Parsed::Partial);
        assert_eq!(parse(b"\0\0\0"), Parsed::Rubbish);
        let body = b"GET /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(parse(body), Parsed::Rubbish);
    }

    #[test]
    fn a_foreign_host_gets_no_page_and_http_1_1_needs_one() {
        let page = |head: &str| match parse(head.as_bytes(), &Hosts::default()) {
            Parsed::Whole(request, _) => Some(request.page),
            _ => None,
        };
        let served = Some(Page::Metrics(Format::Prometheus));
        assert_eq!(page("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9810\r\n\r\n"), served);
        assert_eq!(page("GET /metrics HTTP/1.0\r\n\r\n"), served);
        assert_eq!(page("GET /metrics HTTP/1.1\r\n\r\n"), None);
        for first in ["GET /metrics HTTP/1.1", "GET / HTTP/1.0", "POST /x HTTP/1.1"] {
            let head = format!("{first}\r\nHost: evil.example\r\n\r\n");
            assert_eq!(page(&head), Some(Page::Misdirected), "{first}");
        }
    }

    #[test]
    fn a_target_in_absolute_form_is_served_by_its_own_host() {
        let asked = |target: &str, host: &str| {
            let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            match parse(head.as_bytes(), &Hosts::default()) {
                Parsed::Whole(request, _) => Some(request.page),
                _ => None,
            }
        };
        let (here, served) = ("127.0.0.1:9810", Some(Page::Metrics(Format::Prometheus)));
        assert_eq!(asked("http://127.0.0.1:9810/metrics", here), served);
        assert_eq!(asked("HTTP://localhost/metrics?name=x", here), served);
        assert_eq!(asked("http://127.0.0.1:9810/metrics", "evil.example"), served);
        assert_eq!(asked("http://evil.example/metrics", here), Some(Page::Misdirected));
        assert_eq!(asked("http://127.0.0.1@evil.example/metrics", here), Some(Page::Misdirected));
        for front in ["http://127.0.0.1:9810", "http://[::1]/", "http://localhost?x=/metrics"] {
            assert_eq!(asked(front, here), Some(Page::Front), "{front}");
        }
        assert_eq!(asked("http:///metrics", here), None);
        assert_eq!(asked("http://127.0.0.1/metrics", ""), None, "HTTP/1.1 needs a Host");
        assert_eq!(asked("ftp://127.0.0.1/metrics", here), Some(Page::Missing));
    }
}
