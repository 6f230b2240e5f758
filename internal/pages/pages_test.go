package pages_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/pages"
)

func TestShow(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n<!-- a -->\nold\n<!-- /a -->\nafter\n"), 0o600))
	require.NoError(t, pages.Show(page, "a", "new\n"))
	require.NoError(t, pages.Show(page, "a", "newer\n"))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "before\n<!-- a -->\nnewer\n<!-- /a -->\nafter\n", string(text))
	part, err := pages.Shown(page, "a")
	require.NoError(t, err)
	require.Equal(t, "newer\n", part)
	_, err = pages.Shown(page, "b")
	require.Error(t, err)
	require.ErrorContains(t, pages.Show(page, "b", "new\n"), `needs the lines "<!-- b -->"`)
	require.Error(t, pages.Show(page+"none", "a", "new\n"))
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 12345: "12,345"} {
		require.Equal(t, want, pages.Number(n))
	}
}
