package rlock_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/scaletest"
	"github.com/holdfast-go/holdfast/rlock"
)

// benchClient is a client of a server of its own, so that others' load is not measured.
func benchClient(b *testing.B, opts rlock.ClientOptions) (*rlock.Client, *redistest.Server) {
	b.Helper()
	server := redistest.Start(b)
	return timeClient(b, server.Addr(), opts), server
}

func benchPair(b *testing.B, ctx context.Context, l *rlock.Lock) {
	_, unlock, err := l.Lock(ctx)
	if err != nil {
		b.Error(err)
		return
	}
	if err := unlock(); err != nil {
		b.Error(err)
	}
}

// BenchmarkPair is Lock and unlock of a name that nobody else wants: two round trips.
func BenchmarkPair(b *testing.B) {
	client, _ := benchClient(b, rlock.ClientOptions{})
	lock := rlock.New(client, "order")
	b.ReportAllocs()
	for b.Loop() {
		benchPair(b, b.Context(), lock)
	}
}

// BenchmarkPairWithoutCancel is the same with a context that cannot end, for which nobody has to wait.
func BenchmarkPairWithoutCancel(b *testing.B) {
	client, _ := benchClient(b, rlock.ClientOptions{})
	lock := rlock.New(client, "order")
	b.ReportAllocs()
	for b.Loop() {
		benchPair(b, context.Background(), lock)
	}
}

// BenchmarkKept is a pair on a lock that stays with its process, now and then with the two requests of one that does not.
func BenchmarkKept(b *testing.B) {
	client, _ := benchClient(b, rlock.ClientOptions{})
	lock := rlock.New(client, "order", rlock.Keep(time.Second))
	b.ReportAllocs()
	for b.Loop() {
		benchPair(b, b.Context(), lock)
	}
}

// BenchmarkKeptBy64 is 64 goroutines with a kept name and a context each, whose handle is made for every pair. The
// processor's time is told as well, since that is what ends their growth.
func BenchmarkKeptBy64(b *testing.B) {
	client, _ := benchClient(b, rlock.ClientOptions{})
	var names atomic.Int64
	b.ReportAllocs()
	b.SetParallelism((64 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	used := benchCPU()
	b.RunParallel(func(pb *testing.PB) {
		name := "order:" + strconv.FormatInt(names.Add(1), 10)
		ctx, leave := context.WithCancel(b.Context())
		defer leave()
		for pb.Next() {
			benchPair(b, ctx, rlock.New(client, name, rlock.Keep(time.Second)))
		}
	})
	b.ReportMetric(float64(benchCPU()-used)/float64(b.N), "cpu-ns/op")
}

// BenchmarkReentry is one more level of a hold, and back.
func BenchmarkReentry(b *testing.B) {
	client, _ := benchClient(b, rlock.ClientOptions{})
	lock := rlock.New(client, "order")
	outer := timeLock(b, context.Background(), lock)
	b.ReportAllocs()
	for b.Loop() {
		benchPair(b, outer.ctx, lock)
	}
	b.StopTimer()
	if err := outer.unlock(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOneNameBy64 is 64 goroutines that take turns on one name.
func BenchmarkOneNameBy64(b *testing.B) {
	client, _ := benchClient(b, rlock.ClientOptions{})
	lock := rlock.New(client, "order")
	b.ReportAllocs()
	b.SetParallelism((64 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			benchPair(b, context.Background(), lock)
		}
	})
}

// BenchmarkOwnNamesBy64 is 64 goroutines with a name each.
func BenchmarkOwnNamesBy64(b *testing.B) {
	client, _ := benchClient(b, rlock.ClientOptions{})
	names := make(chan *rlock.Lock, 1024)
	for i := range cap(names) {
		names <- rlock.New(client, "order:"+strconv.Itoa(i))
	}
	b.ReportAllocs()
	b.SetParallelism((64 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		lock := <-names
		for pb.Next() {
			benchPair(b, context.Background(), lock)
		}
	})
}

// BenchmarkHandoverBetweenClients is the time from one client's unlock to the other one's hold.
func BenchmarkHandoverBetweenClients(b *testing.B) {
	one, server := benchClient(b, rlock.ClientOptions{})
	two := timeClient(b, server.Addr(), rlock.ClientOptions{})
	locks := []*rlock.Lock{rlock.New(one, "order"), rlock.New(two, "order")}
	type held struct {
		unlock func() error
		at     time.Time
		err    error
	}
	holder := timeLock(b, context.Background(), locks[0])
	unlock := holder.unlock
	got := make(chan held)
	var waited time.Duration
	b.ReportAllocs()
	turn := 0
	for b.Loop() {
		turn++
		next := locks[turn%2]
		go func() {
			_, unlock, err := next.Lock(context.Background())
			got <- held{unlock, time.Now(), err}
		}()
		b.StopTimer()
		for seen := 0; seen == 0; {
			info, err := next.Inspect(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			seen = info.Waiters
		}
		b.StartTimer()
		start := time.Now()
		if err := unlock(); err != nil {
			b.Fatal(err)
		}
		h := <-got
		if h.err != nil {
			b.Fatal(h.err)
		}
		waited += h.at.Sub(start)
		unlock = h.unlock
	}
	b.StopTimer()
	b.ReportMetric(float64(waited.Microseconds())/float64(turn), "µs/handover")
	if err := unlock(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHold20000 holds 20,000 locks with a lease of 6 s and reports what that costs. An iteration
// is a second of it: -benchtime 60x is a minute. HOLDFAST_HOLD sets how long the least is.
func BenchmarkHold20000(b *testing.B) {
	const locks, lease = 20_000, 6 * time.Second
	client, server := benchClient(b, rlock.ClientOptions{Lease: lease})
	locked := scaletest.NewLocks(client, locks)
	benchPair(b, context.Background(), rlock.New(client, "warm"))
	goroutines, heap := runtime.NumGoroutine(), scaletest.Heap()
	if err := locked.Lock(); err != nil {
		b.Fatal(err)
	}
	perLock := float64(scaletest.Heap()-heap) / locks
	grown := runtime.NumGoroutine() - goroutines
	least, err := time.ParseDuration(benchEnv("HOLDFAST_HOLD", "12s"))
	if err != nil {
		b.Fatal(err)
	}

	calls := benchScripts(b, server)
	start, cpu := time.Now(), benchCPU()
	for b.Loop() {
		time.Sleep(time.Second)
	}
	if left := least - time.Since(start); left > 0 {
		time.Sleep(left)
	}
	held := time.Since(start).Seconds()
	cpu, calls = benchCPU()-cpu, benchScripts(b, server)-calls
	if alive := locked.Alive(); alive != locks {
		b.Errorf("%d of %d locks are still held", alive, locks)
	}
	b.ReportMetric(perLock, "B/lock")
	b.ReportMetric(float64(grown), "goroutines")
	b.ReportMetric(float64(calls)/held, "evals/s")
	b.ReportMetric(100*cpu.Seconds()/held, "%cpu")
	b.ReportMetric(0, "ns/op")
	if err := locked.Unlock(); err != nil {
		b.Fatal(err)
	}
}

// benchScripts is how many scripts a server has run.
func benchScripts(b *testing.B, server *redistest.Server) int64 {
	return server.Calls(b, "evalsha") + server.Calls(b, "eval")
}

// benchCPU is the processor time that this process has used.
func benchCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func benchEnv(name, other string) string {
	if value := strings.TrimSpace(os.Getenv(name)); value != "" {
		return value
	}
	return other
}
