//! The metrics over HTTP/1.1, on loopback or on a UNIX socket.
//!
//! Answers `GET` and `HEAD` of `/metrics` and `/`; everything else is refused in a line. A page goes out
//! in pieces: the next one is written once the socket has taken the last. Anyone who stalls is dropped, and
//! the one that was silent longest leaves for a newcomer when all places are taken.

use std::os::fd::OwnedFd;

use listen::{
    Accepted, Activity, Answer, Format, Hosts, Listener, Occupant, Page, Parsed, Places, Request,
    Standing,
};

use crate::{
    metrics::{Scrape, Source},
    net::{
        Turn,
        connection::{Connection, Next, PATIENCE_NS, Received},
        outbox::{Letter, Outbox, Sent},
        poller::Interest,
        token::Token,
    },
    tally::Reason,
};

/// A request's head is not longer.
const LONGEST_HEAD: usize = 8 * 1024;
/// A piece of a page, its frame included.
const PIECE: usize = 32 * 1024;
/// Few fetch metrics; their places are not the consumers'.
const MOST_SCRAPERS: usize = 16;
/// A kept connection without a request ends after so long; scrapers come every minute or more often.
const IDLE_NS: u64 = 300_000_000_000;
/// Room for a chunk's length in hexadecimal.
const CHUNK_HEAD: &[u8] = b"00000000\r\n";
const FRONT: &str =
    "stationd: statistics of associated Wi-Fi stations.\nThe metrics are at /metrics.\n";

const FOREIGN: &str = "this Host is not served: ask for localhost or an address, or allow a name with \
                       --set hosts=NAME\n";

#[derive(Debug)]
pub struct Http {
    listener: Listener,
    scrapers: Places<Scraper>,
    buffer: Vec<u8>,
    responder: Responder,
}

/// Where requests are answered.
#[derive(Debug)]
struct Responder {
    letter: Letter,
    hosts: Hosts,
    max_age_ns: u64,
}

#[derive(Debug)]
struct Scraper {
    connection: Connection,
    standing: Standing,
    /// The page that is being sent, and whether in chunks.
    page: Option<(Scrape, bool)>,
}

impl Occupant for Scraper {
    fn standing(&self) -> Standing {
        self.standing
    }
}

impl Http {
    /// Serves anyone who comes through this door and asks for one of these hosts, with values no older than this.
    pub fn new(listener: Listener, hosts: Hosts, max_age_ns: u64) -> Self {
        let buffer = vec![0; LONGEST_HEAD];
        let responder = Responder { letter: Letter::default(), hosts, max_age_ns };
        Self { listener, scrapers: Places::new(MOST_SCRAPERS), buffer, responder }
    }

    /// The door, to be waited for.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Lets in who is at the door; whether there is room for more descriptors.
    pub fn open(&mut self, turn: &mut Turn<'_>) -> bool {
        for _ in 0..MOST_SCRAPERS {
            match self.listener.accept() {
                Accepted::Connection(socket) => self.admit(socket, turn),
                Accepted::Nothing => return true,
                Accepted::NoRoom => return false,
            }
        }
        true
    }

    fn admit(&mut self, socket: OwnedFd, turn: &mut Turn<'_>) {
        let Some(place) = self.scrapers.free().or_else(|| self.displace(turn)) else {
            return self.refuse(socket, turn);
        };
        let token = Token::Http(place);
        let Ok(mut connection) = Connection::new(socket, token, turn) else { return };
        connection.expect_by(Some(turn.now_ns + PATIENCE_NS), turn);
        let standing = Standing::new(turn.now_ns);
        self.scrapers.put(place, Scraper { connection, standing, page: None });
        turn.tally.scrapers += 1;
        // Who has asked already is answered before the next one, who may want this place, is let in.
        self.ready(place, turn);
    }

    /// Makes room for a newcomer: the place that is free now.
    fn displace(&mut self, turn: &mut Turn<'_>) -> Option<u32> {
        let place = self.scrapers.longest(turn.now_ns, |_| true)?;
        turn.tally.drop_for(Reason::Displaced);
        self.drop(place, turn);
        Some(place)
    }

    fn refuse(&mut self, socket: OwnedFd, turn: &mut Turn<'_>) {
        turn.tally.drop_for(Reason::Refused);
        let text = "stationd serves 16 scrapers at a time: try again later\n";
        answer(503, text, &mut self.responder.letter);
        // Anyone who does not take this one line does not get it.
        let _ = Outbox::default().send(socket, &mut self.responder.letter);
    }

    /// Bytes have come, or there is room for more of a page.
    pub fn ready(&mut self, place: u32, turn: &mut Turn<'_>) {
        let Some(scraper) = self.scrapers.get_mut(place) else { return };
        if let Some(next) = scraper.connection.throw_away(&mut self.buffer) {
            if next == Next::No {
                self.drop(place, turn);
            }
            return;
        }
        let next = if scraper.connection.is_writing() {
            let sent = scraper.connection.go_on(turn);
            scraper.serve(sent, &mut self.responder, turn)
        } else {
            match scraper.connection.receive(&mut self.buffer) {
                Received::Bytes(count) => {
                    if scraper.connection.input.is_empty() {
                        scraper.connection.expect_by(Some(turn.now_ns + PATIENCE_NS), turn);
                    }
                    scraper.connection.input.extend_from_slice(&self.buffer[..count]);
                    scraper.serve(Sent::All, &mut self.responder, turn)
                }
                Received::Nothing => Next::Yes,
                Received::Gone => Next::No,
            }
        };
        scraper.standing.moved(scraper.activity(), turn.now_ns);
        if next == Next::No {
            self.drop(place, turn);
        }
    }

    /// A scraper's patience, or ours with it, may be at its end.
    pub fn late(&mut self, place: u32, turn: &mut Turn<'_>) {
        let Some(scraper) = self.scrapers.get_mut(place) else { return };
        if !scraper.connection.is_late(turn) {
            return;
        }
        if scraper.connection.waits() {
            turn.tally.drop_for(Reason::Stalled);
        } else if !scraper.connection.input.is_empty() {
            turn.tally.drop_for(Reason::Unfinished);
        }
        self.drop(place, turn);
    }

    fn drop(&mut self, place: u32, turn: &mut Turn<'_>) {
        if let Some(mut scraper) = self.scrapers.take(place) {
            scraper.connection.leave(turn);
            turn.tally.scrapers -= 1;
        }
    }
}

impl Scraper {
    fn activity(&self) -> Activity {
        if self.page.is_some() || self.connection.waits() {
            Activity::Answered
        } else if self.connection.input.is_empty() {
            Activity::Idle
        } else {
            Activity::Unfinished
        }
    }

    /// Goes on with the page, or with the next request.
    fn serve(&mut self, sent: Sent, responder: &mut Responder, turn: &mut Turn<'_>) -> Next {
        if sent != Sent::All {
            return self.connection.rest(sent, turn);
        }
        if self.page.is_none() && !self.connection.ends() {
            self.take_request(responder, turn);
        }
        self.write_piece(&mut responder.letter, turn);
        let sent = self.connection.send(&mut responder.letter, turn);
        if sent == Sent::All && (self.page.is_some() || self.has_next(&responder.hosts)) {
            // One piece, or one answer, a turn: others have theirs between them.
            return self.connection.wait_for(Interest::Write, turn);
        }
        if sent == Sent::All && !self.connection.ends() && self.connection.input.is_empty() {
            self.connection.expect_by(Some(turn.now_ns + IDLE_NS), turn);
        }
        self.connection.rest(sent, turn)
    }

    /// Whether another request is there already.
    fn has_next(&self, hosts: &Hosts) -> bool {
        let input = &self.connection.input;
        !self.connection.ends()
            && !input.is_empty()
            && listen::parse(input, hosts) != Parsed::Partial
    }

    fn take_request(&mut self, responder: &mut Responder, turn: &mut Turn<'_>) {
        match listen::parse(&self.connection.input, &responder.hosts) {
            Parsed::Whole(request, length) => {
                self.connection.input.drain(..length);
                if !request.keep {
                    self.connection.end();
                }
                self.answer(request, responder, turn);
            }
            Parsed::Partial if self.connection.input.len() < LONGEST_HEAD => {}
            Parsed::Partial => {
                turn.tally.drop_for(Reason::Oversized);
                self.refuse(431, "a request's head has at most 8 KiB\n", &mut responder.letter);
            }
            Parsed::Rubbish => {
                self.refuse(400, "this is not an HTTP request for here\n", &mut responder.letter);
            }
        }
    }

    fn refuse(&mut self, code: u16, text: &str, letter: &mut Letter) {
        self.connection.input.clear();
        self.connection.end();
        answer(code, text, letter);
    }

    fn answer(&mut self, request: Request, responder: &mut Responder, turn: &mut Turn<'_>) {
        let (code, text) = match request.page {
            Page::Metrics(format) => {
                turn.tally.scrapes += 1;
                metrics_head(format, request, &mut responder.letter);
                if !request.head_only {
                    turn.engine.refresh_all(responder.max_age_ns, turn.now_ns);
                    self.page = Some((Scrape::new(format, turn.now_ns), request.chunks));
                }
                return;
            }
            Page::Front => (200, FRONT),
            Page::Missing => (404, "there is /metrics here, and nothing else\n"),
            Page::NotAllowed => (405, "only GET and HEAD are served\n"),
            Page::Misdirected => {
                return self.refuse(421, FOREIGN, &mut responder.letter);
            }
        };
        let Request { head_only, keep, .. } = request;
        Answer { head_only, keep, ..Answer::line(code, text) }.write(responder.letter.words());
    }

    /// Writes the next piece of the page.
    fn write_piece(&mut self, letter: &mut Letter, turn: &mut Turn<'_>) {
        let Some((scrape, chunks)) = &mut self.page else { return };
        let wall_offset_ns = turn.own.wall_offset_ns(turn.now_ns);
        let (engine, tally, own) = (&*turn.engine, &*turn.tally, &*turn.own);
        let source = Source { engine, tally, own, wall_offset_ns };
        let out = letter.words();
        let begin = out.len();
        if *chunks {
            out.extend_from_slice(CHUNK_HEAD);
        }
        let complete = scrape.write(&source, out, PIECE);
        if *chunks {
            end_chunk(out, begin, complete);
        }
        if complete {
            self.page = None;
        }
    }
}

/// Writes a chunk's length over the room that was left for it, and the last chunk behind it.
fn end_chunk(out: &mut Vec<u8>, begin: usize, is_last: bool) {
    let body = begin + CHUNK_HEAD.len();
    let length = format!("{:08x}", out.len() - body);
    if out.len() == body {
        // A chunk of no length would be the last one.
        out.truncate(begin);
    } else {
        out[begin..begin + length.len()].copy_from_slice(length.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    if is_last {
        out.extend_from_slice(b"0\r\n\r\n");
    }
}

fn metrics_head(format: Format, request: Request, letter: &mut Letter) {
    let frame = match (request.chunks, request.keep) {
        (true, true) => "Transfer-Encoding: chunked\r\n",
        (true, false) => "Transfer-Encoding: chunked\r\nConnection: close\r\n",
        (false, _) => "Connection: close\r\n",
    };
    for part in ["HTTP/1.1 200 OK\r\nContent-Type: ", format.media_type(), "\r\n", frame, "\r\n"] {
        letter.words().extend_from_slice(part.as_bytes());
    }
}

/// A line, after which the connection ends.
fn answer(code: u16, text: &str, letter: &mut Letter) {
    Answer::line(code, text).write(letter.words());
}
