package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// commandsEnv is how many commands TestTheCommandNeverOutlivesTheHold runs; integration/commandline asks for a hundred.
const commandsEnv = "HOLDFAST_COMMANDS"

// beat writes its process number, and then the time in microseconds, again and again, until it is killed.
const beat = `exec 3<>"$BEATS/wait" 4>"$BEATS/$$"; echo $$ >>"$PIDS"
while :; do echo "$EPOCHREALTIME" >&4; read -t 0.05 -u 3; done`

// beating is a command with a child and a grandchild in sessions of their own, all of which beat and ignore what can be
// ignored.
const beating = `trap '' TERM HUP INT
setsid bash -c 'setsid bash -c "$BEAT" & eval "$BEAT"' &
eval "$BEAT"`

const beatingProcesses = 3

// Everything that a command has started is dead before the lock can be granted to anybody else, when nothing comes
// through to Redis any more. The evidence is an order of two instants of one clock: the last beat of each process, and
// the next holder's fencing token, which Redis takes from its clock when it grants the lock. A machine that is slow
// makes both late.
func TestTheCommandNeverOutlivesTheHold(t *testing.T) {
	t.Parallel()
	left := 10
	if text := os.Getenv(commandsEnv); text != "" {
		var err error
		left, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	const together = 25 // two processes of ours and three others each; more would not be renewed while they start
	for ; left > 0; left -= together {
		cutOff(t, min(left, together))
	}
}

// cutOff starts n commands and cuts them all off from Redis at once.
func cutOff(t *testing.T, n int) {
	t.Helper()
	proxy := faultproxy.Start(t, addr(t))
	all := make([]*holdfast, n)
	for i := range all {
		h := prepare(t, proxy.Addr(), "run", "--lease", "8s", redistest.Key(t), "--", "bash", "-c", beating)
		h.Env = append(h.Env, "BEATS="+filepath.Dir(h.pids), "BEAT="+beat, "LC_ALL=C")
		require.NoError(t, syscall.Mkfifo(filepath.Join(filepath.Dir(h.pids), "wait"), 0o600))
		all[i] = h.start()
	}
	for _, h := range all {
		h.awaitPids(beatingProcesses)
	}
	proxy.Blackhole(true)
	cut := time.Now().UnixMicro()
	client := waiter(t, nil)
	var granted sync.WaitGroup
	for _, h := range all {
		granted.Go(func() {
			token, err := nextToken(client, h.Args[4])
			if !assert.NoError(t, err) {
				return
			}
			assert.Empty(t, h.living(), "they live beside the next holder")
			pids := h.recorded()
			assert.Len(t, pids, beatingProcesses)
			for _, pid := range pids {
				last, err := lastBeat(filepath.Join(filepath.Dir(h.pids), strconv.Itoa(pid)))
				if assert.NoError(t, err) {
					assert.Less(t, last, token, "process %d beat after the lock was somebody else's", pid)
					assert.Greater(t, last, cut, "process %d did not live to be cut off: %s", pid, h.err.String())
				}
			}
		})
	}
	granted.Wait()
	for _, h := range all {
		assert.Equal(t, 74, h.wait(), h.err.String())
	}
	proxy.Blackhole(false)
}

// nextToken waits until the lock is granted, and returns its fencing token: microseconds of Redis's clock, or one more
// than the token before.
func nextToken(client *rlock.Client, name string) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	lock := rlock.New(client, name)
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return 0, err
	}
	hold, err := lock.Held(held)
	if err != nil {
		return 0, err
	}
	return hold.Fence, unlock()
}

// lastBeat is the last whole line that a process wrote, in microseconds.
func lastBeat(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 2 {
		return 0, fmt.Errorf("%s: no beat", path)
	}
	return strconv.ParseInt(strings.Replace(lines[len(lines)-2], ".", "", 1), 10, 64)
}
