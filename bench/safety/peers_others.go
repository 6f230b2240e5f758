package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	cirello "cirello.io/pglock"
	_ "github.com/lib/pq" // the driver that the peer's README opens
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// postgresURL is the connection string for the server, or the path to it, at an address.
func postgresURL(addr string) string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", addr)
}

type cirelloLibrary struct{ client *cirello.Client }

func openCirello(at site, lease time.Duration) (library, error) {
	db, err := sql.Open("postgres", postgresURL(at.Addr))
	if err != nil {
		return nil, err
	}
	client, err := cirello.New(db, cirello.WithLeaseDuration(lease), cirello.WithHeartbeatFrequency(lease/3))
	return &cirelloLibrary{client}, err
}

// createTable makes the table of this library.
func createTable(addr string) error {
	db, err := sql.Open("postgres", postgresURL(addr))
	if err != nil {
		return err
	}
	client, err := cirello.New(db)
	if err == nil {
		err = client.CreateTable()
	}
	return errors.Join(err, db.Close())
}

// do is the library's Do, which does not tell what became of the release.
func (l *cirelloLibrary) do(ctx context.Context, name string, inside func(hold)) error {
	return l.client.Do(ctx, name, func(ctx context.Context, _ *cirello.Lock) error {
		inside(held(ctx, 0))
		return nil
	})
}

func newEtcd(addr string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{"http://" + addr}, Logger: zap.NewNop()})
}

type mutexLibrary struct {
	client *clientv3.Client
	ttl    time.Duration

	mu      sync.Mutex // guards session
	session *concurrency.Session
}

func openMutex(at site, ttl time.Duration) (library, error) {
	client, err := newEtcd(at.Addr)
	return &mutexLibrary{client: client, ttl: ttl}, err
}

// current is the process's session.
func (l *mutexLibrary) current() (*concurrency.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil {
		select {
		case <-l.session.Done():
		default:
			return l.session, nil
		}
	}
	var err error
	l.session, err = concurrency.NewSession(l.client, concurrency.WithTTL(int(l.ttl/time.Second)))
	return l.session, err
}

func (l *mutexLibrary) do(ctx context.Context, name string, inside func(hold)) error {
	session, err := l.current()
	if err != nil {
		return err
	}
	mutex := concurrency.NewMutex(session, name)
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	inside(hold{done: session.Done(), token: mutex.Header().Revision, lost: func() bool {
		select {
		case <-session.Done():
			return true
		default:
			return false
		}
	}})
	return mutex.Unlock(ctx)
}
