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
	start(t).Whole(17)
}

// TestInterrupted: Ctrl-C ends the demo at any time.
func TestInterrupted(t *testing.T) {
	for _, said := range []string{"Starting four API servers", " 2/17"} {
		t.Run(said, func(t *testing.T) {
			t.Parallel() // each has its own clusters, and waits for them most of the time
			start(t).InterruptedAt(said)
		})
	}
}

// A sabotage makes a step fail.
type sabotage struct {
	step     int
	what     string
	do       func(ctx context.Context, t *walk) error
	from     func(t *walk) // called at the start
	says     error         // the expected error, if the step may fail for several reasons
	patience time.Duration // three seconds, unless a healthy step may take longer
}

// Each step has one. All other steps hold with it.
var sabotages = []sabotage{
	{step: 1, what: "no provider", do: stopped},
	{step: 2, what: "there is no gateway", do: func(ctx context.Context, t *walk) error {
		return errors.Join(stopped(ctx, t), t.workload.Delete(ctx, gateway(account("red"))))
	}},
	{step: 3, what: "no provider", do: stopped},
	unnotified(),
	{step: 4, what: "no provider", do: stopped},
	{step: 5, what: "no provider", do: stopped},
	{step: 6, what: "no provider", do: stopped},
	{step: 7, what: "no provider", do: stopped},
	{step: 8, what: "the old access is not ended", do: lingering, says: errOfUse, patience: 20 * time.Second},
	{step: 9, what: "no provider", do: stopped},
	{step: 10, what: "something is made anew", from: func(t *walk) {
		t.down = func(ctx context.Context) error { return t.workload.Delete(ctx, gateway(account("red"))) }
	}, patience: wait.Patience()}, // the step must not time out before that
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
		patch := []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"example.org/held"}]`)

		return t.onboarding.Patch(ctx, account("green"), client.RawPatch(types.JSONPatchType, patch))
	}},
	// A healthy one ends at most 41 seconds after it was created: an API server caches an accepted token for ten.
	{step: 16, what: "access does not end", from: func(t *walk) { t.short = time.Hour }, says: errOfUse,
		patience: 45 * time.Second},
	{step: 17, what: "no provider", do: stopped},
}

// unnotified returns a sabotage in which no event reports a change of the configuration. The configuration changes at a
// time when no pass is due for other reasons.
func unnotified() sabotage {
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
			seen, quiet := s.passes.Load(), 0

			return poll.PollUntilContextTimeout(ctx, 50*time.Millisecond, wait.Patience(), true,
				func(context.Context) (bool, error) {
					if now := s.passes.Load(); now != seen {
						seen, quiet = now, 0
					}
					quiet++ // polls, not seconds: no pass runs while the machine stalls, and all do afterwards

					return quiet > 60, nil // three seconds
				})
		},
	}
}

// A silent source has the configuration, but reports no changes. It counts the passes over accounts whose access does
// not expire: amber is reconciled for each renewal.
type silent struct {
	configSource

	passes atomic.Int32
}

func (s *silent) ConfigFor(ctx context.Context, a *Account) (*Messaging, error) {
	if a.Name != "amber" {
		s.passes.Add(1)
	}

	return s.configSource.ConfigFor(ctx, a)
}

func (*silent) Source(
	func(context.Context, *Messaging) []reconcile.Request,
) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

func stopped(_ context.Context, t *walk) error {
	return t.halt()
}

// lingering adds a finalizer to the Secrets that tokens are bound to: the API server accepts the tokens for another
// minute.
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

// TestTourNotices runs the tour with each sabotage: it must end at that step, with an exit code other than 0.
func TestTourNotices(t *testing.T) {
	sabotaged := map[int]bool{}
	for _, s := range sabotages {
		sabotaged[s.step] = true
		t.Run(fmt.Sprintf("Step%d/%s", s.step, s.what), func(t *testing.T) {
			t.Parallel() // each has its own clusters, and waits most of the time
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
			want := fmt.Sprintf("service-provider: step %d did not hold", s.step)
			if code == 0 || !strings.HasPrefix(said.String(), want) {
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

// TestRefused: the check refused fails while the credentials are accepted, and passes after the account is removed.
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
