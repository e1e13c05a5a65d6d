//! `headroom image`: the virtual access point's image, made once and then found.

use std::time::Duration;

use lab::Lab;
use serde_json::json;

use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

pub(crate) fn make(options: &Options, flags: &flags::Image) -> Result<Verdict, Failure> {
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

fn prune(options: &Options, lab: &Lab, days: u32) -> Result<Verdict, Failure> {
    let age = Duration::from_secs(u64::from(days) * 86_400);
    let kinds =
        ["base", "firmware", "image", "snapshot", "object", "cache-model", lab::vm::KVM_KIND];
    let freed = kinds.iter().map(|kind| lab.cache.prune(kind, age)).sum::<Result<u64, _>>()?;
    let cache = options.cache.display();
    output::line(format_args!("freed {} MB in {cache}", freed / 1_000_000));
    Ok(Verdict::Pass)
}
