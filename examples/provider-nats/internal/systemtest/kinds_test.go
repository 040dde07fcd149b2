package systemtest

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A kind is what tests must know of a kind to create, change and delete an object of it.
type kind struct {
	controller.Kind
	outside

	resource string // in paths of the API server
	make     func(w *world, name string) resource.Managed

	// edit is a user's change, label sets the user's metadata.
	edit  func(mg resource.Managed)
	label func(mg resource.Managed, metadata map[string]string)

	// want sets the size of the stream. It is nil for a kind without one.
	want func(mg resource.Managed, bytes int64)
}

// An outside is the external resources of one kind, in the hands of another client.
type outside interface {
	// prepare creates the dependencies, and returns the names of their streams.
	prepare(w *world) []string

	// call is the end of the subject of an operation: INFO, CREATE.
	call(operation, name string) string

	// plant creates a resource that looks like ours, with other metadata.
	plant(w *world, name string, metadata map[string]string)

	// edited reports whether NATS has the change of edit.
	edited(w *world, name string) bool

	// metadata returns the current ones, tamper sets others and reverts edit.
	metadata(w *world, name string) map[string]string
	tamper(w *world, name string, metadata map[string]string)

	// busy increases its counters; moved returns by how much.
	busy(w *world, name string, n int)
	moved(w *world, name string) uint64
}

func kinds() map[string]kind {
	return map[string]kind{
		"Stream": streamKind(), "KeyValue": bucketKind(), "ObjectStore": objectsKind(), "Consumer": consumerKind(),
	}
}

func bytesOf(n int64) *apiresource.Quantity { return apiresource.NewQuantity(n, apiresource.BinarySI) }

func streamKind() kind {
	spec := func(mg resource.Managed) *v1alpha1.StreamParameters {
		return &mg.(*v1alpha1.Stream).Spec.ForProvider // A test of this kind has no other objects.
	}

	return kind{
		Kind:     controller.StreamKind(),
		resource: "streams",
		make:     func(w *world, name string) resource.Managed { return &v1alpha1.Stream{ObjectMeta: w.meta(name)} },
		edit:     func(mg resource.Managed) { spec(mg).MaxMsgsPerSubject = new(int64(9)) },
		label:    func(mg resource.Managed, metadata map[string]string) { spec(mg).Metadata = metadata },
		want:     func(mg resource.Managed, bytes int64) { spec(mg).MaxBytes = bytesOf(bytes) },
		outside: streams{
			stream:  func(name string) string { return name },
			subject: func(name string, _ int) string { return name },
			seen:    func(cfg jetstream.StreamConfig) bool { return cfg.MaxMsgsPerSubject == 9 },
			drift:   func(cfg *jetstream.StreamConfig) { cfg.MaxMsgsPerSubject = 3 },
		},
	}
}

func bucketKind() kind {
	spec := func(mg resource.Managed) *v1alpha1.KeyValueParameters {
		return &mg.(*v1alpha1.KeyValue).Spec.ForProvider // A test of this kind has no other objects.
	}

	return kind{
		Kind:     controller.KeyValueKind(),
		resource: "keyvalues",
		make:     func(w *world, name string) resource.Managed { return &v1alpha1.KeyValue{ObjectMeta: w.meta(name)} },
		edit:     func(mg resource.Managed) { spec(mg).History = new(int32(9)) },
		label:    func(mg resource.Managed, metadata map[string]string) { spec(mg).Metadata = metadata },
		want:     func(mg resource.Managed, bytes int64) { spec(mg).MaxBytes = bytesOf(bytes) },
		outside: streams{
			stream:  func(name string) string { return "KV_" + name },
			subject: func(name string, n int) string { return "$KV." + name + ".key" + strconv.Itoa(n%10) },
			seen:    func(cfg jetstream.StreamConfig) bool { return cfg.MaxMsgsPerSubject == 9 },
			drift:   func(cfg *jetstream.StreamConfig) { cfg.MaxMsgsPerSubject = 3 },
		},
	}
}

func objectsKind() kind {
	spec := func(mg resource.Managed) *v1alpha1.ObjectStoreParameters {
		return &mg.(*v1alpha1.ObjectStore).Spec.ForProvider // A test of this kind has no other objects.
	}

	return kind{
		Kind:     controller.ObjectStoreKind(),
		resource: "objectstores",
		make:     func(w *world, name string) resource.Managed { return &v1alpha1.ObjectStore{ObjectMeta: w.meta(name)} },
		edit:     func(mg resource.Managed) { spec(mg).Description = new("edited") },
		label:    func(mg resource.Managed, metadata map[string]string) { spec(mg).Metadata = metadata },
		want:     func(mg resource.Managed, bytes int64) { spec(mg).MaxBytes = bytesOf(bytes) },
		outside: streams{
			stream:  func(name string) string { return "OBJ_" + name },
			subject: func(name string, n int) string { return "$O." + name + ".M.object" + strconv.Itoa(n%10) },
			seen:    func(cfg jetstream.StreamConfig) bool { return cfg.Description == "edited" },
			drift:   func(cfg *jetstream.StreamConfig) { cfg.Description = "changed by hand" },
		},
	}
}

// streams are the external resources of a kind whose objects are streams.
type streams struct {
	stream  func(name string) string
	subject func(name string, n int) string // that is stored, a different one for each n
	seen    func(cfg jetstream.StreamConfig) bool
	drift   func(cfg *jetstream.StreamConfig)
}

func (s streams) prepare(*world) []string { return nil }

func (s streams) call(operation, name string) string {
	return "STREAM." + operation + "." + s.stream(name)
}

func (s streams) plant(w *world, name string, metadata map[string]string) {
	w.Helper()
	w.store(jetstream.StreamConfig{Name: s.stream(name), Subjects: []string{s.subject(name, 0)}, Metadata: metadata})
}

func (s streams) edited(w *world, name string) bool { return s.seen(w.info(s.stream(name)).Config) }

func (s streams) metadata(w *world, name string) map[string]string {
	return w.info(s.stream(name)).Config.Metadata
}

func (s streams) tamper(w *world, name string, metadata map[string]string) {
	w.Helper()

	cfg := w.info(s.stream(name)).Config
	cfg.Metadata = metadata
	s.drift(&cfg)
	_, err := w.js.UpdateStream(w.Context(), cfg)
	must(w.T, err)
}

func (s streams) busy(w *world, name string, n int) {
	w.Helper()
	must(w.T, w.nc.Publish(s.subject(name, n), []byte("busy")))
}

func (s streams) moved(w *world, name string) uint64 { return w.info(s.stream(name)).State.LastSeq }

// parent is the Stream, and the stream, of Consumers.
const parent = "parent"

func consumerKind() kind {
	spec := func(mg resource.Managed) *v1alpha1.ConsumerParameters {
		return &mg.(*v1alpha1.Consumer).Spec.ForProvider // A test of this kind has no other objects.
	}

	return kind{
		Kind:     controller.ConsumerKind(),
		resource: "consumers",
		make: func(w *world, name string) resource.Managed {
			mg := &v1alpha1.Consumer{ObjectMeta: w.meta(name)}
			mg.Spec.ForProvider.StreamRef = &commonv1.NamespacedReference{Name: parent}

			return mg
		},
		edit:    func(mg resource.Managed) { spec(mg).MaxDeliver = new(int32(9)) },
		label:   func(mg resource.Managed, metadata map[string]string) { spec(mg).Metadata = metadata },
		outside: consumers{},
	}
}

// consumers are the external resources of Consumers: those of one stream.
type consumers struct{}

func (consumers) prepare(w *world) []string {
	w.Helper()

	mg := &v1alpha1.Stream{ObjectMeta: w.meta(parent)}
	w.create(mg)
	w.awaitReady(mg)

	return []string{parent}
}

func (consumers) call(operation, name string) string {
	return "CONSUMER." + operation + "." + parent + "." + name
}

func (consumers) plant(w *world, name string, metadata map[string]string) {
	w.Helper()

	_, err := w.js.CreateConsumer(w.Context(), parent, jetstream.ConsumerConfig{Durable: name, Metadata: metadata})
	must(w.T, err)
}

func (c consumers) edited(w *world, name string) bool {
	return c.info(w, name).Config.MaxDeliver == 9
}

func (c consumers) metadata(w *world, name string) map[string]string {
	return c.info(w, name).Config.Metadata
}

func (c consumers) tamper(w *world, name string, metadata map[string]string) {
	w.Helper()

	cfg := c.info(w, name).Config
	cfg.Metadata, cfg.MaxDeliver = metadata, 3
	_, err := w.js.UpdateConsumer(w.Context(), parent, cfg)
	must(w.T, err)
}

func (consumers) busy(w *world, _ string, _ int) {
	w.Helper()
	must(w.T, w.nc.Publish(parent, []byte("busy")))
}

func (c consumers) moved(w *world, name string) uint64 { return c.info(w, name).NumPending }

func (consumers) info(w *world, name string) *jetstream.ConsumerInfo {
	w.Helper()

	c, err := w.js.Consumer(w.Context(), parent, name)
	must(w.T, err)

	return c.CachedInfo()
}

// consumersOf returns the consumers of a stream, by name.
func (w *world) consumersOf(ctx context.Context, stream string) map[string]*jetstream.ConsumerInfo {
	w.Helper()

	s, err := w.js.Stream(ctx, stream)
	must(w.T, err)

	out := map[string]*jetstream.ConsumerInfo{}

	list := s.ListConsumers(ctx)
	for info := range list.Info() {
		out[info.Name] = info
	}

	must(w.T, list.Err())

	return out
}
