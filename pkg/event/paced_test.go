package event_test

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/moorage-dev/moorage/pkg/event"
)

// timedRecorder has the recorded events with their times.
type timedRecorder struct {
	began time.Time

	mu      sync.Mutex
	entries []entry
}

type entry struct {
	After  time.Duration
	About  string
	Reason event.Reason
}

func (d *timedRecorder) Event(obj runtime.Object, e event.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	about := ""
	switch o := obj.(type) {
	case *corev1.ObjectReference:
		about = o.Kind + " " + o.Namespace + "/" + o.Name + " " + string(o.UID)
	case *corev1.Pod:
		about = "Pod " + o.Namespace + "/" + o.Name + " " + string(o.UID)
	}
	d.entries = append(d.entries, entry{time.Since(d.began), about, e.Reason})
}

// all returns the events recorded so far.
func (d *timedRecorder) all() []entry {
	d.mu.Lock()
	defer d.mu.Unlock()

	return slices.Clone(d.entries)
}

func (d *timedRecorder) WithAnnotations(...string) event.Recorder { return d }

func pod(i int) *corev1.Pod {
	n := strconv.Itoa(i)

	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: n, UID: "uid-n"}}
}

// TestPacedRecorder: normal events are sent at the rate, warnings and immediate events at once.
func TestPacedRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &timedRecorder{began: time.Now()}
		r := event.NewPacedRecorder(d, scheme.Scheme, event.WithPace(2, 2))
		for i := range 5 {
			r.WithAnnotations("n", strconv.Itoa(i)).Event(pod(i), event.Normal("Attached", "in use"))
		}
		r.Event(pod(5), event.Warning("CannotAttach", errors.New("no disk")))
		<-time.After(time.Minute)
		r.Event(pod(6), event.Normal("Attached", "in use"))

		want := []entry{
			{0, "Pod default/0 uid-n", "Attached"},
			{0, "Pod default/1 uid-n", "Attached"},
			{0, "Pod default/5 uid-n", "CannotAttach"},
			{time.Second, "Pod default/2 uid-n", "Attached"}, // there may be more to do
			{1500 * time.Millisecond, "Pod default/3 uid-n", "Attached"},
			{2 * time.Second, "Pod default/4 uid-n", "Attached"},
			{time.Minute, "Pod default/6 uid-n", "Attached"},
		}
		if diff := cmp.Diff(want, d.all()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestPacedRecorderStop: Stop drops the queued events; later ones and warnings are sent.
func TestPacedRecorderStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &timedRecorder{began: time.Now()}
		r := event.NewPacedRecorder(d, scheme.Scheme, event.WithPace(2, 1))
		r.Stop() // a recorder without pending events
		r = event.NewPacedRecorder(d, scheme.Scheme, event.WithPace(2, 1))
		other := r.WithAnnotations("n", "1")
		for i := range 5 {
			other.Event(pod(i), event.Normal("Attached", "in use"))
		}
		<-time.After(600 * time.Millisecond)
		r.Stop()
		r.Stop()
		<-time.After(time.Minute)
		r.Event(pod(5), event.Warning("CannotAttach", errors.New("no disk")))
		r.Event(pod(6), event.Normal("Attached", "in use"))
		r.Event(pod(7), event.Normal("Attached", "in use"))

		want := []entry{
			{0, "Pod default/0 uid-n", "Attached"},
			{500 * time.Millisecond, "Pod default/1 uid-n", "Attached"},
			{time.Minute + 600*time.Millisecond, "Pod default/5 uid-n", "CannotAttach"},
			{time.Minute + 600*time.Millisecond, "Pod default/6 uid-n", "Attached"},
			{time.Minute + 600*time.Millisecond, "Pod default/7 uid-n", "Attached"},
		}
		if diff := cmp.Diff(want, d.all()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestPacedRecorderBusy: while events exceed the rate, a fifth of it is used; the queue is
// sent at the full rate afterwards.
func TestPacedRecorderBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &timedRecorder{began: time.Now()}
		r := event.NewPacedRecorder(d, scheme.Scheme, event.WithPace(50, 10))
		recorded := func() int { return len(d.all()) }
		for range 2000 { // for twenty seconds, a hundred in each
			r.Event(pod(0), event.Normal("Attached", "in use"))
			<-time.After(10 * time.Millisecond)
		}
		during := recorded()
		if low, high := 20*10, 20*10+2*10+5; during < low || during > high {
			t.Errorf("%d were recorded meanwhile, want about ten a second", during)
		}
		<-time.After(11 * time.Second)
		if after := recorded() - during; after < 10*49 || after > 10*51+5 {
			t.Errorf("%d were recorded within ten idle seconds, want fifty a second", after)
		}
		<-time.After(time.Minute)
		if recorded() != 2000 {
			t.Errorf("%d were recorded in the end", recorded())
		}
		before := recorded()
		for range 500 { // as many as the pace allows
			r.Event(pod(0), event.Normal("Attached", "in use"))
			<-time.After(20 * time.Millisecond)
		}
		if n := recorded() - before; n != 500 {
			t.Errorf("of 500 at the pace %d were recorded", n)
		}
	})
}

// TestPacedRecorderHalfFull: a queue that is half full is sent at the full rate.
func TestPacedRecorderHalfFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &timedRecorder{began: time.Now()}
		r := event.NewPacedRecorder(d, scheme.Scheme, event.WithPace(50, 10))
		const many = 90 * 130 // in ninety seconds
		for i := range many {
			r.Event(pod(i), event.Normal("Attached", "in use"))
			<-time.After(time.Second / 130)
		}
		<-time.After(10 * time.Minute)
		recorded := d.all()
		if len(recorded) != many {
			t.Fatalf("%d were recorded", len(recorded))
		}
		for i, e := range recorded {
			if want := "Pod default/" + strconv.Itoa(i) + " uid-n"; e.About != want {
				t.Fatalf("as number %d it was recorded of %s, want %s: something went ahead of the line", i, e.About, want)
			}
		}
	})
}

// TestPacedRecorderIsBounded: events beyond the maximum of the queue are sent at once.
func TestPacedRecorderIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 12_000
		d := &timedRecorder{began: time.Now()}
		r := event.NewPacedRecorder(d, scheme.Scheme)
		for i := range many {
			r.Event(pod(i), event.Normal("Attached", "in use"))
		}
		if n := len(d.all()); n != many-10_000 {
			t.Errorf("%d are recorded at once", n)
		}
		<-time.After(10 * time.Minute)
		if n := len(d.all()); n != many {
			t.Errorf("%d were recorded in the end", n)
		}
		last := slices.MaxFunc(d.all(), func(a, b entry) int { return int(a.After - b.After) })
		if late := last.After - 10_000*time.Second/event.DefaultPace; late < 0 || late > time.Second {
			t.Errorf("the last was recorded after %s", last.After)
		}
	})
}

// TestPacedRecorderUnknownType: events about objects of an unknown type are not queued.
func TestPacedRecorderUnknownType(t *testing.T) {
	d := &timedRecorder{began: time.Now()}
	r := event.NewPacedRecorder(d, runtime.NewScheme(), event.WithPace(1e-9, 1)) // which knows no pods
	r.Event((*corev1.Pod)(nil), event.Normal("Attached", "nobody"))
	for i := range 3 {
		r.Event(pod(i), event.Normal("Attached", "in use"))
	}
	if n := len(d.all()); n != 3 {
		t.Errorf("%d were recorded", n)
	}
	free := event.NewPacedRecorder(d, scheme.Scheme, event.WithPace(0, 0))
	for i := range 1000 {
		free.Event(pod(i), event.Normal("Attached", "in use"))
	}
	if n := len(d.all()); n != 1003 {
		t.Errorf("%d were recorded", n)
	}
}
