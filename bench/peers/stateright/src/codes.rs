//! The small integers of a state, by name.

/// A state of the group.
pub mod group {
    pub const EMPTY: u8 = 0;
    pub const PREPARING: u8 = 1;
    pub const COMPLETING: u8 = 2;
    pub const STABLE: u8 = 3;
    pub const DEAD: u8 = 4;
}

/// A state of a client.
pub mod client {
    pub const UNJOINED: u8 = 0;
    pub const AWAIT_JOIN: u8 = 1;
    pub const JOINED: u8 = 2;
    pub const AWAIT_SYNC: u8 = 3;
    pub const STEADY: u8 = 4;
    pub const AWAIT_HEARTBEAT: u8 = 5;
    pub const NEED_REJOIN: u8 = 6;
    pub const AWAIT_LEAVE: u8 = 7;
    pub const CRASHED: u8 = 8;
}

/// A request.
pub mod request {
    pub const NONE: u8 = 0;
    pub const JOIN_NEW: u8 = 1;
    pub const JOIN_AGAIN: u8 = 2;
    pub const SYNC: u8 = 3;
    pub const HEARTBEAT: u8 = 4;
    pub const LEAVE: u8 = 5;
}

/// A response.
pub mod response {
    pub const NONE: u8 = 0;
    pub const JOIN_OK: u8 = 1;
    pub const SYNC_OK: u8 = 2;
    pub const HEARTBEAT_OK: u8 = 3;
    pub const LEAVE_OK: u8 = 4;
    pub const REBALANCE: u8 = 5;
    pub const UNKNOWN: u8 = 6;
    pub const ILLEGAL: u8 = 7;
    pub const INCONSISTENT: u8 = 8;
}

/// What a member is to the group.
pub mod place {
    pub const ABSENT: u8 = 0;
    pub const IN: u8 = 1;
    pub const JOINING: u8 = 2;
    pub const SYNCING: u8 = 3;
}
