package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// defect F28: a seed does not make the simulation ignore the kind. And each variable means the same with and without the
// others.
func TestTheEnvironmentChooses(t *testing.T) {
	other := func(not string) (seed uint64) { // the first seed of another kind
		for seed = 1; (choice{kind: not}).next(seed) == seed; {
			seed++
		}
		return seed
	}
	const of = "fair" // what the test is about
	for name, c := range map[string]struct {
		env  map[string]string
		from uint64 // 0: any
		kind string
		most uint64
	}{
		"nothing":                    {nil, 0, of, 0},
		"a kind":                     {map[string]string{"KIND": "redlock"}, 0, "redlock", 0},
		"a number":                   {map[string]string{"SCHEDULES": "7"}, 0, of, 7},
		"a seed":                     {map[string]string{"SEED": "12"}, 12, "", 1},
		"a seed and a number":        {map[string]string{"SEED": "12", "SCHEDULES": "7"}, 12, "", 7},
		"a seed and a kind":          {map[string]string{"SEED": "12", "KIND": "redlock"}, 12, "redlock", 1},
		"all":                        {map[string]string{"SEED": "12", "KIND": "redlock", "SCHEDULES": "7"}, 12, "redlock", 7},
		"the kind of what is tested": {map[string]string{"SEED": "12", "KIND": of}, 12, of, 1},
		"a kind and a number":        {map[string]string{"KIND": "lock", "SCHEDULES": "7"}, 0, "lock", 7},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := choose(of, func(name string) string { return c.env[name[len("HOLDFAST_"):]] })
			require.NoError(t, err)
			require.Equal(t, c.kind, got.kind)
			require.Equal(t, c.most, got.most)
			if c.from != 0 {
				require.Equal(t, c.from, got.from)
			}
			if c.kind == "" {
				require.Equal(t, got.from, got.next(got.from))
				return
			}
			from := other(c.kind)
			_, kind := drawn(got.next(from))
			require.Equal(t, c.kind, kind.name)
			require.Greater(t, got.next(from), from, "a seed of another kind is left out")
			require.Equal(t, got.next(from), got.next(got.next(from)), "and one of the kind is not")
		})
	}
}

func TestTheEnvironmentIsWrong(t *testing.T) {
	for name, value := range map[string]string{
		"HOLDFAST_KIND": "fairlock", "HOLDFAST_SEED": "0", "HOLDFAST_SCHEDULES": "-1",
	} {
		_, err := choose("", func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		})
		require.ErrorContains(t, err, name)
	}
}
