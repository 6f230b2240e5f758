/*
 * A lock that stays with its process.
 *
 * Process A keeps what it locked: after its unlock the grant is idle, and the next call of A has it without asking
 * the server. Process B wants the same lock now and then. The server tells A of that when it refuses B (the want),
 * and A lets an idle grant go. No other process can see whether A needs the lock, so A also lets it go some time
 * after the request that brought it (KEEP).
 *
 * Time is a number of ticks, and every timer counts down or up to its limit, so time has no end here: A and B go on
 * for ever, and the checker visits every state that they can come to. Requests have answers in this model, since
 * lock.pml is about those that have none; only the want may be lost or late (LOSES), and A may stand still at any
 * time.
 *
 * What must hold:
 *   exclusion  A's context and B's never both say that they hold, but for an A that stands still past its validity
 *   wanted     B has the lock in the tick in which it asks for it while A runs, within KEEP if wants may be lost, and
 *              when A stands still within KEEP and a lease more. A calls again and again meanwhile
 *
 * Wrong variants, each of which must be caught:
 *   RESUMES_STALE  a call resumes what is not valid any more (KEEP=6)
 *   TWO_STEPS      a grant that is being let go can be resumed
 *   EARLY_WANT     a want that comes before its grant is forgotten
 *   IGNORES_WANT   a want of an idle grant is dropped
 *   KEEPS_WANTED   unlock keeps what is wanted
 *   NO_LIMIT       nothing but a want ends an idle grant (LOSES)
 *   NOT_OWED       A asks before B was heard (LOSES)
 */
#ifndef LEASE
#define LEASE 4
#endif
#ifndef KEEP
#define KEEP 2
#endif
#define VALID (LEASE - 1)

mtype = {out, asking, held, idle, letting};
mtype a = out;
byte age;       /* ticks since A sent the request that brought the grant, KEEP at most */
byte valid;     /* ticks for which the grant is still valid */
bool granted;   /* the answer to A is under way */
bool wanted;    /* A knows that B waits */
bool early;     /* it learnt that before it had the grant */
bool owes;      /* A has released what B waits for, and lets B ask first */
bool stands;    /* A stands still */
#ifdef TWO_STEPS
bool goes;      /* somebody has decided to release the grant */
#endif

mtype = {away, waiting, holds};
mtype b = away;
bool asked;     /* in this tick */
bool woken;     /* by the message of a release */
byte waited;    /* ticks since B came */
bool excused;   /* A stood still meanwhile */

#define OF_A 1
#define OF_B 2
byte holder;    /* as the server has it */
byte left;      /* ticks until the lease ends */
bool want;      /* the message to A is under way */

#ifdef LOSES
#define PATIENCE KEEP
#else
#define PATIENCE 0
#endif
#ifdef NO_LIMIT
#define AGED false
#else
#define AGED (age >= KEEP)
#endif
#ifdef RESUMES_STALE
#define FRESH (!AGED)
#else
#define FRESH (!AGED && valid > 0)
#endif
#define RESUMES (FRESH && !wanted)
#ifdef KEEPS_WANTED
#define RESTS (FRESH && valid > 0)
#else
#define RESTS (FRESH && valid > 0 && !wanted)
#endif

inline check() { assert(!(a == held && (!stands || valid > 0) && b == holds)) }

inline over() { a = out; age = 0; valid = 0; wanted = false; early = false; granted = false }

/* A's grant is over here, and released at the server, which tells B. */
inline release() {
	if
	:: holder == OF_A ->
		holder = 0; left = 0;
		if
		:: b == waiting ->
			woken = true;
#ifndef NOT_OWED
			owes = true
#endif
		:: else
		fi
	:: else
	fi;
	over()
}

/* That it is idle is looked at, and that it is let go is noted, in one step. */
inline let_go() {
#ifdef TWO_STEPS
	goes = true
#else
	a = letting
#endif
}

proctype A() {
end:	do
	:: atomic { !stands && a == out && !owes -> a = asking; age = 0; valid = VALID; check() }
	:: atomic { !stands && a == asking && granted && valid > 0 ->
		granted = false; a = held; wanted = early; early = false; check() }
	:: atomic { !stands && a == asking && granted && valid == 0 -> release(); check() }
	/* It unlocks, and keeps the grant or releases it. */
	:: atomic { !stands && a == held && RESTS -> a = idle; check() }
	:: atomic { !stands && a == held && !RESTS -> release(); check() }
	/* The next call. */
	:: atomic { !stands && a == idle && RESUMES -> a = held; check() }
	/* It is renewed, in use or not. */
	:: atomic { !stands && (a == held || a == idle) && valid > 0 && valid < VALID ->
		if
		:: holder == OF_A -> left = LEASE; valid = VALID
		:: else -> over()
		fi;
		check() }
	/* A want comes. */
	:: atomic { !stands && want ->
		want = false;
		if
#ifndef EARLY_WANT
		:: a == asking && granted -> early = true
#endif
		:: a == held -> wanted = true
#ifndef IGNORES_WANT
		:: a == idle -> wanted = true; let_go()
#endif
		:: else
		fi;
		check() }
	/* It is idle for too long, or no longer valid. */
	:: atomic { !stands && a == idle && AGED -> let_go(); check() }
	:: atomic { !stands && (a == held || a == idle) && valid == 0 -> release(); check() }
	:: atomic { !stands && a == letting -> release(); check() }
#ifdef TWO_STEPS
	:: atomic { !stands && goes -> goes = false;
		if
		:: holder == OF_A -> holder = 0; left = 0; woken = (b == waiting)
		:: else
		fi;
		if
		:: a == idle -> over()
		:: else
		fi;
		check() }
#endif
	/* It stops, once while B waits, and goes on: then what is over ends first. */
	:: atomic { !stands && a != out && !excused -> stands = true; excused = (b == waiting); check() }
	:: atomic { stands -> stands = false;
		if
		:: a == held && valid == 0 -> release()
		:: else
		fi;
		check() }
	od
}

proctype B() {
end:	do
	:: atomic { b == away -> b = waiting; waited = 0; asked = false; excused = stands; check() }
	:: atomic { b == waiting && (!asked || woken) ->
		asked = true; woken = false; owes = false;
		if
		:: holder == 0 -> holder = OF_B; left = LEASE; b = holds; waited = 0; excused = false
		:: holder == OF_A -> want = true
#ifdef LOSES
		:: holder == OF_A
#endif
		fi;
		check() }
	:: atomic { b == holds -> holder = 0; left = 0; b = away; asked = false; check() }
	od
}

proctype Server() {
end:	do
	:: atomic { a == asking && !granted ->
		if
		:: holder == 0 -> holder = OF_A; left = LEASE; granted = true
		:: holder != 0 -> over() /* A comes again when it is told of a release, or some time */
		fi;
		check() }
	od
}

/* Whatever runs has done its next step before the tick. A section is short, and so is the way of a message. */
#ifdef TWO_STEPS
#define GOES goes
#else
#define GOES false
#endif
#ifdef LOSES
#define ARRIVED true
#else
#define ARRIVED (!want)
#endif
#define A_RESTS (a != asking || granted) && (stands || a == out || a == idle && valid > 0 && !AGED && !GOES && ARRIVED)
#define B_RESTS (b == away || b == waiting && asked && !woken)

proctype Time() {
	do
	:: atomic { A_RESTS && B_RESTS ->
		left = (left > 0 -> left - 1 : 0);
		holder = (left > 0 -> holder : 0);
		valid = (valid > 0 -> valid - 1 : 0);
		age = (age < KEEP && a != out -> age + 1 : age);
		asked = false; owes = false;
		if
		:: b == waiting ->
			waited++;
			assert(waited <= (excused -> PATIENCE + KEEP + LEASE : PATIENCE))
		:: else
		fi;
		check() }
	od
}

init { atomic { run A(); run B(); run Server(); run Time() } }
