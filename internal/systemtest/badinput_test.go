package systemtest

import (
	"context"
	"errors"
	"fmt"
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

// What users and external systems may do wrong ends in a condition that says so,
// without haste and without loss.
func TestBadInput(t *testing.T) { everywhere(t, badInput) }

func badInput(t *testing.T, at place) {
	t.Helper()
	cases := map[string]struct {
		reason      string
		annotations map[string]string
		err         error // of Create
		synced      string
		message     string
		created     int
	}{
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
		"InvalidUTF8": {
			"what an external system says may be anything",
			nil, external.NotCreated(errors.New("bad \xff\xfe\x00 answer " + strings.Repeat("é", 4096))),
			"False/ReconcileError", "create failed: bad ", 0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := &volume.Cloud{}
			cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Create" {
					return tc.err
				}

				return nil
			}
			p := startProvider(t, at, cloud, managed.WithPollInterval(time.Minute))
			v := newVolume(p.ns, "bad")
			v.Annotations = tc.annotations
			if err := p.api.Create(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			eventually(t, tc.reason, func() bool {
				err := p.api.Get(t.Context(), client.ObjectKeyFromObject(v), v)
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
			// The back-off begins with a second and doubles.
			begun := time.Now()
			eventually(t, "five seconds", func() bool { return time.Since(begun) > 5*time.Second })
			if n := cloud.Count("Connect"); n > 4 {
				t.Errorf("%s: %d passes in five seconds", tc.reason, n)
			}
			cloud.Before = nil
			p.patch(v, func() {
				for name := range tc.annotations {
					delete(v.Annotations, name)
				}
			})
			eventually(t, "recovered from "+name, func() bool {
				return p.api.Get(t.Context(), client.ObjectKeyFromObject(v), v) == nil && ready(v) && v.GetCondition("Synced").Status == "True"
			})
			if got := len(cloud.Disks()); got != 1 {
				t.Errorf("%s: %d disks after the repair, want 1", tc.reason, got)
			}
		})
	}
}

func TestAnAPIServerRefusesHugeAnnotations(t *testing.T) { everywhere(t, refuseHugeAnnotations) }

func refuseHugeAnnotations(t *testing.T, at place) {
	t.Helper()
	p, _ := at(t)
	v := newVolume(p.ns, "huge")
	v.Annotations = map[string]string{"example.org/note": strings.Repeat("x", 1<<20)}
	if err := p.api.Create(t.Context(), v); !kerrors.IsInvalid(err) {
		t.Errorf("error %v: then the reconciler has to cope with it", err)
	}
}
