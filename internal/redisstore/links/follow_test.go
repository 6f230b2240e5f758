package links

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var followed = Limits{Command: 3 * time.Second, Life: 7 * time.Second}

// pipes dials connections whose peers do nothing.
func pipes(t *testing.T) dial {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours, nil
	}
}

// closed reports whether a connection is closed.
func closed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, net.ErrClosed)
}

// alone runs a follower of one client in a bubble.
func alone(t *testing.T, test func(f *follower, s *side, d dial)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(followed)
		s := f.side(true, followed)
		test(f, s, s.tracks.wrap(pipes(t)))
		f.end()
		f.joined.running.Wait()
	})
}

// defect B2: silence makes a server doubtful. While it lasts the primaries are asked for, at most at the allowed
// rate, and a server that is no longer primary is left, with everything under way there.
func TestASilentPrimaryIsLeftWhenAnotherIsKnown(t *testing.T) {
	alone(t, func(f *follower, s *side, d dial) {
		var primaries atomic.Value
		primaries.Store([]string{"a", "b"})
		var asked, told atomic.Int32
		s.primaries = func(context.Context) ([]string, error) {
			asked.Add(1)
			return primaries.Load().([]string), nil
		}
		tell := func() { told.Add(1) }
		f.changed.Store(&tell)
		a, err := d(t.Context(), "tcp", "a")
		require.NoError(t, err)
		b, err := d(t.Context(), "tcp", "b")
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.Zero(t, asked.Load(), "nobody is in doubt")
		_, err = a.Write([]byte("ping"))
		require.NoError(t, err)
		time.Sleep(silence)
		require.Zero(t, asked.Load())
		time.Sleep(10 * time.Second)
		require.InDelta(t, 20, asked.Load(), 2)
		require.Zero(t, told.Load())
		require.False(t, closed(a) || closed(b))
		primaries.Store([]string{"c", "b"})
		time.Sleep(time.Second)
		require.True(t, closed(a))
		_, err = a.Write([]byte("x"))
		require.ErrorIs(t, err, errLeft, "the request that has it learns why")
		require.False(t, closed(b))
		require.EqualValues(t, 1, told.Load())
		require.NoError(t, a.Close()) // as go-redis does then
		_, err = d(t.Context(), "tcp", "a")
		require.ErrorIs(t, err, errLeft)
		time.Sleep(2 * doubt)
		before := asked.Load()
		time.Sleep(10 * time.Second)
		_, err = d(t.Context(), "tcp", "a")
		require.NoError(t, err, "it may be one again")
		require.Equal(t, before, asked.Load(), "there is no doubt any more")
		require.NoError(t, b.Close())
	})
}

// A server of a cluster that was only asked for the map, and has answered, is no primary that was replaced.
func TestAReplicaThatWasAskedForTheMapIsNotLeft(t *testing.T) {
	alone(t, func(f *follower, s *side, d dial) {
		s.primaries = func(context.Context) ([]string, error) { return []string{"c"}, nil }
		var told atomic.Int32
		tell := func() { told.Add(1) }
		f.changed.Store(&tell)
		replica, err := d(t.Context(), "tcp", "replica")
		require.NoError(t, err)
		f.doubted.Store(true)
		time.Sleep(time.Second)
		assert.Zero(t, told.Load()) // assert, so that the follower is ended
		_, err = d(t.Context(), "tcp", "replica")
		assert.NoError(t, err, "it is refused")
		assert.NoError(t, replica.Close())
	})
}

// defect B2: a failure at once raises doubt at once, even while no goroutine beats.
func TestAFailedDialRaisesDoubt(t *testing.T) {
	alone(t, func(f *follower, s *side, _ dial) {
		var asked atomic.Int32
		s.primaries = func(context.Context) ([]string, error) {
			asked.Add(1)
			return nil, io.EOF
		}
		d := s.tracks.wrap(func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF })
		for range 2 {
			_, err := d(t.Context(), "tcp", "a")
			require.ErrorIs(t, err, io.EOF)
			time.Sleep(2 * beat)
			require.NotZero(t, asked.Load())
			time.Sleep(time.Hour)
			require.False(t, f.activity.awake.Load(), "it rests")
			asked.Store(0)
		}
	})
}

// defect B3: the primary that Sentinel named is in doubt when it has lost a replica, and is left when it is replaced.
func TestARoleRaisesDoubt(t *testing.T) {
	alone(t, func(f *follower, s *side, d dial) {
		var role atomic.Pointer[primaryRole]
		var asked atomic.Int32
		role.Store(&primaryRole{primary: true, replicas: []string{"x", "y"}})
		f.role = func(context.Context) (*primaryRole, error) { return role.Load(), nil }
		s.primaries = func(context.Context) ([]string, error) {
			asked.Add(1)
			return []string{"a"}, nil
		}
		conn, err := d(t.Context(), "tcp", "a")
		require.NoError(t, err)
		use := func() {
			for range 20 {
				f.use()
				time.Sleep(beat)
			}
		}
		use()
		require.Zero(t, asked.Load())
		role.Store(&primaryRole{primary: true, replicas: []string{"z", "y"}})
		use()
		require.NotZero(t, asked.Load())
		require.False(t, closed(conn))
		role.Store(&primaryRole{})
		use()
		require.True(t, closed(conn))
		require.NoError(t, conn.Close())
	})
}

func TestRolesAreRead(t *testing.T) {
	t.Parallel()
	replica := func(port string) any { return []any{"127.0.0.1", port, "14"} }
	for name, c := range map[string]struct {
		reply []any
		want  *primaryRole
	}{
		"a primary alone":      {[]any{"master", int64(14), []any{}}, &primaryRole{primary: true, offset: 14, acked: map[string]int64{}}},
		"one with replicas":    {[]any{"master", int64(14), []any{replica("1"), replica("2")}}, &primaryRole{true, 14, []string{"127.0.0.1:1", "127.0.0.1:2"}, map[string]int64{"127.0.0.1:1": 14, "127.0.0.1:2": 14}}},
		"a replica":            {[]any{"slave", "127.0.0.1", int64(1), "connected", int64(14)}, &primaryRole{}},
		"a Sentinel":           {[]any{"sentinel", []any{"primary"}}, &primaryRole{}},
		"nothing known so far": {nil, &primaryRole{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, readRole(c.reply)) })
	}
}
