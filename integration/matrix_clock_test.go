package integration_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// clockServer is a server whose wall clock the test sets.
type clockServer struct {
	*redistest.Server
	t    *testing.T
	file string
}

// newClockServer starts a server with testdata/clock.c in it. That takes Linux and a C compiler. The
// compiler exists wherever these tests run with the race detector, so its absence is a failure in
// continuous integration and a reason to skip elsewhere.
func newClockServer(t *testing.T) *clockServer {
	t.Helper()
	program := clockProgram(t)
	dir := t.TempDir()
	s := &clockServer{t: t, file: filepath.Join(dir, "clock")}
	require.NoError(t, os.WriteFile(s.file, make([]byte, 8), 0o600))
	library := filepath.Join(dir, "clock.so")
	out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library, "testdata/clock.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	wrapper := filepath.Join(dir, "redis-server")
	script := fmt.Sprintf("#!/bin/sh\nHOLDFAST_CLOCK='%s' LD_PRELOAD='%s' exec '%s' \"$@\"\n",
		s.file, library, program)
	require.NoError(t, os.WriteFile(wrapper, []byte(script), 0o700)) //nolint:gosec // it is a program
	t.Setenv("HOLDFAST_REDIS_SERVER", wrapper)
	s.Server = redistest.Start(t)
	s.ahead(time.Hour)
	require.Greater(t, time.Until(s.now()), 50*time.Minute, "the server's clock does not obey")
	s.ahead(0)
	return s
}

// clockProgram finds the server's program.
func clockProgram(t *testing.T) string {
	t.Helper()
	lacks := func(what string) {
		if os.Getenv("CI") != "" {
			t.Fatal("the server's clock cannot be set: " + what)
		}
		t.Skip("not run: the server's clock cannot be set: " + what)
	}
	if runtime.GOOS != "linux" {
		t.Skip("not run: the server's clock can be set on Linux alone")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		lacks("there is no C compiler; install gcc")
	}
	program := os.Getenv("HOLDFAST_REDIS_SERVER")
	for _, name := range []string{"redis-server", "valkey-server"} {
		if program == "" {
			program, _ = exec.LookPath(name)
		}
	}
	if program == "" {
		lacks("there is no server program; install redis-server")
	}
	return program
}

// ahead sets how far the server's clock is ahead of the machine's.
func (s *clockServer) ahead(d time.Duration) {
	s.t.Helper()
	page := binary.NativeEndian.AppendUint64(nil, uint64(d.Microseconds()))
	file, err := os.OpenFile(s.file, os.O_WRONLY, 0)
	require.NoError(s.t, err)
	_, err = file.WriteAt(page, 0)
	require.NoError(s.t, err)
	require.NoError(s.t, file.Close())
}

// now is the server's time. The server reads its clock once per iteration of its loop: the answer to the
// second command reflects the setting.
func (s *clockServer) now() time.Time {
	s.t.Helper()
	rdb := s.Client(s.t)
	require.NoError(s.t, rdb.Ping(context.Background()).Err())
	now, err := rdb.Time(context.Background()).Result()
	require.NoError(s.t, err)
	return now
}

// The server's clock is set ahead by more than the lease: for Redis the hold has ended, and another client
// gets the lock at once. Nothing can prevent that, but the owner learns of it with its next renewal, and
// tokens grow.
func TestAServerClockSetAheadEndsTheHoldWithTheNextRenewal(t *testing.T) {
	const (
		lease = 9 * time.Second
		bound = lease/3 + lease/6
		slack = lease / 4 // for the scheduler; together still below validity
	)
	server := newClockServer(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease})
	other, _ := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease})
	lock, rival := rlock.New(client, "ahead"), rlock.New(other, "ahead")
	warmed := rlock.New(other, "warm") // so that the rival thinks it knows the server's time
	require.NoError(t, warmed.Do(within(t), func(context.Context) error { return nil }))
	ctx, unlock := held(t, lock)
	fence := alive(t, lock, ctx).Fence
	events.renewedAgain(t, 1, lock.Name())

	server.ahead(time.Hour)
	jumped := time.Now()
	theirs, leave := held(t, rival)
	require.Greater(t, alive(t, rival, theirs).Fence, fence)
	select {
	case <-ctx.Done():
	case <-time.After(limit):
		require.FailNow(t, "the hold is believed in, and another has it")
	}
	require.Less(t, time.Since(jumped), bound+slack)
	var lost *rlock.LostError
	require.ErrorAs(t, context.Cause(ctx), &lost)
	require.Equal(t, rlock.LossGone, lost.Reason)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	alive(t, rival, theirs)
	require.NoError(t, leave(), "the loser's unlock did not touch it")
}

// Steps smaller than the rest of the lease, either way, cost no hold, do not keep a caller from getting the
// lock, and end no wait too late.
func TestSmallStepsOfTheServerClockCostNothing(t *testing.T) {
	const lease = 4500 * time.Millisecond
	server := newClockServer(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease, MaxPoll: never})
	lock, busy := rlock.New(client, "kept"), rlock.New(client, "busy")
	ctx, unlock := held(t, lock)
	fence := alive(t, lock, ctx).Fence
	var last int64
	for _, step := range []time.Duration{4, 1000, -1000, -60_000, -59_000} {
		server.ahead(step * time.Millisecond)
		require.NoError(t, busy.Do(within(t), func(ctx context.Context) error {
			hold := alive(t, busy, ctx)
			require.Greater(t, hold.Fence, last, "tokens grow though the clock went back")
			last = hold.Fence
			return nil
		}))
		events.renewedAgain(t, 1, lock.Name())
	}
	require.Equal(t, fence, alive(t, lock, ctx).Fence)
	waiter := waiting(t, events, lock)
	require.NoError(t, unlock())
	require.NoError(t, arrives(t, waiter).unlock())
	require.Empty(t, events.losses())
	require.False(t, exists(t, server.Server, lock.Name()))
}

// The server's clock is set back while a hold exists that is not renewed: Redis keeps it for that much
// longer, and no longer, and then a waiter gets the lock.
func TestAServerClockSetBackKeepsADeadHoldAsMuchLonger(t *testing.T) {
	const lease, back = 2 * time.Second, 3 * time.Second
	server := newClockServer(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease})
	lock := rlock.New(client, "back")
	owner, _ := held(t, lock)
	_, err := lock.Export(owner) // no process has it now, and it stays for its lease
	require.NoError(t, err)
	dead := time.Now()
	waiter := waiting(t, events, lock)
	server.ahead(-back)
	o := arrives(t, waiter)
	waited := time.Since(dead)
	require.Greater(t, waited, back, "Redis kept it for as much longer")
	require.Less(t, waited, lease+back+limit/3)
	require.NoError(t, o.unlock())
}
