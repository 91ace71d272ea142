//! What the log, the turn and the fold do when everything goes wrong.

fn main() {}
