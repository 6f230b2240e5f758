package redisson_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// The environment that makes this test binary, started again, hold a lock until it is killed.
const (
	holderAddr  = "HOLDFAST_TEST_HOLDER_ADDR"
	holderName  = "HOLDFAST_TEST_HOLDER_NAME"
	holderLease = "HOLDFAST_TEST_HOLDER_LEASE"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(holderAddr); addr != "" {
		if err := holder(addr, os.Getenv(holderName), os.Getenv(holderLease)); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(rwRole) != "" {
		rwChild()
		return
	}
	if os.Getenv(permitAddr) != "" {
		if err := permitChild(); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	redistest.Main(m)
}

// holder locks, says "held", and stays until its input ends, which it does with the test at the latest.
func holder(addr, name, lease string) error {
	d, err := time.ParseDuration(lease)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: d})
	if err != nil {
		return err
	}
	_, unlock, err := rlock.New(client, name).Lock(context.Background())
	if err != nil {
		return err
	}
	fmt.Println("held")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
	}
	return unlock()
}
