package jsconfig_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/jsconfig"
)

// FuzzNames takes any external name. An accepted name is exactly one token of a subject for the server; the
// error for another name fits into a condition.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"", "orders", "KV_x", "a.b", "a b", "a*", ">", `a\b`, "a/b", "\x00", "\t", "\u00a0", "\u200b", "\xff", "ö", "日本",
		"-", "_",
		strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("ö", 128), "$JS", "\u2028", "\ufeff", "\U000e0001",
	} {
		f.Add(name)
	}

	f.Fuzz(func(t *testing.T, name string) {
		for what, check := range map[string]struct {
			check  func(string) error
			prefix string
		}{
			"stream": {jsconfig.CheckStreamName, ""}, "consumer": {jsconfig.CheckConsumerName, ""},
			"bucket": {jsconfig.CheckBucketName, "KV_"}, "object store": {jsconfig.CheckObjectStoreName, "OBJ_"},
		} {
			err := check.check(name)
			full := check.prefix + name
			subject := "$JS.API.STREAM.INFO." + full

			switch {
			case err != nil:
				if text := err.Error(); utf8.ValidString(name) && (!utf8.ValidString(text) || len(text) > 300+6*len(name)) {
					t.Errorf("%q as the name of a %s: %d bytes of error", name, what, len(text))
				}
			case !server.IsValidLiteralSubject(subject) || strings.Count(subject, ".") != 4 || len(full) > 255 ||
				strings.ContainsFunc(full, func(r rune) bool { return r <= ' ' || r == 0x7f }):
				t.Errorf("%q is accepted as the name of a %s", name, what)
			}
		}
	})
}

func streamSeeds() []string {
	return []string{
		`{}`, `null`, `[]`, `{"subjects":["a","b"],"maxMsgs":5}`,
		`{"subjects":["b","a","a"],"sources":[{"name":"x"},{"name":"w","domain":"d"}]}`,
		`{"mirror":{"name":"m","optStartSeq":1},"mirrorDirect":true}`,
		`{"maxBytes":"1Gi","maxMsgSize":"9E","maxAge":"1h"}`, `{"maxBytes":"-1"}`,
		`{"retention":"workqueue","storage":"memory","discard":"new","compression":"s2","persistMode":"async"}`,
		`{"retention":"nonsense"}`,
		`{"sealed":true,"denyDelete":true,"allowRollup":true,"maxAge":"5m"}`,
		`{"subjectDeleteMarkerTTL":"1s","allowMsgTTL":false,"denyPurge":true}`,
		`{"metadata":{"_nats.ver":"x","moorage.dev/owner":"me","team":"a"},"placement":{"cluster":"c","tags":["t"]}}`,
		`{"republish":{"source":">","destination":">"},"subjectTransform":{"source":"a","destination":"b"},"subjects":["a"]}`,
		`{"history":64,"ttl":"100ms","maxValueSize":"1Ki","sources":[{"name":"KV_x"}],"limitMarkerTTL":"1s"}`,
		`{"history":0,"mirror":{"name":"y","domain":"d"}}`,
		`{"firstSeq":9223372036854775807,"duplicateWindow":"-1h","maxAge":"2562047h47m16.854775807s"}`,
		`{"description":"\ud800\u0000\\xff"}`,
	}
}

// FuzzStreamDiff takes the spec of a stream, a bucket and an object store, and the observed state of
// another spec. A desired state that was applied does not differ, in any order; a refused change is a
// difference; and two states have the same differences in both directions.
func FuzzStreamDiff(f *testing.F) {
	seeds := streamSeeds()
	for i, seed := range seeds {
		f.Add([]byte(seed), []byte(seeds[(i+1)%len(seeds)]))
	}

	overlays := map[string]func(base jetstream.StreamConfig, spec []byte) (jetstream.StreamConfig, bool){
		"S":     fromJSON(jsconfig.Stream),
		"KV_b":  fromJSON(jsconfig.KeyValue),
		"OBJ_b": fromJSON(jsconfig.ObjectStore),
	}

	f.Fuzz(func(t *testing.T, spec, other []byte) {
		for name, put := range overlays {
			observed, ok := put(jetstream.StreamConfig{Name: name}, other)
			if !ok {
				continue
			}

			desired, ok := put(observed, spec)
			if !ok {
				continue
			}

			there := diff(t, &desired, &observed)
			mirrored(t, there, diff(t, &observed, &desired))

			if again, ok := put(desired, spec); !ok || len(diff(t, &again, &desired)) > 0 {
				t.Errorf("%s: the desired state was applied, and differs:\n%s", name, diff(t, &again, &desired))
			}

			shuffled := desired
			shuffled.Subjects, shuffled.Sources = slices.Clone(desired.Subjects), slices.Clone(desired.Sources)
			slices.Reverse(shuffled.Subjects)
			slices.Reverse(shuffled.Sources)

			if d := diff(t, &shuffled, &desired); len(d) > 0 {
				t.Errorf("%s: another order differs:\n%s", name, d)
			}

			if refused := jsconfig.Refused(&desired, &desired); len(refused) > 0 {
				t.Errorf("%s: no change is refused: %v", name, refused)
			}

			if refused := jsconfig.Refused(&observed, &desired); len(refused) > 0 && len(there) == 0 {
				t.Errorf("%s: refused without a difference: %v", name, refused)
			}
		}
	})
}

// fromJSON returns a function that applies a spec, as JSON, to a configuration, and reports whether it can.
func fromJSON[P any](
	put func(jetstream.StreamConfig, *P, map[string]string) (jetstream.StreamConfig, error),
) func(jetstream.StreamConfig, []byte) (jetstream.StreamConfig, bool) {
	return func(base jetstream.StreamConfig, spec []byte) (jetstream.StreamConfig, bool) {
		p := new(P)
		if json.Unmarshal(spec, p) != nil {
			return base, false
		}

		cfg, err := put(base, p, own())

		return cfg, err == nil
	}
}

func diff(t *testing.T, desired, observed *jetstream.StreamConfig) jsconfig.Differences {
	t.Helper()

	d, err := jsconfig.Diff(desired, observed)
	if err != nil {
		t.Errorf("cannot compare: %v", err)
	}

	return d
}

// mirrored fails unless two lists are the same differences in opposite directions.
func mirrored(t *testing.T, one, other jsconfig.Differences) {
	t.Helper()

	var turned jsconfig.Differences
	for _, d := range other {
		turned = append(turned, jsconfig.Difference{Path: d.Path, Desired: d.Observed, Observed: d.Desired})
	}

	if d := cmp.Diff(one, turned); d != "" {
		t.Errorf("the other direction has other differences:\n%s", d)
	}

	for i := range one {
		if i > 0 && one[i-1].Path >= one[i].Path {
			t.Errorf("not in order: %s", one)
		}
	}
}

// FuzzConsumerDiff is FuzzStreamDiff of a consumer.
func FuzzConsumerDiff(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"filterSubjects":["a","b"],"maxDeliver":5}`,
		`{"push":{"deliverSubject":"d","idleHeartbeat":"5s","flowControl":true}}`,
		`{"ackPolicy":"flowControl","push":{"deliverSubject":"d"},"maxAckPending":1}`,
		`{"backOff":["1s","2s"],"maxDeliver":1}`, `{"ackPolicy":"none","samplePercent":100}`,
		`{"deliverPolicy":"byStartTime","optStartTime":"2026-01-02T03:04:05+23:59"}`,
		`{"pauseUntil":"9999-12-31T23:59:59-23:59"}`, `{"optStartTime":"0000-01-01T00:00:00Z"}`,
		`{"priorityPolicy":"pinnedClient","priorityGroups":["g"],"pinnedTTL":"1m"}`, `{"maxRequestMaxBytes":"9E"}`,
		`{"maxRequestMaxBytes":"-1","replicas":2147483647}`,
	} {
		f.Add([]byte(seed), []byte(`{"filterSubjects":["b","a"],"ackWait":"1s"}`))
		f.Add([]byte(`{"push":{"deliverSubject":"x","deliverGroup":"g"}}`), []byte(seed))
	}

	f.Fuzz(func(t *testing.T, spec, other []byte) {
		p, o := &v1alpha1.ConsumerParameters{}, &v1alpha1.ConsumerParameters{}
		if json.Unmarshal(spec, p) != nil || json.Unmarshal(other, o) != nil {
			return
		}

		observed, err := jsconfig.Consumer(jetstream.ConsumerConfig{Name: "c"}, o, own())
		if err != nil {
			return
		}

		desired, err := jsconfig.Consumer(observed, p, own())
		if err != nil {
			return
		}

		mirrored(t, consumerDiff(t, &desired, &observed), consumerDiff(t, &observed, &desired))

		again, err := jsconfig.Consumer(desired, p, own())
		if d := consumerDiff(t, &again, &desired); err != nil || len(d) > 0 {
			t.Errorf("the desired state was applied, and differs (%v):\n%s", err, d)
		}

		if refused := jsconfig.ConsumerRefused(&desired, &desired); len(refused) > 0 {
			t.Errorf("no change is refused: %v", refused)
		}
	})
}

func consumerDiff(t *testing.T, desired, observed *jetstream.ConsumerConfig) jsconfig.Differences {
	t.Helper()

	d, err := jsconfig.ConsumerDiff(desired, observed)
	if err != nil {
		t.Errorf("cannot compare: %v", err)
	}

	return d
}
