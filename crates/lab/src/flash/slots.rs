//! Into the slot that a board does not run from: written, read back, and only then put on trial.
//!
//! The board can lose its power at any moment. Before the one sector is written that puts the new slot on trial, the board
//! starts from the old one; after it, from the new one, which U-Boot gives up when it does not come up.

use std::{
    io::{self, Read},
    time::Duration,
};

use model::{
    architecture::Processor,
    boot_state::{BootState, COPIES, COPY, Slot},
};

use super::{
    Failure, Flashed, Request, Target, Waiting,
    board::{Board, Content, Said, Wanted},
    shell::Answer,
};
use crate::{Error, board::BoardImage, board::image_file::Part};

const WRITE: &str = include_str!("write.sh");

/// What a device reads at once: parts are filled up to it.
const PIECE: u64 = 65_536;

/// How a script ends where somebody else flashes: `EX_TEMPFAIL` of sysexits.h.
const BUSY: i32 = 75;

/// So long writing may take, and so much longer as its bytes take over a slow link, bytes a second.
const WRITING: Duration = Duration::from_secs(120);
const SLOWEST: u64 = 128 << 10;

const REBOOTING: Duration = Duration::from_secs(20);

/// By a child of its own, so that ssh ends in good order before the machine does.
const REBOOT: &str = "sync; (sleep 1; reboot) >/dev/null 2>&1 </dev/null &";

pub(super) fn flash(target: Target<'_>, request: &Request) -> Result<Flashed, Error> {
    let name = target.device.name.as_str();
    let image = BoardImage::read(&request.image)?;
    target.step("asking what it runs from");
    let board = ask(target, &image)?;
    fits(&board, &image, name)?;
    let before = board.content(target.shell, name)?;
    let slot = board.slot.other();
    let state = board.state.with_trial(slot, request.wipe_overlay);
    let missing = missing(target, &image, &board)?;
    target.step(format!("writing slot {slot}"));
    write(target, &image, Trial { board: &board, state, missing })?;
    target.step(format!("starting slot {slot}"));
    let waiting = Waiting::begin(&target);
    target.shell.run(REBOOT, REBOOTING)?;
    let after = come_up(&waiting, &board)?;
    target.step("holding its content against the image");
    let content = after.content(target.shell, name)?;
    is_image(&content, &image, name)?;
    let overlay = after.overlay_files(target.shell)?;
    Ok(Flashed { before: Some(before), after: Some(content), overlay, took_ms: 0 })
}

/// Asks the board; another processor than the image's is said before anything else that it lacks.
fn ask(target: Target<'_>, image: &BoardImage) -> Result<Board, Error> {
    let device = target.device.name.as_str();
    let said = Said::by(target.shell, device)?;
    let machine = said.machine.clone().unwrap_or_default();
    let wanted = image.arch.processor();
    if Processor::of_machine(&machine) != Some(wanted) {
        let (path, device) = (image.path.clone(), device.to_owned());
        return Err(Failure::OtherProcessor { path, image: wanted, device, machine }.into());
    }
    Ok(said.board(device)?)
}

/// Whether the image can be written, before anything is.
fn fits(board: &Board, image: &BoardImage, device: &str) -> Result<(), Failure> {
    let device = || device.to_owned();
    if board.state.on_trial {
        return Err(Failure::OnTrial { device: device(), slot: board.state.slot });
    }
    let slot = board.slot.other();
    for (name, part) in parts(image) {
        let room = board.partition(name, slot).size;
        if padded(part.size) > room {
            let (size, room) = (part.size.div_ceil(1024), room / 1024);
            let path = image.path.clone();
            return Err(Failure::TooLarge { path, part: name, size, device: device(), slot, room });
        }
    }
    Ok(())
}

fn parts(image: &BoardImage) -> [(&'static str, &Part); 2] {
    [("kernel", &image.kernel), ("root", &image.root)]
}

/// Which parts the slot that does not run lacks.
fn missing(target: Target<'_>, image: &BoardImage, board: &Board) -> Result<[bool; 2], Error> {
    let mut missing = [true; 2];
    for (is_missing, (name, part)) in missing.iter_mut().zip(parts(image)) {
        let mut head = Vec::new();
        let read = part.open(image).and_then(|part| part.take(COPY as u64).read_to_end(&mut head));
        read.map_err(Error::file("read", &image.path))?;
        let wanted = Wanted { head: &head, size: part.size, sha256: part.sha256.as_str() };
        let partition = board.partition(name, board.slot.other());
        *is_missing = !board.has(target.shell, &partition, wanted)?;
    }
    Ok(missing)
}

/// The next whole piece's end.
fn padded(size: u64) -> u64 {
    size.div_ceil(PIECE) * PIECE
}

/// What is to start next.
#[derive(Clone, Copy)]
struct Trial<'a> {
    board: &'a Board,
    state: BootState,
    /// Which of kernel and root are sent.
    missing: [bool; 2],
}

fn write(target: Target<'_>, image: &BoardImage, trial: Trial<'_>) -> Result<(), Error> {
    let (device, slot) = (target.device.name.clone(), trial.state.slot);
    let size = padded(image.kernel.size) + padded(image.root.size);
    let limit = WRITING + Duration::from_secs(size / SLOWEST);
    let input = input(image, trial).map_err(Error::file("read", &image.path))?;
    let Answer { code, output, said } =
        target.shell.run_with(&script(image, trial), limit, input)?;
    match code {
        0 if output.trim() == "switched" => Ok(()),
        BUSY => Err(Failure::Busy { device }.into()),
        _ => Err(Failure::NotWritten { device, slot, said }.into()),
    }
}

fn script(image: &BoardImage, Trial { board, state, missing }: Trial<'_>) -> String {
    let mut values = vec![
        ("STATE".to_owned(), board.state_device().to_owned()),
        ("COPIES".to_owned(), board.copies.clone()),
        ("BUSY".to_owned(), BUSY.to_string()),
        ("SEEK".to_owned(), (COPIES[board.next] / COPY as u64).to_string()),
    ];
    for ((name, part), is_missing) in parts(image).into_iter().zip(missing) {
        let upper = name.to_uppercase();
        let pieces = if is_missing { padded(part.size) / PIECE } else { 0 };
        values.push((format!("{upper}_PIECES"), pieces.to_string()));
        values.push((format!("{upper}_SIZE"), part.size.to_string()));
        values.push((format!("{upper}_SUM"), part.sha256.to_string()));
        values.push((upper, board.partition(name, state.slot).device));
    }
    // The shell's own way: no value has a quote in it.
    let lines: String = values.iter().map(|(name, value)| format!("{name}='{value}'\n")).collect();
    lines + WRITE
}

/// The kernel and the root, as far as they are sent, each filled up with zeros to a whole piece, and the state.
fn input(image: &BoardImage, trial: Trial<'_>) -> io::Result<impl Read + Send + use<>> {
    let filled = |part: &Part, is_missing| -> io::Result<_> {
        let size = if is_missing { padded(part.size) } else { 0 };
        Ok(part.open(image)?.chain(io::repeat(0)).take(size))
    };
    let [kernel, root] = trial.missing;
    let state = io::Cursor::new(trial.state.encode());
    Ok(filled(&image.kernel, kernel)?.chain(filled(&image.root, root)?).chain(state))
}

/// Waits until the slot on trial is confirmed; the board as it is then.
fn come_up(waiting: &Waiting<'_>, before: &Board) -> Result<Board, Error> {
    let Target { device, shell, .. } = *waiting.target;
    let mut found = None;
    waiting.until(|| {
        let board = Board::ask(shell, &device.name)?;
        let is_over = board.boot != before.boot && !board.state.on_trial;
        found = Some(board).filter(|_| is_over);
        Ok(is_over)
    })?;
    let board = found.ok_or_else(|| not_back(waiting))?;
    let wanted: Slot = before.slot.other();
    if board.slot == wanted {
        return Ok(board);
    }
    let (device, console) = (device.name.clone(), waiting.reasons());
    Err(Failure::RolledBack { device, slot: board.slot, console }.into())
}

fn not_back(waiting: &Waiting<'_>) -> Failure {
    let device = waiting.target.device.name.clone();
    let waited_s = waiting.began.elapsed().as_secs();
    Failure::NotBack { device, waited_s, console: waiting.reasons() }
}

fn is_image(content: &Content, image: &BoardImage, device: &str) -> Result<(), Failure> {
    let pairs =
        [("a kernel", &content.kernel, &image.kernel), ("a root", &content.root, &image.root)];
    match pairs.into_iter().find(|(_, found, wanted)| **found != wanted.sha256) {
        None => Ok(()),
        Some((what, found, wanted)) => Err(Failure::OtherContent {
            device: device.to_owned(),
            what,
            found: found.to_string(),
            wanted: wanted.sha256.to_string(),
        }),
    }
}
