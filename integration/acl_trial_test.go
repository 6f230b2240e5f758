package integration_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

const aclLease = 6 * time.Second

// aclTrial is one life of locks under a user with certain rights. It stands in for a test, so that a life can be
// written with require and its failure be an expected one.
type aclTrial struct {
	user    string
	admins  []*redis.Client
	rdbs    []redis.UniversalClient // the user's, one for each server, or one for a cluster
	name    string                  // begins with "app:", and is this trial's alone
	opts    rlock.ClientOptions
	renewed chan string  // names
	answers atomic.Int64 // of servers, to scripts that they carried out

	mu       sync.Mutex // guards all below
	failed   []string
	cleanups []func()
	clients  []interface{ Stats() rlock.Stats }
}

// Errorf implements require.TestingT.
func (a *aclTrial) Errorf(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = append(a.failed, fmt.Sprintf(format, args...))
}

// FailNow implements require.TestingT.
func (a *aclTrial) FailNow() { runtime.Goexit() }

func (a *aclTrial) cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cleanups = append(a.cleanups, f)
}

// ok is require.NoError.
func (a *aclTrial) ok(err error) { require.NoError(a, err) }

// client makes a client of locks that is closed when the trial is over.
func (a *aclTrial) client() *rlock.Client {
	client, err := rlock.NewClient(a.rdbs[0], &a.opts)
	a.ok(err)
	a.cleanup(func() { _ = client.Close() })
	a.opened(client)
	return client
}

// opened notes a client whose calls may wait.
func (a *aclTrial) opened(client interface{ Stats() rlock.Stats }) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = append(a.clients, client)
}

// waiters is how many calls wait.
func (a *aclTrial) waiters() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, client := range a.clients {
		n += client.Stats().Waiters
	}
	return n
}

// within is a context that ends long after the awaited event should have happened.
func (a *aclTrial) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	a.cleanup(cancel)
	return ctx
}

// happens waits for an event about the trial's name.
func (a *aclTrial) happens(events <-chan string, what string) {
	for {
		select {
		case name := <-events:
			if strings.HasPrefix(name, a.name) {
				return
			}
		case <-time.After(limit):
			require.Fail(a, "did not happen: "+what)
			a.FailNow()
		}
	}
}

// aclWait is a call that waits in a goroutine of its own.
type aclWait struct {
	a    *aclTrial
	done chan error
}

// waiting starts a call, and returns once it waits, and has asked for the last time for a while. A call that ends
// beforehand fails the trial.
func (a *aclTrial) waiting(call func(ctx context.Context) error) aclWait {
	waiters, answers, since := a.waiters(), a.answers.Load(), time.Now()
	w := aclWait{a, make(chan error, 1)}
	ctx := a.within()
	go func() { w.done <- call(ctx) }()
	for a.waiters() == waiters || time.Since(since) < 50*time.Millisecond {
		if now := a.answers.Load(); now != answers {
			answers, since = now, time.Now()
		}
		select {
		case err := <-w.done:
			require.NoError(a, err)
			require.Fail(a, "the call did not wait")
			a.FailNow()
		case <-time.After(time.Millisecond):
		}
	}
	return w
}

// arrives waits for the end of the call.
func (w aclWait) arrives() { w.a.ok(<-w.done) }

// quiet waits until nobody listens for the trial's locks any more.
func (a *aclTrial) quiet() {
	gone := func() bool {
		for _, admin := range a.admins {
			pattern := "*" + a.name + "*"
			plain, err := admin.PubSubChannels(context.Background(), pattern).Result()
			a.ok(err)
			sharded, _ := admin.PubSubShardChannels(context.Background(), pattern).Result() // unknown before Redis 7
			if len(plain)+len(sharded) > 0 {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(limit); !gone(); time.Sleep(20 * time.Millisecond) {
		require.True(a, time.Now().Before(end), "a channel that nobody waits on stays subscribed")
	}
}

// refused is what the servers refused so far.
func (a *aclTrial) refused() (denied []string) {
	for _, admin := range a.admins {
		some, err := aclDenied(admin, a.user)
		a.ok(err)
		denied = append(denied, some...)
	}
	slices.Sort(denied)
	return slices.Compact(denied)
}

// do has the administrator of the first server run a command, with the trial's name for %s in every argument.
func (a *aclTrial) do(args ...any) {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = strings.ReplaceAll(text, "%s", a.name)
		}
	}
	a.ok(a.admins[0].Do(context.Background(), args...).Err())
}

// aclName is the name of a trial's locks.
func aclName(id string) string {
	if strings.HasPrefix(id, "{") {
		return id
	}
	return "app:" + id
}

// aclRun lives one life under a user with these rights. It returns what the servers refused, and what failed.
func aclRun(t *testing.T, site *aclSite, id string, rules []string, poll time.Duration,
	life func(a *aclTrial)) (denied, failed []string) {
	t.Helper()
	a := &aclTrial{
		user: "u-" + id, name: aclName(id), renewed: make(chan string, 1000),
	}
	a.opts = rlock.ClientOptions{
		Lease: aclLease, MaxPoll: poll, ReleaseTimeout: time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Observer: &rlock.Observer{
			Command: func(c rlock.Command) {
				if c.Err == nil {
					a.answers.Add(1)
				}
			},
			Renewed: func(r rlock.Renewal) {
				if r.Err != nil {
					return
				}
				select {
				case a.renewed <- r.Name:
				default:
				}
			},
		},
	}
	for _, server := range site.servers {
		admin := server.Client(t)
		args := []any{"ACL", "SETUSER", a.user, "reset", "resetchannels", "on", ">secret"}
		for _, rule := range site.known(t, rules) {
			args = append(args, rule)
		}
		require.NoError(t, admin.Do(context.Background(), args...).Err())
		a.admins = append(a.admins, admin)
	}
	a.rdbs = site.connect(a.user)
	for _, rdb := range a.rdbs {
		t.Cleanup(func() { _ = rdb.Close() })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		life(a)
	}()
	<-done
	for _, f := range slices.Backward(a.cleanups) {
		f()
	}
	return a.refused(), a.failed
}

// aclDenied is what a server refused a user, by its own log: commands, keys and channels.
func aclDenied(admin *redis.Client, user string) (denied []string, err error) {
	entries, err := admin.Do(context.Background(), "ACL", "LOG", "1000000").Slice()
	for _, entry := range entries {
		fields := make(map[string]string)
		switch entry := entry.(type) {
		case map[any]any:
			for name, value := range entry {
				fields[fmt.Sprint(name)] = fmt.Sprint(value)
			}
		case []any:
			for i := 0; i+1 < len(entry); i += 2 {
				fields[fmt.Sprint(entry[i])] = fmt.Sprint(entry[i+1])
			}
		}
		if fields["username"] == user {
			denied = append(denied, fields["object"])
		}
	}
	return denied, err
}
