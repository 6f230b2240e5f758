/*
 * A lock on ZooKeeper, and two processes that want it.
 *
 * Each client has one session, and a node for each acquisition, which ends with the session. The node that was made
 * first has the lock. The leader counts down the time of each session. It gives a session its full time when a client
 * attaches it to a server, which asks the leader; and when a follower tells it, once in a tick, that it heard of the
 * client. A follower may die (once) before it has told. A leader that finds a session at its end orders that it be
 * closed; the order may come late, and from then on no handshake attaches it. Another leader may be elected (once):
 * then all sessions have their full time again, and all connections are dropped, but for those to servers that are cut
 * off together with the leader before, which still attaches sessions and agrees on nothing.
 *
 * A client renews its session by attaching it anew and then having a change agreed on over the same connection.
 * Validity counts from the sending of the handshake. A request whose caller left is settled in the same way: after
 * that, it is never carried out, and its node, if there is one, is deleted.
 *
 * Timers count down or up to a limit; a run ends when each client has used its acquisitions: the first client IDS of
 * them, and the second a single one. A client whose session is over is done. With CALM time stands still, so that more
 * acquisitions can be searched.
 *
 * What must hold:
 *   exclusion   at most one context says that the lock is held, but for that of a process that stands still and whose
 *               validity is over
 *   settled     no node has an id that the ledger has finished with
 *
 * Wrong variants, each of which must be caught:
 *   WRITE_PROVES  a change that is agreed on renews the session, without a handshake
 *   PONG_PROVES   so does the answer of the server to a ping
 *   NO_WRITE      the handshake alone renews it, whichever leader the server knows
 *   FRESH_XIDS    requests are numbered anew on each connection, so the answer to an earlier one is taken for that to
 *                 the present one (CALM)
 *   NOT_FIRST     any node has the lock (CALM)
 *   FROM_ANSWER   validity counts from the answer
 *   NO_END        validity is never compared with the clock
 */
#ifndef IDS
#define IDS 2
#endif
#ifndef LEASE
#define LEASE 3
#endif
#define VALID (LEASE - 1)
#define N 2
#define OF(id) (id / IDS)
#define ID(c) (c * IDS + turn[c])

/* the servers */
bool node[N * IDS];   /* of an acquisition */
byte place[N * IDS];  /* of that node, from 1 on, in the order in which they were made */
byte made;
bool exists[N];       /* the client's session */
byte remains[N];      /* until the leader finds it at its end */
bool ordered[N];      /* that it be closed */
bool heard[N];        /* the client's server has heard of it, and has not told the leader */
bool cut[N];          /* the client's server is with the leader before */
bool elected, died;

/* the network */
bool flying[N * IDS]; /* the request that makes the node is under way */

/* the clients */
mtype = {idle, asking, waits, holds, done};
mtype state[N] = idle;
mtype = {none, mine, behind};
mtype answer[N] = none;
byte whose[N];           /* the acquisition of which that is the answer */
byte turn[N];
mtype = {sent, attached, agreed};
mtype renewal[N] = none;
byte since[N];        /* ticks since its handshake was sent, LEASE at most */
byte age[N];          /* ticks since the handshake from which validity counts, LEASE at most */
bool context[N];
bool stands[N];
bool owed[N * IDS], settled[N * IDS];
hidden byte i;

#ifdef NOT_FIRST
#define IS_FIRST(id) true
#else
#define IS_FIRST(id) (FIRST(id, 0) && FIRST(id, 1) && FIRST(id, 2) && FIRST(id, 3) && FIRST(id, 4) && FIRST(id, 5))
#define FIRST(id, other) (other >= N * IDS || !node[other] || place[id] <= place[other])
#endif
#ifdef FRESH_XIDS
#define IS_OF(c) true
#else
#define IS_OF(c) (whose[c] == ID(c))
#endif
#ifdef NO_WRITE
#define IS_RENEWED(c) (renewal[c] == attached || renewal[c] == agreed)
#else
#define IS_RENEWED(c) (renewal[c] == agreed)
#endif
#ifdef NO_END
#define IS_VALID(c) true
#else
#define IS_VALID(c) (age[c] < VALID)
#endif
#define LIVE(c) (context[c] && (!stands[c] || age[c] < VALID))

inline check() {
	assert(!(LIVE(0) && LIVE(1)));
	for (i : 0 .. N * IDS - 1) { assert(!(settled[i] && node[i])) }
}

inline delete(id) { node[id] = false; place[id] = 0 }

inline next(c) {
	context[c] = false;
	if
	:: turn[c] < IDS - 1 && c == 0 -> turn[c]++; state[c] = idle
	:: else -> state[c] = done
	fi
}

inline disown(c) { owed[ID(c)] = true; next(c) }

inline leaves(c) { renewal[c] = none; since[c] = 0 }

inline renewed(c) {
#ifdef FROM_ANSWER
	age[c] = 0;
#else
	age[c] = since[c];
#endif
	leaves(c)
}

proctype Client(byte c) {
end:	do
	:: atomic { !stands[c] && state[c] == idle ->
		flying[ID(c)] = true; state[c] = asking; check() }
	:: atomic { !stands[c] && (state[c] == asking || state[c] == waits) -> disown(c); check() }
	:: atomic { !stands[c] && state[c] == asking && answer[c] == behind && IS_OF(c) ->
		answer[c] = none; whose[c] = 0; state[c] = waits; check() }
	/* It looks again, which is a read, or is told. The answer may be old when it comes. */
	:: atomic { !stands[c] && state[c] == waits && node[ID(c)] && IS_FIRST(ID(c)) ->
		answer[c] = mine; whose[c] = ID(c); state[c] = asking; check() }
	:: atomic { !stands[c] && state[c] == asking && answer[c] == mine && IS_OF(c) ->
		answer[c] = none; whose[c] = 0;
		if
		:: IS_VALID(c) -> state[c] = holds; context[c] = true
		:: else -> disown(c)
		fi;
		check() }
	/* It unlocks: the release is answered, or remains to the ledger. */
	:: atomic { !stands[c] && state[c] == holds ->
		if
		:: exists[c] && !cut[c] -> delete(ID(c))
		:: skip
		fi;
		disown(c);
		check() }
#ifndef CALM
	/* It renews its session. */
	:: atomic { !stands[c] && renewal[c] == none && state[c] != done && age[c] > 0 ->
		renewal[c] = sent; since[c] = 0; check() }
	:: atomic { !stands[c] && IS_RENEWED(c) -> renewed(c); check() }
	/* There was no answer. It goes to another server. */
	:: atomic { !stands[c] && renewal[c] != none -> leaves(c); cut[c] = false; check() }
#ifdef WRITE_PROVES
	:: atomic { !stands[c] && renewal[c] == none && exists[c] && !cut[c] ->
		heard[c] = true;
		age[c] = 0;
		check() }
#endif
#ifdef PONG_PROVES
	:: atomic { !stands[c] && renewal[c] == none && exists[c] ->
		heard[c] = true;
		age[c] = 0;
		check() }
#endif
	/* Its validity is over. */
	:: atomic { !stands[c] && context[c] && !IS_VALID(c) -> disown(c); check() }
	/* It stops, and goes on: then what is over ends first. */
	:: atomic { !stands[c] && context[c] -> stands[c] = true; check() }
	:: atomic { stands[c] -> stands[c] = false;
		if
		:: context[c] && !IS_VALID(c) -> disown(c)
		:: else
		fi;
		check() }
#endif
	od
}

/* The servers, as far as they serve an acquisition. */
proctype Node(byte id) {
end:	do
	:: atomic { flying[id] ->
		flying[id] = false;
		if
		:: exists[OF(id)] && !cut[OF(id)] ->
			made++; node[id] = true; place[id] = made;
			if
			:: answer[OF(id)] == none -> answer[OF(id)] = (IS_FIRST(id) -> mine : behind); whose[OF(id)] = id
			:: true /* it is lost */
			fi
		:: else
		fi;
		check() }
	/* The ledger: the session is attached anew, and what it has is there. */
	:: atomic { owed[id] && !stands[OF(id)] && !cut[OF(id)] ->
		owed[id] = false; settled[id] = true; flying[id] = false;
		if
		:: answer[OF(id)] != none && whose[OF(id)] == id ->
#ifdef FRESH_XIDS
			skip
#else
			answer[OF(id)] = none; whose[OF(id)] = 0
#endif
		:: else
		fi;
		delete(id);
		check() }
	od
}

#ifndef CALM
/* The servers, as far as they keep a session. */
proctype Session(byte c) {
end:	do
	/* The handshake. The leader before knows the session as it was. */
	:: atomic { renewal[c] == sent && cut[c] -> renewal[c] = attached; check() }
	:: atomic { renewal[c] == sent && !cut[c] && exists[c] && !ordered[c] ->
		renewal[c] = attached; remains[c] = LEASE; check() }
	/* The change. */
	:: atomic { renewal[c] == attached && !cut[c] && exists[c] -> renewal[c] = agreed; check() }
	:: atomic { ordered[c] ->
		ordered[c] = false; exists[c] = false; heard[c] = false;
		for (i : 0 .. IDS - 1) { delete(c * IDS + i) }
		check() }
	/* The server dies. */
	:: atomic { !died && !cut[c] -> died = true; heard[c] = false;
		if
		:: renewal[c] == attached -> leaves(c)
		:: else
		fi;
		check() }
	od
}

#ifdef NO_END
#define ENDS(c) true
#else
#define ENDS(c) (stands[c] || !context[c] || age[c] < VALID)
#endif

proctype Time() {
end:	do
	:: atomic { ENDS(0) && ENDS(1) ->
		for (i : 0 .. N - 1) {
			age[i] = (age[i] < LEASE -> age[i] + 1 : LEASE);
			since[i] = (renewal[i] != none && since[i] < LEASE -> since[i] + 1 : since[i]);
			if
			:: heard[i] && !cut[i] && exists[i] && !ordered[i] -> remains[i] = LEASE; heard[i] = false
			:: else
			fi;
			if
			:: remains[i] == 1 -> remains[i] = 0; ordered[i] = true
			:: remains[i] > 1 -> remains[i]--
			:: else
			fi
		}
		check() }
	/* Another leader is elected. */
	:: atomic { !elected ->
		elected = true;
		for (i : 0 .. N - 1) {
			remains[i] = (exists[i] && !ordered[i] -> LEASE : remains[i]);
			if
			:: cut[i] = true
			:: heard[i] = false;
				if
				:: renewal[i] == attached -> leaves(i)
				:: else
				fi
			fi
		}
		check() }
	od
}
#endif

init {
	atomic {
		for (i : 0 .. N - 1) { exists[i] = true; remains[i] = LEASE }
		run Client(0); run Client(1);
#ifndef CALM
		run Session(0); run Session(1); run Time();
#endif
		for (i : 0 .. N * IDS - 1) { run Node(i) }
	}
}
