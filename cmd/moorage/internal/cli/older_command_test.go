package cli_test

import (
	"strings"
	"testing"
)

// commandFolder has the files of a provider with a ProviderConfig that the next version of the templates changed: it
// added the command plan, its role and its Job.
const commandFolder = "testdata/older-command"

// TestUpgradeToTheCommand upgrades a provider of the templates without the command plan: it gets the command, and its
// author's edits stay. If the author has parsed the command line in another way, the change is reported.
func TestUpgradeToTheCommand(t *testing.T) {
	const (
		main, values = "cmd/provider/main.go", "deploy/chart/values.yaml"
		connect      = "\to.Connect.AddFlags(flags)\n"
		parse        = "\tflag.Parse() // --kubeconfig is a flag of controller-runtime\n"
	)

	cases := map[string]struct {
		reason, file string
		edits        map[string]string
		clash        bool
	}{
		"AsMade": {"Nobody changed anything.", main, nil, false},
		"Flag": {"The author's flag stays.", main, map[string]string{connect: connect +
			"\tflags.BoolVar(&strict, \"strict\", false, \"refuse unknown fields\")\n"}, false},
		"Values": {"The author's value stays.", values, map[string]string{"  replicas: 2\n": "  replicas: 3\n"}, false},
		"Command": {"The author has commands.", main,
			map[string]string{parse: "\tflag.CommandLine.Parse(command())\n"}, true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := old(t, commandFolder, tc.file, tc.edits)

			code, output := diffs(t, dir, apply()...)
			if (code == 1) != tc.clash || strings.Contains(output, "\nconflict  ") != tc.clash {
				t.Errorf("%s\nexit code %d:\n%s", tc.reason, code, output)
			}

			want, got := fresh(t, dir), found(t, dir)
			if tc.clash {
				want[tc.file] = got[tc.file]
			} else {
				want[tc.file] = edited(t, want[tc.file], tc.edits)
			}

			compare(t, tc.reason, without(want), without(got))

			for _, file := range []string{"internal/provider/plan.go", "internal/planrole/main.go", "deploy/plan/job.yaml"} {
				if got[file] == "" {
					t.Errorf("there is no %s", file)
				}
			}
		})
	}
}
