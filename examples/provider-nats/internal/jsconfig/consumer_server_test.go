package jsconfig_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
)

const (
	parent = "PARENT"
	child  = "child"
)

// A bench is a server with a stream, on which one consumer at a time is created.
type bench struct {
	*testing.T
	conn *natsconn.Conn
}

func newBench(t *testing.T) *bench {
	t.Helper()

	s := natstest.Start(t)
	pc := &v1alpha1.ProviderConfig{Spec: v1alpha1.ProviderConfigSpec{Servers: []string{s.ClientURL()}}}
	settings, err := natsconn.Resolve(t.Context(), natsconn.FromProviderConfig(pc), nil)
	must(t, err)

	b := &bench{T: t}
	b.conn, err = natsconn.Dial(t.Context(), settings, nil)
	must(t, err)
	t.Cleanup(b.conn.Close)
	must(t, b.conn.Create(t.Context(), jetstream.StreamConfig{Name: parent, Subjects: []string{"a.>", "b.>"}}))

	return b
}

func must(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// run runs a subtest on the same server, and deletes the consumer after it.
func (b *bench) run(name string, test func(b *bench)) {
	b.Helper()
	b.Run(name, func(t *testing.T) {
		t.Cleanup(func() { _ = b.conn.DeleteConsumer(context.WithoutCancel(t.Context()), parent, child) })
		test(&bench{T: t, conn: b.conn})
	})
}

func (b *bench) desired(base jetstream.ConsumerConfig, p *v1alpha1.ConsumerParameters) jetstream.ConsumerConfig {
	b.Helper()

	base.Name = child
	cfg, err := jsconfig.Consumer(base, p, own())
	must(b.T, err)

	return cfg
}

// create creates the desired consumer, and returns the configuration in NATS.
func (b *bench) create(p *v1alpha1.ConsumerParameters) jetstream.ConsumerConfig {
	b.Helper()
	must(b.T, b.conn.CreateConsumer(b.Context(), parent, b.desired(jetstream.ConsumerConfig{}, p)))

	return b.observed()
}

func (b *bench) observed() jetstream.ConsumerConfig {
	b.Helper()

	info, err := b.conn.ConsumerInfo(b.Context(), parent, child)
	must(b.T, err)

	return info.Config
}

func (b *bench) diff(desired, observed jetstream.ConsumerConfig) jsconfig.Differences {
	b.Helper()

	diff, err := jsconfig.ConsumerDiff(&desired, &observed)
	must(b.T, err)

	return diff
}

// everyPullField sets each field that is compatible with pull consumers.
func everyPullField() *v1alpha1.ConsumerParameters {
	return &v1alpha1.ConsumerParameters{
		Description:        new("billing"),
		DeliverPolicy:      new(v1alpha1.DeliverByStartTime),
		OptStartTime:       moment(),
		AckPolicy:          new(v1alpha1.AckAll),
		MaxDeliver:         new(int32(4)),
		BackOff:            []v1alpha1.Duration{*span(time.Second), *span(time.Minute)},
		FilterSubjects:     []string{"b.>", "a.*"},
		ReplayPolicy:       new(v1alpha1.ReplayOriginal),
		SamplePercent:      new(int32(30)),
		MaxAckPending:      new(int32(50)),
		HeadersOnly:        new(true),
		MaxWaiting:         new(int32(7)),
		MaxRequestBatch:    new(int32(8)),
		MaxRequestExpires:  span(time.Second),
		MaxRequestMaxBytes: size("64Ki"),
		InactiveThreshold:  span(time.Hour),
		Replicas:           new(int32(1)),
		MemoryStorage:      new(true),
		PauseUntil:         moment(),
		PriorityPolicy:     new(v1alpha1.PriorityPinned),
		PriorityGroups:     []string{"first"},
		PinnedTTL:          span(time.Minute),
		Metadata:           map[string]string{"team": "sales"},
	}
}

func everyPushField() *v1alpha1.ConsumerParameters {
	return &v1alpha1.ConsumerParameters{
		AckWait: span(time.Minute),
		Push: &v1alpha1.Push{
			DeliverSubject: "inbox.billing", DeliverGroup: new("workers"), FlowControl: new(true),
			IdleHeartbeat: span(5 * time.Second), RateLimitBPS: new(int64(1 << 20)),
		},
	}
}

// TestNoPerpetualConsumerDifference: a consumer is up to date immediately after its creation from a spec,
// and after an update.
func TestNoPerpetualConsumerDifference(t *testing.T) {
	cases := map[string]struct {
		reason string
		asked  *v1alpha1.ConsumerParameters
	}{
		"Nothing": {"a spec that asks for nothing gets the defaults", &v1alpha1.ConsumerParameters{}},
		"Pull":    {"all fields of clients that pull", everyPullField()},
		"Push":    {"all fields of a consumer that pushes", everyPushField()},
		"Zeros": {
			"zero is no limit",
			&v1alpha1.ConsumerParameters{
				MaxDeliver: new(int32(0)), MaxRequestBatch: new(int32(0)), MaxRequestMaxBytes: size("0"),
				InactiveThreshold: span(0), SamplePercent: new(int32(0)), Replicas: new(int32(0)),
			},
		},
		"Unlimited": {
			"and so is -1",
			&v1alpha1.ConsumerParameters{
				MaxDeliver: new(int32(-1)), MaxAckPending: new(int32(-1)), MaxRequestMaxBytes: size("-1"),
			},
		},
		"NoAck": {"nothing is acknowledged", &v1alpha1.ConsumerParameters{AckPolicy: new(v1alpha1.AckNone)}},
		"Sequence": {
			"a start",
			&v1alpha1.ConsumerParameters{DeliverPolicy: new(v1alpha1.DeliverByStartSequence), OptStartSeq: new(int64(3))},
		},
		"LastPerSubject": {
			"one filter",
			&v1alpha1.ConsumerParameters{DeliverPolicy: new(v1alpha1.DeliverLastPerSubject), FilterSubjects: []string{"a.>"}},
		},
		"FlowControl": {"the server sets flow control and heartbeat", &v1alpha1.ConsumerParameters{
			AckPolicy: new(v1alpha1.AckFlowControl), MaxAckPending: new(int32(10)),
			Push: &v1alpha1.Push{DeliverSubject: "inbox"},
		}},
		"Overflow": {
			"a pin belongs to one policy",
			&v1alpha1.ConsumerParameters{PriorityPolicy: new(v1alpha1.PriorityOverflow), PriorityGroups: []string{"a"}},
		},
		"NoPause": {"the zero time is none", &v1alpha1.ConsumerParameters{PauseUntil: &v1alpha1.Time{}}},
	}

	b := newBench(t)

	for name, tc := range cases {
		b.run(name, func(b *bench) {
			observed := b.create(tc.asked)

			for _, when := range []string{"after Create", "after Update"} {
				desired := b.desired(observed, tc.asked)

				if diff := b.diff(desired, observed); len(diff) > 0 {
					b.Errorf("\n%s\nConsumerDiff(...) %s:\n%s", tc.reason, when, diff)
				}

				if refused := jsconfig.ConsumerRefused(&observed, &desired); len(refused) > 0 {
					b.Errorf("\n%s\nConsumerRefused(...) %s: %v", tc.reason, when, refused)
				}

				must(b.T, b.conn.UpdateConsumer(b.Context(), parent, desired))

				observed = b.observed()
			}

			if observed.Durable != child {
				b.Errorf("\n%s\nit is not durable", tc.reason)
			}
		})
	}
}

// TestDriftOfEveryConsumerField: a change of any part of a configuration is a difference if the spec sets
// it, and the update reverts it.
func TestDriftOfEveryConsumerField(t *testing.T) {
	pull, push := everyPullField(), everyPushField()

	// Changes that the server accepts, one for each field that has any.
	changes := map[string]struct {
		asked  *v1alpha1.ConsumerParameters
		change func(cfg *jetstream.ConsumerConfig)
	}{
		"description": {pull, func(cfg *jetstream.ConsumerConfig) { cfg.Description = "changed" }},
		"ackWait":     {push, func(cfg *jetstream.ConsumerConfig) { cfg.AckWait *= 2 }},
		"maxDeliver":  {pull, func(cfg *jetstream.ConsumerConfig) { cfg.MaxDeliver = 9 }},
		"backOff":     {pull, func(cfg *jetstream.ConsumerConfig) { cfg.BackOff = nil }},
		"filterSubjects": {
			pull, func(cfg *jetstream.ConsumerConfig) { cfg.FilterSubjects, cfg.FilterSubject = nil, "a.*" },
		},
		"samplePercent":      {pull, func(cfg *jetstream.ConsumerConfig) { cfg.SampleFrequency = "31" }},
		"maxAckPending":      {pull, func(cfg *jetstream.ConsumerConfig) { cfg.MaxAckPending = 51 }},
		"headersOnly":        {pull, func(cfg *jetstream.ConsumerConfig) { cfg.HeadersOnly = false }},
		"maxRequestBatch":    {pull, func(cfg *jetstream.ConsumerConfig) { cfg.MaxRequestBatch = 9 }},
		"maxRequestExpires":  {pull, func(cfg *jetstream.ConsumerConfig) { cfg.MaxRequestExpires *= 2 }},
		"maxRequestMaxBytes": {pull, func(cfg *jetstream.ConsumerConfig) { cfg.MaxRequestMaxBytes *= 2 }},
		"inactiveThreshold":  {pull, func(cfg *jetstream.ConsumerConfig) { cfg.InactiveThreshold *= 2 }},
		"replicas":           {pull, func(cfg *jetstream.ConsumerConfig) { cfg.Replicas = 0 }},
		"priorityPolicy": {
			pull, func(cfg *jetstream.ConsumerConfig) { cfg.PriorityPolicy = jetstream.PriorityPolicyOverflow },
		},
		"priorityGroups":      {pull, func(cfg *jetstream.ConsumerConfig) { cfg.PriorityGroups = []string{"second"} }},
		"pinnedTTL":           {pull, func(cfg *jetstream.ConsumerConfig) { cfg.PinnedTTL *= 2 }},
		"push.deliverSubject": {push, func(cfg *jetstream.ConsumerConfig) { cfg.DeliverSubject = "elsewhere" }},
		"push.deliverGroup":   {push, func(cfg *jetstream.ConsumerConfig) { cfg.DeliverGroup = "others" }},
		"push.rateLimitBPS":   {push, func(cfg *jetstream.ConsumerConfig) { cfg.RateLimit *= 2 }},
		"metadata.team":       {pull, func(cfg *jetstream.ConsumerConfig) { cfg.Metadata["team"] = "other" }},
		"metadata.moorage.dev/owner": {
			pull, func(cfg *jetstream.ConsumerConfig) { delete(cfg.Metadata, "moorage.dev/owner") },
		},
		// An update does not change the pause: see TestPause of the controller.
		"pauseUntil": {},
		// And these cannot be changed at all.
		"deliverPolicy": {}, "optStartSeq": {}, "optStartTime": {}, "ackPolicy": {}, "replayPolicy": {}, "memoryStorage": {},
		"maxWaiting": {},
	}

	b := newBench(t)

	for path, tc := range changes {
		if tc.change == nil {
			continue
		}

		b.run(path, func(b *bench) {
			cfg := b.create(tc.asked)
			tc.change(&cfg)
			must(b.T, b.conn.UpdateConsumer(b.Context(), parent, cfg))

			drifted := b.observed()
			corrected := b.desired(drifted, tc.asked)

			if diff := b.diff(corrected, drifted); !contains(diff, path) {
				b.Errorf("ConsumerDiff(...) does not show %s:\n%s", path, diff)
			}

			must(b.T, b.conn.UpdateConsumer(b.Context(), parent, corrected))

			if diff := b.diff(corrected, b.observed()); len(diff) > 0 {
				b.Errorf("after the correction:\n%s", diff)
			}
		})
	}

	for _, field := range parameters[v1alpha1.ConsumerParameters]() {
		if !covered(changes, field) && !strings.HasPrefix(field, "stream") {
			t.Errorf("no change for the field %s", field)
		}
	}
}

// parameters returns the JSON names of the fields of a type.
func parameters[T any]() []string {
	var out []string

	fields := reflect.TypeFor[T]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		out = append(out, name)
	}

	return out
}

// TestConsumerRefused: every change that we refuse is also refused by the server, except one.
func TestConsumerRefused(t *testing.T) {
	type parameters = v1alpha1.ConsumerParameters

	push := func(change func(*v1alpha1.Push)) *parameters {
		out := &parameters{Push: &v1alpha1.Push{DeliverSubject: "inbox", IdleHeartbeat: span(time.Second)}}
		change(out.Push)

		return out
	}
	same := func(*v1alpha1.Push) {}

	cases := map[string]struct {
		reason   string
		from, to *parameters
		want     []string
	}{
		"DeliverPolicy": {
			"the past is past",
			&parameters{}, &parameters{DeliverPolicy: new(v1alpha1.DeliverNew)}, []string{"deliverPolicy"},
		},
		"StartSeq": {
			"the start is past", &parameters{DeliverPolicy: new(v1alpha1.DeliverByStartSequence), OptStartSeq: new(int64(2))},
			&parameters{OptStartSeq: new(int64(3))}, []string{"optStartSeq"},
		},
		"StartTime": {
			"the start is past", &parameters{DeliverPolicy: new(v1alpha1.DeliverByStartTime), OptStartTime: moment()},
			&parameters{OptStartTime: &v1alpha1.Time{Time: metav1.NewTime(moment().Add(time.Nanosecond))}},
			[]string{"optStartTime"},
		},
		"ReplayPolicy": {
			"clients count on it",
			&parameters{}, &parameters{ReplayPolicy: new(v1alpha1.ReplayOriginal)}, []string{"replayPolicy"},
		},
		"AckPolicy": {
			"earlier deliveries were made by it",
			&parameters{}, &parameters{AckPolicy: new(v1alpha1.AckAll)}, []string{"ackPolicy"},
		},
		"MemoryStorage": {
			"the state lies there",
			&parameters{}, &parameters{MemoryStorage: new(true)}, []string{"memoryStorage"},
		},
		"MaxWaiting": {
			"a queue has a length",
			&parameters{}, &parameters{MaxWaiting: new(int32(3))}, []string{"maxWaiting"},
		},
		"ToPush": {
			"pull stays pull",
			&parameters{}, &parameters{Push: &v1alpha1.Push{DeliverSubject: "inbox"}}, []string{"push"},
		},
		"FromPush": {
			"push stays push",
			push(func(p *v1alpha1.Push) { p.IdleHeartbeat = nil }), &parameters{}, []string{"push"},
		},
		"Heartbeat": {
			"clients count on it",
			push(same), push(func(p *v1alpha1.Push) { p.IdleHeartbeat = span(time.Minute) }), []string{"push.idleHeartbeat"},
		},
		"FlowControl": {
			"clients count on it",
			push(same), push(func(p *v1alpha1.Push) { p.FlowControl = new(true) }), []string{"push.flowControl"},
		},
		"Subject": {"without a subscriber", push(same), push(func(p *v1alpha1.Push) { p.DeliverSubject = "other" }), nil},
		"AckWait": {"can be changed", &parameters{}, &parameters{AckWait: span(time.Minute)}, nil},
	}

	b := newBench(t)

	for name, tc := range cases {
		b.run(name, func(b *bench) {
			observed := b.create(tc.from)
			desired := b.desired(observed, tc.to)

			var got []string
			for _, r := range jsconfig.ConsumerRefused(&observed, &desired) {
				got = append(got, r.Field)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				b.Errorf("\n%s\nConsumerRefused(...): -want, +got:\n%s", tc.reason, diff)
			}

			err := b.conn.UpdateConsumer(b.Context(), parent, desired)
			if (err != nil) != (len(tc.want) > 0) {
				b.Errorf("\n%s\nthe server says: %v", tc.reason, err)
			}
		})
	}

	b.run("Durable", func(b *bench) {
		must(b.T,
			b.conn.CreateConsumer(b.Context(), parent, jetstream.ConsumerConfig{Name: child, InactiveThreshold: time.Hour}))

		observed := b.observed()
		desired := b.desired(observed, &parameters{})

		if got := jsconfig.ConsumerRefused(&observed, &desired); len(got) != 1 || got[0].Field != "durable" {
			b.Errorf("an ephemeral consumer: %v, want it refused", got)
		}
	})
}
