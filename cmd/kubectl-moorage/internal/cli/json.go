package cli

import (
	"encoding/json"
	"fmt"
)

// writeJSON writes a value for programs.
func (c *console) writeJSON(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")

	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("cannot write the output: %w", err)
	}

	return nil
}
