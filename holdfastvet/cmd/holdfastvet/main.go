// Command holdfastvet finds misuse of holdfast locks that compiles. It runs by itself and as a tool of go vet:
//
//	go install ./holdfastvet/cmd/holdfastvet # in a checkout of github.com/holdfast-go/holdfast
//	holdfastvet ./...
//	go vet -vettool=$(which holdfastvet) ./...
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/holdfast-go/holdfast/holdfastvet"
)

func main() { multichecker.Main(holdfastvet.Analyzer) }
