// Package plugin has golangci-lint run holdfastvet, as a linter of its module plugin system:
//
//	# .custom-gcl.yml
//	version: v2.5.0
//	plugins:
//	  - module: github.com/holdfast-go/holdfast/holdfastvet
//	    import: github.com/holdfast-go/holdfast/holdfastvet/plugin
//	    version: latest
//
//	# .golangci.yml
//	version: "2"
//	linters:
//	  enable: [holdfast]
//	  settings:
//	    custom:
//	      holdfast:
//	        type: module
//	        settings: {tests: false}
package plugin

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/holdfast-go/holdfast/holdfastvet"
)

func init() { register.Plugin("holdfast", open) }

// settings are what .golangci.yml can say.
type settings struct {
	Tests bool `json:"tests"` // look for everything in tests too
}

func open(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
	}
	return linter{s}, nil
}

type linter struct{ settings }

// BuildAnalyzers implements [register.LinterPlugin].
func (l linter) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	err := holdfastvet.Analyzer.Flags.Set("tests", fmt.Sprint(l.Tests))
	return []*analysis.Analyzer{holdfastvet.Analyzer}, err
}

// GetLoadMode implements [register.LinterPlugin].
func (linter) GetLoadMode() string { return register.LoadModeTypesInfo }
