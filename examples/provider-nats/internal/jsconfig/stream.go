package jsconfig

import (
	"math"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
)

// Stream returns base with the settings of p applied, and with own as part of its metadata. For a creation
// base holds only the name. An error names a field that cannot be expressed in NATS.
func Stream(
	base jetstream.StreamConfig, p *v1alpha1.StreamParameters, own map[string]string,
) (jetstream.StreamConfig, error) {
	cfg := base

	if err := first(
		retentions().put(&cfg.Retention, p.Retention, "retention"),
		storages().put(&cfg.Storage, p.Storage, "storage"),
		discards().put(&cfg.Discard, p.Discard, "discard"),
		compressions().put(&cfg.Compression, p.Compression, "compression"),
		persistModes().put(&cfg.PersistMode, p.PersistMode, "persistMode"),
	); err != nil {
		return base, err
	}

	if err := streamLimits(&cfg, p); err != nil {
		return base, err
	}

	streamSwitches(&cfg, p)
	streamBlocks(&cfg, p)
	cfg.Metadata = metadata(base.Metadata, p.Metadata, own)
	settle(&cfg, p)

	return cfg, nil
}

func streamLimits(cfg *jetstream.StreamConfig, p *v1alpha1.StreamParameters) error {
	size := int64(cfg.MaxMsgSize)

	if err := first(
		putLimit(&cfg.MaxBytes, p.MaxBytes, math.MaxInt64, "maxBytes"),
		putLimit(&size, p.MaxMsgSize, largestMessage, "maxMsgSize"),
	); err != nil {
		return err
	}

	cfg.MaxMsgSize = int32(size) // putLimit refuses what is larger.

	put(&cfg.MaxMsgs, p.MaxMsgs)
	put(&cfg.MaxMsgsPerSubject, p.MaxMsgsPerSubject)
	putInt(&cfg.MaxConsumers, p.MaxConsumers)
	putInt(&cfg.Replicas, p.Replicas)
	putDuration(&cfg.MaxAge, p.MaxAge)
	putDuration(&cfg.Duplicates, p.DuplicateWindow)
	putDuration(&cfg.SubjectDeleteMarkerTTL, p.SubjectDeleteMarkerTTL)

	if p.FirstSeq != nil {
		cfg.FirstSeq = uint64(*p.FirstSeq) // The CRD refuses what is below 0.
	}

	cfg.MaxMsgs = unlimited(cfg.MaxMsgs)
	cfg.MaxBytes = unlimited(cfg.MaxBytes)
	cfg.MaxMsgsPerSubject = unlimited(cfg.MaxMsgsPerSubject)
	cfg.MaxMsgSize = unlimited(cfg.MaxMsgSize)
	cfg.MaxConsumers = unlimited(cfg.MaxConsumers)

	return nil
}

func streamSwitches(cfg *jetstream.StreamConfig, p *v1alpha1.StreamParameters) {
	put(&cfg.Description, p.Description)
	put(&cfg.DiscardNewPerSubject, p.DiscardNewPerSubject)
	put(&cfg.NoAck, p.NoAck)
	put(&cfg.AllowDirect, p.AllowDirect)
	put(&cfg.AllowRollup, p.AllowRollup)
	put(&cfg.DenyDelete, p.DenyDelete)
	put(&cfg.DenyPurge, p.DenyPurge)
	put(&cfg.Sealed, p.Sealed)
	put(&cfg.AllowMsgTTL, p.AllowMsgTTL)
	put(&cfg.AllowMsgCounter, p.AllowMsgCounter)
	put(&cfg.AllowAtomicPublish, p.AllowAtomicPublish)
	put(&cfg.AllowBatchPublish, p.AllowBatchPublish)
	put(&cfg.AllowMsgSchedules, p.AllowMsgSchedules)

	// Only a mirror can have it, and the server copies it from an origin that it can see.
	switch {
	case p.Mirror == nil:
		cfg.MirrorDirect = false
	case p.Mirror.External != nil || p.Mirror.Domain != "":
		put(&cfg.MirrorDirect, p.MirrorDirect)
	}
}

func streamBlocks(cfg *jetstream.StreamConfig, p *v1alpha1.StreamParameters) {
	cfg.Placement = placement(p.Placement)
	cfg.Mirror = source(p.Mirror)
	cfg.Sources = sources(p.Sources)
	cfg.SubjectTransform = subjectTransform(p.SubjectTransform)
	cfg.RePublish = republish(p.Republish)
	cfg.ConsumerLimits = jetstream.StreamConsumerLimits{}

	if p.ConsumerLimits != nil {
		putDuration(&cfg.ConsumerLimits.InactiveThreshold, p.ConsumerLimits.InactiveThreshold)
		putInt(&cfg.ConsumerLimits.MaxAckPending, p.ConsumerLimits.MaxAckPending)
	}

	cfg.Subjects = slices.Clone(p.Subjects)
	if len(cfg.Subjects) == 0 && cfg.Mirror == nil && len(cfg.Sources) == 0 {
		cfg.Subjects = []string{cfg.Name}
	}
}

// settle applies the rules by which the server completes a configuration, so that they cause no difference
// afterwards.
func settle(cfg *jetstream.StreamConfig, p *v1alpha1.StreamParameters) {
	if cfg.SubjectDeleteMarkerTTL > 0 {
		cfg.AllowMsgTTL = true
	}

	if cfg.SubjectDeleteMarkerTTL > 0 || cfg.AllowMsgSchedules {
		cfg.AllowRollup, cfg.DenyPurge = true, false
	}

	if cfg.Sealed {
		cfg.MaxAge = 0
		cfg.Discard = jetstream.DiscardNew
		cfg.DenyDelete, cfg.DenyPurge = true, true
		cfg.AllowRollup = false
	}

	// A default window is reduced to a shorter age.
	if p.DuplicateWindow == nil && cfg.MaxAge > 0 {
		cfg.Duplicates = min(cfg.Duplicates, cfg.MaxAge)
	}

	if r, t := cfg.RePublish, cfg.SubjectTransform; r != nil && t != nil && r.Source == ">" && r.Destination == ">" &&
		len(cfg.Subjects) == 1 && t.Source == cfg.Subjects[0] {
		r.Source, r.Destination = t.Destination, t.Destination
	}

	cfg.Replicas = max(cfg.Replicas, 1)
}
