package rlock_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	timeTick   = 10 * time.Millisecond // of the engine's wheel
	timeMargin = 2 * time.Millisecond  // what validity falls short of, beside 1 % and a tick
)

// timeSim is a simulated Redis that notes when it carried out which script. On its network nothing takes
// time, so that is also when the request was sent.
type timeSim struct {
	*simredis.Server

	mu    sync.Mutex // guards what follows
	fault simredis.Fault
	done  map[string][]time.Time // by script, those that were answered
	sent  map[string][]time.Time // all of them
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(t *testing.T, sim *timeSim)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := &timeSim{
			Server: simredis.New(t),
			done:   make(map[string][]time.Time), sent: make(map[string][]time.Time),
		}
		sim.SetFault(sim.decide)
		test(t, sim)
	})
}

var timeScripts = func() map[string]string {
	names := make(map[string]string)
	for _, name := range []string{
		"acquire", "acquire_all", "levels", "release", "retain", "adopt", "mint", "renew", "inspect",
	} {
		names[luacall.SHA(name)] = name
	}
	return names
}()

// timeScript names the script that a request runs; in full it is sent only where it was not known.
func timeScript(args []string) string {
	if len(args) > 1 && strings.EqualFold(args[0], "evalsha") {
		return timeScripts[args[1]]
	}
	return ""
}

func (s *timeSim) decide(conn int, args []string) simredis.Verdict {
	script := timeScript(args)
	s.mu.Lock()
	defer s.mu.Unlock()
	verdict := simredis.Pass
	if s.fault != nil {
		verdict = s.fault(conn, args)
	}
	if script == "" {
		return verdict
	}
	s.sent[script] = append(s.sent[script], time.Now())
	if verdict == simredis.Pass {
		s.done[script] = append(s.done[script], time.Now())
	}
	return verdict
}

// suffer has fault decide from now on; nil heals.
func (s *timeSim) suffer(fault simredis.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// confirmed is when the last run of one of the scripts was answered.
func (s *timeSim) confirmed(scripts ...string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last time.Time
	for _, script := range scripts {
		if at := s.done[script]; len(at) > 0 && at[len(at)-1].After(last) {
			last = at[len(at)-1]
		}
	}
	return last
}

func (s *timeSim) count(script string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent[script])
}

func (s *timeSim) holds(key string) bool { return s.Miniredis().Exists(key) }

// client is one whose scripts the server knows: so that every run counts.
func (s *timeSim) client(t *testing.T, opts rlock.ClientOptions) *rlock.Client {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := rlock.NewClient(s.Client(), &opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("a hold is left over: %v", err)
		}
	})
	warm := rlock.New(client, "warm")
	outer := timeLock(t, context.Background(), warm)
	inner := rlock.New(client, "warm", rlock.FixedLease(time.Hour))
	require.NoError(t, timeLock(t, outer.ctx, inner).unlock())
	require.NoError(t, outer.unlock())
	return client
}

// timeOnly has a fault for runs of one script, and lets everything else pass.
func timeOnly(script string, verdict simredis.Verdict) simredis.Fault {
	return func(_ int, args []string) simredis.Verdict {
		if timeScript(args) == script {
			return verdict
		}
		return simredis.Pass
	}
}

func timeAlways(verdict simredis.Verdict) simredis.Fault {
	return func(int, []string) simredis.Verdict { return verdict }
}
