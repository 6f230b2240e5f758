package rlock_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Design section 3: mistakes that other lock packages compile, and that then go wrong silently, do not
// compile here. Each program in testdata/misuse says in its first line what the compiler is to say; one
// is right, and proves that the others fail for that reason alone.
func TestMisuseDoesNotCompile(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("go")
	require.NoError(t, err, "this test compiles programs: the go command has to be on PATH")
	programs, err := filepath.Glob(filepath.Join("testdata", "misuse", "*.go"))
	require.NoError(t, err)
	require.Greater(t, len(programs), 5)
	right := 0
	for _, program := range programs {
		source, err := os.ReadFile(program)
		require.NoError(t, err)
		first, _, _ := strings.Cut(string(source), "\n")
		want, ok := strings.CutPrefix(first, "// want: ")
		require.True(t, ok, "%s says what it wants", program)
		out, err := exec.CommandContext(conductCompile(t), tool, "build", "-o", os.DevNull, "./"+program).
			CombinedOutput()
		if want == "compiles" {
			right++
			require.NoError(t, err, "%s: %s", program, out)
			continue
		}
		require.Error(t, err, "%s compiles", program)
		require.Contains(t, string(out), want, program)
		errors := strings.Count(string(out), filepath.Base(program)+":")
		require.Equal(t, 1, errors, "%s fails for that reason alone: %s", program, out)
	}
	require.Equal(t, 1, right)
}

// conductCompile bounds a compilation, which on a loaded machine with an empty cache takes its time.
func conductCompile(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

const misuseText = "waited 5s behind one hold of this process; " +
	"if the caller is inside that hold, it is passing an outer context (self-deadlock)"

// Rule 1 of the package comment (and defect F24): with an older context a nested Lock waits for itself. That is told,
// once, with the lock's name and how long the hold that is in the way has been held.
func TestSelfDeadlockIsLogged(t *testing.T) {
	t.Parallel()
	log := &observerLog{}
	client := conductClient(t, redistest.Shared(t).Addr(), &rlock.ClientOptions{Logger: slog.New(log)})
	lock := rlock.New(client, redistest.Key(t))
	ctx, cancel := context.WithCancel(conductCtx(t))
	defer cancel()
	held, unlock := conductTake(t, ctx, lock)
	hold, err := lock.Held(held)
	require.NoError(t, err)
	nested := make(chan error, 1)
	go func() {
		_, _, err := lock.Lock(ctx) // should have been held
		nested <- err
	}()
	redistest.Eventually(t, conductLimit, func() bool { return len(log.with(misuseText)) > 0 }, "it is logged")
	line := log.with(misuseText)[0]
	require.Equal(t, lock.Name(), line["lock"].String())
	require.Equal(t, hold.ID, line["hold"].String())
	require.Equal(t, hold.Fence, line["fence"].Int64())
	require.GreaterOrEqual(t, line["held"].Duration(), 4900*time.Millisecond, "five seconds, by a coarse timer")
	require.NoError(t, held.Err(), "nothing is taken from anybody")
	cancel()
	err = conductAwait(t, nested, "the waiter is let go by its context")
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "hold "+hold.ID+" of this process has it, for ", "the error names it too (defect F24)")
	require.Len(t, log.with(misuseText), 1)
	require.NoError(t, unlock())
}

// Rule 3: the work that goes on with the context of a lock that was unlocked learns of that.
func TestWorkAfterUnlockIsStopped(t *testing.T) {
	t.Parallel()
	client := conductClient(t, redistest.Shared(t).Addr(), nil)
	var leaked context.Context
	lock := rlock.New(client, redistest.Key(t))
	require.NoError(t, lock.Do(conductCtx(t), func(ctx context.Context) error {
		leaked = ctx
		return nil
	}))
	require.ErrorIs(t, context.Cause(leaked), rlock.ErrReleased)
	_, _, err := lock.Lock(leaked)
	require.ErrorIs(t, err, rlock.ErrReleased)
	require.ErrorIs(t, err, context.Canceled)
	_, err = lock.Held(leaked)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
}

// Unlock forgotten: Close names the lock, so a test that closes its client finds it.
func TestForgottenUnlockIsNamedByClose(t *testing.T) {
	t.Parallel()
	client := conductClient(t, redistest.Shared(t).Addr(), nil)
	forgotten, done := redistest.Key(t), redistest.Key(t)
	_, _, err := rlock.New(client, forgotten).Lock(conductCtx(t))
	require.NoError(t, err)
	require.NoError(t, rlock.New(client, done).Do(conductCtx(t), func(context.Context) error { return nil }))
	err = client.Close()
	require.ErrorContains(t, err, forgotten)
	require.NotContains(t, err.Error(), done)
}
