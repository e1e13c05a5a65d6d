//! A processed profile for the Firefox Profiler, gzipped as it is usually kept.
//!
//! Folded stacks have no times any more, so samples stand one behind the other as far apart as they
//! weigh, by process. A frame is the function's name and its module's.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use flate2::{Compression, write::GzEncoder};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile as Processed,
    ReferenceTimestamp, SamplingInterval, ThreadHandle, Timestamp,
};

use crate::stacks::{
    profile::{Naming, Profile},
    tree::file_name,
};

/// Without a rate, a sample is a millisecond long, ns.
const USUAL_INTERVAL: u64 = 1_000_000;

/// A profile with one thread for each process, gzipped. `frequency`: samples in a second of CPU time.
pub fn firefox(name: &str, profile: &Profile, frequency: Option<u32>) -> io::Result<Vec<u8>> {
    let per_sample = frequency.and_then(|hz| 1_000_000_000_u64.checked_div(u64::from(hz)));
    let interval = per_sample.unwrap_or(USUAL_INTERVAL).max(1);
    // No one knows when this was recorded: 1970 says so.
    let start = ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    let mut processed = Processed::new(name, start, SamplingInterval::from_nanos(interval));
    processed.set_symbolicated(true);
    let frames = frames(&mut processed, profile);
    let mut threads: BTreeMap<&str, (ThreadHandle, u64)> = BTreeMap::new();
    for stack in &profile.stacks {
        let (root, rest) = match stack.frames.split_first() {
            Some((root, rest)) if is_process(profile, *root) => (Some(*root), rest),
            _ => (None, stack.frames.as_slice()),
        };
        let process = root.and_then(|root| profile.frames.get(root as usize));
        let process = process.map_or("unknown", |frame| frame.name.as_str());
        let number = threads.len() as u32 + 1;
        let (thread, now) =
            threads.entry(process).or_insert_with(|| (thread(&mut processed, process, number), 0));
        let inner = rest.iter().filter_map(|frame| frames.get(*frame as usize)).cloned();
        let handle = processed.intern_stack_frames(*thread, inner);
        let samples: u64 = stack.samples.iter().sum();
        let weight = i32::try_from(samples).unwrap_or(i32::MAX);
        *now = now.saturating_add(interval.saturating_mul(samples));
        let cpu = CpuDelta::from_nanos(interval.saturating_mul(samples));
        let at = Timestamp::from_nanos_since_reference(*now);
        processed.add_sample(*thread, at, handle, cpu, weight);
    }
    compressed(&processed)
}

fn is_process(profile: &Profile, frame: u32) -> bool {
    profile.frames.get(frame as usize).is_some_and(|frame| frame.naming == Naming::Process)
}

fn thread(processed: &mut Processed, name: &str, number: u32) -> ThreadHandle {
    let start = Timestamp::from_nanos_since_reference(0);
    let process = processed.add_process(name, number, start);
    let thread = processed.add_thread(process, number, start, true);
    processed.set_thread_name(thread, name);
    thread
}

/// Each of the profile's frames, by its place.
fn frames(processed: &mut Processed, profile: &Profile) -> Vec<FrameInfo> {
    let user = processed.add_category("User", CategoryColor::Yellow);
    let kernel = processed.add_category("Kernel", CategoryColor::Orange);
    let unknown = processed.add_category("Unknown", CategoryColor::Gray);
    let frame = |frame: &crate::stacks::profile::Frame| {
        let module = profile.modules.get(frame.module as usize);
        let category: CategoryHandle = match frame.naming {
            Naming::Unknown(_) => unknown,
            _ if module.is_some_and(|module| module.kernel) => kernel,
            _ => user,
        };
        let file = module.map(|module| file_name(&module.name)).unwrap_or_default();
        let label = processed.intern_string(&format!("{} ({file})", frame.name));
        let (frame, flags) = (Frame::Label(label), FrameFlags::empty());
        FrameInfo { frame, category_pair: category.into(), flags }
    };
    profile.frames.iter().map(frame).collect()
}

fn compressed(processed: &Processed) -> io::Result<Vec<u8>> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut writer, processed)?;
    writer.flush()?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use serde_json::Value;

    use super::*;
    use crate::stacks::test_data::profile;

    fn parsed(profile: &Profile) -> Value {
        let packed = firefox("found@114", profile, Some(500)).unwrap();
        let mut text = String::new();
        GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Names of functions in the text of a profile, wherever this version of the format keeps them.
    fn says(found: &Value, name: &str) -> bool {
        found.to_string().contains(&format!("\"{name}\""))
    }

    #[test]
    fn each_process_is_a_thread_with_its_samples_and_functions_have_their_modules() {
        let found = parsed(&profile(&[
            ("hostapd;main;k:read", &[3, 2]),
            ("stationd;main", &[4, 0]),
            ("stationd;?no file", &[1, 0]),
            ("stationd;libc.so.6!memcpy", &[0, 2]),
        ]));
        let threads = found["threads"].as_array().unwrap();
        let names: Vec<_> = threads.iter().map(|thread| thread["processName"].clone()).collect();
        assert_eq!(names, ["hostapd", "stationd"]);
        assert_eq!(threads[1]["samples"]["length"], 3);
        assert_eq!(threads[1]["samples"]["weight"], serde_json::json!([4, 1, 2]));
        for name in ["main (hostapd)", "no file (stationd)", "memcpy (libc.so.6)"] {
            assert!(says(&found, name), "{name}");
        }
        assert!(says(&found, "Kernel") && says(&found, "Unknown") && says(&found, "User"));
        assert_eq!(found["meta"]["symbolicated"], true);
    }

    #[test]
    fn an_empty_profile_is_one_too() {
        assert_eq!(parsed(&Profile::default())["threads"].as_array().unwrap().len(), 0);
    }
}
