package etcdstore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"2.3.8": true, "3.4.23": true, "3.4.45": true, "3.5.0": true, "3.5.22": true, "3.5.23": false, "3.5.30": false,
		"3.6.0": true, "3.6.4": true, "3.6.5": false, "3.6.16": false, "3.7.0": false, "3.10.1": false, "4.0.0": false,
		"3.7.0-alpha.0": false, "": true, "unknown": true,
	} {
		require.Equal(t, old, TooOld(version), version)
	}
}
