/*
 * One lock at one Redis-like server, and two processes that want it.
 *
 * The server has one record of the lock: which id holds it, until when by the server's clock, and the newest fencing
 * token. A client asks for the lock by an id that it uses for one acquisition, counts its validity from when it sent
 * the request, renews, ends its context when the validity is over, and releases. The network carries a request out
 * late, twice or never, and loses or delays every reply. A process that holds stops and goes on at any time; one that
 * does not hold may take no step for as long as it likes. A resource beside the lock accepts writes with their tokens.
 *
 * Time is a number of ticks. The server's clock is the same number, or one more from some moment on: that is the
 * drift. Each option of a `do` loop below is one step. The checker tries every order of steps, and in each state it
 * evaluates the assertions.
 *
 * What must hold (inline `check`, and the asserts where a token is made, a write is accepted and time goes on):
 *   exclusion   at most one context says that the lock is held, but for that of a process that stands still and whose
 *               validity is over; and two only after the server has lost its data
 *   tokens      a new token is above every older one, also after the server has lost its data
 *   writes      the resource accepts no write of an earlier holder after one of a later holder
 *   settled     an id that the ledger has finished with never holds the lock again
 *   free        once the network is calm, every process that runs gets the lock as often as it wants it, though others
 *               have died (only with CALM)
 *
 * Parameters:
 *   IDS      acquisitions of each client    LEASE   ticks of a lease    WINDOW  how many ticks late a request may be
 *   END      when time stops                FORGETS the server may lose its data, once
 *   CALM     from that tick on the network loses, delays and doubles nothing
 *   DOUBLES  how often a request may be carried out
 *   TOKENS   with tokens and the resource, and without renewals and drift
 *
 * Wrong variants, each of which must be caught:
 *   FROM_REPLY        validity counts from the reply
 *   ALREADY_FROM_NOW  "already" counts from the last sending
 *   NO_MARGIN         validity is the whole lease
 *   NO_NOT_AFTER      the server carries out late requests
 *   LEDGER_ONCE       "not there" settles an id at any time
 *   RELEASE_FIRST     unlock releases, and then ends the context
 *   NO_END            nothing ends the context but an answer
 *   REUSED_ID         a client uses one id for all acquisitions (IDS=2)
 *   RELEASE_ANY       a release frees the lock of any id (IDS=2)
 *   COUNTED_TOKENS    tokens are counted and not timed (TOKENS FORGETS)
 *   NO_FENCE          the resource does not look at tokens (TOKENS)
 *   STRICT            overlaps are errors after a loss of data as well (FORGETS): so there are some
 *   NO_EXPIRY         a lock has no lease (CALM)
 */
#ifndef IDS
#define IDS 2
#endif
#ifndef LEASE
#define LEASE 3
#endif
#ifndef WINDOW
#define WINDOW 1
#endif
#ifndef END
#define END 5
#endif
#define N 2
#ifdef NO_MARGIN
#define VALID (LEASE)
#else
#define VALID (LEASE - 2) /* a tick for the drift, and one for a timer that is late */
#endif
#ifdef CALM
#define ROUGH (now < CALM)
#else
#define ROUGH true
#endif
#ifndef DOUBLES
#define DOUBLES 2
#endif
#define SCALE 8 /* tokens within one tick */

/* the server */
byte now;
bit fast; /* the server's clock is one tick ahead */
#define SERVER (now + fast)
byte holder; /* an id, from 1 on; 0: free */
byte ends;
bool down, forgot;

/* the network: what may still be carried out */
#define ID(c) (c * IDS + turn[c])
byte copies[N * IDS];   /* acquisitions by an id that are under way */
byte late[N * IDS];     /* the tick from which the server refuses them */
bool removal[N * IDS];  /* a release is under way, for ever */
#ifdef NO_NOT_AFTER
#define IN_TIME(id) true
#else
#define IN_TIME(id) (SERVER < late[id])
#endif

/* the clients */
mtype = {idle, asking, refused, held, releasing, done};
mtype = {none, yes, already, busy, gone};
mtype state[N] = idle;
mtype answer[N] = none; /* to the acquisition or release */
byte turn[N];           /* which of its ids is the present one */
byte sent[N];           /* when the present request was sent */
byte since[N];          /* when the first was sent by which the lease may have begun */
bool doubt[N];          /* a request by the present id had no answer */
bool context[N];        /* it says that the lock is held */
byte valid[N];
byte renewed[N];        /* when the renewal was sent that is waited for, and 1; 0: none is */
mtype kept[N] = none;   /* the answer to it */
bool paused[N];
bool owed[N * IDS];     /* the ledger releases the id */
bool settled[N * IDS];

#ifdef TOKENS
byte token;      /* the newest, as the server has it; 0: none */
byte newest;     /* of those that the server forgot */
byte fence[N];   /* that of a client's hold */
/* the resource */
byte highest;    /* of the tokens of writes that it accepted */
bool wrote[N];   /* the hold has sent its write */
byte writes[N];  /* a write is under way with this token; 0: none is */
#endif
#define OF(id) (id / IDS)
#ifdef FROM_REPLY
#define COUNTS(at) (now)
#else
#define COUNTS(at) (at)
#endif
#ifdef ALREADY_FROM_NOW
#define FIRST(c) (sent[c])
#else
#define FIRST(c) (since[c])
#endif
#ifdef LEDGER_ONCE
#define OVER(id) true
#else
#define OVER(id) (SERVER >= late[id])
#endif
#ifdef COUNTED_TOKENS
#define TOKEN (token + 1)
#else
#define TOKEN (token > SERVER * SCALE -> token + 1 : SERVER * SCALE + 1)
#endif
#ifdef NO_FENCE
#define ACCEPTS(c) true
#else
#define ACCEPTS(c) (writes[c] >= highest)
#endif
#ifdef NO_END
#define ENDS(c) true
#else
#define ENDS(c) (paused[c] || !context[c] || now < valid[c])
#endif
/* In the calm a process asks in each tick, has its answers before the next, and unlocks in the same tick. */
#ifdef CALM
bool asked[N];
#define ASKS(c) (!asked[c])
#define NOTE_ASKED(c) asked[c] = true
#define MOVES_ON(c) (ENDS(c) && (ROUGH || paused[c] || state[c] == done || state[c] == refused && asked[c]))
#define SERVED(c) (paused[c] || state[c] == done)
#else
#define ASKS(c) true
#define NOTE_ASKED(c) skip
#define MOVES_ON(c) ENDS(c)
#endif
#ifdef CALM
#define STOPS(c) (ROUGH && now + 1 == CALM)
#else
#define STOPS(c) context[c]
#endif
hidden byte x; /* a counter within a step */

#define LIVE(c) (context[c] && (!paused[c] || now < valid[c]))

inline check() {
#ifdef STRICT
	assert(!(LIVE(0) && LIVE(1)));
#else
	assert(!(LIVE(0) && LIVE(1)) || forgot);
#endif
	assert(holder == 0 || !settled[holder - 1])
}

inline no_token(c) {
#ifdef TOKENS
	fence[c] = 0; wrote[c] = false
#else
	skip
#endif
}

/* A request is under way, and a copy of it. */
inline send(c) {
	sent[c] = now;
	if
	:: state[c] == idle -> since[c] = now
	:: else
	fi;
	copies[ID(c)] = (ROUGH -> DOUBLES : 1);
	late[ID(c)] = SERVER + WINDOW + 1;
	answer[c] = none; no_token(c);
	state[c] = asking
}

/* The next Lock call of the client has another id. */
inline next(c) {
	state[c] = idle; answer[c] = none; sent[c] = 0; since[c] = 0; doubt[c] = false;
	valid[c] = 0; renewed[c] = 0; kept[c] = none; no_token(c);
#ifdef REUSED_ID
	if
	:: uses[c] < IDS - 1 -> uses[c]++
	:: else -> state[c] = done
	fi
#else
	if
	:: turn[c] < IDS - 1 -> turn[c]++
	:: else -> state[c] = done
	fi
#endif
}
#ifdef REUSED_ID
byte uses[N];
#endif

inline disown(c) { owed[ID(c)] = true }

/* The hold is over here: the context says so, and the ledger takes the id. */
inline lose(c) {
	context[c] = false;
	disown(c);
	next(c)
}

inline take(c, start) {
	if
	:: now >= start + VALID -> disown(c); next(c)
	:: else ->
		state[c] = held; context[c] = true; answer[c] = none; valid[c] = start + VALID;
		sent[c] = 0; since[c] = 0
	fi
}

proctype Client(byte c) {
end:	do
	/* It asks, for the first time or again. */
	:: atomic { !paused[c] && (state[c] == idle || state[c] == refused) && now < END && ASKS(c) ->
		send(c); NOTE_ASKED(c); check() }
	/* It had no answer for long, and asks again by the same id. */
	:: atomic { !paused[c] && state[c] == asking && (ROUGH || copies[ID(c)] == 0 && answer[c] == none) ->
		doubt[c] = true; send(c); check() }
	/* Or its caller leaves. */
	:: atomic { !paused[c] && (state[c] == asking || state[c] == refused) && ROUGH -> disown(c); next(c); check() }
	/* The answer comes. */
	:: atomic { !paused[c] && state[c] == asking && answer[c] == busy ->
		state[c] = refused; since[c] = sent[c]; sent[c] = 0; answer[c] = none; check() }
	:: atomic { !paused[c] && state[c] == asking && answer[c] == yes -> take(c, COUNTS(sent[c])); check() }
	:: atomic { !paused[c] && state[c] == asking && answer[c] == already -> take(c, COUNTS(FIRST(c))); check() }
#ifndef TOKENS
	/* It renews. */
	:: d_step { !paused[c] && context[c] && renewed[c] == 0 -> renewed[c] = now + 1 }
	:: atomic { !paused[c] && context[c] && kept[c] == yes ->
		if
		:: COUNTS(renewed[c] - 1) + VALID > valid[c] -> valid[c] = COUNTS(renewed[c] - 1) + VALID
		:: else
		fi;
		renewed[c] = 0; kept[c] = none; check() }
	:: atomic { !paused[c] && context[c] && kept[c] == gone -> lose(c); check() }
	:: d_step { !paused[c] && context[c] && renewed[c] != 0 && ROUGH -> renewed[c] = 0; kept[c] = none }
#endif
#ifndef NO_END
	/* Its validity is over. */
	:: atomic { !paused[c] && context[c] && now >= valid[c] -> lose(c); check() }
#endif
#ifdef TOKENS
	/* It writes, once for each hold; the write may take any time. */
	:: d_step { !paused[c] && context[c] && writes[c] == 0 && !wrote[c] ->
		wrote[c] = true; writes[c] = fence[c] }
#endif
	/* It unlocks. */
	:: atomic { !paused[c] && state[c] == held ->
#ifndef RELEASE_FIRST
		context[c] = false; valid[c] = 0;
#endif
		renewed[c] = 0; kept[c] = none; no_token(c);
		state[c] = releasing; removal[ID(c)] = true; check() }
	:: atomic { !paused[c] && state[c] == releasing && answer[c] == yes ->
		context[c] = false;
		if
		:: doubt[c] -> disown(c)
		:: else
		fi;
		next(c); check() }
	/* The release has no answer, and is left to the ledger. */
	:: atomic { !paused[c] && state[c] == releasing && ROUGH -> context[c] = false; disown(c); next(c); check() }
	od
}

/* A process stops, and goes on: then what is over ends before anything else. */
proctype Process(byte c) {
end:	do
	:: atomic { !paused[c] && STOPS(c) -> paused[c] = true; check() }
	:: atomic { paused[c] && ROUGH -> paused[c] = false;
		if
#ifndef NO_END
		:: context[c] && now >= valid[c] -> lose(c)
#endif
		:: else
		fi;
		check() }
	od
}

inline free() { holder = 0; ends = 0 }

inline grant(id) {
	holder = id + 1;
	ends = SERVER + LEASE;
#ifdef TOKENS
	assert(TOKEN > token && TOKEN > newest);
	token = TOKEN
#endif
}

/* The answer goes to its client, if that still waits for it. */
inline reply(id, what) {
	if
	:: state[OF(id)] == asking && ID(OF(id)) == id && answer[OF(id)] == none ->
		answer[OF(id)] = what;
#ifdef TOKENS
		fence[OF(id)] = (what == busy -> 0 : token)
#endif
	:: else
	fi
}

/* What the server does with the requests by one id. */
proctype Server(byte id) {
end:	do
	:: atomic { copies[id] > 0 && IN_TIME(id) && !down ->
		copies[id]--;
		if
		:: holder == 0 -> grant(id); reply(id, yes)
		:: holder == id + 1 -> reply(id, already)
		:: else -> reply(id, busy)
		fi;
		check() }
#ifndef TOKENS
	:: atomic { !down && context[OF(id)] && ID(OF(id)) == id && renewed[OF(id)] != 0 && kept[OF(id)] == none ->
		if
		:: holder == id + 1 -> ends = SERVER + LEASE; kept[OF(id)] = yes
		:: else -> kept[OF(id)] = gone
		fi;
		check() }
#endif
	:: atomic { removal[id] && !down ->
		if
#ifdef RELEASE_ANY
		:: holder != 0 -> free()
#else
		:: holder == id + 1 -> free()
#endif
		:: else
		fi;
		if
		:: state[OF(id)] == releasing && ID(OF(id)) == id -> answer[OF(id)] = yes
		:: else
		fi;
		check() }
	od
}

/* An id that is owed is released, until no request for it can be carried out. Every answer may be lost. */
proctype Ledger(byte id) {
end:	do
	:: atomic { owed[id] && !paused[OF(id)] && !down ->
		removal[id] = true;
		if
		:: holder == id + 1 -> free()
		:: else
		fi;
		if
		:: ROUGH
		:: OVER(id) -> owed[id] = false; settled[id] = true
		:: !OVER(id)
		fi;
		check() }
	od
}

#ifdef TOKENS
proctype Resource(byte c) {
end:	do
	:: atomic { writes[c] != 0 ->
		if
		:: ACCEPTS(c) -> assert(writes[c] >= highest); highest = writes[c]
		:: else
		fi;
		writes[c] = 0 }
	od
}
#endif

/* What ends by the server's clock. */
inline expire() {
#ifndef NO_EXPIRY
	if
	:: holder != 0 && SERVER >= ends -> free()
	:: else
	fi;
#endif
	for (x : 0 .. N * IDS - 1) {
		if
		:: late[x] != 0 && SERVER >= late[x] ->
			late[x] = 0;
#ifndef NO_NOT_AFTER
			copies[x] = 0
#endif
		:: else
		fi
	}
}

inline forget_token() {
#ifdef TOKENS
	newest = (token > newest -> token : newest); token = 0
#else
	skip
#endif
}

proctype Time() {
	do
	:: atomic { now < END && MOVES_ON(0) && MOVES_ON(1) ->
		now++;
		down = false;
		expire();
#ifdef CALM
		asked[0] = false; asked[1] = false;
		if
		:: now == CALM -> for (x : 0 .. N * IDS - 1) { copies[x] = 0 } 
		:: else
		fi;
		assert(now < END || SERVED(0) && SERVED(1));
#endif
		check() }
#ifndef TOKENS
	:: atomic { !fast && now > 0 && now < END && ROUGH -> fast = 1; expire(); check() }
#endif
#ifdef FORGETS
	:: atomic { !forgot && now < END && ROUGH -> forgot = true; down = true; free(); forget_token(); check() }
#endif
	:: now == END -> break
	od
}

init {
	atomic {
		run Client(0); run Client(1);
		run Process(0); run Process(1);
#ifdef TOKENS
		run Resource(0); run Resource(1);
#endif
		run Time();
		for (x : 0 .. N * IDS - 1) { run Server(x); run Ledger(x) }
	}
}
