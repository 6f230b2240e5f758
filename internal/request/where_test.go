package request

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The log of a store with one node has the address by which operators know it, not what the store calls it
// (defect G35).
func TestALineOfTheLogNamesTheServer(t *testing.T) {
	one, several := &Config{Server: "db:5432"}, &Config{}
	assert.Equal(t, []any{"node", "db:5432"}, one.where("postgresql"))
	assert.Equal(t, []any{"node", "db:5432"}, one.where(""))
	assert.Equal(t, []any{"node", "a:1"}, several.where("a:1"))
	assert.Empty(t, several.where(""))
}
