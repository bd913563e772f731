//! What `swath bench` says of storage behind a network.

use crate::bench_run::Figures;
use crate::quantity::{bytes, count, duration, significant};
use crate::step_chart::step_chart;
use serde_json::{Value, json};
use std::io::{Result, Write};
use std::time::Duration;
use swath::ioengine::RemoteStats;

/// Requests of the batches: what the endpoint's counters said before and after.
pub(crate) struct RemoteFigures {
    pub(crate) before: RemoteStats,
    pub(crate) after: RemoteStats,
    /// From the opening of the array to the end of the batches.
    pub(crate) end: Duration,
}

/// Columns of the chart.
const CHART_WIDTH: usize = 60;
/// Rows of the chart.
const CHART_HEIGHT: usize = 6;

impl RemoteFigures {
    fn since(&self, counter: fn(&RemoteStats) -> u64) -> u64 {
        counter(&self.after).saturating_sub(counter(&self.before))
    }

    /// Bytes received for each byte wanted; `None` where nothing that was wanted is stored.
    fn amplification(&self, figures: &Figures) -> Option<f64> {
        let received = self.since(|stats| stats.bytes_received) as f64;
        (figures.bytes_wanted != 0).then(|| received / figures.bytes_wanted as f64)
    }

    /// Name, value and note of each line.
    pub(crate) fn rows(&self, figures: &Figures) -> Vec<(&'static str, String, String)> {
        let (after, requests) = (&self.after, self.since(|stats| stats.requests));
        let a_crop = if figures.crops == 0 { 0.0 } else { requests as f64 / figures.crops as f64 };
        let again = [
            ("retried", self.since(|stats| stats.retries)),
            ("resumed", self.since(|stats| stats.resumed)),
            ("hedged", self.since(|stats| stats.hedges)),
            ("throttled", self.since(|stats| stats.throttled)),
        ];
        let again = again.map(|(name, number)| format!("{} {name}", count(number))).join(", ");
        let received = self.since(|stats| stats.bytes_received);
        let times = self.amplification(figures).map_or_else(|| "none".to_owned(), significant);
        let [median, p99, longest] = after.first_byte;
        let open = format!("open, {} HTTP/2; {} opened", after.http2_open, count(after.connections_opened));
        let most = format!("requests at once by now; {} under way at most", count(after.in_flight_max));
        let costs = format!("a request more, {} ns a byte, as measured", significant(after.byte_cost_ns));
        let request_cost = Duration::from_secs_f64((after.request_cost_ns / 1e9).clamp(0.0, 1e6));
        vec![
            ("requests", count(requests), format!("{} a crop; {again}", significant(a_crop))),
            ("received", bytes(received), format!("{times} bytes for each wanted")),
            (
                "first byte p50",
                duration(median),
                format!("p99 {}, longest {}", duration(p99), duration(longest)),
            ),
            ("connections", count(after.connections_open), open),
            ("concurrency", count(after.concurrency), most),
            ("cost", duration(request_cost), costs),
        ]
    }

    /// Draws how the limit of requests at once moved.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(crate) fn chart(&self, out: &mut impl Write) -> Result<()> {
        let history = &self.after.concurrency_history;
        if history.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nlimit of requests at once, since the array was opened")?;
        for line in step_chart(history, self.end, CHART_WIDTH, CHART_HEIGHT) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// The same as JSON: times in seconds, sizes in bytes.
    pub(crate) fn json(&self, figures: &Figures) -> Value {
        let after = &self.after;
        let [median, p99, longest] = after.first_byte.map(|time| time.as_secs_f64());
        let history: Vec<(f64, u64)> =
            after.concurrency_history.iter().map(|(at, limit)| (at.as_secs_f64(), *limit)).collect();
        json!({
            "endpoint": &*after.endpoint,
            "requests": self.since(|stats| stats.requests),
            "bytes_received": self.since(|stats| stats.bytes_received),
            "amplification": self.amplification(figures),
            "retries": self.since(|stats| stats.retries),
            "resumed": self.since(|stats| stats.resumed),
            "hedges": self.since(|stats| stats.hedges),
            "throttled": self.since(|stats| stats.throttled),
            "first_byte_seconds": {"p50": median, "p99": p99, "max": longest},
            "connections_opened": after.connections_opened,
            "connections_open": after.connections_open,
            "http2_open": after.http2_open,
            "in_flight_max": after.in_flight_max,
            "concurrency": after.concurrency,
            "concurrency_over_time": history,
            "request_cost_ns": after.request_cost_ns,
            "byte_cost_ns": after.byte_cost_ns,
            "seconds_since_opening": self.end.as_secs_f64(),
        })
    }
}
