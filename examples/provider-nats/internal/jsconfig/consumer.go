package jsconfig

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
)

// flowHeartbeat is the only heartbeat that the ack policy flowControl allows.
const flowHeartbeat = time.Second

// Consumer returns base with the settings of p applied, and with own as part of its metadata. For a
// creation base holds only the name. An error names a field that cannot be expressed in NATS. The stream is
// not a part of it.
func Consumer(
	base jetstream.ConsumerConfig, p *v1alpha1.ConsumerParameters, own map[string]string,
) (jetstream.ConsumerConfig, error) {
	cfg := base
	cfg.Durable = cfg.Name

	if err := first(
		deliverPolicies().put(&cfg.DeliverPolicy, p.DeliverPolicy, "deliverPolicy"),
		ackPolicies().put(&cfg.AckPolicy, p.AckPolicy, "ackPolicy"),
		replayPolicies().put(&cfg.ReplayPolicy, p.ReplayPolicy, "replayPolicy"),
		priorityPolicies().put(&cfg.PriorityPolicy, p.PriorityPolicy, "priorityPolicy"),
		consumerRequests(&cfg, p),
	); err != nil {
		return base, err
	}

	consumerStart(&cfg, p)
	consumerLimits(&cfg, p)
	consumerPush(&cfg, p.Push)

	cfg.BackOff = backOff(p.BackOff)
	cfg.FilterSubject, cfg.FilterSubjects = "", slices.Clone(p.FilterSubjects)
	cfg.PriorityGroups = slices.Clone(p.PriorityGroups)
	cfg.Metadata = metadata(base.Metadata, p.Metadata, own)
	settleConsumer(&cfg)

	return cfg, nil
}

// consumerStart sets where the consumer begins, and whether it is paused.
func consumerStart(cfg *jetstream.ConsumerConfig, p *v1alpha1.ConsumerParameters) {
	put(&cfg.Description, p.Description)
	put(&cfg.HeadersOnly, p.HeadersOnly)
	put(&cfg.MemoryStorage, p.MemoryStorage)

	if p.OptStartSeq != nil {
		cfg.OptStartSeq = uint64(*p.OptStartSeq) // The CRD refuses what is below 1.
	}

	if p.OptStartTime != nil {
		cfg.OptStartTime = utc(p.OptStartTime)
	}

	if p.PauseUntil != nil {
		cfg.PauseUntil = utc(p.PauseUntil)
	}
}

func consumerLimits(cfg *jetstream.ConsumerConfig, p *v1alpha1.ConsumerParameters) {
	putDuration(&cfg.AckWait, p.AckWait)
	putDuration(&cfg.InactiveThreshold, p.InactiveThreshold)
	putDuration(&cfg.PinnedTTL, p.PinnedTTL)
	putInt(&cfg.MaxDeliver, p.MaxDeliver)
	putInt(&cfg.MaxAckPending, p.MaxAckPending)
	putInt(&cfg.Replicas, p.Replicas)

	if p.SamplePercent != nil {
		cfg.SampleFrequency = sampling(int(*p.SamplePercent))
	}
}

// consumerRequests sets the limits of pull requests.
func consumerRequests(cfg *jetstream.ConsumerConfig, p *v1alpha1.ConsumerParameters) error {
	putInt(&cfg.MaxWaiting, p.MaxWaiting)
	putInt(&cfg.MaxRequestBatch, p.MaxRequestBatch)
	putDuration(&cfg.MaxRequestExpires, p.MaxRequestExpires)

	size := int64(cfg.MaxRequestMaxBytes)
	if err := putLimit(&size, p.MaxRequestMaxBytes, math.MaxInt32, "maxRequestMaxBytes"); err != nil {
		return err
	}

	cfg.MaxRequestMaxBytes = max(int(size), 0) // Here zero means no limit.

	return nil
}

func consumerPush(cfg *jetstream.ConsumerConfig, push *v1alpha1.Push) {
	if push == nil {
		cfg.DeliverSubject, cfg.DeliverGroup = "", ""
		cfg.FlowControl, cfg.IdleHeartbeat, cfg.RateLimit = false, 0, 0

		return
	}

	cfg.DeliverSubject = push.DeliverSubject
	put(&cfg.DeliverGroup, push.DeliverGroup)
	put(&cfg.FlowControl, push.FlowControl)
	putDuration(&cfg.IdleHeartbeat, push.IdleHeartbeat)

	if push.RateLimitBPS != nil {
		cfg.RateLimit = uint64(*push.RateLimitBPS) // The CRD refuses what is below 0.
	}
}

// settleConsumer applies the rules by which the server completes a configuration, so that they cause no
// difference afterwards.
func settleConsumer(cfg *jetstream.ConsumerConfig) {
	if cfg.MaxDeliver < 1 {
		cfg.MaxDeliver = -1
	}

	if len(cfg.BackOff) > 0 {
		cfg.AckWait = cfg.BackOff[0]
	}

	if len(cfg.PriorityGroups) == 0 {
		cfg.PriorityPolicy, cfg.PinnedTTL = jetstream.PriorityPolicyNone, 0
	}

	if cfg.AckPolicy == jetstream.AckFlowControlPolicy {
		cfg.FlowControl, cfg.IdleHeartbeat = true, flowHeartbeat
	}
}

func backOff(steps []v1alpha1.Duration) []time.Duration {
	var out []time.Duration
	for _, step := range steps {
		out = append(out, step.Duration.Duration)
	}

	return out
}

// utc returns a time as NATS stores it. The zero time is none.
func utc(t *v1alpha1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}

	out := t.UTC()

	return &out
}

// sampling returns a percentage as NATS writes it. It is empty for none.
func sampling(percent int) string {
	if percent == 0 {
		return ""
	}

	return strconv.Itoa(percent) + "%"
}

func deliverPolicies() choice[jetstream.DeliverPolicy] {
	return choice[jetstream.DeliverPolicy]{
		v1alpha1.DeliverAll:             jetstream.DeliverAllPolicy,
		v1alpha1.DeliverLast:            jetstream.DeliverLastPolicy,
		v1alpha1.DeliverNew:             jetstream.DeliverNewPolicy,
		v1alpha1.DeliverByStartSequence: jetstream.DeliverByStartSequencePolicy,
		v1alpha1.DeliverByStartTime:     jetstream.DeliverByStartTimePolicy,
		v1alpha1.DeliverLastPerSubject:  jetstream.DeliverLastPerSubjectPolicy,
	}
}

func ackPolicies() choice[jetstream.AckPolicy] {
	return choice[jetstream.AckPolicy]{
		v1alpha1.AckExplicit:    jetstream.AckExplicitPolicy,
		v1alpha1.AckAll:         jetstream.AckAllPolicy,
		v1alpha1.AckNone:        jetstream.AckNonePolicy,
		v1alpha1.AckFlowControl: jetstream.AckFlowControlPolicy,
	}
}

func replayPolicies() choice[jetstream.ReplayPolicy] {
	return choice[jetstream.ReplayPolicy]{
		v1alpha1.ReplayInstant:  jetstream.ReplayInstantPolicy,
		v1alpha1.ReplayOriginal: jetstream.ReplayOriginalPolicy,
	}
}

func priorityPolicies() choice[jetstream.PriorityPolicy] {
	return choice[jetstream.PriorityPolicy]{
		v1alpha1.PriorityNone:        jetstream.PriorityPolicyNone,
		v1alpha1.PriorityPinned:      jetstream.PriorityPolicyPinned,
		v1alpha1.PriorityOverflow:    jetstream.PriorityPolicyOverflow,
		v1alpha1.PriorityPrioritized: jetstream.PriorityPolicyPrioritized,
	}
}
