package jsconfig

import (
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// StreamParameters returns cfg as parameters of our API, with every value set. A user would write them to
// get exactly this stream.
func StreamParameters(cfg *jetstream.StreamConfig) *v1alpha1.StreamParameters {
	return &v1alpha1.StreamParameters{
		Description:            &cfg.Description,
		Subjects:               cfg.Subjects,
		Retention:              retentions().name(cfg.Retention),
		Storage:                storages().name(cfg.Storage),
		Replicas:               to32(cfg.Replicas),
		MaxMsgs:                &cfg.MaxMsgs,
		MaxBytes:               quantity(cfg.MaxBytes),
		MaxAge:                 duration(cfg.MaxAge),
		MaxMsgsPerSubject:      &cfg.MaxMsgsPerSubject,
		MaxMsgSize:             quantity(int64(cfg.MaxMsgSize)),
		MaxConsumers:           to32(cfg.MaxConsumers),
		Discard:                discards().name(cfg.Discard),
		DiscardNewPerSubject:   &cfg.DiscardNewPerSubject,
		NoAck:                  &cfg.NoAck,
		DuplicateWindow:        duration(cfg.Duplicates),
		Placement:              observedPlacement(cfg.Placement),
		Mirror:                 observedSource(cfg.Mirror),
		Sources:                observedSources(cfg.Sources),
		Compression:            compressions().name(cfg.Compression),
		SubjectTransform:       observedTransform(cfg.SubjectTransform),
		Republish:              observedRepublish(cfg.RePublish),
		AllowDirect:            &cfg.AllowDirect,
		MirrorDirect:           &cfg.MirrorDirect,
		AllowRollup:            &cfg.AllowRollup,
		DenyDelete:             &cfg.DenyDelete,
		DenyPurge:              &cfg.DenyPurge,
		Sealed:                 &cfg.Sealed,
		FirstSeq:               sequence(cfg.FirstSeq),
		ConsumerLimits:         observedLimits(cfg.ConsumerLimits),
		AllowMsgTTL:            &cfg.AllowMsgTTL,
		SubjectDeleteMarkerTTL: duration(cfg.SubjectDeleteMarkerTTL),
		AllowMsgCounter:        &cfg.AllowMsgCounter,
		AllowAtomicPublish:     &cfg.AllowAtomicPublish,
		AllowBatchPublish:      &cfg.AllowBatchPublish,
		AllowMsgSchedules:      &cfg.AllowMsgSchedules,
		PersistMode:            persistModes().name(cfg.PersistMode),
		Metadata:               UserMetadata(cfg.Metadata),
	}
}

// KeyValueParameters returns cfg, the stream of a bucket, as parameters of our API, with every value set.
func KeyValueParameters(cfg *jetstream.StreamConfig) *v1alpha1.KeyValueParameters {
	bucket := strings.TrimPrefix(cfg.Name, bucketPrefix)

	out := &v1alpha1.KeyValueParameters{
		Description:    &cfg.Description,
		History:        to32(int(cfg.MaxMsgsPerSubject)),
		TTL:            duration(cfg.MaxAge),
		MaxValueSize:   quantity(int64(cfg.MaxMsgSize)),
		MaxBytes:       quantity(cfg.MaxBytes),
		Storage:        storages().name(cfg.Storage),
		Replicas:       to32(cfg.Replicas),
		Placement:      observedPlacement(cfg.Placement),
		Compression:    compressions().name(cfg.Compression),
		Republish:      observedRepublish(cfg.RePublish),
		LimitMarkerTTL: duration(cfg.SubjectDeleteMarkerTTL),
		Metadata:       UserMetadata(cfg.Metadata),
	}

	if cfg.Mirror != nil {
		out.Mirror = observedSource(cfg.Mirror)
		out.Mirror.Name = strings.TrimPrefix(out.Mirror.Name, bucketPrefix)
	}

	for _, s := range cfg.Sources {
		out.Sources = append(out.Sources, observedBucket(bucket, s))
	}

	return out
}

// ObjectStoreParameters returns cfg, the stream of an object store bucket, as parameters of our API, with
// every value set.
func ObjectStoreParameters(cfg *jetstream.StreamConfig) *v1alpha1.ObjectStoreParameters {
	return &v1alpha1.ObjectStoreParameters{
		Description: &cfg.Description,
		TTL:         duration(cfg.MaxAge),
		MaxBytes:    quantity(cfg.MaxBytes),
		Storage:     storages().name(cfg.Storage),
		Replicas:    to32(cfg.Replicas),
		Placement:   observedPlacement(cfg.Placement),
		Compression: compressions().name(cfg.Compression),
		Sealed:      &cfg.Sealed,
		Metadata:    UserMetadata(cfg.Metadata),
	}
}

// observedBucket reverts the additions of bucketSource.
func observedBucket(bucket string, s *jetstream.StreamSource) v1alpha1.Source {
	out := *observedSource(s)
	origin := strings.TrimPrefix(s.Name, bucketPrefix)
	implied := []v1alpha1.SubjectTransform{{Source: bucketSubject(origin), Destination: bucketSubject(bucket)}}

	if slices.Equal(out.SubjectTransforms, implied) {
		out.Name, out.SubjectTransforms = origin, nil
	}

	return out
}

// UserMetadata returns metadata without the keys of the server and of this provider.
func UserMetadata(metadata map[string]string) map[string]string {
	out := map[string]string{}

	for k, v := range metadata {
		if !strings.HasPrefix(k, serverPrefix) && k != managed.StampKey {
			out[k] = v
		}
	}

	if len(out) == 0 {
		return nil
	}

	return out
}

// ServerVersion returns the version of the server that answered, or "" if it does not report one.
func ServerVersion(metadata map[string]string) string { return metadata[serverPrefix+"ver"] }

func to32(n int) *int32 {
	v := int32(n) // NATS has no value that does not fit: replicas, history, consumers.

	return &v
}

func sequence(n uint64) *int64 {
	v := int64(n) // A sequence that does not fit takes 292 years at a message per nanosecond.

	return &v
}

func quantity(bytes int64) *resource.Quantity {
	return resource.NewQuantity(bytes, resource.BinarySI)
}

func duration(d time.Duration) *v1alpha1.Duration {
	return &v1alpha1.Duration{Duration: metav1.Duration{Duration: d}}
}

func observedPlacement(p *jetstream.Placement) *v1alpha1.Placement {
	if p == nil {
		return nil
	}

	return &v1alpha1.Placement{Cluster: p.Cluster, Tags: p.Tags}
}

func observedTransform(t *jetstream.SubjectTransformConfig) *v1alpha1.SubjectTransform {
	if t == nil {
		return nil
	}

	return &v1alpha1.SubjectTransform{Source: t.Source, Destination: t.Destination}
}

func observedRepublish(r *jetstream.RePublish) *v1alpha1.Republish {
	if r == nil {
		return nil
	}

	return &v1alpha1.Republish{Source: r.Source, Destination: r.Destination, HeadersOnly: r.HeadersOnly}
}

func observedLimits(l jetstream.StreamConsumerLimits) *v1alpha1.ConsumerLimits {
	if l == (jetstream.StreamConsumerLimits{}) {
		return nil
	}

	return &v1alpha1.ConsumerLimits{InactiveThreshold: duration(l.InactiveThreshold), MaxAckPending: to32(l.MaxAckPending)}
}

func observedSources(list []*jetstream.StreamSource) []v1alpha1.Source {
	var out []v1alpha1.Source
	for _, s := range list {
		out = append(out, *observedSource(s))
	}

	return out
}

func observedSource(s *jetstream.StreamSource) *v1alpha1.Source {
	if s == nil {
		return nil
	}

	out := &v1alpha1.Source{Name: s.Name, FilterSubject: s.FilterSubject}

	if s.OptStartSeq != 0 {
		out.OptStartSeq = sequence(s.OptStartSeq)
	}

	if s.OptStartTime != nil {
		out.OptStartTime = &v1alpha1.Time{Time: metav1.NewTime(*s.OptStartTime)}
	}

	for _, t := range s.SubjectTransforms {
		out.SubjectTransforms = append(out.SubjectTransforms, *observedTransform(&t))
	}

	if e := s.External; e != nil {
		out.External = &v1alpha1.ExternalStream{APIPrefix: e.APIPrefix, DeliverPrefix: e.DeliverPrefix}
	}

	if c := s.Consumer; c != nil {
		out.Consumer = &v1alpha1.SourceConsumer{Name: c.Name, DeliverSubject: c.DeliverSubject}
	}

	return out
}
