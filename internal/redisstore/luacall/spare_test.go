package luacall_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// spares is a lock and the greatest number that anybody was given.
type spares struct {
	*testing.T
	rdb         *redis.Client
	lock, token string
	holder      string
	holds       int
	highest     int64

	take func(luacall.AcquireArgs) *luacall.Call[luacall.AcquireReply]
}

// sparing runs a test of each kind of lock that reserves tokens.
func sparing(t *testing.T, test func(s *spares)) {
	t.Parallel()
	for _, kind := range []string{"reentrant", "writer"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			key := redistest.Key(t)
			s := &spares{T: t, lock: key, token: "redisson_lock_token:{" + key + "}"}
			s.rdb = redistest.Shared(t).Client(t)
			s.take = luacall.Acquire
			if kind == "writer" {
				s.take = s.write
			}
			test(s)
		})
	}
}

// write is a writer's acquisition.
func (s *spares) write(a luacall.AcquireArgs) *luacall.Call[luacall.AcquireReply] {
	return luacall.With(func(ctx context.Context, conn luacall.Conn) (luacall.AcquireReply, error) {
		reply, err := luacall.AcquireWrite(luacall.AcquireWriteArgs{
			AcquireArgs: a, Gate: "holdfast_gate:{" + s.lock + "}", Base: "{" + s.lock + "}:", GateTTL: 1,
		}).Run(ctx, conn)
		return reply.AcquireReply, err
	})
}

func (s *spares) next() string {
	s.holds++
	return "client:" + strconv.Itoa(s.holds)
}

// granted checks the numbers of a hold: all of them are above all that were given before.
func (s *spares) granted(fence, spare int64) {
	s.Helper()
	require.GreaterOrEqual(s, spare, int64(0))
	require.LessOrEqual(s, spare, int64(1023))
	require.Greater(s, fence-spare, s.highest)
	s.highest = fence
	stored, err := s.rdb.Get(s.Context(), s.token).Int64()
	require.NoError(s, err)
	require.Equal(s, fence, stored, "the newest of them stands in Redis")
}

func (s *spares) acquire() luacall.AcquireReply {
	s.Helper()
	s.holder = s.next()
	reply, err := s.take(luacall.AcquireArgs{
		Lock: s.lock, Token: s.token, ID: s.holder, Lease: 60_000, NotAfter: 1 << 60, FenceTTL: -1,
	}).Run(s.Context(), s.rdb)
	require.NoError(s, err)
	require.Equal(s, luacall.Held, reply.Status)
	s.granted(reply.Fence, reply.Spare)
	return reply
}

func (s *spares) release() {
	s.Helper()
	require.NoError(s, s.rdb.Del(s.Context(), s.lock).Err())
}

// R2: without an earlier token there is none to spare, nor if the stored token is ahead of the clock.
func TestWhereThereIsNoTokenToSpare(t *testing.T) { sparing(t, whereThereIsNoTokenToSpare) }

func whereThereIsNoTokenToSpare(s *spares) {
	t := s.T
	require.Zero(t, s.acquire().Spare, "the first one")
	s.release()
	s.highest = time.Now().Add(time.Hour).UnixMicro()
	require.NoError(t, s.rdb.Set(t.Context(), s.token, s.highest, 0).Err())
	require.Zero(t, s.acquire().Spare, "ahead of the clock")
	s.release()
	s.highest = 7
	require.NoError(t, s.rdb.Set(t.Context(), s.token, 7, 0).Err())
	require.Zero(t, s.acquire().Spare, "one of Java's, which counts from 1")
	s.release()
	s.highest = time.Now().Add(-time.Hour).UnixMicro()
	require.NoError(t, s.rdb.Set(t.Context(), s.token, s.highest, 0).Err())
	require.EqualValues(t, 1023, s.acquire().Spare, "one of the clock's")
	again, err := s.take(luacall.AcquireArgs{
		Lock: s.lock, Token: s.token, ID: s.holder, Lease: 60_000, NotAfter: 1 << 60, FenceTTL: -1,
	}).Run(t.Context(), s.rdb)
	require.NoError(t, err)
	require.Equal(t, luacall.Already, again.Status)
	require.Zero(t, again.Spare, "a copy has one token, the newest")
}

// R2, G13: over acquisitions, increments of Java's and a token key that is forgotten, no number is
// given twice, and those of a later hold are above those of an earlier one.
func TestNoTokenIsGivenTwice(t *testing.T) { sparing(t, noTokenIsGivenTwice) }

func noTokenIsGivenTwice(s *spares) {
	t := s.T
	const seed = 20261122
	random := rand.New(rand.NewPCG(seed, 1))
	spared := int64(0)
	for range 2000 {
		switch n := random.IntN(20); {
		case s.holder == "":
			spared += s.acquire().Spare
		case n < 6:
			require.NoError(t, s.rdb.Incr(t.Context(), s.token).Err())
			s.highest++
		case n < 8:
			require.NoError(t, s.rdb.Del(t.Context(), s.token).Err())
		default:
			s.release()
			s.holder = ""
		}
	}
	require.Positive(t, spared)
}
