package managed

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A finder finds the given resource.
type finder struct {
	name    string
	unnamed bool // it finds something, and sets no name
	tokens  []string
}

func (f *finder) RecoverCreation(_ context.Context, mg resource.Managed, token string) (bool, error) {
	if f.tokens = append(f.tokens, token); f.name == "" {
		return f.unnamed, nil
	}
	meta.SetExternalName(mg, f.name)

	return true, nil
}

func (f *finder) RecoveryWindow() time.Duration { return 10 * time.Second }

// TestWhatIsLookedUp verifies that an unresolved attempt is looked up by its token within the window of a search,
// and not without an id.
func TestWhatIsLookedUp(t *testing.T) {
	pending := map[string]string{meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early}
	token := string(ownerUID) + "-" + ownID
	cases := map[string]struct {
		annotations map[string]string
		finds       string
		since       time.Duration
		searched    int
		searching   time.Duration
		absent      bool
		result      string
		written     float64
	}{
		"nothing was made":   {annotations: nil},
		"of another runtime": {annotations: map[string]string{meta.AnnotationKeyExternalCreatePending: early}},
		"not found yet":      {annotations: pending, searched: 1, searching: 10 * time.Second},
		"not found in the last part": {
			annotations: pending, since: 9 * time.Second, searched: 1, searching: time.Second,
		},
		"not found in time": {annotations: pending, since: 10 * time.Second, searched: 1, absent: true},
		"found":             {annotations: pending, finds: "vol-1", searched: 1, result: ownDone, written: 1},
	}
	for name, tc := range cases {
		registry := prometheus.NewRegistry()
		f := &finder{name: tc.finds}
		cold := objectstate.Cold{}
		if tc.since > 0 {
			cold.Search, cold.SearchSince = token, noon.Add(-tc.since)
		}
		w := newStored(bearing(tc.annotations), remembering(cold), WithMetricsRegisterer(registry))
		w.recoverer = f
		if err := w.pass.recover(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(f.tokens) != tc.searched || tc.searched > 0 && f.tokens[0] != token ||
			w.recoveryGrace != tc.searching || w.recoveryNegative != tc.absent {
			t.Errorf("%s: searched for %q, for another %s, absent %t", name, f.tokens, w.recoveryGrace,
				w.recoveryNegative)
		}
		if got := w.mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt]; tc.result != "" && got != tc.result ||
			w.recoveredUnobserved {
			t.Errorf("%s: the attempt is %q", name, got)
		}
		if got := sample(t, registry, "moorage_managed_writes_total", "what")["result"]; got != tc.written {
			t.Errorf("%s: %v results were written, want %v", name, got, tc.written)
		}
	}
}

// TestWhatWasCreatedIsLookedUp verifies that an unobserved creation is looked up: found with a name, it exists.
func TestWhatWasCreatedIsLookedUp(t *testing.T) {
	done := map[string]string{
		meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalCreateSucceeded: later,
	}
	for name, tc := range map[string]struct {
		named  string
		finder finder
		shown  bool
		fails  bool
		result string
	}{
		"under its name":     {"vol-1", finder{name: "vol-1"}, true, false, "vol-1"},
		"under another name": {"vol-1", finder{name: "vol-2"}, false, false, "vol-2"},
		"without a name":     {"", finder{unnamed: true}, false, true, ""},
	} {
		w := newStored(bearing(done), &objectState{})
		meta.SetExternalName(w.mg, tc.named)
		w.recoverer = &tc.finder
		err := w.pass.recover(t.Context())
		if w.recoveredUnobserved != tc.shown || (err != nil) != tc.fails || len(tc.finder.tokens) != 1 ||
			meta.GetExternalName(w.mg) != tc.result || w.recoveryNegative || w.recoveryGrace != 0 {
			t.Errorf("%s: shown %t, error %v, looked up %q, named %q", name, w.recoveredUnobserved, err,
				tc.finder.tokens, meta.GetExternalName(w.mg))
		}
	}
}
