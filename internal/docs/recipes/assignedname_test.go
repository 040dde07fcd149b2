package recipes

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// labelServer assigns IDs, and writes names in its own way.
type labelServer map[string]Record // by label

func (s labelServer) Create(_ context.Context, name, label string) (Record, error) {
	s[label] = Record{ID: "db-1", Name: "eu-" + name}

	return s[label], nil
}

func (s labelServer) ByLabel(_ context.Context, label string) (Record, error) {
	r, ok := s[label]
	if !ok {
		return Record{}, ErrNotFound
	}

	return r, nil
}

// TestAssignedNameIsRecovered loses the response of a create, and finds the database by its label.
func TestAssignedNameIsRecovered(t *testing.T) {
	c := &LabelClient{API: labelServer{}}
	db := database("orders")
	if found, err := c.RecoverCreation(t.Context(), db, "token"); found || err != nil {
		t.Errorf("found %t, %v", found, err)
	}
	if err := c.Create(managed.ContextWithCreationToken(t.Context(), "token"), db.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	found, err := c.RecoverCreation(t.Context(), db, "token")
	if !found || err != nil || meta.GetExternalName(db) != "db-1" {
		t.Errorf("found %t, %v, the external name is %q", found, err, meta.GetExternalName(db))
	}
}
