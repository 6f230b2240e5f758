package opendefect

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// recorder records how a test would have ended.
type recorder struct {
	testing.TB
	failed, logged string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }
func (r *recorder) Logf(format string, args ...any)   { r.logged = fmt.Sprintf(format, args...) }

func TestADefectThatShowsPasses(t *testing.T) {
	r := &recorder{}
	Shows(r, "X1", `^18 pairs`, func() error { return errors.New("18 pairs a second") })
	assert.Empty(t, r.failed)
	assert.Contains(t, r.logged, "X1")
}

func TestADefectThatIsGoneFails(t *testing.T) {
	r := &recorder{}
	Shows(r, "X1", `^18 pairs`, func() error { return nil })
	assert.Contains(t, r.failed, "X1 does not show any more")
}

func TestADefectThatLooksDifferentFails(t *testing.T) {
	r := &recorder{}
	Shows(r, "X1", `^18 pairs`, func() error { return errors.New("the connection was refused") })
	assert.Contains(t, r.failed, "another symptom")
}
