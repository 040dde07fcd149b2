package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A hand has what a broken reconciler works with.
type hand struct {
	*World

	p    *process
	c    client.Client
	b    *bucket.Bucket
	x    managed.ExternalClient
	pass int
}

func (h *hand) patch(ctx context.Context, body string) {
	_ = h.c.Patch(ctx, h.b, client.RawPatch(types.MergePatchType, []byte(body)))
}

func (h *hand) status(ctx context.Context, body string) {
	_ = h.c.Status().Patch(ctx, h.b, client.RawPatch(types.MergePatchType, []byte(body)))
}

// intend stores a finalizer and the annotation of an attempt.
func (h *hand) intend(ctx context.Context) {
	h.patch(ctx, fmt.Sprintf(`{"metadata":{"finalizers":[%q],"annotations":{%q:"2000-01-01T00:00:00Z",%q:"a"}}}`,
		managed.FinalizerName, meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyCreateAttempt))
}

// ready reports that the object is ready.
func (h *hand) ready(ctx context.Context) {
	c := commonv1.Available()
	h.status(ctx, fmt.Sprintf(`{"status":{"id":%q,"size":%d,"observedGeneration":%d,"conditions":[
		{"type":"Ready","status":"True","reason":%q,"observedGeneration":%d,"lastTransitionTime":"2000-01-01T00:00:00Z"},
		{"type":"Synced","status":"True","reason":"ReconcileSuccess","lastTransitionTime":"2000-01-01T00:00:00Z"}]}}`,
		meta.GetExternalName(h.b), h.b.Spec.Size, h.b.Generation, c.Reason, h.b.Generation))
}

func (h *hand) name(ctx context.Context) {
	h.patch(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyExternalName,
		meta.GetExternalName(h.b)))
}

// well creates the resource correctly.
func (h *hand) well(ctx context.Context) {
	if meta.GetExternalName(h.b) == "" {
		h.intend(ctx)
		_ = h.x.Create(ctx, h.b)
		h.name(ctx)
	}
	if o, err := h.x.Observe(ctx, h.b); err == nil && !o.ResourceUpToDate {
		_ = h.x.Update(ctx, h.b)
	}
	if h.b.Status.ObservedGeneration != h.b.Generation || h.b.GetCondition("Ready").Status != "True" {
		h.ready(ctx)
	}
}

// broken has, for every judge, a reconciler that violates its property.
var broken = map[string]struct {
	reason   string
	scenario string
	class    string
	faults   []Fault
	do       func(*hand, context.Context)
	again    time.Duration
	hoards   bool
}{
	"S1": {reason: "creates again in each pass", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.intend(ctx)
			_ = h.x.Create(ctx, h.b)
		}},
	"S2": {reason: "gives the object another name", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			meta.SetExternalName(h.b, fmt.Sprint("name-", h.pass))
			h.name(ctx)
		}},
	"S3": {reason: "stores the finalizer, and no intent", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.patch(ctx, fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, managed.FinalizerName))
			_ = h.x.Create(ctx, h.b)
		}},
	"S4": {reason: "creates first", scenario: "create", class: "named", do: func(h *hand, ctx context.Context) {
		meta.SetExternalName(h.b, h.b.Name)
		_ = h.x.Create(ctx, h.b)
	}},
	"S5": {reason: "lets go what it did not delete", scenario: "delete", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.well(ctx)
			if meta.WasDeleted(h.b) {
				h.patch(ctx, `{"metadata":{"finalizers":[]}}`)
			}
		}},
	"S6": {reason: "changes a resource without an owner", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.system.add(extResource{ID: "old"})
			meta.SetExternalName(h.b, "old")
			_ = h.x.Update(ctx, h.b)
		}},
	"S7": {reason: "does not look whether the object is paused", scenario: "pause", class: "opaque", do: (*hand).well},
	"S8": {
		reason: "creates again when the clock says so", scenario: "create", class: "opaque",
		faults: []Fault{{Op: "patch/status", N: 1, Kind: ClockBack}},
		do: func(h *hand, ctx context.Context) {
			if h.p.clock.by < 0 {
				h.intend(ctx)
				_ = h.x.Create(ctx, h.b)
			}
			h.well(ctx)
		},
	},
	"S9": {reason: "changes what a predecessor left", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.system.add(extResource{ID: "old", For: "a predecessor"})
			meta.SetExternalName(h.b, "old")
			_ = h.x.Update(ctx, h.b)
		}},
	"S10": {reason: "emits the error unredacted", scenario: "create", class: "opaque",
		do: func(h *hand, _ context.Context) {
			h.sinks.Event(h.b, event.Normal("Created", "with password "+canary))
		}},
	"S12": {reason: "writes whatever Secret has the name", scenario: "publish-taken", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.well(ctx)
			h.overwrite(ctx)
		}},
	"S13": {
		reason: "does not ask whether it is still the leader", scenario: "create", class: "opaque",
		faults: []Fault{{Op: "Connect", N: 1, Kind: LeaseLost}},
		do:     func(h *hand, ctx context.Context) { h.well(context.WithoutCancel(ctx)) },
	},
	"S14": {reason: "calls ready what it did not look at", scenario: "create", class: "opaque", do: (*hand).ready},
	"S15": {reason: "updates twice", scenario: "create", class: "opaque", do: func(h *hand, ctx context.Context) {
		h.well(ctx)
		_ = h.x.Update(ctx, h.b)
	}},
	"S16": {reason: "writes annotations as it read them", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.users.Touch()
			h.patch(ctx, `{"metadata":{"annotations":{"example.com/touched":"0"}}}`)
		}},
	"S17": {reason: "goes on with what it read before it wrote", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			before := h.b.DeepCopyObject().(*bucket.Bucket)
			h.intend(ctx)
			_, _ = h.x.Observe(ctx, before)
		}},
	"S25": {reason: "creates although the Secret for the details has another owner", scenario: "create-tells-taken",
		class: "opaque", do: func(h *hand, ctx context.Context) {
			h.intend(ctx)
			_ = h.x.Create(ctx, h.b)
		}},
	"S25 of an observation": {reason: "observes before it stores the details of Create", scenario: "create-tells",
		class: "opaque",
		do:    (*hand).well},
	"S26": {reason: "takes the finalizer of a predecessor away first", scenario: "predecessor", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.patch(ctx, `{"metadata":{"finalizers":[]}}`)
		}},
	"S26 in deletion": {reason: "lets go what a predecessor has made", scenario: "predecessor-deleted", class: "named",
		do: func(h *hand, ctx context.Context) {
			h.patch(ctx, `{"metadata":{"finalizers":[]}}`)
		}},
	"S27": {reason: "does not ask what a predecessor began", scenario: "predecessor-pending",
		class: "token", do: (*hand).well},
	"S1 of a predecessor with our keys": {reason: "does not ask what provider-runtime began",
		scenario: "predecessor-krateo-pending", class: "token", do: (*hand).well},
	"S7 of a predecessor's pause": {reason: "knows no pause but its own", scenario: "predecessor-paused",
		class: "opaque",
		do: func(h *hand, ctx context.Context) {
			meta.SetExternalName(h.b, "old")
			h.well(ctx)
		}},
	"S20 of a predecessor's pause": {reason: "takes over the name while the object is paused",
		scenario: "predecessor-paused", class: "opaque", do: func(h *hand, ctx context.Context) {
			meta.SetExternalName(h.b, "old")
			h.name(ctx)
		}},
	"L1": {reason: "does nothing", scenario: "create", class: "opaque", do: func(*hand, context.Context) {}},
	"L2": {reason: "never lets go", scenario: "delete", class: "opaque", do: (*hand).well},
	"L3": {reason: "waits for a human without need", scenario: "create", class: "named",
		do: func(h *hand, ctx context.Context) {
			h.status(ctx,
				`{"status":{"conditions":[{"type":"Synced","status":"False","reason":"CreationUnresolved",`+
					`"lastTransitionTime":"2000-01-01T00:00:00Z"}]}}`)
		}},
	"L4": {reason: "writes in each pass", scenario: "create", class: "opaque", do: func(h *hand, ctx context.Context) {
		h.well(ctx)
		h.status(ctx, fmt.Sprintf(`{"status":{"lastHandledReconcileAt":"%d"}}`, h.pass))
	}},
	"S11": {reason: "reads a Secret of another namespace", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.well(ctx)
			_ = h.c.Get(ctx, client.ObjectKey{Namespace: "other", Name: "credentials"}, &corev1.Secret{})
		}},
	"S18": {reason: "writes what it observes", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.well(ctx)
			if x, err := (&seam{of: scribbler{h}, process: h.p}).Connect(ctx, h.b); err == nil {
				_, _ = x.Observe(ctx, h.b)
			}
		}},
	"S19": {
		reason: "replaces all conditions", scenario: "update", class: "opaque",
		faults: []Fault{{Op: "patch/status", N: 3, Kind: Conflict}},
		do: func(h *hand, ctx context.Context) {
			h.well(ctx)
			h.ready(ctx)
		},
	},
	"S20": {reason: "notes that it does nothing", scenario: "pause", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			if !meta.IsPaused(h.b) {
				h.well(ctx)

				return
			}
			h.patch(ctx, `{"metadata":{"annotations":{"example.com/rests":"true"}}}`)
		}},
	"S21": {reason: "does not ask where it is", scenario: "backend", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.well(ctx)
			if h.b.Annotations[meta.AnnotationKeyBackendIdentity] == "" {
				h.patch(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyBackendIdentity,
					h.system.backend))
			}
			if h.system.find(meta.GetExternalName(h.b)) == nil {
				_ = h.x.Update(ctx, h.b)
			}
		}},
	"S22": {reason: "does not ask why the object goes", scenario: "guard", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			if !meta.WasDeleted(h.b) {
				h.well(ctx)

				return
			}
			_ = h.x.Delete(ctx, h.b)
			h.patch(ctx, `{"metadata":{"finalizers":[]}}`)
		}},
	"S23": {
		reason: "deletes and makes anew what it cannot look at", scenario: "create", class: "opaque",
		faults: []Fault{{Op: "Observe", N: 3, Kind: Fail}},
		do: func(h *hand, ctx context.Context) {
			if _, err := h.x.Observe(ctx, h.b); err != nil && meta.GetExternalName(h.b) != "" {
				_ = h.x.Delete(ctx, h.b)
				h.b.Annotations[meta.AnnotationKeyExternalName] = ""
			}
			h.well(ctx)
		},
	},
	"S24": {reason: "notes on what the cache keeps that it was seen", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			h.well(ctx)
			kept := &bucket.Bucket{}
			if err := h.c.Get(ctx, keyOf(h.b), kept, asKept); err == nil && kept.Annotations != nil {
				kept.Annotations["example.com/seen"] = "true"
			}
		}},
	"L6": {reason: "says of nothing that it is not urgent", scenario: "storm", class: "named", do: (*hand).well},
	"L7": {
		reason: "asks again soon, for ever", scenario: "create", class: "opaque",
		faults: []Fault{{Op: "Observe", N: 1, Kind: ExternalOut, For: 10 * time.Minute}},
		again:  10 * time.Second, do: (*hand).well,
	},
	"L7 of the API server": {
		reason: "sends what was not stored again until it is", scenario: "create", class: "opaque",
		faults: []Fault{{Op: "patch", N: 1, Kind: Outage}},
		do: func(h *hand, ctx context.Context) {
			for range 50 {
				h.intend(ctx)
			}
			h.well(ctx)
		},
	},
	"L5 of requests": {
		reason: "writes what is there again and again", scenario: "create", class: "opaque",
		do: func(h *hand, ctx context.Context) {
			for range 200 {
				h.intend(ctx)
			}
			h.well(ctx)
		},
	},
	"L8": {reason: "counts its passes by object, and never forgets", scenario: "churn", class: "opaque", hoards: true,
		do: func(h *hand, ctx context.Context) {
			if !meta.WasDeleted(h.b) {
				h.well(ctx)

				return
			}
			_ = h.x.Delete(ctx, h.b)
			h.patch(ctx, `{"metadata":{"finalizers":[]}}`)
		}},
	"L5": {
		reason: "tries again at once, for ever", scenario: "create", class: "opaque", again: 10 * time.Second,
		do: func(*hand, context.Context) {},
	},
}

// asKept reads the cached object itself.
var asKept = &client.GetOptions{UnsafeDisableDeepCopy: new(true)}

// A scribbler writes while it observes.
type scribbler struct{ hand *hand }

func (s scribbler) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return s, nil
}

func (s scribbler) Observe(ctx context.Context, _ resource.Managed) (managed.ExternalObservation, error) {
	s.hand.status(ctx, fmt.Sprintf(`{"status":{"lastHandledReconcileAt":"%d"}}`, s.hand.pass))

	return managed.ExternalObservation{ResourceExists: true}, nil
}

func (scribbler) Create(context.Context, resource.Managed) error { return nil }
func (scribbler) Update(context.Context, resource.Managed) error { return nil }
func (scribbler) Delete(context.Context, resource.Managed) error { return nil }

// A hoarder retains something of every object.
type hoarder struct {
	reconcile.Reconciler

	passes map[reconcile.Request]int
}

func (h *hoarder) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	h.passes[req]++

	return h.Reconciler.Reconcile(ctx, req)
}

// TestJudges checks that each property is found to be violated by a reconciler that violates it.
func TestJudges(t *testing.T) {
	judged := map[string]bool{}
	for name, c := range broken {
		property, _, _ := strings.Cut(name, " ")
		judged[property] = true
		t.Run(name, func(t *testing.T) {
			r := runWith(t, Schedule{Scenario: c.scenario, Class: c.class, Faults: c.faults}, c.hoards,
				func(h *hand, ctx context.Context) (reconcile.Result, error) {
					c.do(h, ctx)

					return reconcile.Result{RequeueAfter: cmp.Or(c.again, pollInterval)}, nil
				})
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Property == property }) {
				t.Errorf("a reconciler that %s: no violation of %s (%s), but %v", c.reason, property,
					Properties[property],
					r.Violations)
			}
		})
	}
	for name := range brokenPlans { // see TestPlanJudges
		judged[name[:3]] = true
	}
	for property := range Properties {
		if !judged[property] {
			t.Errorf("no broken reconciler shows that %s (%s) is judged", property, Properties[property])
		}
	}
}

func (h *hand) overwrite(ctx context.Context) {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: firstKey.Namespace, Name: "details"}}
	_ = h.c.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"data":{"password":"eA=="}}`)))
}
