package serverclock

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// sending is one client's request to a node, on a clock that stands unless a test moves it.
type sending struct {
	Clocks
	at  time.Duration
	saw []Window // of each sending
}

func (c *sending) now() time.Duration { return c.at }

func (c *sending) send(ctx context.Context, r Request, answer func() (Answer, error)) (store.Receipt, error) {
	r.Node, r.When = "node", store.Timing{Sent: c.at, Within: s}
	return c.Send(ctx, c.now, r, func(w Window) (Answer, error) {
		c.saw = append(c.saw, w)
		return answer()
	})
}

// A request that came too late did nothing, and is sent again by the time that its answer told.
func TestARequestThatWasLateIsSentAgain(t *testing.T) {
	const now = 1_000_000_000
	for name, test := range map[string]struct {
		answers []Answer
		leaves  bool
		sent    int
		err     error
	}{
		"the clock was not known":     {answers: []Answer{{TooLate: true, Now: now}, {Now: now}}, sent: 2},
		"the clock was set ahead":     {answers: []Answer{{TooLate: true, Now: now}, {TooLate: true, Now: 2 * now}, {Now: 2 * now}}, sent: 3},
		"the clock runs away":         {answers: []Answer{{TooLate: true, Now: now}}, sent: 3, err: errClock},
		"its caller leaves meanwhile": {answers: []Answer{{TooLate: true, Now: now}}, leaves: true, sent: 1, err: store.ErrUnsent},
	} {
		t.Run(name, func(t *testing.T) {
			var c sending
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			receipt, err := c.send(ctx, Request{}, func() (Answer, error) {
				if test.leaves {
					leave()
				}
				c.at += s
				return test.answers[min(len(c.saw), len(test.answers))-1], nil
			})
			require.ErrorIs(t, err, test.err)
			require.Len(t, c.saw, test.sent)
			require.Zero(t, c.saw[0].NotAfter)
			for i, w := range c.saw[1:] {
				require.Greater(t, w.NotAfter, test.answers[min(i, len(test.answers)-1)].Now)
			}
			want := store.Receipt{Since: time.Duration(test.sent-1) * s, Late: store.Late(c.saw[test.sent-1].NotAfter)}
			require.Equal(t, want, receipt, "of the last sending")
		})
	}
}

// A request that a node remembers by its id has no effect after the node has forgotten the id, however long its process
// was stopped between two sendings.
func TestNothingIsCarriedOutAfterTheIdIsForgotten(t *testing.T) {
	var c sending
	lost := func() (Answer, error) { return Answer{}, store.ErrConflict }
	c.Observe("node", 0, 0, time.Hour.Microseconds())
	r := Request{Patience: 5 * s}
	first, err := c.send(t.Context(), r, lost)
	require.ErrorIs(t, err, store.ErrConflict)
	forgets := (time.Hour + 6*s).Microseconds()
	require.Equal(t, Window{NotAfter: (time.Hour + s).Microseconds(), Until: forgets}, c.saw[0])
	r.First = first.Late
	c.at = 2 * s
	_, _ = c.send(t.Context(), r, lost)
	require.Equal(t, Window{NotAfter: (time.Hour + 3*s).Microseconds(), Until: forgets}, c.saw[1])
	c.at = time.Minute
	_, _ = c.send(t.Context(), r, lost)
	require.Equal(t, Window{NotAfter: forgets, Until: forgets}, c.saw[2], "the node refuses it")
}

// A release is to be sent again until it was carried out when no copy could come any more.
func TestWhenAReleaseIsWorthRepeating(t *testing.T) {
	require.Zero(t, Again(5000, 5001))
	require.Equal(t, ms, Again(5000, 5000))
	require.Equal(t, 3*ms, Again(5000, 3000))
}

// A time of which 32 bits are left is told as that, at once, and not as a clock that runs away (defect G67).
func TestATimeThatWasCutIsToldAsThat(t *testing.T) {
	for _, cut := range []int64{math.MinInt32, math.MaxInt32} {
		var clocks Clocks
		sent := 0
		_, err := clocks.Send(t.Context(), func() time.Duration { return 0 }, Request{Node: "n"},
			func(Window) (Answer, error) {
				sent++
				return Answer{TooLate: true, Now: cut}, nil
			})
		require.ErrorContains(t, err, "cuts numbers to 32 bits")
		require.Equal(t, store.FaultDefinite, store.FaultOf(err))
		require.Equal(t, 1, sent)
	}
}
