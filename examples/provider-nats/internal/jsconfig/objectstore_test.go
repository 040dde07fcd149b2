package jsconfig_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
)

func objects(p *v1alpha1.ObjectStoreParameters) overlay {
	return func(base jetstream.StreamConfig) (jetstream.StreamConfig, error) {
		return jsconfig.ObjectStore(base, p, own())
	}
}

func everyObjectField() *v1alpha1.ObjectStoreParameters {
	return &v1alpha1.ObjectStoreParameters{
		Description: new("files"), TTL: span(time.Hour), MaxBytes: size("1Mi"), Storage: new(v1alpha1.StorageMemory),
		Replicas: new(int32(1)), Compression: new(v1alpha1.CompressionS2), Metadata: map[string]string{"team": "sales"},
	}
}

// TestObjectStoreIsWhatNATSMakes: a bucket of ours equals the bucket that the client of NATS creates from
// the same values.
func TestObjectStoreIsWhatNATSMakes(t *testing.T) {
	cases := map[string]struct {
		ours   *v1alpha1.ObjectStoreParameters
		theirs jetstream.ObjectStoreConfig
	}{
		"Nothing": {ours: &v1alpha1.ObjectStoreParameters{}},
		"EveryField": {
			ours: everyObjectField(),
			theirs: jetstream.ObjectStoreConfig{
				Description: "files", TTL: time.Hour, MaxBytes: 1 << 20, Storage: jetstream.MemoryStorage, Replicas: 1,
				Compression: true, Metadata: map[string]string{"team": "sales"},
			},
		},
		"ShortTTL": {&v1alpha1.ObjectStoreParameters{TTL: span(time.Second)}, jetstream.ObjectStoreConfig{TTL: time.Second}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			js := natstest.JetStream(t, natstest.Start(t))
			tc.theirs.Bucket = "b"

			_, err := js.CreateObjectStore(t.Context(), tc.theirs)
			must(t, err)

			theirs, err := js.Stream(t.Context(), jsconfig.ObjectStoreStream("b"))
			must(t, err)
			must(t, js.DeleteObjectStore(t.Context(), "b"))

			ours := settled(t, js, jsconfig.ObjectStoreStream("b"), objects(tc.ours))
			delete(ours.Metadata, "moorage.dev/owner")

			if diff := cmp.Diff(theirs.CachedInfo().Config, ours); diff != "" {
				t.Errorf("-theirs +ours:\n%s", diff)
			}

			store, err := js.ObjectStore(t.Context(), "b")
			must(t, err)
			_, err = store.PutString(t.Context(), "greeting", "hello")
			must(t, err)

			if got, err := store.GetString(t.Context(), "greeting"); err != nil || got != "hello" {
				t.Errorf("a stored object is read as %q: %v", got, err)
			}
		})
	}
}

// TestSealedByItsUser: a bucket that was sealed with the client of NATS is no drift.
func TestSealedByItsUser(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t))
	desired := objects(&v1alpha1.ObjectStoreParameters{TTL: span(time.Hour)})
	settled(t, js, jsconfig.ObjectStoreStream("b"), desired)

	store, err := js.ObjectStore(t.Context(), "b")
	must(t, err)
	must(t, store.Seal(t.Context()))

	s, err := js.Stream(t.Context(), jsconfig.ObjectStoreStream("b"))
	must(t, err)

	observed := s.CachedInfo().Config
	want, err := desired(observed)
	must(t, err)

	diff, err := jsconfig.Diff(&want, &observed)
	if err != nil || len(diff) > 0 || !observed.Sealed {
		t.Errorf("Diff(...) of a sealed bucket (%t): %v\n%s", observed.Sealed, err, diff)
	}
}

// TestObjectStoreConventions: a setting that would break the clients of NATS is drift.
func TestObjectStoreConventions(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t))
	desired := objects(everyObjectField())

	changes := map[string]func(cfg *jetstream.StreamConfig){
		"description": func(cfg *jetstream.StreamConfig) { cfg.Description = "changed" },
		"subjects":    func(cfg *jetstream.StreamConfig) { cfg.Subjects = append(cfg.Subjects, "else") },
		"maxAge":      func(cfg *jetstream.StreamConfig) { cfg.MaxAge *= 2 },
		"maxBytes":    func(cfg *jetstream.StreamConfig) { cfg.MaxBytes *= 2 },
		"maxMsgs":     func(cfg *jetstream.StreamConfig) { cfg.MaxMsgs = 5 },
		"maxMsgSize":  func(cfg *jetstream.StreamConfig) { cfg.MaxMsgSize = 5 },
		"discard":     func(cfg *jetstream.StreamConfig) { cfg.Discard = jetstream.DiscardOld },
		"allowRollup": func(cfg *jetstream.StreamConfig) { cfg.AllowRollup = false },
		"allowDirect": func(cfg *jetstream.StreamConfig) { cfg.AllowDirect = false },
		"compression": func(cfg *jetstream.StreamConfig) { cfg.Compression = jetstream.NoCompression },
		"republish.destination": func(cfg *jetstream.StreamConfig) {
			cfg.RePublish = &jetstream.RePublish{Source: ">", Destination: "copies.>"}
		},
		"metadata.team":              func(cfg *jetstream.StreamConfig) { delete(cfg.Metadata, "team") },
		"metadata.moorage.dev/owner": func(cfg *jetstream.StreamConfig) { delete(cfg.Metadata, "moorage.dev/owner") },
	}

	for path, change := range changes {
		t.Run(path, func(t *testing.T) {
			name := jsconfig.ObjectStoreStream("drift")
			cfg := settled(t, js, name, desired)

			t.Cleanup(func() { drop(t, js, name) })
			change(&cfg)

			s, err := js.UpdateStream(t.Context(), cfg)
			must(t, err)

			drifted := s.CachedInfo().Config
			corrected, err := desired(drifted)
			must(t, err)

			if diff, err := jsconfig.Diff(&corrected, &drifted); err != nil || !contains(diff, path) {
				t.Errorf("Diff(...) does not show %s: %v\n%s", path, err, diff)
			}

			s, err = js.UpdateStream(t.Context(), corrected)
			must(t, err)

			if diff, err := jsconfig.Diff(&corrected, &s.CachedInfo().Config); err != nil || len(diff) > 0 {
				t.Errorf("after the correction: %v\n%s", err, diff)
			}
		})
	}
}
