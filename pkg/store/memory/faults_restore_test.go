package memory

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// TestInformerAfterRestore checks that an informer distinguishes objects that a restore lost from deleted ones, even if
// the store has been written since.
func TestInformerAfterRestore(t *testing.T) {
	create := func(t *testing.T, s *Store[*storetest.Thing], keys ...string) {
		for _, key := range keys {
			if _, err := s.Create(t.Context(), storetest.NewThing(key, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		reason string
		after  func(*testing.T, *Store[*storetest.Thing])
		want   []string
	}{
		"Shorter": {
			reason: "The revision went back.", after: func(*testing.T, *Store[*storetest.Thing]) {}, want: []string{"b", "c"},
		},
		"Equal": {reason: "The revision of b is that of x.",
			after: func(t *testing.T, s *Store[*storetest.Thing]) { create(t, s, "x", "y") }, want: []string{"b", "c"}},
		"Longer": {reason: "There are more revisions than before.",
			after: func(t *testing.T, s *Store[*storetest.Thing]) { create(t, s, "x", "y", "z", "u") },
			want:  []string{"b", "c"}},
		"Many": {
			reason: "More objects are missing at once than MaxVanished.",
			after: func(t *testing.T, s *Store[*storetest.Thing]) {
				create(t, s, "b", "c")
				<-time.After(time.Hour)
				for _, key := range []string{"a", "b", "c"} {
					s.Vanish(key)
				}
			},
			want: []string{"a", "b", "c"},
		},
		"Again": {
			reason: "One object exists again, with another revision.",
			after:  func(t *testing.T, s *Store[*storetest.Thing]) { create(t, s, "c", "y", "z") }, want: []string{"b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New[*storetest.Thing]("things")
				create(t, s, "a")
				restore := s.Backup()
				create(t, s, "b", "c")
				i := store.NewInformer(s, store.InformerOptions{MaxVanished: 2})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = i.Start(ctx) }()
				synctest.Wait()
				restore()
				tc.after(t, s)
				<-time.After(time.Hour)
				if diff := cmp.Diff(tc.want, i.Held()); diff != "" {
					t.Errorf("%s\nheld: -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}
