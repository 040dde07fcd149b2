package managed

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// What is told after Create has returned changes nothing of what is being published.
func TestWhatIsToldLateIsNotTaken(t *testing.T) {
	var d createdDetails
	d.add(ConnectionDetails{"key": []byte("first")})
	taken := d.take()
	d.add(ConnectionDetails{"key": []byte("late"), "other": []byte("late")})
	if diff := cmp.Diff(ConnectionDetails{"key": []byte("first")}, taken); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A preparer is a publisher that may refuse before Create is called.
type preparer struct{ err error }

func (p preparer) PrepareConnection(context.Context, resource.Managed) error { return p.err }

func (p preparer) PublishConnection(context.Context, resource.Managed, ConnectionDetails) (bool, error) {
	return false, nil
}

// An object whose details could not be published says of none that they are pending.
func TestARefusedPublicationLeavesNoTrace(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"it may be published": {nil, detailsPending},
		"it is refused":       {boom, ""},
	} {
		p := endingPass(WithCreationConnectionDetails(), WithConnectionPublisher(preparer{tc.err}))
		p.r.telemetry = p.r.newTelemetry()
		if err := p.expectDetails(t.Context()); !errors.Is(err, tc.err) {
			t.Errorf("%s: error %v", name, err)
		}
		if got := p.mg.GetAnnotations()[meta.AnnotationKeyCreationDetails]; got != tc.want {
			t.Errorf("%s: the object says %q", name, got)
		}
	}
}
