package jsconfig

import (
	"math"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
)

const (
	objectPrefix  = "OBJ_"
	objectSubject = "$O."
)

// ObjectStoreStream returns the name of the stream that holds an object store
// bucket.
func ObjectStoreStream(bucket string) string { return objectPrefix + bucket }

// ObjectStore returns base, the stream of an object store bucket, with the settings of p and the
// conventions for such buckets applied, and with own as part of its metadata. For a creation base holds
// only the name. An error names a field that cannot be expressed in NATS.
func ObjectStore(
	base jetstream.StreamConfig, p *v1alpha1.ObjectStoreParameters, own map[string]string,
) (jetstream.StreamConfig, error) {
	cfg := base

	if err := first(
		storages().put(&cfg.Storage, p.Storage, "storage"),
		compressions().put(&cfg.Compression, p.Compression, "compression"),
		putLimit(&cfg.MaxBytes, p.MaxBytes, math.MaxInt64, "maxBytes"),
	); err != nil {
		return base, err
	}

	put(&cfg.Description, p.Description)
	put(&cfg.Sealed, p.Sealed)
	putDuration(&cfg.MaxAge, p.TTL)
	putInt(&cfg.Replicas, p.Replicas)

	cfg.MaxBytes = unlimited(cfg.MaxBytes)
	cfg.Replicas = max(cfg.Replicas, 1)
	cfg.Placement = placement(p.Placement)
	cfg.Metadata = metadata(base.Metadata, p.Metadata, own)

	objectConventions(&cfg)
	settle(&cfg, &v1alpha1.StreamParameters{})

	return cfg, nil
}

// objectConventions applies the settings that make a stream an object store. The clients of NATS rely on
// them.
func objectConventions(cfg *jetstream.StreamConfig) {
	subject := objectSubject + strings.TrimPrefix(cfg.Name, objectPrefix)

	cfg.Subjects = []string{subject + ".C.>", subject + ".M.>"}
	cfg.Sources, cfg.Mirror, cfg.MirrorDirect = nil, nil, false
	cfg.RePublish, cfg.SubjectTransform = nil, nil
	cfg.Discard = jetstream.DiscardNew
	cfg.MaxMsgs, cfg.MaxMsgsPerSubject, cfg.MaxMsgSize, cfg.MaxConsumers = -1, -1, -1, -1
	cfg.AllowRollup, cfg.AllowDirect = true, true
	cfg.DenyPurge = false
}
