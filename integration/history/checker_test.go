package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hold is a hold of "a", from one moment to another.
func hold(fence int64, from, to time.Duration) Hold {
	return Hold{Name: "a", ID: fmt.Sprint(fence, from, to), Fence: fence, Client: "c", Start: from, End: to}
}

// other is a hold of another name.
func other(h Hold) Hold {
	h.Name = "b"
	h.ID += "b"
	return h
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		holds []Hold
		want  int
	}{
		"none":              {nil, 0},
		"one after another": {[]Hold{hold(1, 10, 20), hold(2, 21, 30)}, 0},
		"touching":          {[]Hold{hold(1, 10, 20), hold(2, 20, 30)}, 0},
		"other name":        {[]Hold{hold(1, 10, 20), other(hold(2, 15, 30))}, 0},
		"by a nanosecond":   {[]Hold{hold(1, 10, 20), hold(2, 19, 30)}, 1},
		"inside":            {[]Hold{hold(1, 10, 20), hold(2, 12, 13)}, 1},
		"at one time":       {[]Hold{hold(1, 10, 20), hold(2, 10, 20)}, 1},
		// The hold before the last one ended, but one before that goes on.
		"under a long one": {[]Hold{hold(1, 10, 100), hold(2, 20, 30), hold(3, 40, 50)}, 2},
		"never believed":   {[]Hold{hold(1, 10, 20), hold(2, 15, 15), hold(3, 18, 12)}, 0},
		"in both names": {[]Hold{
			hold(1, 10, 20), hold(2, 12, 22), other(hold(1, 10, 20)), other(hold(2, 12, 22)),
		}, 2},
	}
	for name, c := range cases {
		require.Len(t, Bounds{}.Overlaps(c.holds), c.want, name)
		require.Len(t, Bounds{}.Overlaps(reversed(c.holds)), c.want, "%s, told the other way round", name)
	}
}

// as is a hold in another mode.
func as(mode string, h Hold) Hold {
	h.Mode = mode
	return h
}

func TestReadersAndPermits(t *testing.T) {
	t.Parallel()
	read := func(fence int64, from, to time.Duration) Hold { return as(modeRead, hold(fence, from, to)) }
	permit := func(from, to time.Duration) Hold { return as(modePermit, hold(0, from, to)) }
	for name, c := range map[string]struct {
		holds                      []Hold
		overlaps, tooMany, falling int
	}{
		"readers of one time":          {holds: []Hold{read(1, 10, 20), read(1, 12, 30)}},
		"before there was a writer":    {holds: []Hold{read(0, 10, 20), read(0, 12, 30)}},
		"a writer among readers":       {holds: []Hold{read(1, 10, 20), hold(2, 15, 30)}, overlaps: 1},
		"a reader during a write":      {holds: []Hold{hold(2, 10, 30), read(2, 15, 20)}, overlaps: 1},
		"the token of the last writer": {holds: []Hold{hold(2, 10, 20), read(2, 30, 40), hold(3, 50, 60)}},
		"the token of the next writer": {holds: []Hold{hold(2, 10, 20), read(3, 30, 40), hold(3, 50, 60)}, falling: 2},
		"a token of the writer before": {holds: []Hold{hold(2, 10, 20), read(1, 30, 40)}, falling: 1},
		"as many permits as there are": {holds: []Hold{permit(10, 20), permit(11, 20), permit(20, 30)}},
		"more permits than there are":  {holds: []Hold{permit(10, 20), permit(11, 20), permit(12, 30)}, tooMany: 1},
		"more permits, of two names":   {holds: []Hold{permit(10, 20), permit(11, 20), other(permit(12, 30))}},
	} {
		require.Len(t, Bounds{}.Overlaps(c.holds), c.overlaps, name)
		require.Len(t, TooMany(c.holds), c.tooMany, name)
		require.Len(t, Bounds{}.Disorder(c.holds), c.falling, name)
	}
}

func TestDisorder(t *testing.T) {
	t.Parallel()
	first, moved := hold(1, 10, 20), hold(1, 30, 40)
	moved.From = first.ID
	again := moved
	again.ID, again.Start, again.End = "again", 50, 60
	late := hold(1, 50, 60)
	late.From = first.ID
	sameID := hold(2, 30, 40)
	sameID.ID = hold(1, 10, 20).ID
	passed := sameID
	sameID.Client = "d"
	cases := map[string]struct {
		holds []Hold
		want  string
	}{
		"growing":                     {[]Hold{hold(1, 10, 20), hold(2, 30, 40), hold(7, 50, 60)}, ""},
		"other name":                  {[]Hold{hold(2, 10, 20), other(hold(1, 30, 40))}, ""},
		"falling":                     {[]Hold{hold(2, 10, 20), hold(1, 30, 40)}, "comes after"},
		"same":                        {[]Hold{hold(2, 10, 20), hold(2, 30, 40)}, "has the token of"},
		"none":                        {[]Hold{hold(0, 10, 20)}, "comes after"},
		"none, as Redisson's":         {[]Hold{hold(2, 10, 20), hold(noToken, 30, 40), hold(3, 50, 60)}, ""},
		"falling around one of none":  {[]Hold{hold(2, 10, 20), hold(noToken, 30, 40), hold(1, 50, 60)}, "comes after"},
		"same id":                     {[]Hold{hold(1, 10, 20), sameID}, "has the id of"},
		"passed on":                   {[]Hold{hold(1, 10, 20), passed}, ""},
		"never believed":              {[]Hold{hold(2, 10, 20), hold(1, 30, 30), hold(3, 40, 50)}, ""},
		"imported":                    {[]Hold{first, moved, hold(2, 50, 60)}, ""},
		"imported twice":              {[]Hold{first, moved, again}, "whose token is another"},
		"imported with another token": {[]Hold{hold(2, 10, 20), moved}, "whose token is another"},
		"imported when another had been inside": {
			[]Hold{first, hold(2, 30, 40), late}, "comes after",
		},
		"never believed, but the token of another": {
			[]Hold{hold(2, 10, 20), hold(2, 30, 30)}, "has the token of",
		},
	}
	for name, c := range cases {
		for _, holds := range [][]Hold{c.holds, reversed(c.holds)} {
			found := strings.Join(Bounds{}.Disorder(holds), "\n")
			if c.want == "" {
				require.Empty(t, found, name)
			} else {
				require.Contains(t, found, c.want, name)
			}
		}
	}
}

func reversed(holds []Hold) []Hold {
	turned := make([]Hold, 0, len(holds))
	for i := len(holds) - 1; i >= 0; i-- {
		turned = append(turned, holds[i])
	}
	return turned
}

func TestLongestWait(t *testing.T) {
	t.Parallel()
	calls := []Call{
		{Client: "long before", Called: 0, Returned: 50},
		{Client: "across", Called: 10, Returned: 130},
		{Client: "after", Called: 120, Returned: 145},
	}
	for after, want := range map[time.Duration]struct {
		wait time.Duration
		of   string
	}{0: {120, "across"}, 100: {30, "across"}, 110: {25, "after"}, 200: {0, ""}} {
		wait, of := LongestWait(calls, after)
		require.Equal(t, want.wait, wait, after)
		require.Equal(t, want.of, of.Client, after)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	calls := []Call{
		{Outcome: outcomeUnavailable, Called: 10}, {Outcome: outcomeOK, Called: 30},
		{Outcome: outcomeBusy, Called: 20},
	}
	require.Len(t, Failures(calls, 0), 2)
	require.Len(t, Failures(calls, 20), 1)
	require.Empty(t, Failures(calls, 21))
}

// A failed call says when it was made, and why it failed.
func TestAFailureSaysWhy(t *testing.T) {
	t.Parallel()
	r := newRecord()
	r.take(&process{name: "p"}, callLine(Call{
		Client: "a", Op: "live", Outcome: outcomeUnavailable, Called: 5, Returned: 9, Why: "no\n answer",
	}))
	require.Equal(t, []string{"live of p/a, 4ns into the phase: unavailable after 4ns: no answer"}, Failures(r.calls, 1))
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	keys := []string{names[0], "redisson_lock_token:{" + names[0] + "}", "redisson_lock_token:{other}"}
	require.Equal(t, []string{names[0], keys[2]}, Leftovers(keys, isToken))
	require.Empty(t, Leftovers(keys[1:2], isToken))
}
