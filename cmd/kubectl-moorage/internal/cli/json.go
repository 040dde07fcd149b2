package cli

import "encoding/json"

// writeJSON writes a value for programs.
func (c *console) writeJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")

	return enc.Encode(v)
}
