package history

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Failed calls are excused only by a store that was silent for longer than a lease, and only until it answers.
func TestOnlyASilentStoreExcusesAFailedCall(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	type once struct {
		failed []string
		silent time.Duration
		err    error
	}
	silence := once{failed: []string{"live of a"}, silent: lease + 1}
	for name, c := range map[string]struct {
		each []once
		says string // of the error; empty: none
	}{
		"all succeed":                          {[]once{{}}, ""},
		"a call fails while the store answers": {[]once{{failed: []string{"live of a"}, silent: lease}}, "live of a"},
		"the store is silent, and answers":     {[]once{silence, silence, {}}, ""},
		"the store is silent, then a call fails": {
			[]once{silence, {failed: []string{"live of b"}}}, "live of b"},
		"the store stays silent":           {[]once{silence, silence, silence}, "silent to the run itself for 5.000000001s"},
		"a process is stuck":               {[]once{{err: errors.New("a call is stuck"), silent: 2 * lease}}, "a call is stuck"},
		"a process is stuck the next time": {[]once{silence, {err: errors.New("a call is stuck")}}, "a call is stuck"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			err := untilAnswered(lease, func() ([]string, time.Duration, error) {
				n++
				this := c.each[n-1]
				return this.failed, this.silent, this.err
			}, t.Logf)
			require.Equal(t, len(c.each), n)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}
