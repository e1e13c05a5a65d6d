//! `examples/board`: real U-Boot, two slots, an overlay, ssh, and images that come and go.
//!
//! `HEADROOM_POWER_CUTS=50` cuts the power at 50 moments of a flash instead of one.

use std::{
    env, fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::harness::{Ended, Place, Running, cache, eventually, free_port};

/// A board that boots on a busy machine.
const BOOT: Duration = Duration::from_secs(300);

struct Board<'a> {
    place: &'a Place,
}

/// An image, and what it has in it.
struct Image {
    file: &'static str,
    /// SHA-256 of kernel and root.
    content: [String; 2],
}

impl<'a> Board<'a> {
    fn raise(place: &'a Place, image: &str) -> Self {
        let mut new = script(place, "board");
        succeeds(new.args(["new", "board", image]).arg(free_port().to_string()));
        let board = Self { place };
        board.power("on");
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

    fn until_up(&self) {
        eventually(BOOT, || self.shell("true")).unwrap_or_else(|| {
            let console = fs::read_to_string(self.place.path("board/console.log"));
            panic!("the board did not come up; its console:\n{}", console.unwrap_or_default())
        });
    }

    fn flash(&self, image: &str) -> Ended {
        self.flashing(image).end()
    }

    fn flashing(&self, image: &str) -> Running {
        self.place.headroom(&format!("flash board/board.toml --json --image {image}")).start()
    }

    fn power(&self, what: &str) {
        succeeds(self.place.command(&self.place.path("board/board")).arg(what));
    }

    fn runs(&self, image: &Image) -> bool {
        let said = eventually(BOOT, || self.shell("upgrade --content")).unwrap();
        said.lines().map(|line| line.split(' ').next().unwrap()).eq(&image.content)
    }
}

impl Drop for Board<'_> {
    fn drop(&mut self) {
        self.power("off");
    }
}

fn script(place: &Place, name: &str) -> Command {
    let mut command =
        place.command(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/board").join(name));
    command.env("BOARD_PACKAGES", cache().join("board-packages"));
    command
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn images(place: &Place) -> [Image; 2] {
    place.folder("more");
    place.write("more/motd", "two\n");
    [("one.image", None), ("two.image", Some("more"))].map(|(file, more)| {
        succeeds(script(place, "image").arg(file).args(more));
        let member = "sysupgrade-headroom-board/CONTROL";
        let sums = succeeds(place.command(Path::new("tar")).args(["-xOf", file, member]));
        let sums: Vec<_> = sums.lines().map(|line| line[..64].to_owned()).collect();
        Image { file, content: sums.try_into().unwrap() }
    })
}

/// The same image with a byte of its kernel changed, and sums that fit.
const DAMAGED: &str = r"
d=sysupgrade-headroom-board
tar -xf one.image
printf x | dd of=$d/kernel bs=1 seek=5000000 conv=notrunc 2>/dev/null
(cd $d && sha256sum kernel root >CONTROL)
tar -cf damaged.image $d
";

#[test]
fn a_board_runs_one_of_its_images_whatever_happens() {
    let place = Place::with_guests();
    let [one, two] = images(&place);
    let board = Board::raise(&place, one.file);
    assert!(board.runs(&one) && !board.runs(&two));
    let whole = runs_what_it_was_given(&board, &two);
    goes_back_where_an_image_does_not_start(&board, &two);
    // It runs from the second one, as was just shown.
    survives_power_cuts(&board, [&two, &one], whole);
    drop(board);
}

/// Flashes an image, and says how long that took.
fn runs_what_it_was_given(board: &Board<'_>, image: &Image) -> Duration {
    board.shell("echo root:x:0: >/etc/group; echo new >/etc/new; rm /bin/vi").unwrap();
    let began = Instant::now();
    let flashed = board.flash(image.file).code(0).last_json();
    let flashed = &flashed["flashed"];
    assert_eq!(flashed["content"], json!(image.content), "{flashed}");
    let overlay = flashed["overlay"].as_array().unwrap();
    for (effect, path) in [("hides", "etc/group"), ("adds", "etc/new"), ("removes", "bin/vi")] {
        let file = json!({ "effect": effect, "path": path });
        assert!(overlay.contains(&file), "{file} in {overlay:?}");
    }
    began.elapsed()
}

fn goes_back_where_an_image_does_not_start(board: &Board<'_>, before: &Image) {
    succeeds(board.place.command(Path::new("sh")).args(["-c", DAMAGED]));
    let ended = board.flash("damaged.image");
    ended.code(1).says("the image did not come up on board: it runs from ");
    ended.says("; its console: ").says("Bad Data Hash");
    ended.says("; back to the image before: `ssh -F ssh_config board upgrade --back`");
    assert!(board.runs(before));
    assert_eq!(board.shell("cat /etc/new").unwrap(), "new\n");
    board.place.write("none.image", "no image");
    board.flash("none.image").code(4).says("upgrade: /tmp/image is no image for this board");
    assert!(board.runs(before));
}

/// Cuts the power in flashes of the image that does not run, at moments that the golden ratio spreads over their whole time.
fn survives_power_cuts(board: &Board<'_>, [mut runs, mut other]: [&Image; 2], whole: Duration) {
    let cuts: u32 = env::var("HEADROOM_POWER_CUTS").map_or(1, |cuts| cuts.parse().unwrap());
    let mut found = [0; 2];
    for cut in 0..cuts {
        let at = whole.mul_f64((0.3 + f64::from(cut) * 0.618_034).fract());
        let flashing = board.flashing(other.file);
        thread::sleep(at);
        board.power("off");
        drop(flashing);
        board.power("on");
        board.until_up();
        let is_new = board.runs(other);
        assert!(is_new || board.runs(runs), "the board runs from neither image");
        let comes_up = if is_new { other.file } else { runs.file };
        let (at, whole) = (at.as_secs_f64(), whole.as_secs_f64());
        eprintln!("cut {cut} after {at:.1} of {whole:.1} s: {} -> {comes_up}", runs.file);
        found[usize::from(is_new)] += 1;
        if is_new {
            (runs, other) = (other, runs);
        }
    }
    eprintln!("power cuts: {} kept the image, {} had the new one", found[0], found[1]);
}
