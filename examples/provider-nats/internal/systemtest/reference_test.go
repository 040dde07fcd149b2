package systemtest

import (
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// never is a poll interval that no test waits for: everything happens because of a watch.
const never = time.Hour

func (w *world) consumer(name string, of v1alpha1.ConsumerParameters) *v1alpha1.Consumer {
	mg := &v1alpha1.Consumer{ObjectMeta: w.meta(name)}
	mg.Spec.ForProvider = of

	return mg
}

// TestConsumerBeforeItsStream: a consumer that is created before its stream reports that it waits, and is
// created in NATS after the stream.
func TestConsumerBeforeItsStream(t *testing.T) {
	runProvider(t, never)

	cases := map[string]struct {
		reason string
		of     v1alpha1.ConsumerParameters
		synced string
		words  []string
	}{
		"Name": {
			"a Stream of the namespace may create it", v1alpha1.ConsumerParameters{Stream: new("ORDERS")},
			"False/StreamNotFound", []string{`waiting for the stream: create it`, `stream "ORDERS"`},
		},
		"Reference": {
			"a Stream by its name", v1alpha1.ConsumerParameters{StreamRef: &commonv1.NamespacedReference{Name: "orders"}},
			"False/ReferenceNotReady", []string{"cannot find the stream that spec.forProvider means", "Stream", "orders"},
		},
		"Selector": {
			"a Stream by its labels",
			v1alpha1.ConsumerParameters{
				StreamSelector: &commonv1.NamespacedSelector{MatchLabels: map[string]string{"team": "sales"}},
			},
			"False/ReferenceNotReady",
			[]string{"cannot find the stream that spec.forProvider means", "Stream", "none matches the selector"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWorld(t)
			mg := w.consumer("billing", tc.of)
			w.create(mg)
			w.awaitSynced(mg, tc.synced)

			for _, word := range tc.words {
				if c := mg.GetCondition(commonv1.TypeSynced); !strings.Contains(c.Message, word) {
					t.Errorf("\n%s\nwant %q in %q", tc.reason, word, c.Message)
				}
			}

			// Another Stream does not match.
			other := &v1alpha1.Stream{ObjectMeta: w.meta("other")}
			w.create(other)
			w.awaitReady(other)

			if w.read(mg); synced(mg) != tc.synced {
				t.Errorf("\n%s\nsynced: %s", tc.reason, synced(mg))
			}

			orders := w.orders()
			w.create(orders)
			w.awaitReady(mg)

			if got := mg.Status.AtProvider.Stream; got != "ORDERS" || *mg.Spec.ForProvider.Stream != "ORDERS" {
				t.Errorf("\n%s\nit is of the stream %q", tc.reason, got)
			}

			w.bereave(orders, mg, tc.of.Stream == nil && tc.of.StreamSelector == nil)
		})
	}
}

// orders returns a Stream with another name in NATS.
func (w *world) orders() *v1alpha1.Stream {
	mg := &v1alpha1.Stream{ObjectMeta: w.meta("orders")}
	mg.Labels = map[string]string{"team": "sales"}
	mg.Annotations = map[string]string{"krateo.io/external-name": "ORDERS"}

	return mg
}

// bereave deletes the stream, and the consumer with it. A consumer that refers to the Stream reacts, and
// uses the next one; any can be deleted.
func (w *world) bereave(stream *v1alpha1.Stream, mg resource.Managed, notices bool) {
	w.Helper()
	w.remove(stream)

	if notices {
		w.awaitSynced(mg, "False/StreamNotFound")

		again := w.orders()
		w.create(again)
		w.awaitReady(mg)
		w.remove(again)
	}

	w.delete(mg)
	w.awaitGone(mg)
}

// TestReferenceElsewhere: a Stream of another namespace is not used without a permission, and the message
// does not show whether it exists.
func TestReferenceElsewhere(t *testing.T) {
	runProvider(t, never)

	w, theirs := newWorld(t), newWorld(t)
	secret := &v1alpha1.Stream{ObjectMeta: theirs.meta("secret")}
	theirs.create(secret)
	theirs.awaitReady(secret)

	said := map[string]string{}

	for _, name := range []string{"secret", "absent"} {
		mg := w.consumer(name,
			v1alpha1.ConsumerParameters{StreamRef: &commonv1.NamespacedReference{Name: name, Namespace: theirs.ns}})
		w.create(mg)
		w.awaitSynced(mg, "False/ReferenceRefused")

		said[name] = strings.ReplaceAll(mg.GetCondition(commonv1.TypeSynced).Message, name, "NAME")
	}

	if said["secret"] != said["absent"] {
		t.Errorf("the message shows what exists elsewhere:\n%s\n%s", said["secret"], said["absent"])
	}
}
