package controller_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An instance is an object of one kind, and its resource in NATS.
type instance struct {
	kind controller.Kind
	mg   resource.Managed
	outside
}

// An outside is a stream or a consumer in the hands of another client.
type outside interface {
	metadata(w *world) map[string]string

	// mark updates it with other metadata, or with none, as a tool without metadata does.
	mark(w *world, metadata map[string]string)

	// replace deletes it and creates another that looks like it, without a mark.
	replace(w *world)
}

func instances() map[string]instance {
	return map[string]instance{
		v1alpha1.StreamKind:      {controller.StreamKind(), stream(), streamOutside("orders")},
		v1alpha1.KeyValueKind:    {controller.KeyValueKind(), bucket("sessions"), streamOutside("KV_sessions")},
		v1alpha1.ObjectStoreKind: {controller.ObjectStoreKind(), objects("files"), streamOutside("OBJ_files")},
		v1alpha1.ConsumerKind:    {controller.ConsumerKind(), consumer(), consumerOutside{}},
	}
}

// A streamOutside is the stream of that name.
type streamOutside string

func (o streamOutside) metadata(w *world) map[string]string { return w.config(string(o)).Metadata }

func (o streamOutside) mark(w *world, metadata map[string]string) {
	w.t.Helper()

	cfg := w.config(string(o))
	cfg.Metadata = metadata

	_, err := w.js.UpdateStream(w.t.Context(), cfg)
	must(w.t, err)
}

func (o streamOutside) replace(w *world) {
	w.t.Helper()

	cfg := w.config(string(o))
	cfg.Metadata = nil

	must(w.t, w.js.DeleteStream(w.t.Context(), string(o)))

	_, err := w.js.CreateStream(w.t.Context(), cfg)
	must(w.t, err)
}

// A consumerOutside is the consumer "billing" of the stream "sales".
type consumerOutside struct{}

func (consumerOutside) metadata(w *world) map[string]string { return w.consumer().Metadata }

func (consumerOutside) mark(w *world, metadata map[string]string) {
	w.t.Helper()

	cfg := w.consumer()
	cfg.Metadata = metadata

	_, err := w.js.UpdateConsumer(w.t.Context(), "sales", cfg)
	must(w.t, err)
}

func (consumerOutside) replace(w *world) {
	w.t.Helper()

	cfg := w.consumer()
	cfg.Metadata = nil

	must(w.t, w.js.DeleteConsumer(w.t.Context(), "sales", "billing"))

	_, err := w.js.CreateConsumer(w.t.Context(), "sales", cfg)
	must(w.t, err)
}

// TestLostMark: a stream whose mark was removed is recognized by its creation time, and gets its mark back.
// A client serves one pass.
func TestLostMark(t *testing.T) {
	for name, i := range instances() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			must(t, w.client(i.kind, i.mg).Create(t.Context(), i.mg))

			if got := w.observe(w.client(i.kind, i.mg), i.mg); got.Owner != managed.OwnerOurs {
				t.Fatalf("after Create: %+v", got)
			}

			i.mark(w, nil)

			c := w.client(i.kind, i.mg)
			if got := w.observe(c, i.mg); got.Owner != managed.OwnerOurs || got.ResourceUpToDate {
				t.Errorf("without its mark: %+v, want ours and not up to date", got)
			}

			must(t, c.Update(t.Context(), i.mg))

			if got := w.observe(c, i.mg); got.Owner != managed.OwnerOurs || !got.ResourceUpToDate {
				t.Errorf("with its mark again: %+v", got)
			}

			if i.metadata(w)[managed.StampKey] == "" {
				t.Error("it has no mark")
			}

			i.mark(w, nil)
			must(t, w.client(i.kind, i.mg).Delete(t.Context(), i.mg))

			if got := w.observe(w.client(i.kind, i.mg), i.mg); got.ResourceExists {
				t.Errorf("after Delete: %+v", got)
			}
		})
	}
}

// TestReplaced: a stream that was created anew under the old name is not ours, even if it replaced ours a
// moment ago.
func TestReplaced(t *testing.T) {
	for name, i := range instances() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			must(t, w.client(i.kind, i.mg).Create(t.Context(), i.mg))

			c := w.client(i.kind, i.mg)
			w.observe(c, i.mg)
			i.replace(w)

			if err := c.Update(t.Context(), i.mg); err == nil {
				t.Error("Update(...): want an error")
			}

			if err := c.Delete(t.Context(), i.mg); err == nil {
				t.Error("Delete(...): want an error")
			}

			for range 2 { // The first observation does not convince the second.
				if got := w.observe(w.client(i.kind, i.mg), i.mg); got.Owner != managed.OwnerNone {
					t.Errorf("Observe(...): owner is %s, want none", got.Owner)
				}
			}

			if i.metadata(w)[managed.StampKey] != "" {
				t.Error("a foreign stream was marked")
			}
		})
	}
}

// TestLostMarkAfterOther: a resource that got another owner stays theirs, even if their mark is lost as
// well.
func TestLostMarkAfterOther(t *testing.T) {
	for name, i := range instances() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			must(t, w.client(i.kind, i.mg).Create(t.Context(), i.mg))
			w.observe(w.client(i.kind, i.mg), i.mg)

			i.mark(w, map[string]string{managed.StampKey: "other"})

			if got := w.observe(w.client(i.kind, i.mg), i.mg); got.Owner != managed.OwnerOther {
				t.Fatalf("with the mark of another: owner is %s", got.Owner)
			}

			i.mark(w, nil)

			if got := w.observe(w.client(i.kind, i.mg), i.mg); got.Owner != managed.OwnerNone {
				t.Errorf("without that mark: owner is %s, want none", got.Owner)
			}
		})
	}
}

// TestAdopt: a resource without an owner gets the mark, if the reconciler says so, and a resource that
// replaced it since the observation does not.
func TestAdopt(t *testing.T) {
	for name, i := range instances() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.client(i.kind, i.mg)
			must(t, c.Create(t.Context(), i.mg))
			i.mark(w, nil)

			if got := w.observe(c, i.mg); got.Owner != managed.OwnerNone || got.ResourceUpToDate {
				t.Errorf("before: %+v", got)
			}

			i.replace(w)

			if err := c.Update(t.Context(), i.mg); err == nil {
				t.Error("Update(...) of another stream: want an error")
			}

			w.observe(c, i.mg)
			must(t, c.Update(t.Context(), i.mg))

			if got := w.observe(c, i.mg); got.Owner != managed.OwnerOurs || !got.ResourceUpToDate {
				t.Errorf("after: %+v", got)
			}
		})
	}
}

// TestForce: a resource with the mark of another owner is updated, and marked as ours, if the reconciler
// says so: its policy is force. That holds only for the resource that it has observed, and not for one that
// got a third owner since.
func TestForce(t *testing.T) {
	theirs, thirds := map[string]string{managed.StampKey: "them"}, map[string]string{managed.StampKey: "third"}

	for name, i := range instances() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.client(i.kind, i.mg)
			must(t, c.Create(t.Context(), i.mg))

			for _, change := range []func(){
				func() { i.mark(w, theirs) }, // not observed
				func() { i.mark(w, thirds) }, // another's now
				func() { i.replace(w) },      // without an owner, and another one
				func() { i.mark(w, theirs) }, // another's again
			} {
				change()

				if err := c.Update(t.Context(), i.mg); err == nil {
					t.Errorf("Update(...) of a resource with the metadata %v: want an error", i.metadata(w))
				}

				if err := c.Delete(t.Context(), i.mg); err == nil {
					t.Errorf("Delete(...) of a resource with the metadata %v: want an error", i.metadata(w))
				}

				w.observe(c, i.mg)
			}

			if got := w.observe(c, i.mg); got.Owner != managed.OwnerOther || got.ResourceUpToDate || got.Diff != "" {
				t.Errorf("before: %+v, want another's, whose mark differs, and nothing of it shown", got)
			}

			must(t, c.Update(t.Context(), i.mg))

			if got := w.observe(c, i.mg); got.Owner != managed.OwnerOurs || !got.ResourceUpToDate {
				t.Errorf("after: %+v", got)
			}

			i.mark(w, theirs)
			w.observe(c, i.mg)
			must(t, c.Delete(t.Context(), i.mg))

			if got := w.observe(c, i.mg); got.ResourceExists {
				t.Errorf("after Delete: %+v", got)
			}
		})
	}
}

// TestOwner is the owner of a stream by its mark and the recorded creation time.
func TestOwner(t *testing.T) {
	const (
		same  = "2023-11-14T22:13:20.000000005Z"
		other = "2023-11-14T22:13:20Z"
	)

	adopted := func(s *v1alpha1.Stream) { meta.SetExternalCreateSucceeded(s, time.Unix(1, 0)) }
	adopts := func(s *v1alpha1.Stream) {
		meta.AddAnnotations(s, map[string]string{meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyIfUnowned})
	}

	cases := map[string]struct {
		reason   string
		recorded string
		mark     string
		change   []func(*v1alpha1.Stream)
		want     managed.Owner
		kept     string
	}{
		"NeverSeen": {"nothing is known", "", "", nil, managed.OwnerNone, ""},
		"Same":      {"the same to the nanosecond", same, "", nil, managed.OwnerOurs, same},
		"Other":     {"a second has room for two", other, "", nil, managed.OwnerNone, other},
		"OtherAdopted": {
			"another stream was adopted",
			other, "", []func(*v1alpha1.Stream){adopted}, managed.OwnerOther, other,
		},
		"OtherAdoptable": {
			"the user allows its adoption",
			other, "", []func(*v1alpha1.Stream){adopted, adopts}, managed.OwnerNone, other,
		},
		"Marked":  {"the mark needs no proof", other, ours(), nil, managed.OwnerOurs, same},
		"Foreign": {"another's mark wins, and the record is dropped", same, "other", nil, managed.OwnerOther, ""},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mg := stream(tc.change...)
			mg.Status.AtProvider.Created = tc.recorded

			got, err := client(&fake{info: stored(tc.mark)}, mg).Observe(t.Context(), mg)
			must(t, err)

			if diff := cmp.Diff(tc.want.String(), got.Owner.String()); diff != "" {
				t.Errorf("\n%s\nObserve(...).Owner: -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.kept, mg.Status.AtProvider.Created); diff != "" {
				t.Errorf("\n%s\nstatus.atProvider.created: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAgeless: a server that does not report when a stream was created proves nothing.
func TestAgeless(t *testing.T) {
	mg := stream()
	info := stored(ours(), func(i *jetstream.StreamInfo) { i.Created = time.Time{} })

	if _, err := client(&fake{info: info}, mg).Observe(t.Context(), mg); err != nil || mg.Status.AtProvider.Created != "" {
		t.Fatalf("created: %q, error: %v", mg.Status.AtProvider.Created, err)
	}

	delete(info.Config.Metadata, managed.StampKey)

	if got, err := client(&fake{info: info}, mg).Observe(t.Context(), mg); err != nil || got.Owner != managed.OwnerNone {
		t.Errorf("owner is %s, want none; error: %v", got.Owner, err)
	}
}

// TestOnlyLookedAt: a user who only observes a resource without an owner, by the spec or by an annotation,
// sees it, and does not become its owner.
func TestOnlyLookedAt(t *testing.T) {
	asks := map[string]func(mg resource.Managed){
		"Annotation": func(mg resource.Managed) {
			meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyManagementPolicy: meta.ManagementPolicyObserve})
		},
		"Spec": func(mg resource.Managed) { restrict(mg, commonv1.ManagementActionObserve) },
	}

	for how, ask := range asks {
		for name, i := range instances() {
			t.Run(name+how, func(t *testing.T) {
				w := newWorld(t)
				must(t, w.client(i.kind, i.mg).Create(t.Context(), i.mg))
				i.replace(w)
				meta.AddAnnotations(i.mg, map[string]string{meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyIfUnowned})
				ask(i.mg)

				for range 2 {
					if got := w.observe(w.client(i.kind, i.mg), i.mg); got.Owner != managed.OwnerNone || !got.ResourceUpToDate {
						t.Errorf("%+v, want none's, and nothing that differs", got)
					}
				}

				if c := i.mg.GetCondition("Ready"); c.Status != "True" {
					t.Errorf("condition %+v", c)
				}
			})
		}
	}
}

// restrict sets the management policies of an object.
func restrict(mg resource.Managed, policies ...commonv1.ManagementAction) {
	switch mg := mg.(type) {
	case *v1alpha1.Stream:
		mg.Spec.ManagementPolicies = policies
	case *v1alpha1.KeyValue:
		mg.Spec.ManagementPolicies = policies
	case *v1alpha1.ObjectStore:
		mg.Spec.ManagementPolicies = policies
	case *v1alpha1.Consumer:
		mg.Spec.ManagementPolicies = policies
	}
}
