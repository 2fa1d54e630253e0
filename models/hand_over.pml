/* One claim at the store that the threads of a process use in turns (docs/decisions/0003, src/core/claim_table.cpp), while another
   process wants the same name, calls give up, the lease ends, the client is destroyed, and the process forks. All decisions are made
   under the mutex of a shard; what follows from them is sent to the store after it is dropped, and arrives at any time.

     Shown     At most one thread of both processes believes that it holds. Every call is answered once, and when all that can happen
               has happened nobody waits, and the process has left nothing at the store.
     Mutants   CHILD_RELEASES  the destructor of a hold in the child of a fork releases it
               SAME_ID         those who are still in line go on with the id of the claim that was released
               LATE_YES        a grant whose lease ended on the way counts
               LEAVES_LINE     a destroyed client does not refuse the calls that wait in it
               LEAVES_CLAIM    nor releases the claim that it asks for
               PASSES_ON_LOST  a lease that is over is passed on as well
               Each must break a claim.
     Sizes     THREADS of the process; CALLS of each; LAPSES of its leases; RIVALS: how often the other process takes the name

   What stands for what:
     join         claim_table::join: the first call of a name asks the store, the others line up behind it
     receive      claim_table::answered, take: the first in line holds
     unlock       claim_table::release: pass_on, or end and succeed
     give_up      claim_table::leave, withdraw
     lapse, notice  the deadline (claimant::valid compares the clock), the watchdog that finds it (claim_table::look, apply)
     close        claim_table::close, from the destructor of mortise::client
     child        hold::~hold after a fork: hold_keeper::forked
     on_claim, on_release  any store: compare the id, remember the ids that are over

   models/check runs it. */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef CALLS
#define CALLS 1
#endif
#ifndef LAPSES
#define LAPSES 1
#endif
#ifndef RIVALS
#define RIVALS 1
#endif
#define TURNS 2
#define IDS (THREADS * CALLS + LAPSES + 1)

mtype = { none, asking, held };        /* the cohort */
mtype = { nothing, granted, refused }; /* what a call is answered */

/* The store: who has the claim. */
byte holder;
#define RIVAL 255
bit over[IDS + 1];   /* ids whose release came */
bit lapsed[IDS + 1]; /* its lease has ended, for its owner and then for the store */

/* On the way. */
bit claims[IDS + 1], replies[IDS + 1], releases[IDS + 1];

/* The cohort of the name in this process. */
mtype state = none;
byte id, last_id, turn;
byte inside;         /* the thread that holds, + 1 */
chan line = [THREADS] of { byte };
byte waiting;
bit closed;

mtype answer[THREADS] = nothing;
bit waits[THREADS];
byte believes[THREADS]; /* the id it holds with, as long as that is valid */
bit rival_believes;
byte copy;           /* a hold in the child of a fork */
byte next;

#define nobody_believes (!rival_believes && believes[0] == 0 && believes[1] == 0 && (THREADS < 3 || believes[THREADS - 1] == 0))

/* With the mutex held. */
inline ask_anew() {
#ifndef SAME_ID
    last_id = last_id + 1;
    assert(last_id <= IDS);
#endif
    id = (last_id == 0 -> 1 : last_id);
    last_id = id;
    turn = 0;
    state = asking;
    claims[id] = 1
}
inline release_it() { releases[id] = 1 }
inline succeed() {
    state = none;
    inside = 0;
    if
    :: waiting > 0 -> ask_anew()
    :: else -> id = 0
    fi
}
inline first_holds() {
    line ? next;
    waiting = waiting - 1;
    inside = next + 1;
    answer[next] = granted;
    assert(waits[next]);
    waits[next] = 0;
    if
    :: !lapsed[id] -> assert(nobody_believes); believes[next] = id
    :: else
#ifndef LATE_YES
        -> assert(false) /* a hold that was over when it was granted */
#else
        -> believes[next] = id; assert(holder == id)
#endif
    fi;
    next = 0
}

proctype thread(byte me) {
    byte calls;
    bit patient; /* it waits for ever */
    do
    :: calls < CALLS ->
        calls = calls + 1;
        if
        :: patient = 0
        :: patient = 1
        fi;
        atomic { /* join */
            if
            :: closed -> answer[me] = refused
            :: else ->
                waits[me] = 1;
                line ! me;
                waiting = waiting + 1;
                if
                :: state == none -> ask_anew()
                :: else
                fi
            fi
        };
        if
        :: answer[me] != nothing
        :: atomic { /* give_up */
            waits[me] && !patient ->
            line ?? eval(me);
            waiting = waiting - 1;
            waits[me] = 0;
            answer[me] = refused;
            if
            :: waiting == 0 && state == asking -> release_it(); state = none; id = 0
            :: else
            fi
        }
        fi;
        if
        :: d_step { answer[me] == granted -> answer[me] = nothing };
            /* In the critical section. */
            if
            :: d_step { copy == 0 && believes[me] != 0 -> copy = believes[me] } /* fork */
            :: true
            fi;
            atomic { /* unlock */
                believes[me] = 0;
                if
                :: state == held && inside == me + 1 ->
                    inside = 0;
                    if
#ifdef PASSES_ON_LOST
                    :: waiting > 0 && turn + 1 < TURNS -> turn = turn + 1; first_holds()
#else
                    :: waiting > 0 && turn + 1 < TURNS && !lapsed[id] -> turn = turn + 1; first_holds()
#endif
                    :: else -> release_it(); succeed()
                    fi
                :: else /* it was lost, and whoever found out has released it */
                fi
            }
        :: d_step { answer[me] == refused -> answer[me] = nothing }
        fi
    :: else -> break
    od
}

inline on_claim(n) {
    if
    :: over[n] || lapsed[n] -> claims[n] = 0 /* refused: it is over. Who still waits for it would ask anew */
    :: !over[n] && !lapsed[n] && (holder == 0 || holder == n) -> holder = n; claims[n] = 0; replies[n] = 1
    fi
}

/* receive */
inline receive(n) {
    replies[n] = 0;
    if
    :: state == asking && id == n ->
        if
#ifdef LATE_YES
        :: true -> state = held; first_holds()
#else
        :: lapsed[n] -> release_it(); succeed() /* never a late yes */
        :: else -> state = held; first_holds()
#endif
        fi
    :: else /* nobody waits for it; its release is on the way */
    fi
}

inline store_and_wire(n) {
    if
    :: atomic { claims[n] && (over[n] || lapsed[n] || holder == 0 || holder == n) -> on_claim(n) }
    :: atomic { replies[n] -> receive(n) }
    :: d_step { releases[n] -> releases[n] = 0; over[n] = 1; holder = (holder == n -> 0 : holder) }
    fi
}

proctype fate() {
    byte lapses;
    byte rivals;
    do
    :: store_and_wire(1)
    :: store_and_wire(2)
    :: store_and_wire(3)
    :: store_and_wire(4)
#if THREADS * CALLS + LAPSES > 3
    :: store_and_wire(5)
#endif
#if THREADS * CALLS + LAPSES > 4
    :: store_and_wire(6)
#endif
#if THREADS * CALLS + LAPSES > 5
    :: store_and_wire(7)
#endif
    :: atomic { /* lapse */
        lapses < LAPSES && holder != 0 && holder != RIVAL ->
        lapses = lapses + 1;
        lapsed[holder] = 1;
        next = 0;
        do
        :: next < THREADS -> believes[next] = (believes[next] == holder -> 0 : believes[next]); next = next + 1
        :: else -> break
        od;
        next = 0;
        holder = 0
    }
    :: atomic { /* notice: lost, and those in line go on without it */
        state == held && lapsed[id] -> release_it(); succeed()
    }
    :: d_step { rivals < RIVALS && holder == 0 -> rivals = rivals + 1; holder = RIVAL; assert(nobody_believes); rival_believes = 1 }
    :: d_step { holder == RIVAL -> rival_believes = 0; holder = 0 }
    :: atomic { /* close */
        !closed ->
        closed = 1;
        do
#ifndef LEAVES_LINE
        :: waiting > 0 ->
            line ? next;
            waiting = waiting - 1;
            waits[next] = 0;
            answer[next] = refused
#endif
        :: else -> break
        od;
        next = 0;
        if
        :: inside != 0 -> believes[inside - 1] = 0
        :: else
        fi;
        if
#ifdef LEAVES_CLAIM
        :: state == held -> release_it()
#else
        :: state != none -> release_it()
#endif
        :: else
        fi;
        state = none;
        inside = 0;
        id = 0
    }
    :: d_step { /* the child ends its copies of what the parent has */
        copy != 0 && copy != RIVAL ->
#ifdef CHILD_RELEASES
        releases[copy] = 1;
#endif
        copy = RIVAL
    }
    :: timeout -> break
    od;
    assert(waiting == 0 || state == none);
    assert(holder == 0);
    atomic {
        next = 0;
        do
        :: next < THREADS -> assert(!waits[next] && answer[next] == nothing); next = next + 1
        :: else -> break
        od
    }
}

init {
    byte i;
    atomic {
        for (i : 0 .. THREADS - 1) { run thread(i) }
        run fate();
        i = 0
    }
}
