package controller

import (
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Kind is what the client must know about one kind of managed resource.
type Kind struct {
	name string

	// noun is what NATS calls it.
	noun string

	// stream returns the name of the stream behind an external name, or an
	// error that says what to do if NATS can have none of that name.
	stream func(externalName string) (string, error)

	// overlay returns base with everything on it that the object asks for.
	overlay func(mg resource.Managed, base jetstream.StreamConfig, own map[string]string) (jetstream.StreamConfig, error)

	// report puts what was seen into the object's status.
	report func(mg resource.Managed, info *jetstream.StreamInfo) error

	// recorded is where the object's status keeps when its stream was created.
	recorded func(mg resource.Managed) *string
}

// GroupVersionKind returns the kind as Kubernetes knows it.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return v1alpha1.GroupVersion().WithKind(k.name)
}

// Kinds returns all kinds that this provider manages.
func Kinds() []Kind { return []Kind{StreamKind(), KeyValueKind()} }

// StreamKind returns the kind Stream.
func StreamKind() Kind {
	return Kind{
		name: v1alpha1.StreamKind,
		noun: "stream",
		stream: func(externalName string) (string, error) {
			return externalName, jsconfig.CheckStreamName(externalName)
		},
		overlay: func(mg resource.Managed, base jetstream.StreamConfig, own map[string]string) (jetstream.StreamConfig, error) {
			cr, ok := mg.(*v1alpha1.Stream)
			if !ok {
				return base, errOtherKind(mg)
			}

			return jsconfig.Stream(base, &cr.Spec.ForProvider, own)
		},
		report: func(mg resource.Managed, info *jetstream.StreamInfo) error {
			cr, ok := mg.(*v1alpha1.Stream)
			if !ok {
				return errOtherKind(mg)
			}

			cr.Status.AtProvider = observedStream(info)

			return nil
		},
		recorded: func(mg resource.Managed) *string {
			cr, ok := mg.(*v1alpha1.Stream)
			if !ok {
				return new(string)
			}

			return &cr.Status.AtProvider.Created
		},
	}
}

// KeyValueKind returns the kind KeyValue.
func KeyValueKind() Kind {
	return Kind{
		name: v1alpha1.KeyValueKind,
		noun: "bucket",
		stream: func(externalName string) (string, error) {
			return jsconfig.BucketStream(externalName), jsconfig.CheckBucketName(externalName)
		},
		overlay: func(mg resource.Managed, base jetstream.StreamConfig, own map[string]string) (jetstream.StreamConfig, error) {
			cr, ok := mg.(*v1alpha1.KeyValue)
			if !ok {
				return base, errOtherKind(mg)
			}

			return jsconfig.KeyValue(base, &cr.Spec.ForProvider, own)
		},
		report: func(mg resource.Managed, info *jetstream.StreamInfo) error {
			cr, ok := mg.(*v1alpha1.KeyValue)
			if !ok {
				return errOtherKind(mg)
			}

			cr.Status.AtProvider = observedBucket(info)

			return nil
		},
		recorded: func(mg resource.Managed) *string {
			cr, ok := mg.(*v1alpha1.KeyValue)
			if !ok {
				return new(string)
			}

			return &cr.Status.AtProvider.Created
		},
	}
}

func errOtherKind(mg resource.Managed) error {
	return errors.Errorf("this controller was given a %T, which is not of its kind", mg)
}

func observedStream(info *jetstream.StreamInfo) v1alpha1.StreamObservation {
	return v1alpha1.StreamObservation{
		Config:        jsconfig.StreamParameters(&info.Config),
		Created:       created(info),
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
		Created:       created(info),
		Values:        counter(info.State.Msgs),
		Bytes:         counter(info.State.Bytes),
		Cluster:       observedCluster(info.Cluster),
		ServerVersion: jsconfig.ServerVersion(info.Config.Metadata),
	}
}

// created returns when a stream was created, for comparison: no two streams of
// a name have that in common. NATS tells it to the nanosecond, and keeps it over
// updates and restarts. Nothing stands for a server that does not tell.
func created(info *jetstream.StreamInfo) string {
	if info.Created.IsZero() {
		return ""
	}

	return info.Created.UTC().Format(time.RFC3339Nano)
}

func counter(n uint64) int64 {
	return int64(n) // A counter that does not fit takes 292 years at a message per nanosecond.
}

func observedCluster(c *jetstream.ClusterInfo) *v1alpha1.ClusterObservation {
	// A single server that belongs to no cluster tells only its own name.
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
		"atProvider.consumerCount atProvider.values")
}
