/* Tokens that a majority of nodes agrees on (src/base/token_vote.hpp), while leases end at any moment and a node starts again
   empty. Three nodes, one name; the requests of all processes interleave in every order. A request and its answer are one
   step: an answer that is lost only ends an attempt.

     Shown     No two grants have the same token, and a claim that begins after another was granted gets a larger one.
     Mutants   VOTES_AT_ONCE   a node that has forgotten its tokens votes without being told how large they were
               TELLS_SILENTLY  the nodes that tell it keep their version, so that what was begun before still counts
               ONE_ROUND       the largest counter of the first round is the token
               Each must break a claim: a model that finds nothing there shows nothing.
     Sizes     CLIENTS attempts and REPAIRS of nodes that have forgotten; LOSSES empty restarts; ANY_ORDER: each asks the nodes in
               any order, else in one of its own, and a repair asks all at once; FROM_NOTHING: no node has been asked before, and none has given a token

   models/check runs it: `make models` all sizes, the tests the smallest. */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef REPAIRS
#define REPAIRS 1
#endif
#define NODES 3
#define MAJORITY 2
#define TOKENS 12

typedef node_state {
    byte owner;   /* number of a client; 0: none yet */
    byte last;    /* the counter of the name */
    byte highest; /* raised here, or told */
    byte floor;   /* told */
    byte version; /* of its memory */
    bool whole
};
node_state node[NODES];

byte granted; /* the largest token that was given */
bool given[TOKENS];

#define larger(a, b) (((a) > (b)) -> (a) : (b))

/* The nodes in turn: `at` is the next, after `asked` of them. */
inline begin_with(who) {
#ifdef ANY_ORDER
    if
    :: d_step { at = 0; step = 1 }
    :: d_step { at = 1; step = 1 }
    :: d_step { at = 2; step = 1 }
    :: d_step { at = 0; step = 2 }
    :: d_step { at = 1; step = 2 }
    :: d_step { at = 2; step = 2 }
    fi;
#else
    d_step { at = ((who) == 1 -> 0 : 2); step = ((who) == 1 -> 1 : 2) };
#endif
    asked = 0
}
#define go_on asked = asked + 1; at = (at + step) % NODES

/* If another has it, its lease has ended there; if it has not, the node is busy, and is passed over. */
inline claim() {
    node[at].owner = me;
    node[at].last = node[at].last + 1;
    if
    :: whole[at] ->
        has[at] = 1;
        count = count + 1;
        token = larger(token, node[at].last);
        token = larger(token, floor[at])
    :: else /* it abstains */
    fi
}

inline raise() {
    if
    :: has[at] && node[at].version == version[at] && node[at].whole && node[at].owner == me && token > node[at].last &&
       token > node[at].floor ->
        node[at].last = token;
        node[at].highest = larger(node[at].highest, token);
        count = count + 1
    :: else
    fi
}

proctype client(byte me) {
    byte version[NODES], floor[NODES];
    byte before, token, count, at, step, asked;
    bit whole[NODES], has[NODES];

    before = granted;
    /* What the nodes remember. A version that is gone by the time it counts is refused, so that all are read at once here. */
    d_step {
        version[0] = node[0].version; whole[0] = node[0].whole; floor[0] = node[0].floor;
        version[1] = node[1].version; whole[1] = node[1].whole; floor[1] = node[1].floor;
        version[2] = node[2].version; whole[2] = node[2].whole; floor[2] = node[2].floor
    };
    begin_with(me);
    do
    :: d_step { asked < NODES && count < MAJORITY -> claim(); go_on }
    :: d_step { asked < NODES && count < MAJORITY -> go_on }
    :: count >= MAJORITY -> break
    :: asked == NODES && count < MAJORITY -> goto done
    od;
    skip;
#ifndef ONE_ROUND
    d_step { token = token + 1; count = 0 };
    begin_with(me);
    do
    :: d_step { asked < NODES && count < MAJORITY -> raise(); go_on }
    :: count >= MAJORITY -> break
    :: asked == NODES && count < MAJORITY -> goto done
    od;
    skip;
#endif
    d_step {
        assert(token < TOKENS);
        assert(!given[token]); /* unique */
        assert(token > before); /* rising */
        given[token] = 1;
        granted = larger(granted, token)
    };
done:
    skip;
    d_step { /* equal ends are one state */
        before = 0; token = 0; count = 0; at = 0; step = 0; asked = 0;
        version[0] = 0; version[1] = 0; version[2] = 0;
        floor[0] = 0; floor[1] = 0; floor[2] = 0;
        whole[0] = 0; whole[1] = 0; whole[2] = 0;
        has[0] = 0; has[1] = 0; has[2] = 0
    }
}

/* A node vouches: it says what it remembers, and changes its version. */
inline vouch() {
    answered = answered + 1;
    if
    :: node[at].whole ->
        remember = remember + 1;
        highest = larger(highest, node[at].highest);
#ifndef TELLS_SILENTLY
        node[at].version = node[at].version + 1
#endif
    :: else ->
        forgot[at] = 1;
        version[at] = node[at].version
    fi
}

inline restore() {
    if
    :: forgot[at] && node[at].version == version[at] && !node[at].whole ->
        node[at].whole = 1;
        node[at].floor = highest;
        node[at].highest = larger(node[at].highest, highest)
    :: else
    fi
}

/* It may stop at any moment: its client ends, or nodes do not answer. */
proctype repair(byte who) {
    byte version[NODES];
    byte highest, answered, remember, at, step, asked;
    bit forgot[NODES];

#ifdef ANY_ORDER
    begin_with(who);
    do
    :: d_step { asked < NODES -> vouch(); go_on }
    :: d_step { asked < NODES -> go_on }
    :: asked == NODES -> break
    od;
#else
    d_step { at = 0; vouch(); at = 1; vouch(); at = 2; vouch(); at = 0 };
#endif
    if
    :: remember >= MAJORITY || (answered == NODES && highest == 0)
    :: else -> goto done
    fi;
#ifdef ANY_ORDER
    begin_with(who);
    do
    :: d_step { asked < NODES -> restore(); go_on }
    :: d_step { asked < NODES -> go_on }
    :: asked == NODES -> break
    od;
#else
    d_step { at = 0; restore(); at = 1; restore(); at = 2; restore(); at = 0 };
#endif
done:
    skip;
    d_step {
        highest = 0; answered = 0; remember = 0; at = 0; step = 0; asked = 0;
        version[0] = 0; version[1] = 0; version[2] = 0;
        forgot[0] = 0; forgot[1] = 0; forgot[2] = 0
    }
}

/* A majority remembers at all times: that is assumed, and docs/guarantees.md says so. */
inline start_empty(n) {
    d_step {
        losses < LOSSES && node[0].whole && node[1].whole && node[2].whole ->
        losses = losses + 1;
        node[n].owner = 0;
        node[n].last = 0;
        node[n].highest = 0;
        node[n].floor = 0;
        node[n].version = node[n].version + 1; /* a new one */
#ifndef VOTES_AT_ONCE
        node[n].whole = 0
#endif
    }
}

proctype fate() {
    byte losses;
    do
    :: start_empty(0)
    :: start_empty(1)
    :: start_empty(2)
    :: losses == LOSSES -> break
    od
}

init {
    byte i;
    atomic {
#ifndef FROM_NOTHING
        for (i : 0 .. NODES - 1) { node[i].whole = 1 }
#endif
        for (i : 1 .. CLIENTS) { run client(i) }
        i = 1;
        do
        :: i <= REPAIRS -> run repair(i); i++
        :: else -> break
        od;
        run fate();
        i = 0
    }
}
