package watchdog

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Bug 48: the margin is taken off the lease, and in the unit that it is meant in.
func TestMargin(t *testing.T) {
	for _, test := range []struct{ lease, tick, want time.Duration }{
		{0, 0, 2 * time.Millisecond},
		{time.Second, 0, 12 * time.Millisecond},
		{30 * time.Second, 10 * time.Millisecond, 312 * time.Millisecond},
		{100 * time.Millisecond, time.Millisecond, 4 * time.Millisecond},
		{time.Hour, 10 * time.Millisecond, 36*time.Second + 12*time.Millisecond},
	} {
		assert.Equal(t, test.want, Margin(test.lease, test.tick), "lease %v, tick %v", test.lease, test.tick)
	}
}

func TestNewWantsTheRequired(t *testing.T) {
	w := NewWheel(NewClock(), 0)
	whole := Config{
		Wheel: w, Period: time.Second,
		Renew: func(context.Context, string, []*Lease, []Result) {},
		Lost:  func(*Lease, error) {},
	}
	for name, strip := range map[string]func(cfg *Config){
		"Wheel":  func(cfg *Config) { cfg.Wheel = nil },
		"Period": func(cfg *Config) { cfg.Period = 0 },
		"Renew":  func(cfg *Config) { cfg.Renew = nil },
		"Lost":   func(cfg *Config) { cfg.Lost = nil },
	} {
		cfg := whole
		strip(&cfg)
		assert.Panics(t, func() { New(cfg) }, name)
	}
	dog := New(whole)
	defer dog.Close()
	assert.Same(t, w.clock, dog.cfg.Clock)
	assert.Equal(t, 256, dog.cfg.Batch)
	assert.Equal(t, time.Second/8, dog.cfg.Retry)
	assert.Equal(t, time.Second/2, dog.cfg.Limit)
}
