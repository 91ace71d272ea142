//! What a seed does: how much of everything, and how much goes wrong.
//!
//! Each rate is drawn for the seed as a whole, and is often nothing: a seed in which only one kind
//! of thing goes wrong reaches places that one with all of them never does.

use kith_vocab::event::models::Wire;

use super::chance::Chance;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) n_lives: u64,
    pub(crate) n_people: u64,
    pub(crate) n_actions: u64,
    pub(crate) n_threads: u64,
    pub(crate) n_agents: u64,
    /// Of a hundred lives, so many end by a kill.
    pub(crate) kills: u64,
    /// Of a hundred kills, so many are power cuts.
    pub(crate) power_cuts: u64,
    /// Of a hundred lives, so many have a disk that goes wrong.
    pub(crate) disk_faults: u64,
    /// Of a thousand changes of the desk that are waited for, so many fail.
    pub(crate) desk_faults: u64,
    /// Of a thousand reads of journal and desk, so many fail.
    pub(crate) read_faults: u64,
    /// Of a hundred requests, so many are not answered well.
    pub(crate) model_faults: u64,
    /// Of a hundred answers, so many call tools.
    pub(crate) tool_calls: u64,
    /// Of a hundred calls, so many go wrong.
    pub(crate) tool_faults: u64,
    /// Of a hundred kills, so many put an old copy of the desk back.
    pub(crate) old_desks: u64,
    /// Of a hundred actions, so many set the clock.
    pub(crate) clock_jumps: u64,
    /// Of a hundred lives, so many reach only one model.
    pub(crate) lone_models: u64,
    /// Of a thousand steps, so many take time.
    pub(crate) slow_steps: u64,
    /// Of a hundred messages, so many go to another session than the thread's current one.
    pub(crate) other_sessions: u64,
    /// Of a thousand turns and requests, so many end in a failure of ours.
    pub(crate) own_faults: u64,
    /// Of a hundred lives, so many have a model under its name that is another one.
    pub(crate) other_models: u64,
    /// Of a hundred lives, so many keep little for slow followers, and make checkpoints early.
    pub(crate) small_limits: u64,
    /// Of a hundred times between two lives, so often a session file is damaged.
    pub(crate) damage: u64,
    /// The window of all models, in tokens.
    pub(crate) context_window: u64,
    /// What model `b` speaks; `a` speaks what the settings say.
    pub(crate) wire_of_b: Wire,
}

impl Plan {
    pub(crate) fn draw(chance: &mut Chance) -> Plan {
        let mut rate = |most: u64| match chance.below(3) {
            0 => 0,
            1 => most / 4,
            _ => most,
        };
        let (kills, power_cuts) = (50 + rate(50), 30 + rate(60));
        let (disk_faults, desk_faults, read_faults) = (rate(60), rate(60), rate(30));
        let (model_faults, tool_calls, tool_faults) = (rate(60), rate(80), rate(50));
        let (old_desks, clock_jumps, lone_models) = (rate(40), rate(12), rate(50));
        let (slow_steps, other_sessions, own_faults) = (rate(60), rate(50), rate(15));
        let (other_models, small_limits) = (rate(30), rate(80));
        // A desk that is older than the damage would take a damaged end for a torn one.
        let damage = if old_desks == 0 { rate(40) } else { 0 };
        // A conversation of a few messages fills the small ones.
        let context_window = match rate(4) {
            0 => 128_000,
            1 => 40_000,
            _ => 600,
        };
        let wire_of_b = if rate(1) == 0 { Wire::Anthropic } else { Wire::OpenaiResponses };
        Plan {
            n_lives: chance.between(1, 5),
            n_people: chance.between(1, 3),
            n_actions: chance.between(2, 14),
            n_threads: chance.between(1, 3),
            n_agents: chance.between(1, 2),
            kills,
            power_cuts,
            disk_faults,
            desk_faults,
            read_faults,
            model_faults,
            tool_calls,
            tool_faults,
            old_desks,
            clock_jumps,
            lone_models,
            slow_steps,
            other_sessions,
            own_faults,
            other_models,
            small_limits,
            damage,
            context_window,
            wire_of_b,
        }
    }

    /// Nothing goes wrong any more: what is left must come to its end.
    pub(crate) fn without_faults(&self) -> Plan {
        Plan {
            kills: 0,
            disk_faults: 0,
            desk_faults: 0,
            read_faults: 0,
            model_faults: 0,
            tool_faults: 0,
            clock_jumps: 0,
            lone_models: 0,
            own_faults: 0,
            damage: 0,
            ..self.clone()
        }
    }
}
