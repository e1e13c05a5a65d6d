//! Independent readings around the rounds of the load, inside the measured window: what `iw` and hostapd say before and
//! after, beside what the load was answered.
//!
//! ```text
//! due − age                 due: the round                         the round's end
//!   ├ iw of each interface    ├ commands, one after the other        ├ iw of each interface
//! ```
//!
//! Starts programs in the agent's own group, one at a time, and hears of their end; it never waits. Every round of the
//! window is read around alike, and what is not asked for is thrown away: neither load nor subject can see which rounds
//! are checked. Nothing is sent before the window has closed, and what the words mean is the host's.

use std::collections::VecDeque;

use linux::system::monotonic_ns;
use model::{
    parity::{self, Source},
    witness::{CheckedRound, WitnessOrder},
};

use crate::{
    census,
    reading::{LONGEST, Reading},
    rounds::Replies,
};

/// A reading is begun so long before the moment by which it must have been taken, ns: six short programs.
const LEAD_NS: u64 = 100_000_000;

/// When the rounds of a window are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beat {
    /// The first one that begins in the window, ns.
    pub(crate) first_ns: u64,
    /// From one to the next, ns.
    pub(crate) every_ns: u64,
    /// So many begin in the window.
    pub(crate) rounds: u32,
}

impl Beat {
    fn due_ns(&self, place: u32) -> u64 {
        self.first_ns + u64::from(place) * self.every_ns
    }

    /// The place of the round that was due at this moment; `None` outside the window.
    fn place(&self, due_ns: u64) -> Option<u32> {
        let place = due_ns.checked_sub(self.first_ns)? / self.every_ns.max(1);
        u32::try_from(place).ok().filter(|place| *place < self.rounds)
    }
}

/// One question to somebody else than the subject.
#[derive(Clone, Debug)]
struct Question {
    /// The round that it is asked for.
    place: u32,
    source: Source,
    interface: String,
    /// What is asked, one after the other; the answers are one reading.
    commands: VecDeque<Vec<String>>,
    /// What has been answered so far.
    text: String,
}

/// Readings under way, and those that were taken.
#[derive(Debug)]
pub(crate) struct Witness {
    order: WitnessOrder,
    beat: Beat,
    interfaces: Vec<String>,
    /// The round that the next reading before is for.
    next: u32,
    questions: VecDeque<Question>,
    running: Option<(Question, Reading)>,
    rounds: Vec<CheckedRound>,
}

impl Witness {
    /// Reads around the rounds of this beat.
    pub(crate) fn new(order: &WitnessOrder, beat: Beat) -> Self {
        let rounds = order.rounds.iter().copied().filter(|place| *place < beat.rounds);
        let checked = |place| CheckedRound { place, ..CheckedRound::default() };
        Self {
            order: order.clone(),
            beat,
            interfaces: census::names(),
            next: 0,
            questions: VecDeque::new(),
            running: None,
            rounds: rounds.map(checked).collect(),
        }
    }

    /// When the next reading is to begin, ns.
    pub(crate) fn due_ns(&self) -> u64 {
        if self.next >= self.beat.rounds {
            return u64::MAX;
        }
        let ahead = self.order.age.as_nanos().saturating_add(LEAD_NS);
        self.beat.due_ns(self.next).saturating_sub(ahead)
    }

    /// Whether something is still to be read.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.is_some() || !self.questions.is_empty()
    }

    /// Begins the reading that is due at `now_ns`, if one is.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while self.due_ns() <= now_ns {
            let place = self.next;
            self.next += 1;
            if let Some(round) = self.checked(place) {
                round.read_from_ns = now_ns;
            }
            self.ask(place);
        }
        self.go_on();
    }

    /// A child of ours has ended, perhaps one of these.
    pub(crate) fn child_ended(&mut self) {
        let Some((question, reading)) = &mut self.running else { return };
        // One that cannot be waited for says nothing either.
        let ended = reading.ended().unwrap_or(None);
        let Some(status) = ended else { return };
        let text = reading.text().ok().filter(|_| status.success());
        match text {
            Some(text) => question.text.push_str(&text),
            // Half an answer is none.
            None => question.commands.clear(),
        }
        let is_said = text_is_whole(question, status.success());
        if let Some((question, _)) = self.running.take() {
            if question.commands.is_empty() {
                self.answered(question, is_said);
            } else {
                self.questions.push_front(question);
            }
        }
        self.go_on();
    }

    /// A round has ended: what was said in it, and then what others say after it.
    pub(crate) fn round_ended(&mut self, heard: &Replies) {
        let Some(place) = self.beat.place(heard.due_ns) else { return };
        let interfaces = self.order.interfaces.clone();
        if let Some(round) = self.checked(place) {
            round.started_ns = Some(heard.started_ns);
            for (command, at_ns, said) in &heard.said {
                let interface = interfaces.get(*command).cloned().flatten();
                let Ok(text) = said.text() else { continue };
                let source = Source::Subject;
                round.readings.push(parity::Reading { source, interface, at_ns: *at_ns, text });
            }
        }
        self.ask(place);
        self.go_on();
    }

    /// All checked rounds, once nothing is to be read any more.
    pub(crate) fn take(&mut self) -> Vec<CheckedRound> {
        std::mem::take(&mut self.rounds)
    }

    fn checked(&mut self, place: u32) -> Option<&mut CheckedRound> {
        self.rounds.iter_mut().find(|round| round.place == place)
    }

    /// Queues a reading of every interface. The stations come first: their counters are what must not be old.
    fn ask(&mut self, place: u32) {
        let mut sources = vec![Source::Iw, Source::Survey];
        if self.order.hostapd {
            sources.insert(1, Source::Hostapd);
        }
        for source in sources {
            for interface in &self.interfaces {
                let commands = commands(source, interface);
                let (interface, text) = (interface.clone(), String::new());
                self.questions.push_back(Question { place, source, interface, commands, text });
            }
        }
    }

    /// Starts the next question, where none is under way.
    fn go_on(&mut self) {
        while self.running.is_none() {
            let Some(mut question) = self.questions.pop_front() else { return };
            let Some(command) = question.commands.pop_front() else { continue };
            // A program that cannot be started has no reading, which the host sees.
            if let Ok(reading) = Reading::start(&command, LONGEST) {
                self.running = Some((question, reading));
            }
        }
    }

    fn answered(&mut self, question: Question, is_said: bool) {
        let at_ns = monotonic_ns();
        let Question { place, source, interface, text, .. } = question;
        if let Some(round) = self.checked(place).filter(|_| is_said) {
            let interface = Some(interface);
            round.readings.push(parity::Reading { source, interface, at_ns, text });
        }
    }
}

/// Whether an answer may be sent: every command of it ended well, and it goes into a frame.
fn text_is_whole(question: &Question, succeeded: bool) -> bool {
    succeeded && question.text.len() as u64 <= LONGEST
}

/// What is asked of one interface.
fn commands(source: Source, interface: &str) -> VecDeque<Vec<String>> {
    let iw = |of| vec![["iw", "dev", interface, of, "dump"]];
    let hostapd = |of| ["hostapd_cli", "-i", interface, of];
    let words = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect();
    match source {
        Source::Iw => iw("station").iter().map(|line| words(line)).collect(),
        Source::Survey => iw("survey").iter().map(|line| words(line)).collect(),
        Source::Hostapd => ["status", "all_sta"].map(|of| words(&hostapd(of))).into(),
        // The load asks the subject.
        Source::Subject => VecDeque::new(),
    }
}

#[cfg(test)]
mod tests {
    use model::span::Span;

    use super::*;
    use crate::reading::Output;

    const BEAT: Beat = Beat { first_ns: 6_000_000_000, every_ns: 1_000_000_000, rounds: 20 };

    fn order(rounds: &[u32]) -> WitnessOrder {
        WitnessOrder {
            rounds: rounds.to_vec(),
            interfaces: vec![Some("wlan0".to_owned())],
            age: Span::from_secs(1),
            drain: Span::from_secs(3),
            hostapd: false,
        }
    }

    fn witness(rounds: &[u32]) -> Witness {
        Witness {
            interfaces: vec!["no such interface".to_owned()],
            ..Witness::new(&order(rounds), BEAT)
        }
    }

    fn until_quiet(witness: &mut Witness) {
        while witness.is_busy() {
            std::thread::sleep(std::time::Duration::from_millis(1));
            witness.child_ended();
        }
    }

    #[test]
    fn a_reading_is_begun_as_long_before_its_round_as_values_may_be_old() {
        let mut witness = witness(&[1]);
        assert_eq!(witness.due_ns(), 6_000_000_000 - 1_100_000_000);
        witness.advance(4_899_999_999);
        assert!(!witness.is_busy());
        witness.advance(5_900_000_000);
        until_quiet(&mut witness);
        assert_eq!(witness.due_ns(), 6_900_000_000);
        assert_eq!(witness.take()[0].read_from_ns, 5_900_000_000);
    }

    #[test]
    fn rounds_that_nobody_asked_for_are_read_around_and_forgotten() {
        let mut witness = witness(&[3]);
        let heard = Replies { due_ns: 8_000_000_000, started_ns: 8_000_000_001, said: Vec::new() };
        witness.advance(4_900_000_000);
        witness.questions.push_back(question(2, &[&["echo", "seven"]]));
        witness.round_ended(&heard);
        until_quiet(&mut witness);
        let rounds = witness.take();
        assert_eq!((rounds.len(), rounds[0].place, rounds[0].started_ns), (1, 3, None));
        assert!(rounds[0].readings.is_empty());
    }

    #[test]
    fn what_was_said_in_a_checked_round_is_there_with_its_interface() {
        let mut witness = witness(&[2]);
        let (due_ns, started_ns) = (8_000_000_000, 8_000_100_000);
        let said = vec![(0, 8_050_000_000, Output::new(100).unwrap())];
        witness.round_ended(&Replies { due_ns, started_ns, said });
        until_quiet(&mut witness);
        let rounds = witness.take();
        let [reading] = rounds[0].readings.as_slice() else { panic!("{rounds:?}") };
        assert_eq!((reading.source, reading.at_ns), (Source::Subject, 8_050_000_000));
        assert_eq!(reading.interface.as_deref(), Some("wlan0"));
        assert_eq!(rounds[0].started_ns, Some(started_ns));
    }

    fn question(place: u32, commands: &[&[&str]]) -> Question {
        let words = |line: &&[&str]| line.iter().map(|word| (*word).to_owned()).collect();
        Question {
            place,
            source: Source::Iw,
            interface: "wlan0".to_owned(),
            commands: commands.iter().map(words).collect(),
            text: String::new(),
        }
    }

    #[test]
    fn answers_of_several_commands_are_one_reading_and_half_an_answer_is_none() {
        let mut witness = witness(&[2]);
        witness.questions.push_back(question(2, &[&["echo", "one"], &["echo", "two"]]));
        witness.questions.push_back(question(2, &[&["false"], &["echo", "three"]]));
        witness.questions.push_back(question(2, &[&["/no/such/program"]]));
        witness.questions.push_back(question(7, &[&["echo", "four"]]));
        witness.go_on();
        until_quiet(&mut witness);
        let rounds = witness.take();
        let texts: Vec<&str> = rounds[0].readings.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["one\ntwo\n"]);
    }

    #[test]
    fn a_round_outside_the_window_has_no_place() {
        assert_eq!(BEAT.place(5_000_000_000), None);
        assert_eq!(BEAT.place(6_000_000_000), Some(0));
        assert_eq!(BEAT.place(25_000_000_000), Some(19));
        assert_eq!(BEAT.place(26_000_000_000), None);
    }

    #[test]
    fn hostapd_is_asked_for_its_channel_and_its_stations() {
        let all = commands(Source::Hostapd, "wlan1");
        assert_eq!(all[0], ["hostapd_cli", "-i", "wlan1", "status"]);
        assert_eq!(all[1], ["hostapd_cli", "-i", "wlan1", "all_sta"]);
        assert_eq!(commands(Source::Iw, "wlan1")[0], ["iw", "dev", "wlan1", "station", "dump"]);
    }
}
