package managed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// stages are the stages of failures, how to reach them, and their reports.
var stages = map[string]struct {
	prefix, reason string
	arrange        func(*world)
	ready          string
}{
	"Connect": {"connect failed: ", "CannotConnectToProvider", nil, "Unknown/"},
	"Observe": {"observe failed: ", "CannotObserveExternalResource", nil, "Unknown/"},
	"Create":  {"create failed: ", "CannotCreateExternalResource", nil, "False/Creating"},
	"Update": {"update failed: ", "CannotUpdateExternalResource", func(w *world) {
		w.pass()
		w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	}, "True/Available"},
	"Delete": {"delete failed: ", "CannotDeleteExternalResource", func(w *world) {
		w.pass()
		w.delete()
	}, "False/Deleting"},
}

func TestFailuresAreReportedOnceAndShown(t *testing.T) {
	boom := external.NotCreated(errors.New("boom"))
	for call, stage := range stages {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			if stage.arrange != nil {
				stage.arrange(w)
			}
			w.taken()
			w.cloud.Before = failing(call, boom)
			for range 3 {
				if _, err := w.try(); !errors.Is(err, boom) || err.Error() != stage.prefix+"boom" {
					t.Errorf("error %v", err)
				}
			}
			_, _, events := w.taken()
			if want := "Warning/" + stage.reason; events != want {
				t.Errorf("events %q, want %q", events, want)
			}
			if c := w.get().GetCondition("Synced"); c.Reason != "ReconcileError" ||
				c.Message != stage.prefix+"boom" || c.ObservedGeneration == 0 {
				t.Errorf("condition %+v", c)
			}
			if c := w.get().GetCondition("Ready"); fmt.Sprintf("%s/%s", c.Status, c.Reason) != stage.ready {
				t.Errorf("ready %+v, want %s", c, stage.ready)
			}
			w.cloud.Before = failing(call, external.NotCreated(errors.New("another")))
			_, _ = w.try()
			if _, _, events := w.taken(); events != "Warning/"+stage.reason {
				t.Errorf("events of another failure %q", events)
			}
		})
	}
}

func TestErrorTextsAreRedactedAndBounded(t *testing.T) {
	const canary = "s3cr3t-canary"
	bad := errors.New("dial nats://admin:" + canary + "@example.org: password=" + canary + " \xff\xfe " +
		strings.Repeat("x", 5000))
	for call, stage := range stages {
		t.Run(call, func(t *testing.T) {
			var log strings.Builder
			w := newWorld(t, managed.WithLogger(logging.NewLogrLogger(funcr.New(
				func(prefix, args string) { log.WriteString(prefix + args) }, funcr.Options{Verbosity: 10}))))
			w.create(nil)
			if stage.arrange != nil {
				stage.arrange(w)
			}
			w.cloud.Before = failing(call, bad)
			_, err := w.try()
			if err == nil {
				t.Fatal("no error")
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			texts := map[string]string{
				"error": err.Error(), "formatted": fmt.Sprintf("%+v", err),
				"condition": w.get().GetCondition("Synced").Message, "event": w.events[len(w.events)-1].Message,
			}
			for where, text := range texts {
				if len(text) > 1024 || !utf8.ValidString(text) || text == "" {
					t.Errorf("%s: %d bytes, valid %t", where, len(text), utf8.ValidString(text))
				}
				if strings.Contains(text, canary) {
					t.Errorf("%s tells the secret: %s", where, text)
				}
			}
			if everything := fmt.Sprint(w.requests, w.events, log.String()); strings.Contains(everything, canary) {
				t.Error("the secret is in a request, an event or the log")
			}
		})
	}
}

func TestATerminalErrorKeepsItsReasonInEveryStage(t *testing.T) {
	for call, stage := range stages {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			if stage.arrange != nil {
				stage.arrange(w)
			}
			w.cloud.Before = failing(call, external.Terminal("InvalidName", errors.New("no dots: rename it")))
			if got := w.pass().RequeueAfter; got != 10*time.Minute {
				t.Errorf("next pass after %s, want ten polls", got)
			}
			w.condition("Synced", "False/InvalidName")
		})
	}
}

// TestATerminalReasonShowsNoSecret holds that the reason of a terminal error, which stands in a
// condition and in a metric, is not shown if a secret is in it.
func TestATerminalReasonShowsNoSecret(t *testing.T) {
	const token = "hV7tokenQxL"
	for name, tc := range map[string]struct{ reason, want string }{
		"a known secret": {token, "False/TerminalError"},
		"with one in it": {"Refused:" + token, "False/TerminalError"},
		"with its begin": {"Refused_hV7token", "False/TerminalError"},
		"by its look":    {"Refused:" + "AKIA" + "IOSFODNN7EXAMPLE", "False/TerminalError"},
		"an ordinary":    {"PasswordRefused", "False/PasswordRefused"},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			g := newGallery(t, managed.WithMetricsRegisterer(registry))
			g.create(nil)
			g.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
				if call != "Observe" {
					return nil
				}
				external.Conceal(ctx, []byte(token))

				return external.Terminal(tc.reason, errors.New("no"))
			}
			g.pass()
			g.condition("Synced", tc.want)
			if got := metric(t, registry, "moorage_managed_terminal_errors_total reason="+
				strings.TrimPrefix(tc.want, "False/")); got != 1 {
				t.Errorf("%v errors are counted under %s", got, tc.want)
			}
		})
	}
}

func TestConflictsAreSilentForAWhile(t *testing.T) {
	for _, call := range []string{"Connect", "Observe", "Update", "Delete"} {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			if arrange := stages[call].arrange; arrange != nil {
				arrange(w)
			}
			w.taken()
			w.cloud.Before = failing(call, conflict())
			for range 5 {
				got := w.pass()
				if !got.Requeue || got.RequeueAfter != 0 { //nolint:staticcheck // conflicts are answered so
					t.Fatalf("result %v", got)
				}
			}
			if requests, _, events := w.taken(); requests != "" || events != "" {
				t.Errorf("requests %q, events %q", requests, events)
			}
			if _, err := w.try(); err == nil {
				t.Error("an endless conflict is never told")
			}
		})
	}
}

func TestEveryWriteMayConflict(t *testing.T) {
	for _, marker := range []string{"finalizers", "patch status"} {
		t.Run(marker, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			conflicts := 0
			w.answer = func(_ context.Context, note string) error {
				if strings.Contains(note, marker) && conflicts < 2 {
					conflicts++

					return conflict()
				}

				return nil
			}
			got := w.pass()
			if !got.Requeue { //nolint:staticcheck // conflicts are answered so
				got = w.pass()
			}
			for range 3 {
				w.pass()
			}
			if _, _, events := w.taken(); strings.Contains(events, "Warning") {
				t.Errorf("result %v, events %q", got, events)
			}
			w.condition("Ready", "True/Available")
			if n := len(w.cloud.Disks()); n != 1 {
				t.Errorf("%d disks", n)
			}
		})
	}
}

func TestStorageErrorsAreReported(t *testing.T) {
	cases := map[string]struct {
		reason, marker, prefix string
		created                int
	}{
		"Intent": {"without a record nothing is created", "external-create-pending",
			"cannot update managed resource: ", 0},
		"Status": {"a status that cannot be written is an error", "patch status",
			"cannot update managed resource status: ", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			w.answer = func(_ context.Context, note string) error {
				if strings.Contains(note, tc.marker) {
					return errors.New("no route to host")
				}

				return nil
			}
			if _, err := w.try(); err == nil || !strings.HasPrefix(err.Error(), tc.prefix) {
				t.Errorf("%s: error %v", tc.reason, err)
			}
			if n := len(w.cloud.Disks()); n != tc.created {
				t.Errorf("%s: %d disks", tc.reason, n)
			}
			w.answer = nil
			w.pass()
			w.condition("Ready", "True/Available")
		})
	}
}

func TestDisconnectIsCalledOnceAfterConnect(t *testing.T) {
	var log []string
	w := newWorld(t)
	fail := false
	w.o = append(w.o, managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
		ConnectFn: func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
			if fail {
				return nil, errors.New("no route to host")
			}
			c, err := w.cloud.Connect(ctx, mg)

			return disconnecting{c, &log}, err
		},
		DisconnectFn: func(context.Context) error {
			log = append(log, "connecter")

			return errors.New("already closed")
		},
	}))
	w.restart()
	w.create(nil)
	w.pass()
	if got := strings.Join(log, " "); got != "client connecter" {
		t.Errorf("disconnected: %s", got)
	}
	_, _, events := w.taken()
	if want := "Normal/CreatedExternalResource, Warning/CannotDisconnectFromProvider"; events != want {
		t.Errorf("events %q, want %q", events, want)
	}
	w.condition("Synced", "True/ReconcileSuccess")
	fail, log = true, nil
	_, _ = w.try()
	if len(log) != 0 {
		t.Errorf("disconnected without a connection: %v", log)
	}
}

type disconnecting struct {
	managed.ExternalClient

	log *[]string
}

func (d disconnecting) Disconnect(context.Context) error {
	*d.log = append(*d.log, "client")

	return nil
}

func TestAConnecterThatReturnsNothingIsAnError(t *testing.T) {
	w := newWorld(t, managed.WithExternalConnecter(managed.ExternalConnectorFn(
		func(context.Context, resource.Managed) (managed.ExternalClient, error) { return nil, nil })))
	w.create(nil)
	if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "no client") {
		t.Errorf("error %v", err)
	}
}

func TestExternalCallsShareADeadline(t *testing.T) {
	w := newWorld(t, managed.WithTimeout(time.Hour))
	var deadlines []time.Time
	w.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
		if call != "Connect" {
			d, _ := ctx.Deadline()
			deadlines = append(deadlines, d)
		}

		return nil
	}
	w.create(nil)
	w.pass()
	for _, d := range deadlines {
		if left := time.Until(d); left > time.Hour || left < 59*time.Minute || d != deadlines[0] {
			t.Errorf("deadlines %v", deadlines)
		}
	}
	if len(deadlines) != 3 {
		t.Errorf("%d calls", len(deadlines))
	}
}

func TestAnAuthorsFinalizerAndUpdaterAreCalled(t *testing.T) {
	var log []string
	w := newWorld(t)
	w.o = append(w.o,
		managed.WithFinalizer(resource.FinalizerFns{
			AddFinalizerFn: func(_ context.Context, o resource.Object) error {
				log = append(log, "add")
				o.SetFinalizers([]string{"example.org/own"})

				return nil
			},
			RemoveFinalizerFn: func(context.Context, resource.Object) error {
				log = append(log, "remove")

				return nil
			},
		}),
		managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(func(ctx context.Context,
			o client.Object) error {
			log = append(log, "record "+meta.GetExternalName(o))

			return managed.NewRetryingCriticalAnnotationUpdater(w.API).UpdateCriticalAnnotations(ctx, o)
		})))
	w.restart()
	w.create(nil)
	w.pass()
	w.pass()
	if got := strings.Join(log, ", "); got != "add, record vol-1, add" {
		t.Errorf("called: %s", got)
	}
	if meta.FinalizerExists(w.get(), managed.FinalizerName) {
		t.Error("our own finalizer was added beside the author's")
	}
	w.change(func(v *volume.Volume) { v.Finalizers = []string{"example.org/own"} })
	w.delete()
	log = nil
	w.pass()
	if got := strings.Join(log, ", "); got != "remove" || len(w.cloud.Disks()) != 0 {
		t.Errorf("called: %s, disks %v", got, w.cloud.Disks())
	}
}
