//! What `swath bench` says of a cache of remote bytes.

use crate::quantity::{bytes, count, plural, significant};
use serde_json::{Value, json};
use swath::CacheStats;

/// Answers of the cache to the batches: what its counters said before and after.
pub(crate) struct CacheFigures {
    pub(crate) before: CacheStats,
    pub(crate) after: CacheStats,
}

impl CacheFigures {
    fn since(&self, counter: fn(&CacheStats) -> u64) -> u64 {
        counter(&self.after).saturating_sub(counter(&self.before))
    }

    /// Hits of each hundred requests, and where the bytes came from.
    pub(crate) fn row(&self) -> (String, String) {
        let (hits, misses) = (self.since(|stats| stats.hits), self.since(|stats| stats.misses));
        let share = if hits == 0 { 0.0 } else { 100.0 * hits as f64 / (hits + misses) as f64 };
        let checks = plural(self.since(|stats| stats.checks), "check");
        let [memory, files, source] = [
            self.since(|stats| stats.bytes_from_memory),
            self.since(|stats| stats.bytes_from_disk),
            self.since(|stats| stats.bytes_from_source),
        ]
        .map(bytes);
        let requests = plural(hits + misses, "request");
        let note = format!(
            "{} of {requests}, {checks}; {memory} from memory, {files} from files, {source} from the service",
            count(hits)
        );
        (format!("{} %", significant(share)), note)
    }

    /// The same as JSON: sizes in bytes.
    pub(crate) fn json(&self) -> Value {
        json!({
            "hits": self.since(|stats| stats.hits),
            "misses": self.since(|stats| stats.misses),
            "partial": self.since(|stats| stats.partial),
            "shared": self.since(|stats| stats.shared),
            "checks": self.since(|stats| stats.checks),
            "changes": self.since(|stats| stats.changes),
            "bytes_from_memory": self.since(|stats| stats.bytes_from_memory),
            "bytes_from_disk": self.since(|stats| stats.bytes_from_disk),
            "bytes_from_source": self.since(|stats| stats.bytes_from_source),
            "drops": self.since(|stats| stats.drops),
            "memory_bytes": self.after.memory_bytes,
            "disk_bytes": self.after.disk_bytes,
        })
    }
}
