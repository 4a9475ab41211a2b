//! How much was surely admitted beyond the count.

use std::collections::BTreeMap;

use super::call::{Call, DecidedBy};
use super::checks::Checks;

impl Checks {
    /// How many calls the store has admitted beyond the count, of those that were sent from this time on and lie surely in one window:
    /// time is divided into pieces as long as the window, and a call counts in a piece in which it was sent and answered.
    pub fn beyond(&self, calls: &[Call], since: u64) -> u64 {
        let mut admitted: BTreeMap<(&str, u64), (u32, u32)> = BTreeMap::new();
        for call in calls {
            let length = call.window.length;
            let piece = call.sent_at / length;
            let inside = call.replied_at + self.slack < (piece + 1) * length;
            if inside && call.sent_at >= since && call.is_admitted_by(DecidedBy::Store) {
                let entry = admitted.entry((&call.key, piece)).or_insert((0, call.window.count));
                entry.0 += call.cost;
            }
        }
        let over = admitted
            .values()
            .map(|(admitted, count)| admitted.saturating_sub(*count));
        over.map(u64::from).sum()
    }
}
