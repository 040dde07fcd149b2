package tour

import (
	"os"
	"path/filepath"
	"testing"
)

// TestACommandThatGotCtrlCRunsAgain: Ctrl-C may end a command before the command is in its own process group. The demo
// gets the signal, too, and must not report the command as failed.
func TestACommandThatGotCtrlCRunsAgain(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\n[ -e " + dir + "/again ] && { echo applied; exit 0; }\ntouch " + dir + "/again\nkill -INT $$\n"
	binary := filepath.Join(dir, "edge")
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	tour := newBusyTour(os.Stdout, binary)
	got, err := tour.edge(t.Context(), "", "apply")
	if err != nil || got != "applied\n" {
		t.Errorf("it printed %q and failed with: %v", got, err)
	}
}
