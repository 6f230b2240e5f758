package lua

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	for _, reply := range []any{nil, "1", []any{int64(1)}} {
		_, err := decodeStep(reply)
		require.Error(t, err)
	}
	for _, reply := range []any{nil, []any{int64(1)}, []any{int64(1), "1"}} {
		_, err := decodeAdopt(reply)
		require.Error(t, err)
		_, err = decodeMint(reply)
		require.Error(t, err)
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
		-2: -2 * time.Millisecond, 0: 0, 1500: 1500 * time.Millisecond,
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
		"HOLDFASTCONFLICT a lock without expiry stands there":                 true,
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
