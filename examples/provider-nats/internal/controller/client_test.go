package controller_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const cluster types.UID = "cluster"

// fake is a JetStream with preset answers that records its calls.
type fake struct {
	controller.Consumers // of which it has none

	info     *jetstream.StreamInfo
	infoErr  error
	answer   error
	identity error
	calls    []string
	sent     jetstream.StreamConfig
	released int
}

func (f *fake) Identity(context.Context) (string, error) { return "north/SALES", f.identity }

func (f *fake) Address() natsconn.Address {
	return natsconn.Address{Servers: []string{"nats://a:4222", "nats://b:4222"}, Domain: "hub"}
}

func (f *fake) Info(_ context.Context, name string) (*jetstream.StreamInfo, error) {
	f.calls = append(f.calls, "info "+name)

	if f.info == nil && f.infoErr == nil {
		return nil, jetstream.ErrStreamNotFound
	}

	return f.info, f.infoErr
}

func (f *fake) Create(_ context.Context, cfg jetstream.StreamConfig) error {
	f.calls, f.sent = append(f.calls, "create "+cfg.Name), cfg

	return f.answer
}

func (f *fake) Update(_ context.Context, cfg jetstream.StreamConfig) error {
	f.calls, f.sent = append(f.calls, "update "+cfg.Name), cfg

	return f.answer
}

func (f *fake) Delete(_ context.Context, name string) error {
	f.calls = append(f.calls, "delete "+name)

	return f.answer
}

func stream(change ...func(*v1alpha1.Stream)) *v1alpha1.Stream {
	out := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "orders", UID: "uid"}}
	meta.SetExternalName(out, "orders")

	for _, fn := range change {
		fn(out)
	}

	return out
}

func stamp(kind controller.Kind, mg resource.Managed) managed.Stamp {
	return managed.NewStamp(cluster, kind.GroupVersionKind().GroupKind(), mg)
}

// client returns the client of a Stream, over streams.
func client(nats controller.JetStream, mg resource.Managed) *controller.Client {
	kind := controller.StreamKind()

	return controller.NewClient(&controller.Link{JetStream: nats, Release: func() {}}, kind, stamp(kind, mg))
}

// stored is the default stream as NATS would return it, with a stamp or none.
func stored(owner string, change ...func(*jetstream.StreamInfo)) *jetstream.StreamInfo {
	out := &jetstream.StreamInfo{
		Created: time.Unix(1700000000, 5),
		Config: jetstream.StreamConfig{
			Name: "orders", Subjects: []string{"orders"}, MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
			MaxConsumers: -1, Replicas: 1, Duplicates: 2 * time.Minute, Metadata: map[string]string{"_nats.ver": "2.15.2"},
		},
		State: jetstream.StreamState{Msgs: 3, Bytes: 90, FirstSeq: 1, LastSeq: 3, Consumers: 2},
	}
	if owner != "" {
		out.Config.Metadata[managed.StampKey] = owner
	}

	for _, fn := range change {
		fn(out)
	}

	return out
}

func ours() string { return string(stamp(controller.StreamKind(), stream())) }

func TestObserve(t *testing.T) {
	boom := errors.New("boom")

	type want struct {
		observation managed.ExternalObservation
		ready       commonv1.ConditionReason
		err         string
		terminal    string
	}

	cases := map[string]struct {
		reason string
		nats   fake
		mg     *v1alpha1.Stream
		want   want
	}{
		"Missing": {"nothing is there", fake{}, stream(), want{}},
		"UpToDate": {
			"the stream is as desired", fake{info: stored(ours())}, stream(),
			want{
				observation: managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: managed.OwnerOurs},
				ready:       commonv1.ReasonAvailable,
			},
		},
		"Drifted": {
			"the diff names field and values", fake{info: stored(ours(), func(i *jetstream.StreamInfo) {
				i.Config.MaxMsgs = 5
			})},
			stream(func(s *v1alpha1.Stream) { s.Spec.ForProvider.MaxMsgs = new(int64(7)) }),
			want{
				observation: managed.ExternalObservation{
					ResourceExists: true, Diff: "maxMsgs: desired 7, observed 5", Owner: managed.OwnerOurs,
					Differences: []commonv1.Difference{{Path: "maxMsgs", Desired: "7", Observed: "5"}},
				},
				ready: commonv1.ReasonAvailable,
			},
		},
		"Nobodys": {
			"a stream without a stamp lacks ours, and nothing else of it is shown", fake{info: stored("")}, stream(),
			want{
				observation: managed.ExternalObservation{
					ResourceExists: true, Owner: managed.OwnerNone,
					Diff:        `metadata.moorage.dev/owner: desired "` + ours() + `", observed none`,
					Differences: []commonv1.Difference{{Path: "metadata.moorage.dev/owner", Desired: `"` + ours() + `"`}},
				},
			},
		},
		"Others": {
			"nothing of it is shown; it lacks our mark", fake{info: stored("other")}, stream(),
			want{observation: managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOther, OwnerStamp: "other"}},
		},
		"OtherUID": {
			"an object of the same name is another object", fake{info: stored(ours())}, stream(func(s *v1alpha1.Stream) {
				s.UID = "new"
			}),
			want{observation: managed.ExternalObservation{
				ResourceExists: true, Owner: managed.OwnerOther, OwnerStamp: managed.Stamp(ours()),
			}},
		},
		"Leaderless": {
			"no leader, no service", fake{info: stored(ours(), func(i *jetstream.StreamInfo) {
				i.Cluster = &jetstream.ClusterInfo{Name: "c"}
			})}, stream(),
			want{
				observation: managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: managed.OwnerOurs},
				ready:       commonv1.ReasonUnavailable,
			},
		},
		"Deleted": {
			"the spec of a deleted object does not matter, even if it is invalid", fake{info: stored(ours())},
			stream(func(s *v1alpha1.Stream) {
				s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
				s.Spec.ForProvider.Storage = new("tape")
			}),
			want{
				observation: managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: managed.OwnerOurs},
				ready:       commonv1.ReasonAvailable,
			},
		},
		"Nonsense": {
			"a value that NATS cannot express", fake{info: stored(ours())}, stream(func(s *v1alpha1.Stream) {
				s.Spec.ForProvider.Storage = new("tape")
			}),
			want{
				err: `spec.forProvider cannot be used: storage has the unknown value "tape"`, terminal: "InvalidConfiguration",
				ready: commonv1.ReasonAvailable,
			},
		},
		"Unreachable": {
			"not knowing is not absence",
			fake{infoErr: boom}, stream(), want{err: `cannot look at stream "orders": boom`},
		},
		"BadName": {
			"a name that NATS cannot use is not even asked for", fake{}, stream(func(s *v1alpha1.Stream) {
				meta.SetExternalName(s, "a.b")
			}),
			want{err: `"a.b" cannot be the name of a stream: NATS allows neither white space nor any of . * > \ / in it; ` +
				`set the annotation krateo.io/external-name to a name that NATS can use`, terminal: "InvalidName"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := client(&tc.nats, tc.mg).Observe(t.Context(), tc.mg)
			terminal, _ := external.TerminalReason(err)

			result := want{got, tc.mg.GetCondition(commonv1.TypeReady).Reason, text(err), terminal}
			if diff := cmp.Diff(tc.want, result, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}

func TestObservedStatus(t *testing.T) {
	mg := stream()
	info := stored(ours(), func(i *jetstream.StreamInfo) {
		i.Cluster = &jetstream.ClusterInfo{
			Name: "c", Leader: "a", Replicas: []*jetstream.PeerInfo{{Name: "b", Current: true}, {Name: "d", Offline: true}},
		}
	})

	if _, err := client(&fake{info: info}, mg).Observe(t.Context(), mg); err != nil {
		t.Fatal(err)
	}

	got := mg.Status.AtProvider
	got.Config = nil

	want := v1alpha1.StreamObservation{
		Created:  "2023-11-14T22:13:20.000000005Z",
		Messages: 3, Bytes: 90, FirstSeq: 1, LastSeq: 3, ConsumerCount: 2, ServerVersion: "2.15.2",
		Cluster: &v1alpha1.ClusterObservation{
			Name: "c", Leader: "a",
			Replicas: []v1alpha1.ReplicaObservation{{Name: "b", Current: true}, {Name: "d", Offline: true}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status.atProvider: -want, +got:\n%s", diff)
	}

	if spec := (&v1alpha1.Stream{}).Spec; !cmp.Equal(spec, mg.Spec) {
		t.Errorf("the spec was changed:\n%s", cmp.Diff(spec, mg.Spec))
	}
}

// api returns what the client of NATS returns for a code.
func api(http int, code jetstream.ErrorCode) error {
	return &jetstream.APIError{Code: http, ErrorCode: code, Description: "as NATS says"}
}

func TestCreate(t *testing.T) {
	cases := map[string]struct {
		reason   string
		answer   error
		exists   bool
		terminal string
		contains string
	}{
		"Created": {reason: "it works"},
		"NameTaken": {
			reason: "the reconciler checks the owner", answer: jetstream.ErrStreamNameAlreadyInUse, exists: true,
			contains: `cannot create stream "orders"`,
		},
		"Overlap": {
			reason: "another stream must give way", answer: api(400, 10065), terminal: "SubjectsOverlap",
			contains: "change spec.forProvider.subjects here or the other stream",
		},
		"Invalid": {
			reason: "the spec must change, whatever HTTP says", answer: api(500, 10052), terminal: "InvalidConfiguration",
			contains: "correct it",
		},
		"InvalidOther": {
			reason: "another code of the same meaning", answer: api(500, 10012), terminal: "InvalidConfiguration",
			contains: "correct it",
		},
		"Replicas": {
			reason: "one server has one replica", answer: api(500, 10074), terminal: "InvalidConfiguration",
			contains: "correct it",
		},
		"MirrorMistake": {
			reason: "a bad request", answer: api(400, 10031), terminal: "InvalidConfiguration", contains: "correct it",
		},
		"Resources": {reason: "there may be more later", answer: api(503, 10023), contains: "as NATS says"},
		"Memory":    {reason: "there may be more later", answer: api(500, 10028), contains: "as NATS says"},
		"Storage":   {reason: "there may be more later", answer: api(500, 10047), contains: "as NATS says"},
		"Account": {
			reason: "a limit has to be raised", answer: api(400, 10002), terminal: "LimitReached",
			contains: "raise its limits in NATS",
		},
		"Streams": {
			reason: "or delete a stream", answer: api(400, 10027), terminal: "LimitReached",
			contains: "delete what is not needed",
		},
		"Consumers": {reason: "or a consumer", answer: api(400, 10026), terminal: "LimitReached", contains: "as NATS says"},
		"Peers":     {reason: "a server may come back", answer: api(400, 10005), contains: "as NATS says"},
		"NoLeader":  {reason: "there will be one", answer: api(503, 10008), contains: "as NATS says"},
		"Timeout":   {reason: "the result is unknown", answer: context.DeadlineExceeded, contains: "deadline"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			nats, mg := &fake{answer: tc.answer}, stream(func(s *v1alpha1.Stream) { s.Spec.ForProvider.Sealed = new(true) })
			err := client(nats, mg).Create(t.Context(), mg)

			if (err != nil) != (tc.answer != nil) || !strings.Contains(text(err), tc.contains) {
				t.Errorf("\n%s\nCreate(...): want error with %q, got %v", tc.reason, tc.contains, err)
			}

			if terminal, _ := external.TerminalReason(err); terminal != tc.terminal {
				t.Errorf("\n%s\nCreate(...): want terminal reason %q, got %q", tc.reason, tc.terminal, terminal)
			}

			if exists := external.IsAlreadyExists(err); exists != tc.exists {
				t.Errorf("\n%s\nCreate(...): already exists: want %t, got %t", tc.reason, tc.exists, exists)
			}

			if diff := cmp.Diff([]string{"create orders"}, nats.calls); diff != "" {
				t.Errorf("\n%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}

			if nats.sent.Sealed || nats.sent.Metadata[managed.StampKey] != ours() {
				t.Errorf("\n%s\nsent: %+v, want it open and stamped", tc.reason, nats.sent)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	cases := map[string]struct {
		reason   string
		nats     fake
		mg       *v1alpha1.Stream
		calls    []string
		err      string
		terminal string
	}{
		"Updated": {
			"read, then write",
			fake{info: stored(ours())}, stream(), []string{"info orders", "update orders"}, "", "",
		},
		"Unseen": {
			"a resource without an owner is adopted only if the reconciler has observed it",
			fake{info: stored("")}, stream(), []string{"info orders"},
			`stream "orders" was created anew by another client meanwhile: it is left alone`, "",
		},
		"Stolen": {
			"never a resource of another owner",
			fake{info: stored("them")}, stream(), []string{"info orders"},
			`stream "orders" got another owner meanwhile: it is left alone`, "",
		},
		"Vanished": {
			"gone meanwhile", fake{}, stream(), []string{"info orders"},
			`stream "orders" was deleted by another client meanwhile`, "",
		},
		"Immutable": {
			"refused without a request", fake{info: stored(ours())},
			stream(func(s *v1alpha1.Stream) { s.Spec.ForProvider.Storage = new("memory") }), []string{"info orders"},
			`spec.forProvider of stream "orders": storage cannot be changed from "file" to "memory"; set it back, ` +
				`or, if what is in the stream may be lost, delete this object and create it again`,
			"ImmutableField",
		},
		"Refused": {
			"answers of NATS are classified", fake{info: stored(ours()), answer: api(500, 10052)}, stream(),
			[]string{"info orders", "update orders"},
			`NATS does not accept spec.forProvider: correct it: ` +
				`cannot update stream "orders": nats: API error: code=500 err_code=10052 description=as NATS says`,
			"InvalidConfiguration",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := client(&tc.nats, tc.mg).Update(t.Context(), tc.mg)
			terminal, _ := external.TerminalReason(err)

			if diff := cmp.Diff([]string{tc.err, tc.terminal}, []string{text(err), terminal}); diff != "" {
				t.Errorf("\n%s\nUpdate(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.calls, tc.nats.calls); diff != "" {
				t.Errorf("\n%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}

			if len(tc.nats.calls) == 2 && tc.nats.sent.Metadata[managed.StampKey] != ours() {
				t.Errorf("\n%s\nsent without the stamp: %+v", tc.reason, tc.nats.sent)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	cases := map[string]struct {
		reason string
		nats   fake
		calls  []string
		err    string
	}{
		"Deleted": {"read, then delete", fake{info: stored(ours())}, []string{"info orders", "delete orders"}, ""},
		"Gone":    {"another client was faster", fake{}, []string{"info orders"}, ""},
		"GoneJust": {
			"another client was faster, between two requests",
			fake{info: stored(ours()), answer: jetstream.ErrStreamNotFound}, []string{"info orders", "delete orders"}, "",
		},
		"Others": {
			"never a resource of another owner",
			fake{info: stored("them")}, []string{"info orders"}, `stream "orders" got another owner meanwhile: it is left alone`,
		},
		"Unseen": {
			"never a resource that was not observed",
			fake{info: stored("")}, []string{"info orders"},
			`stream "orders" was created anew by another client meanwhile: it is left alone`,
		},
		"Impossible": {
			"NATS has reasons",
			fake{info: stored(ours()), answer: api(500, 10050)}, []string{"info orders", "delete orders"},
			`cannot delete stream "orders": nats: API error: code=500 err_code=10050 description=as NATS says`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mg := stream()
			err := client(&tc.nats, mg).Delete(t.Context(), mg)

			if diff := cmp.Diff(tc.err, text(err)); diff != "" {
				t.Errorf("\n%s\nDelete(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.calls, tc.nats.calls); diff != "" {
				t.Errorf("\n%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOtherKind gives a client an object of another kind: an error, and no calls.
func TestOtherKind(t *testing.T) {
	mg := &v1alpha1.KeyValue{ObjectMeta: metav1.ObjectMeta{Name: "orders"}}
	meta.SetExternalName(mg, "orders")

	nats := &fake{}
	if err := client(nats, mg).Create(t.Context(), mg); err == nil || len(nats.calls) > 0 {
		t.Errorf("Create(...): want an error and no calls, got %v and %v", err, nats.calls)
	}
}
