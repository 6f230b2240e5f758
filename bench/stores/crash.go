package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
	"github.com/holdfast-go/holdfast/bench/internal/wire"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

const (
	successorP50 = "successor_p50_leases"
	successorMax = "successor_max_leases"

	crashLease   = 5 * time.Second // the smallest of etcdlock
	crashHolders = 6

	// patience bounds what must happen. Nothing is measured against it.
	patience = time.Minute
)

// crashes is how long the one waits that is next when a process is killed which holds a lock.
func crashes() []situation {
	return []situation{{
		id: "crash",
		title: fmt.Sprintf("From the death of a holder's process to Lock by another, which waits; lease %v",
			crashLease),
		columns: []scenario.Column{
			{Figure: successorP50, Head: "median, in leases"}, {Figure: successorMax, Head: "longest, in leases"},
		},
		rounds: 1, at: &nowhere,
		open: func(_ context.Context, lab *lab) (scenario.Subject, error) { return crash{lab}, nil },
	}}
}

// orders are what a process is told that holds a lock until it is killed.
type orders struct {
	Store, Contender, Name string
	Target                 target
}

var holder = role.New("holder", func(o orders) {
	on, err := chosen(o.Store)
	role.Check(err)
	o.Target.meter = &wire.Meter{}
	client, err := on[0].open(context.Background(), o.Contender, o.Target)
	role.Check(err)
	role.Check(client.Lock(o.Name).Lock(context.Background()))
	fmt.Println("held")
	role.Told() // nothing: it is killed
})

type crash struct{ lab *lab }

// Close does nothing.
func (c crash) Close() error { return nil }

// Measure kills several holders of a lock each, at different times after their renewals.
func (c crash) Measure(ctx context.Context) (figures measure.Figures, err error) {
	lease, n := crashLease, crashHolders
	if c.lab.Quick {
		lease, n = c.lab.least, 2
	}
	client, err := c.lab.client(ctx, lease)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	holders, locks := make([]*role.Process, n), make([]contender.Lock, n)
	for i := range holders {
		name := fmt.Sprintf("crash:%d", i)
		locks[i] = client.Lock(name)
		holders[i] = holder.Start(c.lab.t, orders{
			c.lab.name, c.lab.contender, c.lab.prefix + name, c.lab.target(lease),
		})
		defer holders[i].Kill()
	}
	took := make([]time.Duration, n)
	var all errgroup.Group
	for i, h := range holders {
		all.Go(func() (err error) {
			took[i], err = c.succeed(ctx, h, locks[i], rand.N(lease/3))
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(took)
	return measure.Figures{
		successorP50: stats.Percentile(took, 0.5).Seconds() / lease.Seconds(),
		successorMax: took[n-1].Seconds() / lease.Seconds(),
	}, nil
}

// succeed waits for the lock of a holder, which is killed some time after it got it.
func (c crash) succeed(
	ctx context.Context, h *role.Process, l contender.Lock, after time.Duration,
) (took time.Duration, err error) {
	switch said, err := h.Next(patience); {
	case err != nil:
		return 0, err
	case said != "held":
		return 0, fmt.Errorf("a holder's process says %q", said)
	}
	// Not a deadline: some shorten their leases to what is left of it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(patience, cancel).Stop()
	got := make(chan error, 1)
	go func() { got <- l.Lock(ctx) }()
	time.Sleep(c.lab.settling + after)
	h.Kill()
	died := time.Now()
	if err := <-got; err != nil {
		return 0, err
	}
	return time.Since(died), l.Unlock()
}
