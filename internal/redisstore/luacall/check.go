package luacall

import (
	"errors"
	"fmt"
	"strings"
)

// maxTTL is the longest time, in ms, that is sent to Redis: a hundred years. Far beyond
// it PEXPIRE fails, and after the HSET before it the lock would have no expiry.
const maxTTL = 100 * 365 * 24 * 60 * 60 * 1000

// maxExact is the largest integer up to which Lua's numbers are exact.
const maxExact = 1 << 53

// check returns the first of errs, under the script's name.
func check(script string, errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("lua: %s: %w", script, err)
		}
	}
	return nil
}

// checkTTL refuses a time that Redis would treat as a deletion, or refuse.
func checkTTL(name string, ms int64) error {
	if ms < 1 || ms > maxTTL {
		return fmt.Errorf("a %s of %d ms is not between 1 and %d", name, ms, int64(maxTTL))
	}
	return nil
}

// checkFenceTTL accepts any negative number for "never expires".
func checkFenceTTL(ms int64) error {
	if ms < 0 {
		return nil
	}
	return checkTTL("fence TTL", ms)
}

func checkKey(name, key string) error {
	if key == "" {
		return fmt.Errorf("no %s", name)
	}
	return nil
}

// checkID refuses an id that a script could not tell from an application's hash field.
func checkID(id string) error {
	if !strings.Contains(id, ":") {
		return fmt.Errorf("the hold id %q has no colon", id)
	}
	return nil
}

func checkMove(from, to string) error {
	if from == to {
		return errors.New("the same hold for From and To")
	}
	return errors.Join(checkID(from), checkID(to))
}

func checkLevels(count int64) error {
	if count < 1 || count > maxExact {
		return fmt.Errorf("a count of %d levels is not between 1 and %d", count, int64(maxExact))
	}
	return nil
}

// checkUntil refuses a time of a server's clock that Lua's numbers cannot tell from others.
func checkUntil(micros int64) error { return checkExact("time", " us", micros) }

// checkToken refuses a token that no hold can have.
func checkToken(token int64) error { return checkExact("token", "", token) }

// checkExact refuses a number that Lua does not count exactly.
func checkExact(what, unit string, n int64) error {
	if n < 1 || n > maxExact {
		return fmt.Errorf("a %s of %d%s is not between 1 and %d", what, n, unit, int64(maxExact))
	}
	return nil
}
