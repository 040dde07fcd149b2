package statuspage

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// openPages is the number of pages that are open at a time.
const openPages = 50

// live opens the page and its stream for each reader. The returned function ends the streams, and returns the events.
func (s *site) live(readers int) (end func() string) {
	ctx, cancel := context.WithCancel(s.t.Context())
	version := s.feed.current(ctx).version
	var all sync.WaitGroup
	answers := make([]*httptest.ResponseRecorder, readers)
	for i := range readers {
		s.page("/")
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events?version="+version, http.NoBody)
		r.Host = "localhost"
		r.AddCookie(s.cookie)
		answers[i] = httptest.NewRecorder()
		all.Go(func() { s.ServeHTTP(answers[i], r) })
	}
	synctest.Wait()

	return func() string {
		cancel()
		all.Wait()
		var text strings.Builder
		for _, w := range answers {
			text.WriteString(w.Body.String())
		}

		return text.String()
	}
}

// TestPagesShareSnapshots: fifty open pages share one snapshot per second. If nothing changes, they get heartbeats
// only.
func TestPagesShareSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := signedIn(t, example())
		end := s.live(openPages)
		if s.feed.reads != 1 {
			t.Errorf("%d snapshots for %d pages", s.feed.reads, openPages)
		}
		const minute = 60
		for range minute {
			s.page("/")
			<-time.After(time.Second)
		}
		synctest.Wait()
		if n := s.feed.reads; n < minute || n > minute+2 {
			t.Errorf("%d snapshots in a minute", n)
		}
		// One at the start, and four in the minute.
		if events, beats := s.events.Load(), s.heartbeats.Load(); events != 0 || beats != 5*openPages {
			t.Errorf("%d events and %d heartbeats for %d pages in a minute", events, beats, openPages)
		}
		if text := end(); strings.Contains(text, "event: change") || !strings.Contains(text, "event: heartbeat") {
			t.Errorf("events: %s", text)
		}
	})
}

// TestPagesGetChanges: a change reaches each open page once, within a second.
func TestPagesGetChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := example()
		s := signedIn(t, x)
		end := s.live(openPages)
		defer end()
		x.change(func() { x.objects = append([]resource.Managed{newBucket("new")}, x.objects...) })
		<-time.After(snapshotInterval + time.Millisecond)
		synctest.Wait()
		if n := s.events.Load(); n != openPages {
			t.Errorf("%d events for %d pages", n, openPages)
		}
	})
}

// TestChangesBeforeTheStream: a page that is older than the fleet gets an event at once.
func TestChangesBeforeTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := signedIn(t, example())
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		w := s.do(http.MethodGet, "/events?version=old", func(r *http.Request) { *r = *r.WithContext(ctx) })
		if !strings.HasPrefix(w.Body.String(), "event: change\ndata: "+s.feed.current(ctx).version) {
			t.Errorf("events: %s", w.Body)
		}
		<-time.After(2 * keepSnapshot)
	})
}

// TestNothingWithoutReaders: while no page is open, nothing is read, no goroutine is left, and the fleet is not kept.
func TestNothingWithoutReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := signedIn(t, example())
		<-time.After(time.Hour)
		if s.feed.reads != 0 {
			t.Errorf("%d snapshots although no page was open", s.feed.reads)
		}
		end := s.live(3)
		<-time.After(10 * time.Second)
		end()
		<-time.After(2 * keepSnapshot)
		synctest.Wait()
		reads := s.feed.reads
		<-time.After(time.Hour)
		synctest.Wait()
		if s.feed.reads != reads || s.feed.last != nil || s.feed.stop != nil || len(s.feed.subscribers) != 0 {
			t.Errorf("after the last page: %d more snapshots, kept: %t, %d subscribers", s.feed.reads-reads,
				s.feed.last != nil, len(s.feed.subscribers))
		}
	}) // which fails if a goroutine is left
}
