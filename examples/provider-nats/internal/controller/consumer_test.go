package controller_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

func deleted(c *v1alpha1.Consumer) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func unresolved(c *v1alpha1.Consumer) { c.Spec.ForProvider.Stream = nil }

// made sets the status of an object whose consumer was created for that stream.
func made(stream string) func(*v1alpha1.Consumer) {
	return func(c *v1alpha1.Consumer) {
		c.Status.AtProvider.Stream, c.Status.AtProvider.Created = stream, "2023-11-14T22:13:20.000000005Z"
	}
}

// fakeConsumers is a JetStream with at most one consumer and preset answers, which records its calls.
type fakeConsumers struct {
	controller.Streams // of which it has none

	info    *jetstream.ConsumerInfo
	infoErr error
	answer  error
	calls   []string
	sent    jetstream.ConsumerConfig
}

func (f *fakeConsumers) Identity(context.Context) (string, error) { return "", nil }

func (f *fakeConsumers) Address() natsconn.Address {
	return natsconn.Address{Servers: []string{"nats://a:4222"}, Prefix: "$JS.hub.API"}
}

func (f *fakeConsumers) ConsumerInfo(_ context.Context, stream, name string) (*jetstream.ConsumerInfo, error) {
	f.calls = append(f.calls, "info "+stream+" "+name)

	if f.info == nil && f.infoErr == nil {
		return nil, jetstream.ErrConsumerNotFound
	}

	return f.info, f.infoErr
}

func (f *fakeConsumers) CreateConsumer(_ context.Context, stream string, cfg jetstream.ConsumerConfig) error {
	f.calls, f.sent = append(f.calls, "create "+stream+" "+cfg.Name), cfg

	return f.answer
}

func (f *fakeConsumers) UpdateConsumer(_ context.Context, stream string, cfg jetstream.ConsumerConfig) error {
	f.calls, f.sent = append(f.calls, "update "+stream+" "+cfg.Name), cfg

	return f.answer
}

func (f *fakeConsumers) PauseConsumer(_ context.Context, stream, name string, until time.Time) error {
	f.calls = append(f.calls, "pause "+stream+" "+name+" "+until.Format(time.RFC3339))

	return f.answer
}

func (f *fakeConsumers) DeleteConsumer(_ context.Context, stream, name string) error {
	f.calls = append(f.calls, "delete "+stream+" "+name)

	return f.answer
}

func consumerClient(nats controller.JetStream, mg *v1alpha1.Consumer) *controller.Client {
	kind := controller.ConsumerKind()

	return controller.NewClient(&controller.Link{JetStream: nats, Release: func() {}}, kind, stamp(kind, mg))
}

// storedConsumer is the default consumer as NATS would return it, with our stamp.
func storedConsumer(change ...func(*jetstream.ConsumerInfo)) *jetstream.ConsumerInfo {
	out := &jetstream.ConsumerInfo{
		Stream: "sales", Name: "billing", Created: time.Unix(1700000000, 5),
		Config: jetstream.ConsumerConfig{
			Name: "billing", Durable: "billing", AckWait: 30 * time.Second, MaxDeliver: -1, MaxWaiting: 512, MaxAckPending: 1000,
			Metadata: map[string]string{
				"_nats.ver": "2.15.2", managed.StampKey: string(stamp(controller.ConsumerKind(), consumer())),
			},
		},
		Delivered: jetstream.SequenceInfo{Stream: 9, Consumer: 7}, AckFloor: jetstream.SequenceInfo{Stream: 8, Consumer: 6},
		NumAckPending: 2, NumRedelivered: 1, NumWaiting: 3, NumPending: 4,
	}

	for _, fn := range change {
		fn(out)
	}

	return out
}

func TestObserveConsumer(t *testing.T) {
	type want struct {
		exists, upToDate bool
		ready            commonv1.ConditionReason
		err              string
		terminal         string
	}

	cases := map[string]struct {
		reason string
		nats   fakeConsumers
		mg     *v1alpha1.Consumer
		want   want
	}{
		"Missing": {"nothing is there", fakeConsumers{}, consumer(), want{}},
		"UpToDate": {
			"the consumer is as desired",
			fakeConsumers{info: storedConsumer()}, consumer(),
			want{exists: true, upToDate: true, ready: commonv1.ReasonAvailable},
		},
		"Drifted": {
			"a value is another", fakeConsumers{info: storedConsumer()},
			consumer(func(c *v1alpha1.Consumer) { c.Spec.ForProvider.MaxDeliver = new(int32(5)) }),
			want{exists: true, ready: commonv1.ReasonAvailable},
		},
		"Leaderless": {
			"no leader, no service",
			fakeConsumers{info: storedConsumer(func(i *jetstream.ConsumerInfo) {
				i.Cluster = &jetstream.ClusterInfo{Name: "c"}
			})}, consumer(),
			want{exists: true, upToDate: true, ready: commonv1.ReasonUnavailable},
		},
		"NoStream": {
			"it waits, and names the stream", fakeConsumers{infoErr: jetstream.ErrStreamNotFound}, consumer(),
			want{
				err: `waiting for the stream: create it, or correct spec.forProvider.stream: ` +
					`cannot look at consumer "billing" of stream "sales": ` +
					`nats: API error: code=404 err_code=10059 description=stream not found`,
				terminal: "StreamNotFound", ready: commonv1.ReasonUnavailable,
			},
		},
		"NoStreamDeleted": {
			"a consumer without a stream is gone",
			fakeConsumers{infoErr: jetstream.ErrStreamNotFound}, consumer(deleted), want{},
		},
		"OtherStream": {
			"a consumer belongs to its stream", fakeConsumers{}, consumer(made("first")),
			want{
				err: `spec.forProvider.stream: the consumer was created for the stream "first" ` +
					`and cannot become one of "sales": set it back, or, ` +
					`if the position of the consumer may be lost, delete this object and create it again`,
				terminal: "ImmutableField",
			},
		},
		"Unresolved": {
			"the reference to the stream is not resolved",
			fakeConsumers{}, consumer(unresolved),
			want{err: `spec.forProvider.stream: "" cannot be the name of a stream`, terminal: "InvalidName"},
		},
		"UnresolvedDeleted": {
			"a consumer that never had a stream does not exist",
			fakeConsumers{info: storedConsumer()}, consumer(unresolved, deleted), want{},
		},
		"BadStream": {
			"a name that NATS cannot use is not even asked for", fakeConsumers{},
			consumer(func(c *v1alpha1.Consumer) { c.Spec.ForProvider.Stream = new("a.b") }),
			want{err: `spec.forProvider.stream: "a.b" cannot be the name of a stream`, terminal: "InvalidName"},
		},
		"BadName": {
			"a name that NATS cannot use is not even asked for", fakeConsumers{},
			consumer(func(c *v1alpha1.Consumer) { meta.SetExternalName(c, "a>b") }),
			want{err: `"a>b" cannot be the name of a consumer: NATS allows neither white space nor any of . * > \ / in it; ` +
				`set the annotation krateo.io/external-name to a name that NATS can use`, terminal: "InvalidName"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := consumerClient(&tc.nats, tc.mg).Observe(t.Context(), tc.mg)
			terminal, _ := external.TerminalReason(err)

			result := want{
				got.ResourceExists, got.ResourceUpToDate, tc.mg.GetCondition(commonv1.TypeReady).Reason, text(err), terminal,
			}
			if diff := cmp.Diff(tc.want, result, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestObservedConsumerStatus(t *testing.T) {
	mg := consumer()
	if _, err := consumerClient(&fakeConsumers{info: storedConsumer()}, mg).Observe(t.Context(), mg); err != nil {
		t.Fatal(err)
	}

	got := mg.Status.AtProvider
	got.Config = nil

	want := v1alpha1.ConsumerObservation{
		Stream: "sales", Created: "2023-11-14T22:13:20.000000005Z", DeliveredSeq: 9, AckFloorSeq: 8, Pending: 4,
		AckPending: 2, Redelivered: 1, Waiting: 3, ServerVersion: "2.15.2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status.atProvider: -want, +got:\n%s", diff)
	}
}

func TestCreateConsumer(t *testing.T) {
	cases := map[string]struct {
		reason   string
		answer   error
		exists   bool
		terminal string
		contains string
	}{
		"Created": {reason: "it works"},
		"NameTaken": {
			reason: "the reconciler checks the owner", answer: api(400, 10148), exists: true,
			contains: `cannot create consumer "billing" of stream "sales"`,
		},
		"NameRace": {reason: "the same, in a race", answer: api(400, 10013), exists: true, contains: "as NATS says"},
		"NoStream": {
			reason: "the stream has just gone", answer: jetstream.ErrStreamNotFound, terminal: "StreamNotFound",
			contains: "waiting for the stream",
		},
		"Queue": {
			reason: "another consumer must give way", answer: api(400, 10100), terminal: "FiltersOverlap",
			contains: "change spec.forProvider.filterSubjects here or the other consumer",
		},
		"QueueAll": {
			reason: "another consumer must give way", answer: api(400, 10099), terminal: "FiltersOverlap",
			contains: "the other consumer",
		},
		"Replicas": {
			reason: "more than the stream has", answer: api(400, 10126), terminal: "InvalidConfiguration",
			contains: "correct it",
		},
		"Invalid": {
			reason: "the spec must change", answer: api(500, 10012), terminal: "InvalidConfiguration", contains: "correct it",
		},
		"Limit": {
			reason: "the limit has to be raised, or another consumer deleted", answer: api(400, 10026), terminal: "LimitReached",
			contains: "as NATS says",
		},
		"NoLeader": {reason: "there will be one", answer: api(503, 10008), contains: "as NATS says"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			nats, mg := &fakeConsumers{answer: tc.answer}, consumer()
			err := consumerClient(nats, mg).Create(t.Context(), mg)

			if (err != nil) != (tc.answer != nil) || !strings.Contains(text(err), tc.contains) {
				t.Errorf("\n%s\nCreate(...): want error with %q, got %v", tc.reason, tc.contains, err)
			}

			if terminal, _ := external.TerminalReason(err); terminal != tc.terminal {
				t.Errorf("\n%s\nCreate(...): want terminal reason %q, got %q", tc.reason, tc.terminal, terminal)
			}

			if exists := external.IsAlreadyExists(err); exists != tc.exists {
				t.Errorf("\n%s\nCreate(...): already exists: want %t, got %t", tc.reason, tc.exists, exists)
			}

			if nats.sent.Durable != "billing" || nats.sent.Metadata[managed.StampKey] == "" {
				t.Errorf("\n%s\nsent: %+v, want it durable and stamped", tc.reason, nats.sent)
			}
		})
	}
}

func TestUpdateConsumer(t *testing.T) {
	const look, update, pause = "info sales billing", "update sales billing", "pause sales billing 2026-01-02T03:04:05Z"

	pauseUntil := func(c *v1alpha1.Consumer) {
		c.Spec.ForProvider.PauseUntil = &v1alpha1.Time{Time: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	}
	describe := func(c *v1alpha1.Consumer) { c.Spec.ForProvider.Description = new("bills") }

	cases := map[string]struct {
		reason   string
		nats     fakeConsumers
		mg       *v1alpha1.Consumer
		calls    []string
		err      string
		terminal string
	}{
		"Updated": {
			"read, then write",
			fakeConsumers{info: storedConsumer()}, consumer(describe), []string{look, update}, "", "",
		},
		"Paused": {
			"the pause alone",
			fakeConsumers{info: storedConsumer()}, consumer(pauseUntil), []string{look, pause}, "", "",
		},
		"UpdatedPause": {
			"one request a pass: the pause is for the next",
			fakeConsumers{info: storedConsumer()}, consumer(describe, pauseUntil), []string{look, update}, "", "",
		},
		"Immutable": {
			"refused without a request", fakeConsumers{info: storedConsumer()},
			consumer(func(c *v1alpha1.Consumer) { c.Spec.ForProvider.AckPolicy = new("all") }), []string{look},
			`spec.forProvider of consumer "billing" of stream "sales": ` +
				`ackPolicy cannot be changed from "explicit" to "all"; set it back, or, ` +
				`if the position of the consumer may be lost, delete this object and create it again`, "ImmutableField",
		},
		"Bound": {
			"the deliver subject has a subscriber",
			fakeConsumers{info: storedConsumer(), answer: api(400, 10013)}, consumer(describe), []string{look, update},
			`the deliver subject can only be changed while it has no subscriber: ` +
				`cannot update consumer "billing" of stream "sales": ` +
				`nats: API error: code=400 err_code=10013 description=as NATS says`, "",
		},
		"Gone": {
			"another client was faster, between two requests",
			fakeConsumers{info: storedConsumer(), answer: api(400, 10149)}, consumer(describe), []string{look, update},
			`cannot update consumer "billing" of stream "sales": ` +
				`nats: API error: code=400 err_code=10149 description=as NATS says`, "",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := consumerClient(&tc.nats, tc.mg).Update(t.Context(), tc.mg)
			terminal, _ := external.TerminalReason(err)

			if diff := cmp.Diff([]string{tc.err, tc.terminal}, []string{text(err), terminal}); diff != "" {
				t.Errorf("\n%s\nUpdate(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.calls, tc.nats.calls); diff != "" {
				t.Errorf("\n%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDeleteConsumer(t *testing.T) {
	const look, remove = "info sales billing", "delete sales billing"

	cases := map[string]struct {
		reason string
		nats   fakeConsumers
		calls  []string
		err    string
	}{
		"Deleted": {"read, then delete", fakeConsumers{info: storedConsumer()}, []string{look, remove}, ""},
		"Gone":    {"another client was faster", fakeConsumers{}, []string{look}, ""},
		"GoneJust": {
			"another client was faster, between two requests",
			fakeConsumers{info: storedConsumer(), answer: jetstream.ErrConsumerNotFound}, []string{look, remove}, "",
		},
		"NoStream": {"it went with its stream", fakeConsumers{infoErr: jetstream.ErrStreamNotFound}, []string{look}, ""},
		"NoStreamJust": {
			"between two requests",
			fakeConsumers{info: storedConsumer(), answer: jetstream.ErrStreamNotFound}, []string{look, remove}, "",
		},
		"Others": {
			"never a resource of another owner",
			fakeConsumers{info: storedConsumer(func(i *jetstream.ConsumerInfo) {
				i.Config.Metadata[managed.StampKey] = "them"
			})},
			[]string{look}, `consumer "billing" of stream "sales" got another owner meanwhile: it is left alone`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mg := consumer(deleted)
			err := consumerClient(&tc.nats, mg).Delete(t.Context(), mg)

			if diff := cmp.Diff(tc.err, text(err)); diff != "" {
				t.Errorf("\n%s\nDelete(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.calls, tc.nats.calls); diff != "" {
				t.Errorf("\n%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDeleteWhereItIs: a consumer is deleted from the stream for which it was created, whatever the spec
// says by then.
func TestDeleteWhereItIs(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Consumer){
		"OtherStream": func(*v1alpha1.Consumer) {},
		"NoStream":    unresolved,
	} {
		t.Run(name, func(t *testing.T) {
			nats, mg := &fakeConsumers{info: storedConsumer()}, consumer(made("first"), change, deleted)
			must(t, consumerClient(nats, mg).Delete(t.Context(), mg))

			if diff := cmp.Diff([]string{"info first billing", "delete first billing"}, nats.calls); diff != "" {
				t.Errorf("calls: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestStreamGone: the recorded stream and creation time of a consumer are removed with its stream, so that
// another stream may be named.
func TestStreamGone(t *testing.T) {
	mg := consumer(made("sales"))

	c := consumerClient(&fakeConsumers{infoErr: jetstream.ErrStreamNotFound}, mg)
	if _, err := c.Observe(t.Context(), mg); err == nil {
		t.Fatal("Observe(...): want an error")
	}

	mg.Spec.ForProvider.Stream = new("second")

	if _, err := consumerClient(&fakeConsumers{}, mg).Observe(t.Context(), mg); err != nil {
		t.Errorf("Observe(...): %v", err)
	}
}
