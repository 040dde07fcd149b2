package stories

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// BadInput checks mistakes of users and of external systems. Each has to end in a condition with the reason, with
// backoff, and without loss of a resource.
func BadInput(t *testing.T, at Place) {
	t.Helper()
	for name, tc := range badInputs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.endsWell(t, at, name)
		})
	}
}

// HugeAnnotations checks that the API server refuses huge annotations, so that the reconciler need not handle them.
func HugeAnnotations(t *testing.T, at Place) {
	t.Helper()
	p, _ := at(t)
	v := NewVolume(p.Namespace, "huge")
	v.Annotations = map[string]string{"example.org/note": strings.Repeat("x", 1<<20)}
	if err := p.API.Create(t.Context(), v); !kerrors.IsInvalid(err) {
		t.Errorf("error %v: then the reconciler has to cope with it", err)
	}
}

// A wrong is a mistake of a user or of an external system.
type wrong struct {
	reason      string
	annotations map[string]string
	err         error // of Create
	synced      string
	message     string
	created     int
}

func badInputs() map[string]wrong {
	return map[string]wrong{
		"UnknownPolicy": {
			"a typing error must not switch everything off in silence",
			map[string]string{meta.AnnotationKeyManagementPolicy: "Observe"}, nil,
			"False/InvalidManagementPolicy", "observe-create-update", 0,
		},
		"MalformedInterval": {
			"an interval that is none is no reason not to work",
			map[string]string{meta.AnnotationKeyPollInterval: "5 minutes"}, nil,
			"True/ReconcileSuccess", "", 1,
		},
		"AnnotationsWithoutRoom": {
			"where our own record does not fit nothing is created",
			map[string]string{"example.org/note": strings.Repeat("x", 262144-64)}, nil,
			"False/ReconcileError", "cannot update managed resource", 0,
		},
		"AnnotationsWithoutRoomForTheResult": {
			"where the intent fits and the result does not, nothing is created either",
			map[string]string{"example.org/note": strings.Repeat("x", 262144-48-160)}, nil,
			"False/ReconcileError", "so that there is room for", 0,
		},
		"InvalidUTF8": {
			"what an external system says may be anything",
			nil, external.NotCreated(errors.New("bad \xff\xfe\x00 answer " + strings.Repeat("é", 4096))),
			"False/ReconcileError", "create failed: bad ", 0,
		},
	}
}

// endsWell checks that the mistake is reported in a condition and retried with backoff, and that the object is ready
// once it is corrected.
func (tc wrong) endsWell(t *testing.T, at Place, name string) {
	t.Helper()
	cloud := &volume.Cloud{}
	mended := make(chan struct{})
	cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		select {
		case <-mended:
			return nil
		default:
		}
		if call == "Create" {
			return tc.err
		}

		return nil
	}
	p := start(t, at, cloud, managed.WithPollInterval(time.Minute))
	v := NewVolume(p.Namespace, "bad")
	v.Annotations = tc.annotations
	begun := time.Now()
	if err := p.API.Create(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	Eventually(t, tc.reason, func() bool {
		err := p.API.Get(t.Context(), client.ObjectKeyFromObject(v), v)
		c := v.GetCondition("Synced")

		return err == nil && fmt.Sprintf("%s/%s", c.Status, c.Reason) == tc.synced
	})
	c := v.GetCondition("Synced")
	if !strings.Contains(c.Message, tc.message) || len(c.Message) > 1024 || !utf8.ValidString(c.Message) {
		t.Errorf("%s: message %q", tc.reason, c.Message)
	}
	if got := len(cloud.Disks()); got != tc.created {
		t.Errorf("%s: %d disks, want %d", tc.reason, got, tc.created)
	}
	// The backoff begins with a second and doubles: there is a pass at 0, 1, 3, 7, 15.
	Eventually(t, "five seconds", func() bool { return time.Since(begun) > 5*time.Second })
	n := cloud.Count("Connect")
	took := time.Since(begun) // longer than until the count
	if most := 2 + int(math.Log2(took.Seconds()+1)); n > most {
		t.Errorf("%s: %d passes in %s, want at most %d", tc.reason, n, took, most)
	}
	close(mended)
	p.patch(v, func() {
		for name := range tc.annotations {
			delete(v.Annotations, name)
		}
	})
	Eventually(t, "recovered from "+name, func() bool {
		return p.API.Get(t.Context(), client.ObjectKeyFromObject(v), v) == nil && ready(v) &&
			v.GetCondition("Synced").Status == "True"
	})
	if got := len(cloud.Disks()); got != 1 {
		t.Errorf("%s: %d disks after the repair, want 1", tc.reason, got)
	}
}
