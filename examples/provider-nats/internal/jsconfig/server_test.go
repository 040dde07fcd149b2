package jsconfig_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
)

func span(d time.Duration) *v1alpha1.Duration {
	return &v1alpha1.Duration{Duration: metav1.Duration{Duration: d}}
}

func size(s string) *resource.Quantity {
	q := resource.MustParse(s)

	return &q
}

// everyField sets each field that is compatible with the others. A field that excludes another is a case of
// its own.
func everyField() *v1alpha1.StreamParameters {
	return &v1alpha1.StreamParameters{
		Description:          new("orders"),
		Subjects:             []string{"orders.>", "events.*"},
		Retention:            new(v1alpha1.RetentionInterest),
		Storage:              new(v1alpha1.StorageMemory),
		Replicas:             new(int32(1)),
		MaxMsgs:              new(int64(1000)),
		MaxBytes:             size("1Mi"),
		MaxAge:               span(time.Hour),
		MaxMsgsPerSubject:    new(int64(5)),
		MaxMsgSize:           size("64Ki"),
		MaxConsumers:         new(int32(7)),
		Discard:              new(v1alpha1.DiscardNew),
		DiscardNewPerSubject: new(true),
		NoAck:                new(true),
		DuplicateWindow:      span(time.Minute),
		Sources: []v1alpha1.Source{
			origin("first"), {Name: "second", FilterSubject: "b.>", OptStartTime: moment()},
		},
		Compression:            new(v1alpha1.CompressionS2),
		SubjectTransform:       &v1alpha1.SubjectTransform{Source: "orders.*", Destination: "sorted.{{wildcard(1)}}"},
		Republish:              &v1alpha1.Republish{Source: "orders.>", Destination: "copies.>", HeadersOnly: true},
		AllowDirect:            new(true),
		AllowRollup:            new(true),
		DenyDelete:             new(true),
		FirstSeq:               new(int64(100)),
		ConsumerLimits:         &v1alpha1.ConsumerLimits{InactiveThreshold: span(time.Hour), MaxAckPending: new(int32(50))},
		AllowMsgTTL:            new(true),
		SubjectDeleteMarkerTTL: span(time.Minute),
		AllowAtomicPublish:     new(true),
		AllowBatchPublish:      new(true),
		Metadata:               map[string]string{"team": "sales"},
	}
}

func origin(name string) v1alpha1.Source {
	return v1alpha1.Source{
		Name:              name,
		OptStartSeq:       new(int64(3)),
		SubjectTransforms: []v1alpha1.SubjectTransform{{Source: "a.*", Destination: "b.{{wildcard(1)}}"}},
		External:          &v1alpha1.ExternalStream{APIPrefix: "$JS.hub.API", DeliverPrefix: "deliver.hub"},
	}
}

func moment() *v1alpha1.Time {
	return &v1alpha1.Time{Time: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)))}
}

func own() map[string]string { return map[string]string{"moorage.dev/owner": "me"} }

// An overlay is Stream or KeyValue with its parameters.
type overlay func(base jetstream.StreamConfig) (jetstream.StreamConfig, error)

func stream(p *v1alpha1.StreamParameters) overlay {
	return func(base jetstream.StreamConfig) (jetstream.StreamConfig, error) {
		return jsconfig.Stream(base, p, own())
	}
}

func bucket(p *v1alpha1.KeyValueParameters) overlay {
	return func(base jetstream.StreamConfig) (jetstream.StreamConfig, error) {
		return jsconfig.KeyValue(base, p, own())
	}
}

// settled creates the desired stream as the client does, and returns the configuration after at most one
// update.
func settled(t *testing.T, js jetstream.JetStream, name string, desired overlay) jetstream.StreamConfig {
	t.Helper()

	cfg, err := desired(jetstream.StreamConfig{Name: name})
	if err != nil {
		t.Fatal(err)
	}

	sealed := cfg.Sealed
	cfg.Sealed = false

	s, err := js.CreateStream(t.Context(), cfg)
	if err != nil {
		t.Fatalf("CreateStream(...): %v", err)
	}

	if !sealed {
		return s.CachedInfo().Config
	}

	if cfg, err = desired(s.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}

	if s, err = js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatalf("UpdateStream(...): %v", err)
	}

	return s.CachedInfo().Config
}

// drop deletes a stream at the end of a test, when its context is over.
func drop(t *testing.T, js jetstream.JetStream, name string) {
	t.Helper()

	if err := js.DeleteStream(context.WithoutCancel(t.Context()), name); err != nil {
		t.Error(err)
	}
}

// TestNoPerpetualDifference: a stream is up to date immediately after its creation from a spec, and after
// an update.
func TestNoPerpetualDifference(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t))

	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORIGIN", AllowDirect: true}); err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason  string
		desired overlay
	}{
		"Nothing":    {"a spec that asks for nothing gets the defaults", stream(&v1alpha1.StreamParameters{})},
		"EveryField": {"all fields that go together", stream(everyField())},
		"Zeros": {
			"a limit of zero is no limit",
			stream(&v1alpha1.StreamParameters{
				MaxMsgs: new(int64(0)), MaxBytes: size("0"), MaxMsgSize: size("0"), MaxConsumers: new(int32(0)),
				MaxMsgsPerSubject: new(int64(0)), MaxAge: span(0),
			}),
		},
		"Unlimited": {
			"and so is -1",
			stream(&v1alpha1.StreamParameters{
				MaxMsgs: new(int64(-1)), MaxBytes: size("-1"), MaxMsgSize: size("-1"), MaxConsumers: new(int32(-1)),
			}),
		},
		"ShortAge": {
			"the server shortens a default window", stream(&v1alpha1.StreamParameters{MaxAge: span(time.Second)}),
		},
		"Counter": {
			"counters exclude much else", stream(&v1alpha1.StreamParameters{AllowMsgCounter: new(true), AllowDirect: new(true)}),
		},
		"Schedules": {"schedules imply roll-ups", stream(&v1alpha1.StreamParameters{AllowMsgSchedules: new(true)})},
		"Markers": {
			"markers imply message TTLs and roll-ups",
			stream(&v1alpha1.StreamParameters{SubjectDeleteMarkerTTL: span(time.Second)}),
		},
		"Async": {
			"persist mode async", stream(&v1alpha1.StreamParameters{PersistMode: new(v1alpha1.PersistModeAsync)}),
		},
		"Locked": {
			"deny delete and purge", stream(&v1alpha1.StreamParameters{DenyDelete: new(true), DenyPurge: new(true)}),
		},
		"WorkQueue": {
			"retention workqueue", stream(&v1alpha1.StreamParameters{Retention: new(v1alpha1.RetentionWorkQueue)}),
		},
		"Sealed": {
			"sealing overrides conflicting settings",
			stream(&v1alpha1.StreamParameters{Sealed: new(true), MaxAge: span(time.Hour), AllowRollup: new(true)}),
		},
		"Mirror": {
			"the server sets mirrorDirect as its origin has it",
			stream(&v1alpha1.StreamParameters{Mirror: &v1alpha1.Source{Name: "ORIGIN"}, MirrorDirect: new(false)}),
		},
		"FilteredMirror": {
			"a mirror with a start and a filter",
			stream(&v1alpha1.StreamParameters{Mirror: &v1alpha1.Source{
				Name: "ORIGIN", OptStartTime: moment(), FilterSubject: "a.>",
			}}),
		},
		"DomainMirror": {
			"a domain becomes a prefix",
			stream(&v1alpha1.StreamParameters{Mirror: &v1alpha1.Source{Name: "X", Domain: "hub"}, MirrorDirect: new(true)}),
		},
		"Consumer": {
			"a source with a consumer of its own",
			stream(&v1alpha1.StreamParameters{Sources: []v1alpha1.Source{{
				Name: "ORIGIN", Consumer: &v1alpha1.SourceConsumer{Name: "c", DeliverSubject: "deliver.c"},
			}}}),
		},
		"RepublishAll": {
			"an empty source of republish is >",
			stream(&v1alpha1.StreamParameters{
				Subjects: []string{"r.>"}, Republish: &v1alpha1.Republish{Destination: "copies.>"},
			}),
		},
		"RepublishTransformed": {"republish follows the transform", stream(&v1alpha1.StreamParameters{
			Subjects: []string{"q.>"}, SubjectTransform: &v1alpha1.SubjectTransform{Source: "q.>", Destination: "z.>"},
			Republish: &v1alpha1.Republish{Source: ">", Destination: ">"},
		})},
		"EmptyPlacement": {
			"an empty placement is none", stream(&v1alpha1.StreamParameters{Placement: &v1alpha1.Placement{}}),
		},
		"EmptyTransform": {
			"a transform of every subject",
			stream(&v1alpha1.StreamParameters{
				Subjects: []string{"t.>"}, SubjectTransform: &v1alpha1.SubjectTransform{Destination: "u.>"},
			}),
		},
		"Bucket":           {"a bucket that asks for nothing", bucket(&v1alpha1.KeyValueParameters{})},
		"BucketEveryField": {"a bucket with all fields that go together", bucket(everyBucketField())},
		"BucketShortTTL":   {"a short TTL shortens the window", bucket(&v1alpha1.KeyValueParameters{TTL: span(time.Second)})},
		"BucketMirror": {
			"a mirrored bucket", bucket(&v1alpha1.KeyValueParameters{Mirror: &v1alpha1.Source{Name: "other"}}),
		},
		"Objects":      {"an object store that asks for nothing", objects(&v1alpha1.ObjectStoreParameters{})},
		"ObjectsEvery": {"an object store with all fields", objects(everyObjectField())},
		"ObjectsSealed": {
			"sealing overrides conflicting settings",
			objects(&v1alpha1.ObjectStoreParameters{Sealed: new(true), TTL: span(time.Hour)}),
		},
		"BucketOfStream": {
			"a mirror that the server sets mirrorDirect of",
			bucket(&v1alpha1.KeyValueParameters{Mirror: &v1alpha1.Source{Name: "hub", Domain: "hub"}}),
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stream := "KV_" + name
			if strings.HasPrefix(name, "Objects") {
				stream = jsconfig.ObjectStoreStream(name)
			}

			observed := settled(t, js, stream, tc.desired)

			t.Cleanup(func() { drop(t, js, stream) })

			for _, when := range []string{"after Create", "after Update"} {
				desired, err := tc.desired(observed)
				if err != nil {
					t.Fatal(err)
				}

				diff, err := jsconfig.Diff(&desired, &observed)
				if err != nil {
					t.Fatal(err)
				}

				if len(diff) > 0 {
					t.Errorf("\n%s\nDiff(...) %s:\n%s", tc.reason, when, diff)
				}

				if refused := jsconfig.Refused(&observed, &desired); len(refused) > 0 {
					t.Errorf("\n%s\nRefused(...) %s: %v", tc.reason, when, refused)
				}

				s, err := js.UpdateStream(t.Context(), desired)
				if err != nil {
					t.Fatalf("\n%s\nUpdateStream(...) %s: %v", tc.reason, when, err)
				}

				observed = s.CachedInfo().Config
			}
		})
	}
}

func everyBucketField() *v1alpha1.KeyValueParameters {
	return &v1alpha1.KeyValueParameters{
		Description:  new("sessions"),
		History:      new(int32(7)),
		TTL:          span(time.Hour),
		MaxValueSize: size("4Ki"),
		MaxBytes:     size("1Mi"),
		Storage:      new(v1alpha1.StorageMemory),
		Replicas:     new(int32(1)),
		Compression:  new(v1alpha1.CompressionS2),
		Republish:    &v1alpha1.Republish{Source: ">", Destination: "changes.>"},
		Sources: []v1alpha1.Source{
			{Name: "first"},
			{
				Name:              "KV_second",
				SubjectTransforms: []v1alpha1.SubjectTransform{{Source: "a.*", Destination: "$KV.x.{{wildcard(1)}}"}},
			},
		},
		LimitMarkerTTL: span(time.Minute),
		Metadata:       map[string]string{"team": "sales"},
	}
}

// TestBucketIsWhatNATSMakes: a bucket of ours equals the bucket that the client of NATS creates from the
// same values.
func TestBucketIsWhatNATSMakes(t *testing.T) {
	cases := map[string]struct {
		ours   v1alpha1.KeyValueParameters
		theirs jetstream.KeyValueConfig
	}{
		"Nothing": {},
		"EveryField": {
			ours: *everyBucketField(),
			theirs: jetstream.KeyValueConfig{
				Description: "sessions", History: 7, TTL: time.Hour, MaxValueSize: 4096, MaxBytes: 1 << 20,
				Storage: jetstream.MemoryStorage, Replicas: 1, Compression: true,
				RePublish: &jetstream.RePublish{Source: ">", Destination: "changes.>"},
				Sources: []*jetstream.StreamSource{
					{Name: "first"}, {Name: "KV_second", SubjectTransforms: []jetstream.SubjectTransformConfig{
						{Source: "a.*", Destination: "$KV.x.{{wildcard(1)}}"},
					}},
				},
				LimitMarkerTTL: time.Minute, Metadata: map[string]string{"team": "sales"},
			},
		},
		"ShortTTL": {v1alpha1.KeyValueParameters{TTL: span(time.Second)}, jetstream.KeyValueConfig{TTL: time.Second}},
		"Mirror": {
			v1alpha1.KeyValueParameters{Mirror: &v1alpha1.Source{Name: "o"}},
			jetstream.KeyValueConfig{Mirror: &jetstream.StreamSource{Name: "o"}},
		},
		"PrefixedMirror": {
			v1alpha1.KeyValueParameters{Mirror: &v1alpha1.Source{Name: "KV_o"}},
			jetstream.KeyValueConfig{Mirror: &jetstream.StreamSource{Name: "KV_o"}},
		},
		"DomainMirror": {
			v1alpha1.KeyValueParameters{Mirror: &v1alpha1.Source{Name: "o", Domain: "d"}},
			jetstream.KeyValueConfig{Mirror: &jetstream.StreamSource{Name: "o", Domain: "d"}},
		},
		"SameNameElsewhere": {
			v1alpha1.KeyValueParameters{Sources: []v1alpha1.Source{{
				Name: "b", External: &v1alpha1.ExternalStream{APIPrefix: "$JS.d.API"},
			}}},
			jetstream.KeyValueConfig{Sources: []*jetstream.StreamSource{{
				Name: "b", External: &jetstream.ExternalStream{APIPrefix: "$JS.d.API"},
			}}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			js := natstest.JetStream(t, natstest.Start(t))
			tc.theirs.Bucket = "b"

			if _, err := js.CreateKeyValue(t.Context(), tc.theirs); err != nil {
				t.Fatal(err)
			}

			theirs, err := js.Stream(t.Context(), "KV_b")
			if err != nil {
				t.Fatal(err)
			}

			if err := js.DeleteStream(t.Context(), "KV_b"); err != nil {
				t.Fatal(err)
			}

			ours := settled(t, js, "KV_b", bucket(&tc.ours))
			delete(ours.Metadata, "moorage.dev/owner")

			if diff := cmp.Diff(theirs.CachedInfo().Config, ours); diff != "" {
				t.Errorf("-theirs +ours:\n%s", diff)
			}
		})
	}
}

// TestRefused: every change that we refuse is also refused by the server, or silently ignored.
func TestRefused(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t))

	cases := map[string]struct {
		reason string
		from   v1alpha1.StreamParameters
		to     v1alpha1.StreamParameters
		want   []string
	}{
		"Storage": {
			"file to memory",
			v1alpha1.StreamParameters{}, v1alpha1.StreamParameters{Storage: new("memory")}, []string{"storage"},
		},
		"ToWorkQueue": {
			"limits to workqueue",
			v1alpha1.StreamParameters{}, v1alpha1.StreamParameters{Retention: new("workqueue")}, []string{"retention"},
		},
		"FromWorkQueue": {
			"workqueue to limits",
			v1alpha1.StreamParameters{Retention: new("workqueue")}, v1alpha1.StreamParameters{Retention: new("limits")},
			[]string{"retention"},
		},
		"ToInterest": {
			"limits to interest works",
			v1alpha1.StreamParameters{}, v1alpha1.StreamParameters{Retention: new("interest")}, nil,
		},
		"BecomeMirror": {
			"a stream cannot become a mirror",
			v1alpha1.StreamParameters{}, v1alpha1.StreamParameters{Mirror: &v1alpha1.Source{Name: "o"}}, []string{"mirror"},
		},
		"OtherMirror": {
			"the origin cannot be changed",
			v1alpha1.StreamParameters{Mirror: &v1alpha1.Source{Name: "o"}},
			v1alpha1.StreamParameters{Mirror: &v1alpha1.Source{Name: "p"}}, []string{"mirror"},
		},
		"Promotion": {
			"a mirror can become a stream",
			v1alpha1.StreamParameters{Mirror: &v1alpha1.Source{Name: "o"}}, v1alpha1.StreamParameters{}, nil,
		},
		"PersistMode": {
			"default to async",
			v1alpha1.StreamParameters{}, v1alpha1.StreamParameters{PersistMode: new("async")}, []string{"persistMode"},
		},
		"Counter": {
			"no counters to counters",
			v1alpha1.StreamParameters{}, v1alpha1.StreamParameters{AllowMsgCounter: new(true)}, []string{"allowMsgCounter"},
		},
		"DenyDelete": {
			"cannot be taken back",
			v1alpha1.StreamParameters{DenyDelete: new(true)}, v1alpha1.StreamParameters{DenyDelete: new(false)},
			[]string{"denyDelete"},
		},
		"DenyPurge": {
			"cannot be taken back",
			v1alpha1.StreamParameters{DenyPurge: new(true)}, v1alpha1.StreamParameters{DenyPurge: new(false)},
			[]string{"denyPurge"},
		},
		"DenyLater": {
			"can be given later",
			v1alpha1.StreamParameters{}, v1alpha1.StreamParameters{DenyPurge: new(true), DenyDelete: new(true)}, nil,
		},
		"MsgTTL": {
			"cannot be taken back",
			v1alpha1.StreamParameters{AllowMsgTTL: new(true)}, v1alpha1.StreamParameters{AllowMsgTTL: new(false)},
			[]string{"allowMsgTTL"},
		},
		"Schedules": {
			"cannot be taken back",
			v1alpha1.StreamParameters{AllowMsgSchedules: new(true)}, v1alpha1.StreamParameters{AllowMsgSchedules: new(false)},
			[]string{"allowMsgSchedules"},
		},
		"Unseal": {
			"cannot be taken back",
			v1alpha1.StreamParameters{Sealed: new(true)}, v1alpha1.StreamParameters{Sealed: new(false)}, []string{"sealed"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := settled(t, js, name, stream(&tc.from))

			desired, err := jsconfig.Stream(observed, &tc.to, own())
			if err != nil {
				t.Fatal(err)
			}

			var got []string
			for _, r := range jsconfig.Refused(&observed, &desired) {
				got = append(got, r.Field)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nRefused(...): -want, +got:\n%s", tc.reason, diff)
			}

			_, err = js.UpdateStream(t.Context(), desired)
			if (err != nil) != (len(tc.want) > 0) {
				t.Errorf("\n%s\nthe server says: %v", tc.reason, err)
			}
		})
	}
}

// TestFirstSeqHasNoEffectLater is why firstSeq is among the refused changes.
func TestFirstSeqHasNoEffectLater(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t))
	observed := settled(t, js, "first", stream(&v1alpha1.StreamParameters{FirstSeq: new(int64(10))}))

	desired, err := jsconfig.Stream(observed, &v1alpha1.StreamParameters{FirstSeq: new(int64(500))}, own())
	if err != nil {
		t.Fatal(err)
	}

	if got := fmt.Sprint(jsconfig.Refused(&observed, &desired)); got != "[firstSeq cannot be changed from 10 to 500]" {
		t.Errorf("Refused(...): %s", got)
	}

	if _, err := js.UpdateStream(t.Context(), desired); err != nil {
		t.Fatal(err)
	}

	ack, err := js.Publish(t.Context(), "first", nil)
	if err != nil {
		t.Fatal(err)
	}

	if ack.Sequence != 10 {
		t.Errorf("the first message has the sequence %d, want 10", ack.Sequence)
	}
}
