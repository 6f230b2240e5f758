package luacall_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// A look walks no more of a lock with very many readers than its limit, and says how many it left out: a
// hundred thousand stopped Redis for 0.6 s (defect C5). What is counted is the work, not the time.
func TestRWInspectWalksNoMoreThanItsLimit(t *testing.T) {
	p := newRWPlace(t, startServer(t).Client(t))
	const readers, depth = 5 * luacall.MaxInspected, 20
	for i := 0; i < readers; i += 1000 {
		args := []any{"HSET", p.lock, "mode", "read"}
		for j := range 1000 {
			args = append(args, fmt.Sprintf("%s-%d:1", carol[:36], i+j), depth)
		}
		require.NoError(t, p.rdb.Do(t.Context(), args...).Err())
	}
	p.do("PEXPIRE %s %d", p.lock, lease)
	var reply luacall.InspectReply
	calls := p.callsOf(func() { reply = p.look(false) })
	require.NotContains(t, calls, "hgetall")
	require.LessOrEqual(t, countOf(t, calls, "pttl"), 4*luacall.MaxInspected+1)
	require.GreaterOrEqual(t, reply.More, int64(readers-luacall.MaxInspected))
	require.LessOrEqual(t, reply.More, int64(readers-luacall.MaxInspected+1), "the mode may be in the sample")
	require.LessOrEqual(t, len(reply.Holders), luacall.MaxInspected)
	require.NotEmpty(t, reply.Holders, "those whose hold keys were not asked for live as long as the lock")
	calls = p.callsOf(func() { reply = p.look(true) })
	require.NotContains(t, calls, "hrandfield", "there is no writer to look for")
	require.Empty(t, reply.Holders)
	require.Zero(t, reply.More)
}

func countOf(t *testing.T, calls, command string) int {
	t.Helper()
	found := regexp.MustCompile(`\b` + command + `\*(\d+)`).FindStringSubmatch(calls)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

// Inspect lists the queue of a fair lock from its beginning, and counts the rest (defect C5).
func TestFairInspectWalksNoMoreThanItsLimit(t *testing.T) {
	p := fairAlone(t)
	p.enters2(alice)
	const waiters = 3 * luacall.MaxInspected
	for i := 0; i < waiters; i += 1000 {
		args := []any{"ZADD", p.f.Queue}
		for j := range 1000 {
			args = append(args, i+j, fmt.Sprintf("%s-%d:1", carol[:36], i+j))
		}
		require.NoError(t, p.rdb.Do(t.Context(), args...).Err())
	}
	var reply luacall.InspectReply
	calls := p.callsOf(func() { reply = run(p.place, luacall.FairInspect(p.f, p.t, false)) })
	require.LessOrEqual(t, countOf(t, calls, "zscore"), luacall.MaxInspected)
	require.Equal(t, int64(waiters-luacall.MaxInspected), reply.QueueMore)
}
