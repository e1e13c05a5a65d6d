//! Images of a study's variants: built by the study's command, got onto a device by its file's, measured in turns, decided.
//!
//! The device is BusyBox behind a real dropbear, and its “firmware” is one script, so that a flash takes no time. Real images
//! on a board are [`crate::board`]'s and [`crate::flash`]'s.

use std::fs;

use crate::harness::{Client, Device, Place, Server};

/// Works a part of each round, three times as much in the second image.
const BUILD: &str = r#"printf '#!/bin/sh\nwhile :; do i=0; while [ $i -lt %s ]; do i=$((i+1)); done; sleep 0.05; done\n'"#;

const FLASH: &str = r#"ssh -F config ap 'cat >/root/worker.new && chmod 755 /root/worker.new && mv /root/worker.new /root/worker; cat /proc/sys/kernel/random/uuid >/root/boot_id' <"$HEADROOM_IMAGE" && basename "$HEADROOM_IMAGE" >>flashed"#;

/// A device whose boot has an identity that a flash changes, as a real one's has after it.
const BOOT: &str = "cat /proc/sys/kernel/random/uuid >root/boot_id; \
                    mount --bind root/boot_id proc/sys/kernel/random/boot_id";

fn study() -> String {
    let variant = |name: &str, turns: &str| {
        format!(
            "[[variant]]\nname = \"{name}\"\nimage = {{ file = \"{name}.img\", build = '''{BUILD} {turns} >{name}.img''' }}\n"
        )
    };
    format!(
        "question = \"Is the new firmware dearer?\"\n[access-point]\nclients = [0]\n[subject]\nprocess = \"worker\"\n\
         start = \"/root/worker\"\n[trial]\nwarm-up = \"200ms\"\nwindow = \"1s\"\nsample-every = \"500ms\"\n\
         [profile]\nrepetitions = 0\n{}{}",
        variant("old", "1000"),
        variant("new", "3000"),
    )
}

#[test]
fn two_images_are_built_flashed_measured_in_turns_and_compared_in_one_command() {
    let place = Place::without_guests();
    let client = Client::new(&place);
    let Some(device) = Device::start(&place, &client, Server::Dropbear, BOOT) else { return };
    let lab = place.folder("lab");
    client.name("ap", device.port, "");
    fs::copy(client.names(), lab.join("config")).unwrap();
    let file = "address = \"ssh:ap\"\nssh-config = \"config\"\n[flash]\n";
    place.write("lab/ap.toml", format!("{file}command = '''{FLASH}'''\n"));
    place.write("lab/firmware.toml", study());
    let compare = "compare lab/firmware.toml old new --on lab/ap.toml --pairs 6 --out";
    let ended = place.call(&format!("{compare} run"));
    // Its files are as young as the device is, which no image's are after a real boot; so nothing is decided here.
    ended.code(3).prints("12 of 12 planned trials are valid").prints("old to new at 0 clients");
    ended.prints("old (no load) uses ").prints("new (no load) uses ");
    ended.prints("was written after the kernel booted");
    // In turns in each part of the plan, after which it is asked whether the question is decided.
    let flashed = place.read("lab/flashed");
    let [old, new] = ["old.img\n", "new.img\n"];
    assert_eq!(flashed, [old, new, old, new, old].concat());
    assert_eq!(place.run().run().plan.len(), 12);
    // What a run's folder says is not built, and no path in it is followed.
    let resumed = place.call("run --resume run --on lab/ap.toml");
    resumed.code(2).says("no path in a run's folder is followed").in_one_line();
    // A build that fails changes nothing.
    place.write("lab/firmware.toml", study().replace(" >new.img", " >/nowhere/new.img"));
    place.call(&format!("{compare} again")).code(4).says("`image build` of new").in_one_line();
    assert_eq!(place.read("lab/flashed"), flashed);
    let ended = place.call("run lab/firmware.toml --out vm --clients 1");
    ended.code(2).says("images of variants are for devices").in_one_line();
}
