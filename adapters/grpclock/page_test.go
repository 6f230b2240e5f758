package grpclock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/adapters/grpclock"
	"github.com/holdfast-go/holdfast/lock"
)

// The table of docs/adapters.md says what Code does. The errors of a row stand in the order of its codes.
func TestTheTableOfCodes(t *testing.T) {
	t.Parallel()
	errs := map[string][]error{
		"`ErrBusy`":                       {lock.ErrBusy},
		"`ErrLost`":                       {&lock.LostError{Name: "a"}},
		"`ErrUnconfirmed`":                {&lock.ReleaseError{Name: "a", Err: lock.ErrUnavailable}},
		"`ErrUnavailable`, `ErrClosed`":   {lock.ErrUnavailable, lock.ErrClosed},
		"the end of the client's context": {fmt.Errorf("%w: %w", lock.ErrBusy, context.DeadlineExceeded), context.Canceled},
		"`*ArgumentError`":                {&lock.ArgumentError{Name: "name"}},
		"`ErrKeyConflict`":                {lock.ErrKeyConflict},
		"any other":                       {errors.New("other")},
	}
	page, err := os.ReadFile("../../docs/adapters.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| error | code | |\n|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	require.Len(t, rows, len(errs))
	for _, row := range rows {
		cells := strings.Split(row, " | ")
		of, codes := errs[strings.TrimPrefix(cells[0], "| ")], strings.Split(cells[1], ", ")
		require.NotEmpty(t, of, row)
		for i, err := range of {
			require.Equal(t, "`"+grpclock.Code(err).String()+"`", codes[min(i, len(codes)-1)], "%v", err)
		}
	}
}
