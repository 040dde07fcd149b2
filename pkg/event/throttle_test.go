package event

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"
)

// recorder has the recorded events, with annotations.
type recorder struct {
	mu          sync.Mutex
	events      *[]string
	annotations string
}

func (h *recorder) Event(_ kruntime.Object, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*h.events = append(*h.events, strings.TrimSpace(string(e.Reason)+" "+e.Message+h.annotations))
}

func (h *recorder) WithAnnotations(keysAndValues ...string) Recorder {
	return &recorder{events: h.events, annotations: h.annotations + " " + strings.Join(keysAndValues, "=")}
}

func newPod(uid types.UID, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Namespace: "apps", Name: name}}
}

func untyped(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("example.org/v1")
	u.SetKind(kind)
	u.SetName(name)

	return u
}

func TestThrottledRecorder(t *testing.T) {
	failed := Warning("Failed", errors.New("no disk"))
	data := newPod("1", "data")

	// A step waits, forgets an object or records an event.
	type step struct {
		after  time.Duration
		forget kruntime.Object
		obj    kruntime.Object
		event  Event
		with   []string
	}

	cases := map[string]struct {
		reason string
		steps  []step
		want   []string
	}{
		"Repeated": {
			reason: "A repeated event is dropped.",
			steps: []step{{obj: data, event: failed}, {after: time.Minute, obj: data, event: failed},
				{after: time.Minute, obj: data, event: failed}},
			want: []string{"Failed no disk"},
		},
		"Immediate": {
			reason: "A user waits for an immediate event, and gets each.",
			steps: []step{
				{obj: data, event: Event{Type: TypeNormal, Reason: "Handled", Immediate: true}},
				{obj: data, event: Event{Type: TypeNormal, Reason: "Handled", Immediate: true}},
			},
			want: []string{"Handled", "Handled"},
		},
		"StillHolds": {
			reason: "After the silence it is sent once more, counted from when it was last sent.",
			steps: []step{
				{obj: data, event: failed},
				{after: 4 * time.Minute, obj: data, event: failed},
				{after: time.Minute, obj: data, event: failed},
				{after: 4 * time.Minute, obj: data, event: failed},
			},
			want: []string{"Failed no disk", "Failed no disk"},
		},
		"OtherMessage": {
			reason: "Another message is sent, and so is the first one after it.",
			steps: []step{{obj: data, event: failed}, {
				obj: data, event: Warning("Failed", errors.New("no volume")),
			}, {obj: data, event: failed}, {obj: data, event: failed}},
			want: []string{"Failed no disk", "Failed no volume", "Failed no disk"},
		},
		"OtherTopic": {
			reason: "Type, reason and action distinguish events.",
			steps: []step{
				{obj: data, event: Event{Type: TypeNormal, Reason: "A"}},
				{obj: data, event: Event{Type: TypeWarning, Reason: "A"}},
				{obj: data, event: Event{Type: TypeNormal, Reason: "B"}},
				{obj: data, event: Event{Type: TypeNormal, Reason: "A", Action: "Attach"}},
				{obj: data, event: Event{Type: TypeNormal, Reason: "A"}},
			},
			want: []string{"A", "A", "B", "A"},
		},
		"ManyTopics": {
			reason: "A new message of one topic, be it the first, the last or one between, does not affect the others.",
			steps: []step{
				{obj: data, event: Normal("A", "")}, {obj: data, event: Normal("B", "")},
				{obj: data, event: Normal("C", "")},
				{obj: data, event: Normal("B", "2")}, {obj: data, event: Normal("A", "")},
				{obj: data, event: Normal("C", "")},
				{obj: data, event: Normal("A", "2")}, {obj: data, event: Normal("B", "2")},
				{obj: data, event: Normal("C", "")},
				{obj: data, event: Normal("C", "2")},
				{obj: data, event: Normal("A", "2")}, {obj: data, event: Normal("B", "2")},
				{obj: data, event: Normal("C", "2")},
			},
			want: []string{"A", "B", "C", "B 2", "A 2", "C 2"},
		},
		"OtherRelated": {
			reason: "The related object distinguishes events, and so does none.",
			steps: []step{
				{obj: data, event: Event{Reason: "Waits", Related: newPod("2", "other")}},
				{obj: data, event: Event{Reason: "Waits", Related: newPod("3", "other")}},
				{obj: data, event: Event{Reason: "Waits"}},
				{obj: data, event: Event{Reason: "Waits", Related: (*corev1.Pod)(nil)}},
				{obj: data, event: Event{Reason: "Waits", Related: newPod("2", "other")}},
			},
			want: []string{"Waits", "Waits", "Waits"},
		},
		"OtherObject": {
			reason: "Events of different objects are distinct, also with the same name and another UID.",
			steps: []step{{obj: data, event: failed}, {obj: newPod("2", "other"), event: failed},
				{obj: newPod("3", "data"), event: failed}, {obj: newPod("1", "renamed"), event: failed}},
			want: []string{"Failed no disk", "Failed no disk", "Failed no disk"},
		},
		"NoUID": {
			reason: "An object without UID is identified by kind, namespace and name.",
			steps: []step{
				{obj: newPod("", "data"), event: failed}, {obj: newPod("", "data"), event: failed},
				{obj: newPod("", "other"), event: failed},
				{obj: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "data"}}, event: failed},
				{obj: untyped("Volume", "data"), event: failed}, {obj: untyped("Disk", "data"), event: failed},
				{obj: untyped("Volume", "data"), event: failed},
			},
			want: []string{"Failed no disk", "Failed no disk", "Failed no disk", "Failed no disk", "Failed no disk"},
		},
		"Reference": {
			reason: "A reference is equivalent to its object.",
			steps: []step{{obj: data, event: failed}, {obj: &corev1.ObjectReference{UID: "1"}, event: failed},
				{obj: &corev1.ObjectReference{Name: "other"}, event: failed}},
			want: []string{"Failed no disk", "Failed no disk"},
		},
		"NoObject": {
			reason: "A nil object is ignored, and events about a value without metadata are never dropped.",
			steps: []step{{obj: (*corev1.Pod)(nil), event: failed}, {event: failed},
				{obj: &metav1.Status{}, event: failed}, {obj: &metav1.Status{}, event: failed}},
			want: []string{"Failed no disk", "Failed no disk"},
		},
		"Annotations": {
			reason: "A recorder with annotations shares its state with the original.",
			steps: []step{{obj: data, event: failed, with: []string{"a", "1"}}, {obj: data, event: failed},
				{obj: data, event: failed, with: []string{"a", "2"}}},
			want: []string{"Failed no disk a=1"},
		},
		"Forget": {
			reason: "After Forget the event is sent again; other objects are not affected.",
			steps: []step{
				{obj: data, event: failed}, {obj: newPod("2", "other"), event: failed},
				{forget: newPod("1", ""), obj: data, event: failed}, {obj: newPod("2", "other"), event: failed},
				{forget: (*corev1.Pod)(nil), obj: data, event: failed},
			},
			want: []string{"Failed no disk", "Failed no disk", "Failed no disk"},
		},
		"BeyondTheBound": {
			reason: "A message that differs only where it is cut off is the same.",
			steps: []step{
				{obj: data, event: Normal("Long", strings.Repeat("x", 2000)+"1")},
				{obj: data, event: Normal("Long", strings.Repeat("x", 2000)+"2")},
			},
			want: []string{"Long " + strings.Repeat("x", 2000) + "1"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
			r := NewThrottledRecorder(&recorder{events: &got}, WithClock(clock))

			for _, s := range tc.steps {
				clock.SetTime(clock.Now().Add(s.after))
				if s.forget != nil {
					r.Forget(s.forget)
				}
				var to Recorder = r
				if s.with != nil {
					to = r.WithAnnotations(s.with...)
				}
				to.Event(s.obj, s.event)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMaxSilence(t *testing.T) {
	for silence, want := range map[time.Duration]int{-1: 3, 0: 3, time.Second: 2, time.Hour: 1} {
		var got []string
		clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
		r := NewThrottledRecorder(&recorder{events: &got}, WithClock(clock), WithMaxSilence(silence))

		for _, after := range []time.Duration{0, 0, time.Second} {
			clock.SetTime(clock.Now().Add(after))
			r.Event(newPod("1", "data"), Normal("Attached", ""))
		}

		if len(got) != want {
			t.Errorf("%s of silence: %d events of 3 in a second, want %d", silence, len(got), want)
		}
	}
}

// TestThrottledRecorderForget records events of a hundred thousand objects that are created and
// deleted: with Forget no state is left, and without it that of the last silence.
func TestThrottledRecorderForget(t *testing.T) {
	const objects = 100_000

	for name, forget := range map[string]bool{"Forget": true, "Silence": false} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
			r := NewThrottledRecorder(NewNopRecorder(), WithClock(clock), WithMaxSilence(time.Minute))

			most := 0
			for i := range objects {
				obj := newPod(types.UID(fmt.Sprint(i)), "data")
				r.Event(obj, Normal("Attached", ""))
				r.Event(obj, Warning("Failed", errors.New("no disk")))
				if forget {
					r.Forget(obj)
				}
				most = max(most, r.seen.order.Len())
				clock.SetTime(clock.Now().Add(time.Second))
			}

			if limit := 2 * 61; most > limit {
				t.Errorf("%d sayings were remembered at a time, want at most the %d of a minute", most, limit)
			}

			clock.SetTime(clock.Now().Add(time.Minute))
			r.Event(newPod("last", "data"), Normal("Attached", ""))
			if l, m := r.seen.order.Len(), len(r.seen.byObject); l != 1 || m != 1 {
				t.Errorf("%d sayings about %d objects are left, want only the last", l, m)
			}
		})
	}
}

// TestThrottledRecorderIsBounded records events of more objects than it remembers.
func TestThrottledRecorderIsBounded(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	r := NewThrottledRecorder(NewNopRecorder(), WithClock(clock))

	for i := range maxRemembered + 1000 {
		r.Event(newPod(types.UID(fmt.Sprint(i)), "data"), Normal("Attached", ""))
	}

	if l, m := r.seen.order.Len(), len(r.seen.byObject); l != maxRemembered || m != maxRemembered {
		t.Errorf("%d sayings about %d objects are remembered, want %d", l, m, maxRemembered)
	}
	if !r.seen.isRepeat(newPod(types.UID(fmt.Sprint(maxRemembered)), "data"), Normal("Attached", "")) {
		t.Error("a late one was dropped instead of the first")
	}
}

func TestThrottledRecorderConcurrently(t *testing.T) {
	var got []string
	r := NewThrottledRecorder(&recorder{events: &got})

	var all sync.WaitGroup
	for range 8 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range 100 {
				r.Event(newPod(types.UID(fmt.Sprint(i)), "data"), Normal("Attached", ""))
				r.Forget(newPod("nobody", ""))
			}
		})
	}
	all.Wait()

	if len(got) != 100 {
		t.Errorf("%d events, want one of each of 100 objects", len(got))
	}
}

func TestThrottledRecorderOverBothAPIs(t *testing.T) {
	older, newer := record.NewFakeRecorder(4), events.NewFakeRecorder(4)

	for _, r := range []Recorder{NewThrottledRecorder(NewAPIRecorder(older)),
		NewThrottledRecorder(NewRecorder(newer))} {
		for range 3 {
			r.Event(newPod("1", "data"), Warning("Failed", errors.New("100%d")))
		}
	}

	for name, ch := range map[string]chan string{"older": older.Events, "newer": newer.Events} {
		if n := len(ch); n != 1 {
			t.Fatalf("%s: %d events, want 1", name, n)
		}
		if got := <-ch; !strings.HasPrefix(got, "Warning Failed 100%d") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
