//! HTTP/1.1, from the client's side, on one connection: one request after the other, read by whoever waits for the answer.
//!
//! There is no task beside a connection, no queue to one, and no buffer while nothing comes: many thousand requests wait for
//! their answers at once, and what each holds meanwhile is what many of them cost.

mod answer_head;
mod broken;
mod chunks;
mod connection;
mod request_head;

pub(super) use broken::Broken;
pub(super) use connection::{Connection, Seen, Unanswered};
