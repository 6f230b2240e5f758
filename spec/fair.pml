/*
 * The queue of a fair lock.
 *
 * Three processes call Lock again and again. The server keeps a queue of those that wait, in the order in which they
 * came. A release does not free the lock: the same step invites the first one in the queue whose process lives, so
 * that nobody can get in between. An invited process claims the lock; an invitation that is not claimed ends after a
 * time, and its process is passed over. Every waiter asks once in a tick, which keeps its place and tells the server
 * that its process lives. Processes die and messages are lost at any point, FAULTS times in all.
 *
 * Every timer counts down, so time has no end here.
 *
 * What must hold:
 *   order   the lock goes to a waiter only if nobody waits who registered before and runs
 *   single  at most one process has the lock
 *   woken   a waiter that runs has the lock in time: a tick for each that can be before it, and for each fault a lease,
 *           an invitation, and the time after which a process counts as dead
 *
 * Wrong variants, each of which must be caught:
 *   BARGES      any process takes a free lock
 *   LAST_IN     the last that came is invited
 *   CLAIMS      any process claims an invitation
 *   NO_POLL     a waiter asks only when a message wakes it
 *   ENDLESS     an invitation does not end
 *   NO_JUDGING  the dead are invited as well
 *   STAYS       a waiter that leaves keeps its place
 */
#ifndef LEASE
#define LEASE 2
#endif
#ifndef INVITES
#define INVITES 2 /* ticks for which an invitation stands */
#endif
#ifndef LIFE
#define LIFE 2    /* ticks for which a process counts as alive after it was heard */
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#define N 3
#define NOBODY N

mtype = {away, waiting, holds, dead};
mtype state[N] = away;
bool asked[N];      /* in this tick */
bool message[N];    /* that invites it is under way */
bool placed[N];     /* it has registered since it came */
byte waited[N];
bool before[N * N]; /* before[v * N + w]: v had its place before w came, and both wait */
byte faults;        /* so far */

/* the server */
byte holder = NOBODY;
bool invited;       /* the holder was invited, and has not claimed the lock */
byte left;          /* ticks until the lease or the invitation ends */
byte last = NOBODY; /* the last that took the lock or was invited, if it did not release */
byte queue[N];      /* processes, the first one first, and NOBODY behind the last */
byte alive[N];      /* ticks for which it counts as alive */

hidden byte i, at, first;

#ifdef NO_JUDGING
#define LIVES(p) true
#else
#define LIVES(p) (alive[p] > 0)
#endif
#ifdef LAST_IN
#define PREFERS true
#else
#define PREFERS (first == NOBODY)
#endif
#ifdef BARGES
#define TURN(p) true
#else
#define TURN(p) (first == p || first == NOBODY)
#endif
#ifdef CLAIMS
#define MAY_CLAIM(p) true
#else
#define MAY_CLAIM(p) (holder == p)
#endif

#define PATIENCE (N + 1 + FAULTS * (LEASE + INVITES + LIFE + 1))

/* p leaves the queue, if it is in it. */
inline leave(p) {
	at = 0;
	for (i : 0 .. N - 1) {
		if
		:: queue[i] != p -> queue[at] = queue[i]; at++
		:: else
		fi
	}
	for (i : 0 .. N - 1) {
		if
		:: i >= at -> queue[i] = NOBODY
		:: else
		fi
	}
}

/* p gets a place behind the others, unless it has one. */
inline enter(p) {
	at = 0;
	do
	:: at < N && queue[at] != p && queue[at] != NOBODY -> at++
	:: else -> break
	od;
	queue[at] = p;
	alive[p] = LIFE;
	if
	:: !placed[p] ->
		placed[p] = true;
		for (i : 0 .. N - 1) {
			before[i * N + p] = (i != p && state[i] == waiting && placed[i])
		}
	:: else
	fi
}

/* first becomes the first in the queue that lives and is not except. */
inline search(except) {
	first = NOBODY;
	for (i : 0 .. N - 1) {
		if
		:: queue[i] != NOBODY && queue[i] != except && LIVES(queue[i]) && PREFERS -> first = queue[i]
		:: else
		fi
	}
}

/* p has the lock, and waits no more. */
inline got(p) {
	for (i : 0 .. N - 1) {
		assert(!before[i * N + p]);
		assert(i == p || state[i] != holds);
		before[p * N + i] = false
	}
	leave(p);
	holder = p; invited = false; left = LEASE; last = p;
	state[p] = holds; waited[p] = 0; message[p] = false; placed[p] = false
}

inline invite() {
	holder = first; invited = true; left = INVITES; last = first;
	if
	:: message[first] = true
	:: faults < FAULTS -> faults++ /* the message is lost */
	fi
}

inline release() {
	holder = NOBODY; invited = false; left = 0; last = NOBODY;
	search(NOBODY);
	if
	:: first == NOBODY
	:: first != NOBODY -> invite()
	fi
}

/* fair_acquire.lua: p takes the lock, or keeps its place. */
inline ask(p) {
	if
	:: holder != NOBODY && invited && MAY_CLAIM(p) -> got(p)
	:: holder != NOBODY && !(invited && MAY_CLAIM(p)) -> enter(p)
	:: holder == NOBODY ->
		alive[p] = LIFE;
		if
#ifndef NO_JUDGING
		:: last != NOBODY && last != p -> alive[last] = 0; leave(last) /* it took the lock, and did not release it */
#endif
		:: else
		fi;
		last = NOBODY;
		search(NOBODY);
		if
		:: TURN(p) -> got(p)
		:: !TURN(p) -> enter(p); search(NOBODY); invite()
		fi
	fi
}

inline gone(p) {
	state[p] = away; waited[p] = 0; message[p] = false; asked[p] = false; placed[p] = false;
	for (i : 0 .. N - 1) {
		before[p * N + i] = false; before[i * N + p] = false
	}
}

proctype Waiter(byte p) {
end:	do
	:: atomic { state[p] == away -> state[p] = waiting; waited[p] = 0; asked[p] = true; ask(p) }
#ifdef NO_POLL
	:: atomic { state[p] == waiting && message[p] -> asked[p] = true; message[p] = false; ask(p) }
#else
	:: atomic { state[p] == waiting && (!asked[p] || message[p]) -> asked[p] = true; message[p] = false; ask(p) }
#endif
	:: atomic { state[p] == holds ->
		if
		:: holder == p && !invited -> release()
		:: else
		fi;
		gone(p) }
	/* Its caller leaves: the place is taken away, and an invitation goes to the next. */
	:: atomic { state[p] == waiting ->
#ifndef STAYS
		leave(p);
		if
		:: holder == p && invited -> release()
		:: else
		fi;
#endif
		gone(p) }
	/* It dies. */
	:: atomic { state[p] != away && state[p] != dead && faults < FAULTS -> faults++; gone(p); state[p] = dead }
	od
}

#ifdef NO_POLL
#define RESTS(p) (state[p] == away || state[p] == dead || state[p] == waiting && !message[p])
#else
#define RESTS(p) (state[p] == away || state[p] == dead || state[p] == waiting && asked[p] && !message[p])
#endif

proctype Time() {
	do
	:: d_step { RESTS(0) && RESTS(1) && RESTS(2) ->
#ifdef ENDLESS
		left = (left > 0 && !invited -> left - 1 : left);
#else
		left = (left > 0 -> left - 1 : 0);
#endif
		if
		:: left == 0 -> holder = NOBODY; invited = false
		:: else
		fi;
		for (i : 0 .. N - 1) {
			asked[i] = false;
			alive[i] = (alive[i] > 0 -> alive[i] - 1 : 0);
			waited[i] = (state[i] == waiting -> waited[i] + 1 : 0);
			assert(waited[i] <= PATIENCE)
		} }
	od
}

init {
	atomic {
		queue[0] = NOBODY; queue[1] = NOBODY; queue[2] = NOBODY;
		run Waiter(0); run Waiter(1); run Waiter(2); run Time()
	}
}
