//! KGROUP: the system of `bench/kgroup.py`, as a model for Stateright.
//!
//! One coordinator, N clients, two partitions, two protocols. Client c owns the member ids 2c and 2c + 1.
//! Fields that mean nothing are 0.

use crate::codes::{client, group, place, request, response};
use crate::invariants;
use stateright::{Model, Property};
use std::hash::{Hash, Hasher};

pub const PARTITIONS: usize = 2;
/// No leader.
pub const NOBODY: u8 = u8::MAX;
/// Protocol lists by number: protocol A is 1, B is 2; list 0 is none.
pub const PREFERENCES: [&[u8]; 5] = [&[], &[1, 2], &[2, 1], &[1], &[2]];

/// The parameters but N; see `kgroup` in `bench/kgroup.py`.
#[derive(Clone, Debug)]
pub struct Kgroup<const N: usize> {
    pub generations: u8,
    pub lists: u8,
    pub crashes: u8,
    pub expiry: bool,
    pub free: bool,
}

/// A member id as the group sees it; assignment: partitions as bits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Member {
    pub place: u8,
    pub preference: u8,
    pub assignment: u8,
}

/// A client with its two channels; data: a member list or an assignment, as bits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Client {
    pub state: u8,
    pub slot: u8,
    pub preference: u8,
    pub generation: u8,
    pub data: u8,
    pub request: u8,
    pub response: u8,
    pub response_generation: u8,
    pub response_data: u8,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct State<const N: usize> {
    pub state: u8,
    pub generation: u8,
    pub leader: u8,
    pub protocol: u8,
    pub crashes: u8,
    /// By client, then by slot.
    pub members: [[Member; 2]; N],
    pub clients: [Client; N],
}

/// What `derive` would hash, in fewer and larger pieces, which makes a search clearly faster.
impl<const N: usize> Hash for State<N> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write(&[self.state, self.generation, self.leader, self.protocol, self.crashes]);
        for ([even, odd], one) in self.members.iter().zip(&self.clients) {
            hasher.write(&[
                even.place,
                even.preference,
                even.assignment,
                odd.place,
                odd.preference,
                odd.assignment,
                one.state,
                one.slot,
                one.preference,
                one.generation,
                one.data,
                one.request,
                one.response,
                one.response_generation,
                one.response_data,
            ]);
        }
    }
}

/// A transition; `leader` and `order` are choices: who leads if the leader goes, to whom partitions go.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    SendJoinNew { client: usize, list: u8 },
    SendJoinAgain { client: usize },
    SendSync { client: usize },
    SendHeartbeat { client: usize },
    SendLeave { client: usize },
    Receive { client: usize },
    Crash { client: usize },
    Restart { client: usize },
    Handle { client: usize },
    HandleLeave { client: usize, leader: u8 },
    Assign { client: usize, order: [u8; PARTITIONS] },
    SessionExpire { member: u8, leader: u8 },
    CompleteJoin { leader: u8 },
    DeleteGroup,
}

impl<const N: usize> Kgroup<N> {
    /// One action for each leader that there may be once some members are gone.
    fn each_leader(&self, state: &State<N>, gone: impl Fn(u8) -> bool, mut act: impl FnMut(u8)) {
        if state.leader == NOBODY || !gone(state.leader) {
            return act(state.leader);
        }
        let mut left = state.present().filter(|id| !gone(*id)).peekable();
        if left.peek().is_none() {
            return act(NOBODY);
        }
        left.take(if self.free { usize::MAX } else { 1 }).for_each(act);
    }

    /// One action for each way to deal the partitions to the members of a list.
    fn each_order(&self, list: u8, mut act: impl FnMut([u8; PARTITIONS])) {
        let listed = || (0..2 * N as u8).filter(|id| list >> id & 1 == 1);
        let alone = listed().count() == 1;
        for first in listed() {
            for second in listed().filter(|id| alone || *id != first) {
                act([first, second]);
                if !self.free {
                    return;
                }
            }
        }
    }

    fn of_client(&self, state: &State<N>, client: usize, actions: &mut Vec<Action>) {
        let now = &state.clients[client];
        match now.state {
            client::UNJOINED => {
                actions.extend((1..=self.lists).map(|list| Action::SendJoinNew { client, list }));
            }
            client::JOINED => actions.push(Action::SendSync { client }),
            client::NEED_REJOIN => actions.push(Action::SendJoinAgain { client }),
            client::STEADY => actions.extend([
                Action::SendJoinAgain { client },
                Action::SendHeartbeat { client },
                Action::SendLeave { client },
            ]),
            client::CRASHED if state.members[client][1 - now.slot as usize].place == place::ABSENT => {
                actions.push(Action::Restart { client });
            }
            _ => {}
        }
        if now.response != response::NONE {
            actions.push(Action::Receive { client });
        }
        if now.state != client::UNJOINED && now.state != client::CRASHED && state.crashes < self.crashes {
            actions.push(Action::Crash { client });
        }
        self.of_request(state, client, actions);
    }

    fn of_request(&self, state: &State<N>, client: usize, actions: &mut Vec<Action>) {
        let (now, id) = (&state.clients[client], state.current(client));
        let completing = state.state == group::COMPLETING && now.generation == state.generation;
        match now.request {
            request::NONE => {}
            request::LEAVE if !state.gone(id) => {
                self.each_leader(
                    state,
                    |one| one == id,
                    |leader| {
                        actions.push(Action::HandleLeave { client, leader });
                    },
                );
            }
            request::SYNC if !state.gone(id) && completing && state.leader == id => {
                self.each_order(now.data, |order| actions.push(Action::Assign { client, order }));
            }
            _ => actions.push(Action::Handle { client }),
        }
    }

    fn of_coordinator(&self, state: &State<N>, actions: &mut Vec<Action>) {
        for member in state.present().filter(|id| state.member(*id).place == place::IN) {
            let client = member as usize / 2;
            let alive = state.clients[client].state != client::CRASHED && state.current(client) == member;
            if self.expiry || !alive {
                self.each_leader(
                    state,
                    |one| one == member,
                    |leader| {
                        actions.push(Action::SessionExpire { member, leader });
                    },
                );
            }
        }
        if state.state == group::PREPARING && state.generation < self.generations {
            let late = |id| state.member(id).place == place::IN;
            self.each_leader(state, late, |leader| actions.push(Action::CompleteJoin { leader }));
        }
        if state.state == group::EMPTY {
            actions.push(Action::DeleteGroup);
        }
    }
}

impl<const N: usize> Model for Kgroup<N> {
    type State = State<N>;
    type Action = Action;

    fn init_states(&self) -> Vec<State<N>> {
        vec![State {
            state: group::EMPTY,
            generation: 0,
            leader: NOBODY,
            protocol: 0,
            crashes: 0,
            members: [[Member::default(); 2]; N],
            clients: [Client::default(); N],
        }]
    }

    fn actions(&self, state: &State<N>, actions: &mut Vec<Action>) {
        (0..N).for_each(|client| self.of_client(state, client, actions));
        self.of_coordinator(state, actions);
    }

    fn next_state(&self, last: &State<N>, action: Action) -> Option<State<N>> {
        let mut state = last.clone();
        match action {
            Action::SendJoinNew { client, list } => {
                state.clients[client].preference = list;
                state.send(client, request::JOIN_NEW, client::AWAIT_JOIN);
            }
            Action::SendJoinAgain { client } => {
                state.send(client, request::JOIN_AGAIN, client::AWAIT_JOIN);
            }
            Action::SendSync { client } => state.send(client, request::SYNC, client::AWAIT_SYNC),
            Action::SendHeartbeat { client } => {
                state.send(client, request::HEARTBEAT, client::AWAIT_HEARTBEAT);
            }
            Action::SendLeave { client } => state.send(client, request::LEAVE, client::AWAIT_LEAVE),
            Action::Receive { client } => state.receive(client),
            Action::Crash { client } => {
                state.crashes += 1;
                let slot = state.clients[client].slot;
                state.clients[client] = Client { state: client::CRASHED, slot, ..Client::default() };
            }
            Action::Restart { client } => {
                let slot = 1 - state.clients[client].slot;
                state.clients[client] = Client { slot, ..Client::default() };
            }
            Action::Handle { client } => state.handle(client),
            Action::HandleLeave { client, leader } => {
                let id = state.current(client);
                state.clients[client].request = request::NONE;
                state.reply(id, client::AWAIT_LEAVE, response::LEAVE_OK, 0, 0);
                state.remove(id, leader);
            }
            Action::Assign { client, order } => state.assign(client, order),
            Action::SessionExpire { member, leader } => state.remove(member, leader),
            Action::CompleteJoin { leader } => state.complete_join(leader),
            Action::DeleteGroup => state.state = group::DEAD,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("leader", |_, state| invariants::leader(state)),
            Property::always("generation", |_, state| invariants::generation(state)),
            Property::always("dealt once", |_, state| invariants::dealt_once(state)),
            Property::always("disjoint", |_, state| invariants::disjoint(state)),
            Property::always("protocol", |_, state| invariants::protocol(state)),
        ]
    }
}
