package natskv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// TestRace lets two controllers change one key, in many random schedules: no update
// is lost, and each conflict is reported.
func TestRace(t *testing.T) {
	const schedules = 1000
	h := newHost(t)
	s := h.bucket(things, Options{})
	random := rand.New(rand.NewPCG(1, 2))
	for n := range schedules {
		key := fmt.Sprintf("k%04d", n)
		create(t, s, key)
		if err := race(t.Context(), s, key, random); err != nil {
			t.Fatalf("schedule %d: %v", n, err)
		}
	}
}

// race runs two writers that each read and write three times, in a random order of steps.
func race(ctx context.Context, s *Store[*storetest.Thing], key string, random *rand.Rand) error {
	read := [2]*storetest.Thing{}
	wrote, last := 0, uint64(0)
	for range 12 {
		who := random.IntN(2)
		if read[who] == nil {
			thing, err := s.Get(ctx, key)
			if err != nil {
				return err
			}
			read[who], last = thing, thing.Metadata.Revision

			continue
		}
		read[who].Spec.Size++
		written, err := s.Update(ctx, read[who])
		current := read[who].Metadata.Revision == last
		read[who] = nil
		switch {
		case err == nil && current:
			wrote, last = wrote+1, written.Metadata.Revision
		case err == nil:
			return errors.New("an update of an old revision was taken")
		case current || !errors.Is(err, store.ErrConflict):
			return err
		}
	}
	thing, err := s.Get(ctx, key)
	if err == nil && thing.Spec.Size != 1+wrote {
		return errors.Errorf("%d updates were answered, and %d are there", wrote, thing.Spec.Size-1)
	}

	return err
}
