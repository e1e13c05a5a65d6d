//! A device that does everything wrong: what `ssh` is, where the tests of `hostile_device` run headroom.
//!
//! It ignores the script that it is given, takes the agent's program as a device would, and speaks headroom's
//! stream until the attack begins that `HOSTILE_ATTACK` names. Frames that say what no type of ours can hold
//! are written field by field. `--list` prints the names of all attacks.

use std::{
    env,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

use model::{
    facts::Facts,
    instrument::{Piece, Recorder, Records},
    sample::Sample,
    topology::Correction,
    wire::{Census, Decoder, Frame, InterfaceCensus, Order, PROTOCOL, Part, Refusal, encode},
};
use serde::Serialize;

/// An attack, or a part of one, leaves the peer for what comes next.
type Step<'a> = io::Result<&'a mut Peer>;

/// What is done, and when: before the agent's program has been taken, after it, or at an order.
type Attack = fn(&mut Peer) -> Step<'_>;

/// Attacks on a peer that knows nothing yet: the agent's program is still to be read.
const FIRST: &[(&str, Attack)] = &[
    ("never-reads", Peer::sleep),
    ("ends-at-once", |peer| Ok(peer)),
    ("ends-in-the-program", |peer| peer.skip(1000)),
    ("talks-without-reading", |peer| peer.endless(&[0x41; 4096])),
    ("complains-without-reading", Peer::complain),
    ("reads-a-drip", |peer| {
        loop {
            peer.skip(1)?;
            tick();
        }
    }),
];

/// Attacks instead of a greeting.
const GREETINGS: &[(&str, Attack)] = &[
    ("says-nothing", Peer::sleep),
    ("ends-unasked", |peer| Ok(peer)),
    ("closes-and-stays", Peer::close_and_stay),
    ("leaves-a-child", |peer| {
        Command::new("sh").args(["-c", "trap '' TERM HUP INT; sleep 60"]).spawn()?;
        peer.hello()
    }),
    ("complains-for-ever", Peer::complain),
    ("no-frames", |peer| peer.raw(b"Last login: Tue Apr  1 from 10.0.0.1\n$ ")),
    ("a-length-of-4-gib", |peer| peer.raw(&[0xff; 64])),
    ("a-frame-of-no-kind", |peer| peer.frame_of(200, &())),
    ("a-list-of-2-to-the-60", |peer| {
        peer.framed(&[7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f])
    }),
    ("a-text-longer-than-its-frame", |peer| peer.framed(&[10, 13, 0xff, 0xff, 0x7f, 0x41])),
    ("a-text-that-is-none", |peer| peer.framed(&[10, 14, 4, 0xff, 0xfe, 0xfd, 0xfc])),
    ("half-a-hello", |peer| {
        let bytes = encoded(&hello(PROTOCOL, ""));
        peer.raw(&bytes[..bytes.len() / 2])?.sleep()
    }),
    ("a-drip-of-a-hello", |peer| peer.drip(&encoded(&hello(PROTOCOL, &"x".repeat(100_000))), 1)),
    ("another-protocol", |peer| peer.say(&hello(PROTOCOL + 1, ""))),
    ("endless-hellos", |peer| peer.endless(&encoded(&hello(PROTOCOL, "")))),
    ("a-census-first", |peer| peer.say(&census())),
    ("a-refusal-first", |peer| peer.say(&refusal("no"))),
    ("hello-and-silence", |peer| peer.say(&hello(PROTOCOL, ""))?.sleep()),
];

/// Attacks after the order to measure has come.
const MEASUREMENTS: &[(&str, Attack)] = &[
    ("takes-the-order-and-sleeps", Peer::sleep),
    ("takes-the-order-and-ends", |peer| Ok(peer)),
    ("no-hello", |peer| peer.say(&census())),
    ("endless-greetings", |peer| {
        peer.endless(&[hello(PROTOCOL, ""), census()].map(|frame| encoded(&frame)).concat())
    }),
    ("endless-corrections", |peer| {
        let one = Correction { what: "a".into(), was: "b".into(), done: "c".into() };
        peer.endless(&encoded(&Frame::Corrections(vec![one; 100])))
    }),
    ("records-without-a-recorder", |peer| peer.hello()?.say(&records(64))),
    ("endless-records", |peer| peer.recorder()?.endless(&encoded(&records(1_000_000)))),
    ("endless-empty-records", |peer| peer.recorder()?.endless(&encoded(&records(0)))),
    ("endless-samples", |peer| peer.recorder()?.endless(&encoded(&sample(1)))),
    ("samples-whose-clock-goes-back", |peer| {
        peer.recorder()?.say(&sample(9))?.say(&sample(8))?.say(&sample(7))
    }),
    ("a-sample-too-many", |peer| peer.window()?.say(&sample(100))),
    ("a-piece-in-a-measurement", |peer| peer.window()?.say(&piece(9, false))),
    ("contention-not-ordered", |peer| {
        peer.window()?.say(&Frame::Part(Part::Traffic(Box::default())))
    }),
    ("programs-not-asked-for", |peer| peer.window()?.say(&Frame::Located(Vec::new()))),
    ("records-behind-the-end", |peer| peer.recorded(&[], "Hidden")?.say(&records(8))),
    ("ends-in-the-window", Peer::recorder),
    ("a-drip-of-bytes-in-the-window", |peer| peer.recorder()?.drip(&encoded(&records(10_000)), 1)),
    ("a-reason-of-a-megabyte", |peer| peer.say(&refusal(&"why ".repeat(250_000)))),
    ("a-reason-that-paints", |peer| peer.say(&refusal("\u{1b}]0;owned\u{7}\u{1b}[2J\r"))),
    ("programs-without-number", |peer| peer.say(&refusal(&", ".repeat(450_000)))),
];

/// Attacks once a file is fetched.
const FILES: &[(&str, Attack)] = &[
    ("endless-pieces", |peer| peer.endless(&encoded(&piece(1_000_000, false)))),
    ("a-drip-of-pieces", |peer| {
        let piece = encoded(&piece(1, false));
        peer.drip(&piece.repeat(1000), piece.len())
    }),
    ("a-piece-more-than-announced", |peer| peer.say(&piece(1000, false))?.say(&piece(1, true))),
    ("another-content", |peer| peer.say(&piece(1000, true))),
    ("a-file-without-an-end", |peer| peer.say(&piece(10, false))?.sleep()),
    ("a-census-in-a-file", |peer| peer.say(&piece(10, false))?.say(&census())),
];

/// A SHA-256 that nothing has.
const SUM: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn main() -> ExitCode {
    let all = [FIRST, GREETINGS, MEASUREMENTS, FILES];
    if env::args().any(|word| word == "--list") {
        let mut out = io::stdout().lock();
        let names = all.iter().flat_map(|attacks| attacks.iter()).map(|(name, _)| *name);
        let paths = PATHS.iter().map(|(name, ..)| *name);
        let written = names.chain(paths).try_for_each(|name| writeln!(out, "{name}"));
        return written.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let name = env::var("HOSTILE_ATTACK").unwrap_or_default();
    // What it cannot write no one reads any more.
    let _ = Peer { decoder: Decoder::default(), out: io::stdout() }.play(&name);
    ExitCode::SUCCESS
}

/// A file's SHA-256, and perhaps a kernel, for a folder that is to be harmed.
type Named = fn(&str) -> (String, Option<String>);

/// What a device names as a file's SHA-256, or as its kernel, below the folder that `HOSTILE_TARGET` names.
const PATHS: &[(&str, Named)] = &[
    ("a-sum-that-is-a-path", |target| (format!("{target}/file"), None)),
    ("a-sum-that-goes-up", |_| ("../../../../outside/file".to_owned(), None)),
    ("a-sum-of-nothing", |_| (String::new(), None)),
    ("a-sum-with-a-zero", |_| ("0\0".repeat(32), None)),
    ("a-kernel-that-is-a-path", |target| {
        (SUM.to_owned(), Some(format!("/../../../../..{target}")))
    }),
    ("a-kernel-that-goes-up", |_| (SUM.to_owned(), Some("x/../../../../outside".to_owned()))),
];

/// The hostile end of the stream.
struct Peer {
    decoder: Decoder,
    out: io::Stdout,
}

impl Peer {
    fn play(&mut self, name: &str) -> Step<'_> {
        let find = |attacks: &[(&str, Attack)]| {
            attacks.iter().find(|(known, _)| *known == name).map(|(_, attack)| *attack)
        };
        if let Some(attack) = find(FIRST) {
            return attack(self);
        }
        self.skip(program_length())?;
        if let Some(attack) = find(GREETINGS) {
            return attack(self)?.linger(name);
        }
        self.hello()?.order()?;
        if let Some(attack) = find(MEASUREMENTS) {
            return attack(self)?.linger(name);
        }
        let path = PATHS.iter().find(|(known, _)| *known == name);
        let target = env::var("HOSTILE_TARGET").unwrap_or_default();
        let (sum, kernel) = path.map_or((SUM.to_owned(), None), |(_, of)| of(&target));
        let files: &[_] = &[(&*sum, 1000)];
        let files = if kernel.is_some() { &[] } else { files };
        self.recorded(files, kernel.as_deref().unwrap_or("Hidden"))?.say(&census())?;
        self.say(&Frame::Done)?.order()?;
        let attack = find(FILES).unwrap_or(|peer| peer.say(&piece(1000, true)));
        attack(self)?.linger(name)
    }

    /// Reads this many bytes and drops them.
    fn skip(&mut self, bytes: u64) -> Step<'_> {
        io::copy(&mut io::stdin().lock().take(bytes), &mut io::sink())?;
        Ok(self)
    }

    /// Takes an order, whatever it is.
    fn order(&mut self) -> Step<'_> {
        let mut buffer = [0; 4096];
        while self.decoder.take::<Order>().map_err(io::Error::other)?.is_none() {
            match io::stdin().lock().read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.decoder.push(&buffer[..length]),
            }
        }
        Ok(self)
    }

    fn raw(&mut self, bytes: &[u8]) -> Step<'_> {
        self.out.write_all(bytes)?;
        self.out.flush()?;
        Ok(self)
    }

    fn endless(&mut self, bytes: &[u8]) -> Step<'_> {
        let many = bytes.repeat((64 * 1024 / bytes.len()).max(1));
        loop {
            self.raw(&many)?;
        }
    }

    /// A few bytes every now and then.
    fn drip(&mut self, bytes: &[u8], length: usize) -> Step<'_> {
        for drop in bytes.chunks(length) {
            tick();
            self.raw(drop)?;
        }
        Ok(self)
    }

    fn say(&mut self, frame: &Frame) -> Step<'_> {
        self.raw(&encoded(frame))
    }

    /// A frame of these bytes, whatever they mean.
    fn framed(&mut self, body: &[u8]) -> Step<'_> {
        self.raw(&[&(body.len() as u32).to_le_bytes(), body].concat())
    }

    /// A frame of a kind by its number, with fields by their order.
    fn frame_of(&mut self, kind: u8, fields: &impl Serialize) -> Step<'_> {
        let fields = postcard::to_stdvec(fields).map_err(io::Error::other)?;
        self.framed(&[&[kind], &*fields].concat())
    }

    fn hello(&mut self) -> Step<'_> {
        self.say(&hello(PROTOCOL, ""))?.say(&census())
    }

    fn recorder(&mut self) -> Step<'_> {
        self.hello()?.say(&Frame::Recorder(Box::new(Recorder {
            event: "cpu-clock".to_owned(),
            attributes: vec![0; 128],
            ..Recorder::default()
        })))
    }

    /// Everything up to the last sample of those that the tests' study orders.
    fn window(&mut self) -> Step<'_> {
        self.recorder()?.say(&sample(1))?.say(&sample(2))?.say(&sample(3))
    }

    fn recorded(&mut self, files: &[(&str, u64)], kernel: &str) -> Step<'_> {
        const RECORDED: u8 = 5;
        let nothing: Option<String> = None;
        let files: Vec<_> = files
            .iter()
            .map(|(sum, bytes)| ("/bin/x", Some(*sum), &nothing, *bytes, "/bin/x", &nothing))
            .collect();
        // `Boot` is the first of two, `Hidden` the second.
        let kernel = (u8::from(kernel == "Hidden"), kernel);
        self.window()?.frame_of(RECORDED, &(0_u64, 0_u64, 0_u64, files, kernel))
    }

    /// Lives on as another program, which has nothing of ours open but the error output.
    fn close_and_stay(&mut self) -> Step<'_> {
        let script = "exec <&- >&-; trap '' TERM; sleep 60";
        Err(Command::new("sh").args(["-c", script]).exec())
    }

    /// Some attacks end as soon as they are made, others stay and see what happens.
    fn linger(&mut self, name: &str) -> Step<'_> {
        let ends = name.contains("end") && !name.starts_with("endless");
        if ends { Ok(self) } else { self.sleep() }
    }

    /// Stays whatever asks it to go, and ends by itself before anybody would call it left over.
    fn sleep(&mut self) -> Step<'_> {
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        (0..600).for_each(|_| tick());
        Ok(self)
    }

    /// Writes to its error output for ever.
    fn complain(&mut self) -> Step<'_> {
        let line = "no, no, no ".repeat(1000);
        loop {
            io::stderr().write_all(line.as_bytes())?;
        }
    }
}

/// A greeting from a machine with this kernel.
fn hello(protocol: u16, kernel: &str) -> Frame {
    let facts = Facts { cpus: u32::MAX, kernel: kernel.to_owned(), ..Facts::default() };
    Frame::Hello { protocol, facts: Box::new(facts) }
}

fn census() -> Frame {
    let interface =
        InterfaceCensus { name: "wlan0".into(), kernel: Some(3), hostapd: Some(u32::MAX) };
    Frame::Census(Census { interfaces: vec![interface] })
}

fn sample(at_ns: u64) -> Frame {
    Frame::Sample(Box::new(Sample { at_ns, ..Sample::default() }))
}

fn records(length: usize) -> Frame {
    Frame::Records(Records { bytes: vec![0xff; length] })
}

fn piece(length: usize, last: bool) -> Frame {
    Frame::Piece(Piece { bytes: vec![7; length], last })
}

fn refusal(why: &str) -> Frame {
    Frame::Refused(Refusal::plain(why))
}

fn encoded(frame: &Frame) -> Vec<u8> {
    encode(frame).unwrap_or_default()
}

/// The length of the agent's program, as the script says that ssh was to run.
fn program_length() -> u64 {
    let script = env::args().next_back().unwrap_or_default();
    let length = script.split("head -c ").nth(1).and_then(|rest| rest.split(' ').next());
    length.and_then(|length| length.parse().ok()).unwrap_or_default()
}

fn tick() {
    thread::sleep(Duration::from_millis(100));
}
