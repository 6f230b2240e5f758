package lock

// Level is how bad a Finding is.
type Level int

// The levels of findings.
const (
	LevelOK      Level = iota // as it should be, or harmless
	LevelWarning              // locks work, with less than they promise
	LevelFailure              // locks do not work, or may be lost without need
)

func (l Level) String() string {
	switch l {
	case LevelOK:
		return "ok"
	case LevelWarning:
		return "warning"
	}
	return "failure"
}

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Finding is one thing that a check of a store looked at, as operate.Check does.
type Finding struct {
	Name   string // "version", "eviction", "rights" and so on
	Server string // of a cluster: the address of the primary that it is about; "" if it is about none
	Level  Level
	Text   string // what was found, and what to do about it
}
