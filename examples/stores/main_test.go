package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The whole program, which checks itself, in each store: on a server that it finds, and on one that it starts. The test
// kit comes first, and installs the servers' programs if they are missing.
func TestStores(t *testing.T) {
	found := map[string]string{
		"REDIS_URL":      "redis://" + redistest.Start(t).Addr(),
		"DATABASE_URL":   pgtest.Shared(t).Database(t),
		"ETCD_ENDPOINTS": etcdtest.Shared(t).Endpoint(),
	}
	etcd, err := etcdtest.Program("etcd")
	require.NoError(t, err)
	for _, store := range []string{"memory", "redis", "postgres", "etcd"} {
		t.Run(store+" found", func(t *testing.T) {
			for name, url := range found {
				t.Setenv(name, url)
			}
			require.NoError(t, run(t.Context(), store))
		})
		t.Run(store+" started", func(t *testing.T) {
			for name := range found {
				t.Setenv(name, "")
			}
			t.Setenv("HOLDFAST_ETCD_BIN", filepath.Dir(etcd))
			require.NoError(t, run(t.Context(), store))
		})
	}
	t.Run("zookeeper found", func(t *testing.T) {
		t.Setenv("ZOOKEEPER_SERVERS", zktest.Shared(t).Addr())
		require.NoError(t, run(t.Context(), "zookeeper"))
	})
	t.Run("etcd of the checkout", func(t *testing.T) {
		for name := range found {
			t.Setenv(name, "")
		}
		t.Chdir(filepath.Join("..", ".."))
		require.NoError(t, run(t.Context(), "etcd"))
	})
}

// A user without a server is told what to do.
func TestNoServer(t *testing.T) {
	for _, name := range []string{"PATH", "REDIS_URL", "DATABASE_URL", "ETCD_ENDPOINTS", "ZOOKEEPER_SERVERS", "HOLDFAST_REDIS_SERVER"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOLDFAST_POSTGRES_BIN", t.TempDir())
	t.Setenv("HOLDFAST_ETCD_BIN", t.TempDir())
	require.EqualError(t, run(t.Context(), "redis"), "there is no Redis: set REDIS_URL to one, or install redis-server or "+
		"valkey-server, or name its program in HOLDFAST_REDIS_SERVER")
	require.EqualError(t, run(t.Context(), "postgres"), "there is no PostgreSQL: set DATABASE_URL to one, or install its "+
		"server, or name the folder of its programs in HOLDFAST_POSTGRES_BIN")
	require.EqualError(t, run(t.Context(), "etcd"), "there is no etcd: set ETCD_ENDPOINTS to one, or install its server "+
		"(3.5.23, 3.6.5 or newer), or name the folder of its program in HOLDFAST_ETCD_BIN")
	require.EqualError(t, run(t.Context(), "zookeeper"), "there is no ZooKeeper: set ZOOKEEPER_SERVERS to its servers, "+
		"such as localhost:2181")
	require.EqualError(t, run(t.Context(), "consul"), "-store consul: there are memory, redis, postgres, etcd and zookeeper")
}
