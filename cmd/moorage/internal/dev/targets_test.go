//go:build !race

// As with chart_test.go, what runs here are other programs.

package dev

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/wait"
)

// withoutMoorage sets the environment of a user without moorage: kubectl alone, and no variable but the address of the
// fake, which differs per test run.
func withoutMoorage(t *testing.T, fake string) {
	t.Helper()

	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}

	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("API_URL", "http://"+fake)

	for _, name := range []string{"API_TOKEN", "KUBECONFIG", "MAKEFLAGS", "MAKELEVEL"} {
		t.Setenv(name, "") // restores it after the test
		_ = os.Unsetenv(name)
	}
}

// TestTerminals does what the README of a provider says to do without moorage: three targets, each in a terminal, and
// one more for the examples.
func TestTerminals(t *testing.T) {
	wait.Allow(t, compiling)

	said := &record{}
	s := &session{Options: Options{Dir: provider(t), Out: said, Fake: freeAddress(t)}}
	s.kubeconfig = filepath.Join(s.Dir, "cluster", "kubeconfig")

	withoutMoorage(t, s.Fake)

	for _, command := range [][]string{{"make", "generate", "build"}, {"bin/provider-cloud", "--help"}} {
		if err := s.run(t.Context(), command[0], command[1:]...); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}

	said.until(t, "-kubeconfig string", 1)

	readme, err := os.ReadFile(filepath.Join(s.Dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}

	terminals := map[string]func() error{
		"cluster": func() (err error) {
			if s.cluster, err = open(s.kubeconfig); err != nil {
				return err
			}

			return s.cluster.call(t.Context(), http.MethodGet, "/readyz", nil, nil)
		},
		"fake": func() error {
			conn, err := net.Dial("tcp", s.Fake)
			if err != nil {
				return err
			}

			return conn.Close()
		},
		"run": func() error {
			return s.cluster.call(t.Context(), http.MethodGet, "/apis/"+cloud+"/v1alpha1/buckets", nil, nil)
		},
	}

	var typed []string

	for _, line := range regexp.MustCompile(`(?m)^    make (\w+)$`).FindAllStringSubmatch(string(readme), -1) {
		target := line[1]
		typed = append(typed, target)

		runs := terminals[target]
		if runs == nil {
			if err := s.run(t.Context(), "make", target); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}

			continue
		}

		c, err := start(s.Out, s.Dir, target, nil, "make", target)
		if err != nil {
			t.Fatal(err)
		}
		defer c.stop()

		if err := c.awaits(t.Context(), wait.Budget(t), runs); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, said)
		}
	}

	if want := []string{"cluster", "fake", "run", "sample"}; !slices.Equal(typed, want) {
		t.Fatalf("the README says to make %q, want %q", typed, want)
	}

	awaitReady(t, s, newBucket(cloud, "default", "example"))
}

// awaitReady waits until an object is Ready.
func awaitReady(t *testing.T, s *session, o object) {
	t.Helper()

	wait.Until(t, fmt.Sprintf("the %s %s is ready", o.Kind, o.Metadata.Name),
		func() bool { return s.cluster.ready(t.Context(), o) == nil })
}
