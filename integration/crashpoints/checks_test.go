package crashpoints_test

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

// found is the result of a pair.
type found struct {
	fired   int
	fresh   time.Duration // how long a fresh client waited after it
	starved bool          // the subject got no processor, or the server was down, for so long that a loss is expected
	words   []string      // of the calls that the table reports: those that failed
	cut     int
}

// check compares all observations with the guarantees.
func (l *lab) check() found {
	l.t.Helper()
	f := found{fired: l.fired, cut: l.cut}
	require.Equal(l.t, 1, l.fired, "the strike did not happen once, but %d times; last words: %s", l.fired, l.last(60))
	f.fresh = l.fresh()
	redistest.Eventually(l.t, l.patience(), func() bool { return l.rival.since(l.gone) },
		"the rival is stuck")
	require.NoError(l.t, l.rival.close())
	f.starved, f.words = l.checkCalls()
	stays := l.stays()
	assert.Empty(l.t, overlaps(stays, l.forgiven()))
	assert.Empty(l.t, disorder(stays, l.forgiven()))
	l.checkProof()
	l.checkRemains()
	return f
}

// patience is how long others may wait for the lock when the subject is done: only a short lease may have
// to end first.
func (l *lab) patience() time.Duration { return shortLease(l.lease) + l.site.poll + slack }

func shortLease(lease time.Duration) time.Duration {
	if lease > 10*time.Second {
		return 0
	}
	return lease
}

// fresh lets a new client take the lock, and returns how long that took.
func (l *lab) fresh() time.Duration {
	l.t.Helper()
	fresh := l.newRival("fresh")
	start := stamp.Now()
	st, err := fresh.enter(l.t.Context(), patience)
	took := stamp.Now() - start
	require.NoError(l.t, err)
	require.NotNil(l.t, st)
	st.leave()
	require.NoError(l.t, st.unlock())
	require.NoError(l.t, fresh.close())
	assert.Less(l.t, took, l.patience(), "a fresh client's wait")
	l.reports = append(l.reports, report{Kind: stayed, Stay: &st.stay})
	return took
}

// stays are those of all processes, each as it was last reported.
func (l *lab) stays() []stay {
	known := make(map[int]stay)
	for _, r := range l.reports {
		if r.Kind == stayed && r.Stay.Who == "subject" {
			known[r.Stay.ID] = *r.Stay
		}
	}
	var all []stay
	for _, s := range known {
		all = append(all, s)
	}
	for _, r := range l.reports {
		if r.Kind == stayed && r.Stay.Who == "fresh" {
			all = append(all, *r.Stay)
		}
	}
	l.rival.mu.Lock()
	defer l.rival.mu.Unlock()
	for _, s := range l.rival.stays {
		all = append(all, s)
	}
	return all
}

// forgiven is the time until which two stays may overlap: a server that came back without its data has
// forgotten holds, which the subject treats as live until the last confirmed lease has ended. The rival's
// stay ends in a moment anyway.
func (l *lab) forgiven() time.Duration {
	if l.action == empty {
		return l.killed + l.lease
	}
	return 0
}

// checkCalls checks how every call of the subject ended, and when.
func (l *lab) checkCalls() (starved bool, words []string) {
	l.t.Helper()
	var stall time.Duration
	for _, r := range l.reports {
		switch r.Kind {
		case stalled:
			stall, _ = time.ParseDuration(r.Text)
		case leaked, "nonsense":
			assert.Fail(l.t, r.Kind, r.Text)
		}
	}
	starved = max(stall, l.down) > l.lease/3
	if l.action == restart { // the subject stands until the server is gone, and has to connect again when it is back
		starved = starved || l.stood > min(l.lease/3, l.site.pace*releaseTimeout/2)
	}
	if l.action == stop {
		assert.Greater(l.t, stall, l.lease/2, "the subject was not stopped")
	}
	limit := 3*shortLease(l.lease) + l.site.pace*releaseTimeout + l.patience() + l.stood
	for _, r := range l.reports {
		if c := r.Call; c != nil {
			assert.Less(l.t, c.Took, limit, c.Name)
			assert.Contains(l.t, l.allowed(c, starved), c.Word, "%s: %s", c.Name, c.Error)
			if c.Word != "nil" {
				words = append(words, c.Name+": "+c.Word+" ("+c.Error+")")
			}
		}
	}
	return starved, words
}

// allowed are the outcomes that a call may have.
func (l *lab) allowed(c *callReport, starved bool) []string {
	switch {
	case strings.HasSuffix(c.Name, " after"):
		return []string{"nil"} // all was well again
	case l.action.transparent() && !starved:
		return []string{c.Want}
	case l.action == cancel && !starved:
		return []string{c.Want, "canceled"}
	}
	words := []string{c.Want, "lost", "unavailable", "unconfirmed"}
	switch {
	case strings.HasPrefix(c.Name, "lock"), c.Name == "reenter", c.Name == "import":
		return append(words, "busy", "canceled", "not-held")
	case strings.HasPrefix(c.Name, "unlock"), c.Name == "leave":
		return append(words, "not-held")
	case strings.HasPrefix(c.Name, "close"):
		return append(words, "nil", "held")
	}
	return words
}

// checkProof requires evidence that an action had its intended effect, beyond having been carried out.
func (l *lab) checkProof() {
	l.t.Helper()
	if l.action == deafen && (l.point == crash.Subscribed || l.point == crash.Wake) {
		assert.Positive(l.t, l.cut, "no subscription was cut")
	}
	for w := range l.rival.words {
		known := []string{"nil", "busy", "canceled", "unavailable", "unconfirmed", "lost", "not-held"}
		assert.True(l.t, slices.Contains(known, w), "the rival was told %q", w)
	}
}

// checkRemains waits until nothing is left of holds at the server, and nobody listens.
func (l *lab) checkRemains() {
	l.t.Helper()
	redistest.Eventually(l.t, l.patience(), func() bool { return len(l.server.left()) == 0 }, "holds are left")
	redistest.Eventually(l.t, slack, func() bool { return len(l.server.listened()) == 0 }, "somebody still listens")
}

// overlaps are all pairs of stays that overlap later than is forgiven.
func overlaps(stays []stay, forgiven time.Duration) []witness.Pair[stay] {
	return slices.DeleteFunc(witness.Overlaps(stays), func(p witness.Pair[stay]) bool {
		return min(p.Earlier.To, p.Later.To) <= forgiven
	})
}

// disorder are the stays whose token is not above that of a stay that had ended before. A grant that was forgotten
// before its owner had it may begin as late as is forgiven.
func disorder(stays []stay, forgiven time.Duration) []witness.Pair[stay] {
	return slices.DeleteFunc(witness.Disorder(stays), func(p witness.Pair[stay]) bool {
		return p.Later.Moved && p.Later.Fence == p.Earlier.Fence || p.Later.Who == "subject" && p.Later.From <= forgiven
	})
}
