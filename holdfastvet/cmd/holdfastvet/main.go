// Command holdfastvet finds misuse of holdfast locks that compiles. It runs by itself and as a tool of go vet:
//
//	go install github.com/holdfast-go/holdfast/holdfastvet/cmd/holdfastvet@latest
//	holdfastvet ./...
//	go vet -vettool=$(which holdfastvet) ./...
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/holdfast-go/holdfast/holdfastvet"
)

func main() { multichecker.Main(holdfastvet.Analyzer) }
