package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"moorage": func() { os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// TestScripts plays the stories below testdata/script, one for each command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			// A path on which there is moorage and nothing else.
			e.Setenv("ALONE", filepath.SplitList(e.Getenv("PATH"))[0])

			// What is compiled is compiled once, and not for each story.
			for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
				folder, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}

				e.Setenv(name, strings.TrimSpace(string(folder)))
			}

			return nil
		},
	})
}
