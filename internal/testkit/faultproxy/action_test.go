package faultproxy_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestPass(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		rule := l.proxy.On(faultproxy.AnyScript, faultproxy.Pass).Times(-1)
		for i := range 3 {
			n, err := l.run(t.Context())
			require.NoError(t, err)
			require.Equal(t, i+1, n)
		}
		require.Equal(t, 3, rule.Fired())
	})
}

func TestAnswerError(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		rule := l.proxy.On(faultproxy.Nth(2, faultproxy.AnyScript), faultproxy.AnswerError("CROSSSLOT no"))
		cmds, err := l.rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range 3 {
				increment.EvalSha(t.Context(), pipe, []string{l.key})
			}
			return nil
		})
		require.EqualError(t, err, "CROSSSLOT no")
		require.EqualValues(t, 1, answer(cmds[0]))
		require.EqualError(t, cmds[1].Err(), "CROSSSLOT no")
		require.EqualValues(t, 2, answer(cmds[2]), "it was not carried out, and the connection goes on")
		rule.Wait(t, 1)
	})
}

func TestDropReply(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		rule := l.proxy.On(faultproxy.AnyScript, faultproxy.DropReply)
		unanswered(t, l.runBriefly(t))
		rule.Wait(t, 1)
		require.Equal(t, 1, l.effects(t))
		l.works(t)
	})
}

func TestDropReplySilencesTheConnection(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		rule := l.proxy.On(faultproxy.Nth(2, faultproxy.AnyScript), faultproxy.DropReply)
		ctx, cancel := context.WithTimeout(t.Context(), short)
		defer cancel()
		cmds, err := l.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for range 3 {
				increment.EvalSha(ctx, pipe, []string{l.key})
			}
			return nil
		})
		require.Error(t, err)
		require.EqualValues(t, 1, answer(cmds[0]), "an earlier reply gets through")
		require.Nil(t, answer(cmds[1]))
		require.Nil(t, answer(cmds[2]), "a later reply must not")
		rule.Wait(t, 1)
		redistest.Eventually(t, limit, func() bool { return l.effects(t) == 3 },
			"all requests are carried out")
	})
}

func TestCutAfter(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		rule := l.proxy.On(faultproxy.AnyScript, faultproxy.CutAfter)
		_, err := l.run(t.Context())
		require.ErrorIs(t, err, io.EOF)
		rule.Wait(t, 1)
		require.Equal(t, 1, l.effects(t))
		l.works(t)
	})
}

func TestCutBefore(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		l.proxy.On(faultproxy.AnyScript, faultproxy.CutBefore)
		_, err := l.run(t.Context())
		require.ErrorIs(t, err, io.EOF)
		l.works(t)
		require.Zero(t, l.effects(t))
	})
}

func TestCutBeforeAnswersEarlierRequests(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		l.proxy.On(faultproxy.Nth(3, faultproxy.AnyScript), faultproxy.CutBefore)
		cmds, err := l.rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range 4 {
				increment.EvalSha(t.Context(), pipe, []string{l.key})
			}
			return nil
		})
		require.ErrorIs(t, err, io.EOF)
		require.EqualValues(t, 2, answer(cmds[1]))
		require.Nil(t, answer(cmds[2]))
		require.Equal(t, 2, l.effects(t))
	})
}

func TestDropRequest(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		rule := l.proxy.On(faultproxy.AnyScript, faultproxy.DropRequest)
		unanswered(t, l.runBriefly(t))
		rule.Wait(t, 1)
		l.works(t)
		require.Zero(t, l.effects(t))
	})
}

func TestHoldRequestLetsOthersOvertake(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		gate := faultproxy.NewGate()
		held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldRequest(gate))
		var first int
		var wg sync.WaitGroup
		wg.Go(func() { first, _ = l.run(t.Context()) })
		held.Wait(t, 1)
		second, err := l.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, second)
		gate.Open()
		wg.Wait()
		require.Equal(t, 2, first)
		received(t, gate.Delivered())
	})
}

func TestHeldRequestArrivesThoughItsClientIsGone(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		gate := faultproxy.NewGate()
		held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldRequest(gate))
		unanswered(t, l.runBriefly(t))
		held.Wait(t, 1)
		require.NoError(t, l.rdb.Close())
		require.Zero(t, l.effects(t))
		gate.Open()
		received(t, gate.Delivered())
		require.Equal(t, 1, l.effects(t))
	})
}

func TestHoldReply(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		gate := faultproxy.NewGate()
		held := l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate))
		var n int
		var wg sync.WaitGroup
		wg.Go(func() { n, _ = l.run(t.Context()) })
		held.Wait(t, 1)
		require.Equal(t, 1, l.effects(t))
		gate.Open()
		wg.Wait()
		require.Equal(t, 1, n)
		received(t, gate.Delivered())
	})
}

func TestLate(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		gate := faultproxy.NewGate()
		late := l.proxy.On(faultproxy.AnyScript, faultproxy.Late(gate))
		unanswered(t, l.runBriefly(t))
		late.Wait(t, 1)
		n, err := l.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		gate.Open()
		received(t, gate.Delivered())
		require.Equal(t, 2, l.effects(t))
	})
}

func TestDuplicate(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		twice := l.proxy.On(faultproxy.AnyScript, faultproxy.Duplicate)
		n, err := l.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		twice.Wait(t, 1)
		require.Equal(t, 2, l.effects(t))
		n, err = l.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, n, "the second reply must not answer the next request")
	})
}

func TestDuplicateLater(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		gate := faultproxy.NewGate()
		l.proxy.On(faultproxy.AnyScript, faultproxy.DuplicateLater(gate))
		n, err := l.run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, 1, l.effects(t))
		gate.Open()
		received(t, gate.Delivered())
		require.Equal(t, 2, l.effects(t))
	})
}

func TestDelay(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		l.proxy.On(faultproxy.AnyScript, faultproxy.Delay(short))
		start := time.Now()
		_, err := l.run(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), short)
	})
}

func TestCutReplyAt(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		for n := range 3 { // the whole reply is ":1\r\n"
			rule := l.proxy.On(faultproxy.AnyScript, faultproxy.CutReplyAt(n))
			_, err := l.run(t.Context())
			require.Error(t, err)
			rule.Wait(t, 1)
			require.Equal(t, n+1, l.effects(t))
			l.works(t)
		}
	})
}

func TestCutRequestAt(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		for _, n := range []int{0, 1, 4, 20, 60} {
			l.proxy.On(faultproxy.AnyScript, faultproxy.CutRequestAt(n))
			_, err := l.run(t.Context())
			require.ErrorIs(t, err, io.EOF)
			l.works(t)
		}
		require.Zero(t, l.effects(t))
	})
}

func TestCutRequestAtItsEndCarriesItOut(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		l.proxy.On(faultproxy.AnyScript, faultproxy.CutRequestAt(1<<20))
		_, err := l.run(t.Context())
		require.ErrorIs(t, err, io.EOF)
		redistest.Eventually(t, limit, func() bool { return l.effects(t) == 1 },
			"the request was complete")
	})
}
