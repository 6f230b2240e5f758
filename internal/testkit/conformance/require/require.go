// Package require is as much of testify's package of that name as the conformance suite uses: a condition that is not
// met ends the test. The suite is linked into the tests of programs that use package holdfasttest, and those must not
// come to depend on a test library of ours.
package require

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fail ends the test. The arguments are a format and its values, or nothing.
func fail(t testing.TB, why []any, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	if len(why) > 0 {
		text += ": " + fmt.Sprintf(why[0].(string), why[1:]...)
	}
	t.Fatal(text)
}

// True requires that a condition is met.
func True(t testing.TB, met bool, why ...any) {
	t.Helper()
	if !met {
		fail(t, why, "a condition is not met")
	}
}

// Equal requires that a value is the wanted one.
func Equal(t testing.TB, want, got any, why ...any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		fail(t, why, "want %v, got %v", want, got)
	}
}

// Zero requires that a value is the zero value of its type.
func Zero(t testing.TB, got any, why ...any) {
	t.Helper()
	if !reflect.ValueOf(got).IsZero() {
		fail(t, why, "want zero, got %v", got)
	}
}

// Greater requires that a value is greater than another one.
func Greater[N int64 | time.Duration](t testing.TB, got, than N, why ...any) {
	t.Helper()
	if got <= than {
		fail(t, why, "want more than %v, got %v", than, got)
	}
}

// NotEmpty requires a text.
func NotEmpty(t testing.TB, got string, why ...any) {
	t.Helper()
	if got == "" {
		fail(t, why, "want a text that is not empty")
	}
}

// NotContains requires that a text does not contain another one.
func NotContains(t testing.TB, text, part string, why ...any) {
	t.Helper()
	if strings.Contains(text, part) {
		fail(t, why, "%q contains %q", text, part)
	}
}

// NoError requires that there is no error.
func NoError(t testing.TB, err error, why ...any) {
	t.Helper()
	if err != nil {
		fail(t, why, "want no error, got %q", err)
	}
}

// ErrorIs requires that an error matches another one.
func ErrorIs(t testing.TB, err, want error, why ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		fail(t, why, "want an error that matches %q, got %v", want, err)
	}
}

// NotErrorIs requires that an error does not match another one.
func NotErrorIs(t testing.TB, err, other error, why ...any) {
	t.Helper()
	if errors.Is(err, other) {
		fail(t, why, "want an error that does not match %q, got %v", other, err)
	}
}

// ErrorAs requires an error of the type of what target points to, and stores it there.
func ErrorAs(t testing.TB, err error, target any, why ...any) {
	t.Helper()
	if !errors.As(err, target) {
		fail(t, why, "want a %v, got %v", reflect.TypeOf(target).Elem(), err)
	}
}

// ErrorContains requires an error whose text contains another one.
func ErrorContains(t testing.TB, err error, part string, why ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		fail(t, why, "want an error with %q, got %v", part, err)
	}
}

// PanicsWithValue requires that fn panics, and with what.
func PanicsWithValue(t testing.TB, want any, fn func(), why ...any) {
	t.Helper()
	panicked := func() (panicked bool) {
		defer func() {
			got := recover()
			panicked = got != nil
			Equal(t, want, got, why...)
		}()
		fn()
		return false
	}()
	True(t, panicked, why...)
}

// Eventually requires that a condition is met within a limit, and looks that often.
func Eventually(t testing.TB, met func() bool, limit, tick time.Duration, why ...any) {
	t.Helper()
	for end := time.Now().Add(limit); !met(); <-time.After(tick) {
		if time.Now().After(end) {
			fail(t, why, "not met within %v", limit)
		}
	}
}
