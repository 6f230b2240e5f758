package keys_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestNamesAreThoseOfRedisson(t *testing.T) {
	for _, test := range []struct{ name, prefixed, suffixed string }{
		{"order", "p:{order}", "{order}:s"},
		{"", "p:{}", "{}:s"},
		{"a:b c", "p:{a:b c}", "{a:b c}:s"},
		{"{order}:1", "p:{order}:1", "{order}:1:s"},
		{"a{b}c", "p:a{b}c", "a{b}c:s"},
		{"a{b", "p:a{b", "a{b:s"},
		{"{", "p:{", "{:s"},
		{"{}z", "p:{}z", "{}z:s"},
		{"foo}bar", "p:{foo}bar}", "{foo}bar}:s"},
		{"}", "p:{}}", "{}}:s"},
		{"\x00\xff", "p:{\x00\xff}", "{\x00\xff}:s"},
		{"日本", "p:{日本}", "{日本}:s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.prefixed, keys.Prefix("p", test.name))
			require.Equal(t, test.suffixed, keys.Suffix(test.name, "s"))
		})
	}
}

// The channel and the token key as Redisson's own clients derive them.
func TestKnownNames(t *testing.T) {
	require.Equal(t, "redisson_lock__channel:{order}", keys.Prefix("redisson_lock__channel", "order"))
	require.Equal(t, "redisson_lock_token:{order}", keys.Prefix("redisson_lock_token", "order"))
	require.Equal(t, "{order}:client:1:rwlock_timeout", keys.Suffix("order", "client:1:rwlock_timeout"))
}

func TestSlot(t *testing.T) {
	for key, slot := range map[string]int{
		"":          0,
		"123456789": 0x31C3, // the check value of CRC16-XMODEM
		"foo":       12182,
		"{}x":       10595,
		"{a{b}":     13340,
		"a}b":       7866,
		"a{b}c":     3300,
		"b":         3300,
		"a}{b}":     3300,
		"{b}{c}":    3300,
		"{}{b}":     keys.Slot("{}{b}"), // the empty first tag decides
	} {
		require.Equal(t, slot, keys.Slot(key), key)
	}
	require.NotEqual(t, keys.Slot("b"), keys.Slot("{}{b}"))
}

func TestSameSlot(t *testing.T) {
	require.True(t, keys.SameSlot("a"))
	require.True(t, keys.SameSlot("a", "{a}", "x:{a}", "{a}:y"))
	require.False(t, keys.SameSlot("a", "{a}", "b"))
	require.False(t, keys.SameSlot("a", "b", "{a}"))
}

// The effect of Redisson's rule on odd names on a cluster.
func TestNamesWhoseKeysFallApart(t *testing.T) {
	for name, together := range map[string]bool{
		"order": true, "{t}:k": true, "a{b}c": true, "a}{b}": true,
		"a{b": false, "{}z": false, "foo}bar": false, "}": false,
	} {
		require.Equal(t, together, keys.SameSlot(name, keys.Prefix("p", name)), name)
	}
}

// names are the seeds of the fuzzers.
var names = []string{
	"", "order", "123456789", "{", "}", "{}", "{}x", "{a}", "a{b}c", "a}b", "a}{b}", "a{b",
	"{{a}}", "{}{a}", "{a}{b}", "a{}b{c}", "\x00", "\xff\xfe{\x80}", "日本", strings.Repeat("x", 4096),
	"\r\n{\r\n}\r\n",
}

func FuzzSlotIsThatOfRedis(f *testing.F) {
	for _, name := range names {
		f.Add(name)
	}
	rdb := redistest.Start(f, redistest.WithArgs("--cluster-enabled", "yes")).Client(f)
	f.Fuzz(func(t *testing.T, name string) {
		for _, key := range []string{name, keys.Prefix("p", name), keys.Suffix(name, "s")} {
			want, err := rdb.ClusterKeySlot(context.Background(), key).Result()
			require.NoError(t, err)
			require.Equal(t, int(want), keys.Slot(key), "%q", key)
		}
	})
}

// Different names never share a key, and a name without braces has all its keys in one slot.
func FuzzNames(f *testing.F) {
	for i, name := range names {
		f.Add(name, names[(i+1)%len(names)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		derive := func(name string) [2]string {
			return [2]string{keys.Prefix("p", name), keys.Suffix(name, "s")}
		}
		if a != b && !collides(a, b) {
			one, other := derive(a), derive(b)
			require.NotEqual(t, one[0], other[0])
			require.NotEqual(t, one[1], other[1])
		}
		if a != "" && !strings.ContainsAny(a, "{}") {
			require.True(t, keys.SameSlot(a, keys.Prefix("p", a), keys.Suffix(a, "s")))
		}
	})
}

// collides reports whether Redisson's rule gives both names the same keys: "x" and "{x}".
func collides(a, b string) bool {
	return a == "{"+b+"}" || b == "{"+a+"}"
}
