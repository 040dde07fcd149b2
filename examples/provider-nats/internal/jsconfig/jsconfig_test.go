package jsconfig_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
)

// TestDiffSeesEveryField fails when NATS gets a new field: an update would erase it.
func TestDiffSeesEveryField(t *testing.T) {
	unseen := map[string]string{
		"Name":     "is how the stream was found",
		"Template": "is a relic without a meaning",
	}

	fields := reflect.TypeFor[jetstream.StreamConfig]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name

		t.Run(name, func(t *testing.T) {
			changed := jetstream.StreamConfig{}
			fill(t, reflect.ValueOf(&changed).Elem().Field(i))

			diff, err := jsconfig.Diff(&jetstream.StreamConfig{}, &changed)
			if err != nil {
				t.Fatal(err)
			}

			if _, ok := unseen[name]; ok != (len(diff) == 0) {
				t.Errorf("Diff(...) of %s: %q", name, diff)
			}
		})
	}
}

// fill sets v, and all that is in it, to something other than zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()

	switch v.Kind() {
	case reflect.String:
		v.SetString("changed")
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		if v.CanInt() {
			v.SetInt(1)
		} else {
			v.SetUint(1)
		}
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"changed": "yes"}))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))

			return
		}

		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("no value for a %s", v.Kind())
	}
}

func TestDiffIgnores(t *testing.T) {
	cases := map[string]struct {
		reason            string
		desired, observed jetstream.StreamConfig
	}{
		"OrderOfSubjects": {
			"subjects are a set",
			jetstream.StreamConfig{Subjects: []string{"a", "b"}}, jetstream.StreamConfig{Subjects: []string{"b", "a"}},
		},
		"OrderOfSources": {
			"the server answers sources in any order",
			jetstream.StreamConfig{Sources: []*jetstream.StreamSource{{Name: "a"}, {Name: "b"}}},
			jetstream.StreamConfig{Sources: []*jetstream.StreamSource{{Name: "b"}, {Name: "a"}}},
		},
		"ServerMetadata": {
			"the server has keys of its own",
			jetstream.StreamConfig{}, jetstream.StreamConfig{Metadata: map[string]string{"_nats.ver": "2.15.2"}},
		},
		"Zone": {
			"a point in time is the same in every zone",
			jetstream.StreamConfig{Mirror: &jetstream.StreamSource{OptStartTime: new(time.Unix(1, 0).UTC())}},
			jetstream.StreamConfig{Mirror: &jetstream.StreamSource{
				OptStartTime: new(time.Unix(1, 0).In(time.FixedZone("", 3600))),
			}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			diff, err := jsconfig.Diff(&tc.desired, &tc.observed)
			if err != nil || len(diff) > 0 {
				t.Errorf("\n%s\nDiff(...): %v\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestLeftOut: a value that is left out keeps the setting of another client; a block that is left out is
// removed.
func TestLeftOut(t *testing.T) {
	observed := jetstream.StreamConfig{
		Name: "s", MaxMsgs: 7, Description: "theirs", AllowDirect: true,
		RePublish: &jetstream.RePublish{Destination: "x"}, Placement: &jetstream.Placement{Cluster: "c"},
		Metadata: map[string]string{"_nats.ver": "1", "theirs": "x"},
	}

	got, err := jsconfig.Stream(observed, &v1alpha1.StreamParameters{}, own())
	if err != nil {
		t.Fatal(err)
	}

	want := jetstream.StreamConfig{
		Name: "s", Subjects: []string{"s"}, MaxMsgs: 7, Description: "theirs", AllowDirect: true,
		MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1, MaxConsumers: -1, Replicas: 1,
		Metadata: map[string]string{"_nats.ver": "1", "moorage.dev/owner": "me"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Stream(...): -want, +got:\n%s", diff)
	}
}

func TestInvalid(t *testing.T) {
	cases := map[string]struct {
		reason string
		stream v1alpha1.StreamParameters
		want   string
	}{
		"MaxMsgSize": {
			"NATS has 32 bits for it",
			v1alpha1.StreamParameters{MaxMsgSize: size("3Gi")},
			"maxMsgSize is 3Gi, and NATS allows at most 2147483647 bytes: choose less, or -1 for no limit",
		},
		"Storage": {
			"a newer CRD may know more than we",
			v1alpha1.StreamParameters{Storage: new("tape")}, `storage has the unknown value "tape"`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := jsconfig.Stream(jetstream.StreamConfig{}, &tc.stream, nil)
			if err == nil || err.Error() != tc.want {
				t.Errorf("\n%s\nStream(...): want error %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 253)

	cases := map[string]struct {
		reason         string
		name           string
		stream, bucket bool
	}{
		"Plain":      {"letters, digits, dashes", "orders-2", true, true},
		"Upper":      {"names that Kubernetes does not allow are set by annotation", "ORDERS_2", true, true},
		"Dot":        {"a dot separates tokens of a subject", "orders.v2", false, false},
		"Space":      {"a space ends a subject", "a b", false, false},
		"Wildcard":   {"wildcards", "a*", false, false},
		"Greater":    {"wildcards", ">", false, false},
		"Slash":      {"streams are directories", "a/b", false, false},
		"Empty":      {"there must be a name", "", false, false},
		"Long":       {"a bucket has a prefix", long, true, false},
		"Longest":    {"the prefix of an object store is longer by one", long[:252], true, true},
		"TooLong":    {"more than NATS takes", long + "xyz", false, false},
		"Unicode":    {"a stream may have it, a bucket not", "ä", true, false},
		"Colon":      {"a stream may have it, a bucket not", "a:b", true, false},
		"ControlNUL": {"it is a control character", "a\x00b", false, false},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for what, check := range map[string]struct {
				err  error
				want bool
			}{
				"CheckStreamName":      {jsconfig.CheckStreamName(tc.name), tc.stream},
				"CheckBucketName":      {jsconfig.CheckBucketName(tc.name), tc.bucket},
				"CheckObjectStoreName": {jsconfig.CheckObjectStoreName(tc.name), tc.bucket && tc.name != long[:252]},
				"CheckConsumerName":    {jsconfig.CheckConsumerName(tc.name), tc.stream},
			} {
				if (check.err == nil) != check.want {
					t.Errorf("\n%s\n%s(%q): %v, want usable: %t", tc.reason, what, tc.name, check.err, check.want)
				}

				if check.err != nil && !strings.Contains(check.err.Error(), "krateo.io/external-name") {
					t.Errorf("\n%s\n%s(%q): %v, which does not say what to do", tc.reason, what, tc.name, check.err)
				}
			}
		})
	}
}
