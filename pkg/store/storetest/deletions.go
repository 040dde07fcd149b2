package storetest

import (
	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/store"
)

var deletions = map[string]func(*suite){
	"WithoutFinalizers": deleteWithoutFinalizers,
	"WithFinalizers":    deleteWithFinalizers,
	"NoFinalizersAfter": deleteAllowsNoNewFinalizers,
	"Preconditions":     deletePreconditions,
}

func deleteWithoutFinalizers(s *suite) {
	s.is("delete of nothing", s.Store.Delete(s.ctx, "a"), store.ErrNotFound)
	t := s.create("a", 1)
	s.must("delete", s.Store.Delete(s.ctx, "a"))
	_, err := s.Store.Get(s.ctx, "a")
	s.is("get after deletion", err, store.ErrNotFound)
	s.is("second deletion", s.Store.Delete(s.ctx, "a"), store.ErrNotFound)
	if again := s.create("a", 1); again.Metadata.UID == t.Metadata.UID ||
		again.Metadata.Revision <= t.Metadata.Revision {
		s.Errorf("a later object of that key has UID %s and revision %d", again.Metadata.UID, again.Metadata.Revision)
	}
}

func deleteWithFinalizers(s *suite) {
	in := NewThing("a", 1)
	in.Metadata.Finalizers = []string{"one", "two"}
	_, err := s.Store.Create(s.ctx, in)
	s.must("create", err)
	s.must("delete", s.Store.Delete(s.ctx, "a"))

	t := s.get("a")
	if t.Metadata.DeletionTimestamp == nil || t.Metadata.Generation != 2 {
		s.Fatalf("a deleted object with finalizers has the metadata %+v", t.Metadata)
	}
	s.must("delete again", s.Store.Delete(s.ctx, "a"))
	if diff := cmp.Diff(t, s.get("a")); diff != "" {
		s.Errorf("a second deletion changed something: -before, +after:\n%s", diff)
	}
	t.Metadata.Finalizers = []string{"two"}
	if t = s.update(t); t.Metadata.DeletionTimestamp == nil {
		s.Error("an update took the mark of deletion away")
	}
	t.Status.Note = "going"
	t, err = s.Store.UpdateStatus(s.ctx, t)
	s.must("update status while it is being deleted", err)
	t.Metadata.Finalizers = nil
	s.update(t)
	_, err = s.Store.Get(s.ctx, "a")
	s.is("get after the last finalizer went", err, store.ErrNotFound)
}

func deleteAllowsNoNewFinalizers(s *suite) {
	in := NewThing("a", 1)
	in.Metadata.Finalizers = []string{"one"}
	_, err := s.Store.Create(s.ctx, in)
	s.must("create", err)
	s.must("delete", s.Store.Delete(s.ctx, "a"))
	t := s.get("a")
	t.Metadata.Finalizers = []string{"one", "two"}
	_, err = s.Store.Update(s.ctx, t)
	s.is("new finalizer while it is being deleted", err, store.ErrInvalid)
}

func deletePreconditions(s *suite) {
	old := s.create("a", 1)
	t := old.DeepCopy()
	t.Spec.Size = 2
	t = s.update(t)
	s.is("delete an old revision", s.Store.Delete(s.ctx, "a", store.IfRevision(old.Metadata.Revision)),
		store.ErrConflict)
	s.is("delete another UID", s.Store.Delete(s.ctx, "a", store.IfUID("another")), store.ErrConflict)
	s.get("a")
	s.must("delete", s.Store.Delete(s.ctx, "a", store.IfUID(t.Metadata.UID), store.IfRevision(t.Metadata.Revision)))
}
