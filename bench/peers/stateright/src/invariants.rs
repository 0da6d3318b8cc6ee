//! The five invariants. All of them hold in every instance.

use crate::codes::{client, group, place, response};
use crate::model::{Client, State, NOBODY};
use crate::steps::supported;

/// The generation of the member list that a client holds or is sent as leader, 0 if none.
fn held_list(one: &Client) -> u8 {
    if one.response == response::JOIN_OK && one.response_data != 0 {
        return one.response_generation;
    }
    let holds = matches!(one.state, client::JOINED | client::AWAIT_SYNC) && one.data != 0;
    if holds {
        one.generation
    } else {
        0
    }
}

fn needs_leader<const N: usize>(state: &State<N>) -> bool {
    matches!(state.state, group::COMPLETING | group::STABLE)
}

fn pairs<const N: usize>(state: &State<N>) -> impl Iterator<Item = (&Client, &Client)> {
    let clients = &state.clients;
    (0..N).flat_map(move |i| (i + 1..N).map(move |j| (&clients[i], &clients[j])))
}

/// A leader is set where one is needed and is a member; no two hold a list of the same generation.
pub fn leader<const N: usize>(state: &State<N>) -> bool {
    let led = match state.leader {
        NOBODY => !needs_leader(state),
        id => state.member(id).place != place::ABSENT,
    };
    led && pairs(state).all(|(a, b)| held_list(a) == 0 || held_list(a) != held_list(b))
}

/// Nobody carries a generation above the coordinator's.
pub fn generation<const N: usize>(state: &State<N>) -> bool {
    state.clients.iter().all(|one| one.generation.max(one.response_generation) <= state.generation)
}

/// In Stable each partition has one owner, and only members own.
pub fn dealt_once<const N: usize>(state: &State<N>) -> bool {
    let (mut once, mut twice) = (0, 0);
    for member in state.members.as_flattened() {
        if member.assignment != 0 && member.place == place::ABSENT {
            return false;
        }
        twice |= once & member.assignment;
        once |= member.assignment;
    }
    state.state != group::STABLE || (once == 0b11 && twice == 0)
}

/// Clients of one generation own different partitions.
pub fn disjoint<const N: usize>(state: &State<N>) -> bool {
    let owns = |one: &Client| matches!(one.state, client::STEADY | client::AWAIT_HEARTBEAT);
    pairs(state).all(|(a, b)| !owns(a) || !owns(b) || a.generation != b.generation || a.data & b.data == 0)
}

/// The chosen protocol is supported by every member.
pub fn protocol<const N: usize>(state: &State<N>) -> bool {
    !needs_leader(state)
        || supported(state.present().map(|id| state.member(id).preference)) >> state.protocol & 1 == 1
}
