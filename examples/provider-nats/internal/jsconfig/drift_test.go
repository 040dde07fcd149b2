package jsconfig_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
)

// TestDriftOfEveryField: a change of any part of a configuration is a difference if the spec sets it, and
// the update reverts it.
func TestDriftOfEveryField(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t))

	// Changes that the server accepts, one for each field that has any.
	changes := map[string]func(cfg *jetstream.StreamConfig){
		"description":       func(cfg *jetstream.StreamConfig) { cfg.Description = "changed" },
		"subjects":          func(cfg *jetstream.StreamConfig) { cfg.Subjects = cfg.Subjects[:1] },
		"retention":         func(cfg *jetstream.StreamConfig) { cfg.Retention = jetstream.LimitsPolicy },
		"maxMsgs":           func(cfg *jetstream.StreamConfig) { cfg.MaxMsgs = 2000 },
		"maxBytes":          func(cfg *jetstream.StreamConfig) { cfg.MaxBytes *= 2 },
		"maxAge":            func(cfg *jetstream.StreamConfig) { cfg.MaxAge *= 2 },
		"maxMsgsPerSubject": func(cfg *jetstream.StreamConfig) { cfg.MaxMsgsPerSubject = 6 },
		"maxMsgSize":        func(cfg *jetstream.StreamConfig) { cfg.MaxMsgSize = 1024 },
		"maxConsumers":      func(cfg *jetstream.StreamConfig) { cfg.MaxConsumers = 8 },
		"discard": func(cfg *jetstream.StreamConfig) {
			cfg.Discard, cfg.DiscardNewPerSubject = jetstream.DiscardOld, false
		},
		"discardNewPerSubject": func(cfg *jetstream.StreamConfig) { cfg.DiscardNewPerSubject = false },
		"noAck":                func(cfg *jetstream.StreamConfig) { cfg.NoAck = false },
		"duplicateWindow":      func(cfg *jetstream.StreamConfig) { cfg.Duplicates = time.Second },
		"placement.tags": func(cfg *jetstream.StreamConfig) {
			cfg.Placement = &jetstream.Placement{Tags: []string{"ssd"}}
		},
		"sources":     func(cfg *jetstream.StreamConfig) { cfg.Sources = cfg.Sources[:1] },
		"compression": func(cfg *jetstream.StreamConfig) { cfg.Compression = jetstream.NoCompression },
		"subjectTransform.destination": func(cfg *jetstream.StreamConfig) {
			cfg.SubjectTransform.Destination = "x.{{wildcard(1)}}"
		},
		"republish.headersOnly":            func(cfg *jetstream.StreamConfig) { cfg.RePublish.HeadersOnly = false },
		"allowDirect":                      func(cfg *jetstream.StreamConfig) { cfg.AllowDirect = false },
		"consumerLimits.maxAckPending":     func(cfg *jetstream.StreamConfig) { cfg.ConsumerLimits.MaxAckPending = 51 },
		"consumerLimits.inactiveThreshold": func(cfg *jetstream.StreamConfig) { cfg.ConsumerLimits.InactiveThreshold *= 2 },
		"subjectDeleteMarkerTTL":           func(cfg *jetstream.StreamConfig) { cfg.SubjectDeleteMarkerTTL *= 2 },
		"allowRollup": func(cfg *jetstream.StreamConfig) {
			cfg.SubjectDeleteMarkerTTL, cfg.AllowRollup = 0, false
		},
		"allowAtomicPublish":         func(cfg *jetstream.StreamConfig) { cfg.AllowAtomicPublish = false },
		"allowBatchPublish":          func(cfg *jetstream.StreamConfig) { cfg.AllowBatchPublish = false },
		"metadata.team":              func(cfg *jetstream.StreamConfig) { cfg.Metadata["team"] = "other" },
		"metadata.extra":             func(cfg *jetstream.StreamConfig) { cfg.Metadata["extra"] = "x" },
		"metadata.moorage.dev/owner": func(cfg *jetstream.StreamConfig) { delete(cfg.Metadata, "moorage.dev/owner") },
		"mirrorDirect":               nil, // Only of a mirror: see TestDriftOfMirrorDirect.
		// These switches can only be turned on.
		"denyPurge": func(cfg *jetstream.StreamConfig) {
			cfg.SubjectDeleteMarkerTTL, cfg.AllowRollup, cfg.DenyPurge = 0, false, true
		},
		"sealed":            nil,
		"replicas":          nil,
		"allowMsgSchedules": nil,
		// And these cannot be changed at all.
		"storage": nil, "mirror": nil, "firstSeq": nil, "persistMode": nil, "allowMsgCounter": nil, "denyDelete": nil,
		"allowMsgTTL": nil,
	}

	for path, change := range changes {
		if change == nil {
			continue
		}

		t.Run(path, func(t *testing.T) {
			stream := "drift"
			desired := overlay(func(base jetstream.StreamConfig) (jetstream.StreamConfig, error) {
				return jsconfig.Stream(base, everyField(), own())
			})
			cfg := settled(t, js, stream, desired)

			t.Cleanup(func() { drop(t, js, stream) })

			change(&cfg)

			s, err := js.UpdateStream(t.Context(), cfg)
			if err != nil {
				t.Fatalf("change by another client: %v", err)
			}

			drifted := s.CachedInfo().Config

			corrected, err := desired(drifted)
			if err != nil {
				t.Fatal(err)
			}

			diff, err := jsconfig.Diff(&corrected, &drifted)
			if err != nil {
				t.Fatal(err)
			}

			if !contains(diff, path) {
				t.Errorf("Diff(...) does not show %s:\n%s", path, diff)
			}

			if path == "denyPurge" {
				return // The server keeps it: see TestRefused.
			}

			if s, err = js.UpdateStream(t.Context(), corrected); err != nil {
				t.Fatalf("correction: %v", err)
			}

			if diff, err = jsconfig.Diff(&corrected, &s.CachedInfo().Config); err != nil || len(diff) > 0 {
				t.Errorf("after the correction: %v\n%s", err, diff)
			}
		})
	}

	for field := range jsonFields(t, jsconfig.StreamParameters(&jetstream.StreamConfig{})) {
		if !covered(changes, field) {
			t.Errorf("no change for the field %s", field)
		}
	}
}

func TestDriftOfMirrorDirect(t *testing.T) {
	js := natstest.JetStream(t, natstest.Start(t))
	desired := stream(&v1alpha1.StreamParameters{
		Mirror: &v1alpha1.Source{Name: "o", Domain: "hub"}, MirrorDirect: new(true),
	})
	cfg := settled(t, js, "mirror", desired)
	cfg.MirrorDirect = false

	s, err := js.UpdateStream(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}

	corrected, err := desired(s.CachedInfo().Config)
	if err != nil {
		t.Fatal(err)
	}

	diff, err := jsconfig.Diff(&corrected, &s.CachedInfo().Config)
	if err != nil {
		t.Fatal(err)
	}

	if want := "mirrorDirect: desired true, observed false"; diff.String() != want {
		t.Errorf("Diff(...): want %q, got %q", want, diff)
	}
}

func covered[T any](changes map[string]T, field string) bool {
	for path := range changes {
		if path == field || len(path) > len(field) && path[:len(field)+1] == field+"." {
			return true
		}
	}

	return false
}

func contains(diff jsconfig.Differences, path string) bool {
	for _, d := range diff {
		if d.Path == path {
			return true
		}
	}

	return false
}

func jsonFields(t *testing.T, p *v1alpha1.StreamParameters) map[string]any {
	t.Helper()

	image, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]any{}
	if err := json.Unmarshal(image, &out); err != nil {
		t.Fatal(err)
	}

	return out
}
