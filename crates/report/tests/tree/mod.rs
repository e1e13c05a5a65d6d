//! Where a frame of a flame graph is, so that tests can point at it.

/// The first node that is wanted: its place among all, and where its middle is, as a share of the whole. Nodes
/// are depth, width and whether it is wanted, each before those below it.
pub(crate) fn middle(nodes: impl IntoIterator<Item = (u32, f64, bool)>) -> (usize, f64) {
    let nodes: Vec<_> = nodes.into_iter().collect();
    let whole: f64 =
        nodes.iter().filter(|(depth, ..)| *depth == 0).map(|(_, width, _)| width).sum();
    let mut begins = vec![0.0];
    for (at, (depth, width, is_wanted)) in nodes.into_iter().enumerate() {
        begins.truncate(depth as usize + 1);
        let Some(next) = begins.last_mut() else { continue };
        let from = *next;
        *next += width;
        begins.push(from);
        if is_wanted {
            return (at, (from + width / 2.0) / whole);
        }
    }
    panic!("no such frame");
}
