//! `txd run`: two interfaces for other programs, with a card between them.
//!
//! Frames that are sent over the first come out of the second, and back. The way there has a card and a driver of its
//! own, and so has the way back, unless that is direct. The interfaces are in the namespace in which the program was
//! started; anyone who moves one elsewhere may. They go with the program, however it ends.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use linux::{
    sched::{self, Children},
    tap::Tap,
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1},
    iterator::{Handle, Signals},
};

use crate::{
    card::{self, Card},
    driver::Driver,
    measure::{self, setting},
    options::Options,
    path::{self, Mark, Marks, Path, Taps},
    text,
    wait::{self, clock::Clock},
};

/// The drivers' priority in the round-robin class, as in a trial.
const PRIORITY: u8 = 2;

/// Why it ended other than it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An interface cannot be made.
    #[error(transparent)]
    Setting(#[from] setting::Error),
    #[error(transparent)]
    Path(#[from] path::Error),
    /// Signals cannot be taken.
    #[error("cannot take signals")]
    Signals(#[source] io::Error),
}

/// One direction at work.
struct Way {
    name: String,
    marks: Arc<Marks>,
    thread: JoinHandle<()>,
}

impl Way {
    /// What it had counted by a mark, in lines.
    fn text(&self, mark: Option<Mark>) -> String {
        match mark {
            Some(mark) => text::way(&self.name, &mark),
            None => format!("{}: does not answer\n", self.name),
        }
    }
}

/// What a direction ended with, and how the one that waits for a signal is told.
struct Ends {
    first: Mutex<Option<path::Error>>,
    signals: Handle,
}

/// Carries frames until a signal comes.
///
/// # Errors
///
/// What this machine lacks, or that the card died or an interface was removed.
pub fn run(options: &Options) -> Result<(), Error> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1]).map_err(Error::Signals)?;
    let ends = Arc::new(Ends { first: Mutex::new(None), signals: signals.handle() });
    let [one, other] = [open(&options.names[0])?, open(&options.names[1])?];
    let again = |tap: &Tap| tap.again().map_err(setting::Error::Wake);
    let there = Taps { input: again(&one)?, output: again(&other)? };
    let back = Taps { input: other, output: one };
    let ways = [start(options, there, &ends, 0)?, start(options, back, &ends, 1)?];
    if let Some(ns) = options.for_ns {
        let ends = Arc::clone(&ends);
        // It is not joined: the program ends before or with it.
        thread::spawn(move || {
            thread::sleep(Duration::from_nanos(ns));
            ends.signals.close();
        });
    }
    say(&format!("{} and {} are up\n", options.names[0], options.names[1]));
    for signal in signals.forever() {
        if signal != SIGUSR1 {
            break;
        }
        ways.iter().for_each(|way| say(&way.text(way.marks.ask())));
    }
    for way in ways {
        let text = way.text(way.marks.stop());
        // A path does not panic; where it does, there is nothing left to tell of it.
        let _ = way.thread.join();
        say(&text);
    }
    let first = ends.first.lock().unwrap_or_else(PoisonError::into_inner).take();
    first.map_or(Ok(()), |error| Err(error.into()))
}

/// Makes an interface and brings it up.
fn open(name: &str) -> Result<Tap, Error> {
    let tap =
        Tap::open(name).map_err(|source| setting::Error::Tap { name: name.to_owned(), source })?;
    setting::bring_up(name)?;
    Ok(tap)
}

/// Starts one direction: 0 there, 1 back.
fn start(options: &Options, taps: Taps, ends: &Arc<Ends>, direction: usize) -> Result<Way, Error> {
    let marks = Arc::new(Marks::default());
    let name = format!("{} to {}", taps.input.name(), taps.output.name());
    let direct = direction == 1 && !options.back;
    let (setup, strategy): (_, Box<dyn wait::Wait>) = match (direct, options.strategy) {
        (false, Some(strategy)) => (options.card.clone(), measure::strategy(strategy)),
        // A card that takes no time at all is a wire.
        _ => (
            card::Setup { completes_in_ns: 0, others_in_ns: 0, ..card::Setup::default() },
            Box::new(wait::Event::default()),
        ),
    };
    let setup = card::Setup { seed: setup.seed.wrapping_add(direction as u64), ..setup };
    let driver = Driver::new(options.settings(), strategy);
    let path = Path::new(taps, driver, Card::new(setup), Arc::clone(&marks));
    let ends = Arc::clone(ends);
    let body = move || {
        let _ = Clock::precise();
        // Without the right it has the usual priority.
        let _ = sched::round_robin(0, PRIORITY, Children::Normal);
        if let Err(error) = path.run() {
            ends.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            ends.signals.close();
        }
    };
    let thread = thread::Builder::new().name(format!("txd-driver-{direction}"));
    let thread = thread.spawn(body).map_err(setting::Error::Thread)?;
    Ok(Way { name, marks, thread })
}

/// Tells anyone who reads; a reader that has gone is no reason to stop carrying frames.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
