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

func init() {
	openers[Etcd] = func(t Target) (Client, error) {
		c, err := openEtcd(t)
		if err != nil {
			return nil, err
		}
		if c.session, err = c.newSession(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return c, nil
	}
	openers[EtcdEachHandle] = func(t Target) (Client, error) { return openEtcd(t) }
	openers[EtcdEachLock] = func(t Target) (Client, error) {
		c, err := openEtcd(t)
		if err != nil {
			return nil, err
		}
		return etcdEachLock{c}, nil
	}
}

// etcdClient has a session, which is a lease that is renewed. A lock is a key with that lease, and so is its session's:
// the mutex excludes sessions from one another, not the goroutines of one.
type etcdClient struct {
	client  *clientv3.Client
	ttl     int
	session *concurrency.Session // of all handles; nil: each has one of its own
	handles []*etcdHandle        // of which each has
}

func openEtcd(t Target) (*etcdClient, error) {
	client, err := ConnectEtcd(t)
	if err != nil {
		return nil, err
	}
	return &etcdClient{client: client, ttl: int(t.lease() / time.Second)}, nil
}

// ConnectEtcd makes a client of etcd's own library, with a dialer that counts if there is a meter.
func ConnectEtcd(t Target) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints: t.Addrs[:1], Logger: zap.NewNop(), Username: t.User, Password: t.Password,
	}
	if t.Meter != nil {
		config.DialOptions = []grpc.DialOption{
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				return t.Meter.Dial(ctx, "tcp", addr)
			}),
		}
	}
	return clientv3.New(config)
}

func (c *etcdClient) newSession() (*concurrency.Session, error) {
	return concurrency.NewSession(c.client, concurrency.WithTTL(c.ttl))
}

func (c *etcdClient) Lock(names ...string) Lock {
	if c.session != nil {
		return etcdLock{concurrency.NewMutex(c.session, names[0])}
	}
	h := &etcdHandle{of: c, name: names[0]}
	c.handles = append(c.handles, h)
	return h
}

func (c *etcdClient) Close() error {
	var errs []error
	if c.session != nil {
		errs = append(errs, c.session.Close())
	}
	for _, h := range c.handles {
		if h.session != nil {
			errs = append(errs, h.session.Close())
		}
	}
	return errors.Join(append(errs, c.client.Close())...)
}

type etcdLock struct{ *concurrency.Mutex }

func (l etcdLock) Unlock() error { return l.Mutex.Unlock(context.Background()) }

// etcdHandle is a lock with a session of its own, which is made when it is first needed.
type etcdHandle struct {
	of      *etcdClient
	name    string
	session *concurrency.Session // nil: it was not needed yet
	lock    etcdLock
}

func (h *etcdHandle) Lock(ctx context.Context) (err error) {
	if h.session == nil {
		if h.session, err = h.of.newSession(); err != nil {
			return err
		}
		h.lock = etcdLock{concurrency.NewMutex(h.session, h.name)}
	}
	return h.lock.Lock(ctx)
}

func (h *etcdHandle) Unlock() error { return h.lock.Unlock() }

// etcdEachLock makes a session for every call of Lock, as those do who have one by every acquisition.
type etcdEachLock struct{ *etcdClient }

func (c etcdEachLock) Lock(names ...string) Lock {
	return &etcdSessionLock{etcdHandle{of: c.etcdClient, name: names[0]}}
}

type etcdSessionLock struct{ etcdHandle }

func (l *etcdSessionLock) Lock(ctx context.Context) error {
	err := l.etcdHandle.Lock(ctx)
	if err != nil {
		err = errors.Join(err, l.end())
	}
	return err
}

func (l *etcdSessionLock) Unlock() error { return errors.Join(l.etcdHandle.Unlock(), l.end()) }

// end ends the session, and with it the lease.
func (l *etcdSessionLock) end() (err error) {
	if l.session != nil {
		err = l.session.Close()
		l.session = nil
	}
	return err
}
