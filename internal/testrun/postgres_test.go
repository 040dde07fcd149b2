package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program writes a script into the folder dir.
func program(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	// Only a program has this mode.
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestPostgres checks where the programs are looked for, and that a folder without a server is none.
func TestPostgres(t *testing.T) {
	cases := map[string]struct {
		reason string
		has    []string // programs, as folder/name
		config string   // the folder that pg_config prints
		named  string   // the folder that PG_BINDIR names
		want   string
	}{
		"Nothing": {reason: "A machine without PostgreSQL has none."},
		"Client": {reason: "pg_config of the client's library names a folder without a server.",
			has: []string{"bin/pg_config"}, config: "15/bin"},
		"Debian": {reason: "A package of Debian is not in the PATH.", has: []string{"15/bin/initdb"}, want: "15/bin"},
		"ClientAndDebian": {reason: "The client's library does not hide another server.",
			has: []string{"16/bin/initdb"}, config: "15/bin", want: "16/bin"},
		"Config": {reason: "pg_config comes before Debian's folders.", has: []string{"14/bin/initdb", "own/initdb"},
			config: "own", want: "own"},
		"Path": {reason: "A server in the PATH counts.", has: []string{"bin/postgres", "bin/initdb"}, want: "bin"},
		"Link": {reason: "A link to initdb alone is no server.", has: []string{"bin/initdb"}},
		"Named": {reason: "The variable comes first.", has: []string{"15/bin/initdb", "own/initdb"}, named: "own",
			want: "own"},
		"NamedWrongly": {reason: "A folder without a server is none, also if it is named.",
			has: []string{"15/bin/initdb"}, named: "own", want: "15/bin"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, p := range tc.has {
				program(t, filepath.Join(dir, filepath.Dir(p)), filepath.Base(p), "exit 0")
			}
			config := "exit 1"
			if tc.config != "" {
				config = "echo " + filepath.Join(dir, tc.config)
			}
			program(t, filepath.Join(dir, "bin"), "pg_config", config)
			t.Setenv("PATH", filepath.Join(dir, "bin"))
			t.Setenv(postgresFolder, "")
			if tc.named != "" {
				t.Setenv(postgresFolder, filepath.Join(dir, tc.named))
			}
			got, err := postgres(filepath.Join(dir, "*", "bin"))
			want := ""
			if tc.want != "" {
				want = filepath.Join(dir, tc.want)
			}
			if got != want || errors.Is(err, errNoPostgres) != (want == "") {
				t.Errorf("%s\ngot %q, %v; want %q", tc.reason, got, err, want)
			}
		})
	}
}

// TestNeedPostgres checks that a run without PostgreSQL says so, that it fails with CI set, and that the tests get the
// folder if there is one.
func TestNeedPostgres(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	t.Setenv(postgresFolder, "")
	t.Setenv("CI", "")
	both := []string{".", ofPostgres}
	if env, notRun, err := needPostgres(both, empty); len(env) > 0 || err != nil ||
		!strings.HasPrefix(notRun, "NOT RUN: the tests of examples/provider-postgres") ||
		!strings.HasSuffix(notRun, "apt-get install -y postgresql\n") {
		t.Errorf("without PostgreSQL: %v, %q, %v", env, notRun, err)
	}
	t.Setenv("CI", "true")
	if _, _, err := needPostgres(both, empty); !errors.Is(err, errNoPostgres) {
		t.Errorf("without PostgreSQL, and with CI set: %v", err)
	}
	if env, notRun, err := needPostgres([]string{"."}, empty); len(env) > 0 || notRun != "" || err != nil {
		t.Errorf("another module: %v, %q, %v", env, notRun, err)
	}
	server := filepath.Join(empty, "15", "bin")
	program(t, server, "initdb", "exit 0")
	env, notRun, err := needPostgres(both, server)
	if diff := cmp.Diff([]string{"PG_BINDIR=" + server}, env); diff != "" || notRun != "" || err != nil {
		t.Errorf("with PostgreSQL: %q, %v, -want, +got:\n%s", notRun, err, diff)
	}
}

// TestInstallPostgres runs the script that .ci/run installs PostgreSQL with. The package manager is not the real one.
func TestInstallPostgres(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, ".ci", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		there  bool   // before
		apt    string // the package manager; "": there is none
		fails  bool
		want   []string // the commands of the package manager
		says   string
	}{
		"There": {reason: "Nothing is installed twice.", there: true, apt: "exit 0", says: "/the/folder"},
		"Missed": {reason: "A missing server is installed.", apt: `[ $1 = update ] || : >"$STATE/there"`,
			want: []string{"update -q", "install -y -q --no-install-recommends postgresql"}, says: "/the/folder"},
		"NoManager": {reason: "Elsewhere the script cannot help.", fails: true, says: "there is no apt-get"},
		"Offline": {reason: "A package manager that fails ends the script.", apt: "exit 100", fails: true,
			want: []string{"update -q"}},
		"Useless": {reason: "A package without a server is an error.", apt: "exit 0", fails: true,
			want: []string{"update -q", "install -y -q --no-install-recommends postgresql"},
			says: "missing although it was installed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			path := filepath.Join(state, "bin")
			program(t, path, "go", `[ -e "$STATE/there" ] && echo /the/folder`)
			program(t, path, "id", "echo 1000")
			program(t, path, "sudo", `[ $1 = -n ] && shift && exec "$@"`)
			for _, tool := range []string{"bash", "dirname", "env"} {
				from, err := exec.LookPath(tool)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(from, filepath.Join(path, tool)); err != nil {
					t.Fatal(err)
				}
			}
			if tc.apt != "" {
				program(t, path, "apt-get", `echo "$*" >>"$STATE/ran"; `+tc.apt)
			}
			if tc.there {
				program(t, state, "there", "")
			}
			run := exec.CommandContext(t.Context(), script)
			run.Env = []string{"PATH=" + path, "STATE=" + state}
			out, err := run.CombinedOutput()
			if (err != nil) != tc.fails || !strings.Contains(string(out), tc.says) {
				t.Errorf("%s\n%v, output: %s", tc.reason, err, out)
			}
			ran, _ := os.ReadFile(filepath.Join(state, "ran"))
			if diff := cmp.Diff(strings.Join(tc.want, "\n"), strings.TrimSpace(string(ran))); diff != "" {
				t.Errorf("%s\napt-get: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
