// Command stores runs one business function on locks in five stores. The store is chosen where the client is made;
// the function knows names and lock.Provider, and nothing else.
//
//	go run ./examples/stores                 # locks in memory
//	go run ./examples/stores -store redis    # on the Redis of REDIS_URL, or on one that it starts
//	go run ./examples/stores -store postgres # on the PostgreSQL of DATABASE_URL, or on one that it starts
//	go run ./examples/stores -store etcd     # on the etcd of ETCD_ENDPOINTS, or on one that it starts
//	go run ./examples/stores -store zookeeper # on the ZooKeeper of ZOOKEEPER_SERVERS
//
// Several billers, each with a client of its own as in a process of its own, bill the same accounts at the same time.
// It exits non-zero if an account was billed twice or not at all, or if any other check fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const patience = time.Minute // for a server that starts, and for the bills, each of which take some seconds

func main() {
	store := flag.String("store", "memory", "where the locks are: memory, redis, postgres, etcd or zookeeper")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *store); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
	fmt.Println("Every account was billed once")
}

func run(ctx context.Context, store string) (err error) {
	locks, err := open(ctx, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.close()) }()
	fmt.Println("The locks are in", locks.what)

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	accounts := []string{"Alice", "Bob", "Carol", "Dave"}
	bank := newBank()
	all, ctx := errgroup.WithContext(ctx)
	for _, name := range []string{"first", "second", "third"} {
		client, err := locks.client()
		if err != nil {
			return errors.Join(err, all.Wait())
		}
		b := &biller{name: name, locks: client, bank: bank}
		all.Go(func() (err error) {
			defer func() { err = errors.Join(err, client.Close()) }()
			return b.billAll(ctx, accounts)
		})
	}
	return errors.Join(all.Wait(), bank.check(accounts))
}
