//! `headroom board`: a device to measure, to flash and to turn off, on a machine that has none.

use std::io;

use lab::board::{self, Board, DEVICE_FILE, News, Settings, Shape};
use model::architecture::Architecture;

use super::up;
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

pub(crate) fn raise(options: &Options, flags: &flags::Board) -> Result<Verdict, Failure> {
    if let Some(power) = flags.power {
        board::turn(&flags.dir, power)?;
        return Ok(Verdict::Pass);
    }
    if flags.console {
        return join_console(flags);
    }
    let shape = Shape { clients: flags.clients, radios: flags.radios };
    up::check(shape.clients, shape.radios)?;
    let options = options.on(Architecture::Arm64);
    let lab = options.lab_for_devices()?;
    let settings = Settings { shape, image: flags.image.clone(), port: flags.port };
    let folder = std::path::absolute(&flags.dir).unwrap_or_else(|_| flags.dir.clone());
    let board = Board::prepare(&lab, &folder, &settings)?;
    board.run(&lab.cancel, |news| show(&board, &news, options.quiet))?;
    Ok(Verdict::Pass)
}

fn show(board: &Board, news: &News, quiet: bool) {
    let folder = board.folder().display();
    match news {
        _ if quiet => {}
        News::On => output::note(format_args!(
            "the board is on; its console is kept in {folder}/console.log"
        )),
        News::Off(why) => output::note(format_args!("the board is off: {why}")),
        News::Says(line) => {
            output::note(format_args!("  {line}"));
            if line == "ready" {
                output::note(format_args!("the board is up: ssh -F {folder}/ssh_config board"));
                output::note(format_args!(
                    "its device file is {folder}/{DEVICE_FILE}; Ctrl-C turns it off, and its disk stays"
                ));
            }
        }
    }
}

fn join_console(flags: &flags::Board) -> Result<Verdict, Failure> {
    let console = board::console(&flags.dir)?;
    let joined = board::join_console(console, io::stdin(), io::stdout());
    joined.map_err(|error| Failure::Environment(format!("the board's console: {error}")))?;
    Ok(Verdict::Pass)
}
