package listcache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	round = time.Minute
	fresh = 30 * time.Second
)

// begin is the beginning of a round of the connection.
var begin = roundOf("line", time.Unix(1_000_000, 0), round)

// threeMembers returns objects a, b and c of one connection.
func threeMembers(t *testing.T) (r *Cache, a, b, c *Member) {
	t.Helper()
	r = New(round, fresh, begin.Add(-1))
	join := func(name string) *Member {
		p := NewMember(Key{"default", name})
		r.Join(p, "line", "1", "x-"+name)

		return p
	}

	return r, join("a"), join("b"), join("c")
}

// made makes a list of pages, each of which is names.
func made(t *testing.T, r *Cache, p *Member, now time.Time, pages ...[]string) {
	t.Helper()
	c := r.Lookup(p, now)
	if c.Answer != List {
		t.Fatalf("Consult() = %+v, want a turn", c)
	}
	for i, page := range pages {
		for _, name := range page {
			c.Listing.Add(name, name+"!")
		}
		next := ""
		if i < len(pages)-1 {
			next = "page " + string(rune('1'+i))
		}
		if more, ok := c.Listing.Advance(next, now); !ok || more != (next != "") {
			t.Fatalf("Turned(%q) = %t, %t", next, more, ok)
		}
	}
	c.Listing.Return()
}

func TestConsult(t *testing.T) {
	cases := map[string]struct {
		reason string
		given  func(t *testing.T, r *Cache, a, b, c *Member)
		after  time.Duration
		want   Lookup // of b
	}{
		"shown": {
			reason: "what a list showed serves others",
			given: func(t *testing.T, r *Cache, a, _, _ *Member) {
				made(t, r, a, begin, []string{"x-a"}, []string{"x-b", "foreign"})
			},
			after: fresh,
			want:  Lookup{Answer: Listed, Item: "x-b!"},
		},
		"missing": {
			reason: "what a list does not show may exist",
			given:  func(t *testing.T, r *Cache, a, _, _ *Member) { made(t, r, a, begin, []string{"x-a", "foreign"}) },
			want:   Lookup{Answer: Alone},
		},
		"twice": {
			reason: "what is shown twice is one or the other",
			given: func(t *testing.T, r *Cache,
				a, _, _ *Member) {
				made(t, r, a, begin, []string{"x-b"}, []string{"x-b"})
			},
			want: Lookup{Answer: Alone},
		},
		"stale": {
			reason: "an old list is of no use, and the next is not due",
			given:  func(t *testing.T, r *Cache, a, _, _ *Member) { made(t, r, a, begin, []string{"x-b"}) },
			after:  fresh + time.Second,
			want:   Lookup{Answer: Alone},
		},
		"touched later": {
			reason: "what was changed after the list was begun is not what it shows",
			given: func(t *testing.T, r *Cache, a, b, _ *Member) {
				made(t, r, a, begin, []string{"x-b"})
				r.Touched(b, begin)
			},
			want: Lookup{Answer: Alone},
		},
		"another revision": {
			reason: "a list belongs to settings and credentials",
			given: func(t *testing.T, r *Cache, a, _, _ *Member) {
				made(t, r, a, begin, []string{"x-b"})
				r.Join(a, "line", "2", "x-a")
			},
			want: Lookup{Answer: Alone},
		},
		"being made": {
			reason: "one at a time asks for pages",
			given:  func(_ *testing.T, r *Cache, a, _, _ *Member) { r.Lookup(a, begin) },
			after:  2 * time.Second,
			want:   Lookup{Answer: Wait, After: time.Second},
		},
		"failed": {
			reason: "a list that broke off is not made again at once, and what it showed does not count",
			given: func(_ *testing.T, r *Cache, a, _, _ *Member) {
				turn := r.Lookup(a, begin).Listing
				turn.Add("x-b", "!")
				turn.Advance("2", begin)
				turn.Return()
				turn.Fail(begin)
			},
			want: Lookup{Answer: Alone},
		},
		"pages for few": {
			reason: "fewer objects than pages are looked at singly",
			given: func(t *testing.T, r *Cache, a, _, _ *Member) {
				made(t, r, a, begin, nil, nil, nil)
			},
			after: round,
			want:  Lookup{Answer: Alone},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, a, b, c := threeMembers(t)
			tc.given(t, r, a, b, c)
			if diff := cmp.Diff(tc.want, r.Lookup(b, begin.Add(tc.after))); diff != "" {
				t.Errorf("\n%s\nConsult(): -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAListIsContinued verifies that the next object continues a list where the last one stopped.
func TestAListIsContinued(t *testing.T) {
	r, a, b, _ := threeMembers(t)
	turn := r.Lookup(a, begin).Listing
	turn.Add("x-b", "early")
	turn.Advance("2", begin)
	turn.Return()
	c := r.Lookup(b, begin)
	if c.Answer != List || c.Listing.Next != "2" {
		t.Fatalf("Consult() = %+v, want the turn for page 2", c)
	}
	c.Listing.Advance("", begin)
	c.Listing.Return()
	if got := r.Lookup(b, begin); got.Answer != Listed || got.Item != "early" {
		t.Errorf("Consult() = %+v, want what the first page showed", got)
	}
}

// TestAListThatDoesNotEnd verifies that a list with endless pages is stopped.
func TestAListThatDoesNotEnd(t *testing.T) {
	r, a, _, _ := threeMembers(t)
	turn := r.Lookup(a, begin).Listing
	if _, ok := turn.Advance("again", begin); !ok {
		t.Error("a second page is no mistake")
	}
	if _, ok := turn.Advance("again", begin); ok {
		t.Error("a page that leads to itself was accepted")
	}
	turn.Fail(begin)
	if c := r.Lookup(a, begin.Add(round-1)); c.Answer != Alone {
		t.Errorf("Consult() = %+v before the next round", c)
	}
	begin := begin.Add(round)
	turn = r.Lookup(a, begin).Listing
	pages := 1
	for more, ok := true, true; more && ok; pages++ {
		more, ok = turn.Advance("page"+time.Duration(pages).String(), begin)
	}
	if pages > maxPages+1 {
		t.Errorf("%d pages were asked for", pages)
	}
	turn.Fail(begin)
	if c := r.Lookup(a, begin.Add(2*round-1)); c.Answer != Alone {
		t.Errorf("Consult() = %+v, want the next list two rounds later", c)
	}
	begin = begin.Add(2 * round)
	turn = r.Lookup(a, begin).Listing
	if _, ok := turn.Advance("2", begin.Add(round+1)); ok {
		t.Error("a list that takes longer than a round was gone on with")
	}
}

// TestAlignPoll verifies that healthy objects are aligned shortly after the round of their connection begins.
func TestAlignPoll(t *testing.T) {
	r, a, _, _ := threeMembers(t)
	aligned := func(now, due time.Time, random float64) time.Time {
		at, _ := r.AlignPoll("line", now, due, 0, random)

		return at
	}
	first := aligned(begin, begin.Add(round), 0)
	if first.Before(begin) || first.After(begin.Add(round)) {
		t.Errorf("who is due in a round is looked at after %s", first.Sub(begin))
	}
	if got := aligned(begin.Add(3*time.Second), begin.Add(3*time.Second+round), 0); got.Sub(first)%round != 0 {
		t.Errorf("two meet at %s and %s", first, got)
	}
	if got := aligned(first.Add(fresh/2), first.Add(fresh/2+round), 0); !got.Equal(first.Add(round)) {
		t.Errorf("the next round is %s later, want %s", got.Sub(first), round)
	}
	if got := aligned(begin, begin.Add(round), 0.5); !got.Equal(first.Add(fresh / 4)) {
		t.Errorf("they are spread by %s, want half of half of %s", got.Sub(first), fresh)
	}
	if at, ok := r.AlignPoll("line", first, first.Add(round/2), 0, 0); ok || !at.Equal(first.Add(round/2)) {
		t.Errorf("who is due before the next round waits until %s, %t", at, ok)
	}
	if at, ok := r.AlignPoll("other", begin, begin.Add(round), 0, 0); !ok || at.Equal(first) {
		t.Errorf("another connection meets at the same moment: %s, %t", at, ok)
	}
	turn := r.Lookup(a, begin).Listing
	turn.Fail(begin)
	if at := aligned(begin, begin.Add(round), 0); !at.Equal(begin.Add(round * 3 / 4)) {
		t.Errorf("who cannot meet is looked at after %s", at.Sub(begin))
	}
}

// A sub counts how often a subscription was ended.
type sub struct{ ended int }

func (s *sub) end() { s.ended++ }

func TestWatch(t *testing.T) {
	r, a, b, c := threeMembers(t)
	later := begin.Add(time.Second)
	w := r.Subscribe(a, begin)
	if w == nil || r.Subscribe(b, begin) != nil {
		t.Fatal("want one subscription for a connection")
	}
	if after := w.Failed(begin); after != firstRetry || r.Subscribe(a, begin.Add(after-1)) != nil {
		t.Errorf("a failed subscription is tried again after %s", after)
	}
	now := begin.Add(firstRetry)
	w = r.Subscribe(a, now)
	var first sub
	w.Begun(first.end, now)
	if r.Watched(a) {
		t.Error("nobody has looked since the subscription began")
	}
	r.Touched(a, now)
	if !r.Watched(a) {
		t.Error("what happens from now on is told")
	}
	keys, ok := w.Changed("x-a", now.Add(time.Second))
	if diff := cmp.Diff([]Key{{"default", "a"}}, keys); diff != "" || !ok || !r.Notified(a) || r.Notified(b) ||
		r.Watched(a) {
		t.Errorf("Changed(): -want +got\n%s", diff)
	}
	if keys, _ := w.Changed("foreign", later); len(keys) > 0 {
		t.Errorf("a name that nobody has is that of %v", keys)
	}
	nameless := NewMember(Key{"default", "nameless"})
	r.Join(nameless, "line", "", "")
	if keys, ok := w.Changed("", later); len(keys) > 0 || !ok {
		t.Errorf("nothing has changed, which is that of %v", keys)
	}
	r.Leave(nameless)
	if keys := w.Interrupted(); len(keys) != 3 || r.Watched(b) {
		t.Errorf("an interruption concerns %v", keys)
	}
	if keys := w.Interrupted(); len(keys) != 0 {
		t.Errorf("the same interruption concerns %v", keys)
	}
	if keys := w.Resumed(now.Add(time.Hour)); len(keys) != 3 {
		t.Errorf("what was lost concerns %v", keys)
	}

	r.Join(a, "line", "2", "x-a")
	second := r.Subscribe(a, now)
	if second == nil || first.ended != 0 {
		t.Fatal("another revision needs another subscription, and the first lasts until then")
	}
	var other sub
	second.Begun(other.end, now)
	if first.ended != 1 {
		t.Error("the first subscription was not ended")
	}
	if _, ok := w.Changed("x-a", now); ok {
		t.Error("what was ended still tells")
	}
	for _, p := range []*Member{a, b, c, a} {
		r.Leave(p)
	}
	if objects, besides := r.Size(); other.ended != 1 || objects+besides != 0 {
		t.Errorf("ended %d times, %d objects and %d things are left", other.ended, objects, besides)
	}
}

// TestASubscriptionThatComesTooLate verifies that nothing is left behind, whatever happens while a subscription is
// being made.
func TestASubscriptionThatComesTooLate(t *testing.T) {
	r, a, b, c := threeMembers(t)
	w := r.Subscribe(a, begin)
	w.Interrupted()
	var first sub
	w.Begun(first.end, begin)
	if r.Touched(a, begin); r.Watched(a) {
		t.Error("what was interrupted from the beginning is healthy")
	}
	r.Join(a, "line", "2", a.name)
	second := r.Subscribe(a, begin)
	for _, p := range []*Member{a, b, c} {
		r.Leave(p)
	}
	if first.ended != 1 {
		t.Errorf("the first subscription was ended %d times", first.ended)
	}
	var other sub
	second.Begun(other.end, begin)
	if first.ended != 1 || other.ended != 1 {
		t.Errorf("ended %d and %d times", first.ended, other.ended)
	}
}

// TestMoving verifies that an object that moves to another connection or name leaves nothing behind.
func TestMoving(t *testing.T) {
	r, a, b, c := threeMembers(t)
	made(t, r, a, begin, []string{"x-a", "x-b", "x-c"})
	for i := range 100 {
		for _, p := range []*Member{a, b, c} {
			r.Join(p, []string{"line", "other"}[i%2], "", []string{"one", "two", "three"}[i%3])
		}
	}
	objects, besides := r.Size()
	if objects != 3 || besides != 2 {
		t.Errorf("%d objects and %d things, want 3, and a connection with a name", objects, besides)
	}
}
