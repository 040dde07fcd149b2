package jsconfig

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/nats-io/nats.go/jetstream"
)

// A Refusal is a change that NATS does not make to an existing stream.
type Refusal struct {
	// Field is its path in the words of the Stream kind.
	Field string

	// Observed and Desired are its values as JSON.
	Observed, Desired string
}

// String says what cannot be changed.
func (r Refusal) String() string {
	return fmt.Sprintf("%s cannot be changed from %s to %s", r.Field, r.Observed, r.Desired)
}

// Refused returns the changes from observed to desired that NATS is known to
// refuse, or to accept without any effect. The rules are those of
// configUpdateCheck in nats-server 2.15, which answers all of them with one and
// the same code.
func Refused(observed, desired *jetstream.StreamConfig) []Refusal {
	var out []Refusal

	for _, rule := range rules() {
		from, to := rule.value(observed), rule.value(desired)
		if reflect.DeepEqual(from, to) || rule.allowed != nil && rule.allowed(observed, desired) {
			continue
		}

		out = append(out, Refusal{Field: rule.field, Observed: image(from), Desired: image(to)})
	}

	return out
}

func image(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}

	return string(out)
}

// A rule is about one field that cannot be changed, or only in some ways.
type rule struct {
	field   string
	value   func(cfg *jetstream.StreamConfig) any
	allowed func(from, to *jetstream.StreamConfig) bool
}

func rules() []rule {
	return []rule{
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
func oneWay(field string, on func(cfg *jetstream.StreamConfig) bool) rule {
	return rule{
		field:   field,
		value:   func(cfg *jetstream.StreamConfig) any { return on(cfg) },
		allowed: func(from, _ *jetstream.StreamConfig) bool { return !on(from) },
	}
}
