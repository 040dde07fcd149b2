package controller_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A world is a NATS server with the stream "sales", seen by the provider and by its administrator.
type world struct {
	t    *testing.T
	conn *natsconn.Conn
	js   jetstream.JetStream
}

func newWorld(t *testing.T) *world {
	t.Helper()

	s := natstest.Start(t)
	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{s.ClientURL()}}}

	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), nil)
	if err != nil {
		t.Fatal(err)
	}

	conn, err := natsconn.Dial(t.Context(), settings, nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(conn.Close)

	w := &world{t: t, conn: conn, js: natstest.JetStream(t, s)}
	_, err = w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "sales", Subjects: []string{"sales.>"}})
	must(t, err)

	return w
}

func (w *world) client(kind controller.Kind, mg resource.Managed) *controller.Client {
	return controller.NewClient(&controller.Link{JetStream: w.conn, Release: func() {}}, kind, stamp(kind, mg))
}

func (w *world) observe(c *controller.Client, mg resource.Managed) managed.ExternalObservation {
	w.t.Helper()

	out, err := c.Observe(w.t.Context(), mg)
	if err != nil {
		w.t.Fatal(err)
	}

	return out
}

func (w *world) config(name string) jetstream.StreamConfig {
	w.t.Helper()

	s, err := w.js.Stream(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}

	return s.CachedInfo().Config
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// consumer returns the configuration of the consumer "billing" of the stream "sales".
func (w *world) consumer() jetstream.ConsumerConfig {
	w.t.Helper()

	c, err := w.js.Consumer(w.t.Context(), "sales", "billing")
	if err != nil {
		w.t.Fatal(err)
	}

	return c.CachedInfo().Config
}

func bucket(name string) *v1alpha1.KeyValue {
	out := &v1alpha1.KeyValue{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid-of-bucket"}}
	meta.SetExternalName(out, name)

	return out
}

func objects(name string) *v1alpha1.ObjectStore {
	out := &v1alpha1.ObjectStore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid-of-objects"}}
	meta.SetExternalName(out, name)

	return out
}

// consumer returns the Consumer "billing" of the stream "sales".
func consumer(change ...func(*v1alpha1.Consumer)) *v1alpha1.Consumer {
	out := &v1alpha1.Consumer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "billing", UID: "uid-of-consumer"}}
	out.Spec.ForProvider.Stream = new("sales")
	meta.SetExternalName(out, "billing")

	for _, fn := range change {
		fn(out)
	}

	return out
}

// TestLife leads one object of each kind from creation to deletion.
func TestLife(t *testing.T) {
	settled := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: managed.OwnerOurs}

	orders, sessions, files, billing := stream(), bucket("sessions"), objects("files"), consumer()
	minute := &v1alpha1.Duration{Duration: metav1.Duration{Duration: time.Minute}}

	cases := map[string]struct {
		kind   controller.Kind
		mg     resource.Managed
		change func()
		see    func(w *world) any
		want   any
	}{
		"Stream": {
			kind: controller.StreamKind(), mg: orders,
			change: func() { orders.Spec.ForProvider.MaxMsgs = new(int64(9)) },
			see:    func(w *world) any { return w.config("orders").MaxMsgs }, want: int64(9),
		},
		"KeyValue": {
			kind: controller.KeyValueKind(), mg: sessions,
			change: func() { sessions.Spec.ForProvider.TTL = minute },
			see:    func(w *world) any { return w.config("KV_sessions").MaxAge }, want: time.Minute,
		},
		"ObjectStore": {
			kind: controller.ObjectStoreKind(), mg: files,
			change: func() { files.Spec.ForProvider.TTL = minute },
			see:    func(w *world) any { return w.config("OBJ_files").MaxAge }, want: time.Minute,
		},
		"Consumer": {
			kind: controller.ConsumerKind(), mg: billing,
			change: func() { billing.Spec.ForProvider.AckWait = minute },
			see:    func(w *world) any { return w.consumer().AckWait }, want: time.Minute,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.client(tc.kind, tc.mg)

			if got := w.observe(c, tc.mg); got.ResourceExists {
				t.Errorf("before Create: %+v", got)
			}

			must(t, c.Create(t.Context(), tc.mg))

			if diff := cmp.Diff(settled, w.observe(c, tc.mg)); diff != "" {
				t.Errorf("after Create: -want, +got:\n%s", diff)
			}

			// The answer to the first Create may have been lost.
			must(t, c.Create(t.Context(), tc.mg))

			tc.change()

			if got := w.observe(c, tc.mg); got.ResourceUpToDate || got.Diff == "" {
				t.Errorf("after a change of the spec: %+v", got)
			}

			// The first Create once more, after the change: the name is taken, by us.
			if err := c.Create(t.Context(), tc.mg); !external.IsAlreadyExists(err) {
				t.Errorf("Create(...) after a change: %v", err)
			}

			must(t, c.Update(t.Context(), tc.mg))

			if diff := cmp.Diff(settled, w.observe(c, tc.mg)); diff != "" {
				t.Errorf("after Update: -want, +got:\n%s", diff)
			}

			if diff := cmp.Diff(tc.want, tc.see(w)); diff != "" {
				t.Errorf("in NATS: -want, +got:\n%s", diff)
			}

			must(t, c.Delete(t.Context(), tc.mg))
			must(t, c.Delete(t.Context(), tc.mg))

			if got := w.observe(c, tc.mg); got.ResourceExists {
				t.Errorf("after Delete: %+v", got)
			}
		})
	}
}

// TestOwnership lets two objects ask for one stream.
func TestOwnership(t *testing.T) {
	cases := map[string]struct {
		reason    string
		first     resource.Managed
		firstKind controller.Kind
		other     resource.Managed
		otherKind controller.Kind
	}{
		"OtherObject": {
			"two objects, one external name", stream(), controller.StreamKind(),
			stream(func(s *v1alpha1.Stream) { s.Name, s.UID = "copy", "other" }), controller.StreamKind(),
		},
		"OtherKind": {
			"a bucket is a stream", bucket("x"), controller.KeyValueKind(),
			stream(func(s *v1alpha1.Stream) { meta.SetExternalName(s, "KV_x") }), controller.StreamKind(),
		},
		"OtherKindReverse": {
			"a stream may look like a bucket", stream(func(s *v1alpha1.Stream) { meta.SetExternalName(s, "KV_x") }),
			controller.StreamKind(), bucket("x"), controller.KeyValueKind(),
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first, other := w.client(tc.firstKind, tc.first), w.client(tc.otherKind, tc.other)

			must(t, first.Create(t.Context(), tc.first))

			if err := other.Create(t.Context(), tc.other); !external.IsAlreadyExists(err) {
				t.Errorf("\n%s\nCreate(...): want already exists, got %v", tc.reason, err)
			}

			if got := w.observe(other, tc.other).Owner; got != managed.OwnerOther {
				t.Errorf("\n%s\nObserve(...): owner is %s, want other", tc.reason, got)
			}

			// The reconciler, which has observed that, calls neither. A client that has not observed it does
			// nothing.
			other = w.client(tc.otherKind, tc.other)

			if err := other.Update(t.Context(), tc.other); err == nil {
				t.Errorf("\n%s\nUpdate(...): want an error", tc.reason)
			}

			if err := other.Delete(t.Context(), tc.other); err == nil {
				t.Errorf("\n%s\nDelete(...): want an error", tc.reason)
			}

			if got := w.observe(first, tc.first); got.Owner != managed.OwnerOurs || !got.ResourceUpToDate {
				t.Errorf("\n%s\nthe first now observes %+v", tc.reason, got)
			}
		})
	}
}

// TestUpdateKeepsUnspecifiedValues: a value that the spec leaves out survives the update of another.
func TestUpdateKeepsUnspecifiedValues(t *testing.T) {
	w, mg := newWorld(t), stream()
	c := w.client(controller.StreamKind(), mg)
	must(t, c.Create(t.Context(), mg))

	cfg := w.config("orders")
	cfg.MaxConsumers = 4

	_, err := w.js.UpdateStream(t.Context(), cfg)
	must(t, err)

	if got := w.observe(c, mg); !got.ResourceUpToDate {
		t.Errorf("a value that the spec leaves out counts as drift: %s", got.Diff)
	}

	mg.Spec.ForProvider.MaxMsgs = new(int64(9))

	must(t, c.Update(t.Context(), mg))

	if got := w.config("orders"); got.MaxConsumers != 4 || got.MaxMsgs != 9 {
		t.Errorf("maxConsumers %d, maxMsgs %d; want 4 and 9", got.MaxConsumers, got.MaxMsgs)
	}
}

// TestSealed: a sealed stream is created open, and sealed by the first update.
func TestSealed(t *testing.T) {
	w, mg := newWorld(t), stream(func(s *v1alpha1.Stream) { s.Spec.ForProvider.Sealed = new(true) })
	c := w.client(controller.StreamKind(), mg)
	must(t, c.Create(t.Context(), mg))

	if got := w.observe(c, mg); got.ResourceUpToDate {
		t.Errorf("after Create: %+v", got)
	}

	must(t, c.Update(t.Context(), mg))

	if got := w.observe(c, mg); !got.ResourceUpToDate || !w.config("orders").Sealed {
		t.Errorf("after Update: %+v", got)
	}
}

// TestSubjectsOverlap checks the classification of the answer of the real server.
func TestSubjectsOverlap(t *testing.T) {
	w, mg := newWorld(t), stream()
	_, err := w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "wide", Subjects: []string{"*"}})
	must(t, err)

	err = w.client(controller.StreamKind(), mg).Create(t.Context(), mg)
	if reason, _ := external.TerminalReason(err); reason != "SubjectsOverlap" {
		t.Errorf("Create(...): want the reason SubjectsOverlap, got %q: %v", reason, err)
	}
}
