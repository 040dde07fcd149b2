package managed

import (
	"context"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	gates "github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A pagedList is a client that shows pages, by their tokens.
type pagedList struct {
	ExternalClient

	pages   map[string]ExternalListPage
	each    func(token string) error
	asked   []string
	observe func(resource.Managed) (ExternalObservation, error)
}

func (c *pagedList) ListPage(_ context.Context, token string) (ExternalListPage, error) {
	c.asked = append(c.asked, token)
	if c.each != nil {
		if err := c.each(token); err != nil {
			return c.pages[token], err // which counts for nothing beside the error
		}
	}

	return c.pages[token], nil
}

func (c *pagedList) ObserveListed(_ context.Context, mg resource.Managed, listed any) (ExternalObservation, error) {
	if listed != "disk" {
		return ExternalObservation{}, errors.Errorf("%v was listed", listed)
	}
	mg.SetConditions(commonv1.Available())
	if c.observe != nil {
		return c.observe(mg)
	}

	return ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

// A polled pass is one over an object with which all is well, on a connection that another
// object of the same external name and a third one share.
type polled struct {
	*pass
	*pagedList

	clock    *testclock.FakePassiveClock
	registry *prometheus.Registry
	other    *listcache.Member
}

func newPolled(options ...ReconcilerOption) polled {
	mg := bearing(map[string]string{meta.AnnotationKeyExternalName: "vol-1"})
	mg.SetNamespace("apps")
	mg.SetFinalizers([]string{FinalizerName})
	meta.SetExternalCreateSucceeded(mg, noon.Add(-time.Hour))
	f := polled{
		registry: prometheus.NewRegistry(), clock: testclock.NewFakePassiveClock(noon),
		other: listcache.NewMember(listcache.Key{Name: "other"}),
	}
	f.pass = passOf(mg, &objectState{}, append([]ReconcilerOption{WithBulkObservation(0),
		WithMetricsRegisterer(f.registry), WithClock(f.clock)}, options...)...)
	f.newest = clone(mg)
	f.state.Seen, f.state.Creation, f.state.Since = attempt.Creation(mg,
		mg), attempt.CreationMark(mg), f.r.at(noon.Add(-time.Hour)) // it was created and found long ago
	f.r.telemetry, f.r.lists = f.r.newTelemetry(), f.r.newListCache()
	f.joinList("c", "1")
	f.r.lists.Join(f.other, "c", "1", "vol-1")
	f.r.lists.Join(listcache.NewMember(listcache.Key{Name: "third"}), "c", "1", "vol-3")
	f.pagedList = &pagedList{pages: map[string]ExternalListPage{
		"":   {Items: []ListedResource{{"vol-3", "disk"}}, Continue: "p2"},
		"p2": {Items: []ListedResource{{"vol-1", "disk"}}},
	}}
	f.lister, f.healthy, f.priority = f.pagedList, true, lifecycle.Poll

	return f
}

// counted returns a counter, or how often something was timed, by one of its labels.
func (f polled) counted(t *testing.T, name, label string) (n float64) {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.HasSuffix(family.GetName(), name) && l.GetValue() == label {
					n += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
				}
			}
		}
	}

	return n
}

// TestWhomAListServes verifies that a list serves only polls of healthy objects.
func TestWhomAListServes(t *testing.T) {
	seen := objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}
	cases := map[string]struct {
		reason string
		change func(polled)
		want   bool
	}{
		"Well": {"it needs no more than a look", func(polled) {}, true},
		"Seen": {"what was created has shown",
			func(f polled) { f.mark(ownDone, ""); f.state.Seen, f.state.Creation = seen, ownDone }, true},
		"None":    {"nobody lists", func(f polled) { f.lister = nil }, false},
		"Unwell":  {"something is wrong", func(f polled) { f.healthy = false }, false},
		"User":    {"somebody waits", func(f polled) { f.priority = lifecycle.User }, false},
		"Looked":  {"it was looked at", func(f polled) { f.observedOnce = true }, false},
		"Acted":   {"it was changed", func(f polled) { f.mutated = true }, false},
		"Deleted": {"it goes", func(f polled) { f.mg.SetDeletionTimestamp(&metav1.Time{Time: noon}) }, false},
		"Alone":   {"a list was doubted", func(f polled) { f.member.Alone = true }, false},
		"Window": {"it was created a moment ago",
			func(f polled) { f.mark(ownDone, ""); f.state.Seen, f.r.grace = seen, time.Minute }, false},
		"Unseen":  {"it did not show yet", func(f polled) { f.mark(ownDone, "") }, false},
		"Unknown": {"nobody knows what a creation led to", func(f polled) { f.mark(ownID, early) }, false},
		"Told": {"something has changed outside", func(f polled) {
			w := f.r.lists.Subscribe(f.member, noon)
			w.Begun(func() {}, noon)
			w.Changed("vol-1", noon)
		}, false},
	}
	for name, tc := range cases {
		f := newPolled()
		tc.change(f)
		if got := f.listEligible(); got != tc.want {
			t.Errorf("%s: %s: served is %t", name, tc.reason, got)
		}
		if f.member.Alone {
			t.Errorf("%s: the next pass is not served either", name)
		}
		if o, ok, err := f.consult(t.Context()); name == "Alone" && !ok || name != "Alone" && ok != tc.want ||
			err != nil || o.ResourceExists != ok {
			t.Errorf("%s: consulted: %+v, %t, %v", name, o, ok, err)
		}
	}
}

// mark marks the object with an attempt.
func (f polled) mark(attempt, pending string) {
	meta.AddAnnotations(f.mg, map[string]string{meta.AnnotationKeyCreateAttempt: attempt})
	if pending != "" {
		meta.AddAnnotations(f.mg, map[string]string{meta.AnnotationKeyExternalCreatePending: pending})
	}
	f.newest = clone(f.mg)
}

// consult asks the list of the connection, and decides about what it shows. It returns whether that is believed, and
// leaves the pass as it was before the observation.
func (f polled) consult(ctx context.Context) (ExternalObservation, bool, error) {
	o, listed, err := f.fromList(ctx)
	if f.unlisted != 0 {
		defer func() { f.unlisted = 0 }()

		return o, listed, &tryLater{refineAwaitingList(f.pass, endings[lifecycle.AwaitList])}
	}
	if !listed || err != nil {
		return o, false, err
	}
	f.observation, f.observed, f.listed = o, true, true
	f.trackDoubts()
	if facts, _ := f.facts(); lifecycle.Decide(facts) != lifecycle.ConfirmListed {
		if err := f.observeAlone(ctx); err != nil {
			return o, false, err
		}

		return ExternalObservation{}, false, &tryLater{endings[lifecycle.ObserveAlone]}
	}
	err = f.confirmListed(ctx)
	f.observed, f.observedOnce = false, false

	return f.observation, true, err
}

// TestAListIsMadeOnce verifies that the first object of a connection makes the list, page by page, and each item is
// used once.
func TestAListIsMadeOnce(t *testing.T) {
	f := newPolled()
	o, ok, err := f.consult(t.Context())
	if err != nil || !ok || !o.ResourceExists || !f.observation.ResourceExists || f.observed {
		t.Errorf("consulted: %+v, %t, %v; observed is %t", o, ok, err, f.observed)
	}
	if diff := cmp.Diff([]string{"", "p2"}, f.asked); diff != "" {
		t.Errorf("pages, -want +got:\n%s", diff)
	}
	if pages, well := f.counted(t, "external_step_seconds", "list"), f.counted(t, "listed_total",
		"well"); pages != 2 || well != 1 {
		t.Errorf("%v pages are counted, and %v objects that are well", pages, well)
	}
	if _, ok, err := f.consult(t.Context()); ok || err != nil || f.counted(t, "listed_total", "nothing") != 1 {
		t.Errorf("it is shown again after it was looked at: %t, %v", ok, err)
	}
	if c := f.r.lists.Lookup(f.other, noon); c.Answer != listcache.Listed || c.Item != "disk" {
		t.Errorf("the other of the name is shown %+v", c)
	}
}

// TestDetailsOfAListAreSecret verifies that connection details in the item of a list are masked from then on, in this
// pass and in the memory of the object.
func TestDetailsOfAListAreSecret(t *testing.T) {
	f := newPolled()
	f.pagedList.observe = func(resource.Managed) (ExternalObservation, error) {
		return ExternalObservation{
			ResourceExists: true, ResourceUpToDate: true,
			ConnectionDetails: ConnectionDetails{"password": []byte("correct horse")},
		}, nil
	}
	if _, ok, err := f.consult(t.Context()); !ok || err != nil {
		t.Fatalf("consulted: %t, %v", ok, err)
	}
	if got := f.redact(errors.New("login with correct horse failed")).Error(); strings.Contains(got, "correct horse") {
		t.Errorf("the pass reports %q", got)
	}
	if got := string(f.state.details["password"][0]); got != "correct horse" {
		t.Errorf("later passes mask %q", got)
	}
}

// TestWhatAListShowsOtherwise verifies that an item that is not healthy is confirmed by Observe.
func TestWhatAListShowsOtherwise(t *testing.T) {
	whole := ExternalObservation{ResourceExists: true, ResourceUpToDate: true}
	cases := map[string]struct {
		reason string
		shows  func(resource.Managed) (ExternalObservation, error)
		well   bool
	}{
		"Careless": {"what it takes away is put back", func(mg resource.Managed) (ExternalObservation, error) {
			mg.SetAnnotations(nil)

			return whole, nil
		}, true},
		"Fails": {"it cannot be read", func(resource.Managed) (ExternalObservation, error) {
			return whole,
				errors.New("boom")
		}, false},
		"Missing": {"it is not there", func(resource.Managed) (ExternalObservation, error) {
			return ExternalObservation{ResourceUpToDate: true}, nil
		}, false},
		"Differs": {"it is to be updated", func(resource.Managed) (ExternalObservation, error) {
			return ExternalObservation{ResourceExists: true}, nil
		}, false},
		"Fills": {"something is to be stored", func(resource.Managed) (ExternalObservation, error) {
			return ExternalObservation{ResourceExists: true, ResourceUpToDate: true, ResourceLateInitialized: true}, nil
		}, false},
		"NotReady": {"it is busy", func(mg resource.Managed) (ExternalObservation, error) {
			mg.SetConditions(commonv1.Unavailable())

			return whole, nil
		}, false},
	}
	for name, tc := range cases {
		f := newPolled()
		f.pagedList.observe = tc.shows
		f.mark(ownDone, "")
		f.state.Seen, f.state.Creation = objectstate.CreationRef{Mark: ownDone, Name: "vol-1"}, ownDone
		o, ok, err := f.consult(t.Context())
		if !f.state.NotFoundSince.IsZero() { // or the first "not found" of Observe would be believed at once
			t.Errorf("%s: an absence is doubted since %s, which no observation has shown", name, f.state.NotFoundSince)
		}
		if ok != tc.well || o.ResourceExists != tc.well || f.member.Alone == tc.well || f.observed {
			t.Errorf("%s: %s: consulted: %+v, %t; alone is %t", name, tc.reason, o, ok, f.member.Alone)
		}
		if off := asLater(err); tc.well != (off == nil) ||
			off != nil && !off.is("listed-otherwise", time.Millisecond) {
			t.Errorf("%s: it ended with %v", name, err)
		}
		if n := f.counted(t, "listed_total", "doubtful"); (n == 0) != tc.well {
			t.Errorf("%s: %v doubts are counted", name, n)
		}
		if got := meta.GetExternalName(f.mg); got != "vol-1" {
			t.Errorf("%s: the name is %q", name, got)
		}
	}
}

// TestAListThatIsNotFinished verifies that after a failed list all objects are observed individually; a connection
// failure ends the pass, and the list continues later, as after a second in one pass.
func TestAListThatIsNotFinished(t *testing.T) {
	boom := errors.New("boom")
	step := func(f polled, d time.Duration) func(string) error {
		return func(string) error {
			f.clock.SetTime(f.clock.Now().Add(d))

			return nil
		}
	}
	answer := func(err error) func(polled) func(string) error {
		return func(polled) func(string) error { return func(string) error { return err } }
	}
	onSecond := func(err error) func(polled) func(string) error {
		return func(polled) func(string) error {
			return func(token string) error {
				if token == "p2" {
					return err
				}

				return nil
			}
		}
	}
	cases := map[string]struct {
		reason string
		limits bool
		page   func(polled) func(string) error
		off    string // why the pass is put off
		failed bool   // the pass has failed
		asked  []string
		next   []string // of the next pass; nil: it observes
	}{
		"Fails":     {"there is no list", false, answer(boom), "listing", false, []string{""}, nil},
		"Breaks":    {"half a list is none", false, onSecond(boom), "listing", false, []string{"", "p2"}, nil},
		"FailsHeld": {"nor is there with limits", true, answer(boom), "listing", false, []string{""}, nil},
		"Throttled": {"the connection is asked for too much", true,
			onSecond(external.Throttled("", time.Millisecond, boom)), "", true, []string{"", "p2"}, []string{"p2"}},
		"ThrottledNo": {"without limits nobody waits for that", false,
			onSecond(external.Throttled("", time.Millisecond, boom)), "listing", false, []string{"", "p2"}, nil},
		"Slow": {"a pass asks for a second", false,
			func(f polled) func(string) error { return step(f, time.Second) }, "listing", false, []string{""},
			[]string{"p2"}},
		"NotSlow": {"and for no less", false,
			func(f polled) func(string) error { return step(f, time.Second/2-1) }, "", false, []string{"", "p2"}, nil},
		"Endless": {"a page that leads to itself is the end", false, func(f polled) func(string) error {
			f.pages["p2"] = ExternalListPage{Continue: "p2"}

			return nil
		}, "listing", false, []string{"", "p2"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newPolled()
			if tc.limits {
				f.gate = gates.New(gates.WithClock(f.clock))
			}
			f.each = tc.page(f)
			_, ok, err := f.consult(t.Context())
			off := asLater(err)
			if (off != nil) != (tc.off != "") || off != nil && !off.is(tc.off, time.Millisecond) ||
				ok != (tc.off == "" && !tc.failed) {
				t.Errorf("%s: consulted: %t, %v", tc.reason, ok, err)
			}
			if tc.failed && (stageOf(err) != observing || !errors.Is(err, boom)) {
				t.Errorf("%s: it ended with %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.asked, f.asked); diff != "" {
				t.Errorf("%s: pages, -want +got:\n%s", tc.reason, diff)
			}
			f.asked, f.each, f.gate = nil, nil, nil
			o, ok, err := f.consult(t.Context())
			if diff := cmp.Diff(tc.next, f.asked); diff != "" || err != nil || ok != (tc.next != nil) ||
				o.ResourceExists != ok {
				t.Errorf("%s: the next pass: %t, %v, pages -want +got:\n%s", tc.reason, ok, err, diff)
			}
		})
	}
}

// TestAListThatIsWaitedFor verifies that an object waits for the list of another pass in the queue, and that no
// page is read while the gate is closed.
func TestAListThatIsWaitedFor(t *testing.T) {
	f := newPolled()
	f.r.lists.Lookup(f.other, noon) // it is its turn
	_, ok, err := f.consult(t.Context())
	if off := asLater(err); ok || off == nil || !off.is("awaiting-list", 100*time.Millisecond) ||
		len(f.asked) > 0 {
		t.Errorf("consulted: %t, %v, pages %q", ok, err, f.asked)
	}

	f = newPolled()
	f.gate = gates.New(gates.WithClock(f.clock), gates.WithRate(0.1, 0.1, 0.1), gates.WithMaxWait(0))
	for range 2 { // all that is allowed
		if release, err := f.waitForPermit(t.Context(), false); err == nil {
			release(nil)
		}
	}
	_, ok, err = f.consult(t.Context())
	if ok || !gates.IsHeld(err) || stageOf(err) != observing || len(f.asked) > 0 {
		t.Errorf("consulted: %t, %v, pages %q", ok, err, f.asked)
	}
}

// TestNewListCache verifies that a list is made once per poll interval and stale after half of it, and that there
// is no cache without lists and notifications.
func TestNewListCache(t *testing.T) {
	made := noon.Add(-time.Hour)
	for name, tc := range map[string]struct {
		bulk, notified bool
		staleness      time.Duration
		want           *listcache.Cache
	}{
		"nothing":      {false, false, 0, nil},
		"lists":        {true, false, 0, listcache.New(time.Minute, 30*time.Second, made)},
		"fresh lists":  {true, false, time.Second, listcache.New(time.Minute, time.Second, made)},
		"old lists":    {true, true, time.Hour, listcache.New(time.Minute, time.Minute, made)},
		"what is told": {false, true, 0, listcache.New(0, 30*time.Second, made)},
	} {
		r := passOf(bearing(nil), &objectState{}).r
		if r.bulk, r.staleness = tc.bulk, tc.staleness; tc.notified {
			r.notifier = struct{ ExternalEventSource }{}
		}
		if got := r.newListCache(); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
	f := newPolled()
	w := f.r.lists.Subscribe(f.member, noon)
	w.Begun(func() {}, noon)
	keys, ok := w.Changed("vol-1", noon)
	if diff := cmp.Diff([]listcache.Key{{Name: "other"}, {Namespace: "apps", Name: "data"}}, keys); diff != "" || !ok {
		t.Errorf("of the name are, -want +got:\n%s", diff)
	}
	f.connection = Connection{Name: "m", Revision: "2"}
	f.bindConnection()
	if _, ok := f.r.lists.AlignPoll("m", noon, noon.Add(time.Hour), 0, 0.5); ok {
		t.Error("one who is alone on a connection meets others there")
	}
}

// TestTheFirstPassIsDeferredToAList verifies that the first pass after a restart is deferred to the list of its
// connection, or to a random moment if the object is alone.
func TestTheFirstPassIsDeferredToAList(t *testing.T) {
	for name, others := range map[string]int{"alone": 0, "with others": 2} {
		f := newPolled()
		connection := connectionName(f.mg)
		for i := range others {
			f.r.lists.Join(listcache.NewMember(listcache.Key{Name: strconv.Itoa(i)}), connection, "", strconv.Itoa(i))
		}
		want := 30 * time.Second
		if others > 0 {
			at, ok := f.r.lists.AlignPoll(connection, noon, noon.Add(time.Minute), 0, 0.5)
			if after := at.Sub(noon); !ok || after == want {
				t.Fatalf("%s: they meet after %s, %t: no other time than a random one", name, after, ok)
			}
			want = at.Sub(noon)
		}
		if got := f.deferPass().after; got != want {
			t.Errorf("%s: after %s, want %s", name, got, want)
		}
	}
	f := newPolled()
	f.r.lists.Join(f.other, connectionName(f.mg), "1", "vol-1")
	f.r.lists.Join(listcache.NewMember(listcache.Key{Name: "third"}), connectionName(f.mg), "1", "vol-3")
	f.r.lists.Lookup(f.other, noon)
	f.deferPass()
	if c := f.r.lists.Lookup(f.member, noon); c.Answer != listcache.Wait {
		t.Errorf("who has not connected yet has the list made anew that others make: %+v", c)
	}
}

// TestPollsAreAlignedToALists verifies that polls are aligned to the list of their connection, also with an
// interval of the author, and have their own times without lists.
func TestPollsAreAlignedToALists(t *testing.T) {
	hook := func(times float64) ReconcilerOption {
		return WithPollIntervalHook(func(_ resource.Managed, interval time.Duration) time.Duration {
			return time.Duration(times * float64(interval))
		})
	}
	for _, interval := range []time.Duration{time.Minute, 50 * time.Second, 70 * time.Second, 4 * time.Minute,
		5*time.Minute + 13*time.Second, 11 * time.Minute} {
		for name, tc := range map[string]struct {
			options []ReconcilerOption
			wanted  time.Duration
		}{
			"the interval":        {nil, interval},
			"more seldom":         {[]ReconcilerOption{hook(1.5)}, interval * 3 / 2},
			"what makes no sense": {[]ReconcilerOption{hook(-1)}, interval},
		} {
			f := newPolled(tc.options...)
			f.connection.Name = "c"
			f.r.spread = false
			at, ok := f.r.lists.AlignPoll("c", noon, noon.Add(tc.wanted), tc.wanted/5, 0.5)
			want := tc.wanted
			if ok {
				want = max(at.Sub(noon), time.Millisecond)
			}
			if got := f.nextPoll(interval); got != want {
				t.Errorf("%s of %s: after %s, want %s", name, interval, got, want)
			}
			f.connection.Name = "d"
			f.r.lists.Join(listcache.NewMember(listcache.Key{Name: "lonely"}), "d", "1", "vol-4")
			if got := f.nextPoll(interval); got != tc.wanted {
				t.Errorf("%s of %s, alone: after %s, want %s", name, interval, got, tc.wanted)
			}
		}
	}
}

// A tryLater is the outcome of a pass that is tried again.
type tryLater struct{ outcome outcome }

func (l *tryLater) Error() string { return "tried again later: " + l.outcome.name }

func asLater(err error) *tryLater {
	var l *tryLater
	if err == nil || !errors.As(err, &l) {
		return nil
	}

	return l
}

// is reports whether a pass is tried again with this outcome, and then.
func (l *tryLater) is(name string, after time.Duration) bool {
	return l.outcome.silent && l.outcome.name == name && l.outcome.after == after
}
