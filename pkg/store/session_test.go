package store

import (
	"testing"
)

type boat struct {
	Metadata Metadata `json:"metadata"`
}

func (b *boat) GetMetadata() *Metadata { return &b.Metadata }

// A nameless store is one of which nothing is asked but its name.
type nameless struct{ Store[*boat] }

func (nameless) Name() string { return "boats" }

// TestLostBeforeTold: who is told of what there is in a store that was made anew
// does not find what was in the former one.
func TestLostBeforeTold(t *testing.T) {
	i := NewInformer[*boat](nameless{}, InformerOptions{})
	i.entries["old"] = entry[*boat]{revision: 7, object: &boat{}, known: true}
	i.synced, i.epoch, i.revision = true, "first", 7
	told := false
	i.AddHandler(func(n Notification[*boat]) {
		if n.Key != "new" {
			return
		}
		told = true
		if !i.entries["old"].held { // the lock is held
			t.Error("the object of the former store is not held when one of the new store is told")
		}
	})
	s := &session[*boat]{informer: i, again: true, seen: map[string]struct{}{}}
	for _, e := range []Event[*boat]{{Key: "new", Revision: 1, Object: &boat{}}, {Synced: true, Revision: 1, Epoch: "second"}} {
		if err := s.take(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if held := i.Held(); !told || len(held) != 1 {
		t.Errorf("told: %t, held: %v", told, held)
	}
}
