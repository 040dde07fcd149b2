package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// restored is a fault by which a process does not know of a restore for two seconds.
func restored(op string, n int) Fault { return Fault{Op: op, N: n, Kind: Rewound} }

// TestExcusesAreNarrow checks that an exemption excuses one case, and not another that looks alike.
func TestExcusesAreNarrow(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		property string
		scenario string
		class    string
		faults   []Fault
		do       func(*hand, context.Context)
	}{
		"a process does not know of a restore, and no version came again: ready": {
			reason: "calls ready what it did not look at", property: "S14", scenario: "create",
			faults: []Fault{restored("get", 2)},
			do: func(h *hand, ctx context.Context) {
				if h.intend(ctx); h.p.restored.outdated {
					h.ready(ctx)
				}
			},
		},
		"a process does not know of a restore, and no version came again: conditions": {
			reason: "replaces all conditions", property: "S19", scenario: "create", faults: []Fault{restored("get", 2)},
			do: func(h *hand, ctx context.Context) {
				if h.well(ctx); h.p.restored.outdated {
					h.users.Touch()
					h.ready(ctx)
				}
			},
		},
		"a process does not know of a restore, and the object was replaced: intent": {
			reason: "stores no intent", property: "S3", scenario: "create",
			faults: []Fault{restored("get", 2), {Op: "Connect", N: 2, Kind: Strip}},
			do: func(h *hand, ctx context.Context) {
				if h.well(ctx); h.p.restored.outdated {
					h.patch(ctx, fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, managed.FinalizerName))
					meta.AddAnnotations(h.b, map[string]string{meta.AnnotationKeyCreateAttempt: "another"})
					_ = h.x.Create(ctx, h.b)
				}
			},
		},
		"finalizers are dropped, and none is sent": {
			reason: "does not put the finalizer back", property: "S5", scenario: "delete",
			faults: []Fault{{Op: "Observe", N: 3, Kind: StripFinalizers}, {
				Op: "Observe", N: 4, Kind: DroppedFinalizers, For: 10 * time.Minute,
			}},
			do: (*hand).well,
		},
		"an error hides the answer of one Create": {
			reason: "creates twice more", property: "S1", scenario: "create", class: defaultClass,
			faults: []Fault{{Op: "Create", N: 1, Kind: Lost}},
			do: func(h *hand, ctx context.Context) {
				if h.pass <= 3 {
					h.patch(ctx, fmt.Sprintf(`{"metadata":{"finalizers":[%q],"annotations":{%q:"2000-01-01T00:00:00Z",%q:"a%d"}}}`,
						managed.FinalizerName, meta.AnnotationKeyExternalCreatePending,
						meta.AnnotationKeyCreateAttempt, h.pass))
					_ = h.x.Create(ctx, h.b)
				}
			},
		},
		"an error says that the answer of Create is lost": {
			reason: "creates once more", property: "S1", scenario: "create", class: defaultClass,
			faults: []Fault{{Op: "Create", N: 1, Kind: LostReported}},
			do: func(h *hand, ctx context.Context) {
				if h.pass <= 2 {
					h.intend(ctx)
					_ = h.x.Create(ctx, h.b)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := runWith(t, Schedule{
				Scenario: c.scenario, Class: cmp.Or(c.class, "opaque"), Faults: c.faults,
			}, false, func(h *hand, ctx context.Context) (reconcile.Result, error) {
				c.do(h, ctx)

				return reconcile.Result{RequeueAfter: pollInterval}, nil
			})
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Property == c.property }) {
				t.Errorf("a reconciler that %s: no violation of %s, but %v", c.reason, c.property, r.Violations)
			}
		})
	}
}

// TestTwoResources checks that an object may have a second resource only if the resource of its own name was deleted
// out of band.
func TestTwoResources(t *testing.T) {
	for name, c := range map[string]struct {
		reason    string
		resources int
		left      bool
		vacated   string
		undeleted types.UID
		want      int
	}{
		"one": {reason: "that is what an object has", resources: 1},
		"two": {reason: "no user wants one to stay", resources: 2, vacated: "other", want: 2},
		"left, and there": {
			reason: "what it stands for is there, so that nothing is made", resources: 2,
			left: true, want: 2,
		},
		"another's": {
			reason: "what another object stood for was taken away", resources: 2, left: true,
			vacated: "another's", want: 2,
		},
		"its own": {
			reason: "the first was left, and the second taken away", resources: 2, left: true,
			vacated: "other",
		},
		"three": {reason: "only one was left", resources: 3, left: true, vacated: "other", want: 3},
		"deleted": {
			reason: "a process did not know that a restore had undone the deletion", resources: 2, left: true,
			undeleted: "the object",
		},
		"another deleted": {
			reason: "the same, of another object", resources: 2, left: true, undeleted: "another", want: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, err := prepare(Schedule{Scenario: "create", Class: "opaque"})
				if err != nil {
					t.Fatal(err)
				}
				uid := w.users.create(newBucket("first", meta.AnnotationKeyExternalName, "other"))
				w.users.left[uid] = c.left
				for i := range c.resources {
					w.system.add(extResource{ID: fmt.Sprint("bucket-", i), For: uid})
				}
				if c.vacated != "" {
					w.exempt.vacated[c.vacated] = true
				}
				if of := c.undeleted; of != "" {
					if of == "the object" {
						of = uid
					}
					w.exempt.undeleted[exemption{kind: Rewound, of: of}] = false
				}
				if got := w.tooMany(uid); got != c.want {
					t.Errorf("%s: there are %d too many, want %d", c.reason, got, c.want)
				}
				if used := len(w.exempt.undeleted.used()) > 0; used != (name == "deleted") {
					t.Errorf("%s: that an exemption was used is %t", c.reason, used)
				}
			})
		})
	}
}
