package jsconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
)

// TestRenamed checks that the differences of a bucket have the paths of its kind, and are sorted by them.
func TestRenamed(t *testing.T) {
	desired := jetstream.StreamConfig{
		Name: "KV_a", MaxAge: 1e9, MaxMsgsPerSubject: 2, MaxMsgSize: 10, SubjectDeleteMarkerTTL: 1e9, Description: "a",
	}
	observed := jetstream.StreamConfig{
		Name: "KV_a", MaxAge: 2e9, MaxMsgsPerSubject: 3, MaxMsgSize: 20, SubjectDeleteMarkerTTL: 2e9, Description: "b",
	}

	diff, err := jsconfig.Diff(&desired, &observed)
	if err != nil {
		t.Fatal(err)
	}

	for name, tc := range map[string]struct {
		fields map[string]string
		want   []string
	}{
		"Stream": {nil, []string{"description", "maxAge", "maxMsgSize", "maxMsgsPerSubject", "subjectDeleteMarkerTTL"}},
		"KeyValue": {
			jsconfig.KeyValueFields(), []string{"description", "history", "limitMarkerTTL", "maxValueSize", "ttl"},
		},
		"ObjectStore": {
			jsconfig.ObjectStoreFields(),
			[]string{"description", "maxMsgSize", "maxMsgsPerSubject", "subjectDeleteMarkerTTL", "ttl"},
		},
	} {
		var paths []string
		for _, d := range diff.Renamed(tc.fields) {
			paths = append(paths, d.Path)
		}

		if d := cmp.Diff(tc.want, paths); d != "" {
			t.Errorf("%s: -want, +got:\n%s", name, d)
		}
	}
}
