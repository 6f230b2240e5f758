package faultproxy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
)

func TestFirstMatchingRuleWins(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		first := l.proxy.On(faultproxy.AnyScript, faultproxy.Pass)
		second := l.proxy.On(faultproxy.AnyScript, faultproxy.Pass).Times(2)
		for range 5 {
			_, err := l.run(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, 1, first.Fired())
		require.Equal(t, 2, second.Fired())
	})
}

func TestTimesZeroEndsARule(t *testing.T) {
	l := newLab(t, 3)
	rule := l.proxy.On(faultproxy.AnyScript, faultproxy.Pass).Times(-1)
	_, err := l.run(t.Context())
	require.NoError(t, err)
	rule.Times(0)
	_, err = l.run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, rule.Fired())
}

func TestScriptMatchesBothWaysToRunIt(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		mine := faultproxy.Script(increment.Hash())
		require.NoError(t, increment.Eval(t.Context(), l.rdb, []string{l.key}).Err())
		require.NoError(t, increment.EvalSha(t.Context(), l.rdb, []string{l.key}).Err())
		require.NoError(t, l.rdb.Eval(t.Context(), `return 1`, nil).Err())
		require.Equal(t, 2, l.proxy.Requests(mine))
		require.Equal(t, 3, l.proxy.Requests(faultproxy.AnyScript))
		require.Equal(t, 2, l.proxy.Requests(faultproxy.Command("EVAL")))
	})
}

func TestConnectionAndIndexTellRequestsApart(t *testing.T) {
	l := newLab(t, 3)
	other := l.client(t)
	require.NoError(t, other.Ping(t.Context()).Err())
	on := func(conn int) faultproxy.Match {
		return func(r faultproxy.Request) bool { return r.Conn == conn }
	}
	ping := faultproxy.Command("ping")
	require.Equal(t, 1, l.proxy.Requests(faultproxy.And(ping, on(1))))
	require.Equal(t, 1, l.proxy.Requests(faultproxy.And(ping, on(2))))
	require.Zero(t, l.proxy.Requests(faultproxy.And(ping, on(3))))
	require.Equal(t, 1, l.proxy.Requests(faultproxy.And(on(1), func(r faultproxy.Request) bool {
		return r.Index == 1 && r.Command() == "hello"
	})))
}
