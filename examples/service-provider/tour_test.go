package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nkeys"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// Once, before any of the managers' goroutines can read the loggers.
func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// newBusyTour has patience with steps that hold: several tours with servers of their own
// are made at the same time.
func newBusyTour(out io.Writer) *tour {
	t := newTour(out)
	t.patience = 5 * time.Minute

	return t
}

// TestTour: every step holds.
func TestTour(t *testing.T) {
	var out bytes.Buffer
	if code := exit(&out, newBusyTour(&out).run(t.Context())); code != 0 || !strings.HasSuffix(out.String(), "Every step held.\n") {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
}

// sabotages take away what a step needs, or spoil what it claims. Each step has one,
// beside which all others are healthy.
var sabotages = []struct {
	step int
	what string
	do   func(ctx context.Context, t *tour) error
	from func(t *tour) // done at the start
}{
	{step: 1, what: "no provider", do: stopped},
	{step: 2, what: "no provider", do: stopped},
	{step: 2, what: "nobody tells of the configuration", from: func(t *tour) {
		t.configs = func(platform *clusters.Cluster) configSource { return silent{named(platform)} }
	}},
	{step: 3, what: "no provider", do: stopped},
	{step: 4, what: "nobody denies it", do: stopped},
	{step: 4, what: "it is delivered all the same", do: func(ctx context.Context, t *tour) error {
		return t.mcp.Create(ctx, delivered(account("blue")))
	}},
	{step: 5, what: "nobody says why it waits", do: stopped},
	{step: 5, what: "it goes all the same", do: func(ctx context.Context, t *tour) error {
		return errors.Join(stopped(ctx, t), merge(ctx, t.onboarding, account("red"), `{"metadata":{"finalizers":null}}`))
	}},
	{step: 6, what: "no provider", do: stopped},
	{step: 7, what: "no provider", do: stopped},
	{step: 7, what: "there is no account to begin with", do: func(_ context.Context, t *tour) error {
		t.denied.Store(request("green").Namespace, true)

		return nil
	}},
}

// A silent source has the configuration, and does not tell of changes.
type silent struct{ configSource }

func (silent) Source(func(context.Context, *Messaging) []reconcile.Request) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

func stopped(_ context.Context, t *tour) error {
	t.stop()

	return nil
}

// TestTourNotices takes one of these at a time: the tour must end at that step, and the
// program with an exit code that says so.
func TestTourNotices(t *testing.T) {
	sabotaged := map[int]bool{}
	for _, s := range sabotages {
		sabotaged[s.step] = true
		t.Run(fmt.Sprintf("Step%d/%s", s.step, s.what), func(t *testing.T) {
			t.Parallel() // each has clusters of its own, and waits most of the time
			tour := newBusyTour(&bytes.Buffer{})
			if s.from != nil {
				s.from(tour)
			}
			tour.before = func(i int) {
				if i+1 != s.step {
					return
				}
				tour.patience = 3 * time.Second // healthy steps may take longer
				if s.do == nil {
					return
				}
				if err := s.do(t.Context(), tour); err != nil {
					t.Fatal(err)
				}
			}
			said := &bytes.Buffer{}
			code := exit(said, tour.run(t.Context()))
			if want := fmt.Sprintf("service-provider: step %d did not hold", s.step); code == 0 || !strings.HasPrefix(said.String(), want) {
				t.Errorf("exit code %d, said %q, want %q", code, said, want)
			}
		})
	}
	if all := len(newTour(&bytes.Buffer{}).steps()); len(sabotaged) != all {
		t.Errorf("%d of %d steps are sabotaged", len(sabotaged), all)
	}
}

// TestRefused: the step that says that credentials are of no use any more can tell.
func TestRefused(t *testing.T) {
	h, err := newHub()
	if err != nil {
		t.Fatal(err)
	}
	defer h.stop()
	keys, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	public, err := keys.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.offer(public, 5); err != nil {
		t.Fatal(err)
	}
	tour := newTour(&bytes.Buffer{})
	tour.hub = h
	if tour.last, err = credentials(keys); err != nil {
		t.Fatal(err)
	}
	if tour.refused() == nil {
		t.Error("the account is there, and it says that it is gone")
	}
	if err := h.remove(public); err != nil {
		t.Fatal(err)
	}
	if err := tour.refused(); err != nil {
		t.Error(err)
	}
}
