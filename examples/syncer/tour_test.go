package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	poll "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/examples/tour/tourtest"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// newBusyTour returns a tour whose steps have more time: several tours run at the same time, each with its own servers.
func newBusyTour(out io.Writer) *walk {
	t := newTour(out)
	t.once, t.patience = true, wait.Patience()

	return t
}

// asDemo is the environment variable that makes this test binary run the demo.
const asDemo = "DEMO"

func start(t *testing.T) *tourtest.Demo {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asDemo+"=1")

	return tourtest.Start(t, cmd)
}

// TestTour: every step holds, the printed commands work, and Ctrl-C leaves nothing.
func TestTour(t *testing.T) {
	start(t).Whole(14)
}

// TestInterrupted: Ctrl-C ends the demo at any time.
func TestInterrupted(t *testing.T) {
	for _, said := range []string{"Starting two API servers", " 2/14"} {
		t.Run(said, func(t *testing.T) {
			t.Parallel() // each has its own clusters, and waits for them most of the time
			start(t).InterruptedAt(said)
		})
	}
}

// sabotages make a step fail. Each step has one, and all other steps hold with it.
var sabotages = []struct {
	step int
	what string
	do   func(ctx context.Context, t *walk) error
}{
	{1, "the host does not have the kind", func(ctx context.Context, t *walk) error {
		if err := t.host.Delete(ctx, definition(shipmentKind, "shipments")); err != nil {
			return client.IgnoreNotFound(err)
		}

		return poll.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			err := t.host.Get(ctx, client.ObjectKeyFromObject(definition(shipmentKind, "shipments")),
				definition(shipmentKind, "shipments"))

			return kerrors.IsNotFound(err), client.IgnoreNotFound(err) // it exists until its instances are gone
		})
	}},
	{2, "no syncer", stopped},
	{3, "no syncer", stopped},
	{3, "the name is the host's",
		func(ctx context.Context, t *walk) error { return t.host.Create(ctx, t.image(longName, "far")) }},
	{4, "no syncer", stopped},
	{5, "no syncer", stopped},
	{6, "no syncer", stopped},
	{6, "somebody has marked the depot", func(ctx context.Context, t *walk) error {
		return t.host.Patch(ctx, depotOnHost(""), merge(`{"metadata":{"labels":{%q:"blue"}}}`, markerLabel))
	}},
	{7, "nobody tells the tenant", stopped},
	{7, "the foreign shipment is overwritten", func(ctx context.Context, t *walk) error {
		return t.host.Patch(ctx, t.image("stolen", ""), merge(`{"spec":{"route":"to Dover"}}`))
	}},
	{8, "no syncer", stopped},
	{9, "no syncer", stopped},
	{10, "no syncer", stopped},
	{11, "no syncer", stopped},
	{12, "no syncer", stopped},
	{13, "no syncer", stopped},
	{13, "the host has lost a shipment", func(ctx context.Context, t *walk) error {
		return errors.Join(t.stopSyncers(), t.host.Delete(ctx, t.image("parcel", "")))
	}},
	{14, "no syncer", stopped},
	{14, "what was not its own is gone", func(ctx context.Context, t *walk) error {
		return t.host.Delete(ctx, newObject(shipmentKind, target, "internal", ""))
	}},
}

func stopped(_ context.Context, t *walk) error { return t.stopSyncers() }

// TestTourNotices runs the tour with each sabotage: it must end at that step, with an exit code other than 0.
func TestTourNotices(t *testing.T) {
	sabotaged := map[int]bool{}
	for _, s := range sabotages {
		sabotaged[s.step] = true
		t.Run(fmt.Sprintf("Step%d/%s", s.step, s.what), func(t *testing.T) {
			t.Parallel() // each has its own clusters, and waits most of the time
			tour := newBusyTour(&bytes.Buffer{})
			tour.before = func(i int) {
				if i+1 != s.step {
					return
				}
				tour.patience = 2 * time.Second // healthy steps may take longer
				if err := s.do(t.Context(), tour); err != nil {
					t.Fatal(err)
				}
			}
			said := &bytes.Buffer{}
			code := exit(said, tour.run(t.Context()))
			if want := fmt.Sprintf("syncer: step %d did not hold", s.step); code == 0 ||
				!strings.HasPrefix(said.String(), want) {
				t.Errorf("exit code %d, said %q, want %q", code, said, want)
			}
		})
	}
	if all := len(newTour(&bytes.Buffer{}).steps()); len(sabotaged) != all {
		t.Errorf("%d of %d steps are sabotaged", len(sabotaged), all)
	}
}

// TestMain sets the logger once, before any of the processes' goroutines can read the loggers.
func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if os.Getenv(asDemo) != "" {
		os.Exit(demo(newBusyTour(os.Stdout)))
	}
	os.Exit(m.Run())
}
