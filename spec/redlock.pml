/*
 * One lock over three independent servers, and two processes that want it.
 *
 * A client asks all nodes at once. It holds when a majority granted, and its validity counts from before the first
 * request was sent. It renews at all nodes; the renewal counts if a majority still has the hold, and only then is the
 * hold given to nodes that lack it. An attempt that fails is taken back: a request by its id may still be carried out
 * for a while, and the ledger releases it then. One node restarts again and again, with its data or without; after
 * that it grants nothing for GUARD ticks, which is a lease. (The nodes are alike, so it is the first.)
 *
 * Every timer counts down or up to a limit, so time has no end here. Fencing tokens over a quorum are the matter of
 * integration/model, an exhaustive search in Go, and are not repeated.
 *
 * What must hold: at most one context says that the lock is held, but for that of a process that stands still and
 * whose validity is over.
 *
 * Wrong variants, each of which must be caught:
 *   NO_GUARD     a node grants as soon as it is up again
 *   SHORT_GUARD  the guard time is shorter than a lease
 *   ONE_NODE     one grant is enough
 *   FROM_LAST    validity counts from the last answer
 *   REGRANTS     a renewal that no majority confirms gives the hold to all nodes again (LEASE=3)
 *   RENEWS_ONE   a renewal counts if one node has the hold (LEASE=3)
 */
#ifndef LEASE
#define LEASE 3
#endif
#ifdef NO_GUARD
#define GUARD 0
#else
#ifdef SHORT_GUARD
#define GUARD 1
#else
#define GUARD LEASE
#endif
#endif
#define VALID (LEASE - 1)
#define NODES 3
#define AT(c, n) (c * NODES + n)

/* the nodes */
byte holder[NODES];  /* a client, from 1 on; 0: free */
byte remains[NODES]; /* ticks of the lease */
byte young[NODES];   /* ticks until it grants again */

/* the network and the clients */
mtype = {idle, asking, holds, parting};
mtype state[2] = idle;
bool asked[2 * NODES];   /* a request is under way: an acquisition, or a renewal of one that holds */
bool granted[2 * NODES]; /* the client knows that the node granted, or renewed */
byte age[2];             /* ticks since the first request was sent, VALID at most */
byte valid[2];           /* ticks */
bool renews[2];          /* a renewal is under way since age */
bool stands[2];
hidden byte i;

#define GRANTS(c) (granted[AT(c, 0)] + granted[AT(c, 1)] + granted[AT(c, 2)])
#ifdef ONE_NODE
#define QUORUM(c) (GRANTS(c) >= 1)
#else
#define QUORUM(c) (GRANTS(c) >= 2)
#endif
#ifdef RENEWS_ONE
#define CONFIRMED(c) (GRANTS(c) >= 1)
#else
#define CONFIRMED(c) (GRANTS(c) >= 2)
#endif
#ifdef FROM_LAST
#define LEFT(c) VALID
#else
#define LEFT(c) (age[c] < VALID -> VALID - age[c] : 0)
#endif
#define LIVE(c) (state[c] == holds && (!stands[c] || valid[c] > 0))

inline check() { assert(!(LIVE(0) && LIVE(1))) }

inline ask(c) {
	age[c] = 0;
	for (i : 0 .. NODES - 1) { asked[AT(c, i)] = true; granted[AT(c, i)] = false }
}

/* Who answered is counted, and matters no more. */
inline forget(c) { granted[AT(c, 0)] = false; granted[AT(c, 1)] = false; granted[AT(c, 2)] = false }

/* The hold or the attempt is over here. What is under way, or stands at a node, is parted with. */
inline part(c) {
	state[c] = parting; valid[c] = 0; renews[c] = false; age[c] = 0;
	forget(c)
}

/* The nodes that lack the hold get it, if they are free and may grant. */
inline give(c) {
	for (i : 0 .. NODES - 1) {
		asked[AT(c, i)] = false;
		if
		:: holder[i] == 0 && young[i] == 0 -> holder[i] = c + 1; remains[i] = LEASE
		:: else
		fi
	}
}

proctype Client(byte c) {
end:	do
	:: atomic { !stands[c] && state[c] == idle -> state[c] = asking; ask(c); check() }
	:: atomic { !stands[c] && state[c] == asking && QUORUM(c) ->
		if
		:: LEFT(c) > 0 -> state[c] = holds; valid[c] = LEFT(c); age[c] = 0; forget(c)
		:: LEFT(c) == 0 -> part(c)
		fi;
		check() }
	:: atomic { !stands[c] && state[c] == asking -> part(c); check() }
	/* It renews, and counts who has the hold. */
	:: atomic { !stands[c] && state[c] == holds && !renews[c] && valid[c] > 0 ->
		renews[c] = true; ask(c); check() }
	:: atomic { !stands[c] && state[c] == holds && renews[c] && CONFIRMED(c) && valid[c] > 0 ->
		renews[c] = false;
		valid[c] = (LEFT(c) > valid[c] -> LEFT(c) : valid[c]);
		age[c] = 0; forget(c);
		give(c);
		check() }
#ifdef REGRANTS
	:: atomic { !stands[c] && state[c] == holds && renews[c] && valid[c] > 0 && !CONFIRMED(c) ->
		renews[c] = false; forget(c); give(c);
		valid[c] = LEFT(c); age[c] = 0;
		check() }
#endif
	/* It unlocks, or its validity is over. */
	:: atomic { !stands[c] && state[c] == holds -> part(c); check() }
	/* It stops, and goes on: then what is over ends first. */
	:: atomic { !stands[c] && state[c] == holds -> stands[c] = true; check() }
	:: atomic { stands[c] -> stands[c] = false;
		if
		:: state[c] == holds && valid[c] == 0 -> part(c)
		:: else
		fi;
		check() }
	/* Everything is released, and nothing can come any more. */
	:: atomic { !stands[c] && state[c] == parting && !asked[AT(c, 0)] && !asked[AT(c, 1)] && !asked[AT(c, 2)] &&
			holder[0] != c + 1 && holder[1] != c + 1 && holder[2] != c + 1 -> state[c] = idle; check() }
	od
}

proctype Node(byte n; byte c) {
end:	do
	:: atomic { asked[AT(c, n)] ->
		asked[AT(c, n)] = false;
		if
		:: skip /* it is lost, or refused because it is late */
		:: state[c] == holds && renews[c] && holder[n] == c + 1 -> remains[n] = LEASE; granted[AT(c, n)] = true
		:: !(state[c] == holds && renews[c]) && holder[n] == 0 && young[n] == 0 ->
			holder[n] = c + 1; remains[n] = LEASE; granted[AT(c, n)] = (state[c] == asking)
		fi;
		check() }
	/* A release of what is parted with. */
	:: atomic { state[c] == parting && !stands[c] && holder[n] == c + 1 -> holder[n] = 0; remains[n] = 0; check() }
	od
}

proctype Restarts(byte n) {
end:	do
	:: atomic { true -> young[n] = GUARD;
		if
		:: holder[n] = 0; remains[n] = 0
		:: skip
		fi;
		check() }
	od
}

#define ENDS(c) (stands[c] || state[c] != holds || valid[c] > 0)

proctype Time() {
	do
	:: atomic { ENDS(0) && ENDS(1) ->
		for (i : 0 .. NODES - 1) {
			remains[i] = (remains[i] > 0 -> remains[i] - 1 : 0);
			holder[i] = (remains[i] > 0 -> holder[i] : 0);
			young[i] = (young[i] > 0 -> young[i] - 1 : 0)
		}
		for (i : 0 .. 1) {
			age[i] = ((state[i] == asking || renews[i]) && age[i] < VALID -> age[i] + 1 : age[i]);
			valid[i] = (valid[i] > 0 -> valid[i] - 1 : 0)
		}
		check() }
	od
}

init {
	atomic {
		run Client(0); run Client(1); run Time();
		run Node(0, 0); run Node(1, 0); run Node(2, 0); run Node(0, 1); run Node(1, 1); run Node(2, 1);
		run Restarts(0)
	}
}
