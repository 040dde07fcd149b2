package controller

import (
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Kind is what the client must know of one kind of managed resource.
type Kind struct {
	name string

	// user is an empty object of the kind.
	user providerconfig.User

	// loss describes what is lost when the external resource is deleted.
	loss string

	// external returns the external name that belongs to the name of a stream, or false if the stream is not
	// of the kind. It is nil if objects of the kind are no streams.
	external func(stream string) (string, bool)

	// subjects are those of which every stream of the kind stores some, or empty.
	subjects string

	// target returns the external resource of an object, or an error that says what to do if NATS cannot have
	// a resource of that name.
	target func(nats JetStream, mg resource.Managed) (target, error)
}

// GroupVersionKind returns the kind as Kubernetes knows it.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return v1alpha1.GroupVersion().WithKind(k.name)
}

// Kinds returns all kinds that this provider manages.
func Kinds() []Kind { return []Kind{StreamKind(), KeyValueKind(), ObjectStoreKind(), ConsumerKind()} }

// StreamKind returns the kind Stream.
func StreamKind() Kind {
	return streamKind[*v1alpha1.Stream]{
		name: v1alpha1.StreamKind,
		user: &v1alpha1.Stream{},
		loss: "what is in the stream",
		stream: func(externalName string) (string, error) {
			return externalName, jsconfig.CheckStreamName(externalName)
		},
		external: func(stream string) (string, bool) { return stream, true },
		overlay: func(
			cr *v1alpha1.Stream, base jetstream.StreamConfig, own map[string]string,
		) (jetstream.StreamConfig, error) {
			return jsconfig.Stream(base, &cr.Spec.ForProvider, own)
		},
		report:   func(cr *v1alpha1.Stream, info *jetstream.StreamInfo) { cr.Status.AtProvider = observedStream(info) },
		recorded: func(cr *v1alpha1.Stream) *string { return &cr.Status.AtProvider.Created },
		details: func(_ *v1alpha1.Stream, info *jetstream.StreamInfo) map[string]string {
			subjects := slices.Sorted(slices.Values(info.Config.Subjects))

			return map[string]string{detailStream: info.Config.Name, detailSubjects: strings.Join(subjects, detailListSeparator)}
		},
	}.kind()
}

// KeyValueKind returns the kind KeyValue.
func KeyValueKind() Kind {
	return streamKind[*v1alpha1.KeyValue]{
		name: v1alpha1.KeyValueKind,
		user: &v1alpha1.KeyValue{},
		loss: "what is in the bucket",
		stream: func(externalName string) (string, error) {
			return jsconfig.BucketStream(externalName), jsconfig.CheckBucketName(externalName)
		},
		external: func(stream string) (string, bool) { return strings.CutPrefix(stream, jsconfig.BucketStream("")) },
		subjects: "$KV.>",
		overlay: func(
			cr *v1alpha1.KeyValue, base jetstream.StreamConfig, own map[string]string,
		) (jetstream.StreamConfig, error) {
			return jsconfig.KeyValue(base, &cr.Spec.ForProvider, own)
		},
		fields:   jsconfig.KeyValueFields(),
		report:   func(cr *v1alpha1.KeyValue, info *jetstream.StreamInfo) { cr.Status.AtProvider = observedBucket(info) },
		recorded: func(cr *v1alpha1.KeyValue) *string { return &cr.Status.AtProvider.Created },
		details: func(cr *v1alpha1.KeyValue, _ *jetstream.StreamInfo) map[string]string {
			return map[string]string{detailBucket: meta.GetExternalName(cr)}
		},
	}.kind()
}

// ObjectStoreKind returns the kind ObjectStore.
func ObjectStoreKind() Kind {
	return streamKind[*v1alpha1.ObjectStore]{
		name: v1alpha1.ObjectStoreKind,
		user: &v1alpha1.ObjectStore{},
		loss: "what is in the bucket",
		stream: func(externalName string) (string, error) {
			return jsconfig.ObjectStoreStream(externalName), jsconfig.CheckObjectStoreName(externalName)
		},
		external: func(stream string) (string, bool) { return strings.CutPrefix(stream, jsconfig.ObjectStoreStream("")) },
		subjects: "$O.>",
		overlay: func(
			cr *v1alpha1.ObjectStore, base jetstream.StreamConfig, own map[string]string,
		) (jetstream.StreamConfig, error) {
			return jsconfig.ObjectStore(base, &cr.Spec.ForProvider, own)
		},
		fields: jsconfig.ObjectStoreFields(),
		report: func(cr *v1alpha1.ObjectStore, info *jetstream.StreamInfo) {
			cr.Status.AtProvider = observedObjects(info)
		},
		recorded: func(cr *v1alpha1.ObjectStore) *string { return &cr.Status.AtProvider.Created },
		details: func(cr *v1alpha1.ObjectStore, _ *jetstream.StreamInfo) map[string]string {
			return map[string]string{detailBucket: meta.GetExternalName(cr)}
		},
	}.kind()
}

func errOtherKind(mg resource.Managed) error {
	return errors.Errorf("this controller was given a %T, which is not of its kind", mg)
}

func observedStream(info *jetstream.StreamInfo) v1alpha1.StreamObservation {
	return v1alpha1.StreamObservation{
		Config:        jsconfig.StreamParameters(&info.Config),
		Created:       when(info.Created),
		Messages:      counter(info.State.Msgs),
		Bytes:         counter(info.State.Bytes),
		FirstSeq:      counter(info.State.FirstSeq),
		LastSeq:       counter(info.State.LastSeq),
		ConsumerCount: int64(info.State.Consumers),
		Cluster:       observedCluster(info.Cluster),
		ServerVersion: jsconfig.ServerVersion(info.Config.Metadata),
	}
}

func observedBucket(info *jetstream.StreamInfo) v1alpha1.KeyValueObservation {
	return v1alpha1.KeyValueObservation{
		Config:        jsconfig.KeyValueParameters(&info.Config),
		Created:       when(info.Created),
		Values:        counter(info.State.Msgs),
		Bytes:         counter(info.State.Bytes),
		Cluster:       observedCluster(info.Cluster),
		ServerVersion: jsconfig.ServerVersion(info.Config.Metadata),
	}
}

func observedObjects(info *jetstream.StreamInfo) v1alpha1.ObjectStoreObservation {
	return v1alpha1.ObjectStoreObservation{
		Config:        jsconfig.ObjectStoreParameters(&info.Config),
		Created:       when(info.Created),
		Messages:      counter(info.State.Msgs),
		Bytes:         counter(info.State.Bytes),
		Cluster:       observedCluster(info.Cluster),
		ServerVersion: jsconfig.ServerVersion(info.Config.Metadata),
	}
}

// when returns the creation time as text, for comparison: two resources of the same name never have it in
// common. NATS reports it to the nanosecond, and keeps it over updates and restarts. It is empty for a
// server that does not report it.
func when(created time.Time) string {
	if created.IsZero() {
		return ""
	}

	return created.UTC().Format(time.RFC3339Nano)
}

func counter(n uint64) int64 {
	return int64(n) // A counter that does not fit takes 292 years at a message per nanosecond.
}

func observedCluster(c *jetstream.ClusterInfo) *v1alpha1.ClusterObservation {
	// A single server that belongs to no cluster reports only its own name.
	if c == nil || c.Name == "" {
		return nil
	}

	out := &v1alpha1.ClusterObservation{Name: c.Name, Leader: c.Leader}
	for _, r := range c.Replicas {
		out.Replicas = append(out.Replicas, v1alpha1.ReplicaObservation{Name: r.Name, Current: r.Current, Offline: r.Offline})
	}

	return out
}

// VolatileStatus returns the paths in status that change by themselves.
func VolatileStatus() []string {
	return strings.Fields("atProvider.messages atProvider.bytes atProvider.firstSeq atProvider.lastSeq " +
		"atProvider.consumerCount atProvider.values " +
		"atProvider.deliveredSeq atProvider.ackFloorSeq atProvider.pending atProvider.ackPending " +
		"atProvider.redelivered atProvider.waiting atProvider.bound")
}
