package scaffold_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"
)

// seconds returns what a constant of a source says, in seconds.
func seconds(t *testing.T, source []byte, name string) int {
	t.Helper()

	found := regexp.MustCompile(`\b` + name + `\s*(?:=|:) *(\d+) \* time.Second`).FindSubmatch(source)
	if found == nil {
		t.Fatalf("there is no %s", name)
	}

	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}

	return n
}

// TestShutdown checks that a pod has more time to end than a reconcile may take after the signal: a kill in between
// loses the record of a creation.
func TestShutdown(t *testing.T) {
	pass := 0

	for _, of := range []struct{ file, constant string }{
		{"pkg/reconciler/managed/timeout.go", "createLinger"},
		{"pkg/reconciler/managed/store.go", "resultTimeout"},
		{"pkg/reconciler/managed/store.go", "statusTimeout"},
		{"pkg/changelog/queue.go", "defaultDrainTimeout"},
	} {
		source, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(of.file)))
		if err != nil {
			t.Fatal(err)
		}

		pass += seconds(t, source, of.constant)
	}

	shutdown := seconds(t, made(t, "internal/provider/provider.go"), "shutdown")
	if shutdown < pass {
		t.Errorf("the manager waits for %d s, and a pass and its sinks may take %d s", shutdown, pass)
	}

	// One request that hangs, to release the lease, may take half of RenewDeadline.
	lease := seconds(t, made(t, "internal/provider/election.go"), "RenewDeadline") / 2

	type pod struct{ TerminationGracePeriodSeconds int }

	var (
		chart struct{ Manager pod }
		base  struct {
			Spec struct{ Template struct{ Spec pod } }
		}
	)

	for file, into := range map[string]any{"deploy/chart/values.yaml": &chart, "deploy/base/deployment.yaml": &base} {
		if err := yaml.Unmarshal(made(t, file), into); err != nil {
			t.Fatal(err)
		}
	}

	if got := chart.Manager; got.TerminationGracePeriodSeconds <= shutdown+lease || base.Spec.Template.Spec != got {
		t.Errorf("a pod has %d s by the chart and %d s by the base, and the provider may take %d s",
			got.TerminationGracePeriodSeconds, base.Spec.Template.Spec.TerminationGracePeriodSeconds, shutdown+lease)
	}
}
