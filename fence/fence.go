package fence

import (
	"errors"
	"fmt"
)

// ErrStale means that a newer token was seen: another holder has had the lock since. Nothing was written. The error is
// a *StaleError.
var ErrStale = errors.New("holdfast: a newer holder has been here")

// StaleError says which token was too old. It matches ErrStale.
type StaleError struct {
	Name   string // that is guarded, or the key
	Token  int64
	Newest int64 // that was seen; 0: unknown
}

// Error implements error.
func (e *StaleError) Error() string {
	if e.Newest == 0 {
		return fmt.Sprintf("holdfast: token %d of %q is stale: nothing was written", e.Token, e.Name)
	}
	return fmt.Sprintf("holdfast: token %d of %q is stale, because %d was seen: nothing was written",
		e.Token, e.Name, e.Newest)
}

// Is makes a StaleError match ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// checkToken refuses what no hold has: the zero Hold of an error that was not looked at.
func checkToken(token int64) error {
	if token <= 0 {
		return fmt.Errorf("holdfast: the token must be positive, not %d: take it from Held, and look at its error",
			token)
	}
	return nil
}

func checkName(name string) error {
	if name == "" || len(name) > 255 {
		return errors.New("holdfast: a name must have 1 to 255 bytes")
	}
	return nil
}
