//! Images for devices: by a command, by `sysupgrade`, and what is refused before anything is changed; and those of a study's
//! variants: built by the study's command, got onto a device by its file's, measured in turns, decided.
//!
//! A device is BusyBox behind a real dropbear, and its “firmware” one script at most, so that a flash takes no time. Real
//! images on a board are [`crate::board`]'s.

use std::fs;

use crate::harness::{Client, Device, Ended, Place, free_port};

/// A device whose boot identity is in a file.
const STARTS: &str = "
echo first >boot_id
mount --bind boot_id proc/sys/kernel/random/boot_id
";

/// A device of BusyBox with an OpenWrt's `sysupgrade` that is a script: it takes what begins with `image`, keeps it, and
/// starts the device again, as far as its boot identity says.
const SYSUPGRADE: &str = r#"
cat >bin/sysupgrade <<'END'
#!/bin/sh
[ "$1" = -T ] && { head -c 5 "$2" | grep -q image && exit; echo "Invalid image type." >&2; exit 1; }
[ "$1" = -n ] && cp "$2" /etc/flashed && echo second >/boot_id
END
chmod 755 bin/sysupgrade
"#;

fn flash(place: &Place, image: &str) -> Ended {
    place.call(&format!("flash ap.toml --quiet --image {image}"))
}

#[test]
fn a_command_flashes_a_device_and_knows_what_and_where() {
    let Some((place, client, device)) = Device::alone(STARTS) else { return };
    place.write("new.image", "image");
    let ssh = client.program().display().to_string();
    let command = format!(
        "printf '%s %s' \"$HEADROOM_IMAGE\" \"$HEADROOM_ADDRESS\" >flashed; {ssh} dropbear \"echo second >/boot_id\""
    );
    client.device_file(&place, "ssh:dropbear", &format!("[flash]\ncommand = '''{command}'''\n"));
    let ended = flash(&place, "new.image");
    ended.code(0).prints("it is back; nothing there proves what it runs from");
    let said = place.read("flashed");
    let image = fs::canonicalize(place.path("new.image")).unwrap();
    assert_eq!(said, format!("{} ssh:dropbear", image.display()));
    proves_what_the_command_for_it_prints(&place, &client, &command);
    let no_outlet = "`[flash] command` of ap failed (exit status: 3): no such outlet";
    for (command, says) in
        [("echo no such outlet >&2; exit 3", no_outlet), ("echo the lab >&2; exit 75", "the lab")]
    {
        client.device_file(&place, "ssh:dropbear", &format!("[flash]\ncommand = '{command}'\n"));
        flash(&place, "new.image").code(4).says(says).in_one_line();
    }
    device.is_left_as_it_was();
}

fn proves_what_the_command_for_it_prints(place: &Place, client: &Client, command: &str) {
    let command = command.replace("second", "third");
    let prints = |content: &str| {
        let more = format!("content = '{content}'\nfall-back = './back'\n");
        let keys = format!("[flash]\ncommand = '''{command}'''\n{more}");
        client.device_file(place, "ssh:dropbear", &keys);
        let ended = flash(place, "new.image");
        client.can("dropbear", "echo second >/boot_id");
        ended
    };
    let ended = prints("sha256sum new.image");
    ended.code(0).prints("(SHA-256), as in the image");
    let ended = prints("echo other | sha256sum");
    ended.code(1).says("the image did not come up on ap: it runs from 7e4fa2eb").in_one_line();
    ended.says("which is no part of the image; back to the image before: `./back`");
    let ended = prints("echo version 3");
    ended.code(4).says("ap does not say what it runs from: `[flash] content` prints no SHA-256");
}

#[test]
fn sysupgrade_takes_the_image_and_the_device_comes_back_with_another_boot_identity() {
    let started = Device::alone(&format!("{STARTS}{SYSUPGRADE}"));
    let Some((place, client, _device)) = started else { return };
    client.device_file(&place, "ssh:dropbear", "[flash]\nsysupgrade = true\n");
    place.write("other.image", "no such thing");
    let ended = flash(&place, "other.image");
    ended.code(4).says(
        "does not take the image: sysupgrade refuses it: Invalid image type.; nothing was flashed",
    );
    ended.in_one_line();
    place.write("new.image", "image of another day");
    flash(&place, "new.image").code(0);
    assert!(client.can("dropbear", "grep -q 'image of another day' /etc/flashed"));
}

#[test]
fn what_cannot_be_flashed_is_refused_in_one_line_before_anything_is_changed() {
    let Some((place, client, device)) = Device::alone("") else { return };
    let refused = |address: &str, keys: &str, image: &str, code: i32, says: &str| {
        client.device_file(&place, address, keys);
        flash(&place, image).code(code).says(says).in_one_line();
    };
    let (dropbear, sysupgrade) = ("ssh:dropbear", "[flash]\nsysupgrade = true\n");
    place.write("none.image", "no image");
    refused(dropbear, "", "none.image", 2, "ap says nothing of how an image gets there");
    let renamed = "ap.toml:4: `flash.slots` is no more; write a `command`";
    refused(dropbear, "[flash]\nslots = true\n", "none.image", 2, renamed);
    let missing = "cannot read missing.image: No such file";
    refused(dropbear, sysupgrade, "missing.image", 4, missing);
    let cannot = "does not take the image: it has no sysupgrade";
    refused(dropbear, sysupgrade, "none.image", 4, cannot);
    device.is_left_as_it_was();
    client.name("silent", free_port(), "");
    refused("ssh:silent", sysupgrade, "none.image", 4, "cannot reach silent: ");
}

/// Works a part of each round, three times as much in the second image.
const BUILD: &str = r#"printf '#!/bin/sh\nwhile :; do i=0; while [ $i -lt %s ]; do i=$((i+1)); done; sleep 0.05; done\n'"#;

const GET_THERE: &str = r#"ssh -F config ap 'cat >/root/worker.new && chmod 755 /root/worker.new && mv /root/worker.new /root/worker; cat /proc/sys/kernel/random/uuid >/root/boot_id' <"$HEADROOM_IMAGE" && basename "$HEADROOM_IMAGE" >>flashed"#;

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
    let Some((place, client, device)) = Device::alone(BOOT) else { return };
    let lab = place.folder("lab");
    client.name("ap", device.port, "");
    fs::copy(client.names(), lab.join("config")).unwrap();
    let file = "address = \"ssh:ap\"\nssh-config = \"config\"\n[flash]\n";
    place.write("lab/ap.toml", format!("{file}command = '''{GET_THERE}'''\n"));
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
