package storetest

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/store"
)

var inputs = map[string]func(*suite){
	"KeysThatAreTaken":   keysThatAreTaken,
	"KeysThatAreNot":     keysThatAreNot,
	"TooLarge":           tooLarge,
	"Undecodable":        undecodable,
	"UndecodableIsFixed": undecodableIsFixed,
}

func keysThatAreTaken(s *suite) {
	for _, key := range []string{"a", "ns/name", "a=b", "a.b.c", "A_b-9", strings.Repeat("k", 200)} {
		s.create(key, 1)
		if got := s.get(key).Metadata.Key; got != key {
			s.Errorf("%q came back as %q", key, got)
		}
	}
}

func keysThatAreNot(s *suite) {
	for _, key := range append([]string{""}, s.BadKeys...) {
		_, err := s.Store.Create(s.ctx, NewThing(key, 1))
		s.is("create "+key, err, store.ErrInvalid)
		_, err = s.Store.Get(s.ctx, key)
		s.is("get "+key, err, store.ErrInvalid)
		s.is("delete "+key, s.Store.Delete(s.ctx, key), store.ErrInvalid)
	}
	if sizes, _ := s.list(); len(sizes) != 0 {
		s.Errorf("rejected keys were stored: %v", sizes)
	}
}

func tooLarge(s *suite) {
	if s.Subject.TooLarge == 0 {
		return
	}
	t := NewThing("a", 1)
	t.Spec.Text = strings.Repeat("x", s.Subject.TooLarge)
	_, err := s.Store.Create(s.ctx, t)
	s.is("create something large", err, store.ErrTooLarge)
	small := s.create("a", 1)
	small.Status.Note = strings.Repeat("x", s.Subject.TooLarge)
	_, err = s.Store.UpdateStatus(s.ctx, small)
	s.is("make something large", err, store.ErrTooLarge)
	s.create("b", 2)
}

// undecodable checks that an undecodable entry is reported, and does not prevent the others from being read.
func undecodable(s *suite) {
	if s.Corrupt == nil {
		return
	}
	s.create("a", 1)
	s.must("corrupt", s.Corrupt(s.ctx, "bad"))
	s.create("c", 3)

	_, err := s.Store.Get(s.ctx, "bad")
	s.is("get what cannot be decoded", err, store.ErrUndecodable)
	sizes, bad := s.list()
	if diff := cmp.Diff(map[string]int{"a": 1, "c": 3}, sizes); diff != "" {
		s.Errorf("List beside a bad entry: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bad"}, bad); diff != "" {
		s.Errorf("bad entries of List: -want, +got:\n%s", diff)
	}
	w := s.watch()
	events := s.next(w, 4)
	for _, e := range events {
		if (e.Key == "bad") != (e.Err != nil) {
			s.Errorf("event of %q has the error %v", e.Key, e.Err)
		}
	}
	s.must("corrupt", s.Corrupt(s.ctx, "worse"))
	s.create("d", 4)
	events = s.next(w, 2)
	s.is("event of a bad entry", events[0].Err, store.ErrUndecodable)
	if diff := cmp.Diff([]step{{Op: "put", Key: "d", Size: 4}}, steps(events[1:])); diff != "" {
		s.Errorf("event after a bad entry: -want, +got:\n%s", diff)
	}
}

// undecodableIsFixed checks that an undecodable entry can be deleted, and created again.
func undecodableIsFixed(s *suite) {
	if s.Corrupt == nil {
		return
	}
	s.must("corrupt", s.Corrupt(s.ctx, "a"))
	_, err := s.Store.Create(s.ctx, NewThing("a", 1))
	s.is("create over a bad entry", err, store.ErrAlreadyExists)
	s.must("delete a bad entry", s.Store.Delete(s.ctx, "a"))
	s.create("a", 1)
}
