/* KGROUP: the system of bench/kgroup.py in Promela.
 *
 * Depth-first:
 *     spin -a -DN=3 -DG=2 -DL=2 -DC=0 -DE=1 kgroup.pml
 *     gcc -O2 -DSAFETY -DNOREDUCE -DNOFAIR -DVECTORSZ=128 -o pan pan.c && ./pan -w22 -m100000
 * Breadth-first, two workers: -DBREADTH for spin, -DBFS_PAR for gcc, ./pan -w22 -u2
 *
 * One process whose every option is one indivisible transition, so that Spin's states and transitions are
 * the model's. Client c owns the member ids 2c and 2c + 1. Fields that mean nothing are 0; the leader is an
 * id + 1, 0 for nobody; member lists and assignments are bits. ND is 0: there are no choices
 * inside a transition.
 */
#if N < 2 || N > 4 || G < 1 || G > 3 || L < 1 || L > 4 || C > 3 || E > 1
#error give -DN=2..4 -DG=1..3 -DL=1..4 -DC=0..3 -DE=0..1
#endif

#if N == 2
#define IDS 4
#elif N == 3
#define IDS 6
#else
#define IDS 8
#endif


/* States of the group. */
#define EMPTY      0
#define PREPARING  1
#define COMPLETING 2
#define STABLE     3
#define DEAD       4
/* States of a client. */
#define UNJOINED        0
#define AWAIT_JOIN      1
#define JOINED          2
#define AWAIT_SYNC      3
#define STEADY          4
#define AWAIT_HEARTBEAT 5
#define NEED_REJOIN     6
#define AWAIT_LEAVE     7
#define CRASHED         8
/* Requests. */
#define JOIN_NEW   1
#define JOIN_AGAIN 2
#define SYNC       3
#define HEARTBEAT  4
#define LEAVE      5
/* Responses. */
#define JOIN_OK      1
#define SYNC_OK      2
#define HEARTBEAT_OK 3
#define LEAVE_OK     4
#define REBALANCE    5
#define UNKNOWN      6
#define ILLEGAL      7
#define INCONSISTENT 8
/* What a member is to the group. */
#define ABSENT  0
#define IN      1
#define JOINING 2
#define SYNCING 3

typedef Client {
    unsigned state : 4;
    unsigned slot : 1;
    unsigned list : 3;
    unsigned generation : 2;
    unsigned data : IDS;
    unsigned request : 3;
    unsigned response : 4;
    unsigned response_generation : 2;
    unsigned response_data : IDS
};

unsigned group : 3;
unsigned generation : 2;
unsigned leader : 4;
unsigned protocol : 2;
unsigned crashes : 2;
byte place[IDS];
byte lists[IDS];
byte assigned[IDS];
Client client[N];

/* Scratch of one transition. Breadth-first search takes nothing hidden: 0 in between. */
#ifdef BREADTH
#define SCRATCH unsigned
#else
#define SCRATCH hidden unsigned
#endif
SCRATCH i : 4;
SCRATCH m : 3;
SCRATCH bits : IDS;
SCRATCH first : 3;
SCRATCH second : 3;
SCRATCH votes_a : 4;
SCRATCH votes_b : 4;

inline clear() {
#ifdef BREADTH
    i = 0;
    m = 0;
    bits = 0;
    first = 0;
    second = 0;
    votes_a = 0;
    votes_b = 0
#else
    skip
#endif
}

#define GONE(id) (group == DEAD || place[id] == ABSENT)

inline reply(id, waits, kind, its_generation, its_data) {
    if
    :: client[(id) / 2].slot == (id) % 2 && client[(id) / 2].state == waits ->
        client[(id) / 2].response = kind;
        client[(id) / 2].response_generation = its_generation;
        client[(id) / 2].response_data = its_data
    :: else
    fi
}

/* bits: the members' ids. */
inline list_members() {
    bits = 0;
    i = 0;
    do
    :: i < IDS ->
        if
        :: place[i] != ABSENT -> bits = bits | (1 << i)
        :: else
        fi;
        i++
    :: else -> break
    od
}

/* A rebalance begins, unless one is prepared already. */
inline prepare() {
    if
    :: group == PREPARING
    :: else ->
        i = 0;
        do
        :: i < IDS ->
            assigned[i] = 0;
            if
            :: place[i] == SYNCING -> place[i] = IN; reply(i, AWAIT_SYNC, REBALANCE, 0, 0)
            :: else
            fi;
            i++
        :: else -> break
        od;
        group = PREPARING;
        protocol = 0
    fi
}

/* A leader that has gone is replaced by the least id. */
inline succeed() {
    if
    :: leader != 0 && place[leader - 1] == ABSENT ->
        list_members();
        leader = 0;
        if
        :: bits == 0
        :: else ->
            do
            :: (bits >> leader) & 1 -> break
            :: else -> leader++
            od;
            leader++
        fi
    :: else
    fi
}

inline forget(id) {
    place[id] = ABSENT;
    lists[id] = 0;
    assigned[id] = 0
}

inline remove(id) {
    forget(id);
    succeed();
    prepare()
}

/* votes_a and votes_b: 1 where all lists have the protocol, the list given as well. */
inline candidates(given) {
    votes_a = (given != 4);
    votes_b = (given != 3);
    i = 0;
    do
    :: i < IDS ->
        if
        :: lists[i] == 4 -> votes_a = 0
        :: lists[i] == 3 -> votes_b = 0
        :: else
        fi;
        i++
    :: else -> break
    od
}

/* Each member votes for the first candidate of its list; B wins only with more votes than A. */
inline vote() {
    candidates(0);
    if
    :: votes_a && votes_b ->
        votes_a = 0;
        votes_b = 0;
        i = 0;
        do
        :: i < IDS ->
            if
            :: lists[i] == 1 -> votes_a++
            :: lists[i] == 2 -> votes_b++
            :: else
            fi;
            i++
        :: else -> break
        od
    :: else
    fi;
    protocol = (votes_b > votes_a -> 2 : 1)
}

inline complete_join() {
    i = 0;
    do
    :: i < IDS ->
        if
        :: place[i] == IN -> forget(i)
        :: place[i] == JOINING -> place[i] = IN
        :: else
        fi;
        i++
    :: else -> break
    od;
    succeed();
    generation++;
    if
    :: leader == 0 -> group = EMPTY
    :: else ->
        group = COMPLETING;
        vote();
        list_members();
        i = 0;
        do
        :: i < IDS ->
            if
            :: place[i] == IN -> reply(i, AWAIT_JOIN, JOIN_OK, generation, (leader == i + 1) * bits)
            :: else
            fi;
            i++
        :: else -> break
        od
    fi
}

/* first and second: to whom the two partitions go. */
inline deal(list) {
    bits = list;
    first = 0;
    do
    :: (bits >> first) & 1 -> break
    :: else -> first++
    od;
    bits = bits & ~(1 << first);
    second = first;
    if
    :: bits == 0
    :: else ->
        do
        :: (bits >> second) & 1 -> break
        :: else -> second++
        od
    fi
}

/* The leader's SyncGroup is there: the partitions are dealt, the parked answered. */
inline assign(list) {
    deal(list);
    assigned[first] = 1;
    assigned[second] = assigned[second] | 2;
    i = 0;
    do
    :: i < IDS ->
        if
        :: place[i] == SYNCING -> place[i] = IN; reply(i, AWAIT_SYNC, SYNC_OK, 0, assigned[i])
        :: else
        fi;
        i++
    :: else -> break
    od;
    group = STABLE
}

inline send(c, kind, waits) {
    client[c].request = kind;
    client[c].state = waits
}

inline drop(c) {
    client[c].generation = 0;
    client[c].data = 0
}

inline arrives(c) {
    client[c].request = 0;
    m = 2 * c + client[c].slot
}

inline handle_join_new(c) {
    arrives(c);
    candidates(client[c].list);
    if
    :: group == DEAD -> reply(m, AWAIT_JOIN, UNKNOWN, 0, 0)
    :: group != DEAD && !votes_a && !votes_b -> reply(m, AWAIT_JOIN, INCONSISTENT, 0, 0)
    :: else ->
        prepare();
        place[m] = JOINING;
        lists[m] = client[c].list;
        if
        :: leader == 0 -> leader = m + 1
        :: else
        fi
    fi
}

inline handle_join_again(c) {
    arrives(c);
    if
    :: GONE(m) -> reply(m, AWAIT_JOIN, UNKNOWN, 0, 0)
    :: !GONE(m) && (group == PREPARING || (group == STABLE && leader == m + 1)) ->
        prepare();
        place[m] = JOINING
    :: else ->
        list_members();
        reply(m, AWAIT_JOIN, JOIN_OK, generation, (leader == m + 1) * bits)
    fi
}

inline handle_sync(c) {
    arrives(c);
    if
    :: GONE(m) -> reply(m, AWAIT_SYNC, UNKNOWN, 0, 0)
    :: !GONE(m) && client[c].generation != generation -> reply(m, AWAIT_SYNC, ILLEGAL, 0, 0)
    :: !GONE(m) && client[c].generation == generation ->
        if
        :: group == PREPARING -> reply(m, AWAIT_SYNC, REBALANCE, 0, 0)
        :: group == STABLE -> reply(m, AWAIT_SYNC, SYNC_OK, 0, assigned[m])
        :: else ->
            place[m] = SYNCING;
            if
            :: leader == m + 1 -> assign(client[c].data)
            :: else
            fi
        fi
    fi
}

inline handle_heartbeat(c) {
    arrives(c);
    if
    :: GONE(m) -> reply(m, AWAIT_HEARTBEAT, UNKNOWN, 0, 0)
    :: !GONE(m) && client[c].generation != generation -> reply(m, AWAIT_HEARTBEAT, ILLEGAL, 0, 0)
    :: !GONE(m) && client[c].generation == generation ->
        if
        :: group == PREPARING -> reply(m, AWAIT_HEARTBEAT, REBALANCE, 0, 0)
        :: else -> reply(m, AWAIT_HEARTBEAT, HEARTBEAT_OK, 0, 0)
        fi
    fi
}

inline handle_leave(c) {
    arrives(c);
    if
    :: GONE(m) -> reply(m, AWAIT_LEAVE, UNKNOWN, 0, 0)
    :: else -> reply(m, AWAIT_LEAVE, LEAVE_OK, 0, 0); remove(m)
    fi
}

inline receive(c) {
    if
    :: client[c].response == JOIN_OK ->
        client[c].state = JOINED;
        client[c].generation = client[c].response_generation;
        client[c].data = client[c].response_data
    :: client[c].response == SYNC_OK ->
        client[c].state = STEADY;
        client[c].data = client[c].response_data
    :: client[c].response == HEARTBEAT_OK -> client[c].state = STEADY
    :: client[c].response == REBALANCE || client[c].response == ILLEGAL ->
        client[c].state = NEED_REJOIN;
        drop(c)
    :: else -> client[c].state = UNJOINED; client[c].list = 0; drop(c)
    fi;
    no_response(c)
}

inline no_response(c) {
    client[c].response = 0;
    client[c].response_generation = 0;
    client[c].response_data = 0
}

inline crash(c) {
    crashes++;
    client[c].state = CRASHED;
    client[c].list = 0;
    client[c].request = 0;
    drop(c);
    no_response(c)
}

#define CLIENT(c) \
    :: d_step { client[c].state == UNJOINED -> client[c].list = 1; send(c, JOIN_NEW, AWAIT_JOIN) } \
    :: d_step { L > 1 && client[c].state == UNJOINED -> client[c].list = 2; send(c, JOIN_NEW, AWAIT_JOIN) } \
    :: d_step { L > 2 && client[c].state == UNJOINED -> client[c].list = 3; send(c, JOIN_NEW, AWAIT_JOIN) } \
    :: d_step { L > 3 && client[c].state == UNJOINED -> client[c].list = 4; send(c, JOIN_NEW, AWAIT_JOIN) } \
    :: d_step { client[c].state == STEADY || client[c].state == NEED_REJOIN -> \
                send(c, JOIN_AGAIN, AWAIT_JOIN); drop(c) } \
    :: d_step { client[c].state == JOINED -> send(c, SYNC, AWAIT_SYNC) } \
    :: d_step { client[c].state == STEADY -> send(c, HEARTBEAT, AWAIT_HEARTBEAT) } \
    :: d_step { client[c].state == STEADY -> send(c, LEAVE, AWAIT_LEAVE); drop(c) } \
    :: d_step { client[c].response != 0 -> receive(c) } \
    :: d_step { crashes < C && client[c].state != UNJOINED && client[c].state != CRASHED -> crash(c) } \
    :: d_step { client[c].state == CRASHED && place[2 * c + 1 - client[c].slot] == ABSENT -> \
                client[c].slot = 1 - client[c].slot; client[c].state = UNJOINED } \
    :: d_step { client[c].request == JOIN_NEW -> handle_join_new(c); clear() } \
    :: d_step { client[c].request == JOIN_AGAIN -> handle_join_again(c); clear() } \
    :: d_step { client[c].request == SYNC -> handle_sync(c); clear() } \
    :: d_step { client[c].request == HEARTBEAT -> handle_heartbeat(c); clear() } \
    :: d_step { client[c].request == LEAVE -> handle_leave(c); clear() } \
    EXPIRY(c, 0) EXPIRY(c, 1)

#define EXPIRY(c, which) \
    :: d_step { place[2 * c + which] == IN \
                && (E || client[c].state == CRASHED || client[c].slot != which) -> \
                remove(2 * c + which); clear() }

/* The invariants, as expressions. */
#define NEEDS_LEADER (group == COMPLETING || group == STABLE)
#define HELD(c) ((client[c].response == JOIN_OK && client[c].response_data) \
    -> client[c].response_generation \
    : (((client[c].state == JOINED || client[c].state == AWAIT_SYNC) && client[c].data) \
        -> client[c].generation : 0))
#define OWNS(c) (client[c].state == STEADY || client[c].state == AWAIT_HEARTBEAT)
#define ONE_LIST(a, b) (!HELD(a) || HELD(a) != HELD(b))
#define DISJOINT(a, b) (!OWNS(a) || !OWNS(b) || client[a].generation != client[b].generation \
    || !(client[a].data & client[b].data))
#define NOT_AHEAD(c) (client[c].generation <= generation && client[c].response_generation <= generation)
#define MEMBER_OWNS(id) (place[id] != ABSENT || !assigned[id])
#define SUPPORTS(id) (place[id] == ABSENT || (protocol == 1 && lists[id] != 4) \
    || (protocol == 2 && lists[id] != 3))
#define HAS_0(id) (assigned[id] & 1)
#define HAS_1(id) (assigned[id] >> 1)

#if N == 2
#define CLIENTS(of) (of(0) && of(1))
#define PAIRS(of) (of(0, 1))
#define MEMBERS(of) (of(0) && of(1) && of(2) && of(3))
#define SUM(of) (of(0) + of(1) + of(2) + of(3))
#elif N == 3
#define CLIENTS(of) (of(0) && of(1) && of(2))
#define PAIRS(of) (of(0, 1) && of(0, 2) && of(1, 2))
#define MEMBERS(of) (of(0) && of(1) && of(2) && of(3) && of(4) && of(5))
#define SUM(of) (of(0) + of(1) + of(2) + of(3) + of(4) + of(5))
#else
#define CLIENTS(of) (of(0) && of(1) && of(2) && of(3))
#define PAIRS(of) (of(0, 1) && of(0, 2) && of(0, 3) && of(1, 2) && of(1, 3) && of(2, 3))
#define MEMBERS(of) (of(0) && of(1) && of(2) && of(3) && of(4) && of(5) && of(6) && of(7))
#define SUM(of) (of(0) + of(1) + of(2) + of(3) + of(4) + of(5) + of(6) + of(7))
#endif

#define LEADER_HOLDS ((leader == 0 -> !NEEDS_LEADER : place[leader - 1] != ABSENT) && PAIRS(ONE_LIST))
#define DEALT_ONCE (MEMBERS(MEMBER_OWNS) && (group != STABLE || (SUM(HAS_0) == 1 && SUM(HAS_1) == 1)))
#define ELECTED (!NEEDS_LEADER || MEMBERS(SUPPORTS))

active proctype kgroup() {
end:
    do
    CLIENT(0)
    CLIENT(1)
#if N > 2
    CLIENT(2)
#endif
#if N > 3
    CLIENT(3)
#endif
    :: d_step { group == PREPARING && generation < G -> complete_join(); clear() }
    :: d_step { group == EMPTY -> group = DEAD }
    /* Never enabled where the invariants hold: each state is judged once, and no transition added. */
    :: !LEADER_HOLDS -> assert(false)
    :: !CLIENTS(NOT_AHEAD) -> assert(false)
    :: !DEALT_ONCE -> assert(false)
    :: !PAIRS(DISJOINT) -> assert(false)
    :: !ELECTED -> assert(false)
    od
}
