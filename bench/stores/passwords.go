package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
)

const (
	serverLoad = "server_load_pct" // of one core
	logins     = "logins"

	secret = "root" // user and password
)

// passwords is clients that hold a lock each and do nothing, on a server that asks for passwords. Etcd compares one by
// tens of milliseconds of its processor, and its client's library logs in for each stream that it opens.
func passwords() []situation {
	const clients, lease = 60, 6 * time.Second
	return []situation{{
		id: "passwords", title: fmt.Sprintf("%d clients that log in hold a lock each, lease %v", clients, lease),
		columns: []scenario.Column{
			{Figure: serverLoad, Head: "server core %"}, {Figure: logins, Head: "logins"},
		},
		rounds: 3, at: &nowhere, special: true,
		open: func(_ context.Context, lab *lab) (scenario.Subject, error) {
			return &loggedIn{lab: lab, clients: clients, lease: lease}, nil
		},
	}}
}

// loggedIn starts a server for every round.
type loggedIn struct {
	lab     *lab
	clients int
	lease   time.Duration
}

// Close does nothing.
func (l *loggedIn) Close() error { return nil }

func (l *loggedIn) Measure(ctx context.Context) (figures measure.Figures, err error) {
	n, lasts := l.clients, 4*l.lease
	if l.lab.Quick {
		n, lasts = 2, l.lab.Slice
	}
	server := etcdtest.Start(l.lab.t)
	defer server.Kill()
	for _, command := range []string{
		"user add root:" + secret, "role add root", "user grant-role root root", "auth enable",
	} {
		server.Ctl(l.lab.t, strings.Fields(command)...)
	}
	to := target{Addrs: []string{server.Addr()}, Lease: l.lease, User: "root", Password: secret}
	for i := range n {
		client, failed := l.lab.open(ctx, l.lab.contender, to)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		held := client.Lock(fmt.Sprintf("held:%d", i))
		if err := take(held); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, held.Unlock()) }()
	}
	if err := idle(ctx, l.lease); err != nil { // every lease is renewed, and streams stand
		return nil, err
	}
	before, used, err := spentBy(server)
	if err != nil {
		return nil, err
	}
	if err := idle(ctx, lasts); err != nil {
		return nil, err
	}
	after, total, err := spentBy(server)
	return measure.Figures{
		logins: float64(after - before), serverLoad: 100 * (total - used).Seconds() / lasts.Seconds(),
	}, err
}

func idle(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spentBy is how often clients have logged in at a server, and what time of processors it has used.
func spentBy(server *etcdtest.Server) (logins int, used time.Duration, err error) {
	logins, err = server.Calls("Authenticate")
	used, failed := server.Processor()
	return logins, used, errors.Join(err, failed)
}
