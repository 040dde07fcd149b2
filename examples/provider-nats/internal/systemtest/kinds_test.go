package systemtest

import (
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A kind is what tests must know to lead an object of either kind through its
// life.
type kind struct {
	controller.Kind

	resource string // in paths of the API server
	make     func(w *world, name string) resource.Managed
	stream   func(name string) string

	// edit is a user's change, seen says that NATS has it, and drift undoes it.
	edit  func(mg resource.Managed)
	seen  func(cfg jetstream.StreamConfig) bool
	drift func(cfg *jetstream.StreamConfig)

	// want sets how many bytes the stream may take.
	want func(mg resource.Managed, bytes int64)

	// label sets the user's metadata.
	label func(mg resource.Managed, metadata map[string]string)

	// subject is one that is stored, for each n another.
	subject func(name string, n int) string
}

func kinds() map[string]kind {
	return map[string]kind{"Stream": streamKind(), "KeyValue": bucketKind()}
}

func streamKind() kind {
	spec := func(mg resource.Managed) *v1alpha1.StreamParameters {
		return &mg.(*v1alpha1.Stream).Spec.ForProvider // A test of this kind has no other objects.
	}

	return kind{
		Kind:     controller.StreamKind(),
		resource: "streams",
		make:     func(w *world, name string) resource.Managed { return &v1alpha1.Stream{ObjectMeta: w.meta(name)} },
		stream:   func(name string) string { return name },
		edit:     func(mg resource.Managed) { spec(mg).MaxMsgsPerSubject = new(int64(9)) },
		seen:     func(cfg jetstream.StreamConfig) bool { return cfg.MaxMsgsPerSubject == 9 },
		drift:    func(cfg *jetstream.StreamConfig) { cfg.MaxMsgsPerSubject = 3 },
		want: func(mg resource.Managed, bytes int64) {
			spec(mg).MaxBytes = apiresource.NewQuantity(bytes, apiresource.BinarySI)
		},
		label:   func(mg resource.Managed, metadata map[string]string) { spec(mg).Metadata = metadata },
		subject: func(name string, _ int) string { return name },
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
		stream:   func(name string) string { return "KV_" + name },
		edit:     func(mg resource.Managed) { spec(mg).History = new(int32(9)) },
		seen:     func(cfg jetstream.StreamConfig) bool { return cfg.MaxMsgsPerSubject == 9 },
		drift:    func(cfg *jetstream.StreamConfig) { cfg.MaxMsgsPerSubject = 3 },
		want: func(mg resource.Managed, bytes int64) {
			spec(mg).MaxBytes = apiresource.NewQuantity(bytes, apiresource.BinarySI)
		},
		label:   func(mg resource.Managed, metadata map[string]string) { spec(mg).Metadata = metadata },
		subject: func(name string, n int) string { return "$KV." + name + ".key" + strconv.Itoa(n%10) },
	}
}
