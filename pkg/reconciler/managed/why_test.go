package managed_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ask requests a reconcile, makes a pass, and returns the event that answers the request.
func (g gallery) ask(request string) event.Event {
	g.Helper()
	g.annotate(meta.AnnotationKeyReconcileRequestedAt, request)
	g.taken()
	_, _ = g.try()
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.events, func(e event.Event) bool { return e.Reason == "ReconcileRequestHandled" })
	if i < 0 {
		g.Fatalf("no event answers the request: %v", g.events)
	}

	return g.events[i]
}

// A differing client names a field that differs.
type differing struct{ managed.ExternalClient }

func (d differing) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := d.ExternalClient.Observe(ctx, mg)
	o.Differences = []commonv1.Difference{{Path: "sizeGiB", Desired: "2", Observed: "1"}}

	return o, err
}

// TestARequestIsAnsweredWithTheReason verifies the answer to a request for a reconcile, and that the page shows it.
func TestARequestIsAnsweredWithTheReason(t *testing.T) {
	g := newGallery(t)
	g.wrap(func(c managed.ExternalClient) managed.ExternalClient { return differing{c} })
	g.restart()
	g.create(nil)
	g.pass()
	g.annotate(meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })

	got := g.ask("2026-01-02T15:04:05Z")
	want := event.Normal("ReconcileRequestHandled", "Handled the request for a reconcile: Tolerate. The resource is not "+
		"as desired, and the policies do not allow Update: it is left unchanged (case 6 of existing: Presence is Present, "+
		"not MayUpdate). The next reconcile is in 1m0s. UpToDate: the external resource differs, and the management "+
		"policy does not allow to change it; differs in sizeGiB.", meta.AnnotationKeyReconcileRequestedAt,
		"2026-01-02T15:04:05Z")
	want.Immediate = true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	page, err := os.ReadFile("../../../docs/conditions-and-events.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n"+got.Message+"\n") {
		t.Error("docs/conditions-and-events.md does not show this answer")
	}
}

func TestAnswersToRequests(t *testing.T) {
	const secret = "correct horse battery staple"
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		options []managed.ReconcilerOption
		change  func(g gallery)
		request string
		want    string
	}{
		"nothing is to be done": {
			want: "Keep. The resource is as desired: nothing is changed (case 4 of existing: Presence is Present, " +
				"UpToDate). The next reconcile is in 1m0s.",
		},
		"a call fails, with a secret and in two lines": {
			change: func(g gallery) {
				g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
				g.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
					if call != "Update" {
						return nil
					}
					redact.Conceal(ctx, []byte(secret))

					return errors.New("no\nquota for " + secret)
				}
			},
			want: "Update. The resource is not as desired (case 7 of existing: Presence is Present). The reconcile is " +
				"retried with backoff. Synced: update failed: no quota for [REDACTED].",
		},
		"the object is not admitted": {
			change: func(g gallery) { g.annotate(meta.AnnotationKeyManagementPolicy, "unknown") },
			want: "Reject. A policy has a value that is unknown or not supported, so the intent of the user is unknown: " +
				"nothing is changed until it is corrected (case 8 of Admit: Invalid). The next reconcile is in ",
		},
		"the poll interval hook panics": {
			options: []managed.ReconcilerOption{managed.WithPollIntervalHook(
				func(resource.Managed, time.Duration) time.Duration { panic("no") })},
			want: "Keep. The resource is as desired: nothing is changed (case 4 of existing: Presence is Present, UpToDate).",
		},
		"the request is long": {
			request: long,
			want: "Keep. The resource is as desired: nothing is changed (case 4 of existing: Presence is Present, " +
				"UpToDate). The next reconcile is in 1m0s.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t, c.options...)
			g.create(nil)
			g.pass()
			if c.change != nil {
				c.change(g)
			}
			if c.request == "" {
				c.request = "now"
			}
			got := g.ask(c.request)
			if want := "Handled the request for a reconcile: " + c.want; !strings.HasPrefix(got.Message, want) {
				t.Errorf("got  %s\nwant %s", got.Message, want)
			}
			if len(got.Message) > 768 || strings.ContainsAny(got.Message, "\n\t") {
				t.Errorf("%q is no line of at most 768 bytes", got.Message)
			}
			if _, has := got.Annotations[meta.AnnotationKeyReconcileRequestedAt]; has != (c.request != long) {
				t.Errorf("annotations: %v", got.Annotations)
			}
		})
	}
}

// TestAnswersAreBounded verifies that an answer has at most 768 bytes, and keeps its reason if the error is long.
func TestAnswersAreBounded(t *testing.T) {
	for name, tc := range map[string]struct{ policy, want string }{
		"rejected": {"unknown", "(case 8 of Admit: Invalid)"},
		"failed":   {"default", "(case 7 of existing: Presence is Present)"},
	} {
		g := newGallery(t)
		g.create(nil)
		g.pass()
		g.cloud.Before = failing("Update", errors.New(strings.Repeat("no quota\x00\n", 1000)))
		g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
		g.annotate(meta.AnnotationKeyManagementPolicy, tc.policy)
		got := g.ask("now").Message
		if len(got) > 768 || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %d bytes: %q", name, len(got), got)
		}
	}
}

// A decisionLog is a logger that keeps the lines about decisions.
type decisionLog struct {
	logging.Logger
	lines *[]string
}

func (l decisionLog) Debug(msg string, keysAndValues ...any) {
	if msg == "Decided" {
		line := ""
		for _, v := range keysAndValues {
			// the line has texts only
			line += v.(string) + " "
		}
		*l.lines = append(*l.lines, strings.TrimSpace(line))
	}
}

func (l decisionLog) WithValues(...any) logging.Logger { return l }

// TestEveryDecisionIsLogged verifies that each stage of a pass logs its decision with the reason, if debug lines are
// enabled.
func TestEveryDecisionIsLogged(t *testing.T) {
	var lines []string
	w := newWorld(t, managed.WithLogger(decisionLog{logging.NewNopLogger(), &lines}))
	w.create(nil)
	w.pass()
	lines = nil
	w.pass()
	want := []string{
		"action Observe because Observe is called, unless a list that other objects share can be used (case 1 of " +
			"observing: Presence is Unobserved).",
		"action Keep because The resource is as desired: nothing is changed (case 4 of existing: Presence is Present, " +
			"UpToDate).",
		"action WriteStatus because The outcome is not in the status yet (case 8 of Conclude: StatusWrite is NotWritten).",
		"action Report because The status is written, or could not be (case 9 of Conclude).",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	w.change(func(v *volume.Volume) {
		v.Annotations[meta.AnnotationKeyReconciliationPaused] = "true"
	})
	lines = nil
	w.pass()
	const paused = "action Pause because A paused object is not reconciled, even if it is being deleted " +
		"(case 6 of Admit: Paused)."
	if len(lines) == 0 || lines[0] != paused {
		t.Errorf("a paused object: %q", lines)
	}
}

// TestAdmissionsWithoutAPassAreLogged verifies that the end of a request is logged for which no pass begins.
func TestAdmissionsWithoutAPassAreLogged(t *testing.T) {
	var lines []string
	w := newWorld(t, managed.WithLogger(decisionLog{logging.NewNopLogger(), &lines}),
		managed.WithSpreadAfterRestart(true))
	w.pass()
	w.create(nil)
	w.pass()
	w.pass()
	w.restart()
	lines = append([]string(nil), lines[:1]...)
	w.pass()
	want := []string{
		"action Forget because The object is gone (case 4 of Admit: Reading is NotFound).",
		"action Defer because A healthy object is not reconciled at once after a start (case 5 of Admit: Deferrable).",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
