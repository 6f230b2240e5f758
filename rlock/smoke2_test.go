package rlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestSmokeTurns(t *testing.T) {
	s := redistest.Start(t)
	c, err := rlock.NewClient(s.Client(t), nil)
	require.NoError(t, err)
	l := rlock.New(c, "a")
	ctx := context.Background()
	var wg sync.WaitGroup
	counts := make([]int, 64)
	start := time.Now()
	end := start.Add(2*time.Second)
	in := 0
	for i := range 64 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for time.Now().Before(end) {
				_, u, err := l.Lock(ctx)
				require.NoError(t, err)
				in++
				counts[i]++
				require.NoError(t, u())
			}
		}()
	}
	wg.Wait()
	el := time.Since(start)
	t.Log(float64(in)/el.Seconds(), counts, s.Calls(t, "evalsha"), in)
	require.NoError(t, c.Close())
}

func BenchmarkPair(b *testing.B) {
	s := redistest.Start(b)
	c, _ := rlock.NewClient(s.Client(b), nil)
	l := rlock.New(c, "a")
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, u, err := l.Lock(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := u(); err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
}
