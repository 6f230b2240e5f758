package rlock_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Whatever bytes a name is made of: either it is refused before anything is sent, or the lock of that
// name works, at that very key, and leaves nothing.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"", "order:1", " ", "\x00", "a\x00b", "\r\n", "*3\r\n$3\r\nSET\r\n", "\xff\xfe", "日本", "é", "e\u0301",
		"*", "?[x]", "{", "}", "{}", "{}x", "}x", "a{", "a{b", "a}b", "a{b}c", "{a}", "{{a}}", "{}{b}", "%s",
		"redisson_lock_token:{a}", strings.Repeat("n", 1024), strings.Repeat("n", 1025),
	} {
		f.Add(name)
	}
	server := redistest.Start(f)
	rdb, client := server.Client(f), conductClient(f, server.Addr(), nil)
	f.Fuzz(func(t *testing.T, name string) {
		lock, ctx := rlock.New(client, name), conductCtx(t)
		held, unlock, err := lock.TryLock(ctx)
		if name == "" || len(name) > 1024 {
			badArgument(t, err, "name")
			require.NoError(t, badRest(ctx, held, unlock))
			return
		}
		if strings.HasPrefix(name, "redisson_lock_token:") && err != nil {
			require.ErrorIs(t, err, rlock.ErrKeyConflict) // it is another lock's token
			return
		}
		require.NoError(t, err, "%q", name)
		require.Equal(t, name, lock.Name())
		hold, err := lock.Held(held)
		require.NoError(t, err)
		count, err := rdb.HGet(ctx, name, hold.ID).Int()
		require.NoError(t, err, "the key is the name, byte by byte: %q", name)
		require.Equal(t, 1, count)
		info, err := lock.Inspect(ctx)
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		require.Equal(t, hold.ID, info.Holders[0].ID)
		require.True(t, info.Holders[0].Mine)
		_, _, err = lock.TryLock(ctx)
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, unlock())
		require.Zero(t, rdb.Exists(ctx, name).Val())
	})
}

// Whatever Import is given that Export did not make: it is refused, at once, and nothing is written.
func FuzzImportTokens(f *testing.F) {
	token := func(format string, args ...any) string {
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, format, args...))
	}
	for _, seed := range []string{
		"", "x", "====", "e30", "bnVsbA", token("{"), token("[]"), token(`"l"`), token(`{"k":"bA=="}`),
		token(`{"k":"bA==","i":"a:b","f":1}`), token(`{"k":"bA==","c":"a:b","s":"x","f":1}`),
		token(`{"k":"bA==","c":"a","s":"b","f":-1}`), token(`{"k":"bA==","c":"a","s":"b","f":1e300}`),
		token(`{"k":"b3RoZXI=","c":"a","s":"b","f":1}`), token(`{"k":"bA==","c":"mode","s":"b","f":1}`),
		token(`{"k":"bA==","c":":","s":":","f":1}`), token(`{"k":"bA==","c":"a","s":"b","f":1}`) + "=",
		token(`{"k":"bA==","c":%q,"s":"b","f":1}`, strings.Repeat("a:", 4096)), token(`{"k":"bA==","c":"","s":"","f":1}`),
	} {
		f.Add(seed)
	}
	server := redistest.Start(f)
	client := conductClient(f, server.Addr(), nil)
	other := conductClient(f, server.Addr(), nil)
	f.Fuzz(func(t *testing.T, token string) {
		ctx, lock := conductCtx(t), rlock.New(client, "l")
		same, nothing, err := lock.Import(ctx, token)
		var bad *rlock.ArgumentError
		if !errors.As(err, &bad) {
			errorsOnly(t, err, rlock.ErrNotHeld)
		}
		require.NoError(t, badRest(ctx, same, nothing))
		require.Empty(t, conductHeldKeys(t, server))

		// Nor does it touch a hold that is there.
		held, unlock := conductTake(t, ctx, rlock.New(other, "l"))
		_, _, err = lock.Import(ctx, token)
		require.Error(t, err)
		require.NoError(t, held.Err())
		require.NoError(t, unlock())
	})
}
