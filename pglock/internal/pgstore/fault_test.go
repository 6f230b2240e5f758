package pgstore

import (
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// retryable is an error of which the client library says that nothing was sent.
type retryable struct{ error }

func (retryable) SafeToRetry() bool { return true }

func TestWhatAnErrorMeans(t *testing.T) {
	t.Parallel()
	says := func(severity, code string) error {
		return &pgconn.PgError{Severity: "as the server's language has it", SeverityUnlocalized: severity, Code: code}
	}
	for name, c := range map[string]struct {
		err    error
		fault  store.Fault
		denied bool
	}{
		"a connection that broke":                  {io.ErrUnexpectedEOF, store.FaultAmbiguous, false},
		"one that the client library found closed": {retryable{errors.New("conn closed")}, store.FaultAmbiguous, false},
		"an operator ends the session":             {says("FATAL", "57P01"), store.FaultAmbiguous, false},
		"a session that was idle for too long":     {says("FATAL", "57P05"), store.FaultAmbiguous, false},
		"a server that crashes":                    {says("PANIC", "XX000"), store.FaultAmbiguous, false},
		"a pooler that hangs up":                   {says("ERROR", "08P01"), store.FaultAmbiguous, false},
		"a lock that was not to be had":            {says("ERROR", "55P03"), store.FaultTransient, false},
		"a conflict of transactions":               {says("ERROR", "40001"), store.FaultTransient, false},
		"a standby":                                {says("ERROR", "25006"), store.FaultTransient, false},
		"a statement that was cancelled":           {says("ERROR", "57014"), store.FaultTransient, false},
		"no such table":                            {says("ERROR", "42P01"), store.FaultDefinite, false},
		"no right":                                 {says("ERROR", "42501"), store.FaultDefinite, true},
	} {
		err := meaning(c.err, `"holdfast_lock"`)
		require.Equal(t, c.fault, store.FaultOf(err), name)
		require.Equal(t, c.denied, store.Denied(err), name)
		require.ErrorIs(t, err, c.err)
	}
	require.NoError(t, meaning(nil, ""))
}

// An error without which the request would have been sent leaves nothing unknown.
func TestWhatAnErrorOfConnectingMeans(t *testing.T) {
	t.Parallel()
	for code, fault := range map[string]store.Fault{
		"57P03": store.FaultTransient, "53300": store.FaultTransient, "28P01": store.FaultDefinite,
		"28000": store.FaultDefinite, "42501": store.FaultDefinite,
	} {
		require.Equal(t, fault, store.FaultOf(unsent(&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: code})), code)
	}
	require.Equal(t, store.FaultTransient, store.FaultOf(unsent(io.EOF)))
}
