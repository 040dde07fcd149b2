package dev

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// settling is how long the API server may take until it serves a changed kind.
const settling = 3 * time.Minute

// applyExamples applies the examples. A refused one is reported, read again and retried: for a moment after a change a
// kind is served as it was.
func (s *session) applyExamples(ctx context.Context) (applied []object, err error) {
	reported := ""

	err = s.provider.awaits(ctx, settling, func() error {
		objects, err := read(filepath.Join(s.Dir, exampleFolder, "*.yaml"))
		if err == nil {
			err = s.cluster.apply(ctx, objects)
		}

		if err != nil && err.Error() != reported && ctx.Err() == nil {
			reported = err.Error()
			s.say("%v; it is tried again for %s", err, settling)
		}

		applied = objects

		return err
	})

	return applied, err
}

// play applies the examples and waits until each that can be Ready is. It reports each as soon as it is, and the error
// says why the others are not. Then it shows what kubectl moorage says about them.
func (s *session) play(ctx context.Context) error {
	objects, err := s.applyExamples(ctx)
	if err != nil {
		return err
	}

	objects = slices.DeleteFunc(objects, func(o object) bool {
		return o.Kind == "Secret" || strings.HasSuffix(o.Kind, "ProviderConfig")
	})

	var why []string

	examples := slices.Clone(objects)

	if err := s.provider.awaits(ctx, s.within, func() error {
		why = nil
		objects = slices.DeleteFunc(objects, func(o object) bool {
			err := s.cluster.ready(ctx, o)
			if err != nil {
				why = append(why, fmt.Sprintf("the %s %s: %v", o.Kind, o.Metadata.Name, err))

				return false
			}

			s.say("the %s %s is Ready", o.Kind, o.Metadata.Name)

			return true
		})

		if len(why) > 0 {
			return errUnready
		}

		return nil
	}); err != nil {
		return fmt.Errorf("waited in vain for %s", strings.Join(why, ", and for "))
	}

	s.explain(ctx, examples)

	return nil
}

// errUnready is returned while examples are not Ready.
var errUnready = errors.New("not all examples are Ready")
