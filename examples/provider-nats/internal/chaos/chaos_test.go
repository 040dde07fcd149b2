package chaos

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/app"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/devenv"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// The binary of these tests is also the provider and NATS, if its first argument says so.
const (
	asProvider = "as-provider"
	asNATS     = "as-nats"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())

	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	switch os.Args[1] {
	case asProvider:
		os.Exit(app.Main(ctx, os.Args[2:], os.Stdout, os.Stderr))
	case asNATS:
		if err := ServeNATS(ctx, os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		stop()
		os.Exit(m.Run())
	}
}

func short(t *testing.T) Options {
	t.Helper()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	o := DefaultOptions()
	o.Settle = wait.Patience()
	o.Dir, o.Out = t.TempDir(), t.Output()
	o.Provider, o.NATS = []string{self, asProvider}, []string{self, asNATS}

	return o
}

// TestRounds makes a round with two replicas and one with a single provider that is killed often. Each kind
// of fault must have been made.
func TestRounds(t *testing.T) {
	t.Parallel()

	o := short(t)
	o.Rounds, o.Objects, o.Window = 2, 20, 6*time.Second

	res, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	var out strings.Builder

	res.Print(&out)
	t.Log(out.String())

	if !res.Held() || res.Rounds != 2 {
		t.Errorf("%d rounds, and something did not hold:\n%s", res.Rounds, res.found)
	}

	for _, want := range []string{"rounds: 2", "leaked: 0", "duplicated: 0", "stuck: 0"} {
		if !strings.Contains("\n"+out.String(), "\n"+want+"\n") {
			t.Errorf("no line says %q", want)
		}
	}

	for _, f := range faultKinds() {
		if res.faults[f] == 0 {
			t.Errorf("there was no %s", f)
		}
	}
}

// A saboteur spoils the state at the end of a round, so that it does not hold.
type saboteur struct {
	kube client.Client
	js   jetstream.JetStream
}

// rest waits until nothing is stuck: the remaining work on a busy machine is no finding of this test.
func (s saboteur) rest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, wait.Patience())
	defer cancel()

	w := &world{env: &devenv.Env{Client: s.kube}}

	for {
		all, err := w.objects(ctx)
		if err == nil && !slices.ContainsFunc(all, func(o object) bool { return o.deleted || !o.settled }) {
			return nil
		}

		if pause(ctx, lookEvery) != nil {
			return errors.Errorf("not everything has settled: %+v, %v", all, err)
		}
	}
}

func (s saboteur) spoil(ctx context.Context) error {
	if err := s.rest(ctx); err != nil {
		return err
	}

	cr := &v1alpha1.StreamList{}
	if err := s.kube.List(ctx, cr, client.InNamespace(devenv.Namespace)); err != nil {
		return err
	}

	// A stream of an object that is gone, and a second one of an object.
	victim := cr.Items[0]
	for name, uid := range map[string]string{
		"LEAKED": "00000000-0000-0000-0000-000000000000", "DUPLICATE": string(victim.UID),
	} {
		if _, err := s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Metadata: map[string]string{managed.StampKey: "x/" + uid},
		}); err != nil {
			return err
		}
	}

	// An object with a finalizer that is not removed.
	n := int64(1)
	kept := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: devenv.Namespace, Name: "kept", Finalizers: []string{"example.org/kept"}},
		Spec:       v1alpha1.StreamSpec{ForProvider: v1alpha1.StreamParameters{Description: new("kept"), MaxMsgs: &n}},
	}

	if err := s.kube.Create(ctx, kept); err != nil {
		return err
	}

	return s.kube.Delete(ctx, kept)
}

// TestSaboteur: leaks, duplicates and stuck objects are found, and the run ends.
func TestSaboteur(t *testing.T) {
	t.Parallel()

	o := short(t)
	o.Rounds, o.Objects, o.Window, o.Settle = 3, 10, 2*time.Second, 30*time.Second // a stuck object takes that long
	o.Interfere = func(ctx context.Context, kube client.Client, js jetstream.JetStream) error {
		return saboteur{kube, js}.spoil(ctx)
	}

	res, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	if res.Held() || res.Rounds != 1 {
		t.Errorf("%d rounds, held: %t", res.Rounds, res.Held())
	}

	got := map[flaw]int{}
	for f, what := range res.found {
		got[f] = len(what)
	}

	if diff := cmp.Diff(map[flaw]int{leaked: 1, duplicated: 1, stuck: 1}, got); diff != "" {
		t.Errorf("-want, +got:\n%s\n%s", diff, res.found)
	}
}

// TestLimit: a run that takes too long ends, and says so.
func TestLimit(t *testing.T) {
	o := short(t)
	o.Limit = time.Nanosecond

	res, err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "the run was not over after 1ns") {
		t.Errorf("%+v, error: %v", res, err)
	}

	o.Limit = 0
	if got, least := o.limit(), time.Duration(o.Rounds)*(o.Window+2*o.Settle); got < least {
		t.Errorf("%s for rounds that may take %s", got, least)
	}
}

// TestForgotten: a run without one kind of fault has not passed, whatever else held.
func TestForgotten(t *testing.T) {
	o := DefaultOptions()
	all := map[faultKind]int{}

	for _, f := range faultKinds() {
		all[f] = 1
	}

	if v := forgotten(o, 2, all); !v.held() {
		t.Errorf("all of them were made, and yet:\n%s", v)
	}

	for _, f := range faultKinds() {
		made := maps.Clone(all)
		delete(made, f)

		res := &Result{Rounds: 2}
		res.add(forgotten(o, 2, made), made, 0)

		if got := res.found[untried]; res.Held() || len(got) != 1 || !strings.HasPrefix(got[0], string(f)+": ") {
			t.Errorf("no %s, and found: %q", f, got)
		}
	}
}

func TestOptions(t *testing.T) {
	program := []string{"p"}
	good := Options{Rounds: 1, Objects: family, Window: 1, Settle: 1, Provider: program, NATS: program}

	cases := map[string]struct {
		reason string
		change func(*Options)
		want   string
	}{
		"Good":    {"Nothing is wrong.", func(*Options) {}, ""},
		"Rounds":  {"No round proves nothing.", func(o *Options) { o.Rounds = 0 }, "there must be at least one round"},
		"Objects": {"Not of every kind.", func(o *Options) { o.Objects = family - 1 }, "there must be at least 10 objects"},
		"Window": {
			"No time for faults.",
			func(o *Options) { o.Window = 0 }, "a round must have time for its faults and to settle",
		},
		"Settle": {
			"No time to settle.",
			func(o *Options) { o.Settle = 0 }, "a round must have time for its faults and to settle",
		},
		"Limit": {"No time at all.", func(o *Options) { o.Limit = -1 }, "a run must have time"},
		"Provider": {
			"Nothing to break.",
			func(o *Options) { o.Provider = nil }, "the programs of the provider and of NATS must be named",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := good
			tc.change(&o)

			got := ""
			if err := o.check(); err != nil {
				got = err.Error()
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
