package statuspage

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadersShareRenderedPages: readers of one page of one fleet share its text, and the number of kept pages is
// bounded.
func TestReadersShareRenderedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := signedIn(t, example())
		for range openPages {
			s.page("/?state=All&q=sea")
		}
		f := s.feed.current(t.Context())
		if f.rendered.count != 1 {
			t.Errorf("%d pages were rendered for %d readers", f.rendered.count, openPages)
		}
		for i := range 2 * maxRendered {
			s.page(fmt.Sprintf("/?q=%d", i))
		}
		if len(f.rendered.pages) != maxRendered {
			t.Errorf("%d pages are kept", len(f.rendered.pages))
		}
		<-time.After(snapshotInterval)
		if s.page("/"); s.feed.current(t.Context()).rendered.count != 1 {
			t.Error("a page of an older fleet is shown")
		}
		<-time.After(2 * keepSnapshot)
	})
}
