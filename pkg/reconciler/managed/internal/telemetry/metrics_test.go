package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestNamesOfCrossplane verifies the names and labels that dashboards of crossplane use.
func TestNamesOfCrossplane(t *testing.T) {
	h := newRecorderWorld(t, func(o *Options) { o.Prefix = "crossplane" })
	h.pass(made("1"))
	want := []string{
		`crossplane_managed_kind_info` + strings.TrimSuffix(gvk, "}") + `,kind="Bucket.storage.example.org"}`,
		"crossplane_managed_resource_deletion_seconds" + gvk,
		"crossplane_managed_resource_drift_seconds" + gvk,
		"crossplane_managed_resource_exists" + gvk,
		"crossplane_managed_resource_first_time_to_readiness_seconds" + gvk,
		"crossplane_managed_resource_first_time_to_reconcile_seconds" + gvk,
		"crossplane_managed_resource_ready" + gvk,
		"crossplane_managed_resource_synced" + gvk,
	}
	var got []string
	for _, name := range slices.Sorted(maps.Keys(h.series())) {
		if strings.Contains(name, "gvk=") {
			got = append(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series by gvk: -want, +got:\n%s", diff)
	}
}

func TestEachCallIsTimedFromItsOwnStart(t *testing.T) {
	h := newRecorderWorld(t)
	ctx, pass := h.Begin(context.Background(), &Object{}, made("1"))
	for _, c := range []struct {
		step Step
		took time.Duration
		err  error
	}{
		{Connect, time.Second, nil},
		{Observe, 2 * time.Second, nil},
		{Create, 100 * time.Second, errors.New("boom")},
		{Observe, time.Second, nil},
		{Disconnect, 5 * time.Second, nil},
	} {
		h.wait(time.Minute) // between calls
		_, call := h.Step(ctx, c.step)
		h.wait(c.took)
		call.End(c.err)
	}
	h.expect("during the pass", map[string]string{
		`passes_in_flight{kind="Bucket.storage.example.org"}`: "1",
		`pass_seconds{kind="Bucket.storage.example.org"}`:     "0 in 0s",
	})
	pass.End("creating", errors.New("boom"))
	label := func(name, step string) string {
		return fmt.Sprintf(`external_step_%s{kind="Bucket.storage.example.org",step=%q}`, name, step)
	}
	h.expect("after it", map[string]string{
		label("seconds", "connect"):                                          "1 in 1s",
		label("seconds", "observe"):                                          "2 in 3s",
		label("seconds", "create"):                                           "1 in 100s",
		label("seconds", "update"):                                           "0 in 0s",
		label("seconds", "delete"):                                           "0 in 0s",
		label("seconds", "disconnect"):                                       "1 in 5s",
		label("errors_total", "observe"):                                     "0",
		label("errors_total", "create"):                                      "1",
		`pass_seconds{kind="Bucket.storage.example.org"}`:                    "1 in 409s",
		`passes_in_flight{kind="Bucket.storage.example.org"}`:                "0",
		`passes_total{kind="Bucket.storage.example.org",outcome="creating"}`: "1",
	})
}

// TestWhatIsKnownBeginsAtZero verifies that known label values are served at zero: Prometheus sees no increase in
// the first sample of a series.
func TestWhatIsKnownBeginsAtZero(t *testing.T) {
	h := newRecorderWorld(t, func(o *Options) { o.Outcomes, o.Classes = []string{"kept", "lost"}, []string{"throttled"} })
	h.pass(made("1"))
	h.Failed("unavailable")
	h.expect("after a pass and a failure", map[string]string{
		`passes_total{kind="Bucket.storage.example.org",outcome="kept"}`:        "1",
		`passes_total{kind="Bucket.storage.example.org",outcome="lost"}`:        "0",
		`failures_total{class="throttled",kind="Bucket.storage.example.org"}`:   "0",
		`failures_total{class="unavailable",kind="Bucket.storage.example.org"}`: "1",
	})
}

// TestLimitWaitingIsCountedByPriority verifies that the time of a wait is counted under the priority of its pass.
func TestLimitWaitingIsCountedByPriority(t *testing.T) {
	h := newRecorderWorld(t)
	h.LimitWaited(0, 90*time.Second)
	h.LimitWaited(3, 2*time.Second)
	h.LimitWaited(3, -time.Second) // the clock was set back
	label := func(priority string) string {
		return fmt.Sprintf(`limit_wait_seconds_total{kind="Bucket.storage.example.org",priority=%q}`, priority)
	}
	h.expect("waits", map[string]string{
		label("poll"): "90", label("retry"): "0", label("progress"): "0", label("user"): "2",
	})
}

func TestWritesAreDistinguished(t *testing.T) {
	h := newRecorderWorld(t)
	for i, w := range []Write{Intent, Result, LateInit, Finalizer, Status, Secret} {
		for range i + 1 {
			h.Wrote(w, true)
		}
	}
	h.Wrote(Status, false)
	label := func(what, changed string) string {
		return fmt.Sprintf(`writes_total{changed=%q,kind="Bucket.storage.example.org",what=%q}`, changed, what)
	}
	h.expect("writes", map[string]string{
		label("intent", "true"): "1", label("result", "true"): "2", label("late-init", "true"): "3",
		label("finalizer", "true"): "4", label("status", "true"): "5", label("secret", "true"): "6",
		label("status", "false"): "1", label("secret", "false"): "0",
	})
}

func TestRecordersOfOneKindShare(t *testing.T) {
	h := newRecorderWorld(t)
	first, objects := h.Recorder, h.objects
	h.restart()
	one, two := made("1"), made("2")
	first.Begin(t.Context(), objects.Of(key(one), one.UID), one)
	h.Begin(t.Context(), h.of(two), two)
	h.expect("one object each", map[string]string{"resource_exists": "2"})
	objects.Clear()
	h.expect("after one stopped", map[string]string{"resource_exists": "1"})

	same, err := New(schema.GroupVersionKind{Group: testKind.Group, Version: testKind.Version, Kind: "Database"},
		Options{Registerer: h.registry})
	if err != nil {
		t.Fatal(err)
	}
	same.Begin(t.Context(), &Object{}, one)
	h.expect("another kind is counted apart", map[string]string{
		"resource_exists": "1", `resource_exists{gvk="storage.example.org/v1beta1, Kind=Database"}`: "1",
	})
}

// TestADefaultServes verifies that metrics are registered where controller-runtime serves them.
func TestADefaultServes(t *testing.T) {
	kind := testKind.GroupVersion().WithKind("Default")
	for range 2 {
		r, err := New(kind, Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := &Object{}
		_, pass := r.Begin(t.Context(), o, made("1"))
		pass.End("kept", nil)
		t.Cleanup(func() { r.Forget(o) })
	}
	if got := gather(t, ctrlmetrics.Registry)[`moorage_managed_passes_total{kind="Default.storage.example.org",`+
		`outcome="kept"}`]; got != "2" {
		t.Errorf("passes of two recorders: %s, want 2", got)
	}
}

func TestATakenMetricNameIsReported(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "moorage_managed_resource_ready",
		Help: "Not ours."}))
	r, err := New(testKind, Options{Registerer: registry})
	if err == nil || !strings.Contains(err.Error(), "cannot register metric moorage_managed_resource_ready") {
		t.Fatalf("error %v", err)
	}
	r.Begin(t.Context(), &Object{}, made("1"))
	if got := gather(t, registry)["moorage_managed_resource_exists"+gvk]; got != "1" {
		t.Errorf("the others: exists is %q, want 1", got)
	}
}

func TestValuesOfLabelsAreBounded(t *testing.T) {
	h := newRecorderWorld(t)
	token := "gh" + "p_0123456789abcdefghij"
	for i := range 1000 {
		h.Terminal(fmt.Sprintf("Reason%d", i))
	}
	for _, reason := range []string{"", "two words", "Über", token, strings.Repeat("x", maxValueLen+1), other} {
		h.Terminal(reason)
	}
	const name = `terminal_errors_total{kind="Bucket.storage.example.org",reason=%q}`
	h.expect("reasons", map[string]string{
		fmt.Sprintf(name, "Reason0"):  "1",
		fmt.Sprintf(name, "Reason63"): "1",
		fmt.Sprintf(name, other):      fmt.Sprint(1000 - maxValues + 6),
	})
	n := 0
	for series := range h.series() {
		if strings.Contains(series, "terminal_errors_total") {
			n++
		}
		if strings.Contains(series, token) {
			t.Errorf("a credential in %s", series)
		}
	}
	if n != maxValues+1 {
		t.Errorf("%d reasons, want %d and one for the rest", n, maxValues)
	}
}

func TestIsWord(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  string
		want   bool
	}{
		"Reason":  {reason: "Reasons of conditions are words.", value: "InvalidConfiguration", want: true},
		"Outcome": {reason: "So are outcomes.", value: "awaiting-finalizers", want: true},
		"Longest": {reason: "The limit is within.", value: strings.Repeat("x", maxValueLen), want: true},
		"TooLong": {reason: "What is longer was put together.", value: strings.Repeat("x", maxValueLen+1)},
		"Empty":   {reason: "Nothing is no word."},
		"Space":   {reason: "A sentence may hold anything.", value: "no quota"},
		"Inside":  {reason: "Other letters count wherever they stand.", value: "a\nb"},
		"Secret":  {reason: "A credential may look like a word.", value: "gh" + "p_0123456789abcdefghij"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := isWord(tc.value); got != tc.want {
				t.Errorf("%s\nisWord(%q): got %t", tc.reason, tc.value, got)
			}
		})
	}
}
