//! The board: real U-Boot, two slots, an overlay, ssh, and images that come and go.
//!
//! `HEADROOM_POWER_CUTS=50` cuts the power at so many moments of a flash instead of one.

use std::{
    env, fs,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use model::architecture::Processor;
use rustix::process::Signal;
use serde_json::json;

use crate::harness::{Ended, Place, Running, eventually, has_arm64, programs_of};

/// A board that boots on a busy machine.
const BOOT: Duration = Duration::from_secs(300);

/// What the board says of what it runs from, whatever that is: its slot, and the sums of kernel and root.
const CONTENT: &str = r#"
for word in $(cat /proc/cmdline); do case $word in headroom.slot=*) slot=${word#*=} ;; esac; done
for file in /sys/class/block/*/uevent; do
  grep -q "^PARTNAME=$1_$slot$" "$file" || continue
  device=${file%/uevent}; device=/dev/${device##*/}
  echo "$slot $(head -c "$2" "$device" | sha256sum)"
done
"#;

/// Takes away the beginning of the slot that does not run, so that a flash writes all of it.
const FORGET: &str = r#"
for word in $(cat /proc/cmdline); do case $word in headroom.slot=*) slot=${word#*=} ;; esac; done
for file in /sys/class/block/*/uevent; do
  name=$(sed -n 's/^PARTNAME=//p' "$file") device=${file%/uevent}
  case $name in kernel_$slot | root_$slot) ;; kernel_? | root_?)
    dd if=/dev/zero of="/dev/${device##*/}" bs=4096 count=1 conv=fsync 2>/dev/null ;;
  esac
done
"#;

/// A board that runs in a place.
struct Board<'a> {
    place: &'a Place,
    running: Running,
}

/// An image, and what it has in it.
struct Image {
    file: &'static str,
    kernel: String,
    root: String,
}

impl<'a> Board<'a> {
    fn raise(place: &'a Place, image: &str) -> Self {
        let words = ["board", "--clients", "0", "--radios", "1", "--image", image];
        let running = place.headroom(words).start();
        let board = Self { place, running };
        board.until_up();
        board
    }

    /// A script there; `None` where ssh does not get there.
    fn shell(&self, script: &str) -> Option<String> {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "board/ssh_config", "-o", "ConnectTimeout=5", "board", script]);
        let output = ssh.current_dir(self.place.path("")).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn until_up(&self) -> String {
        eventually(BOOT, || self.shell("cat /proc/sys/kernel/random/boot_id")).unwrap_or_else(
            || {
                let console =
                    fs::read_to_string(self.place.path("board/console.log")).unwrap_or_default();
                panic!("the board did not come up; its console:\n{console}")
            },
        )
    }

    fn flash(&self, image: &str, more: &[&str]) -> Ended {
        self.flashing(image, more).end()
    }

    fn flashing(&self, image: &str, more: &[&str]) -> Running {
        let words = ["flash", "board/board.toml", "--json", "--image", image];
        self.place.headroom(words).words(more.iter().copied()).start()
    }

    fn power(&self, what: &str) {
        self.place.headroom(["board", "--power", what]).run().code(0);
    }

    /// The image that it runs from, by content; a board with something else fails the test.
    fn image<'i>(&self, images: [&'i Image; 2]) -> &'i Image {
        let sum = |part: &str, size: u64| {
            let script = format!("set -- {part} {size}\n{CONTENT}");
            let said = eventually(BOOT, || self.shell(&script)).unwrap();
            said.split_whitespace().nth(1).unwrap_or_default().to_owned()
        };
        for image in images {
            let size = |part: &str| part_of(self.place, image.file, part).len() as u64;
            // They differ in their roots alone, and each sum takes the board a while.
            if sum("root", size("root")) == image.root
                && sum("kernel", size("kernel")) == image.kernel
            {
                return image;
            }
        }
        panic!("the board runs from neither image");
    }

    fn off(self) {
        self.running.signal(Signal::INT);
        self.running.end().calmly();
    }
}

/// Two images that differ in one program.
fn images(place: &Place) -> [Image; 2] {
    let other =
        format!("stationd={}", programs_of(Processor::Arm64).join("station-monitor").display());
    let make = |file: &'static str, with: &[&str]| {
        let words = ["image", "--json", "--board", file];
        let made = place.headroom(words).words(with.iter().copied()).run();
        let made = made.code(0).json();
        let sum = |part: &str| made[part].as_str().unwrap().to_owned();
        Image { file, kernel: sum("kernel"), root: sum("root") }
    };
    [make("one.image", &[]), make("two.image", &["--with", &other])]
}

/// A part of an image's file.
fn part_of(place: &Place, image: &str, part: &str) -> Vec<u8> {
    let name = format!("sysupgrade-headroom-board/{part}");
    let output = Command::new("tar").arg("-xOf").arg(place.path(image)).arg(name).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// The same image with a byte of its kernel changed, and sums that fit.
const DAMAGED: &str = r#"
d=sysupgrade-headroom-board
tar -xf one.image
printf x | dd of=$d/kernel bs=1 seek=5000000 conv=notrunc 2>/dev/null
sum=$(sha256sum <$d/kernel)
sed -i "s/^KERNEL_SHA256=.*/KERNEL_SHA256=${sum%% *}/" $d/CONTROL
tar -cf damaged.image $d/CONTROL $d/kernel $d/root
"#;

#[test]
fn a_board_runs_one_of_its_images_whatever_happens() {
    if !has_arm64() {
        return;
    }
    let place = Place::with_guests();
    let images = images(&place);
    let board = Board::raise(&place, images[0].file);
    let whole = runs_what_it_was_given(&board, &images[1]);
    goes_back_where_an_image_does_not_start(&board, &images[1]);
    // It runs from the second one, as was just shown.
    survives_power_cuts(&board, [&images[1], &images[0]], whole);
    board.off();
    assert_eq!(place.left(), []);
}

/// Flashes an image, and says how long that took.
fn runs_what_it_was_given(board: &Board<'_>, image: &Image) -> Duration {
    board.shell("echo '#!/bin/sh' >/usr/sbin/stationd; echo new >/etc/new; rm /sbin/iw").unwrap();
    let began = Instant::now();
    let flashed = board.flash(image.file, &[]).code(0).last_json();
    let flashed = &flashed["flashed"];
    assert_eq!(flashed["after"]["root"], image.root, "{flashed}");
    assert_eq!(flashed["after"]["kernel"], image.kernel, "{flashed}");
    assert_ne!(flashed["before"]["root"], image.root, "{flashed}");
    let overlay = flashed["overlay"].as_array().unwrap();
    for (effect, path) in
        [("hides", "usr/sbin/stationd"), ("adds", "etc/new"), ("removes", "sbin/iw")]
    {
        let file = json!({ "effect": effect, "path": path });
        assert!(overlay.contains(&file), "{file} in {overlay:?}");
    }
    began.elapsed()
}

fn goes_back_where_an_image_does_not_start(board: &Board<'_>, before: &Image) {
    let mut shell = Command::new("sh");
    shell.args(["-c", DAMAGED]).current_dir(board.place.path(""));
    assert!(shell.status().unwrap().success());
    let ended = board.flash("damaged.image", &["--wipe-overlay"]);
    ended.code(1).says(
        "the image did not come up on board: it is back in slot b with the image that it had",
    );
    ended.says("; its console: ").says("headroom: slot a did not come up");
    assert_eq!(board.image([before, before]).file, before.file);
    assert_eq!(board.shell("cat /etc/new").unwrap(), "new\n");
}

/// Cuts the power in flashes of the image that does not run, at moments that the golden ratio spreads over their whole time.
fn survives_power_cuts(board: &Board<'_>, [mut runs, mut other]: [&Image; 2], whole: Duration) {
    let cuts: u32 = env::var("HEADROOM_POWER_CUTS").map_or(1, |cuts| cuts.parse().unwrap());
    let mut found = [0; 2];
    for cut in 0..cuts {
        let at = whole.mul_f64((0.3 + f64::from(cut) * 0.618_034).fract());
        board.shell(FORGET).unwrap();
        let flashing = board.flashing(other.file, &[]);
        thread::sleep(at);
        board.power("off");
        drop(flashing);
        board.power("on");
        board.until_up();
        let (at, whole) = (at.as_secs_f64(), whole.as_secs_f64());
        let is_new = board.image([runs, other]).file == other.file;
        let comes_up = if is_new { other.file } else { runs.file };
        eprintln!("cut {cut} after {at:.1} of {whole:.1} s: {} -> {comes_up}", runs.file);
        found[usize::from(is_new)] += 1;
        if is_new {
            (runs, other) = (other, runs);
        }
    }
    eprintln!("power cuts: {} kept the image, {} had the new one", found[0], found[1]);
}
