/*
 * A lock on etcd, and two processes that want it.
 *
 * Each client has one lease, on which everything hangs that it writes, and one key for the lock, which it uses again
 * for its next acquisition: the id of the acquisition is the value. A transaction creates the key, unless it is there
 * or the client's seal was written since it was sent; the key that was created first holds the lock. A release deletes
 * the key if the id stands there. When an id is given up, the transaction that releases it writes the seal, so that a
 * late copy does nothing, of whatever id of the client; an acquisition that was refused so is sent again. A copy that
 * comes when the lease is over is refused. The lease is renewed by keep-alives, and validity counts from
 * the last one. A leader that finds a lease at its end orders that it be revoked; the order may come late, and after
 * an election (once) the next leader gives all leases their full time again and answers keep-alives meanwhile. So a
 * client whose lease nothing has confirmed for its length treats it as over for ever, revokes it, and goes on under
 * another one (once).
 *
 * Timers count down or up to a limit; a run ends when each client has used its acquisitions: the first client IDS
 * of them, and the second a single one. With CALM time stands still, so that more acquisitions can be searched: no
 * lease ends, no process stops and no leader is elected.
 *
 * What must hold:
 *   exclusion   at most one context says that the lock is held, but for that of a process that stands still and whose
 *               validity is over
 *   settled     no key has an id that the ledger has finished with
 *
 * Wrong variants, each of which must be caught:
 *   BARE_RELEASE  a release deletes the key, whatever id it has (CALM)
 *   OWN_KEY       the id in the key is not compared (CALM)
 *   NOT_FIRST     any key has the lock (CALM)
 *   NO_SEAL       a release by the ledger writes no seal
 *   SEAL_LATER    the seal is written by a second transaction (CALM)
 *   BACK_EARLY    a release that finds nothing, of a caller that left, gives the key back while the acquisition is on
 *                 its way: no later release names the key (CALM)
 *   ANY_LEASE     a copy writes without its lease
 *   GOES_ON       a lease is over only when etcd says so
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

/* etcd */
byte key[N];       /* the id in the client's key, from 1 on; 0: there is none */
byte first;        /* the client whose key was created first, from 1 on; 0: none has a key */
bool sealed[N * IDS]; /* the seal was written when the copies of it were on their way */
bool exists[N];    /* the client's lease */
bit lease[N];      /* which one: the first or the second */
byte remains[N];      /* until the leader finds it at its end */
bool ordered[N];   /* that it be revoked */
bool answers[N];   /* to keep-alives */
bool elected;

/* the network */
byte copies[N * IDS];   /* of the transaction that creates the key */
bit under[N * IDS];     /* which lease */
bool removal[N * IDS];  /* a release is under way, for ever */

/* the clients */
mtype = {idle, asking, waits, holds, done};
mtype state[N] = idle;
mtype = {none, mine, behind, other};
mtype answer[N] = none;
byte turn[N];
byte age[N];       /* ticks since the last keep-alive was sent that was answered, LEASE at most */
bit session[N];    /* which lease is in use */
bool over[N];      /* the session */
bool context[N];
bool stands[N];
bool owed[N * IDS], settled[N * IDS];
#ifdef SEAL_LATER
bool unsealed[N * IDS];
#endif
#ifdef BACK_EARLY
bool back[N * IDS];
#define NAMES_KEY(id) (!back[id])
#else
#define NAMES_KEY(id) true
#endif
hidden byte i;

#ifdef BARE_RELEASE
#define STANDS(id) true
#else
#define STANDS(id) (key[OF(id)] == id + 1)
#endif
#ifdef ANY_LEASE
#define UNDER(id) true
#else
#define UNDER(id) (exists[OF(id)] && lease[OF(id)] == under[id])
#endif
#ifdef OWN_KEY
#define IS_OWN(id) (key[OF(id)] != 0)
#else
#define IS_OWN(id) (key[OF(id)] == id + 1)
#endif
#ifdef NOT_FIRST
#define IS_FIRST(c) true
#else
#define IS_FIRST(c) (first == c + 1)
#endif
#ifdef GOES_ON
#define LAPSED(c) false
#else
#define LAPSED(c) (age[c] >= LEASE)
#endif
#ifdef NO_END
#define IS_VALID(c) true
#else
#define IS_VALID(c) (age[c] < VALID)
#endif
#define LIVE(c) (context[c] && (!stands[c] || age[c] < VALID))

inline check() {
	assert(!(LIVE(0) && LIVE(1)));
	assert((key[0] == 0 || !settled[key[0] - 1]) && (key[1] == 0 || !settled[key[1] - 1]))
}

/* The seal of c is written. */
inline seal(c) {
	for (i : c * IDS .. c * IDS + IDS - 1) { sealed[i] = (copies[i] > 0) }
}

/* The key of c goes. */
inline delete(c) {
	if
	:: key[c] != 0 ->
		key[c] = 0;
		first = (key[1 - c] != 0 -> 2 - c : 0)
	:: else
	fi
}

inline revoked(c) {
	exists[c] = false; ordered[c] = false; answers[c] = false; remains[c] = 0;
	delete(c)
}

inline next(c) {
	context[c] = false; answer[c] = none;
	if
	:: turn[c] < IDS - 1 && c == 0 -> turn[c]++; state[c] = idle
	:: else -> state[c] = done
	fi
}

inline disown(c) { owed[ID(c)] = true; next(c) }

/* What etcd says of the key of an id, to a client that waits for it. */
inline tell(id) {
	if
	:: state[OF(id)] == asking && ID(OF(id)) == id && answer[OF(id)] == none ->
		answer[OF(id)] = (IS_OWN(id) -> (IS_FIRST(OF(id)) -> mine : behind) : other)
	:: else
	fi
}

proctype Client(byte c) {
end:	do
	:: atomic { !stands[c] && state[c] == idle && !over[c] ->
		copies[ID(c)] = 2; under[ID(c)] = session[c]; answer[c] = none; state[c] = asking; check() }
	/* It looks again, which is a read. */
	:: atomic { !stands[c] && state[c] == waits && !over[c] -> answer[c] = none; state[c] = asking; tell(ID(c)); check() }
	/* It has no answer, and sends its transaction once more. */
	:: atomic { !stands[c] && state[c] == asking && !over[c] && copies[ID(c)] == 0 && under[ID(c)] == session[c] ->
		copies[ID(c)] = 1; answer[c] = none; check() }
	/* Its caller leaves. */
	:: atomic { !stands[c] && (state[c] == asking || state[c] == waits) -> disown(c); check() }
	:: atomic { !stands[c] && state[c] == asking && answer[c] == behind -> answer[c] = none; state[c] = waits; check() }
	/* Its key has the id of an earlier acquisition. It asks again when that is gone. */
	:: atomic { !stands[c] && state[c] == asking && answer[c] == other -> disown(c); check() }
	:: atomic { !stands[c] && state[c] == asking && answer[c] == mine ->
		if
		:: IS_VALID(c) && !over[c] && under[ID(c)] == session[c] -> answer[c] = none; state[c] = holds; context[c] = true
		:: else -> disown(c)
		fi;
		check() }
	/* It unlocks: the release is answered, or remains to the ledger. */
	:: atomic { !stands[c] && state[c] == holds ->
		context[c] = false; removal[ID(c)] = true;
		disown(c);
		check() }
#ifndef CALM
	/* The keep-alive, and whether an answer still counts. */
	:: atomic { !stands[c] && exists[c] && answers[c] && lease[c] == session[c] && !over[c] && age[c] > 0 ->
		remains[c] = LEASE;
		if
		:: LAPSED(c) -> over[c] = true
		:: !LAPSED(c) -> age[c] = 0
		:: skip /* its answer is lost */
		fi;
		check() }
	:: atomic { !stands[c] && !over[c] && (!exists[c] || LAPSED(c)) -> over[c] = true; check() }
	/* Its validity is over. */
	:: atomic { !stands[c] && context[c] && (over[c] || !IS_VALID(c)) -> disown(c); check() }
	/* It revokes the lease that is over, and makes another one. */
	:: atomic { !stands[c] && over[c] && session[c] == 0 && !context[c] ->
		revoked(c);
		exists[c] = true; lease[c] = 1; session[c] = 1; remains[c] = LEASE; answers[c] = true; age[c] = 0; over[c] = false;
		check() }
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

proctype Etcd(byte id) {
end:	do
	:: atomic { copies[id] > 0 ->
		copies[id]--;
		if
		:: UNDER(id) && key[OF(id)] == 0 && !sealed[id] ->
			key[OF(id)] = id + 1;
			first = (first == 0 -> OF(id) + 1 : first)
		:: else
		fi;
		if
		:: UNDER(id) && !sealed[id] -> tell(id)
		:: else
		fi;
		sealed[id] = sealed[id] && copies[id] > 0;
		check() }
	:: atomic { removal[id] && key[OF(id)] != 0 && STANDS(id) -> delete(OF(id)); check() }
#ifdef BACK_EARLY
	:: atomic { owed[id] && copies[id] > 0 && !STANDS(id) -> back[id] = true; check() }
#endif
	/* The ledger: what has no lease any more needs no seal. */
	:: atomic { owed[id] && !stands[OF(id)] ->
		if
		:: !exists[OF(id)] || lease[OF(id)] != under[id] -> owed[id] = false; settled[id] = true
		:: exists[OF(id)] && lease[OF(id)] == under[id] ->
			if
			:: STANDS(id) && NAMES_KEY(id) -> delete(OF(id)); removal[id] = true
			:: else -> removal[id] = NAMES_KEY(id)
			fi;
#ifdef SEAL_LATER
			unsealed[id] = true
#else
#ifndef NO_SEAL
			seal(OF(id));
#endif
			if
			:: owed[id] = false; settled[id] = true
			:: skip /* its answer is lost */
			fi
#endif
		fi;
		check() }
#ifdef SEAL_LATER
	:: atomic { unsealed[id] -> unsealed[id] = false; seal(OF(id)); owed[id] = false; settled[id] = true; check() }
#endif
	od
}

#ifndef CALM
proctype Leader(byte c) {
end:	do
	:: atomic { ordered[c] -> revoked(c); check() }
	od
}

#define ENDS(c) (stands[c] || !context[c] || age[c] < VALID || !IS_OVER(c))
#ifdef NO_END
#define IS_OVER(c) false
#else
#define IS_OVER(c) true
#endif

proctype Time() {
end:	do
	:: atomic { ENDS(0) && ENDS(1) ->
		for (i : 0 .. N - 1) {
			age[i] = (age[i] < LEASE -> age[i] + 1 : LEASE);
			if
			:: remains[i] == 1 -> remains[i] = 0; ordered[i] = true; answers[i] = false
			:: remains[i] > 1 -> remains[i]--
			:: else
			fi
		}
		check() }
	:: atomic { !elected ->
		elected = true;
		for (i : 0 .. N - 1) {
			remains[i] = (exists[i] -> LEASE : 0);
			answers[i] = exists[i]
		}
		check() }
	od
}
#endif

init {
	atomic {
		for (i : 0 .. N - 1) { exists[i] = true; answers[i] = true; remains[i] = LEASE }
		run Client(0); run Client(1);
#ifndef CALM
		run Leader(0); run Leader(1); run Time();
#endif
		for (i : 0 .. N * IDS - 1) { run Etcd(i) }
	}
}
