package v1alpha1_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reference"
)

// A recorder holds objects, and records the reads of them.
type recorder struct {
	client.Reader
	read []string
}

func newRecorder(t *testing.T, objects ...client.Object) *recorder {
	t.Helper()

	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}

	s := &recorder{}
	s.Reader = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(
			ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption,
		) error {
			s.read = append(s.read, "get "+key.String())

			return c.Get(ctx, key, obj, o...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			s.read = append(s.read, "list")

			return c.List(ctx, list, o...)
		},
	}).Build()

	return s
}

func stream(change ...func(*v1alpha1.Stream)) *v1alpha1.Stream {
	out := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "orders", Labels: map[string]string{"team": "sales"},
	}}
	meta.SetExternalName(out, "ORDERS")

	for _, fn := range change {
		fn(out)
	}

	return out
}

func TestResolveReferences(t *testing.T) {
	made := func(s *v1alpha1.Stream) { s.Status.AtProvider.Created = "2026-01-02T03:04:05Z" }
	seen := func(s *v1alpha1.Stream) { s.SetConditions(commonv1.Available()) }
	down := func(s *v1alpha1.Stream) { s.SetConditions(commonv1.Unavailable()) }

	byName := &commonv1.NamespacedReference{Name: "orders"}
	byLabel := &commonv1.NamespacedSelector{MatchLabels: map[string]string{"team": "sales"}}

	type want struct {
		stream, ref string
		reason      reference.Reason
		read        []string // without repetition
	}

	cases := map[string]struct {
		reason  string
		asked   v1alpha1.ConsumerParameters
		created string
		objects []client.Object
		want    want
	}{
		"Named": {
			"it may be about to be created",
			v1alpha1.ConsumerParameters{Stream: new("S")}, "", nil, want{stream: "S", read: []string{"list"}},
		},
		"NamedFound": {
			"nothing is waited for",
			v1alpha1.ConsumerParameters{Stream: new("S")}, "now", nil, want{stream: "S"},
		},
		"Reference": {
			"its name in NATS",
			v1alpha1.ConsumerParameters{StreamRef: byName}, "", []client.Object{stream(made)},
			want{stream: "ORDERS", ref: "orders", read: []string{"get ns/orders"}},
		},
		"Unavailable": {
			"it exists, and comes back",
			v1alpha1.ConsumerParameters{StreamRef: byName}, "", []client.Object{stream(made, down)},
			want{stream: "ORDERS", ref: "orders", read: []string{"get ns/orders"}},
		},
		"OnlySeen": {
			"one that is only observed",
			v1alpha1.ConsumerParameters{StreamRef: byName}, "", []client.Object{stream(seen)},
			want{stream: "ORDERS", ref: "orders", read: []string{"get ns/orders"}},
		},
		"NotMade": {
			"it has a name before it exists",
			v1alpha1.ConsumerParameters{StreamRef: byName}, "", []client.Object{stream()},
			want{ref: "orders", reason: reference.ReasonNoValue, read: []string{"get ns/orders"}},
		},
		"NoObject": {
			"it may be created",
			v1alpha1.ConsumerParameters{StreamRef: byName}, "", nil,
			want{ref: "orders", reason: reference.ReasonNotFound, read: []string{"get ns/orders"}},
		},
		"Resolved": {
			"the Stream is watched, in case it is deleted",
			v1alpha1.ConsumerParameters{Stream: new("ORDERS"), StreamRef: byName}, "now", nil,
			want{stream: "ORDERS", ref: "orders", read: []string{"get ns/orders"}},
		},
		"Selector": {
			"the selection is stored",
			v1alpha1.ConsumerParameters{StreamSelector: byLabel}, "", []client.Object{stream(made)},
			want{stream: "ORDERS", ref: "orders", read: []string{"get ns/orders", "list"}},
		},
		"NoMatch": {
			"it may be created",
			v1alpha1.ConsumerParameters{StreamSelector: byLabel}, "", nil,
			want{reason: reference.ReasonNoMatch, read: []string{"list"}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.Consumer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "billing"}}
			c.Spec.ForProvider = *tc.asked.DeepCopy()
			c.Status.AtProvider.Created = tc.created

			s := newRecorder(t, tc.objects...)
			err := c.ResolveReferences(t.Context(), s)

			slices.Sort(s.read)

			got := want{
				reason: reference.ReasonOf(err), read: slices.Compact(s.read),
				stream: reference.FromPtrValue(c.Spec.ForProvider.Stream),
			}
			if ref := c.Spec.ForProvider.StreamRef; ref != nil {
				got.ref = ref.Name
			}

			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nResolveReferences(...): -want, +got:\n%s\n%v", tc.reason, diff, err)
			}
		})
	}
}

// TestOtherNATS: the name of a stream is used only with the NATS of the stream.
func TestOtherNATS(t *testing.T) {
	cluster := v1alpha1.ProviderConfigReference{Kind: v1alpha1.ClusterProviderConfigKind, Name: "default"}
	named := v1alpha1.ProviderConfigReference{Name: "far"}
	plain := v1alpha1.ProviderConfigReference{Kind: v1alpha1.ProviderConfigKind, Name: "default"}

	byName := v1alpha1.ConsumerParameters{StreamRef: &commonv1.NamespacedReference{Name: "orders"}}
	byLabel := v1alpha1.ConsumerParameters{
		StreamSelector: &commonv1.NamespacedSelector{MatchLabels: map[string]string{"team": "sales"}},
	}
	earlier := v1alpha1.ConsumerParameters{Stream: new("ORDERS"), StreamRef: byName.StreamRef}

	type want struct {
		reason string
		stream string
	}

	cases := map[string]struct {
		reason    string
		asked     v1alpha1.ConsumerParameters
		ours, its v1alpha1.ProviderConfigReference
		want      want
	}{
		"Defaults": {
			"an omitted field has the default",
			byName, v1alpha1.ProviderConfigReference{}, plain, want{stream: "ORDERS"},
		},
		"Same":     {"one for all namespaces", byName, cluster, cluster, want{stream: "ORDERS"}},
		"Kind":     {"another kind is another configuration", byName, plain, cluster, want{reason: "ReferenceRefused"}},
		"Name":     {"another name is one, too", byName, named, plain, want{reason: "ReferenceRefused"}},
		"Selector": {"labels say nothing of where it is", byLabel, named, plain, want{reason: "ReferenceRefused"}},
		"Moved": {
			"the Stream that was found earlier uses another configuration now",
			earlier, named, plain, want{reason: "ReferenceRefused", stream: "ORDERS"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.Consumer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "billing"}}
			c.Spec.ForProvider, c.Spec.ProviderConfigRef = *tc.asked.DeepCopy(), tc.ours

			err := c.ResolveReferences(t.Context(), newRecorder(t, stream(func(s *v1alpha1.Stream) {
				s.Status.AtProvider.Created, s.Spec.ProviderConfigRef = "2026-01-02T03:04:05Z", tc.its
			})))

			reason, _ := external.TerminalReason(err)

			got := want{reason: reason, stream: reference.FromPtrValue(c.Spec.ForProvider.Stream)}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("\n%s\nResolveReferences(...): -want, +got:\n%s\n%v", tc.reason, diff, err)
			}

			if err != nil && !strings.Contains(err.Error(), "spec.providerConfigRef") {
				t.Errorf("\n%s\nthe error does not say what to correct: %v", tc.reason, err)
			}
		})
	}
}
