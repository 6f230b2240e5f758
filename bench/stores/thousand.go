package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

const logLines = "log_lines"

// thousand is clients that hold a lock each and do nothing: what their sessions cost a server.
func thousand() []situation {
	const clients, lease = 1000, 30 * time.Second
	return []situation{{
		id: "clients1000", title: fmt.Sprintf("%d clients hold a lock each, lease %v: a third of that", clients, lease),
		columns: []scenario.Column{
			{Figure: serverLoad, Head: "server core %"}, {Figure: third(attaching), Head: "attachments"},
			{Figure: third(calls), Head: "packets"}, {Figure: third(logLines), Head: "lines in the log"},
			{Figure: measure.OwnLoad, Head: "clients' core %"},
		},
		rounds: 1, at: &nowhere, special: true,
		open: func(_ context.Context, lab *lab) (scenario.Subject, error) {
			return &many{lab: lab, clients: clients, lease: lease}, nil
		},
	}}
}

// many opens its clients for every round.
type many struct {
	lab     *lab
	clients int
	lease   time.Duration
}

// Close does nothing.
func (m *many) Close() error { return nil }

func (m *many) Measure(ctx context.Context) (figures measure.Figures, err error) {
	n, lasts := m.clients, m.lease
	if m.lab.Quick {
		n, lasts = 10, m.lab.Slice
	}
	var opened []contender.Client
	var locks []contender.Lock
	defer func() {
		err = errors.Join(err, each(locks, contender.Lock.Unlock))
		var closing errgroup.Group
		closing.SetLimit(takers)
		for _, client := range opened {
			closing.Go(client.Close)
		}
		err = errors.Join(err, closing.Wait())
	}()
	for i := range n {
		client, err := m.lab.client(ctx, m.lease)
		if err != nil {
			return nil, err
		}
		opened = append(opened, client)
		held := client.Lock(fmt.Sprintf("held:%d", i))
		if err := take(held); err != nil {
			return nil, err
		}
		locks = append(locks, held)
	}
	server := m.lab.server.(*zooKeeperServer)
	lines := server.lines(m.lab.t)
	used, err := server.Processor()
	if err != nil {
		return nil, err
	}
	mark, err := m.lab.mark(ctx)
	if err != nil {
		return nil, err
	}
	if err := idle(ctx, lasts); err != nil {
		return nil, err
	}
	if figures, err = mark.per(ctx, 1); err != nil {
		return nil, err
	}
	total, err := server.Processor()
	thirds := lasts.Seconds() / (m.lease / 3).Seconds()
	figures[logLines] = float64(server.lines(m.lab.t) - lines)
	for _, name := range []string{attaching, calls, logLines} {
		figures[third(name)] = figures[name] / thirds
	}
	figures[serverLoad] = 100 * (total - used).Seconds() / lasts.Seconds()
	return figures, err
}
