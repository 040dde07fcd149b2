package managed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/internal/mergepatch"
)

// optioned returns a reconciler that has nothing but what options set.
func optioned(options ...ReconcilerOption) *Reconciler {
	r := &Reconciler{
		config:  config{objectConfig: objectConfig{ignoredFinalizers: map[string]bool{}}},
		objects: newObjectMemory(func(*objectState) {}),
	}
	for _, option := range options {
		option(r)
	}

	return r
}

// TestTimesByOption verifies that an invalid duration means the default, or the nearest valid one.
func TestTimesByOption(t *testing.T) {
	const day = 24 * time.Hour
	timeout := func(r *Reconciler) time.Duration { return r.timeout }
	poll := func(r *Reconciler) time.Duration { return r.pollInterval }
	least := func(r *Reconciler) time.Duration { return r.minPollInterval }
	grace := func(r *Reconciler) time.Duration { return r.grace }
	volatile := func(r *Reconciler) time.Duration { return r.volatileInterval }
	cases := map[string]struct {
		option ReconcilerOption
		of     func(*Reconciler) time.Duration
		want   time.Duration
	}{
		"Timeout":           {WithTimeout(1), timeout, 1},
		"NoTimeout":         {WithTimeout(0), timeout, time.Minute},
		"NegativeTimeout":   {WithTimeout(-1), timeout, time.Minute},
		"Poll":              {WithPollInterval(1), poll, 1},
		"NoPoll":            {WithPollInterval(0), poll, time.Minute},
		"LongestPoll":       {WithPollInterval(30 * day), poll, 30 * day},
		"LongerPoll":        {WithPollInterval(31 * day), poll, 30 * day},
		"LeastPoll":         {WithMinPollInterval(1), least, 1},
		"NoLeastPoll":       {WithMinPollInterval(0), least, time.Second},
		"Grace":             {WithCreationGracePeriod(1), grace, 1},
		"NoGrace":           {WithCreationGracePeriod(0), grace, 0},
		"NegativeGrace":     {WithCreationGracePeriod(-1), grace, 0},
		"Volatile":          {WithVolatileStatusInterval(1), volatile, 1},
		"NeverVolatile":     {WithVolatileStatusInterval(0), volatile, 0},
		"NegativeVolatile":  {WithVolatileStatusInterval(-1), volatile, 0},
		"StalenessOfALists": {WithBulkObservation(2), func(r *Reconciler) time.Duration { return r.staleness }, 2},
		"PollWhenNotified": {WithExternalEvents(nil, 2),
			func(r *Reconciler) time.Duration { return r.watchedPollInterval }, 2},
		"LongestWhenTold": {WithExternalEvents(nil, 31*day),
			func(r *Reconciler) time.Duration { return r.watchedPollInterval }, 30 * day},
	}
	for name, tc := range cases {
		if got := tc.of(optioned(tc.option)); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// TestSwitchesByOption verifies that each option sets only its own field.
func TestSwitchesByOption(t *testing.T) {
	switches := map[string]struct {
		option ReconcilerOption
		want   []string
	}{
		"tokens":            {WithCreationTokens(), []string{"tokens"}},
		"strict":            {WithStrictCreateErrors(), []string{"strict"}},
		"errorsAsFailures":  {WithCreateErrorsAsFailures(), nil},
		"detailsOfCreation": {WithCreationConnectionDetails(), []string{"detailsOfCreation"}},
		"recreateOnRequest": {WithRecreationOnRequest(), []string{"recreateOnRequest"}},
		"restoreElsewhere":  {WithRestoreElsewhere(), []string{"restoreElsewhere"}},
		"kstatus":           {WithKstatusConditions(), []string{"kstatus"}},
		"named":             {WithDeterministicExternalName(true), []string{"named"}},
		"not named":         {WithDeterministicExternalName(false), nil},
		"spread":            {WithSpreadAfterRestart(true), []string{"spread"}},
		"bulk":              {WithBulkObservation(0), []string{"bulk"}},
		"both guards":       {WithDeletionGuard(), []string{"guardsKind", "guardsNamespace"}},
		"guardsKind":        {WithKindDeletionGuard(), []string{"guardsKind"}},
		"guardsNamespace":   {WithNamespaceDeletionGuard(), []string{"guardsNamespace"}},
	}
	for name, tc := range switches {
		r := optioned(tc.option)
		var got []string
		for _, s := range []struct {
			name string
			on   bool
		}{
			{"tokens", r.tokens}, {"strict", r.strictCreateErrors}, {"detailsOfCreation", r.detailsOfCreation},
			{"recreateOnRequest", r.recreateOnRequest},
			{"restoreElsewhere", r.restoreElsewhere}, {"kstatus", r.kstatus}, {"named", r.named},
			{"spread", r.spread}, {"bulk", r.bulk},
			{"guardsKind", r.guards.kind}, {"guardsNamespace", r.guards.namespace},
		} {
			if s.on {
				got = append(got, s.name)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestNamesByOption(t *testing.T) {
	r := optioned(WithVolatileStatus("status.atProvider.messages", "bytes"))
	if diff := cmp.Diff([]mergepatch.Path{{"atProvider", "messages"}, {"bytes"}}, r.volatile); diff != "" {
		t.Errorf("volatile: -want +got:\n%s", diff)
	}
	r = optioned(WithIgnoredFinalizers("a", "b"))
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true}, r.ignoredFinalizers); diff != "" {
		t.Errorf("ignored: -want +got:\n%s", diff)
	}
	r = optioned(func(r *Reconciler) {
		for _, o := range []ReconcilerOption{
			WithPredecessor("a.io"), WithPredecessor("b.io"), WithRetiredFinalizers("a", "b"),
			WithRetiredFinalizers("c"), WithRetiredAnnotations("a.io/paused", "a.io/name"),
		} {
			o(r)
		}
	})
	if diff := cmp.Diff([][]string{{"a.io", "b.io"}, {"a", "b", "c"}, {"a.io/paused", "a.io/name"}},
		[][]string{r.predecessors, r.retired.finalizers, r.retired.annotations}); diff != "" {
		t.Errorf("of predecessors: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true, "c": true}, r.ignoredFinalizers); diff != "" {
		t.Errorf("ignored, because they are retired: -want +got:\n%s", diff)
	}
}

// TestPollJitterHook verifies that the jitter is applied to both sides of the poll interval.
func TestPollJitterHook(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 50 * time.Second, 0.5: time.Minute, 0.75: 65 * time.Second} {
		r := optioned(WithPollJitterHook(10 * time.Second))
		r.random = func() float64 { return random }
		if got := r.pollIntervalHook(nil, time.Minute); got != want {
			t.Errorf("with %g it is %s, want %s", random, got, want)
		}
	}
}
