//! Fuzzes a whole exchange with an agent that has a memory: frames of any kind in any order, cut anywhere,
//! some with a byte changed, in answer to a measurement.
//!
//! Two bytes make one step: which frame, and what is done to it. Whatever
//! comes, the transcript ends or refuses, keeps no more than was ordered, and a reading comes only of an
//! answer with everything in its place. How to build and run is said in `netlink.rs`; the program is
//! `exchange`, its corpus `fuzz/corpus/exchange`.

#![no_main]

use lab::session::Transcript;
use libfuzzer_sys::fuzz_target;
use model::{
    instrument::{CountsOrder, Instrument, Scope, StacksOrder},
    parity::{Answer, ParityOrder, Reading},
    span::Span,
    wire::{Decoder, Frame, PROTOCOL, Part, SubjectOrder, TrialOrder, encode},
};

/// Samples that every order asks for.
const SAMPLES: usize = 3;

fn frames() -> Vec<Frame> {
    let mut frames = vec![
        Frame::Hello { protocol: PROTOCOL, facts: Box::default() },
        Frame::Census(Default::default()),
        Frame::Sample(Box::default()),
        Frame::Recorder(Box::default()),
        Frame::Part(Part::Recorded(Box::default())),
        Frame::Part(Part::Counts(Box::default())),
        Frame::Part(Part::Identity(Box::default())),
        Frame::Corrections(Vec::new()),
        Frame::Part(Part::Pauses(Box::default())),
        Frame::Part(Part::Parity(Box::default())),
        Frame::Part(Part::Peers(Vec::new())),
        Frame::Part(Part::Reading(reading())),
        Frame::Located(Vec::new()),
        Frame::Part(Part::Traffic(Box::default())),
        Frame::Part(Part::Card(Box::default())),
        Frame::Part(Part::LoadFailure(model::sample::LoadFailure {
            command: String::new(),
            why: String::new(),
        })),
        Frame::Done,
    ];
    frames.push(Frame::Records(model::instrument::Records { bytes: vec![7; 40] }));
    frames.push(Frame::Piece(model::instrument::Piece { bytes: vec![7; 40], last: false }));
    frames
}

fn reading() -> Reading {
    Reading { interface: None, at_ns: 1, answer: Answer::Hostapd("x".repeat(40)) }
}

fn order(kind: u8) -> TrialOrder {
    let scope = Scope::Subject;
    let asks = ParityOrder { values: vec![Vec::new()], ..ParityOrder::default() };
    let instrument = match kind % 5 {
        0 => None,
        1 => Some(Instrument::Stacks(StacksOrder { scope, frequency: 99, stack_bytes: 1024 })),
        2 => Some(Instrument::Counts(CountsOrder::default())),
        3 => Some(Instrument::Parity(asks)),
        _ => Some(Instrument::Peers),
    };
    TrialOrder {
        subject: Some(SubjectOrder::default()),
        window: Span::from_secs(SAMPLES as u64 - 1),
        sample_every: Span::from_secs(1),
        instrument,
        identify: kind & 4 != 0,
        ..TrialOrder::default()
    }
}

/// What came of a kind so far, counted here and not by the transcript.
#[derive(Default)]
struct Came {
    hellos: usize,
    censuses: usize,
    samples: usize,
    answers: usize,
    frames: usize,
}

impl Came {
    fn count(&mut self, frame: &Frame) {
        self.frames += 1;
        match frame {
            Frame::Hello { .. } => self.hellos += 1,
            Frame::Census(_) => self.censuses += 1,
            Frame::Sample(_) => self.samples += 1,
            Frame::Part(Part::Recorded(_) | Part::Counts(_) | Part::Peers(_) | Part::Parity(_)) => {
                self.answers += 1
            }
            _ => {}
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, steps)) = input.split_first() else { return };
    let (frames, order) = (frames(), order(*kind));
    let mut transcript = Transcript::new(&order);
    let (mut decoder, mut came) = (Decoder::default(), Came::default());
    for step in steps.chunks_exact(2) {
        let mut bytes = encode(&frames[usize::from(step[0]) % frames.len()]).unwrap();
        // Half of the steps change nothing.
        if step[1] >= 0x80 {
            let place = usize::from(step[1] & 0x7f) % bytes.len();
            bytes[place] = bytes[place].wrapping_add(step[0] | 1);
        }
        let cut = usize::from(step[1]) % bytes.len();
        for piece in [&bytes[..cut], &bytes[cut..]] {
            decoder.push(piece);
            loop {
                let frame = match decoder.take::<Frame>() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break,
                    Err(_) => return,
                };
                came.count(&frame);
                // Records and readings alone may come without number.
                let is_counted =
                    !matches!(frame, Frame::Records(_) | Frame::Part(Part::Reading(_)));
                match transcript.take(frame) {
                    Err(_) => return,
                    Ok(true) => return judge(transcript, &order, &came),
                    Ok(false) => {}
                }
                if !is_counted {
                    came.frames -= 1;
                }
                assert!(came.frames <= SAMPLES + 10, "it listens for ever");
            }
        }
    }
});

/// A reading has everything once.
fn judge(transcript: Transcript, order: &TrialOrder, came: &Came) {
    if let Ok(reading) = transcript.reading() {
        assert_eq!(reading.samples.len(), SAMPLES);
        assert_eq!(came.samples, SAMPLES);
        assert!((1..=2).contains(&came.hellos) && came.censuses <= 3);
        assert_eq!(came.answers, usize::from(order.instrument.is_some()));
        assert!(reading.samples.is_sorted_by_key(|sample| sample.at_ns));
    }
}
