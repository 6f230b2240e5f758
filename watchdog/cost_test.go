package watchdog

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func idleDog() (*Watchdog, *Clock, func()) {
	clock := NewClock()
	wheel := NewWheel(clock, 0)
	dog := New(Config{
		Wheel: wheel, Period: time.Hour,
		Renew: func(context.Context, string, []*Lease, []Result) {},
		Lost:  func(*Lease, error) {},
	})
	return dog, clock, func() { dog.Close(); wheel.Close() }
}

func TestSizes(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(Timer{}), uintptr(48))
	assert.LessOrEqual(t, unsafe.Sizeof(Lease{}), uintptr(104))
	t.Logf("Timer %d bytes, Lease %d bytes, Wheel %d bytes",
		unsafe.Sizeof(Timer{}), unsafe.Sizeof(Lease{}), unsafe.Sizeof(Wheel{}))
}

func TestWheelAllocatesNothing(t *testing.T) {
	clock := NewClock()
	w := NewWheel(clock, 0)
	defer w.Close()
	var timer Timer
	timer.Init(func(any) {}, &timer)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		w.Schedule(&timer, clock.Now()+time.Hour)
		w.Cancel(&timer)
	}))
}

func TestWatchdogAllocatesNothingPerLease(t *testing.T) {
	dog, clock, end := idleDog()
	defer end()
	leases := make([]Lease, 1001)
	i := 0
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		l := &leases[i]
		i++
		dog.Renew(l, clock.Now(), 3*time.Hour)
		dog.Guard(l, clock.Now()+3*time.Hour)
		dog.Stop(l)
	}))
}

func noop(any) {}

// armed returns a wheel with a million timers an hour away.
func armed(b *testing.B) (*Wheel, []Timer) {
	b.Helper()
	w := NewWheel(NewClock(), 0)
	timers := make([]Timer, million)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range timers {
		timers[i].Init(noop, nil)
		w.Schedule(&timers[i], time.Hour+time.Duration(random.Int64N(int64(time.Hour))))
	}
	b.Cleanup(w.Close)
	return w, timers
}

// rounds has fn work on up to a million timers at a time, after prepare, which
// is not measured: the number of rounds must not decide about memory.
func rounds(b *testing.B, prepare, fn func(s *stepper, timers []Timer)) {
	b.Helper()
	b.ReportAllocs()
	b.StopTimer()
	timers := make([]Timer, min(b.N, million))
	for left := b.N; left > 0; left -= len(timers) {
		part := timers[:min(left, len(timers))]
		clear(part)
		for i := range part {
			part[i].Init(noop, nil)
		}
		s := newStepper(testTick)
		prepare(s, part)
		b.StartTimer()
		fn(s, part)
		b.StopTimer()
	}
}

func nothing(*stepper, []Timer) {}

func scheduleAll(s *stepper, timers []Timer) {
	for i := range timers {
		s.Schedule(&timers[i], time.Hour+time.Duration(i)*time.Microsecond)
	}
}

func BenchmarkWheelAdd(b *testing.B) { rounds(b, nothing, scheduleAll) }

func BenchmarkWheelCancel(b *testing.B) {
	rounds(b, scheduleAll, func(s *stepper, timers []Timer) {
		for i := range timers {
			s.Cancel(&timers[i])
		}
	})
}

// The whole way of a timer through the wheel, sorting included.
func BenchmarkWheelFire(b *testing.B) {
	rounds(b, scheduleAll, func(s *stepper, _ []Timer) {
		s.runUntil(2 * time.Hour)
		if s.Len() != 0 {
			b.Fatal("not all have fired")
		}
	})
}

func BenchmarkWheelAddCancelAtOneMillion(b *testing.B) {
	w, _ := armed(b)
	var timer Timer
	timer.Init(noop, nil)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.Schedule(&timer, time.Hour+time.Duration(i&0xffff)*time.Millisecond)
		w.Cancel(&timer)
	}
}

func BenchmarkWheelRearmAtOneMillion(b *testing.B) {
	w, timers := armed(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.Schedule(&timers[i%len(timers)], 2*time.Hour)
	}
}

func BenchmarkWheelAddCancelParallel(b *testing.B) {
	w, _ := armed(b)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var timer Timer
		timer.Init(noop, nil)
		for pb.Next() {
			w.Schedule(&timer, time.Hour)
			w.Cancel(&timer)
		}
	})
}

func BenchmarkClockNow(b *testing.B) {
	clock := NewClock()
	for b.Loop() {
		clock.Now()
	}
}

// The one allocation is the lease itself.
func BenchmarkKeepStop(b *testing.B) {
	dog, clock, end := idleDog()
	defer end()
	b.ReportAllocs()
	for b.Loop() {
		l := Lease{}
		dog.Renew(&l, clock.Now(), 3*time.Hour)
		dog.Stop(&l)
	}
}

// One renewal of one lease: due, queued, sent with 255 others, settled, armed.
func BenchmarkRenew(b *testing.B) {
	s := newStepper(testTick)
	dog := New(Config{Wheel: s.Wheel, Period: testPeriod, Lost: func(*Lease, error) { b.Error("lost") }, Renew: renewAll})
	defer dog.Close()
	leases := make([]Lease, 10_000)
	for i := range leases {
		dog.Renew(&leases[i], 0, testLease)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += len(leases) {
		s.runUntil(s.clock.Now() + testPeriod)
		dog.running.Wait()
	}
}
