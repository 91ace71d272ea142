//! Mistakes that are put in on purpose: a simulation that does not find them finds nothing.

/// Each lives in the ports around the engine, so that nothing of it is in the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Appends to session files are not always synced.
    MissingSync,
    /// Two drivers run one session, and the journal does not refuse the second.
    DoubledDrive,
    /// A driver that was woken finds no message on the desk although there is one.
    LostWakeup,
}

impl Bug {
    pub(crate) const ALL: [Bug; 3] = [Bug::MissingSync, Bug::DoubledDrive, Bug::LostWakeup];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Bug::MissingSync => "missing-sync",
            Bug::DoubledDrive => "doubled-drive",
            Bug::LostWakeup => "lost-wakeup",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Bug> {
        Bug::ALL.into_iter().find(|bug| bug.name() == name)
    }
}
