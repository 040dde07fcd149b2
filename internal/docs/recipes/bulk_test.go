package recipes

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

type lists []Record

// List returns one record per page.
func (l lists) List(_ context.Context, token string) (page []Record, next string, err error) {
	if token == "" {
		return l[:1], "2", nil
	}

	return l[1:], "", nil
}

// TestListAgreesWithObserve compares the observations of listed items with those of Observe.
func TestListAgreesWithObserve(t *testing.T) {
	m := newMemory()
	db := database("orders")
	slow := &SlowClient{API: slowServer{m, map[string]int{}}, Stamp: stampOf(v1alpha1.DatabaseKind, db)}
	c := &BulkClient{SlowClient: slow}
	m.records["orders"] = c.desired(db)
	c.Lists = lists{{Name: "other"}, m.records["orders"]}
	var items []managed.ListedResource
	for token, more := "", true; more; {
		page, err := c.ListPage(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, page.Items...)
		token, more = page.Continue, page.Continue != ""
	}
	if len(items) != 2 || items[1].ExternalName != "orders" {
		t.Fatalf("listed %v", items)
	}
	want, err := c.Observe(t.Context(), db)
	got, listErr := c.ObserveListed(t.Context(), db, items[1].Resource)
	want.OwnerStamp = "" // only needed if the owner is another
	if err != nil || listErr != nil || got.Owner != want.Owner || !got.ResourceUpToDate || !want.ResourceUpToDate {
		t.Errorf("got %v and %v, want %v and %v", got, listErr, want, err)
	}
	if _, err := c.ObserveListed(t.Context(), db, "text"); err == nil {
		t.Error("an item of another type is no error")
	}
}
