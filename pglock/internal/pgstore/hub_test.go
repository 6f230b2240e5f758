package pgstore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// hearing is the hub of a client "me" that listens to a name.
func hearing(t *testing.T) *hub {
	t.Helper()
	h := &hub{me: "me", heed: func(string) {}}
	h.init()
	h.stands()
	t.Cleanup(h.listen("n", "n").Leave)
	return h
}

// Those who had the lock since this client had it are its rivals, whether the message of its own last release has come
// yet or not.
func TestRivals(t *testing.T) {
	t.Parallel()
	for heard, want := range map[string]int{
		"":             0,
		"a":            1,
		"aaa":          1,
		"abc":          3,
		"abc me":       3,
		"me":           0,
		"me abc":       3, // the own message of this round is under way
		"me abc me":    3, // it has come
		"abc me a me":  1, // b and c are gone since
		"abc me me":    0,
		"me a me b":    2, // which may be a round
		"me a me b me": 1,
	} {
		h := hearing(t)
		for from := range words(heard) {
			h.message(from, "n")
			h.message("other", "another name")
		}
		require.Equal(t, want, h.rivals("n"), heard)
	}
}

// words are the senders of messages: "me", and single letters.
func words(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := 1
			if len(text) > 1 && text[:2] == "me" {
				n = 2
			}
			if text[0] != ' ' && !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// What was heard before a subscription broke says nothing of those who want the lock now.
func TestRivalsOfAnotherSubscription(t *testing.T) {
	t.Parallel()
	h := hearing(t)
	h.message("a", "n")
	h.broke()
	h.message("b", "n")
	h.stands()
	require.Zero(t, h.rivals("n"))
	h.message("c", "n")
	require.Equal(t, 1, h.rivals("n"))
	require.Zero(t, h.rivals("unknown"))
}

// One who comes anew is a rival before it has had the lock, and is told of once.
func TestRivalsThatComeAnew(t *testing.T) {
	t.Parallel()
	h := hearing(t)
	require.Equal(t, []string{"n"}, h.announces([]string{"n", "unknown"}))
	require.Empty(t, h.announces([]string{"n"}))
	h.announced("me", "n")
	h.announced("a", "unknown")
	require.Zero(t, h.rivals("n"))
	h.announced("a", "n")
	h.message("b", "n")
	require.Equal(t, 2, h.rivals("n"))
	require.EqualValues(t, 1, h.heard("n").Messages, "an announcement is no release")
	h.message("me", "n")
	h.message("me", "n")
	require.Zero(t, h.rivals("n"))
	h.broke()
	h.stands()
	require.Equal(t, []string{"n"}, h.announces([]string{"n"}), "those who listen anew have not heard it")
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for message, want := range map[string][2]string{
		"=c:1 n": {"c", "n"}, "=c:1 ": {"c", ""}, "=c:d:1 a b": {"c:d", "a b"}, "=c:1 =:": {"c", "=:"}, "=c n": {"", "n"},
		"+c:1 n": {"c", "n"}, "!c:1 n": {"c", "n"},
	} {
		kind, id, name := read(message)
		require.Equal(t, message[0], kind)
		require.Equal(t, want, [2]string{store.ClientOf(id), name})
	}
	for _, message := range []string{"", "=", "=n", "+", "?c 1", "n"} {
		kind, _, _ := read(message)
		require.Zero(t, kind, message)
	}
}
