package localqueue

import "time"

// RunPause is how long a process waits at most, after a run of its own, for each release of others that it lets
// pass.
const RunPause = 5 * time.Millisecond

// KeptPause is for how long a process leaves a key alone after it kept it for a second, or after it kept it and another
// client heard of the release, unless one of them asked for it. Some of those that may want it do not ask. A thread of
// Redisson's lock() hears of the release, and needs some milliseconds until it is awake. A client that polls hears
// nothing: it finds the key free if it polls in this time.
//
// It is a share of the second that a process which is alone can spare, and longer than the interval of a client that
// polls every 10 ms. A client that polls every 100 ms finds the key free after some seconds. The engine varies it by a
// quarter.
const KeptPause = 40 * time.Millisecond

const maxOwed = 64 // releases of others that a process lets pass after a run

// Heard is how many messages of a key's channel were heard under one subscription. The zero Heard is that of
// a channel that is not subscribed to.
type Heard struct {
	Subscription uint64 // which one; none has the number 0
	Messages     uint64
}

// since is how many messages came after base was read; 0 if base was read later. Under another subscription, or none,
// some may have been missed, and how many came cannot be told: it is 0.
func (h Heard) since(base Heard) int {
	if h.Subscription == 0 || h.Subscription != base.Subscription {
		return 0
	}
	return max(int(h.Messages-base.Messages), 0)
}

// debt is the turns that this process owes to others. Processes that wake quickly would pass a lock to one another
// for ever, and one that is slower would never get it; so, after a run, a process lets as many releases
// pass as there were others that heard of its end.
//
// An example. Processes A, B, C and D want one key; D crashed a moment ago, and the store still counts its
// subscription. A ends a run: the release reached 4 subscribers, one of them A itself, so others = 3.
//
//	                               owes  absent  others
//	A's release: 3 owed, and its
//	own message, which comes too    4      0       3
//	A hears its own message         3
//	B's run ends, A hears that      2
//	C's run ends, A hears that      1
//	D does not come; A's patience
//	ends, it asks, has its run,
//	and releases: 1 was owed in
//	vain, so 1 is absent            3      1       2     2 owed, and its own message
//	its own, B's and C's messages   0
//	A's next release: nothing was
//	owed in vain, so D is given
//	another chance                  4      0       3
//
// So a subscription that lingers costs A its patience every other time, and not every time; and a process that was
// only slow is waited for again. One of them always is (absent stays below the number of others), or with one other
// process alone the one that is slower would never get in.
type debt struct {
	owes   int           // messages that it still lets pass
	others int           // who besides this process is thought to want the key, as the last run ended
	absent int           // who heard of that end too, and is not thought to: it did not come the time before
	until  time.Duration // for one that does not listen: when it may ask again
	heard  Heard         // the messages up to which owes was reckoned
}

// incur has the process owe a turn to each of the others that heard of the end of its run.
//
// A process that hears need not want the key: a subscription lingers. So those whose turn was waited for in vain,
// which is what was owing still when this run began, are not waited for this time, and the next time again: somebody
// may have been too slow.
//
// While we are subscribed our own message comes too: it is owed like the others', and pays for itself.
func (d *debt) incur(others int, now time.Duration) {
	if d.owes > 0 {
		d.absent = min(d.absent+d.owes, others-1)
	} else {
		d.absent = 0
	}
	d.until, d.others = now+RunPause, others-d.absent
	d.owes = min(d.others, maxOwed)
	if d.heard != (Heard{}) {
		d.owes++
	}
}

// reckon takes off what was heard, and reports whether there was anything. If messages may have been missed, those
// from here on count.
func (d *debt) reckon(heard Heard) bool {
	n := heard.since(d.heard)
	d.owes, d.heard = max(d.owes-n, 0), heard
	return n > 0
}

// RunEnds notes what had been heard of a key before the release was sent that ends a run. Read afterwards, the count
// could have the release's own message in it or not.
func (q *Queue) RunEnds(heard Heard) {
	if q.debt.reckon(heard) {
		q.debt.owes = 0 // somebody's release was on its way as this run began: nobody was waited for in vain
	}
	q.debt.others = 0
}

// Owes reports whether the process is still to let releases of others pass. In the middle of a series it is not: what
// was owed before was waited for, in vain, as the series began.
func (q *Queue) Owes(heard Heard) bool {
	q.debt.reckon(heard)
	return q.debt.owes > 0 && q.series.turns == 0
}

// OutUntil is the instant until which the process leaves the key to others, if it does not listen.
func (q *Queue) OutUntil() time.Duration { return q.debt.until }
