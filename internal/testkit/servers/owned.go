package servers

import (
	"errors"
	"testing"
)

// Owned says whose a server is: that of the test which started it, and may disturb it, or that of all tests of the
// binary, which none of them may disturb.
type Owned struct {
	Kit   string     // the package that starts such servers, for messages
	owner testing.TB // nil: all of the binary
}

// BelongTo gives the server to a test, before anybody else knows it.
func (o *Owned) BelongTo(t testing.TB) { o.owner = t }

// IsShared reports that the server belongs to all tests of the binary.
func (o *Owned) IsShared() bool { return o.owner == nil }

// Owner returns the test that started the server, and may therefore disturb it.
func (o *Owned) Owner() testing.TB {
	if o.owner == nil {
		panic(o.Kit + ": all tests share this server: start another one to disturb it")
	}
	return o.owner
}

// Report fails the test that started the server, if what it did to the server at an address met an error.
func (o *Owned) Report(what, addr string, err error) {
	o.owner.Helper()
	if err != nil {
		o.owner.Errorf("%s: %s %s: %v", o.Kit, what, addr, err)
	}
}

// Restart boots a server again whose process has ended.
func (o *Owned) Restart(addr string, process *Process, boot func() error) {
	o.Owner().Helper()
	if process.Alive() {
		o.Report("restart", addr, errors.New("the server has not ended"))
		return
	}
	o.Report("restart", addr, boot())
}
