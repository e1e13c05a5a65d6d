//! Serves the metrics over HTTP/1.1, on loopback or on a UNIX socket.
//!
//! Answers `GET` and `HEAD` of `/metrics` and `/`; everything else is refused in a line.

use listen::{Answer, Format, Hosts, Listener, Page, Parsed, Request};

use crate::{
    metrics::Pages,
    net::{
        letter::Letter,
        server::{Exchange, Outcome, Protocol, Server, Service},
        token,
    },
    tally::Tally,
};

const FRONT: &str =
    "stationd: statistics of associated Wi-Fi stations.\nThe metrics are at /metrics.\n";
const FOREIGN: &str = "this Host is not served: ask for localhost or an address, or allow a name with \
                       --set hosts=NAME\n";

#[derive(Debug)]
pub(crate) struct Http {
    hosts: Hosts,
    pages: Pages,
}

impl Http {
    pub(crate) fn server(listener: Listener, hosts: Hosts) -> Server<Self> {
        Server::new(listener, Self { hosts, pages: Pages::default() })
    }

    fn metrics(&mut self, format: Format, request: Request, exchange: Exchange<'_, ()>) {
        let Exchange { letter, hub, .. } = exchange;
        hub.engine.refresh_all(hub.max_age_ns, hub.now_ns);
        let page = self.pages.page(format, hub);
        // The page is shared, and not copied behind its head.
        let (media_type, keep) = (format.media_type(), request.keep);
        let head = Answer { code: 200, media_type, body: &page, head_only: true, keep };
        head.write(letter.words());
        if !request.head_only {
            letter.share(page);
        }
    }
}

impl Protocol for Http {
    type State = ();
    /// Scrapers come every minute or more often.
    const IDLE_NS: Option<u64> = Some(300_000_000_000);
    const LONGEST: usize = 8 * 1024;

    fn answer(&mut self, bytes: &[u8], exchange: Exchange<'_, ()>) -> Outcome {
        let out = exchange.letter.words();
        let (request, length) = match listen::parse(bytes, &self.hosts) {
            Parsed::Whole(request, length) => (request, length),
            Parsed::Partial => return Outcome::Partial,
            Parsed::Rubbish => {
                Answer::line(400, "this is not an HTTP request for here\n").write(out);
                return Outcome::Last;
            }
        };
        let (code, text) = match request.page {
            Page::Metrics(format) => {
                self.metrics(format, request, exchange);
                return answered(request.keep, length);
            }
            Page::Front => (200, FRONT),
            Page::Missing => (404, "there is /metrics here, and nothing else\n"),
            Page::NotAllowed => (405, "only GET and HEAD are served\n"),
            Page::Misdirected => {
                Answer::line(421, FOREIGN).write(out);
                return Outcome::Last;
            }
        };
        let Request { head_only, keep, .. } = request;
        Answer { head_only, keep, ..Answer::line(code, text) }.write(out);
        answered(keep, length)
    }

    fn oversized(&self, letter: &mut Letter) {
        Answer::line(431, "a request's head has at most 8 KiB\n").write(letter.words());
    }
}

impl Service for Http {
    /// Few fetch metrics; their places are not the consumers'.
    const MOST: usize = 16;
    const TOKENS: [u64; 2] = [token::HTTP_LISTENER, token::HTTP];

    fn count(tally: &mut Tally) -> &mut usize {
        &mut tally.scrapers
    }

    fn refuse(&self, letter: &mut Letter) {
        let text = format!("stationd serves {} scrapers at a time: try again later\n", Self::MOST);
        Answer::line(503, &text).write(letter.words());
    }
}

/// A request of this length was answered; the connection is kept or not, as it said.
fn answered(keep: bool, length: usize) -> Outcome {
    if keep { Outcome::Whole(length) } else { Outcome::Last }
}
