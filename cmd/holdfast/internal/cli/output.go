package cli

import (
	"encoding/json"
	"io"
	"time"
)

// The formats of results.
const (
	text   = "text"
	asJSON = "json"
)

// nextWord is the time between two lines that say the same: a log that is read later should not be full of them.
const nextWord = 30 * time.Second

// print writes a result: as indented JSON, or by the function that writes it as text.
func (g *globals) print(to io.Writer, result any, asText func(to io.Writer) error) error {
	if g.output != asJSON {
		return asText(to)
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

// writeLine writes a result as one line of JSON.
func writeLine(to io.Writer, result any) error { return json.NewEncoder(to).Encode(result) }
