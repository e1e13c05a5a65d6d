//! Integration tests: each drives the real `headroom` and the real guests that it starts.
//!
//! Nothing is mocked. A test is a sentence; [`harness`] has the words that it is written in. Tests
//! that need a guest share one cache, so the first of them makes the image and the access point and
//! the others restore it.
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `HEADROOM_BIN` | the binary to drive | `headroom` of the same build |
//! | `HEADROOM_CACHE` | images and snapshots | `headroom-cache` in the target folder |
//! | `HEADROOM_LONG` | `1`: what repeats a claim, or makes it large, runs at its whole length | what shows it |

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "what a test cannot do ends the test, and a skip or a figure is printed"
)]

mod harness;

mod arm64;
mod bisect;
mod board;
mod cache;
mod cache_model;
mod ci_examples;
mod command_line;
mod compare;
mod completion;
mod contention;
mod counted;
mod devices;
mod doctor;
mod flash;
mod hostile_device;
mod hostile_folders;
mod hostile_inputs;
mod improve;
mod interrupted;
mod lab_faults;
mod labgrid;
mod mcp;
mod own_firmware;
mod pause;
mod perturbed;
mod profile;
mod real_ssh;
mod recordings;
mod red_team;
mod refused;
mod run;
mod shards;
mod station_stats;
mod stationd_own_user;
mod stationd_values;
mod stationd_weather;
mod subjects;
mod ubus;
mod up;
mod witness;
