package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/records"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

var (
	testKind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1beta1", Kind: "Bucket"}
	start    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

const gvk = `{gvk="storage.example.org/v1beta1, Kind=Bucket"}`

// A recorderWorld has a registry, a clock and a recorder of objects.
type recorderWorld struct {
	*Recorder

	t        testing.TB
	clock    *testclock.FakePassiveClock
	registry *prometheus.Registry
	objects  *records.Records[Object]
}

func newRecorderWorld(t testing.TB, change ...func(*Options)) *recorderWorld {
	t.Helper()
	h := &recorderWorld{t: t, clock: testclock.NewFakePassiveClock(start), registry: prometheus.NewRegistry()}
	h.restart(change...)

	return h
}

// restart restarts the process with the same registry: tests compare the sum of its metrics.
func (h *recorderWorld) restart(change ...func(*Options)) {
	h.t.Helper()
	o := Options{Registerer: h.registry, Clock: h.clock}
	for _, c := range change {
		c(&o)
	}
	var err error
	if h.Recorder, err = New(testKind, o); err != nil {
		h.t.Fatal(err)
	}
	h.objects = records.New(h.Recorder.Forget)
}

func key(mg *fake.Managed) types.NamespacedName {
	return types.NamespacedName{Namespace: mg.Namespace, Name: mg.Name}
}

func (h *recorderWorld) of(mg *fake.Managed) *Object { return h.objects.Of(key(mg), mg.UID) }

func (h *recorderWorld) pass(mg *fake.Managed, during ...func()) {
	_, p := h.Begin(context.Background(), h.of(mg), mg)
	for _, do := range during {
		do()
	}
	h.Seen(h.of(mg), mg)
	p.End("kept", nil)
}

func (h *recorderWorld) wait(d time.Duration) { h.clock.SetTime(h.clock.Now().Add(d)) }

// series returns every time series of the registry in the format of Prometheus, with its value; a histogram is its
// count and its sum.
func (h *recorderWorld) series() map[string]string {
	h.t.Helper()

	return gather(h.t, h.registry)
}

func gather(t testing.TB, g prometheus.Gatherer) map[string]string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			value := fmt.Sprint(m.GetCounter().GetValue() + m.GetGauge().GetValue())
			if histogram := m.GetHistogram(); histogram != nil {
				value = fmt.Sprintf("%d in %gs", histogram.GetSampleCount(), histogram.GetSampleSum())
			}
			all[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = value
		}
	}

	return all
}

// expect compares some of the series; a name without labels is that of the kind.
func (h *recorderWorld) expect(reason string, want map[string]string) {
	h.t.Helper()
	all := h.series()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		full := "moorage_managed_" + name
		if !strings.Contains(name, "{") {
			full += gvk
		}
		got, ok := all[full]
		if !ok {
			h.t.Fatalf("%s: no series %s in %v", reason, full, slices.Sorted(maps.Keys(all)))
		}
		if got != want[name] {
			h.t.Errorf("%s: %s is %s, want %s", reason, name, got, want[name])
		}
	}
}

func made(uid string, conditions ...commonv1.Condition) *fake.Managed {
	mg := &fake.Managed{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "bucket", UID: types.UID(uid), Generation: 1,
		CreationTimestamp: metav1.NewTime(start),
	}}
	mg.SetConditions(conditions...)

	return mg
}

func at(c commonv1.Condition, t time.Time) commonv1.Condition {
	c.LastTransitionTime = metav1.NewTime(t)

	return c
}

func synced() commonv1.Condition {
	c := at(commonv1.ReconcileSuccess(), start)
	c.ObservedGeneration = 1

	return c
}
