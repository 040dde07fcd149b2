package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nkeys"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	poll "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/examples/tour/tourtest"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestMain sets the logger once, before any of the managers' goroutines can read the loggers.
func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if os.Getenv(asDemo) != "" {
		os.Exit(demo(newBusyTour(os.Stdout)))
	}
	os.Exit(m.Run())
}

// newBusyTour has patience with steps that hold: several tours with servers of their own
// are made at the same time.
func newBusyTour(out io.Writer) *walk {
	t := newTour(out)
	t.once, t.patience = true, wait.Patience()

	return t
}

// asDemo makes this test binary the demo.
const asDemo = "DEMO"

func start(t *testing.T) *tourtest.Demo {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asDemo+"=1")

	return tourtest.Start(t, cmd)
}

// TestTour: every step holds, what a person is told to type works, and Ctrl-C leaves nothing.
func TestTour(t *testing.T) {
	start(t).Whole(17)
}

// TestInterrupted: a person may end it at any time.
func TestInterrupted(t *testing.T) {
	for _, said := range []string{"Starting four API servers", " 2/17"} {
		t.Run(said, func(t *testing.T) {
			t.Parallel() // each has clusters of its own, and waits for them most of the time
			start(t).InterruptedAt(said)
		})
	}
}

// A sabotage takes away what a step needs, or spoils what it claims.
type sabotage struct {
	step     int
	what     string
	do       func(ctx context.Context, t *walk) error
	from     func(t *walk) // done at the start
	says     error         // what is said of it, if there is more than one reason not to hold
	patience time.Duration // three seconds, unless a healthy step may take longer
}

// Each step has one, beside which all others are healthy.
var sabotages = []sabotage{
	{step: 1, what: "no provider", do: stopped},
	{step: 2, what: "there is no gateway", do: func(ctx context.Context, t *walk) error {
		return errors.Join(stopped(ctx, t), t.workload.Delete(ctx, gateway(account("red"))))
	}},
	{step: 3, what: "no provider", do: stopped},
	untold(),
	{step: 4, what: "no provider", do: stopped},
	{step: 5, what: "no provider", do: stopped},
	{step: 6, what: "no provider", do: stopped},
	{step: 7, what: "no provider", do: stopped},
	{step: 8, what: "the old access is not ended", do: lingering, says: errOfUse, patience: 20 * time.Second},
	{step: 9, what: "no provider", do: stopped},
	{step: 10, what: "something is made anew", from: func(t *walk) {
		t.down = func(ctx context.Context) error { return t.workload.Delete(ctx, gateway(account("red"))) }
	}, patience: wait.Patience()}, // it is not to end before
	{step: 11, what: "nobody denies it", do: stopped},
	{step: 11, what: "it is delivered all the same", do: func(ctx context.Context, t *walk) error {
		return t.mcp.Create(ctx, delivered(account("blue")))
	}},
	{step: 12, what: "nobody says why it waits", do: stopped},
	{step: 12, what: "it goes all the same", do: func(ctx context.Context, t *walk) error {
		return errors.Join(stopped(ctx, t), merge(ctx, t.onboarding, account("red"), `{"metadata":{"finalizers":null}}`))
	}},
	{step: 13, what: "no provider", do: stopped},
	{step: 14, what: "there is no account", do: func(_ context.Context, t *walk) error {
		t.denied.Store(request("green").Namespace, true)

		return nil
	}},
	{step: 15, what: "something else holds it", do: func(ctx context.Context, t *walk) error {
		return t.onboarding.Patch(ctx, account("green"), client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"example.org/held"}]`)))
	}},
	// A healthy one would be over forty-one seconds after it was made: an API server remembers it for ten.
	{step: 16, what: "access does not end", from: func(t *walk) { t.short = time.Hour }, says: errOfUse, patience: 45 * time.Second},
	{step: 17, what: "no provider", do: stopped},
}

// untold lets nobody tell of the configuration. It changes when nobody is about to look
// for other reasons.
func untold() sabotage {
	s := &silent{}

	return sabotage{
		step: 3, what: "nobody tells of the configuration",
		from: func(t *walk) {
			t.configs = func(platform *clusters.Cluster) configSource {
				s.configSource = named(platform)

				return s
			}
		},
		do: func(ctx context.Context, _ *walk) error {
			seen, quiet := s.looks.Load(), 0

			return poll.PollUntilContextTimeout(ctx, 50*time.Millisecond, wait.Patience(), true, func(context.Context) (bool, error) {
				if now := s.looks.Load(); now != seen {
					seen, quiet = now, 0
				}
				quiet++ // and not by the time: while the machine stands still nobody looks, and everybody does afterwards

				return quiet > 60, nil // three seconds
			})
		},
	}
}

// A silent source has the configuration, and does not tell of changes. It counts how often
// somebody looks for those whose access does not end: the others do so now and then.
type silent struct {
	configSource

	looks atomic.Int32
}

func (s *silent) ConfigFor(ctx context.Context, a *Account) (*Messaging, error) {
	if a.Name != "amber" {
		s.looks.Add(1)
	}

	return s.configSource.ConfigFor(ctx, a)
}

func (*silent) Source(func(context.Context, *Messaging) []reconcile.Request) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

func stopped(_ context.Context, t *walk) error {
	return t.halt()
}

// lingering lets a finalizer keep what tokens are bound to: an API server takes them for a
// minute more.
func lingering(ctx context.Context, t *walk) error {
	list := &corev1.SecretList{}
	if err := t.mcp.List(ctx, list, client.InNamespace("granted-access")); err != nil {
		return err
	}
	for i := range list.Items {
		if err := merge(ctx, t.mcp, &list.Items[i], `{"metadata":{"finalizers":["example.org/held"]}}`); err != nil {
			return err
		}
	}
	if len(list.Items) == 0 {
		return errors.New("there are no tokens")
	}

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
				tour.patience = cmp.Or(s.patience, 3*time.Second) // those before may take longer
				if s.do == nil {
					return
				}
				if err := s.do(t.Context(), tour); err != nil {
					t.Fatal(err)
				}
			}
			said := &bytes.Buffer{}
			err := tour.run(t.Context())
			code := exit(said, err)
			if want := fmt.Sprintf("service-provider: step %d did not hold", s.step); code == 0 || !strings.HasPrefix(said.String(), want) {
				t.Errorf("exit code %d, said %q, want %q", code, said, want)
			}
			if s.says != nil && !errors.Is(err, s.says) {
				t.Errorf("said %q, want %q", err, s.says)
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
	if refused(tour) == nil {
		t.Error("the account is there, and it says that it is gone")
	}
	if err := h.remove(public); err != nil {
		t.Fatal(err)
	}
	if err := refused(tour); err != nil {
		t.Error(err)
	}
}

func refused(t *walk) error {
	_, err := t.refused(context.Background())

	return err
}
