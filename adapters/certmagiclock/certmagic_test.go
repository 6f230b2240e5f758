package certmagiclock_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/adapters/certmagiclock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// What certmagic's own tests of a storage ask for (filestorage_test.go): what is stored is loaded, while it is being
// overwritten too, and a lock that is taken is not taken again.
func TestAsCertmagicTestsStorages(t *testing.T) {
	t.Parallel()
	s, _ := one(t)
	ctx := t.Context()
	require.NoError(t, s.Store(ctx, "foo", []byte("bar")))
	got, err := s.Load(ctx, "foo")
	require.NoError(t, err)
	require.Equal(t, "bar", string(got))

	a, b := bytes.Repeat([]byte("a"), 1<<22), bytes.Repeat([]byte("b"), 1<<22)
	require.NoError(t, s.Store(ctx, "foo", a))
	stored := make(chan error)
	go func() { stored <- s.Store(ctx, "foo", b) }()
	got, err = s.Load(ctx, "foo")
	require.NoError(t, <-stored)
	require.NoError(t, err)
	require.Len(t, got, len(a))

	for range 2 {
		require.NoError(t, s.Lock(ctx, "foo"))
		soon, end := context.WithTimeout(ctx, 10*time.Millisecond)
		require.Error(t, s.Lock(soon, "foo"))
		end()
		require.NoError(t, s.Unlock(ctx, "foo"))
	}
}

// issuer stands for a CA.
type issuer struct {
	issued atomic.Int32
	before func(nth int32) error // what happens at the CA
}

func (i *issuer) Issue(ctx context.Context, _ *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	if err := i.before(i.issued.Add(1)); err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: []byte("a certificate")}, ctx.Err()
}

func (i *issuer) IssuerKey() string { return "test" }

// config is certmagic as a process has it.
func config(t *testing.T, s certmagic.Storage, ca certmagic.Issuer) *certmagic.Config {
	t.Helper()
	var c *certmagic.Config
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return c, nil },
		Logger:           zap.NewNop(),
	})
	t.Cleanup(cache.Stop)
	c = certmagic.New(cache, certmagic.Config{
		Storage: s, Issuers: []certmagic.Issuer{ca}, Logger: zap.NewNop(),
	})
	return c
}

// obtainOnce has four processes ask for one certificate at the same time, in one storage.
func obtainOnce(t *testing.T, clients [4]*rlock.Client, name func(name string) string) {
	t.Helper()
	ca := &issuer{before: func(int32) error { return nil }}
	shared := &certmagic.FileStorage{Path: t.TempDir()}
	var all sync.WaitGroup
	for _, client := range clients {
		c := config(t, certmagiclock.New(shared, func(lock string) *lock.Lock {
			return rlock.New(client, name(lock))
		}), ca)
		all.Go(func() { assert.NoError(t, c.ObtainCertSync(t.Context(), "example.com")) })
	}
	all.Wait()
	require.EqualValues(t, 1, ca.issued.Load())
}

func TestOneCertificateIsObtainedOnce(t *testing.T) {
	t.Parallel()
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		lab := holdfasttest.New(t)
		var clients [4]*rlock.Client
		for i := range clients {
			clients[i] = lab.Client(nil)
		}
		obtainOnce(t, clients, func(name string) string { return name })
	})
	t.Run("on a server", func(t *testing.T) {
		t.Parallel()
		prefix := redistest.Key(t)
		var clients [4]*rlock.Client
		for i := range clients {
			client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, client.Close()) })
			clients[i] = client
		}
		obtainOnce(t, clients, func(name string) string { return prefix + name })
	})
}

// The lock is lost between two attempts of certmagic: the next attempt fails, and the one after that has the lock again.
func TestALossBetweenAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, lab := one(t)
		const name = "issue_cert_example.com"
		ca := &issuer{before: func(nth int32) error {
			if nth == 1 {
				return errors.New("the CA is away")
			}
			return nil
		}}
		c := config(t, s, ca)
		done := make(chan error)
		go func() { done <- c.ObtainCertAsync(t.Context(), "example.com") }()
		synctest.Wait() // the first attempt has failed; the next one is a minute away
		require.EqualValues(t, 1, ca.issued.Load())
		lab.Lose(name, rlock.LossGone)
		time.Sleep(90 * time.Second) // the second attempt found the loss
		require.EqualValues(t, 1, ca.issued.Load())
		require.NoError(t, <-done)
		require.EqualValues(t, 2, ca.issued.Load())
		require.ErrorIs(t, s.Unlock(t.Context(), name), lock.ErrNotHeld, "certmagic has unlocked")
	})
}
