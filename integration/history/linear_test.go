package history

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPorcupineFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	first, moved := called(5, hold(1, 10, 20)), called(25, hold(1, 30, 40))
	moved.From = first.ID
	for name, c := range map[string]struct {
		holds []Hold
		wrong bool
	}{
		"none":                         {},
		"one after another":            {holds: []Hold{called(1, hold(1, 10, 20)), called(2, hold(2, 21, 30))}},
		"touching":                     {holds: []Hold{called(1, hold(1, 10, 20)), called(2, hold(2, 20, 30))}},
		"two at a time":                {holds: []Hold{called(1, hold(1, 10, 20)), called(2, hold(2, 15, 30))}, wrong: true},
		"falling":                      {holds: []Hold{called(1, hold(2, 10, 20)), called(2, hold(1, 21, 30))}, wrong: true},
		"one token twice":              {holds: []Hold{called(1, hold(1, 10, 20)), called(2, hold(1, 21, 30))}, wrong: true},
		"other name":                   {holds: []Hold{called(1, hold(1, 10, 20)), other(called(2, hold(1, 15, 30)))}},
		"exported":                     {holds: []Hold{first, moved}},
		"exported, and then a new one": {holds: []Hold{first, moved, called(6, hold(2, 41, 50))}},
		"learned of when it was over":  {holds: []Hold{called(1, hold(1, 30, 25)), called(2, hold(2, 31, 40))}},
		"readers of one time": {
			holds: []Hold{as(modeRead, called(1, hold(1, 10, 20))), as(modeRead, called(2, hold(1, 15, 30)))},
		},
		"a reader after the writer whose token it has": {
			holds: []Hold{called(1, hold(1, 10, 20)), as(modeRead, called(21, hold(1, 25, 30)))},
		},
		"a writer among readers": {
			holds: []Hold{as(modeRead, called(1, hold(1, 10, 20))), called(2, hold(2, 15, 30))}, wrong: true,
		},
		"a reader with the token of the writer after it": {
			holds: []Hold{as(modeRead, called(1, hold(2, 10, 20))), called(21, hold(2, 25, 30))}, wrong: true,
		},
		"one without a token between others": {
			holds: []Hold{called(1, hold(1, 10, 20)), called(2, hold(noToken, 21, 30)), called(3, hold(2, 31, 40))},
		},
		"one without a token among others": {
			holds: []Hold{called(1, hold(1, 10, 20)), called(2, hold(noToken, 15, 30))}, wrong: true,
		},
		"falling around one without a token": {
			holds: []Hold{called(1, hold(2, 10, 20)), called(2, hold(noToken, 21, 30)), called(3, hold(1, 31, 40))},
			wrong: true,
		},
		"readers without a token": {holds: []Hold{
			as(modeRead, called(1, hold(noToken, 10, 20))), as(modeRead, called(2, hold(1, 15, 30))),
		}},
		"a writer among readers without a token": {
			holds: []Hold{as(modeRead, called(1, hold(noToken, 10, 20))), called(2, hold(noToken, 15, 30))}, wrong: true,
		},
		"the same, with a token that came later": {
			holds: []Hold{called(22, hold(1, 30, 25)), called(2, hold(2, 10, 20))}, wrong: true,
		},
	} {
		_, err := Bounds{}.Linearize(c.holds)
		if c.wrong {
			require.ErrorContains(t, err, "are those of no lock", name)
		} else {
			require.NoError(t, err, name)
		}
	}
}

func TestPorcupineLooksOnlyAtWhatNothingWasLostOf(t *testing.T) {
	t.Parallel()
	wrong := []Hold{called(1, hold(1, 10, 20)), called(2, hold(2, 15, 30)), other(called(1, hold(1, 10, 20)))}
	found, err := Bounds{Losses: []Loss{{Name: "a"}}}.Linearize(wrong)
	require.NoError(t, err)
	require.Equal(t, Linearized{Names: 1, Operations: 2}, found)
	found, err = Bounds{Losses: []Loss{{}}}.Linearize(wrong)
	require.NoError(t, err)
	require.Zero(t, found)
}

// Two checkers that have nothing in common find the same in histories that chance makes.
func TestPorcupineAgreesWithOurChecker(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	wrong := 0
	for range 2000 {
		var holds []Hold
		at, fence := time.Duration(10), int64(0)
		for range 2 + random.IntN(6) {
			at += time.Duration(1 + random.IntN(10))
			end := at + time.Duration(1+random.IntN(8))
			if fence += 1 + random.Int64N(3); random.IntN(20) == 0 {
				fence -= 2
			}
			holds = append(holds, called(at-time.Duration(random.IntN(9)), hold(fence, at, end)))
			if at = end; random.IntN(12) == 0 {
				at -= 3
			}
		}
		ours := len(Bounds{}.Overlaps(holds)) + len(Bounds{}.Disorder(holds))
		_, err := Bounds{}.Linearize(holds)
		require.Equal(t, ours > 0, err != nil, "%v", holds)
		if err != nil {
			wrong++
		}
	}
	require.Greater(t, wrong, 100, "few of them were wrong")
}

// A long history is judged in parts, each hold in two of them with all that are near it.
func TestPorcupineJudgesALongHistoryInParts(t *testing.T) {
	t.Parallel()
	long := func() (holds []Hold) {
		for i := range 3*linearPart + 7 {
			at := time.Duration(10 * (i + 1))
			holds = append(holds, called(at-3, hold(int64(i+1), at, at+5)))
		}
		return holds
	}
	found, err := Bounds{}.Linearize(long())
	require.NoError(t, err)
	require.Equal(t, 2*(3*linearPart+7), found.Operations)
	for _, at := range []int{1, linearPart/2 - 1, linearPart / 2, linearPart - 1, linearPart, 3*linearPart + 5} {
		wrong := long()
		wrong[at].End = wrong[at+1].Start + 2
		_, err := Bounds{}.Linearize(wrong)
		require.ErrorContains(t, err, "are those of no lock", at)
	}
}
