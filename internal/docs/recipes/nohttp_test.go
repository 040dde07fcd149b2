package recipes

import (
	"context"
	"io"
	"net"
	"net/textproto"
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// TestClassify checks the meaning of each sort of error.
func TestClassify(t *testing.T) {
	refused := func(code int) error { return errors.Wrap(&textproto.Error{Code: code, Msg: "no"}, "cannot do it") }
	for name, tc := range map[string]struct {
		err         error
		effect      external.Effect
		unavailable bool
	}{
		"none":          {nil, external.EffectUnknown, false},
		"deadline":      {context.DeadlineExceeded, external.EffectPossible, false},
		"refused":       {refused(553), external.EffectNone, false},
		"busy":          {refused(421), external.EffectOf(refused(421)), false},
		"end of file":   {io.EOF, external.EffectPossible, true},
		"reset":         {&net.OpError{Op: "read", Err: errors.New("reset")}, external.EffectPossible, true},
		"no connection": {&net.OpError{Op: "dial", Err: errors.New("refused")}, external.EffectNone, true},
	} {
		got := classify(tc.err)
		if external.EffectOf(got) != tc.effect || external.IsUnavailable(got) != tc.unavailable {
			t.Errorf("%s: %v has the effect %v, unavailable %t", name, got, external.EffectOf(got), external.IsUnavailable(got))
		}
	}
	if classify(io.EOF).Error() != classify(io.ErrUnexpectedEOF).Error() {
		t.Error("two failures of the connection have two texts")
	}
	if !external.IsNotFound(classify(refused(550))) || !external.IsUnauthorized(classify(refused(530))) {
		t.Error("a code has lost its meaning")
	}
}
