//! Which limits of a study can be answered where its client counts are not all there are: on a device.

use super::Gates;
use crate::limit;

impl Gates {
    /// Leaves those that trials at one client count can answer; answers the others, as people say them.
    pub fn keep_answered_at(&mut self, clients: u32) -> Vec<String> {
        let mut left_out = Vec::new();
        if std::mem::take(&mut self.monotonic) {
            left_out.push("monotonic".to_owned());
        }
        if let Some(kib) = self.memory_per_client_kib.take() {
            left_out.push(format!("memory-per-client <= {kib}KiB"));
        }
        // What cannot be read is judged, and reported so.
        let is_answered =
            |text: &String| limit::parse(text).map_or(true, |limit| limit.is_answered_at(clients));
        left_out.extend(self.limits.extract_if(.., |text| !is_answered(text)));
        left_out
    }
}
