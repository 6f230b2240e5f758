package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// by sets the owner of a hold.
func by(client string, h Hold) Hold {
	h.Client, h.Called = client+"/0", h.Start
	return h
}

func TestLossesAreToldInTime(t *testing.T) {
	t.Parallel()
	b := Bounds{Losses: []Loss{{Name: "a", From: 100, Until: 110, Certain: true}}, Telling: 50}
	stalled := hold(1, 50, 200)
	stalled.Stalled = 40
	for name, c := range map[string]struct {
		hold Hold
		late bool
	}{
		"over before":                   {hold(1, 50, 90), false},
		"told":                          {hold(1, 50, 160), false},
		"told too late":                 {hold(1, 50, 161), true},
		"told late, but it stood still": {stalled, false},
		"begun while it was lost":       {hold(1, 105, 500), false},
		"begun afterwards":              {hold(1, 120, 500), false},
		"of another name":               {other(hold(1, 50, 500)), false},
	} {
		require.Equal(t, c.late, len(b.Late([]Hold{c.hold})) == 1, name)
	}
	all := Bounds{Losses: []Loss{{From: 100, Until: 110, Certain: true}}, Telling: 50}
	require.Len(t, all.Late([]Hold{hold(1, 50, 500), other(hold(1, 50, 500))}), 2, "a loss of all names")
	mine := Bounds{Losses: []Loss{{Of: "mine", From: 100, Until: 110, Certain: true}}, Telling: 50}
	require.Len(t, mine.Late([]Hold{by("mine", hold(1, 50, 500)), by("other", hold(2, 50, 500))}), 1, "of one process")
	backwards := Bounds{Losses: []Loss{{From: 100, Until: 110, Certain: true, Since: 60}}, Telling: 50}
	require.Empty(t, backwards.Late([]Hold{hold(1, 50, 500)}), "it may be known")
	require.Len(t, backwards.Late([]Hold{hold(1, 60, 500)}), 1)
	unsure := Bounds{Losses: []Loss{{Name: "a", From: 100, Until: 110}}, Telling: 50}
	require.Empty(t, unsure.Late([]Hold{hold(1, 50, 500)}), "it may have been lost")
	first, second := hold(1, 50, 120), hold(2, 125, 161)
	second.ID = first.ID
	require.Len(t, b.Late([]Hold{first, second}), 1, "passed on after the loss, and told too late")
	second.End = 160
	require.Empty(t, b.Late([]Hold{first, second}), "passed on after the loss, and told")
	longest, lost := b.LongestTelling([]Hold{hold(1, 50, 90), hold(2, 91, 130), other(hold(1, 50, 500))})
	require.Equal(t, 1, lost)
	require.Equal(t, 20*time.Nanosecond, longest)
}

// Only the consequences of a loss are excused, and only for as long as it takes to learn of one.
func called(at time.Duration, h Hold) Hold {
	h.Called = at
	return h
}

func TestOverlapsAfterALoss(t *testing.T) {
	t.Parallel()
	loss := Loss{Name: "a", From: 100, Until: 110, Certain: true}
	broken := loss
	broken.By = "mine"
	for name, c := range map[string]struct {
		loss           Loss
		earlier, later Hold
		excused        bool
	}{
		"lost, then taken":             {loss, hold(1, 50, 150), hold(2, 120, 130), true},
		"taken while it was lost":      {loss, hold(1, 50, 150), hold(2, 105, 130), true},
		"taken before it was lost":     {loss, hold(1, 50, 150), hold(2, 99, 130), false},
		"told too late":                {loss, hold(1, 50, 161), hold(2, 120, 130), false},
		"lost before it was there":     {loss, called(111, hold(1, 111, 150)), hold(2, 120, 130), false},
		"granted, lost, heard of":      {loss, called(90, hold(1, 114, 150)), hold(2, 120, 130), true},
		"heard of long after":          {loss, called(90, hold(1, 116, 150)), hold(2, 120, 130), false},
		"heard of after the next one":  {loss, called(111, hold(2, 112, 130)), called(90, hold(1, 114, 150)), true},
		"with a token that is newer":   {loss, called(111, hold(1, 112, 130)), called(90, hold(2, 114, 150)), false},
		"of another name":              {loss, other(hold(1, 50, 150)), other(hold(2, 120, 130)), false},
		"broken by another process":    {broken, by("yours", hold(1, 50, 150)), hold(2, 120, 130), true},
		"broken by its own":            {broken, by("mine", hold(1, 50, 150)), hold(2, 120, 130), false},
		"broken by its own on the way": {broken, by("mine", hold(1, 100, 150)), hold(2, 120, 130), true},
	} {
		b, holds := Bounds{Losses: []Loss{c.loss}, Reply: 5, Telling: 50}, []Hold{c.earlier, c.later}
		want := map[bool]int{false: 0, true: 1}
		require.Len(t, b.Overlaps(holds), want[!c.excused], name)
		require.Equal(t, want[c.excused], b.Excused(holds), name)
	}
}

// If a loss lies between two holds, the grant of the first may arrive last. A request sent after the loss certainly
// came later.
func TestOrderAfterALoss(t *testing.T) {
	t.Parallel()
	b := Bounds{Losses: []Loss{{Name: "a", From: 100, Until: 110, Certain: true}}, Telling: 50}
	before, during, after := hold(5, 50, 60), hold(5, 101, 102), by("c", hold(4, 120, 130))
	require.Len(t, b.Disorder([]Hold{before, after}), 1)
	require.Len(t, b.Disorder([]Hold{during, after}), 1)
	after.Called = 110
	require.Empty(t, b.Disorder([]Hold{during, after}))
	require.Len(t, b.Disorder([]Hold{before, after}), 1, "it was granted before anything was lost")
	require.Len(t, Bounds{}.Disorder([]Hold{during, after}), 1)
}

func TestRecordOfBreaks(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string][]Loss{
		outcomeOK:          {{Name: "a", From: 100, Until: 110, Certain: true, By: "client-0.0"}},
		outcomeUnavailable: {{Name: "a", From: 100, Until: 170, By: "client-0.0"}},
		outcomeNotHeld:     nil,
	} {
		r, p := newRecord(), &process{name: "client-0.0"}
		r.bounds.Telling = 60
		r.take(p, breakLine("a", Call{Outcome: outcome, Called: 100, Returned: 110}))
		require.Equal(t, want, r.bounds.Losses, outcome)
		require.NoError(t, r.judge())
	}
}

// Where Redis is made to forget, a run in which a loss was reported too late has failed.
func TestRecordOfALossToldTooLate(t *testing.T) {
	t.Parallel()
	h := Hold{Client: "3", Name: "a", ID: "id:1", Fence: 7, Start: 100, End: 900}
	r, _ := told(holdLine(h, 2000), endLine(h))
	r.bounds.Telling = 300
	r.lost(Loss{Name: "a", From: 200, Until: 210, Certain: true})
	require.NoError(t, r.judge())
	r.strict = true
	require.ErrorContains(t, r.judge(), "losses told too late: 1")
	h.Stalled = 500
	r, _ = told(holdLine(h, 2000), endLine(h))
	r.strict, r.bounds.Telling = true, 300
	r.lost(Loss{Name: "a", From: 200, Until: 210, Certain: true})
	require.NoError(t, r.judge())
}
