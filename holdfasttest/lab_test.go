package holdfasttest_test

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

var background = context.Background()

// both runs a test in a bubble and outside of one.
func both(t *testing.T, test func(t *testing.T)) {
	t.Parallel()
	t.Run("in a bubble", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
	t.Run("outside", func(t *testing.T) {
		t.Parallel()
		test(t)
	})
}

// recorder is a test that fails quietly. It runs its test in a goroutine that Fatalf ends.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(fn func()) { r.cleanups = append(r.cleanups, fn) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failures are those of a test, its cleanup included.
func failures(t *testing.T, test func(t testing.TB)) []string {
	r := &recorder{TB: t}
	for _, fn := range []func(){
		func() { test(r) },
		func() {
			for len(r.cleanups) > 0 {
				last := len(r.cleanups) - 1
				fn := r.cleanups[last]
				r.cleanups = r.cleanups[:last]
				fn()
			}
		},
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			fn()
		}()
		<-done
	}
	return r.failures
}

func TestEachKindOfLockWorks(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		one, other := lab.Client(nil), lab.Client(nil)
		require.NoError(t, semaphore.New(one, "pool").SetCapacity(background, 1))
		permit := func(c *rlock.Client) func() (func() error, error) {
			return func() (func() error, error) {
				_, unlock, err := semaphore.New(c, "pool").TryAcquire(background, 1)
				return unlock, err
			}
		}
		try := func(lock rlock.Locker) func() (func() error, error) {
			return func() (func() error, error) {
				_, unlock, err := lock.TryLock(background)
				return unlock, err
			}
		}
		set := func(c *rlock.Client) rlock.Locker {
			return multilock.New([]*rlock.Lock{rlock.New(c, "x"), rlock.New(c, "y")})
		}
		for _, kind := range []struct {
			name       string
			mine, busy func() (func() error, error)
		}{
			{"rlock", try(rlock.New(one, "a")), try(rlock.New(other, "a"))},
			{"fairlock", try(fairlock.New(one, "b")), try(fairlock.New(other, "b"))},
			{"write", try(rwlock.New(one, "c").Write()), try(rwlock.New(other, "c").Read())},
			{"read", try(rwlock.New(one, "c").Read()), try(rwlock.New(other, "c").Write())},
			{"semaphore", permit(one), permit(other)},
			{"multilock", try(set(one)), try(rlock.New(other, "y"))},
		} {
			unlock, err := kind.mine()
			require.NoError(t, err, kind.name)
			_, err = kind.busy()
			require.ErrorIs(t, err, rlock.ErrBusy, kind.name)
			require.NoError(t, unlock(), kind.name)
			unlock, err = kind.busy()
			require.NoError(t, err, kind.name)
			require.NoError(t, unlock(), kind.name)
		}
		door := latch.New(one, "door")
		require.NoError(t, door.Set(background, 1))
		require.NoError(t, latch.New(other, "door").CountDown(background))
		require.NoError(t, door.Wait(background))
	})
}

func TestAForgottenUnlockFailsTheTestByName(t *testing.T) {
	both(t, func(t *testing.T) {
		failed := failures(t, func(t testing.TB) {
			lab := holdfasttest.New(t)
			_, _, err := rlock.New(lab.Client(nil), "order:1001").Lock(background)
			if err != nil {
				t.Errorf("%v", err)
			}
			lab.HoldElsewhere("elsewhere")
			lab.Freeze() // which does not keep the clients from closing
		})
		require.Len(t, failed, 1)
		require.Contains(t, failed[0], "order:1001")
		require.Contains(t, failed[0], "forgotten")
		require.NotContains(t, failed[0], "elsewhere")
	})
}

func TestMisuseEndsTheTest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		misuse func(lab *holdfasttest.Lab)
		says   string
	}{
		"a bad option": {
			func(lab *holdfasttest.Lab) { lab.Client(&rlock.ClientOptions{Lease: 1}) }, "ClientOptions.Lease",
		},
		"no such reason":  {func(lab *holdfasttest.Lab) { lab.Lose("a", 0) }, "LossReason(0)"},
		"nobody holds it": {func(lab *holdfasttest.Lab) { lab.Lose("a", rlock.LossGone) }, `"a"`},
		"only elsewhere": {
			func(lab *holdfasttest.Lab) {
				lab.HoldElsewhere("a")
				lab.Lose("a", rlock.LossGone)
			}, `"a"`,
		},
		"back in time": {func(lab *holdfasttest.Lab) { lab.Advance(-1) }, "back"},
		"held twice elsewhere": {
			func(lab *holdfasttest.Lab) {
				lab.HoldElsewhere("a")
				lab.HoldElsewhere("a")
				panic("unreachable")
			}, `"a"`,
		},
		"a frozen store": {
			func(lab *holdfasttest.Lab) {
				lab.Freeze()
				lab.HoldElsewhere("a")
			}, "frozen",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				failed := failures(t, func(t testing.TB) { c.misuse(holdfasttest.New(t)) })
				require.Len(t, failed, 1)
				require.Contains(t, failed[0], c.says)
			})
		})
	}
}

// The kit links no module beyond those that the locks link.
func TestTheKitBringsNoModuleOfItsOwn(t *testing.T) {
	t.Parallel()
	modules := func(path string) []string {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", path)
		out, err := list.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.Fields(string(out))
	}
	require.Subset(t, modules("../rlock"), modules("."))
}

const soon = 10 * time.Second // for what must happen; nothing is measured against it

// ended waits for a context's end, and returns its cause.
func ended(t *testing.T, ctx context.Context) error {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(soon):
		t.Fatal("the context should have ended")
	}
	return context.Cause(ctx)
}
