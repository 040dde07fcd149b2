package apart

import (
	"os"
	"testing"
)

// TestBoth adds a line to the file that the variable names.
func TestBoth(t *testing.T) {
	if name := os.Getenv("APART_RAN"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("ran\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := Decide(true, true); got != "forget" {
		t.Errorf("gone and paused: got %s", got)
	}
}
