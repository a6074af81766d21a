//! Which requests a mirror takes in which state: the only place that decides it.

use crate::enumerated::Enumerated;
use crate::state::{DesiredState, MirrorState};

/// What a person asks of a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateRequest {
    /// Come to rest.
    Pause,
    /// Go on where it was.
    Resume,
    /// Take changed settings and go on.
    Edit,
    /// Go, with everything it made at the source.
    Drop,
    /// Load again in place.
    Resync,
}

impl StateRequest {
    /// The verb of a sentence about it.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Edit => "edited",
            Self::Drop => "dropped",
            Self::Resync => "resynced",
        }
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is so, or on the way to it: nothing to do.
    Already,
    /// Both states move, in one step.
    Move {
        /// The new desired state.
        desired: DesiredState,
        /// The new observed state.
        state: MirrorState,
    },
    /// Not from this state.
    Refused {
        /// The states it could come from.
        from: &'static [MirrorState],
    },
}

/// Decides on a request to a mirror in `state`, whose run was last in `resume_at` (SETUP, SNAPSHOT or
/// RUNNING) before it came to rest.
pub fn decide(state: MirrorState, resume_at: MirrorState, request: StateRequest) -> Verdict {
    use MirrorState::{
        Completed, Failed, Modifying, Paused, Pausing, Resync, Running, Setup, Snapshot, Terminated,
        Terminating, Unknown,
    };
    let to = |desired, state| Verdict::Move { desired, state };
    match (request, state) {
        (StateRequest::Pause, Running | Snapshot | Setup) => to(DesiredState::Paused, Pausing),
        (StateRequest::Pause, Paused | Pausing) => Verdict::Already,
        (StateRequest::Pause, _) => Verdict::Refused { from: &[Running, Snapshot, Setup] },

        (StateRequest::Resume, Paused | Failed) => to(DesiredState::Running, resume_at),
        (StateRequest::Resume, Running) => Verdict::Already,
        (StateRequest::Resume, _) => Verdict::Refused { from: &[Paused, Failed] },

        // What made a mirror fail is often what an edit changes: a mapping, a script, a table.
        (StateRequest::Edit, Paused | Failed) => to(DesiredState::Running, Modifying),
        (StateRequest::Edit, _) => Verdict::Refused { from: &[Paused, Failed] },

        (StateRequest::Drop, Terminating | Terminated) => Verdict::Already,
        (
            StateRequest::Drop,
            Unknown | Running | Paused | Pausing | Setup | Snapshot | Completed | Resync | Failed | Modifying,
        ) => to(DesiredState::Terminated, Terminating),

        (StateRequest::Resync, Running | Paused | Failed | Completed) => to(DesiredState::Running, Resync),
        (StateRequest::Resync, Resync) => Verdict::Already,
        (StateRequest::Resync, _) => Verdict::Refused { from: &[Running, Paused, Failed, Completed] },
    }
}

/// The sentence of a refusal: the current state and the states it could come from.
pub fn refusal(request: StateRequest, state: MirrorState, from: &[MirrorState]) -> String {
    let names: Vec<_> = from.iter().map(|state| state.name()).collect();
    format!(
        "the mirror is {}; it can be {} from {}",
        state.name(),
        request.verb(),
        names.join(", ").replacen(", ", " or ", usize::from(names.len() == 2))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The states a request is taken in, those in which it is so already; all others refuse.
    fn table(request: StateRequest) -> (Vec<MirrorState>, Vec<MirrorState>) {
        let states = MirrorState::ALL.iter().map(|(state, ..)| *state);
        let (mut moves, mut already) = (Vec::new(), Vec::new());
        for state in states {
            match decide(state, MirrorState::Snapshot, request) {
                Verdict::Move { .. } => moves.push(state),
                Verdict::Already => already.push(state),
                Verdict::Refused { from } => assert!(!from.contains(&state)),
            }
        }
        (moves, already)
    }

    #[test]
    fn pause_comes_from_running_setup_and_snapshot() {
        use MirrorState::{Paused, Pausing, Running, Setup, Snapshot};
        assert_eq!(table(StateRequest::Pause), (vec![Running, Setup, Snapshot], vec![Paused, Pausing]));
    }

    #[test]
    fn resume_comes_from_paused_and_failed_and_goes_where_it_was() {
        use MirrorState::{Failed, Paused, Running, Snapshot};
        assert_eq!(table(StateRequest::Resume), (vec![Paused, Failed], vec![Running]));
        assert_eq!(
            decide(Paused, Snapshot, StateRequest::Resume),
            Verdict::Move { desired: DesiredState::Running, state: Snapshot }
        );
    }

    #[test]
    fn an_edit_is_taken_while_paused_or_failed_and_goes_on_with_it() {
        use MirrorState::{Failed, Modifying, Paused, Running};
        assert_eq!(table(StateRequest::Edit), (vec![Paused, Failed], vec![]));
        assert_eq!(
            decide(Failed, Running, StateRequest::Edit),
            Verdict::Move { desired: DesiredState::Running, state: Modifying }
        );
    }

    #[test]
    fn drop_comes_from_anything_not_yet_dropped() {
        let (moves, already) = table(StateRequest::Drop);
        assert_eq!(moves.len(), MirrorState::ALL.len() - 2);
        assert_eq!(already, [MirrorState::Terminating, MirrorState::Terminated]);
    }

    #[test]
    fn a_refusal_names_the_state_and_where_it_could_come_from() {
        let text =
            refusal(StateRequest::Resume, MirrorState::Pausing, &[MirrorState::Paused, MirrorState::Failed]);
        assert_eq!(
            text,
            "the mirror is STATUS_PAUSING; it can be resumed from STATUS_PAUSED or STATUS_FAILED"
        );
    }
}
