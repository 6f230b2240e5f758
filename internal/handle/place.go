package handle

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Placed returns a request with the place of the call, if that may have to be told: looking at the stack takes a
// microsecond or two.
func Placed(req engine.Request) engine.Request {
	if req.Reentry == engine.Refused {
		req.Place = place()
	}
	return req
}

// place is the file and line from which a lock was called: that of the innermost function on the stack that is not one
// of the packages whose methods take locks. "": it is not known.
func place() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		frame, more := frames.Next()
		if frame.File != "" && !takes(frame.Function) {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// takes reports that a function is of a package whose methods take locks for their callers. Their tests are not.
func takes(function string) bool {
	name, ours := strings.CutPrefix(function, "github.com/holdfast-go/holdfast/")
	pkg, _, _ := strings.Cut(name, ".")
	return ours && slices.Contains([]string{"internal/handle", "lock", "multilock", "semaphore", "leader"}, pkg)
}
