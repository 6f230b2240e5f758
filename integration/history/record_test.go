package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told makes a record of the output of one client.
func told(lines ...string) (*record, *process) {
	r, p := newRecord(), &process{name: "client-0.0"}
	for _, line := range lines {
		r.take(p, line)
	}
	return r, p
}

// end is the end of a hold of "a".
func end(who, id string, fence int64, at time.Duration) string {
	return endLine(Hold{Client: who, Name: "a", ID: id, Fence: fence, End: at})
}

func TestRecordOfAHold(t *testing.T) {
	t.Parallel()
	h := Hold{
		Client: "3", Name: "a", ID: "id:1", Fence: 7, Called: 90, Start: 100, End: 250, From: "id:0", Stalled: 40,
	}
	r, _ := told(holdLine(h, 900), endLine(h), lineUnlock+" lock:ok")
	h.Client = "client-0.0/3"
	require.Equal(t, []Hold{h}, r.holds)
	h.From = ""
	r, _ = told(holdLine(h, 900), endLine(h), lineUnlock+" lock:ok")
	require.NoError(t, r.judge())
	require.Equal(t, 1, r.count("lock:ok", "lock:lost"))
}

// The holds of a killed process end with it, or with the validity that it knew of, and stay in the record: a hold
// granted before that would overlap.
func TestRecordOfAKilledProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ validUntil, alive, want time.Duration }{{900, 500, 500}, {400, 500, 400}} {
		r, p := told(holdLine(Hold{Client: "3", Name: "a", ID: "id:1", Fence: 7, Start: 100}, c.validUntil))
		r.take(&process{name: "client-1.0"},
			holdLine(Hold{Client: "0", Name: "a", ID: "id:2", Fence: 8, Start: 300}, 900))
		r.killed(p, c.alive)
		require.Len(t, r.holds, 1)
		require.Equal(t, c.want, r.holds[0].End)
		require.Equal(t, 2, r.acquisitions())
		r.take(&process{name: "client-1.0"}, end("0", "id:2", 8, 350))
		require.ErrorContains(t, r.judge(), "overlaps: 1")
	}
}

func TestRecordThatIsWrong(t *testing.T) {
	t.Parallel()
	first := holdLine(Hold{Client: "3", Name: "a", ID: "id:1", Fence: 7, Start: 100}, 900)
	later := holdLine(Hold{Client: "4", Name: "a", ID: "id:2", Fence: 6, Start: 300}, 900)
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"told by the client": {[]string{lineBad + " a lock that bites"}, "bites"},
		"garbage":            {[]string{"fatal error: stack overflow"}, "fatal"},
		"half a line":        {[]string{"hold 3 a id:1"}, "too short"},
		"no number":          {[]string{"end 3 a id:1 soon"}, "soon"},
		"end of nothing":     {[]string{end("3", "id:1", 7, 10)}, "never began"},
		"without an end":     {[]string{first}, "never ended"},
		"overlap":            {[]string{first, later, end("3", "id:1", 7, 301), end("4", "id:2", 6, 400)}, "overlaps"},
		"order":              {[]string{first, later, end("3", "id:1", 7, 200), end("4", "id:2", 6, 400)}, "order"},
	} {
		r, _ := told(c.lines...)
		require.ErrorContains(t, r.judge(), c.want, name)
	}
}

// Readers of one process have one grant, and the members of a set may have one id: each is a hold of its own.
func TestRecordOfHoldsThatShareAnID(t *testing.T) {
	t.Parallel()
	reader := Hold{Client: "1", Name: "a", ID: "id:1", Mode: modeRead, Fence: 7, Start: 100, End: 200}
	beside, member := reader, reader
	beside.Client, member.Name, member.Mode = "2", "b", ""
	var lines []string
	for _, h := range []Hold{reader, beside, member} {
		lines = append(lines, holdLine(h, 900))
	}
	for _, h := range []Hold{member, beside, reader} {
		lines = append(lines, endLine(h))
	}
	r, _ := told(lines...)
	require.NoError(t, r.judge())
	require.Len(t, r.holds, 3)
	require.Equal(t, modeRead, r.holds[1].Mode)
}

func TestMissingFaults(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{Site: Single}, {Site: Single, Forgets: true}, {Site: Cluster}, {Site: Sentinel}} {
		r := &Report{Config: cfg, Faults: make(map[string]int)}
		require.NotEmpty(t, cfg.kinds())
		require.Len(t, r.missing(), len(cfg.kinds()))
		for _, k := range cfg.kinds() {
			r.Faults[k.name]++
		}
		require.Empty(t, r.missing())
		require.Equal(t, len(cfg.kinds()), r.Injected())
	}
}
