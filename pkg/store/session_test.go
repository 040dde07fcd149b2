package store

import (
	"testing"
)

type thing struct {
	Metadata Metadata `json:"metadata"`
}

func (b *thing) GetMetadata() *Metadata { return &b.Metadata }

// A namedStore has only a name.
type namedStore struct{ Store[*thing] }

func (namedStore) Name() string { return "things" }

// TestHoldBeforeNotify checks that after a store was replaced, the missing objects are held before handlers are
// notified of the new objects.
func TestHoldBeforeNotify(t *testing.T) {
	i := NewInformer[*thing](namedStore{}, InformerOptions{})
	i.entries["old"] = entry[*thing]{revision: 7, object: &thing{}, known: true}
	i.synced, i.epoch, i.revision = true, "first", 7
	notified := false
	i.AddHandler(func(n Notification[*thing]) {
		if n.Key != "new" {
			return
		}
		notified = true
		if !i.entries["old"].held { // the lock is held
			t.Error("the object of the former store is not held when a handler is notified of the new store")
		}
	})
	s := &session[*thing]{informer: i, rewatch: true, seen: map[string]struct{}{}}
	for _, e := range []Event[*thing]{{Key: "new", Revision: 1, Object: &thing{}},
		{Synced: true, Revision: 1, Epoch: "second"}} {
		if err := s.handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if held := i.Held(); !notified || len(held) != 1 {
		t.Errorf("notified: %t, held: %v", notified, held)
	}
}
