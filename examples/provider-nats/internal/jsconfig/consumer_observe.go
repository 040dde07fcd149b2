package jsconfig

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
)

// ConsumerParameters returns cfg as parameters of our API, with every value set but the stream, which is
// not a part of a configuration. A user would write them to get exactly this consumer.
func ConsumerParameters(cfg *jetstream.ConsumerConfig) *v1alpha1.ConsumerParameters {
	out := &v1alpha1.ConsumerParameters{
		Description:       &cfg.Description,
		DeliverPolicy:     deliverPolicies().name(cfg.DeliverPolicy),
		OptStartTime:      moment(cfg.OptStartTime),
		AckPolicy:         ackPolicies().name(cfg.AckPolicy),
		AckWait:           duration(cfg.AckWait),
		MaxDeliver:        to32(cfg.MaxDeliver),
		FilterSubjects:    filters(cfg),
		ReplayPolicy:      replayPolicies().name(cfg.ReplayPolicy),
		SamplePercent:     sampled(cfg.SampleFrequency),
		MaxAckPending:     to32(cfg.MaxAckPending),
		HeadersOnly:       &cfg.HeadersOnly,
		MaxWaiting:        to32(cfg.MaxWaiting),
		MaxRequestBatch:   to32(cfg.MaxRequestBatch),
		MaxRequestExpires: duration(cfg.MaxRequestExpires),

		MaxRequestMaxBytes: quantity(int64(cfg.MaxRequestMaxBytes)),
		InactiveThreshold:  duration(cfg.InactiveThreshold),
		Replicas:           to32(cfg.Replicas),
		MemoryStorage:      &cfg.MemoryStorage,
		PauseUntil:         moment(cfg.PauseUntil),
		PriorityPolicy:     priorityPolicies().name(cfg.PriorityPolicy),
		PriorityGroups:     cfg.PriorityGroups,
		PinnedTTL:          duration(cfg.PinnedTTL),
		Push:               observedPush(cfg),
		Metadata:           UserMetadata(cfg.Metadata),
	}

	if cfg.OptStartSeq != 0 {
		out.OptStartSeq = sequence(cfg.OptStartSeq)
	}

	for _, step := range cfg.BackOff {
		out.BackOff = append(out.BackOff, *duration(step))
	}

	return out
}

// observedPush returns the push settings of a consumer, or nil if there are none.
func observedPush(cfg *jetstream.ConsumerConfig) *v1alpha1.Push {
	if cfg.DeliverSubject == "" && cfg.DeliverGroup == "" && !cfg.FlowControl && cfg.IdleHeartbeat == 0 &&
		cfg.RateLimit == 0 {
		return nil
	}

	return &v1alpha1.Push{
		DeliverSubject: cfg.DeliverSubject,
		DeliverGroup:   &cfg.DeliverGroup,
		FlowControl:    &cfg.FlowControl,
		IdleHeartbeat:  duration(cfg.IdleHeartbeat),
		RateLimitBPS:   sequence(cfg.RateLimit),
	}
}

// filters returns the filter subjects, for which NATS has two fields.
func filters(cfg *jetstream.ConsumerConfig) []string {
	if cfg.FilterSubject != "" {
		return append([]string{cfg.FilterSubject}, cfg.FilterSubjects...)
	}

	return cfg.FilterSubjects
}

// sampled returns a percentage that NATS writes with or without a percent sign, or nil if it cannot be
// parsed.
func sampled(frequency string) *int32 {
	if frequency == "" {
		return new(int32)
	}

	percent, err := strconv.ParseInt(strings.TrimSuffix(frequency, "%"), 10, 32)
	if err != nil {
		return nil
	}

	return to32(int(percent))
}

func moment(t *time.Time) *v1alpha1.Time {
	if t == nil || t.IsZero() {
		return nil
	}

	return &v1alpha1.Time{Time: metav1.NewTime(*t)}
}
