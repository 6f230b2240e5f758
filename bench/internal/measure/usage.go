// Package measure runs a load and tells what it has cost: at the client, on the wire, inside Redis.
package measure

import (
	"context"
	"runtime"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
)

// Figures are measured values by name.
type Figures map[string]float64

// The names of figures.
const (
	Rate      = "locks_per_s"
	P50       = "p50_us" // of the time until Lock returned
	P99       = "p99_us"
	Max       = "max_us"
	PairP50   = "pair_p50_us" // Lock and unlock together
	PairP99   = "pair_p99_us"
	Allocs    = "allocs"          // per pair of Lock and unlock
	Bytes     = "bytes"           // allocated, per pair
	Sends     = "sends"           // writes to sockets, per pair
	Scripts   = "scripts"         // called, per pair
	Commands  = "commands"        // inside Redis, those of scripts included, per pair
	RedisCPU  = "redis_cpu_us"    // per pair
	ClientCPU = "client_cpu_us"   // per pair
	RedisLoad = "redis_load_pct"  // of one core
	OwnLoad   = "client_load_pct" // of one core

	// How many a second would take up a whole core, at what one of them takes.
	RedisCarries  = "redis_carries_per_s"
	ClientCarries = "client_core_carries_per_s"

	TurnRatio = "turns_most_by_fewest"
	Absence   = "client_wait_max_us" // for which no goroutine of a client got the lock
	Failures  = "failures"
	Stuck     = "stuck"         // 1: a waiter was never woken, and the round has no other figures
	Late      = "relay_late_us" // by which a relay was behind what it is to add, per round trip
)

// OfThisProcess are the figures that say nothing about a contender in another process.
var OfThisProcess = []string{Allocs, Bytes, Sends, ClientCPU, OwnLoad, ClientCarries}

// Gauge reads all the counters there are.
type Gauge struct {
	Servers []*redisd.Server
	Meter   *wire.Meter
	Aside   func() time.Duration // processor time of this process that is no client's; nil: none
}

// Mark is a reading of the counters.
type Mark struct {
	gauge  Gauge
	at     time.Time
	cpu    time.Duration
	memory runtime.MemStats
	wire   wire.Reading
	redis  redisd.Counts
}

// Mark reads the counters.
func (g Gauge) Mark(ctx context.Context) (*Mark, error) {
	m := &Mark{gauge: g}
	var err error
	if m.redis, err = g.redis(ctx); err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&m.memory)
	m.wire, m.cpu, m.at = g.Meter.Read(), g.cpu(), time.Now()
	return m, nil
}

// cpu is the processor time of the client.
func (g Gauge) cpu() time.Duration {
	if g.Aside == nil {
		return ownCPU()
	}
	return ownCPU() - g.Aside()
}

func (g Gauge) redis(ctx context.Context) (sum redisd.Counts, err error) {
	for _, s := range g.Servers {
		c, err := s.Counts(ctx)
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(c)
	}
	return sum, nil
}

// Usage is what was used between two readings.
type Usage struct {
	Elapsed, CPU  time.Duration
	Allocs, Bytes uint64
	Wire          wire.Reading
	Redis         redisd.Counts
}

// Since reads the counters again.
func (m *Mark) Since(ctx context.Context) (Usage, error) {
	u := Usage{Elapsed: time.Since(m.at), CPU: m.gauge.cpu() - m.cpu, Wire: m.gauge.Meter.Read().Since(m.wire)}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u.Allocs, u.Bytes = memory.Mallocs-m.memory.Mallocs, memory.TotalAlloc-m.memory.TotalAlloc
	redis, err := m.gauge.redis(ctx)
	u.Redis = redis.Since(m.redis)
	return u, err
}

// Per is the usage divided by a number of operations.
func (u Usage) Per(ops int) Figures {
	n := float64(max(ops, 1))
	return Figures{
		RedisCarries:  n / u.Redis.CPU.Seconds(),
		ClientCarries: n / u.CPU.Seconds(),

		Allocs:    float64(u.Allocs) / n,
		Bytes:     float64(u.Bytes) / n,
		Sends:     float64(u.Wire.Sends) / n,
		Scripts:   float64(u.Redis.Scripts()) / n,
		Commands:  float64(u.Redis.All()) / n,
		RedisCPU:  float64(u.Redis.CPU.Nanoseconds()) / 1e3 / n,
		ClientCPU: float64(u.CPU.Nanoseconds()) / 1e3 / n,
		RedisLoad: 100 * u.Redis.CPU.Seconds() / u.Elapsed.Seconds(),
		OwnLoad:   100 * u.CPU.Seconds() / u.Elapsed.Seconds(),
	}
}

// ownCPU is the processor time that this program has used.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
