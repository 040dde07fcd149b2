package cloud

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPages shows each widget once, in order, also a late one, and none that was removed.
func TestPages(t *testing.T) {
	c, ctx := &Cloud{}, t.Context()
	for i := range 2*PageSize + 10 {
		if _, err := c.Make(ctx, fmt.Sprintf("widget-%d", i), "", 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"widget-0", "widget-77", "widget-77", fmt.Sprintf("widget-%d", 2*PageSize+9)} {
		if err := c.Remove(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	var shown []string
	for next, pages := "", 1; ; pages++ {
		page, more, err := c.Page(ctx, next)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page {
			shown = append(shown, b.ID)
		}
		if next = more; next == "" {
			if pages != 3 {
				t.Errorf("%d pages, want three", pages)
			}

			break
		}
	}
	if len(shown) != 2*PageSize+7 || c.Len() != len(shown) || !slices.IsSorted(shown) ||
		len(slices.Compact(shown)) != c.Len() {
		t.Errorf("%d are shown of %d", len(shown), c.Len())
	}
	c.SetLists(false)
	if _, _, err := c.Page(ctx, ""); !errors.Is(err, ErrNoLists) {
		t.Errorf("error %v of a cloud that has no lists", err)
	}
}

// TestOldest checks that the state from a page is as old as the page, however late a client uses it, and that an
// unused page counts for nothing.
func TestOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ctx := &Cloud{}, t.Context()
		for _, id := range []string{"a", "b"} {
			if _, err := c.Make(ctx, id, "", 1); err != nil {
				t.Fatal(err)
			}
		}
		c.Reset()
		<-time.After(time.Second)
		page, _, err := c.Page(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		c.Serve(page[0]) // a second old
		if _, err := c.Find(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		if n := c.Counts(); n.Oldest != 2*time.Second || n.Served != 1 || n.Calls["Page"] != 1 {
			t.Errorf("after a look at each: %+v", n)
		}
		<-time.After(2 * time.Second)
		if n := c.Counts(); n.Oldest != 3*time.Second {
			t.Errorf("what is known of one is from a page of 3 seconds ago, and the oldest is said to be %s", n.Oldest)
		}
	})
}
