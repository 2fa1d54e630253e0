/* The word of a name on host: (docs/decisions/0052): a process that had the lock last takes it and gives it back by one
   compare-and-swap, without the ledger's lock; everybody else changes the word under that lock. Processes die and stop at any
   instruction. One name, exclusive; its claim lies in one block, which the next claim uses again.

     Shown     At most one client is inside, besides those whose claim was broken. Who waits gets the lock: neither a client that
               stopped while it kept the lock, nor one that died anywhere, keeps anybody out. The ledger's lock is never needed by
               who finds the word as it left it.
     Mutants   UNMARKED           the word does not say of which claim it is: a late swap meets the next claim in the block
               UNWANTED           to give back, the word is set and not swapped: that somebody waits is overwritten
               GONE_IS_HELD       who finds that its claim was taken goes on all the same
               TAKEN_BLINDLY      others set the word instead of swapping it: the owner has just taken it
               TORN               who dies between the word and the ledger is not made good: gone in one, a holder in the other
               UNDONE             who breaks a claim ends its word, and then fails and lives on: its owner is still inside
               Each must break a claim.
     Sizes     CLIENTS, ROUNDS (how often each locks), DEATHS, BREAKS (of a claim by somebody else)

   What stands for what:
     word, word_mark      one word of 64 bits in the claim's block: a mark that no other claim in that block has, and a state
     mark, owner, line    the ledger: the claim that holds, whose it is, and who waits; changed under its lock, all or nothing
                          (ledger_file's journal): a client that dies under it leaves what was there before
     lock_fast            idle to busy. Anything else there: the claim is over, and the client claims anew
     unlock_fast          busy to idle, and the claim stays. wanted: it releases under the lock, as if there were no word
     lock_slow            under the lock: a claim whose word is idle is ended first in the word (gone), then in the ledger; one that
                          is busy becomes wanted, and the newcomer stands in line
     look                 a waiter's poll, which finds a holder that died, or a word that is gone. One that would learn nothing is
                          left out
     break_claim          under the lock, whatever the word is: it ends last before the commit, so that only a death comes between.
                          Who fails before that leaves the word as it was. A broken client is told, and may be inside beside the
                          next one

   models/check runs it. */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef BREAKS
#define BREAKS 1
#endif

mtype = { idle, busy, wanted, gone };

/* The file. */
mtype word = gone;
byte word_mark;
byte mark;              /* 0: nobody holds */
byte owner;
chan line = [CLIENTS] of { byte };
byte locked;            /* the ledger's lock: the client that has it, from 1 */
byte last;              /* mark that was given */

/* The clients, from 0. */
byte inside;            /* from 1 */
byte granted[CLIENTS];  /* the mark of a claim that was granted while it waited */
bit dead[CLIENTS], waits[CLIENTS], finished[CLIENTS];
byte deaths = DEATHS, breaks = BREAKS;
byte next;

#ifdef UNMARKED
#define is(m, s) (word == s)
#else
#define is(m, s) (word == s && word_mark == m)
#endif

#ifdef TORN
#define nobodys (mark == 0 || dead[owner])
#else
#define nobodys (mark == 0 || dead[owner] || word == gone)
#endif

inline may_die() {
    if
    :: skip
    :: atomic {
        deaths > 0 ->
        deaths = deaths - 1;
        dead[me] = 1;
        waits[me] = 0;
        if
        :: locked == me + 1 -> locked = 0 /* the next one finds what was there before */
        :: else
        fi;
        if
        :: inside == me + 1 -> inside = 0
        :: else
        fi;
        goto over
    }
    fi
}

/* Within an atomic step, under the lock: a new claim in the block. */
inline give_to(client) {
    last = last + 1;
    mark = last;
    owner = client;
    word_mark = mark;
    if
    :: len(line) > 0 -> word = wanted
    :: else -> word = busy
    fi
}

/* To the first in line; a dead one is found by a look. */
inline pass_on() {
    if
    :: len(line) > 0 -> line ? next; give_to(next); granted[next] = mark; next = 0
    :: else -> mark = 0; word = gone
    fi
}

inline take_ledger() {
    atomic { locked == 0 -> locked = me + 1 }
}
inline leave_ledger() {
    locked = 0
}

inline break_claim() {
    take_ledger();
    may_die();
    if
    :: mark == 0 -> leave_ledger()
    :: mark != 0 -> leave_ledger() /* it failed */
#ifdef UNDONE
    :: mark != 0 -> word = gone; leave_ledger()
#endif
    :: atomic {
            mark != 0 ->
            word = gone;
            if
            :: inside == owner + 1 -> inside = 0 /* it need not be alone any more */
            :: else
            fi
        };
        may_die();
        atomic { pass_on(); leave_ledger() }
    fi
}

proctype client(byte me) {
    byte mine;          /* the claim that it holds, or keeps */
    byte rounds = ROUNDS;

    do
    :: rounds == 0 -> break
    :: else ->
        rounds = rounds - 1;
        may_die();
        if
        :: atomic { breaks > 0 -> breaks = breaks - 1 }; break_claim()
        :: skip
        fi;

        /* lock_fast */
        if
        :: mine == 0 -> goto slow
        :: else
        fi;
        if
        :: atomic { is(mine, idle) -> word = busy; assert(inside == 0); inside = me + 1 }
#ifdef GONE_IS_HELD
        :: atomic { else -> assert(inside == 0); inside = me + 1 }
#else
        :: else -> mine = 0; goto slow
#endif
        fi;
        goto in;

slow:   may_die();
        take_ledger();
        may_die();
        if
        :: nobodys -> skip
        :: else ->
            if
#ifdef TAKEN_BLINDLY
            :: word == idle -> may_die(); word = gone
#else
            :: atomic { word == idle -> word = gone }
#endif
            :: atomic { word == busy -> word = wanted; goto queue }
            :: atomic { word == wanted -> goto queue }
            fi
        fi;
        may_die();
        atomic { /* the commit: as whoever was there has let go, or died */
            if
            :: len(line) > 0 -> line ! me; waits[me] = 1; pass_on()
            :: else -> give_to(me); mine = mark; inside = (inside == 0 -> me + 1 : 99)
            fi;
            assert(inside != 99);
            leave_ledger()
        }
        if
        :: mine != 0 -> goto in
        :: else -> goto asleep
        fi;

queue:  may_die();
        atomic { line ! me; waits[me] = 1; leave_ledger() }

asleep: do
        :: atomic {
            granted[me] != 0 ->
            mine = granted[me];
            granted[me] = 0;
            waits[me] = 0;
            if
            :: mine == mark && word != gone -> assert(inside == 0); inside = me + 1; break
            :: else -> mine = 0; goto left /* broken before it heard of it */
            fi
        }
        :: granted[me] == 0 && mark != 0 && nobodys && locked == 0 -> /* look */
            take_ledger();
            may_die();
            atomic {
                if
                :: mark != 0 && nobodys -> pass_on()
                :: else
                fi;
                leave_ledger()
            }
        od;

in:     may_die();
        if
        :: atomic { inside == me + 1 -> inside = 0 }
        :: else /* broken */
        fi;
        may_die();

        /* unlock_fast */
        if
#ifdef UNWANTED
        :: word = idle
#else
        :: atomic { is(mine, busy) -> word = idle }
        :: else ->
            may_die();
            take_ledger();
            may_die();
            atomic {
                if
                :: mark == mine -> pass_on()
                :: else
                fi;
                mine = 0;
                leave_ledger()
            }
#endif
        fi;
left:   skip
    od;
    finished[me] = 1;
over:
    skip
}

proctype fate() {
    byte i;
    timeout;
    /* All has happened that can. Who has finished may keep the lock for ever, and does nothing more. */
    atomic {
        for (i : 0 .. CLIENTS - 1) { assert(dead[i] || finished[i]) }
        i = 0
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
