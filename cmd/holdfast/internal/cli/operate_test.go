package cli

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// place is a server with a client that holds locks there, as a service would.
type place struct {
	url    string
	server *redistest.Server
	rdb    *redis.Client
	client *rlock.Client
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{server: redistest.Start(t)}
	p.url, p.rdb = "redis://"+p.server.Addr(), p.server.Client(t)
	var err error
	p.client, err = rlock.NewClient(p.rdb, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.client.Close() })
	return p
}

func (p *place) hold(t *testing.T, lock rlock.Locker) context.Context {
	t.Helper()
	held, _, err := lock.Lock(t.Context())
	require.NoError(t, err)
	return held
}

// run executes a command on the server.
func (p *place) run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	return execute(t, append([]string{"--redis", p.url}, args...)...)
}

// read executes a command whose result is JSON.
func read[T any](t *testing.T, p *place, wantCode int, args ...string) (result T) {
	t.Helper()
	out, code := p.run(t, append(args, "-o", "json")...)
	require.Equal(t, wantCode, code, out)
	require.NoError(t, json.Unmarshal([]byte(out), &result), out)
	return result
}

const java = "8743c9c0-0795-4907-87fd-6c719a6b4586"

func TestListOnTheCommandLine(t *testing.T) {
	p := newPlace(t)
	assert.Empty(t, read[[]lockView](t, p, 0, "list"), "an empty array, which jq takes")
	p.hold(t, rlock.New(p.client, "order:1"))
	p.hold(t, rwlock.New(p.client, "report").Read())
	require.NoError(t, latch.New(p.client, "start").Set(t.Context(), 3))
	_, unlock, err := rlock.New(p.client, "free").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
	// A hold since a day, and one of Java's of which it is not known.
	yesterday := time.Now().Add(-24 * time.Hour)
	p.rdb.HSet(t.Context(), "old", java+":1", "1")
	p.rdb.PExpire(t.Context(), "old", time.Minute)
	p.rdb.Set(t.Context(), "redisson_lock_token:{old}", yesterday.UnixMicro(), time.Hour)
	p.rdb.HSet(t.Context(), "java", java+":2", "1")
	p.rdb.PExpire(t.Context(), "java", time.Minute)

	names := func(args ...string) (all []string) {
		for _, v := range read[[]lockView](t, p, 0, append([]string{"list"}, args...)...) {
			all = append(all, string(v.Name))
		}
		return all
	}
	assert.Equal(t, []string{"java", "old", "order:1", "report", "start"}, names())
	assert.Contains(t, names("--all"), "free")
	assert.Equal(t, []string{"order:1"}, names("--match", "order:*"))
	assert.Equal(t, []string{"report"}, names("--kind", "read"))
	assert.Equal(t, []string{"report", "start"}, names("--kind", "rwlock,number"))
	out, code := p.run(t, "list", "--older", "1h")
	assert.Zero(t, code)
	assert.Contains(t, out, "old")
	assert.Contains(t, out, "24h0m")
	assert.NotContains(t, out, "order:1")
	assert.Contains(t, out, "left out 2 locks", "the reader and Java's")
	out, _ = p.run(t, "list")
	assert.Contains(t, out, "NAME")
	assert.Contains(t, out, "(3 left)")
	_, code = p.run(t, "list", "--kind", "mutex")
	assert.Equal(t, exitUsage, code)
}

func TestInspectOnTheCommandLine(t *testing.T) {
	p := newPlace(t)
	lock := rlock.New(p.client, "odd *name\x1b[31m")
	hold, err := lock.Held(p.hold(t, lock))
	require.NoError(t, err)
	view := read[lockView](t, p, 0, "inspect", "odd *name\x1b[31m")
	require.Len(t, view.Holders, 1)
	assert.Equal(t, name(hold.ID), view.Holders[0].ID)
	assert.Equal(t, hold.Fence, view.Fence)
	assert.Positive(t, *view.Holders[0].TTL)
	require.NotNil(t, view.Since)
	out, code := p.run(t, "inspect", "odd *name\x1b[31m")
	assert.Zero(t, code)
	assert.Contains(t, out, hold.ID)
	assert.NotContains(t, out, "\x1b", "a name cannot talk to the terminal")
	out, code = p.run(t, "inspect", "none")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, `no lock "none"`)
	_, code = p.run(t, "inspect")
	assert.Equal(t, exitUsage, code)
	_, code = execute(t, "--redis", "redis://127.0.0.1:1", "--lease", "1s", "inspect", "x")
	assert.Equal(t, exitUnavailable, code)
}

// A hold that its process may keep without holding it is shown as such.
func TestAKeptLockOnTheCommandLine(t *testing.T) {
	p := newPlace(t)
	p.hold(t, rlock.New(p.client, "kept", rlock.Keep(time.Second)))
	p.hold(t, rlock.New(p.client, "plain"))
	assert.True(t, read[lockView](t, p, 0, "inspect", "kept").Holders[0].Kept)
	assert.False(t, read[lockView](t, p, 0, "inspect", "plain").Holders[0].Kept)
	out, _ := p.run(t, "inspect", "kept")
	assert.Contains(t, out, "kept: may be idle")
	out, _ = p.run(t, "list")
	assert.Equal(t, 1, strings.Count(out, "(kept)"), out)
}

func TestBreakOnTheCommandLine(t *testing.T) {
	p := newPlace(t)
	for of, lock := range map[string]*rlock.Lock{
		"plain": rlock.New(p.client, "plain"), "read": rwlock.New(p.client, "read").Read(),
		"write": rwlock.New(p.client, "write").Write(),
	} {
		hold, err := lock.Held(p.hold(t, lock))
		require.NoError(t, err)
		_, code := p.run(t, "break", of, "--id", java+":1")
		assert.Equal(t, exitFailed, code, "there is no such hold")
		result := read[broken](t, p, 0, "break", of)
		assert.Equal(t, []name{name(hold.ID)}, result.Holders, of)
		_, code = p.run(t, "break", of)
		assert.Equal(t, exitFailed, code, "nobody holds it")
	}
	sem := semaphore.New(p.client, "sem")
	require.NoError(t, sem.SetCapacity(t.Context(), 2))
	for range 2 {
		_, _, err := sem.Acquire(t.Context(), 1)
		require.NoError(t, err)
	}
	_, code := p.run(t, "break", "sem")
	assert.Equal(t, exitUsage, code, "which one")
	id := string(read[lockView](t, p, 0, "inspect", "sem").Holders[0].ID)
	out, code := p.run(t, "break", "sem", "--id", id)
	assert.Zero(t, code, out)
	assert.Contains(t, out, id)
	assert.Equal(t, 1, read[lockView](t, p, 0, "inspect", "sem").Held)

	p.rdb.HSet(t.Context(), "stuck", java+":1", "1") // without an expiry
	_, code = p.run(t, "break", "stuck")
	assert.Zero(t, code)
	p.hold(t, rlock.New(p.client, "stuck"))
}

// defect F1: a NAME that an unset variable of the shell left empty stood for all locks, and break took the first one.
func TestAnEmptyNameIsAMistakeOfEveryCommand(t *testing.T) {
	p := newPlace(t)
	held := p.hold(t, rlock.New(p.client, "deploy"))
	p.rdb.HSet(t.Context(), "stuck", java+":1", "1") // a leak
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = nobody.Close() })
	for _, args := range [][]string{
		{"break", ""}, {"break", "", "--id", java + ":1"}, {"break", "deploy", "--id", ""},
		{"inspect", ""}, {"watch", "", "--count", "1"}, {"run", "", "--", "true"}, {"run", "-n", "--kind", "sem:3", "", "true"},
		{"list", "--match", ""}, {"watch", "--match", "", "--count", "1"}, {"leaks", "--match", "", "--fix"},
		{"doctor", "--name", ""},
	} {
		out, code := p.run(t, args...)
		assert.Equal(t, exitUsage, code, "%q: %s", args, out)
		assert.Contains(t, out, "empty", "%q", args)
		_, code = execute(t, append([]string{"--redis", "redis://" + nobody.Addr().String(), "--lease", "1s"}, args...)...)
		assert.Equal(t, exitUsage, code, "%q", args)
	}
	require.NoError(t, nobody.(*net.TCPListener).SetDeadline(time.Now()))
	_, err = nobody.Accept()
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "something was sent")
	assert.NoError(t, held.Err())
	assert.EqualValues(t, 2, p.rdb.Exists(t.Context(), "deploy", "stuck").Val())
}

func TestLeaksOnTheCommandLine(t *testing.T) {
	p := newPlace(t)
	require.NoError(t, semaphore.New(p.client, "sem").SetCapacity(t.Context(), 2))
	out, code := p.run(t, "leaks")
	assert.Zero(t, code)
	assert.Contains(t, out, "no leaks")
	p.rdb.HSet(t.Context(), "stuck", java+":1", "1")
	found := read[[]leakView](t, p, exitFailed, "leaks")
	require.Len(t, found, 1)
	assert.Equal(t, leakView{Key: "stuck", Name: "stuck", What: found[0].What, Holders: []name{java + ":1"}}, found[0])
	assert.Empty(t, read[[]leakView](t, p, 0, "leaks", "--match", "other*"))
	out, code = p.run(t, "leaks", "--fix")
	assert.Zero(t, code)
	assert.Contains(t, out, "freed")
	p.hold(t, rlock.New(p.client, "stuck"))
}

// The id of a hold is what another program wrote, and cannot talk to the terminal (defect F18).
func TestTheHoldersOfALeakAreEscaped(t *testing.T) {
	p := newPlace(t)
	p.rdb.HSet(t.Context(), "stuck", java+":\x1b[31m", "1")
	out, code := p.run(t, "leaks")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, java+`:\x1b[31m`)
	assert.NotContains(t, out, "\x1b")
}

// A semaphore that has no capacity has no permits left, not even none (defect F23).
func TestASemaphoreWithoutACapacityIsToldSo(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := semaphore.New(p.client, "printers").Acquire(ctx, 1)
		ended <- err
	}()
	redistest.Eventually(t, time.Minute, func() bool {
		return len(read[[]lockView](t, p, 0, "list")) == 1
	}, "it is waited for")
	view := read[lockView](t, p, 0, "inspect", "printers")
	assert.Nil(t, view.Number)
	assert.True(t, view.NoCapacity)
	for _, command := range [][]string{{"list"}, {"inspect", "printers"}} {
		out, code := p.run(t, command...)
		assert.Zero(t, code)
		assert.Contains(t, out, "semaphore")
		assert.Contains(t, out, "capacity")
		assert.NotContains(t, out, "left")
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestDoctorOnTheCommandLine(t *testing.T) {
	p := newPlace(t)
	levels := make(map[string]string)
	for _, f := range read[[]struct{ Name, Level string }](t, p, 0, "doctor") {
		levels[f.Name] = f.Level
	}
	for _, name := range []string{"version", "trial", "fairlock", "rwlock", "semaphore", "counting", "latch", "rights"} {
		assert.Equal(t, "ok", levels[name], name)
	}
	for _, key := range p.server.Keys(t) {
		assert.Positive(t, p.rdb.PTTL(t.Context(), key).Val(), "%s stays for ever", key)
	}
	out, code := p.run(t, "doctor", "--min-replicas", "1")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "0 of 1 replicas")
	out, code = p.run(t, "doctor", "--fsync") // the server has no append-only file
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "WAITAOF is refused")
	require.NoError(t, p.rdb.Do(t.Context(), "ACL", "SETUSER", "default", "-hset").Err())
	out, code = p.run(t, "doctor")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "HSET")
	out, code = execute(t, "--redis", "redis://127.0.0.1:1", "--lease", "1s", "doctor")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "does not answer")
}

func TestWatchIntoAPipe(t *testing.T) {
	p := newPlace(t)
	p.hold(t, rlock.New(p.client, "order:1"))
	p.hold(t, rlock.New(p.client, "order:2"))
	out, code := p.run(t, "watch", "--count", "2", "--interval", "100ms")
	assert.Zero(t, code)
	assert.Equal(t, 2, strings.Count(out, "NAME"))
	assert.NotContains(t, out, "\x1b")
	out, _ = p.run(t, "watch", "order:2", "--count", "3", "--interval", "100ms", "-o", "json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3)
	var locks []lockView
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &locks))
	require.Len(t, locks, 1)
	assert.Equal(t, name("order:2"), locks[0].Name)
	_, code = p.run(t, "watch", "--interval", "1ms")
	assert.Equal(t, exitUsage, code)
}

// A screen fits the terminal, however many locks there are, and leaves nothing of the one before.
func TestWatchFitsTheTerminal(t *testing.T) {
	var locks []lockView
	for range 50 {
		locks = append(locks, lockView{Name: name(strings.Repeat("name", 30)), Kind: rlock.KindLock})
	}
	for _, size := range [][2]int{{80, 24}, {20, 5}, {200, 100}, {1, 1}} {
		text := screen(locks, time.Now(), nil, size[0], size[1])
		require.True(t, strings.HasPrefix(text, "\x1b[H"))
		require.True(t, strings.HasSuffix(text, "\x1b[J"))
		lines := strings.Split(strings.TrimPrefix(text, "\x1b[H"), "\r\n")
		require.LessOrEqual(t, len(lines), size[1])
		for _, line := range lines {
			visible, cleared := strings.CutSuffix(strings.TrimSuffix(line, "\x1b[J"), "\x1b[K")
			require.True(t, cleared)
			require.LessOrEqual(t, len([]rune(visible)), size[0])
		}
	}
}

func TestNamesAreCompleted(t *testing.T) {
	p := newPlace(t)
	p.hold(t, rlock.New(p.client, "order:1"))
	p.hold(t, rlock.New(p.client, "other"))
	for _, command := range []string{"inspect", "break", "watch"} {
		out, code := execute(t, "__complete", command, "--redis", p.url, "or")
		assert.Zero(t, code)
		assert.Contains(t, out, "order:1\n")
		assert.NotContains(t, out, "other\n")
	}
}
