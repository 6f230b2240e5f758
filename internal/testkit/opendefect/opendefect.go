// Package opendefect runs the tests of known defects that are not fixed yet.
//
// Such a test is neither skipped nor left out: it runs with all others, passes while the defect shows the
// symptom that the test names, and fails as soon as the defect shows another symptom, or none. So nobody
// can fix a defect, or make it worse, without noticing. The table "Defects" in integration/REGRESSIONS.md
// lists every defect with its tests, and says which are open.
package opendefect

import (
	"regexp"
	"testing"
)

// Shows runs check, which looks for the defect of that number and returns what it saw as an error, or nil
// if the defect did not show. The error's text must match symptom, a regular expression. Check runs on the
// calling goroutine.
func Shows(t testing.TB, number, symptom string, check func() error) {
	t.Helper()
	want := regexp.MustCompile(symptom)
	switch err := check(); {
	case err == nil:
		t.Errorf("defect %s does not show any more: let this test assert that, and update integration/REGRESSIONS.md",
			number)
	case !want.MatchString(err.Error()):
		t.Errorf("defect %s shows another symptom than %q: %v", number, symptom, err)
	default:
		t.Logf("defect %s is open: %v", number, err)
	}
}
