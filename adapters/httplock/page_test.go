package httplock_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/adapters/httplock"
	"github.com/holdfast-go/holdfast/lock"
)

// The table of docs/adapters.md says what Status does.
func TestTheTableOfStatuses(t *testing.T) {
	t.Parallel()
	errs := map[string][]error{
		"`ErrBusy`": {lock.ErrBusy, fmt.Errorf("%w: %w", lock.ErrBusy, context.DeadlineExceeded)},
		"`ErrUnavailable`, `ErrLost`, `ErrClosed`": {
			lock.ErrUnavailable, &lock.LostError{Name: "a"}, lock.ErrClosed,
			fmt.Errorf("%w: %w", lock.ErrUnavailable, context.DeadlineExceeded),
		},
		"`ErrUnconfirmed`": {
			lock.ErrUnconfirmed, fmt.Errorf("pay: %w", &lock.ReleaseError{Name: "a", Err: lock.ErrUnavailable}),
		},
		"another end of the context":         {context.Canceled, context.DeadlineExceeded},
		"`*ArgumentError`, `ErrKeyConflict`": {&lock.ArgumentError{Name: "name"}, lock.ErrKeyConflict},
	}
	page, err := os.ReadFile("../../docs/adapters.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| error | status | |\n|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	require.Len(t, rows, len(errs))
	for _, row := range rows {
		cells := strings.Split(row, " | ")
		of := errs[strings.TrimPrefix(cells[0], "| ")]
		require.NotEmpty(t, of, row)
		for _, err := range of {
			status := httplock.Status(err)
			require.Equal(t, fmt.Sprintf("%d %s", status, http.StatusText(status)), cells[1], "%v", err)
		}
	}
}
