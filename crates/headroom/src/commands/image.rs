//! `headroom image`: the virtual access point's image, made once and then found.

use std::{fs, path::Path, time::Duration};

use lab::{
    Lab,
    board::BoardImage,
    image::board::{self, Build},
};
use model::architecture::Architecture;
use serde_json::json;

use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

pub(crate) fn make(options: &Options, flags: &flags::Image) -> Result<Verdict, Failure> {
    if let Some(file) = &flags.board {
        return for_board(options, flags, file);
    }
    let lab = options.lab_apart_from_output()?;
    if let Some(days) = flags.prune {
        return prune(options, &lab, days);
    }
    if flags.base {
        let base = lab::image::obtain_base(&lab)?;
        if options.json {
            output::json_text(&format!("{:#}", json!({ "base": base })));
        } else {
            output::line(format_args!("base    {}", base.display()));
        }
        return Ok(Verdict::Pass);
    }
    let image = lab::image::obtain(&lab, &[])?;
    if options.json {
        let value = json!({
            "image": image.id, "kernel": image.kernel, "root": image.root, "release": image.release,
            "packages": image.packages, "agent": image.agent, "firmware": image.firmware,
        });
        output::json_text(&format!("{value:#}"));
    } else {
        output::line(format_args!("image   {}", image.id));
        output::line(format_args!("kernel  {} ({})", image.kernel.display(), image.release));
        output::line(format_args!("root    {}", image.root.display()));
        for note in image.firmware.iter().flat_map(|firmware| &firmware.notes) {
            output::line(format_args!("note    {note}"));
        }
    }
    Ok(Verdict::Pass)
}

fn for_board(options: &Options, flags: &flags::Image, file: &Path) -> Result<Verdict, Failure> {
    let options = options.on(Architecture::Arm64);
    let lab = options.lab_for_devices_apart_from_output()?;
    let build = |(program, path): &(String, std::path::PathBuf)| Build {
        program: program.clone(),
        path: path.clone(),
    };
    let builds: Vec<Build> = flags.with.iter().map(build).collect();
    let made = board::obtain(&lab, &builds)?;
    fs::copy(&made, file).map_err(|error| {
        Failure::Environment(format!("cannot write {}: {error}", file.display()))
    })?;
    let image = BoardImage::read(file)?;
    let (kernel, root) = (&image.kernel, &image.root);
    if options.json {
        let value = json!({
            "image": image.id(), "file": file, "arch": image.arch, "release": image.release,
            "kernel": kernel.sha256, "root": root.sha256,
        });
        output::json_text(&format!("{value:#}"));
    } else {
        output::line(format_args!("image   {} ({})", image.id(), file.display()));
        output::line(format_args!("kernel  {} KiB ({})", kernel.size / 1024, image.release));
        output::line(format_args!("root    {} KiB", root.size / 1024));
    }
    Ok(Verdict::Pass)
}

fn prune(options: &Options, lab: &Lab, days: u32) -> Result<Verdict, Failure> {
    let age = Duration::from_secs(u64::from(days) * 86_400);
    let kinds = [
        "base",
        "firmware",
        "image",
        board::KIND,
        "snapshot",
        "object",
        "cache-model",
        lab::vm::KVM_KIND,
    ];
    let freed = kinds.iter().map(|kind| lab.cache.prune(kind, age)).sum::<Result<u64, _>>()?;
    let cache = options.cache().display();
    output::line(format_args!("freed {} MB in {cache}", freed / 1_000_000));
    Ok(Verdict::Pass)
}
