package recipes

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/pkg/external"
)

// orderServer has one database, on which other objects depend until it was asked to drop it twice.
type orderServer struct{ unprotected, asked int }

func (s *orderServer) Unprotect(context.Context, string) error {
	s.unprotected++
	if s.asked == 2 {
		return ErrNotFound
	}

	return nil
}

func (s *orderServer) Drop(context.Context, string) error {
	s.asked++
	if s.asked < 2 {
		return ErrInUse
	}

	return nil
}

// TestDeleteInOrder calls Delete until nothing is left.
func TestDeleteInOrder(t *testing.T) {
	s := &orderServer{}
	c := &OrderClient{API: s}
	if after, ok := external.AsRetryAfter(c.Delete(t.Context(), database("orders"))); !ok || after == 0 {
		t.Error("Delete is not repeated while other objects depend on the database")
	}
	for range 2 {
		if err := c.Delete(t.Context(), database("orders")); err != nil {
			t.Error(err)
		}
	}
	if s.unprotected != 3 || s.asked != 2 {
		t.Errorf("unprotected %d times, dropped %d times", s.unprotected, s.asked)
	}
}
