//! Figures whose subject does not exist yet. A row leaves this list when something measures it.

use super::Ground;
use super::figure::Figure;

pub(crate) fn list(_: &Ground) -> Vec<Figure> {
    vec![
        Figure::not_built(
            "fan-out: one session, 1,000 clients, 100 deltas/s, p99 delivery",
            "at most 100 ms",
        ),
        Figure::not_built("model calls during 30 idle days with a heartbeat", "0"),
    ]
}
