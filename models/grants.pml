/* Grants that a store pushes to the next in line, as Redis does (src/stores/redis/lua), while clients die, messages are late, lost,
   doubled and overtake each other, and leases end at any moment. One name, exclusive.

     Shown     At most one client believes that it holds. A claim is never granted after its release was answered. A name is never
               idle while somebody waits for it, and a living client leaves nothing behind: when all that can happen has happened,
               everybody was served.
     Mutants   NO_LOOK            who waits relies on the push, and never looks again
               FROM_RECEIPT       a lease counts from when the grant arrives
               FORGETS_ENDED      the store does not remember which claims are over
               PLAIN_DELETE       a release does not compare the id
               NEW_ID             a repeated claim has a new id, and the former is forgotten
               ONE_RELEASE        a release that is not answered is not repeated
               Each must break a claim.
     Sizes     CLIENTS, IDS (claims that a client may make: one that has no more stops); and how often things go wrong: LOSSES of
               messages, DOUBLES, LAPSES of leases whose owners live, DEATHS

   What stands for what:
     settle, grant_next   state.lua: every verb ends what has expired and grants to the next. A push reaches nobody, or is lost;
                          a waiter that was not heard of leaves the line, whether it is dead or not
     on_claim             claim.lua, fast_claim.lua; a claim that is over is refused: `remembered`
     on_release           release.lua, fast_release.lua
     ask, look            claim_table::request, look; request_pace.cpp. A look that would learn nothing is left out, so that who is
                          stuck is seen to be stuck
     take                 claim_table::take: never a late yes; answered, granted
     let_go               claim_table::release, withdraw; release_request.cpp repeats until it is answered
     lapse                the lease ends: first for its owner (lease::deadline), then for the store; what was sent before is late

   models/check runs it. */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef IDS
#define IDS 2
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef DOUBLES
#define DOUBLES 1
#endif
#ifndef LAPSES
#define LAPSES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define ALL (CLIENTS * IDS)
#define client_of(id) (((id) - 1) / IDS)

mtype = { nothing, granted, queued, cancelled };

/* The store. Ids are 1 to ALL. */
byte holder;
bit expired;             /* the lease of the holder; the next verb finds out */
chan line = [ALL] of { byte };
byte waiting;
bit in_line[ALL + 1], ended[ALL + 1];

/* On the way. */
byte claims[ALL + 1];
mtype replies[ALL + 1] = nothing;
bit pushes[ALL + 1], releases[ALL + 1];
bit late[ALL + 1];       /* its lease has ended: a grant that is still on the way does not count */

/* The clients. */
byte believes[CLIENTS];  /* the claim that it holds, as far as it knows */
bit dead[CLIENTS], waits[CLIENTS], serves[CLIENTS];
bit due[ALL + 1];        /* to be released, and not answered yet */
bit answered[ALL + 1];

byte losses = LOSSES, doubles = DOUBLES, lapses = LAPSES, deaths = DEATHS;
byte other;

inline grant(id) {
    assert(!answered[id]);
    holder = id
}

/* Within an atomic step. */
inline grant_next() {
    do
    :: holder == 0 && waiting > 0 ->
        line ? other;
        waiting = waiting - 1;
        in_line[other] = 0;
        if
        :: !dead[client_of(other)] -> grant(other); pushes[other] = 1
        :: !dead[client_of(other)] && losses > 0 -> losses = losses - 1; grant(other) /* the push is lost */
        :: !dead[client_of(other)] && losses > 0 -> losses = losses - 1 /* it reached nobody; or no heartbeat did */
        :: dead[client_of(other)] -> grant(other)
        :: dead[client_of(other)]
        fi
    :: else -> break
    od;
    other = 0
}

inline settle() {
    if
    :: expired -> ended[holder] = 1; holder = 0; expired = 0
    :: else
    fi;
    grant_next()
}

inline enter(id) {
    line ! id;
    waiting = waiting + 1;
    in_line[id] = 1;
    replies[id] = queued
}

inline on_claim(id) {
    settle();
    if
    :: holder == id -> replies[id] = granted
#ifndef FORGETS_ENDED
    :: holder != id && ended[id] -> replies[id] = cancelled
#endif
#ifdef FORGETS_ENDED
    :: holder != id && !in_line[id] && holder == 0 && waiting == 0 -> grant(id); replies[id] = granted
    :: holder != id && !in_line[id] && !(holder == 0 && waiting == 0) -> enter(id)
#else
    :: holder != id && !ended[id] && !in_line[id] && holder == 0 && waiting == 0 -> grant(id); replies[id] = granted
    :: holder != id && !ended[id] && !in_line[id] && !(holder == 0 && waiting == 0) -> enter(id)
#endif
    :: holder != id && in_line[id] -> replies[id] = queued
    fi
}

inline on_release(id) {
    settle();
    if
    :: holder == id -> holder = 0
    :: in_line[id] -> line ?? eval(id); in_line[id] = 0; waiting = waiting - 1
    :: holder != id && !in_line[id]
#ifdef PLAIN_DELETE
        -> holder = 0
#endif
    fi;
    ended[id] = 1;
    grant_next()
}

/* Something the store would tell it. */
#define news(id) (expired || holder == 0 || holder == id || !in_line[id])

proctype client(byte me) {
    byte id, used;
    bit heard;  /* the store has answered that it is queued */
    bit leaves; /* it will not wait for ever */
    byte i;

    do
    /* What a living client does. */
    :: atomic {
        !dead[me] && !waits[me] && believes[me] == 0 && used < IDS ->
        used = used + 1;
        id = me * IDS + used;
        claims[id] = claims[id] + 1;
        waits[me] = 1;
        heard = 0;
        if
        :: leaves = 0
        :: leaves = 1
        fi
    }
    :: atomic { /* take: from a reply or from a push */
        !dead[me] && waits[me] && (replies[id] == granted || pushes[id]) ->
        replies[id] = nothing;
        pushes[id] = 0;
        waits[me] = 0;
#ifdef FROM_RECEIPT
        if
        :: true ->
#else
        if
        :: late[id] -> due[id] = 1 /* as somebody else, if it may */
        :: else ->
#endif
            for (i : 0 .. CLIENTS - 1) { assert(believes[i] == 0) }
            i = 0;
            believes[me] = id
        fi
    }
    :: d_step { !dead[me] && waits[me] && replies[id] == queued -> replies[id] = nothing; heard = 1 }
    :: d_step { /* its grant ended before it heard of it: ask anew, as somebody else */
        !dead[me] && waits[me] && replies[id] == cancelled -> replies[id] = nothing; waits[me] = 0; due[id] = 1
    }
    :: d_step { /* ask: no answer came */
        !dead[me] && waits[me] && claims[id] == 0 && replies[id] == nothing && !pushes[id] && !heard ->
#ifdef NEW_ID
        if
        :: used < IDS -> used = used + 1; id = me * IDS + used
        :: else
        fi;
#endif
        claims[id] = claims[id] + 1
    }
#ifndef NO_LOOK
    :: d_step { /* look */
        !dead[me] && waits[me] && claims[id] == 0 && replies[id] == nothing && !pushes[id] && heard && news(id) ->
        claims[id] = claims[id] + 1
    }
#endif
    :: d_step { /* asks once more than it need */
        !dead[me] && waits[me] && doubles > 0 && claims[id] < 2 -> doubles = doubles - 1; claims[id] = claims[id] + 1
    }
    :: d_step { !dead[me] && waits[me] && leaves -> waits[me] = 0; due[id] = 1 }
    :: d_step { !dead[me] && believes[me] != 0 -> believes[me] = 0; due[id] = 1 }
    :: d_step { deaths > 0 && !dead[me] -> deaths = deaths - 1; dead[me] = 1; believes[me] = 0; waits[me] = 0 }

    /* let_go, and what arrives at the store: of any claim of this client, and whether it lives or not. */
#define of_claim(n) \
    :: d_step { !dead[me] && due[n] && !releases[n] -> releases[n] = 1 LET_GO_ONCE(n) } \
    :: atomic { claims[n] > 0 -> on_claim(n); claims[n] = claims[n] - 1 } \
    :: d_step { claims[n] > 0 && losses > 0 -> losses = losses - 1; claims[n] = claims[n] - 1 } \
    :: atomic { releases[n] -> releases[n] = 0; on_release(n); answered[n] = 1; due[n] = 0 } \
    :: atomic { releases[n] && losses > 0 -> losses = losses - 1; on_release(n); releases[n] = 0 } \
    :: d_step { releases[n] && losses > 0 -> losses = losses - 1; releases[n] = 0 } \
    :: atomic { releases[n] && doubles > 0 -> doubles = doubles - 1; on_release(n); answered[n] = 1; due[n] = 0 } \
    :: d_step { replies[n] != nothing && losses > 0 -> losses = losses - 1; replies[n] = nothing } \
    :: d_step { pushes[n] && losses > 0 -> losses = losses - 1; pushes[n] = 0 } \
    :: d_step { (replies[n] != nothing || pushes[n]) && (dead[me] || !waits[me] || n != id) -> replies[n] = nothing; pushes[n] = 0 }
#ifdef ONE_RELEASE
#define LET_GO_ONCE(n) ; due[n] = 0
#else
#define LET_GO_ONCE(n)
#endif
    of_claim(me * IDS + 1)
#if IDS > 1
    of_claim(me * IDS + 2)
#endif
#if IDS > 2
    of_claim(me * IDS + 3)
#endif
    od
}

proctype fate() {
    do
    :: atomic { /* lapse */
        holder != 0 && !expired && (dead[client_of(holder)] || lapses > 0) ->
        if
        :: !dead[client_of(holder)] -> lapses = lapses - 1
        :: else
        fi;
        expired = 1;
        late[holder] = 1;
        if
        :: believes[client_of(holder)] == holder -> believes[client_of(holder)] = 0; due[holder] = 1
        :: else
        fi
    }
    :: timeout -> break
    od;
    /* All has happened that can. */
    atomic {
        other = 0;
        do
        :: other < CLIENTS -> assert(dead[other] || !waits[other]); other = other + 1
        :: else -> break
        od;
        assert(holder == 0 || expired || dead[client_of(holder)]);
        other = 0
    }
}

init {
    byte i;
    atomic {
        for (i : 0 .. CLIENTS - 1) { run client(i) }
        run fate();
        i = 0
    }
}
