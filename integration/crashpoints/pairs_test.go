package crashpoints_test

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
)

// action is the fault at a point.
type action string

const (
	fail      action = "error"      // the point returns an error, of the most harmless kind that is true
	delay     action = "delay"      // two command limits pass
	longDelay action = "long-delay" // two leases pass
	cancel    action = "cancel"     // the context of the calls under way ends
	kill      action = "kill"       // the process dies by SIGKILL
	stop      action = "stop"       // the process is stopped for more than a lease, and continued
	drop      action = "drop"       // silence: before sending nothing is sent, after it the reply is lost
	empty     action = "empty"      // the server is killed, and comes back without its data
	restart   action = "restart"    // the server is killed, and comes back with its data
	deafen    action = "deafen"     // all connections that listen are cut
	forget    action = "forget"     // what a server may forget at any time: scripts, connections
)

func actions() []action {
	return []action{
		fail, delay, longDelay, cancel, kill, stop, drop, empty, restart, deafen, forget,
	}
}

// transparent actions only cost time: every call must end as if nothing had happened. A server that comes
// back with its data in a fraction of a lease is among them.
func (a action) transparent() bool {
	switch a {
	case fail, delay, drop, restart, deafen, forget:
		return true
	}
	return false
}

// lease is the subject's. Where a loss would be a failure it is longer, so that a loaded machine is not
// mistaken for a bug; and where nothing may be left until the end of a lease, it is so long that this would
// show.
func (a action) lease(s scenario, on site) time.Duration {
	switch {
	case !a.transparent() && a != cancel:
		return on.pace * 600 * time.Millisecond
	case a == delay, s == renewal, a == restart && on.lazy,
		s == transfer && a == cancel: // what is not imported stays for a lease
		return on.pace * 1800 * time.Millisecond
	}
	return 30 * time.Second
}

// isExchange reports whether the point is one of a request, and on which side.
func isExchange(p crash.Point) (send, reply bool) {
	for _, x := range []crash.Exchange{crash.Acquire, crash.Count, crash.Release,
		crash.Export, crash.Adopt, crash.Renew, crash.Disowned} {
		send, reply = send || p == x.Send, reply || p == x.Reply
	}
	return send, reply
}

// senseless says why a pair is omitted; "" if it is not.
func senseless(p crash.Point, a action) string {
	send, reply := isExchange(p)
	switch {
	case a == drop && !send && !reply:
		return "nothing is sent there, so no reply can be lost"
	case a == cancel && (p == crash.Disowned.Send || p == crash.Disowned.Reply):
		return "it cleans up after a call whose context has ended: there is none left to cancel"
	}
	return ""
}

// scenario is what the subject does; see the methods of subject with these names.
type scenario string

const (
	plain     scenario = "plain"     // lock, unlock
	second    scenario = "second"    // the same after a contact, so that the server's clock is known
	counted   scenario = "counted"   // lock, re-enter until the store was told, leave, unlock
	waiting   scenario = "waiting"   // lock while the rival holds
	line      scenario = "line"      // two wait behind a holder of the same client
	renewal   scenario = "renewal"   // hold until long after a renewal
	transfer  scenario = "transfer"  // export, import by another client
	abandoned scenario = "abandoned" // an acquisition that its context ends before the reply is read
	closing   scenario = "closing"   // Close, with a hold and a waiter
)

// course is the way to a point: the scenario, and at which passing of the point the strike happens. What a client needs
// for its first contact does not count.
type course struct {
	scenario scenario
	passing  int
}

func courseTo(p crash.Point) course {
	switch p {
	case crash.Acquire.Send, crash.Acquire.Reply:
		return course{second, 1}
	case crash.Release.Send, crash.Release.Reply, crash.Unlock:
		return course{plain, 1}
	case crash.Count.Send, crash.Count.Reply:
		return course{counted, 1}
	case crash.Subscribe, crash.Subscribed, crash.Wake:
		return course{waiting, 1}
	case crash.Enqueue:
		return course{line, 1}
	case crash.Granted:
		return course{line, 2} // the first is the holder's own
	case crash.Renew.Send, crash.Renew.Reply:
		return course{renewal, 1}
	case crash.Export.Send, crash.Export.Reply:
		return course{transfer, 1}
	case crash.Adopt.Send, crash.Adopt.Reply:
		return course{transfer, 1}
	case crash.Disowned.Send, crash.Disowned.Reply:
		return course{abandoned, 1}
	case crash.Close:
		return course{closing, 1}
	}
	return course{}
}

// lockName is the lock of every pair: each has its own server, or database.
const lockName = "struck"

const (
	maxPoll        = time.Second
	releaseTimeout = 2 * time.Second
	away           = 100 * time.Millisecond // for how long a server that is killed does not even start
	slack          = 5 * time.Second        // for a loaded machine, on top of what is promised
	patience       = 40 * time.Second
)
