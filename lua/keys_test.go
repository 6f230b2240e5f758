package lua

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// indirectKeys are the scripts in which not every key is a literal KEYS[n], and what they use instead. The
// documentation of package lua lists them.
var indirectKeys = map[string][]string{
	// For many locks, in loops. What is refused is sent lock by lock, by scripts of literals.
	"acquire_all":           {"KEYS[i]", "KEYS[j]", "lock", "token", "unpack(KEYS"},
	"acquire_many":          {"lock", "token"},
	"release_many":          {"KEYS[i]"},
	"renew":                 {"lock"},
	"permit_renew_expiring": {"leases", "permits"},
	"permit_renew":          {"leases"},
	"rw_write_renew":        {"lock"},
	"quorum_renew":          {"lock", "token"}, // has no other way: a redlock is for servers of one's own
	// Readers' hold keys, of which Redisson has one for each level. Those that an expression makes are not
	// among the keys of the call: only the hash says which there are.
	"rw_read_release": {"base .. reader .. ':rwlock_timeout:' .. n"},
	"rw_read_renew":   {"hold", "lock"},
	"rw_inspect":      {"ARGV[4] .. field .. ':rwlock_timeout:' .. n"},
	"rw_write":        {"KEYS[key]", "base .. reader .. ':rwlock_timeout:' .. n"},
}

var (
	keyedCall = regexp.MustCompile(`redis\.p?call\('(\w+)'(?:, ([^,()]+(?:\(\w+)?))?`)
	unkeyed   = []string{"TIME", "INFO", "PUBSUB", "PUBLISH"}
)

// indirect returns the expressions in the place of a key that are no literal.
func indirect(source string) []string {
	found := make(map[string]bool)
	for _, call := range keyedCall.FindAllStringSubmatch(source, -1) {
		if !slices.Contains(unkeyed, call[1]) && !isKey(call[2]) {
			found[call[2]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Some hosted servers refuse a script that holds a key in a variable, and some one that touches a key that is not
// among those of the call. What is sent writes KEYS[n] wherever a key is used, but for a list of scripts.
func TestScriptsNameTheirKeysLiterally(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	found := make(map[string][]string)
	for _, name := range Names() {
		source, _ := Script(name)
		if exprs := indirect(source); len(exprs) > 0 {
			found[name] = exprs
			require.Contains(t, string(text), name, "it is documented")
		}
	}
	require.Equal(t, indirectKeys, found)
}

// The scripts that stand in for one lock, where a script for many is refused, use only literals.
func TestScriptsOfOneNameTheirKeyLiterally(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"renew", "permit_renew", "rw_write_renew"} {
		source, _ := ScriptOfOne(name)
		require.Empty(t, indirect(source), name)
		require.NotContains(t, source, "KEYS[i]", name)
	}
}

// A key's name becomes the key where it is one, and nowhere else.
func TestLiteralKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"local lock, id = KEYS[1], ARGV[1]\nredis.call('HSET', lock, id, 1)\n": "local id = ARGV[1]\nredis.call('HSET', KEYS[1], id, 1)\n",
		"local a, b = KEYS[1], KEYS[2]\nif b then return a end\n":              "if KEYS[2] then return KEYS[1] end\n",
		"local lock = KEYS[1]\nreturn {'the lock', x.lock, locks, lock}\n":     "return {'the lock', x.lock, locks, KEYS[1]}\n",
		"local found = redis.call('GET', KEYS[1])\nreturn found\n":             "local found = redis.call('GET', KEYS[1])\nreturn found\n",
		"for i = 1, #KEYS do\nlocal lock = KEYS[i]\nend\n":                     "for i = 1, #KEYS do\nlocal lock = KEYS[i]\nend\n",
	} {
		require.Equal(t, want, literalKeys(text))
	}
}
