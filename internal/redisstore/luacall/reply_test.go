package luacall

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Replies that no script of ours gives must be errors, not zeros: another program may have
// answered, or a proxy.
func TestStrangeReplies(t *testing.T) {
	for _, reply := range []any{
		nil, "OK", int64(1), true,
		[]any{}, []any{int64(1)}, []any{int64(1), int64(1)},
		[]any{int64(1), int64(1), int64(1), int64(1), int64(1)},
		[]any{"1", "1", "1", "1"}, []any{nil, nil, nil, nil}, []any{"1", "1"}, []any{"1", "1", "1"},
	} {
		for name, decode := range map[string]func(any) error{
			"acquire": func(v any) error { _, err := decodeAcquire(v); return err },
			"release": func(v any) error { _, err := decodeRelease(v); return err },
			"inspect": func(v any) error { _, err := decodeInspect(v); return err },
			"renew":   func(v any) error { _, err := decodeRenew(v, 7); return err },
		} {
			require.Error(t, decode(reply), "%s: %v", name, reply)
		}
	}
	for _, reply := range [][]int64{nil, {1}, {1, 0, 0, 9}, {1, 0, 0, 9, 7}, {2, 0, 0, 9, 7, 7, 7}, {0, 1, 5, 9, 7, 7}} {
		_, err := acquireAllReply(reply, 2)
		require.Error(t, err, "%v", reply)
	}
	for _, reply := range []any{nil, "1", []any{int64(1)}, int64(-1)} {
		_, err := decodeLevels(reply)
		require.Error(t, err)
	}
	for _, reply := range []any{nil, []any{int64(1)}, []any{int64(1), "1"}} {
		_, err := decodeAdopt(reply)
		require.Error(t, err)
		require.Error(t, err)
	}
}

// A status that a script does not return is an error, whatever it means elsewhere: CountDown and SetCapacity returned
// nil for one (defect F5).
func TestUnknownStatusesAreErrors(t *testing.T) {
	numbers := func(n int64, more ...any) any { return append([]any{n}, more...) }
	ints := func(decode func([]int64) error, size int) func(int64) error {
		return func(n int64) error { return decode(append([]int64{n}, make([]int64, size-1)...)) }
	}
	acquire := []int64{-1, 0, 1, 2}
	for name, one := range map[string]struct {
		decode func(n int64) error
		known  []int64
	}{
		"acquire": {ints(func(v []int64) error { _, err := acquireReply(v); return err }, 5), acquire},
		"release": {ints(func(v []int64) error { _, err := releaseReply(v); return err }, 3), []int64{3, 4}},
		"release all": {
			ints(func(v []int64) error { _, err := decodeReleaseAll(v, 1); return err }, 3), []int64{3, 4, -9},
		},
		"renew": {ints(func(v []int64) error { _, err := renewReply(v, 1); return err }, 1), []int64{1, 0, -1, -2}},
		"take":  {func(n int64) error { _, err := decodeAcquire(numbers(n, nil, int64(0), int64(0))); return err }, acquire},
		"end":   {func(n int64) error { _, err := decodeRelease(numbers(n, int64(0), int64(0))); return err }, []int64{3, 4}},
		"note":  {func(n int64) error { _, err := decodeStatus(n); return err }, []int64{0, 3, 4}},
		"adopt": {func(n int64) error { _, err := decodeAdopt(numbers(n, int64(0))); return err }, []int64{-1, 1, 2, 4}},
		"mint": {
			func(n int64) error {
				_, err := decodeMint(numbers(n, int64(1), int64(0), int64(0), int64(0)))
				return err
			},
			[]int64{-1, 1, 4},
		},
		"change": {
			func(n int64) error { _, err := decodeChanged(numbers(n, int64(0), int64(0))); return err }, []int64{-1, 2, 3},
		},
		"start": {
			func(n int64) error { _, err := decodeStarted(numbers(n, int64(0), int64(0))); return err }, []int64{-1, 0, 2, 3},
		},
		"adjust": {
			func(n int64) error { _, err := decodeAdjusted(numbers(n, int64(0), int64(0))); return err },
			[]int64{-1, 0, 2, 3, 4},
		},
		"look": {func(n int64) error { _, err := decodeLook(numbers(n, int64(0), int64(0))); return err }, []int64{0, 4}},
		"write": {
			func(n int64) error {
				_, err := decodeAcquireWrite(numbers(n, nil, int64(0), int64(0), []any{}, int64(0)))
				return err
			}, acquire,
		},
		"vote": {
			func(n int64) error {
				_, err := decodeQuorum(numbers(n, int64(1), nil, int64(0), int64(0), int64(0)))
				return err
			}, []int64{-2, -1, 0, 1, 2},
		},
		"guard": {func(n int64) error { _, err := decodeGuard(numbers(n, "1")); return err }, []int64{0, 1}},
	} {
		for n := int64(-20); n < 20; n++ {
			err := one.decode(n)
			if slices.Contains(one.known, n) {
				require.NoError(t, err, "%s: %d", name, n)
				continue
			}
			var is *ReplyError
			require.ErrorAs(t, err, &is, "%s: %d", name, n)
			require.Equal(t, store.FaultAmbiguous, store.FaultOf(err), "nobody knows what became of it")
		}
	}
}

// What a reply holds is never taken for more work than a script could give.
func TestDeadReadersOfAReplyAreFew(t *testing.T) {
	for _, dead := range [][]any{
		{"a:1", "0"}, {"a:1", "-1"}, {"a:1", "9223372036854775807"}, {"a:1", "1500", "b:1", "1500"}, {"a:1"}, {int64(1), "1"},
		{"a:1", int64(1)},
	} {
		_, err := decodeAcquireWrite([]any{int64(0), nil, int64(0), int64(0), dead, int64(0)})
		var is *ReplyError
		require.ErrorAs(t, err, &is, "%v", dead)
	}
}

// The error of a strange reply says what came, and not all of it.
func TestErrorsOfStrangeRepliesAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, reply := range []any{long, []any{long}, []any{long, long, long, long}, map[any]any{long: long}} {
		_, err := decodeInspect(reply)
		require.Less(t, len(err.Error()), 200)
	}
}

func TestTokensOfReplies(t *testing.T) {
	for _, test := range []struct {
		value any
		want  int64
	}{
		{nil, 0},
		{int64(1_790_000_000_000_000), 1_790_000_000_000_000},
		{"1790000000000000", 1_790_000_000_000_000},
		{"9007199254740993", 1<<53 + 1},
		{"9223372036854775807", math.MaxInt64},
	} {
		r := newReader([]any{test.value}, 1)
		require.Equal(t, test.want, r.fence(0))
		require.NoError(t, r.err)
	}
	for _, value := range []any{"", "x", "9223372036854775808", "1.79e+15"} {
		r := newReader([]any{value}, 1)
		r.fence(0)
		require.ErrorIs(t, r.err, ErrConflict)
	}
}

func TestTTLsOfReplies(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		-2: -2 * time.Millisecond, math.MinInt64: -2 * time.Millisecond, 0: 0, 1500: 1500 * time.Millisecond,
		math.MaxInt64: (math.MaxInt64 / 1_000_000) * time.Millisecond,
	} {
		r := newReader([]any{ms}, 1)
		require.Equal(t, want, r.ttl(0))
	}
}

// replyError is what go-redis makes of an error reply.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

func TestClassify(t *testing.T) {
	for message, want := range map[string]bool{
		"HOLDFASTCONFLICT a lock without expiry is there":                     true,
		"WRONGTYPE Operation against a key holding the wrong kind of value":   true,
		"ERR Error running script (call to f_1): @user_script:2: WRONGTYPE O": true,
		"ERR Error running script (call to f_1): @user_script:2: OOM command": false,
		"TRYAGAIN Multiple keys request during rehashing of slot":             false,
		"ERR unknown command": false,
	} {
		cause := replyError(message)
		err := classify(cause)
		require.Equal(t, want, errors.Is(err, ErrConflict), message)
		require.ErrorIs(t, err, cause)
	}
	other := errors.New("WRONGTYPE says no server")
	require.Equal(t, other, classify(other))
}
