package redisson_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// exchange makes each side wait for the other, time and again. Only messages can wake a waiter.
func exchange(t *testing.T, a, b thread, g *goSide, name string, rounds int) {
	t.Helper()
	var toGo, toJava time.Duration
	for range rounds {
		a.do("lock", name)
		g.busy(name)
		require.Equal(t, "false", b.do("try", name, "0"))
		entering := g.waiting(name)
		require.Empty(t, entering)
		start := time.Now()
		a.do("unlock", name)
		o := g.arrives(entering)
		toGo += time.Since(start)

		require.Equal(t, "false", a.do("try", name, "0"))
		require.Equal(t, "true", a.do("locked", name))
		waiting := b.waiting("lock", name)
		require.NoError(t, o.ctx.Err())
		start = time.Now()
		require.NoError(t, o.unlock())
		javaArrives(t, waiting)
		toJava += time.Since(start)
		b.do("unlock", name)
	}
	require.Equal(t, "false", a.do("locked", name))
	t.Logf("%q: from Java's unlock to Lock %v, from our unlock to Java's lock %v, on average",
		name, toGo/time.Duration(rounds), toJava/time.Duration(rounds))
}

// Each side is woken by the other's release, and neither gets the lock while the other holds it.
func TestEachSideWakesTheOther(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	exchange(t, j.thread("a"), j.thread("b"), g, "woken", 20)
}

// Java's tryLock with a wait ends without the lock when the wait is over, and with it when it is told.
func TestJavasTimedTry(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	a := j.thread("a")
	o := g.hold("timed")
	require.Equal(t, "false", a.do("try", "timed", "300"))
	waiting := a.waiting("try", "timed", strconv.FormatInt(never.Milliseconds(), 10))
	require.NoError(t, o.ctx.Err())
	require.NoError(t, o.unlock())
	require.Equal(t, "true", javaArrives(t, waiting))
	g.busy("timed")
	a.do("unlock", "timed")
	require.NoError(t, g.hold("timed").unlock())
}

// Every possible name is the same name on both sides, and its channel the same channel.
func TestNamesOfAllKinds(t *testing.T) {
	t.Parallel()
	names := []string{
		"order:1001", "{tenant}:order", "a{b}c", "two words", " ", "semi}brace", "half{brace", "{}empty",
		"a+b%20c", "Schlüssel/锁/🔒", `quotes"and'\`, "two\nlines\tand a tab", strings.Repeat("long:", 200),
	}
	for _, mapped := range []bool{false, true} {
		name := "as they are"
		jopts, gopts := javaOptions{}, rlock.ClientOptions{}
		prefix := ""
		if mapped {
			name, prefix = "mapped", "app one:{ü}:"
			jopts.prefix = prefix
			gopts.Prefix = prefix
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, j, g := one(t, jopts, gopts)
			a, b := j.thread("a"), j.thread("b")
			for _, name := range names {
				a.do("lock", name)
				require.Contains(t, server.Keys(t), prefix+name)
				a.do("unlock", name)
				exchange(t, a, b, g, name, 1)
			}
		})
	}
}
