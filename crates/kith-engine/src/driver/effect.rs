//! Waiting for an effect while the session takes commands.

use std::sync::Arc;

use super::SessionDriver;
use crate::failure::SessionFailure;
use crate::turn::{self, EffectKind, EffectOutcome, EffectStop, TurnContext, TurnEffect};

/// How long a cancelled effect may take to stop.
const STOP_MS_MAX: u64 = 5_000;
/// A look that takes longer than this is waited for like any other effect.
const QUICK_LOOK_MS: u64 = 20;

impl SessionDriver {
    /// Performs the effect, and those that follow from it at once.
    pub(super) async fn run_effect(
        &mut self,
        ctx: &TurnContext,
        effect: TurnEffect,
    ) -> Result<(), SessionFailure> {
        let mut next = Some(effect);
        while let Some(effect) = next.take() {
            let kind = effect.kind;
            let (outcome, stopped) = self.wait_for_effect(effect).await?;
            match outcome {
                Some(outcome) => {
                    next = turn::record(&mut self.session, ctx, outcome, stopped);
                }
                None => turn::record_lost(&mut self.session, kind, stopped),
            }
        }
        Ok(())
    }

    /// Waits for the effect, and serves the mailbox meanwhile. Returns no outcome if the effect did
    /// not stop when it was told to.
    async fn wait_for_effect(
        &mut self,
        effect: TurnEffect,
    ) -> Result<(Option<EffectOutcome>, EffectStop), SessionFailure> {
        let TurnEffect { kind, mut future, cancel, time_left } = effect;
        let clock = Arc::clone(&self.engine.clock);
        if kind == EffectKind::Prepare {
            // A look changes nothing, so what was staged need not be durable before it: a call
            // that is allowed at once costs no further write.
            tokio::select! {
                biased;
                outcome = &mut future => return Ok((Some(outcome), EffectStop::No)),
                () = clock.sleep(QUICK_LOOK_MS) => (),
            }
        }
        self.commit().await?;
        let limit = u64::try_from(time_left.as_millis()).unwrap_or(u64::MAX);
        let mut timer = clock.sleep(limit);
        let mut stopped = EffectStop::No;
        loop {
            // What comes after a branch waits for it; to look at it again and again would keep the
            // timer from being looked at.
            let takes_mail = self.branch.is_none();
            tokio::select! {
                biased;
                outcome = &mut future => return Ok((Some(outcome), stopped)),
                () = self.mailbox.wait(), if takes_mail => {
                    if self.take_mail_during_effect().await? && stopped == EffectStop::No {
                        stopped = EffectStop::ByPerson;
                        cancel.cancel();
                        timer = clock.sleep(STOP_MS_MAX);
                    }
                }
                () = &mut timer => match stopped {
                    EffectStop::No => {
                        stopped = EffectStop::ByDeadline;
                        cancel.cancel();
                        timer = clock.sleep(STOP_MS_MAX);
                    }
                    EffectStop::ByPerson | EffectStop::ByDeadline => return Ok((None, stopped)),
                },
            }
        }
    }
}
