package storetest

import (
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

var writes = map[string]func(*suite){
	"CreateGivesMetadata":        createGivesMetadata,
	"CreateStoresNoStatus":       createStoresNoStatus,
	"CreateFindsAnother":         createFindsAnother,
	"UpdateKeepsStatus":          updateKeepsStatus,
	"UpdateStatusKeepsTheRest":   updateStatusKeepsTheRest,
	"UpdateComparesRevisions":    updateComparesRevisions,
	"UpdateNeedsARevision":       updateNeedsARevision,
	"UpdateOfWhatIsGone":         updateOfWhatIsGone,
	"SameValueIsNotWritten":      sameValueIsNotWritten,
	"NumbersKeepTheirDigits":     numbersKeepTheirDigits,
	"GenerationCountsTheDesired": generationCountsTheDesired,
	"IdentityIsFixed":            identityIsFixed,
	"RevisionsGrow":              revisionsGrow,
	"ObjectsAreCopies":           objectsAreCopies,
	"ListHasAll":                 listHasAll,
	"RacersLoseNothing":          racersLoseNothing,
}

func createGivesMetadata(s *suite) {
	in := NewThing("a", 1)
	in.Metadata.Labels = map[string]string{"l": "1"}
	in.Metadata.Owners = []store.Owner{{Kind: "k", Key: "o", UID: "u", Epoch: "e", Revision: 3}}
	before := in.DeepCopy()
	out, err := s.Store.Create(s.ctx, in)
	s.must("create", err)
	if diff := cmp.Diff(before, in); diff != "" {
		s.Errorf("Create changed what it was given: -before, +after:\n%s", diff)
	}
	m := out.Metadata
	if m.UID == "" || m.Revision == 0 || m.Generation != 1 || m.CreationTimestamp.IsZero() ||
		m.DeletionTimestamp != nil {
		s.Errorf("Create returned the metadata %+v", m)
	}
	if diff := cmp.Diff(out, s.get("a")); diff != "" {
		s.Errorf("Get differs from what Create returned: -created, +got:\n%s", diff)
	}
	if diff := cmp.Diff(in.Metadata.Owners, m.Owners); diff != "" {
		s.Errorf("owners: -want, +got:\n%s", diff)
	}
}

func createStoresNoStatus(s *suite) {
	in := NewThing("a", 1)
	in.Status.Note = "made up"
	out, err := s.Store.Create(s.ctx, in)
	s.must("create", err)
	if out.Status != (ThingStatus{}) || s.get("a").Status != (ThingStatus{}) {
		s.Errorf("Create stored a status: %+v", out.Status)
	}
}

func createFindsAnother(s *suite) {
	s.create("a", 1)
	_, err := s.Store.Create(s.ctx, NewThing("a", 2))
	s.is("create again", err, store.ErrAlreadyExists)
	if got := s.get("a").Spec.Size; got != 1 {
		s.Errorf("the first one has size %d, want 1", got)
	}
	s.must("delete", s.Store.Delete(s.ctx, "a"))
	first, second := s.list, s.create("a", 3)
	if sizes, _ := first(); sizes["a"] != 3 || second.Metadata.Generation != 1 {
		s.Errorf("created after deletion: %+v", second.Metadata)
	}
}

func updateKeepsStatus(s *suite) {
	t := s.create("a", 1)
	t.Status.Seen = 7
	t, err := s.Store.UpdateStatus(s.ctx, t)
	s.must("update status", err)
	t.Spec.Size, t.Status.Seen = 2, 8
	out := s.update(t)
	if out.Spec.Size != 2 || out.Status.Seen != 7 {
		s.Errorf("Update made %+v, want size 2 and the status as it was", out)
	}
	if diff := cmp.Diff(out, s.get("a")); diff != "" {
		s.Errorf("Get differs from what Update returned: -updated, +got:\n%s", diff)
	}
}

func updateStatusKeepsTheRest(s *suite) {
	t := s.create("a", 1)
	change := t.DeepCopy()
	change.Spec.Size, change.Status.Seen = 9, 7
	change.Metadata.Labels = map[string]string{"l": "1"}
	out, err := s.Store.UpdateStatus(s.ctx, change)
	s.must("update status", err)
	want := t.DeepCopy()
	want.Status.Seen, want.Metadata.Revision = 7, out.Metadata.Revision
	if diff := cmp.Diff(want, out); diff != "" {
		s.Errorf("UpdateStatus: -want, +got:\n%s", diff)
	}
}

func updateComparesRevisions(s *suite) {
	t := s.create("a", 1)
	newer := t.DeepCopy()
	newer.Spec.Size = 2
	newer = s.update(newer)
	if newer.Metadata.Revision <= t.Metadata.Revision {
		s.Errorf("revision %d after %d", newer.Metadata.Revision, t.Metadata.Revision)
	}
	t.Spec.Size, t.Status.Seen = 3, 3
	_, err := s.Store.Update(s.ctx, t)
	s.is("update of an old revision", err, store.ErrConflict)
	_, err = s.Store.UpdateStatus(s.ctx, t)
	s.is("status update of an old revision", err, store.ErrConflict)
	if diff := cmp.Diff(newer, s.get("a")); diff != "" {
		s.Errorf("a refused update left traces: -want, +got:\n%s", diff)
	}
}

func updateNeedsARevision(s *suite) {
	t := s.create("a", 1)
	t.Metadata.Revision = 0
	_, err := s.Store.Update(s.ctx, t)
	s.is("update without revision", err, store.ErrInvalid)
}

func updateOfWhatIsGone(s *suite) {
	t := s.create("a", 1)
	s.must("delete", s.Store.Delete(s.ctx, "a"))
	_, err := s.Store.Update(s.ctx, t)
	s.is("update of what is gone", err, store.ErrNotFound)
	s.create("a", 2)
	_, err = s.Store.UpdateStatus(s.ctx, t)
	s.is("status update of a former object", err, store.ErrConflict)
}

func sameValueIsNotWritten(s *suite) {
	t := s.create("a", 1)
	same := s.update(t.DeepCopy())
	if same.Metadata.Revision != t.Metadata.Revision {
		s.Errorf("an update without a difference was written: revision %d after %d", same.Metadata.Revision,
			t.Metadata.Revision)
	}
}

// numbersKeepTheirDigits checks that different numbers that are equal as float64 stay different.
func numbersKeepTheirDigits(s *suite) {
	const large = 1<<53 + 1
	t := s.create("a", 1)
	for _, count := range []int64{large, large - 1, -large, 1 - large} {
		t.Status.Count = count
		out, err := s.Store.UpdateStatus(s.ctx, t)
		s.must("update status", err)
		if got := s.get("a"); out.Status.Count != count || got.Status.Count != count ||
			out.Metadata.Revision <= t.Metadata.Revision {
			s.Fatalf("UpdateStatus to %d returned %d at revision %d after %d, and %d is stored",
				count, out.Status.Count, out.Metadata.Revision, t.Metadata.Revision, got.Status.Count)
		}
		t = out
	}
	for _, count := range []int64{large, large - 1} {
		t.Spec.Count = count
		before := t.Metadata.Generation
		if t = s.update(t); t.Spec.Count != count || t.Metadata.Generation != before+1 ||
			s.get("a").Spec.Count != count {
			s.Fatalf("Update to %d made %+v at generation %d after %d", count, t.Spec, t.Metadata.Generation, before)
		}
	}
}

func generationCountsTheDesired(s *suite) {
	t := s.create("a", 1)
	t.Metadata.Annotations = map[string]string{"note": "1"}
	t = s.update(t)
	t.Status.Seen = 1
	t, err := s.Store.UpdateStatus(s.ctx, t)
	s.must("update status", err)
	if t.Metadata.Generation != 1 {
		s.Errorf("generation %d after changes of metadata and status, want 1", t.Metadata.Generation)
	}
	t.Spec.Size = 2
	if t = s.update(t); t.Metadata.Generation != 2 {
		s.Errorf("generation %d after a change of the spec, want 2", t.Metadata.Generation)
	}
}

func identityIsFixed(s *suite) {
	t := s.create("a", 1)
	change := t.DeepCopy()
	change.Metadata.UID = "another"
	_, err := s.Store.Update(s.ctx, change)
	s.is("update with another UID", err, store.ErrConflict)
	change = t.DeepCopy()
	change.Metadata.CreationTimestamp, change.Metadata.Generation = change.Metadata.CreationTimestamp.AddDate(1, 0,
		0), 5
	change.Metadata.DeletionTimestamp = new(change.Metadata.CreationTimestamp)
	if diff := cmp.Diff(t, s.update(change)); diff != "" {
		s.Errorf("fixed metadata was changed: -want, +got:\n%s", diff)
	}
}

func revisionsGrow(s *suite) {
	a, b := s.create("a", 1), s.create("b", 1)
	a.Spec.Size = 2
	a = s.update(a)
	state, err := s.Store.State(s.ctx)
	s.must("ask for the state", err)
	if !(b.Metadata.Revision < a.Metadata.Revision && a.Metadata.Revision <= state.Revision) || state.Epoch == "" {
		s.Errorf("revisions %d, %d and that of the store %+v", b.Metadata.Revision, a.Metadata.Revision, state)
	}
}

func objectsAreCopies(s *suite) {
	s.create("a", 1)
	got := s.get("a")
	got.Spec.Size, got.Metadata.Finalizers = 9, []string{"x"}
	if again := s.get("a"); again.Spec.Size != 1 || len(again.Metadata.Finalizers) != 0 {
		s.Errorf("changing an object changed the store: %+v", again)
	}
}

func listHasAll(s *suite) {
	if sizes, _ := s.list(); len(sizes) != 0 {
		s.Errorf("an empty store lists %v", sizes)
	}
	s.create("a/1", 1)
	s.create("a/2", 2)
	s.create("b", 3)
	s.must("delete", s.Store.Delete(s.ctx, "a/1"))
	sizes, _ := s.list()
	if diff := cmp.Diff(map[string]int{"a/2": 2, "b": 3}, sizes); diff != "" {
		s.Errorf("List: -want, +got:\n%s", diff)
	}
	sizes, _ = s.list(store.WithPrefix("a/"))
	if diff := cmp.Diff(map[string]int{"a/2": 2}, sizes); diff != "" {
		s.Errorf("List with a prefix: -want, +got:\n%s", diff)
	}
	for _, err := range s.Store.List(s.ctx) {
		s.must("list", err)

		break // a caller may stop early
	}
}

// racersLoseNothing increments a field of one object concurrently. Each conflict is retried.
func racersLoseNothing(s *suite) {
	const racers, laps = 4, 10
	s.create("a", 0)
	var wg sync.WaitGroup
	for range racers {
		wg.Go(func() {
			for range laps {
				if err := s.count("a"); err != nil {
					s.Errorf("cannot count: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if got := s.get("a").Spec.Size; got != racers*laps {
		s.Errorf("%d of %d updates were lost", racers*laps-got, racers*laps)
	}
}

func (s *suite) count(key string) error {
	for {
		t, err := s.Store.Get(s.ctx, key)
		if err != nil {
			return err
		}
		t.Spec.Size++
		if _, err = s.Store.Update(s.ctx, t); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}
