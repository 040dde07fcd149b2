package jsconfig

import (
	"math"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
)

const (
	bucketPrefix  = "KV_"
	keyPrefix     = "$KV."
	bucketWindow  = 2 * time.Minute
	bucketHistory = 1
)

// BucketStream returns the name of the stream that holds a bucket.
func BucketStream(bucket string) string { return bucketPrefix + bucket }

func bucketSubject(bucket string) string { return keyPrefix + bucket + ".>" }

// KeyValue returns base, the stream of a bucket, with the settings of p and the conventions for buckets
// applied, and with own as part of its metadata. For a creation base holds only the name. An error names a
// field that cannot be expressed in NATS.
func KeyValue(
	base jetstream.StreamConfig, p *v1alpha1.KeyValueParameters, own map[string]string,
) (jetstream.StreamConfig, error) {
	cfg := base

	if err := first(
		storages().put(&cfg.Storage, p.Storage, "storage"),
		compressions().put(&cfg.Compression, p.Compression, "compression"),
		bucketLimits(&cfg, p),
	); err != nil {
		return base, err
	}

	put(&cfg.Description, p.Description)
	bucketConventions(&cfg)
	bucketMarkers(&cfg, p)
	bucketOrigins(&cfg, p)

	cfg.Placement = placement(p.Placement)
	cfg.RePublish = republish(p.Republish)
	cfg.Metadata = metadata(base.Metadata, p.Metadata, own)

	return cfg, nil
}

func bucketLimits(cfg *jetstream.StreamConfig, p *v1alpha1.KeyValueParameters) error {
	size := int64(cfg.MaxMsgSize)

	if err := first(
		putLimit(&cfg.MaxBytes, p.MaxBytes, math.MaxInt64, "maxBytes"),
		putLimit(&size, p.MaxValueSize, largestMessage, "maxValueSize"),
	); err != nil {
		return err
	}

	cfg.MaxMsgSize = unlimited(int32(size)) // putLimit refuses what is larger.
	cfg.MaxBytes = unlimited(cfg.MaxBytes)

	if p.History != nil {
		cfg.MaxMsgsPerSubject = int64(*p.History)
	} else if cfg.MaxMsgsPerSubject == 0 {
		cfg.MaxMsgsPerSubject = bucketHistory
	}

	putDuration(&cfg.MaxAge, p.TTL)
	putInt(&cfg.Replicas, p.Replicas)
	cfg.Replicas = max(cfg.Replicas, 1)

	cfg.Duplicates = bucketWindow
	if cfg.MaxAge > 0 {
		cfg.Duplicates = min(cfg.Duplicates, cfg.MaxAge)
	}

	return nil
}

// bucketConventions applies the settings that make a stream a bucket. The clients of NATS rely on them.
func bucketConventions(cfg *jetstream.StreamConfig) {
	cfg.Discard = jetstream.DiscardNew
	cfg.MaxMsgs, cfg.MaxConsumers = -1, -1
	cfg.AllowRollup, cfg.DenyDelete, cfg.AllowDirect = true, true, true
	cfg.DenyPurge = false
}

func bucketMarkers(cfg *jetstream.StreamConfig, p *v1alpha1.KeyValueParameters) {
	putDuration(&cfg.SubjectDeleteMarkerTTL, p.LimitMarkerTTL)

	if cfg.SubjectDeleteMarkerTTL > 0 {
		cfg.AllowMsgTTL = true
	}
}

func bucketOrigins(cfg *jetstream.StreamConfig, p *v1alpha1.KeyValueParameters) {
	bucket := strings.TrimPrefix(cfg.Name, bucketPrefix)
	creation := cfg.Mirror == nil

	cfg.Subjects, cfg.Sources, cfg.Mirror = []string{bucketSubject(bucket)}, nil, nil

	if p.Mirror == nil {
		cfg.MirrorDirect = false

		for i := range p.Sources {
			cfg.Sources = append(cfg.Sources, bucketSource(bucket, &p.Sources[i]))
		}

		return
	}

	cfg.Subjects = nil
	cfg.Mirror = source(p.Mirror)
	cfg.Mirror.Name = withPrefix(cfg.Mirror.Name)

	// The server copies it from an origin that it can see.
	if creation || cfg.Mirror.External != nil {
		cfg.MirrorDirect = true
	}
}

// bucketSource makes the keys of another bucket keys of this one, unless the user has set transforms.
func bucketSource(bucket string, s *v1alpha1.Source) *jetstream.StreamSource {
	out := source(s)
	if len(out.SubjectTransforms) > 0 {
		return out
	}

	origin := strings.TrimPrefix(out.Name, bucketPrefix)
	out.Name = withPrefix(out.Name)

	if out.External == nil || origin != bucket {
		out.SubjectTransforms = []jetstream.SubjectTransformConfig{
			{Source: bucketSubject(origin), Destination: bucketSubject(bucket)},
		}
	}

	return out
}

func withPrefix(name string) string {
	if strings.HasPrefix(name, bucketPrefix) {
		return name
	}

	return bucketPrefix + name
}
