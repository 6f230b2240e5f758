package scenario

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/javalib"
)

// Defect D16: a row without a goal for the figure that it is about can be lost to a peer by any factor, and no
// goal is missed.
func TestEveryRowHasAGoalForItsLeadingFigure(t *testing.T) {
	for _, s := range All(Setting{Java: &javalib.Program{}, Etcd: t}) {
		assert.NotEmpty(t, s.Goals, s.ID)
		alone := !slices.ContainsFunc(s.Contenders, func(name string) bool {
			return !contender.IsOurs(name) && !contender.Floor(name)
		})
		assert.True(t, alone || slices.ContainsFunc(s.Goals, func(g Goal) bool {
			return g.Figure == s.Columns[0].Figure && contender.IsOurs(g.Of)
		}), "%s: no goal for %s", s.ID, s.Columns[0].Head)
	}
}
