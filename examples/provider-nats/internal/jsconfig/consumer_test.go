package jsconfig_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
)

// TestConsumerDiffSeesEveryField fails when NATS gets a new field: an update would erase it.
func TestConsumerDiffSeesEveryField(t *testing.T) {
	fields := reflect.TypeFor[jetstream.ConsumerConfig]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name

		t.Run(name, func(t *testing.T) {
			changed := jetstream.ConsumerConfig{}
			fill(t, reflect.ValueOf(&changed).Elem().Field(i))

			diff, err := jsconfig.ConsumerDiff(&jetstream.ConsumerConfig{}, &changed)
			must(t, err)

			// The name is how the consumer was found.
			if (name == "Name") != (len(diff) == 0) {
				t.Errorf("ConsumerDiff(...) of %s: %q", name, diff)
			}
		})
	}
}

// TestConsumerLeftOut: a value that is left out keeps the setting of another client; a list or block that
// is left out is removed.
func TestConsumerLeftOut(t *testing.T) {
	until := time.Unix(5, 0)
	observed := jetstream.ConsumerConfig{
		Name: "c", Durable: "c", Description: "theirs", AckWait: time.Hour, MaxDeliver: 3, MaxWaiting: 9, PauseUntil: &until,
		BackOff: []time.Duration{time.Hour}, FilterSubject: "a", PriorityGroups: []string{"g"},
		PriorityPolicy: jetstream.PriorityPolicyOverflow, Metadata: map[string]string{"_nats.ver": "1", "theirs": "x"},
	}

	got, err := jsconfig.Consumer(observed, &v1alpha1.ConsumerParameters{}, own())
	must(t, err)

	want := jetstream.ConsumerConfig{
		Name: "c", Durable: "c", Description: "theirs", AckWait: time.Hour, MaxDeliver: 3, MaxWaiting: 9, PauseUntil: &until,
		Metadata: map[string]string{"_nats.ver": "1", "moorage.dev/owner": "me"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Consumer(...): -want, +got:\n%s", diff)
	}
}

func TestInvalidConsumer(t *testing.T) {
	cases := map[string]struct {
		reason string
		asked  v1alpha1.ConsumerParameters
		want   string
	}{
		"MaxBytes": {
			"NATS counts in an int",
			v1alpha1.ConsumerParameters{MaxRequestMaxBytes: size("3Gi")},
			"maxRequestMaxBytes is 3Gi, and NATS allows at most 2147483647 bytes: choose less, or -1 for no limit",
		},
		"Policy": {
			"a newer CRD may know more than we",
			v1alpha1.ConsumerParameters{AckPolicy: new("maybe")}, `ackPolicy has the unknown value "maybe"`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := jsconfig.Consumer(jetstream.ConsumerConfig{}, &tc.asked, nil)
			if err == nil || err.Error() != tc.want {
				t.Errorf("\n%s\nConsumer(...): want error %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}
