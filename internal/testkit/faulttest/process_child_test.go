package faulttest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// The configuration of a child process, in its environment.
const (
	processAddr  = "HOLDFAST_TEST_ADDR"
	processName  = "HOLDFAST_TEST_NAME"
	processLease = "HOLDFAST_TEST_LEASE"
)

func init() { roles["holder"] = processHolder }

// processChild is this test binary, started again in a role. It is told lines and tells lines.
type processChild struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed when the child has ended
}

// processStart starts a child that ends with the test.
func processStart(t *testing.T, role string, env map[string]string) *processChild {
	t.Helper()
	c := &processChild{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string, 1<<16)}
	c.cmd.Env = append(os.Environ(), roleEnv+"="+role)
	for name, value := range env {
		c.cmd.Env = append(c.cmd.Env, name+"="+value)
	}
	c.cmd.Stderr = os.Stderr
	var err error
	c.in, err = c.cmd.StdinPipe() // whose end ends the child, should this process die
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(c.kill)
	return c
}

// kill ends the child with SIGKILL, and returns when it is gone.
func (c *processChild) kill() {
	_ = c.cmd.Process.Kill()
	for range c.lines {
	}
	_ = c.cmd.Wait() // its status says nothing
}

// freeze stops the child, and returns when it stands still.
func (c *processChild) freeze() {
	c.t.Helper()
	require.NoError(c.t, redistest.Freeze(c.cmd.Process))
}

func (c *processChild) thaw() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(syscall.SIGCONT))
}

func (c *processChild) say(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c.t, err)
}

// hear returns the child's next line.
func (c *processChild) hear() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		require.True(c.t, ok, "the child has ended")
		return line
	case <-time.After(2 * faultSoon):
		c.t.Fatal("the child says nothing")
		return ""
	}
}

// processClient makes the client that the environment asks for.
func processClient(observer *rlock.Observer) *rlock.Client {
	lease, err := time.ParseDuration(os.Getenv(processLease))
	processCheck(err)
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv(processAddr)})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: lease, Observer: observer, Logger: slog.New(slog.DiscardHandler),
	})
	processCheck(err)
	return client
}

func processCheck(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// processHolder is a child that takes the lock, says "held", and then does what it is told:
//
//	held     says what Held answers: the fencing token, or the error
//	context  waits for the end of the hold's context and says its cause
//	renewed  waits for two renewals that began after this line and says "renewed"
//	losses   says how many losses it heard of
//	unlock   says what unlock answers
func processHolder() {
	var losses atomic.Int64
	renewed := make(chan struct{}, 1)
	client := processClient(&rlock.Observer{
		Lost: func(*rlock.LostError) { losses.Add(1) },
		Renewed: func(_ string, err error) {
			if err == nil {
				select {
				case renewed <- struct{}{}:
				default:
				}
			}
		},
	})
	lock := rlock.New(client, os.Getenv(processName))
	held, unlock, err := lock.Lock(context.Background())
	processCheck(err)
	fmt.Println("held")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch lines.Text() {
		case "held":
			hold, err := lock.Held(held)
			fmt.Println(hold.Fence, processError(err))
		case "context":
			<-held.Done()
			fmt.Println(processError(context.Cause(held)))
		case "renewed":
			for range 3 { // the first may be of before
				<-renewed
			}
			fmt.Println("renewed")
		case "losses":
			fmt.Println(losses.Load())
		case "unlock":
			fmt.Println(processError(unlock()))
		}
	}
}

// processError is an error in one word.
func processError(err error) string {
	for word, is := range map[string]error{
		"lost": rlock.ErrLost, "released": rlock.ErrReleased, "not-held": rlock.ErrNotHeld,
		"unavailable": rlock.ErrUnavailable, "unconfirmed": rlock.ErrUnconfirmed,
	} {
		if errors.Is(err, is) {
			return word
		}
	}
	return fmt.Sprint(err)
}
