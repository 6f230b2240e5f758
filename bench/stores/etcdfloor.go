package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// requests are what a lock must send at least to keep the promises of etcdlock: those of concurrency.Mutex, each with
// its limit, an acquisition that a given-up id cannot make and that reads the base of tokens, and a release that frees
// no later hold when it is repeated. There is no lock around them: nobody waits, renews, nests or is told of a loss. So
// nothing that keeps these promises is faster, and what is between this and Mutex is their price.
const requests = "floor: the requests of etcdlock alone"

type requestsClient struct {
	client  *clientv3.Client
	session *concurrency.Session
}

func openRequests(to target) (contender.Client, error) {
	client, err := contender.ConnectEtcd(to.general())
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(client)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &requestsClient{client: client, session: session}, nil
}

func (c *requestsClient) Lock(names ...string) contender.Lock {
	return &requestsLock{of: c, prefix: names[0] + "/", key: fmt.Sprintf("%s/%x", names[0], int64(c.session.Lease()))}
}

func (c *requestsClient) Close() error { return errors.Join(c.session.Close(), c.client.Close()) }

type requestsLock struct {
	of          *requestsClient
	prefix, key string
	turns       int
	id          string // of the present turn
}

// within is the context of one request.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	sent, cancel := context.WithTimeout(ctx, 5*time.Second)
	return clientv3.WithRequireLeader(sent), cancel
}

func (l *requestsLock) Lock(ctx context.Context) error {
	sent, cancel := within(ctx)
	defer cancel()
	l.turns++
	l.id = fmt.Sprintf("0b8a1f6e-5d0c-4a5f-9d63-3c1f2e7b8a90:%08x", l.turns) // as long as an id of ours
	first := clientv3.OpGet(l.prefix, append(clientv3.WithFirstCreate(), clientv3.WithKeysOnly())...)
	base := clientv3.OpGet("floor/base")
	reply, err := l.of.client.Txn(sent).
		If(clientv3.Compare(clientv3.CreateRevision(l.key), "=", 0),
			clientv3.Compare(clientv3.CreateRevision("floor/sealed/"+l.id), "=", 0)).
		Then(clientv3.OpPut(l.key, l.id+"\n", clientv3.WithLease(l.of.session.Lease())), first, base).
		Else(clientv3.OpGet(l.key), first, base).Commit()
	if err == nil && !reply.Succeeded {
		err = errors.New("the key is there: this contender is for names that nobody else wants")
	}
	return err
}

func (l *requestsLock) Unlock() error {
	sent, cancel := within(context.Background())
	defer cancel()
	_, err := l.of.client.Txn(sent).
		If(clientv3.Compare(clientv3.Value(l.key), ">", l.id), clientv3.Compare(clientv3.Value(l.key), "<", l.id+"\v")).
		Then(clientv3.OpDelete(l.key)).Commit()
	return err
}
