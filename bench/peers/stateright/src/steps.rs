//! What requests, responses and the end of a phase do to a state.

use crate::codes::{client, group, place, request, response};
use crate::model::{Client, Member, State, NOBODY, PARTITIONS, PREFERENCES};

/// Protocols that a set of lists has in common, as a bit each: 2 for A, 4 for B.
pub fn supported(preferences: impl Iterator<Item = u8>) -> u8 {
    preferences
        .fold(0b110, |common, list| common & PREFERENCES[list as usize].iter().map(|p| 1 << p).sum::<u8>())
}

impl<const N: usize> State<N> {
    pub fn member(&self, id: u8) -> &Member {
        &self.members[id as usize / 2][id as usize % 2]
    }

    fn member_mut(&mut self, id: u8) -> &mut Member {
        &mut self.members[id as usize / 2][id as usize % 2]
    }

    /// The ids of those in the group, least first.
    pub fn present(&self) -> impl Iterator<Item = u8> + '_ {
        (0..2 * N as u8).filter(|id| self.member(*id).place != place::ABSENT)
    }

    pub fn current(&self, client: usize) -> u8 {
        2 * client as u8 + self.clients[client].slot
    }

    fn preferences(&self) -> impl Iterator<Item = u8> + '_ {
        self.present().map(|id| self.member(id).preference)
    }

    fn list_for(&self, id: u8) -> u8 {
        if id == self.leader {
            self.present().map(|id| 1 << id).sum()
        } else {
            0
        }
    }

    pub fn gone(&self, id: u8) -> bool {
        self.state == group::DEAD || self.member(id).place == place::ABSENT
    }

    /// A response, lost unless the client is still this member and in the state that waits for it.
    pub fn reply(&mut self, id: u8, waits: u8, kind: u8, generation: u8, data: u8) {
        let client = &mut self.clients[id as usize / 2];
        if client.slot == id % 2 && client.state == waits {
            client.response = kind;
            client.response_generation = generation;
            client.response_data = data;
        }
    }

    /// Begin a rebalance, unless one is prepared already.
    fn prepare(&mut self) {
        if self.state == group::PREPARING {
            return;
        }
        for id in 0..2 * N as u8 {
            self.member_mut(id).assignment = 0;
            if self.member(id).place == place::SYNCING {
                self.member_mut(id).place = place::IN;
                self.reply(id, client::AWAIT_SYNC, response::REBALANCE, 0, 0);
            }
        }
        self.state = group::PREPARING;
        self.protocol = 0;
    }

    pub fn remove(&mut self, id: u8, leader: u8) {
        *self.member_mut(id) = Member::default();
        self.leader = leader;
        self.prepare();
    }

    /// Each member votes for the first candidate of its list; B wins only with more votes than A.
    fn vote(&self) -> u8 {
        let candidates = supported(self.preferences());
        let mut lead = 0;
        for list in self.preferences() {
            let choice = PREFERENCES[list as usize].iter().find(|p| candidates >> **p & 1 == 1);
            lead += if choice == Some(&2) { 1 } else { -1 };
        }
        if lead > 0 {
            2
        } else {
            1
        }
    }

    pub fn complete_join(&mut self, leader: u8) {
        for id in 0..2 * N as u8 {
            match self.member(id).place {
                place::IN => *self.member_mut(id) = Member::default(),
                place::JOINING => self.member_mut(id).place = place::IN,
                _ => {}
            }
        }
        self.leader = leader;
        self.generation += 1;
        if self.present().next().is_none() {
            self.state = group::EMPTY;
            return;
        }
        self.state = group::COMPLETING;
        self.protocol = self.vote();
        for id in 0..2 * N as u8 {
            if self.member(id).place == place::IN {
                self.reply(id, client::AWAIT_JOIN, response::JOIN_OK, self.generation, self.list_for(id));
            }
        }
    }

    /// The leader's SyncGroup: deal the partitions, answer the parked.
    pub fn assign(&mut self, client: usize, order: [u8; PARTITIONS]) {
        self.clients[client].request = request::NONE;
        self.member_mut(self.current(client)).place = place::SYNCING;
        for (partition, owner) in order.iter().enumerate() {
            self.member_mut(*owner).assignment |= 1 << partition;
        }
        for id in 0..2 * N as u8 {
            if self.member(id).place == place::SYNCING {
                self.member_mut(id).place = place::IN;
                self.reply(id, client::AWAIT_SYNC, response::SYNC_OK, 0, self.member(id).assignment);
            }
        }
        self.state = group::STABLE;
    }

    pub fn handle(&mut self, client: usize) {
        let kind = self.clients[client].request;
        self.clients[client].request = request::NONE;
        let id = self.current(client);
        let waits = self.clients[client].state;
        let answer = match kind {
            request::JOIN_NEW => self.join_new(id, self.clients[client].preference),
            _ if self.gone(id) => Some((response::UNKNOWN, 0, 0)),
            request::JOIN_AGAIN => self.join_again(id),
            _ if self.clients[client].generation != self.generation => Some((response::ILLEGAL, 0, 0)),
            _ if self.state == group::PREPARING => Some((response::REBALANCE, 0, 0)),
            request::HEARTBEAT => Some((response::HEARTBEAT_OK, 0, 0)),
            _ if self.state == group::STABLE => Some((response::SYNC_OK, 0, self.member(id).assignment)),
            _ => {
                self.member_mut(id).place = place::SYNCING;
                None
            }
        };
        if let Some((kind, generation, data)) = answer {
            self.reply(id, waits, kind, generation, data);
        }
    }

    fn join_new(&mut self, id: u8, list: u8) -> Option<(u8, u8, u8)> {
        if self.state == group::DEAD {
            return Some((response::UNKNOWN, 0, 0));
        }
        if supported(self.preferences().chain([list])) == 0 {
            return Some((response::INCONSISTENT, 0, 0));
        }
        self.prepare();
        *self.member_mut(id) = Member { place: place::JOINING, preference: list, assignment: 0 };
        if self.leader == NOBODY {
            self.leader = id;
        }
        None
    }

    fn join_again(&mut self, id: u8) -> Option<(u8, u8, u8)> {
        if self.state != group::PREPARING && !(self.state == group::STABLE && self.leader == id) {
            return Some((response::JOIN_OK, self.generation, self.list_for(id)));
        }
        self.prepare();
        self.member_mut(id).place = place::JOINING;
        None
    }

    pub fn send(&mut self, client: usize, request: u8, state: u8) {
        let client = &mut self.clients[client];
        client.request = request;
        client.state = state;
        if request == request::JOIN_AGAIN || request == request::LEAVE {
            client.generation = 0;
            client.data = 0;
        }
    }

    pub fn receive(&mut self, client: usize) {
        let was = self.clients[client];
        let now = &mut self.clients[client];
        (now.response, now.response_generation, now.response_data) = (response::NONE, 0, 0);
        match was.response {
            response::JOIN_OK => {
                now.state = client::JOINED;
                now.generation = was.response_generation;
                now.data = was.response_data;
            }
            response::SYNC_OK => {
                now.state = client::STEADY;
                now.data = was.response_data;
            }
            response::HEARTBEAT_OK => now.state = client::STEADY,
            response::REBALANCE | response::ILLEGAL => {
                (now.state, now.generation, now.data) = (client::NEED_REJOIN, 0, 0);
            }
            _ => *now = Client { slot: was.slot, ..Client::default() },
        }
    }
}
