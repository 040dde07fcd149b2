package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWait(t *testing.T) {
	creating := func(o map[string]any) {
		with("Ready", "False", "Creating", "")(o)
		with("Synced", "False", "ReconcileError", "observe failed:\nno route to host")(o)
	}
	deleting := set("2026-11-28T11:00:00Z", "metadata", "deletionTimestamp")
	finalizer := set([]any{"finalizer.moorage.dev"}, "metadata", "finalizers")
	earlier := set(int64(3), "metadata", "generation")
	stalled := with("Stalled", "True", "QuotaExceeded", "no more streams")

	cases := map[string]struct {
		reason string
		stream map[string]any
		then   func(s *server) // once the command watches
		args   []string
		code   int
		want   string
	}{
		"Ready": {"it is so already", stream("orders"), nil, nil, 0, "stream/orders is ready\n"},
		"Becomes": {
			"the watch shows it", stream("orders", creating),
			func(s *server) { s.add("streams.nats.example.org", stream("orders")) }, nil, 0, "stream/orders is ready\n",
		},
		"TimedOut": {
			"the reason and what to do", stream("orders", creating), nil, []string{"--timeout", brief}, 2,
			`stream/orders is not ready: Synced is False (ReconcileError): "observe failed: no route to host". What to do: ` +
				"Read the message.",
		},
		"Once": {
			"zero does not watch", stream("orders", creating), nil, []string{"--timeout", "0"}, 2, "stream/orders is not ready",
		},
		"EarlierSpec": {
			"conditions about an earlier spec do not count", stream("orders", earlier), nil, []string{"--timeout", "0"}, 2,
			"its provider has not reconciled its present spec yet",
		},
		"NotReconciled": {
			"a new object", stream("orders", set(map[string]any{}, "status")), nil, []string{"--timeout", "0"}, 2,
			"it has no conditions",
		},
		"Stalled": {
			"it ends at once", stream("orders", creating, stalled), nil, []string{"--timeout", "1h"}, 2,
			`is not ready: Stalled is True (QuotaExceeded): "no more streams"; Synced is False (ReconcileError): "observe`,
		},
		"StalledAlone": {
			"the other conditions may hold", stream("orders", with("Ready", "Unknown", "", ""), stalled), nil,
			[]string{"--timeout", "1h"}, 2, `is not ready: Stalled is True (QuotaExceeded): "no more streams"; Ready is Unknown`,
		},
		"QuotedReason": {
			"a text instead of a reason is not taken for one of this program",
			stream("orders", with("Ready", "False", "all is well). What to do: \x1b[1mnothing", "")), nil,
			[]string{"--timeout", "0"}, 2, `Ready is False ("all is well). What to do: [1mnothing")`,
		},
		"Blocked": {
			"without kstatus conditions, too",
			stream("orders", creating, with("Synced", "False", "InvalidManagementPolicy", "unknown value \"x\"")), nil,
			[]string{"--timeout", "1h"}, 2, "Correct the value.",
		},
		"Paused": {
			"it ends at once", stream("orders", creating, set("true", "metadata", "annotations", keyPaused)), nil,
			[]string{"--timeout", "1h"}, 2,
			"by the annotation krateo.io/paused. What to do: kubectl moorage resume stream/orders -n sea\n",
		},
		"PausedByPolicies": {
			"resume does not help", stream("orders", creating, set([]any{}, "spec", "managementPolicies")), nil,
			[]string{"--timeout", "1h"}, 2,
			`by the empty list spec.managementPolicies. What to do: List the actions that are allowed in spec.management`,
		},
		"Deleting": {
			"it will not be ready", stream("orders", deleting), nil, []string{"--timeout", "1h"}, 2,
			"it is being deleted, since 2026-11-28T11:00:00Z",
		},
		"Deleted": {
			"while it was waited for", stream("orders", creating),
			func(s *server) { s.remove() }, []string{"--timeout", "1h"}, 2,
			"stream/orders is not ready: it was deleted",
		},
		"Applied": {
			"ready and up to date", stream("orders"), nil, []string{"--for", "applied"}, 0, "stream/orders is applied\n",
		},
		"AppliedWithoutCondition": {
			"a provider of another library may not have the condition", stream("orders", withoutUpToDate), nil,
			[]string{"--for", "applied", "--timeout", "1h"}, 1, "kubectl moorage: it is not known whether stream/orders is " +
				"applied: its provider does not say whether the external resource is as the spec says (no condition UpToDate)\n",
		},
		"NotAppliedWithoutCondition": {
			"a condition that is not True says enough", stream("orders", withoutUpToDate, creating), nil,
			[]string{"--for", "applied", "--timeout", "0"}, 2, "stream/orders is not applied: Synced is False",
		},
		"AppliedUndated": {
			"the conditions may be about the spec before", stream("orders", undated), nil,
			[]string{"--for", "applied", "--timeout", "1h"}, 1, "it is not known whether stream/orders is applied: its " +
				"provider does not say which generation its conditions are about (no observedGeneration)\n",
		},
		"AppliedUndatedFirst": {
			"there was no spec before", stream("orders", undated, set(int64(1), "metadata", "generation")), nil,
			[]string{"--for", "applied"}, 0, "stream/orders is applied\n",
		},
		"AppliedUndatedStatus": {
			"the status has the generation of all conditions",
			stream("orders", undated, set(int64(2), "status", "observedGeneration")), nil, []string{"--for", "applied"}, 0,
			"stream/orders is applied\n",
		},
		"EarlierStatus": {
			"the status has an earlier generation", stream("orders", undated, set(int64(1), "status", "observedGeneration")),
			nil, []string{"--timeout", "0"}, 2, "its provider has not reconciled its present spec yet",
		},
		"ReadyUndated": {
			"as kubectl wait, and it is said", stream("orders", undated), nil, nil, 0,
			"stream/orders is ready\nstream/orders may be ready for an earlier spec: its provider does not say which " +
				"generation its conditions are about (no observedGeneration)\n",
		},
		"NeverApplied": {
			"policies forbid the update", stream("orders", differs), nil, []string{"--for", "applied", "--timeout", "1h"}, 2,
			"UpToDate is False (UpdateRestricted)",
		},
		"Gone": {
			"the watch shows it", stream("orders", deleting, finalizer),
			func(s *server) { s.remove() }, []string{"--for", "gone"}, 0,
			"stream/orders is gone\n",
		},
		"NotGone": {
			"who keeps it", stream("orders", deleting, finalizer), nil, []string{"--for", "gone", "--timeout", brief}, 2,
			"it has the finalizers finalizer.moorage.dev",
		},
		"NotDeleted": {
			"a user has to request it", stream("orders"), nil, []string{"--for", "gone", "--timeout", brief}, 2,
			"its deletion was not requested",
		},
		"NeverThere": {
			"what is not there is gone", stream("other"), nil, []string{"--for", "gone"}, 0, `There is no Stream "orders"`,
		},
		"Missing": {"what is not there is not ready", stream("other"), nil, nil, 1, `there is no Stream "orders"`},
		"UnknownState": {
			"states are listed", stream("orders"), nil, []string{"--for", "done"}, 1, `no state "done" to wait for; use --for`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.add("streams.nats.example.org", tc.stream)

			if tc.then != nil {
				go func() {
					s.awaitWatch(t.Context(), 1)
					tc.then(s)
				}()
			}

			got := s.run("", append([]string{"wait", "stream/orders"}, tc.args...)...)
			if got.code != tc.code || !strings.Contains(got.out+got.err, tc.want) {
				t.Errorf("%s: want exit code %d and %q, got %+v", tc.reason, tc.code, tc.want, got)
			}
		})
	}
}

// undated removes the generations of the conditions.
func undated(o map[string]any) {
	all, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, c := range all {
		delete(c.(map[string]any), "observedGeneration")
	}

	set(all, "status", "conditions")(o)
}

// TestWaitOfCategory checks that a kind of this library is known to have UpToDate only after a difference.
func TestWaitOfCategory(t *testing.T) {
	s := newServer(t)
	s.add("disks.disk.example.org", disk("d", withoutUpToDate))

	if got := s.run("", "wait", "disk/d", "--for", "applied"); got.code != 0 || got.out != "disk/d is applied\n" {
		t.Errorf("got %+v", got)
	}

	if got := s.run("", "drift"); got.code != 0 || !strings.Contains(got.err, "No object differs") {
		t.Errorf("got %+v", got)
	}
}

// withoutUpToDate removes the condition UpToDate.
func withoutUpToDate(o map[string]any) {
	all, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	all = slices.DeleteFunc(all, func(c any) bool { return c.(map[string]any)["type"] == "UpToDate" })
	set(all, "status", "conditions")(o)
}

// TestWaitForSeveral checks that objects are watched at the same time: one that cannot be ready ends the wait for all.
func TestWaitForSeveral(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("a", with("Ready", "False", "Creating", "")))
	s.add("streams.nats.example.org", stream("b", set("true", "metadata", "annotations", keyPaused),
		with("Ready", "False", "Creating", "")))
	s.add("streams.nats.example.org", stream("c"))

	got := s.run("", "wait", "streams", "--all", "--timeout", "1h", "-o", "json")

	var list struct{ Items []waited }
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || got.code != 2 || len(list.Items) != 3 {
		t.Fatalf("%v: %+v", err, got)
	}

	if list.Items[0].Reached || list.Items[1].Because == "" || !list.Items[2].Reached {
		t.Errorf("the list is %+v", list.Items)
	}

	if got := s.run("", "wait", "stream", "a", "b", "c", "--timeout", "1h"); got.code != 2 ||
		strings.Count(got.err, "is not ready") != 2 || got.out != "stream/c is ready\n" {
		t.Errorf("by their names: %+v", got)
	}
}

// TestWaitGoesOn checks that a watch that the API server ends is started again.
func TestWaitGoesOn(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", with("Ready", "False", "Creating", "")))

	s.endWatches.Store(2)

	go func() {
		s.awaitWatch(t.Context(), 3)
		s.add("streams.nats.example.org", stream("orders"))
	}()

	if got := s.run("", "wait", "stream/orders", "--timeout", "1h"); got.code != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestWaitAfterExpiry checks that an expired watch is started again from a new list, which shows what was missed.
func TestWaitAfterExpiry(t *testing.T) {
	s := newServer(t)
	s.goneMeanwhile(s.remove)
}

// TestWaitForReplacedObject checks that an object is gone if another one has its name after the watch was interrupted.
func TestWaitForReplacedObject(t *testing.T) {
	s := newServer(t)
	s.goneMeanwhile(func() {
		s.add("streams.nats.example.org", stream("orders", set("another", "metadata", "uid"),
			set("true", "metadata", "annotations", keyPaused)))
	})
}

// goneMeanwhile checks that an object that is being deleted is gone after a change that an expired watch has missed.
func (s *server) goneMeanwhile(change func()) {
	s.Helper()
	s.add("streams.nats.example.org", stream("orders", set("2026-11-28T11:00:00Z", "metadata", "deletionTimestamp")))

	s.expire = true
	s.endWatches.Store(1)

	go func() {
		s.awaitWatch(s.Context(), 1)
		change()
	}()

	if got := s.run("", "wait", "stream/orders", "--for", "gone"); got.code != 0 || got.out != "stream/orders is gone\n" {
		s.Errorf("got %+v", got)
	}
}

// TestWaitDoesNotPoll checks that nothing is read again while a watch lasts.
func TestWaitDoesNotPoll(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", with("Ready", "False", "Creating", "")))

	go func() {
		s.awaitWatch(t.Context(), 1)

		for range 5 {
			s.add("streams.nats.example.org", stream("orders", with("Ready", "False", "Creating", "")))
		}

		s.add("streams.nats.example.org", stream("orders"))
	}()

	if got := s.run("", "wait", "stream/orders"); got.code != 0 {
		t.Errorf("got %+v", got)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	reads := 0

	for _, r := range s.requests {
		if strings.Contains(r, "/streams?") {
			reads++
		}
	}

	if reads != 2 {
		t.Errorf("%d requests for the object, want a list and a watch: %v", reads, s.requests)
	}
}

// TestWaitWithoutAnAnswer checks that an object that could not be read in time does not count as ready.
func TestWaitWithoutAnAnswer(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders"))

	end := make(chan struct{})
	t.Cleanup(func() { close(end) })

	s.before = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "/namespaces/") {
			<-end
		}
	}

	check(t, runWith(t, "wait", "stream/orders", "--timeout", "50ms", "--kubeconfig", s.kubeconfig),
		`it is not known whether Stream "orders" in namespace "sea" is ready: the API server has not answered in time`)
}

// TestWaitWithoutTheServer checks that the answer is not that of an earlier state if the API server is away in the end.
func TestWaitWithoutTheServer(t *testing.T) {
	const lost = `it is not known whether Stream "orders" in namespace "sea" is ready: the connection to the API server ` +
		"was lost: "

	cases := map[string]struct {
		reason string
		limit  func(s *server) func(context.Context, time.Duration) (context.Context, context.CancelFunc)
		want   string
	}{
		"Refused": {"the watch has ended, and a new one cannot begin", (*server).leave, `cannot list Stream "orders"`},
		"Unnoticed": {
			"the watch has not told in time that the other side is gone",
			func(s *server) func(context.Context, time.Duration) (context.Context, context.CancelFunc) {
				return func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(ctx)

					go func() {
						s.awaitWatch(ctx, 1)
						_ = s.http.Listener.Close()
						s.http.CloseClientConnections()
						cancel()
					}()

					return ctx, cancel
				}
			},
			"cannot reach the API server http://127.0.0.1:",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.add("streams.nats.example.org", stream("orders", with("Ready", "False", "Creating", "")))

			check(t, runLimited(t, "", tc.limit(s), "wait", "stream/orders", "--kubeconfig", s.kubeconfig), lost+tc.want)
		})
	}
}

// TestWaitLooksOnceMore checks that a state counts that is there in the end, although no watch has shown it.
func TestWaitLooksOnceMore(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", with("Ready", "False", "Creating", "")))

	var lists atomic.Int32

	added := make(chan struct{})
	s.before = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "/streams") && r.URL.Query().Get("watch") == "" && lists.Add(1) == 2 {
			<-added
		}
	}

	limit := func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)

		go func() {
			defer close(added)
			s.awaitWatch(ctx, 1)
			cancel()
			s.add("streams.nats.example.org", stream("orders"))
		}()

		return ctx, cancel
	}

	if got := runLimited(t, "", limit, "wait", "stream/orders", "--kubeconfig", s.kubeconfig); got.code != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestForbiddenWait(t *testing.T) {
	s := newServer(t)
	s.add("streams.nats.example.org", stream("orders", with("Ready", "False", "Creating", "")))
	s.forbid["watch streams.nats.example.org"] = true

	check(t, s.run("", "wait", "stream/orders"), `you may not watch Stream "orders" in namespace "sea" (Forbidden)`)
}
