package jsconfig

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A Refusal is a change that NATS does not make to an existing stream or
// consumer.
type Refusal struct {
	// Field is its path, as our kinds name it.
	Field string

	// Observed and Desired are its values as JSON.
	Observed, Desired string
}

// String says which change is refused.
func (r Refusal) String() string {
	return fmt.Sprintf("%s cannot be changed from %s to %s", r.Field, r.Observed, r.Desired)
}

// Refused returns the changes from observed to desired that NATS is known to refuse, or to accept without
// any effect. The rules are those of configUpdateCheck in nats-server 2.15, which answers all of them with
// the same code.
func Refused(observed, desired *jetstream.StreamConfig) []Refusal {
	return refused(streamRules(), observed, desired)
}

func refused[C any](rules []rule[C], observed, desired *C) []Refusal {
	var out []Refusal

	for _, rule := range rules {
		from, to := rule.value(observed), rule.value(desired)
		if reflect.DeepEqual(from, to) || rule.allowed != nil && rule.allowed(observed, desired) {
			continue
		}

		out = append(out, Refusal{Field: rule.field, Observed: asJSON(from), Desired: asJSON(to)})
	}

	return out
}

func asJSON(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}

	return string(out)
}

// A rule is about one field that cannot be changed, or only in some ways.
type rule[C any] struct {
	field   string
	value   func(cfg *C) any
	allowed func(from, to *C) bool
}

func streamRules() []rule[jetstream.StreamConfig] {
	return []rule[jetstream.StreamConfig]{
		{
			field: "storage",
			value: func(cfg *jetstream.StreamConfig) any { return storages().name(cfg.Storage) },
		},
		{
			field: "retention",
			value: func(cfg *jetstream.StreamConfig) any { return retentions().name(cfg.Retention) },
			allowed: func(from, to *jetstream.StreamConfig) bool {
				return from.Retention != jetstream.WorkQueuePolicy && to.Retention != jetstream.WorkQueuePolicy
			},
		},
		{
			field:   "mirror",
			value:   func(cfg *jetstream.StreamConfig) any { return observedSource(cfg.Mirror) },
			allowed: func(_, to *jetstream.StreamConfig) bool { return to.Mirror == nil },
		},
		{field: "firstSeq", value: func(cfg *jetstream.StreamConfig) any { return cfg.FirstSeq }},
		{field: "persistMode", value: func(cfg *jetstream.StreamConfig) any { return persistModes().name(cfg.PersistMode) }},
		{field: "allowMsgCounter", value: func(cfg *jetstream.StreamConfig) any { return cfg.AllowMsgCounter }},
		oneWay("sealed", func(cfg *jetstream.StreamConfig) bool { return cfg.Sealed }),
		oneWay("denyDelete", func(cfg *jetstream.StreamConfig) bool { return cfg.DenyDelete }),
		oneWay("denyPurge", func(cfg *jetstream.StreamConfig) bool { return cfg.DenyPurge }),
		oneWay("allowMsgTTL", func(cfg *jetstream.StreamConfig) bool { return cfg.AllowMsgTTL }),
		oneWay("allowMsgSchedules", func(cfg *jetstream.StreamConfig) bool { return cfg.AllowMsgSchedules }),
	}
}

// oneWay is the rule of a switch that can be turned on but not off again.
func oneWay(field string, on func(cfg *jetstream.StreamConfig) bool) rule[jetstream.StreamConfig] {
	return rule[jetstream.StreamConfig]{
		field:   field,
		value:   func(cfg *jetstream.StreamConfig) any { return on(cfg) },
		allowed: func(from, _ *jetstream.StreamConfig) bool { return !on(from) },
	}
}

// ConsumerRefused returns the changes from observed to desired that NATS is known to refuse. The rules are
// those of checkNewConsumerConfig in nats-server 2.15, which answers all of them with the same code. That
// an ephemeral consumer cannot become durable is a rule of ours: NATS changes it only in part.
func ConsumerRefused(observed, desired *jetstream.ConsumerConfig) []Refusal {
	return refused(consumerRules(), observed, desired)
}

func consumerRules() []rule[jetstream.ConsumerConfig] {
	return []rule[jetstream.ConsumerConfig]{
		{field: "durable", value: func(cfg *jetstream.ConsumerConfig) any { return cfg.Durable != "" }},
		{field: "push", value: func(cfg *jetstream.ConsumerConfig) any { return cfg.DeliverSubject != "" }},
		{field: "push.flowControl", value: func(cfg *jetstream.ConsumerConfig) any { return cfg.FlowControl }},
		{field: "push.idleHeartbeat", value: func(cfg *jetstream.ConsumerConfig) any { return duration(cfg.IdleHeartbeat) }},
		{
			field: "deliverPolicy",
			value: func(cfg *jetstream.ConsumerConfig) any { return deliverPolicies().name(cfg.DeliverPolicy) },
		},
		{field: "optStartSeq", value: func(cfg *jetstream.ConsumerConfig) any { return cfg.OptStartSeq }},
		{field: "optStartTime", value: func(cfg *jetstream.ConsumerConfig) any { return nanosecond(cfg.OptStartTime) }},
		{field: "ackPolicy", value: func(cfg *jetstream.ConsumerConfig) any { return ackPolicies().name(cfg.AckPolicy) }},
		{
			field: "replayPolicy",
			value: func(cfg *jetstream.ConsumerConfig) any { return replayPolicies().name(cfg.ReplayPolicy) },
		},
		{field: "memoryStorage", value: func(cfg *jetstream.ConsumerConfig) any { return cfg.MemoryStorage }},
		{field: "maxWaiting", value: func(cfg *jetstream.ConsumerConfig) any { return cfg.MaxWaiting }},
	}
}

// nanosecond returns a time for comparison, independent of its zone.
func nanosecond(t *time.Time) any {
	if t == nil {
		return nil
	}

	return t.UTC().Format(time.RFC3339Nano)
}
