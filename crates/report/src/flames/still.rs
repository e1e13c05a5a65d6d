//! A flame graph that stands still: SVG for print and for a browser without JavaScript.
//!
//! Only the widest frames; the tables have the rest. Root at the top, so that the page grows downwards.
//! Pure text.

use analysis::{
    profiles::{Node, ProfileFigures, TreeFrame},
    quantity,
    stacks::profile::Naming,
};
use model::plural::count;

use crate::drawing::svg::escape;

/// Frames narrower than this share of the picture are left out.
const LEAST_SHARE: f64 = 0.003;
/// And more than so many.
const MOST_FRAMES: usize = 300;
/// Narrower frames have no room for a letter.
const LEAST_LABELLED: f64 = 0.02;
/// Height of a row, pixels.
const ROW: u32 = 18;

/// The picture; empty for a profile without cost.
pub(crate) fn draw(profile: &ProfileFigures, title: &str) -> String {
    drawn(profile, title).map_or(String::new(), |(_, picture)| picture)
}

/// How a picture that stands alone looks; a page has its own style.
const STYLE: &str = "text{font:11px sans-serif}rect{fill:#e8a15a}.kernel rect{fill:#c9d3dc}.process rect{fill:#e6e6e6}\
                     .unknown rect,.synthesised rect{fill:#fff;stroke:#888}.hatch,.under{stroke:#555}";

/// The picture as a file of its own; `None` for a profile without cost.
pub(crate) fn alone(profile: &ProfileFigures, title: &str) -> Option<String> {
    let (height, picture) = drawn(profile, title)?;
    Some(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="{height}"><style>{STYLE}</style>{picture}</svg>"#
    ))
}

/// The height and the picture; `None` for a profile without cost.
fn drawn(profile: &ProfileFigures, title: &str) -> Option<(u32, String)> {
    let nodes = &profile.tree.nodes;
    let total: f64 = nodes.iter().filter(|node| node.depth == 0).map(|node| node.us_per_s).sum();
    let shown = widest(nodes, total);
    let rows = shown.iter().map(|(node, _)| node.depth + 1).max().unwrap_or(0);
    if rows == 0 {
        return None;
    }
    let boxes: String = shown
        .iter()
        .map(|(node, from)| {
            let frame = &profile.tree.frames[node.frame as usize];
            one(
                frame,
                &frame_title(profile, node, total),
                [from / total, node.us_per_s / total],
                node.depth,
            )
        })
        .collect();
    let height = rows * ROW;
    let picture = format!(
        r#"<svg class="still" width="100%" height="{height}" role="img"><title>{}</title>{boxes}</svg>"#,
        escape(title)
    );
    Some((height, picture))
}

/// The nodes that are shown, and where each begins. Anyone who is shown has its callers shown: they are wider.
fn widest(nodes: &[Node], total: f64) -> Vec<(&Node, f64)> {
    let mut begins = vec![0.0];
    let mut placed = Vec::new();
    for node in nodes {
        begins.truncate(node.depth as usize + 1);
        let Some(from) = begins.last().copied() else { continue };
        if let Some(next) = begins.last_mut() {
            *next += node.us_per_s;
        }
        begins.push(from);
        if total > 0.0 && node.us_per_s >= LEAST_SHARE * total {
            placed.push((node, from));
        }
    }
    placed.sort_by(|(one, _), (other, _)| other.us_per_s.total_cmp(&one.us_per_s));
    placed.truncate(MOST_FRAMES);
    placed
}

fn one(frame: &TreeFrame, title: &str, [from, share]: [f64; 2], row: u32) -> String {
    let room = if frame.waits { 16 } else { 4 };
    let mut inside = String::new();
    if matches!(frame.naming, Naming::Unknown(_)) {
        inside.push_str(r#"<line class="hatch" x2="100%" y1="50%" y2="50%"/>"#);
    }
    if frame.kernel || frame.naming == Naming::Synthesised {
        inside.push_str(r#"<line class="under" x2="100%" y1="16" y2="16"/>"#);
    }
    if share >= LEAST_LABELLED {
        if frame.waits {
            inside.push_str(r#"<path class="waits" d="M4 4h8l-8 9h8z"/>"#);
        }
        inside.push_str(&format!(r#"<text x="{room}" y="12.5">{}</text>"#, escape(&frame.name)));
    }
    format!(
        r#"<svg class="{}" x="{:.3}%" y="{}" width="{:.3}%" height="{}"><title>{}</title><rect width="100%" height="100%"/>{inside}</svg>"#,
        class(frame),
        from * 100.0,
        row * ROW,
        share * 100.0,
        ROW - 1,
        escape(title),
    )
}

fn frame_title(profile: &ProfileFigures, node: &Node, total: f64) -> String {
    let TreeFrame { name, module, .. } = &profile.tree.frames[node.frame as usize];
    let share = quantity::percent(node.us_per_s / total);
    if profile.cpu_measured() {
        let cpu = quantity::cpu_short(node.us_per_s);
        return format!(
            "{name} ({module}): {cpu} of CPU a second, {share}, {}",
            count(node.samples, "sample")
        );
    }
    format!("{name} ({module}): {}, {share}", count(node.samples, "sample"))
}

/// The classes of a frame in the style sheet.
fn class(frame: &TreeFrame) -> String {
    let kind = match frame.naming {
        Naming::Process => "process",
        Naming::Unknown(_) => "unknown",
        _ if frame.kernel => "kernel",
        Naming::Named => "named",
        Naming::Synthesised => "synthesised",
    };
    format!("f {kind}{}", if frame.inlined { " inlined" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stand_below_their_callers_and_next_to_each_other() {
        let node = |depth, us_per_s| Node { frame: 0, depth, samples: 1, us_per_s };
        let nodes = [node(0, 60.0), node(1, 20.0), node(1, 30.0), node(0, 39.9), node(1, 0.1)];
        let found: Vec<_> =
            widest(&nodes, 100.0).into_iter().map(|(node, from)| (node.us_per_s, from)).collect();
        assert_eq!(found, [(60.0, 0.0), (39.9, 60.0), (30.0, 20.0), (20.0, 0.0)]);
    }
}
