package controller_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestDetails: connection details are given only for resources that the object owns or may observe, and
// only if it names a Secret.
func TestDetails(t *testing.T) {
	asks := func(s *v1alpha1.Stream) {
		s.Spec.WriteConnectionSecretToRef = &v1alpha1.LocalSecretReference{Name: "connection"}
	}
	looks := func(s *v1alpha1.Stream) {
		meta.AddAnnotations(s, map[string]string{
			meta.AnnotationKeyManagementPolicy: meta.ManagementPolicyObserve,
			meta.AnnotationKeyAdoptionPolicy:   meta.AdoptionPolicyIfUnowned,
		})
	}
	all := managed.ConnectionDetails{
		"servers": []byte("nats://a:4222,nats://b:4222"), "domain": []byte("hub"), "stream": []byte("orders"),
		"subjects": []byte("a,b"),
	}

	cases := map[string]struct {
		reason string
		owner  string
		change []func(*v1alpha1.Stream)
		want   managed.ConnectionDetails
	}{
		"Asked":       {"all there is to know", ours(), []func(*v1alpha1.Stream){asks}, all},
		"NotAsked":    {"no Secret is named", ours(), nil, nil},
		"Others":      {"it has another owner", "other", []func(*v1alpha1.Stream){asks}, nil},
		"Nobodys":     {"it has no owner yet", "", []func(*v1alpha1.Stream){asks}, nil},
		"OnlyLooksAt": {"the user observes a resource without an owner", "", []func(*v1alpha1.Stream){asks, looks}, all},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			info := stored(tc.owner, func(i *jetstream.StreamInfo) { i.Config.Subjects = []string{"b", "a"} })
			mg := stream(append(tc.change, func(s *v1alpha1.Stream) { s.Spec.ForProvider.Subjects = []string{"a", "b"} })...)

			got, err := client(&fake{info: info}, mg).Observe(t.Context(), mg)
			must(t, err)

			if diff := cmp.Diff(tc.want, got.ConnectionDetails); diff != "" {
				t.Errorf("\n%s\nObserve(...).ConnectionDetails: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestConsumerDetails: the details of a consumer depend on whether it pushes.
func TestConsumerDetails(t *testing.T) {
	mg := consumer(func(c *v1alpha1.Consumer) {
		c.Spec.WriteConnectionSecretToRef = &v1alpha1.LocalSecretReference{Name: "connection"}
	})
	at := managed.ConnectionDetails{
		"servers": []byte("nats://a:4222"), "jsPrefix": []byte("$JS.hub.API"), "stream": []byte("sales"),
		"consumer": []byte("billing"),
	}

	got, err := consumerClient(&fakeConsumers{info: storedConsumer()}, mg).Observe(t.Context(), mg)
	must(t, err)

	if diff := cmp.Diff(at, got.ConnectionDetails); diff != "" {
		t.Errorf("pull: -want, +got:\n%s", diff)
	}

	at["deliverSubject"], at["deliverGroup"] = []byte("inbox"), []byte("workers")

	got, err = consumerClient(&fakeConsumers{info: storedConsumer(func(i *jetstream.ConsumerInfo) {
		i.Config.DeliverSubject, i.Config.DeliverGroup = "inbox", "workers"
	})}, mg).Observe(t.Context(), mg)
	must(t, err)

	if diff := cmp.Diff(at, got.ConnectionDetails); diff != "" {
		t.Errorf("push: -want, +got:\n%s", diff)
	}
}
