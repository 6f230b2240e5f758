package crashpoints_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// lab is one pair: its Redis, its subject, its rival, and what is known so far.
type lab struct {
	t      *testing.T
	point  crash.Point
	action action
	course course
	lease  time.Duration // the subject's
	server *redistest.Server
	direct *redis.Client
	rival  *rival

	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan report // closed when the subject has ended

	reports []report
	passed  map[crash.Point]int
	fired   int
	killed  time.Duration // when Redis was killed
	down    time.Duration // for how long it was away
	gone    time.Duration // when the subject had ended
	cut     int64         // subscriptions that were cut
}

func newLab(t *testing.T, p crash.Point, a action) *lab {
	t.Helper()
	l := &lab{t: t, point: p, action: a, course: courseTo(p), lines: make(chan report, 1<<14),
		passed: make(map[crash.Point]int),
	}
	l.lease = a.lease(l.course.scenario)
	var args []redistest.Option
	if a == redisAOF {
		args = append(args, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	}
	l.server = redistest.Start(t, args...)
	l.direct = l.server.Client(t)
	l.rival = newRival(t, "rival", l.server.Options())
	return l
}

// start starts the subject, which ends with the test at the latest.
func (l *lab) start() {
	l.t.Helper()
	text, err := json.Marshal(orders{
		Addr: l.server.Addr(), Point: l.point, Passing: l.course.passing, Action: l.action,
		Scenario: l.course.scenario, Lease: l.lease,
	})
	require.NoError(l.t, err)
	l.cmd = exec.Command(os.Args[0])
	l.cmd.Env = append(os.Environ(), subjectEnv+"="+string(text))
	l.cmd.Stderr = os.Stderr
	l.in, err = l.cmd.StdinPipe() // its end ends the subject if this process dies
	require.NoError(l.t, err)
	out, err := l.cmd.StdoutPipe()
	require.NoError(l.t, err)
	require.NoError(l.t, l.cmd.Start())
	go func() {
		defer close(l.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var r report
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				r = report{Kind: "nonsense", Text: lines.Text()}
			}
			l.lines <- r
		}
	}()
	l.t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		for range l.lines {
		}
		_ = l.cmd.Wait() // its status says nothing
	})
}

// run follows the pair until the subject has ended.
func (l *lab) run() {
	l.t.Helper()
	if l.course.scenario == waiting {
		var err error
		l.rival.first, err = l.rival.enter(l.t.Context(), patience)
		require.NoError(l.t, err)
		require.NotNil(l.t, l.rival.first)
	}
	l.start()
	limit := time.After(patience)
	for {
		select {
		case r, ok := <-l.lines:
			if !ok || r.Kind == done {
				l.gone = stamp.Now()
				require.Equal(l.t, l.action != kill, ok, "whether it lived to the end; last words: %s", l.last(8))
				return
			}
			l.hear(r)
		case <-limit:
			l.stuck()
		}
	}
}

// stuck gives up on the subject, and makes it print the stacks of its goroutines.
func (l *lab) stuck() {
	l.t.Helper()
	_ = l.cmd.Process.Signal(syscall.SIGQUIT)
	for end := time.After(slack); ; {
		select {
		case _, ok := <-l.lines:
			if ok {
				continue
			}
		case <-end:
		}
		l.t.Fatalf("the subject is stuck; its words: %s", l.last(400))
	}
}

// last are the newest reports, as text.
func (l *lab) last(n int) string {
	text, _ := json.Marshal(l.reports[max(0, len(l.reports)-n):])
	return string(text)
}

func (l *lab) hear(r report) {
	l.reports = append(l.reports, r)
	switch r.Kind {
	case passed:
		// Only a message wakes a waiter that was told "busy" after it had subscribed.
		l.passed[r.Point]++
		if l.point == crash.Wake && r.Point == crash.Acquire.Reply && l.passed[crash.Subscribed] > 0 {
			l.release()
		}
	case fired:
		l.fired++
		if l.fired == 1 {
			l.checkKey()
			l.release()
			l.rival.contend()
			l.strike()
		}
	}
}

// release ends the rival's first hold, and lets the rival contend from then on.
func (l *lab) release() {
	if st := l.rival.first; st != nil {
		l.rival.first = nil
		st.leave()
		l.rival.count(st.unlock())
	}
}

// checkKey makes sure that the strike happens in the intended state: that the lock exists or does not. That can be
// checked only while the subject stands still.
func (l *lab) checkKey() {
	l.t.Helper()
	switch l.action {
	case redisEmpty, redisAOF, pubsubKill, flush:
		held := l.point != crash.Acquire.Send && l.point != crash.Release.Reply && l.point != crash.Reclaim.Reply
		n, err := l.direct.Exists(l.t.Context(), lockName).Result()
		require.NoError(l.t, err)
		require.Equal(l.t, held, n == 1 || l.point == crash.Wake && l.rival.first == nil)
	}
}

// strike is the parent's part of an action.
func (l *lab) strike() {
	l.t.Helper()
	ctx := l.t.Context()
	switch l.action {
	case stop:
		time.Sleep(l.lease * 3 / 2) // the fault itself
		for range 20 {              // the subject may not have stopped until now
			require.NoError(l.t, l.cmd.Process.Signal(syscall.SIGCONT))
			time.Sleep(5 * time.Millisecond)
		}
	case redisEmpty, redisAOF:
		l.server.Kill()
		l.killed = stamp.Now()
		l.say("go")
		time.Sleep(100 * time.Millisecond) // the fault itself: some calls find nobody
		l.server.Restart()
		l.down = stamp.Now() - l.killed
	case pubsubKill:
		n, err := l.direct.ClientKillByFilter(ctx, "TYPE", "pubsub").Result()
		require.NoError(l.t, err)
		l.cut = n
		l.say("go")
	case flush:
		require.NoError(l.t, l.direct.ScriptFlush(ctx).Err())
		l.say("go")
	case kill:
		return // no process is left to be told anything
	}
	l.say("healed")
}

func (l *lab) say(line string) {
	l.t.Helper()
	_, err := io.WriteString(l.in, line+"\n")
	require.NoError(l.t, err)
}
