package contender

import (
	"context"
	"errors"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

func init() { openers[Etcd] = openEtcd }

type etcdClient struct {
	client  *clientv3.Client
	session *concurrency.Session
}

// openEtcd has a session, which is a lease that is renewed. A lock is a key with that lease, and so is its
// session's: the mutex excludes sessions from one another, not the goroutines of one.
func openEtcd(t Target) (Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: t.Addrs[:1], Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return t.Meter.Dial(ctx, "tcp", addr)
		})},
	})
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(client, concurrency.WithTTL(int(t.lease()/time.Second)))
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &etcdClient{client, session}, nil
}

func (c *etcdClient) Lock(names ...string) Lock {
	return etcdLock{concurrency.NewMutex(c.session, names[0])}
}

func (c *etcdClient) Close() error { return errors.Join(c.session.Close(), c.client.Close()) }

type etcdLock struct{ *concurrency.Mutex }

func (l etcdLock) Unlock() error { return l.Mutex.Unlock(context.Background()) }
