package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

var sent, answered time.Time

func main() {
	servers.Alone(func(t testing.TB) {
		s := etcdtest.Start(t, "--unsafe-no-fsync="+os.Args[1])
		cli, _ := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, in grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				sent = time.Now()
				err := in(ctx, method, req, reply, cc, opts...)
				answered = time.Now()
				return err
			})}})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		sess, _ := concurrency.NewSession(cli)
		m := concurrency.NewMutex(sess, "m")
		c, _ := etcdlock.NewClient(cli, nil)
		var unlock func() error
		ops := []struct {
			name string
			do   func()
		}{
			{"mutex.Lock", func() { _ = m.Lock(ctx) }}, {"mutex.Unlock", func() { _ = m.Unlock(ctx) }},
			{"ours.Lock", func() { _, unlock, _ = c.Lock("o").Lock(ctx) }}, {"ours.unlock", func() { _ = unlock() }},
		}
		took := make([][4][]time.Duration, len(ops))
		if len(os.Args) > 2 {
			f, _ := os.Create(os.Args[2])
			_ = pprof.StartCPUProfile(f)
			defer pprof.StopCPUProfile()
			ops = ops[2:]
		}
		for range 1500 {
			for i, op := range ops {
				start := time.Now()
				op.do()
				end := time.Now()
				for j, d := range []time.Duration{end.Sub(start), sent.Sub(start), answered.Sub(sent), end.Sub(answered)} {
					took[i][j] = append(took[i][j], d)
				}
			}
		}
		for i, op := range ops {
			fmt.Printf("%-14s", op.name)
			for j := range took[i] {
				slices.Sort(took[i][j])
				fmt.Printf(" %8v", took[i][j][len(took[i][j])/2].Round(100))
			}
			fmt.Println("   all, before, wire, after")
		}
	})
}
