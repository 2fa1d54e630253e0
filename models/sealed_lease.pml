/* A lease and a resource that is sealed (include/mortise/fenced.hpp, docs/fencing.md). Leases end at any moment, a thread may pause
   between any two steps or for ever, a write may arrive late or never, and the store may start again without its data.

     Shown     A write that is accepted replaces just the value that its writer has read: no update is lost, whoever was late. And
               writes are accepted in the order of their tokens.
     Mutants   WRITES_ONLY       only writes carry a token, and nobody seals: Kleppmann's advice as it is usually taken
               NO_FENCE          no token at all
               TURN_KEEPS_TOKEN  a local hand-over does not raise the token
               COUNTS_AGAIN      a store that lost its data counts from one again
               Each must break a claim.
     Sizes     PROCESSES with THREADS each, that share a grant in turns; UPDATES of each thread; LOSSES of the store's data

   What stands for what:
     grant(), end()    claim_table::join, answered; claim.lua, and every other store: a counter that rises over all grants
     hand_over()       claim_table::release, may_pass_on; TURNS is client_options::hand_over_turns
     token()           claimant::token: the counter, and below it the turn
     seal, read, write fenced::register_of, and the statements for SQL and Redis of docs/fencing.md
     deliver()         the network between a thread and the resource
     fate()            leases, and the store's machine. A new counter is larger than all before: the clock in microseconds.

   models/check runs it. */

#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef UPDATES
#define UPDATES 1
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef THREADS
#define THREADS 2
#endif
#define TURNS 2
#define ALL (PROCESSES * THREADS)

byte owner;      /* process number + 1; 0: nobody */
byte counter;    /* of the latest grant */
byte ever;       /* the largest that was ever given: what the clock is ahead of */
byte value, sealed;
byte accepted;   /* the token of the latest write */

/* Of each process: the grant that it believes in, its turn, whether a thread is inside, and whether it was passed on. */
byte grant_of[PROCESSES], turn_of[PROCESSES];
bit inside[PROCESSES], passed_on[PROCESSES];

/* The one write of each thread that is on its way, and its answer. */
byte flying[ALL], carries[ALL];
mtype = { nothing, yes, no };
mtype answer[ALL] = nothing;

#ifdef TURN_KEEPS_TOKEN
#define token_of(p) (grant_of[p] * TURNS)
#else
#define token_of(p) (grant_of[p] * TURNS + turn_of[p])
#endif

inline deliver(t) {
    d_step {
        flying[t] != 0 ->
#ifdef NO_FENCE
        answer[t] = yes;
#endif
#ifdef WRITES_ONLY
        answer[t] = (flying[t] >= sealed -> yes : no);
        sealed = (flying[t] >= sealed -> flying[t] : sealed);
#endif
#ifndef NO_FENCE
#ifndef WRITES_ONLY
        answer[t] = (flying[t] == sealed -> yes : no);
#endif
#endif
        if
        :: answer[t] == yes ->
            assert(value == carries[t]);     /* nothing is lost */
            assert(flying[t] >= accepted);   /* in the order of grants */
            accepted = flying[t];
            value = value + 1
        :: else
        fi;
        flying[t] = 0;
        carries[t] = 0
    }
}

/* A grant that was passed on and expired before anybody took it. */
inline nobody_took(p) {
    d_step { passed_on[p] && owner != p + 1 -> passed_on[p] = 0; grant_of[p] = 0; turn_of[p] = 0 }
}

proctype thread(byte p; byte t) {
    byte token, seen, done;
    do
    :: done < UPDATES ->
        /* lock() */
        if
        :: d_step { !inside[p] && passed_on[p] -> passed_on[p] = 0; inside[p] = 1; turn_of[p] = turn_of[p] + 1 }
        :: d_step {
            !inside[p] && !passed_on[p] && owner == 0 ->
            owner = p + 1;
            counter = counter + 1;
            ever = (counter > ever -> counter : ever);
            grant_of[p] = counter;
            turn_of[p] = 0;
            inside[p] = 1
        }
        fi;
        token = token_of(p);
#ifndef NO_FENCE
#ifndef WRITES_ONLY
        if /* seal */
        :: d_step { token >= sealed -> sealed = token }
        :: token < sealed -> goto unlock
        fi;
        if /* read */
        :: d_step { token == sealed -> seen = value }
        :: token != sealed -> goto unlock
        fi;
#endif
#endif
#ifdef NO_FENCE
        seen = value;
#endif
#ifdef WRITES_ONLY
        seen = value;
#endif
        d_step { flying[t] == 0 -> answer[t] = nothing; flying[t] = token; carries[t] = seen };
        if
        :: answer[t] != nothing
        :: flying[t] != 0 /* does not wait for it any longer */
        fi;
unlock:
        skip;
        d_step { token = 0; seen = 0; answer[t] = nothing; done = done + 1 };
        if
        :: d_step { turn_of[p] + 1 < TURNS -> inside[p] = 0; passed_on[p] = 1 } /* hand_over() */
        :: d_step {
            inside[p] = 0;
            owner = (owner == p + 1 && grant_of[p] == counter -> 0 : owner);
            grant_of[p] = 0;
            turn_of[p] = 0
        }
        fi
    :: else -> break
    od
}

proctype fate() {
    byte losses;
end:
    do
    :: owner != 0 -> owner = 0 /* its lease is over */
    :: nobody_took(0)
    :: nobody_took(1)
#if PROCESSES > 2
    :: nobody_took(2)
#endif
    :: d_step {
        losses < LOSSES ->
        losses = losses + 1;
        owner = 0;
#ifdef COUNTS_AGAIN
        counter = 0
#else
        counter = ever
#endif
    }
    :: deliver(0)
    :: deliver(1)
#if PROCESSES * THREADS > 2
    :: deliver(2)
#endif
#if PROCESSES * THREADS > 3
    :: deliver(3)
#endif
#if PROCESSES * THREADS > 4
    :: deliver(4)
    :: deliver(5)
#endif
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. ALL - 1) { run thread(i / THREADS, i) }
        run fate();
        i = 0
    }
}
