package managed

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A patchingClient notes the patches that it is given, and answers them.
type patchingClient struct {
	client.Client

	answer func() error
	stores bool // the annotations, as the API server does

	finalizers bool // the same of those
	sent       []string
	kinds      []types.PatchType
}

func (c *patchingClient) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	c.sent, c.kinds = append(c.sent, string(data)), append(c.kinds, patch.Type())
	if c.stores {
		var body struct {
			Metadata struct {
				Annotations map[string]string
				Finalizers  []string
			}
		}
		if err := json.Unmarshal(data, &body); err != nil {
			return err
		}
		annotations := map[string]string{}
		maps.Copy(annotations, o.GetAnnotations())
		maps.Copy(annotations, body.Metadata.Annotations)
		if o.SetAnnotations(annotations); c.finalizers {
			o.SetFinalizers(body.Metadata.Finalizers)
		}
	}

	return c.answer()
}

// TestCriticalAnnotationsAreOneMergePatch verifies that critical annotations are stored whatever else has changed,
// without overwriting annotations of users; also for an object without a UID.
func TestCriticalAnnotationsAreOneMergePatch(t *testing.T) {
	const steers, kubectl = meta.AnnotationKeyReconciliationPaused, "kubectl.kubernetes.io/last-applied-configuration"
	for uid, want := range map[types.UID]string{
		"uid-1": `{"metadata":{"annotations":{"example.org/own":"1","krateo.io/external-name":"vol-1",` +
			`"moorage.dev/create-attempt":"a"},"uid":"uid-1"}}`,
		"": `{"metadata":{"annotations":{"example.org/own":"1","krateo.io/external-name":"vol-1",` +
			`"moorage.dev/create-attempt":"a"}}}`,
	} {
		mg := bearing(map[string]string{
			steers: "true", kubectl: "{}", "moorage.dev/poll-interval": "1s", "example.org/own": "1",
			meta.AnnotationKeyExternalName: "vol-1", meta.AnnotationKeyCreateAttempt: "a",
		})
		mg.SetUID(uid)
		c := &patchingClient{answer: func() error { return nil }}
		if err := NewRetryingCriticalAnnotationUpdater(c).UpdateCriticalAnnotations(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{want}, c.sent); diff != "" {
			t.Errorf("sent, -want +got:\n%s", diff)
		}
		if c.kinds[0] != types.MergePatchType {
			t.Errorf("sent a %s", c.kinds[0])
		}
	}
}

// TestCriticalAnnotationsAreTriedForAWhile verifies that the write is retried until its context ends, or for 25
// seconds, and not for an object that is gone.
func TestCriticalAnnotationsAreTriedForAWhile(t *testing.T) {
	boom, group := errors.New("boom"), schema.GroupResource{Resource: "volumes"}
	another := kerrors.NewInvalid(schema.GroupKind{Kind: "Volume"}, "data", nil)
	another.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "metadata.uid"}}
	cases := map[string]struct {
		reason   string
		deadline time.Duration // 0: none
		answer   error
		tries    int // 0: many
		want     error
		took     time.Duration
	}{
		"NoEnd":   {"a context without an end ends", 0, boom, 0, boom, 25 * time.Second},
		"Longer":  {"one that has an end is waited for", time.Minute, boom, 0, boom, time.Minute},
		"Shorter": {"also if that is soon", 3 * time.Second, boom, 0, boom, 3 * time.Second},
		"Gone":    {"there is no such object", 0, kerrors.NewNotFound(group, "data"), 1, errReplaced, 0},
		"Another": {"another has its name", 0, another, 1, errReplaced, 0},
		"OfOthers": {"something else is not there", 0, kerrors.NewNotFound(group, "namespace"), 0, nil,
			25 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, begun := t.Context(), time.Now()
				if tc.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.deadline)
					defer cancel()
				}
				c := &patchingClient{answer: func() error { return tc.answer }}
				err := NewRetryingCriticalAnnotationUpdater(c).UpdateCriticalAnnotations(ctx,
					&fake.Managed{ObjectMeta: metav1.ObjectMeta{Name: "data"}})
				took := time.Since(begun)
				if tc.tries == 0 {
					took = took.Round(time.Second)
				}
				if err == nil || took != tc.took || tc.tries > 0 && len(c.sent) != tc.tries {
					t.Errorf("%s: it took %s, %d tries, and ended with %v", tc.reason, took, len(c.sent), err)
				}
				if tc.want != nil && !errors.Is(err, tc.want) {
					t.Errorf("%s: it ended with %v, want %v", tc.reason, err, tc.want)
				}
			})
		})
	}
}

// TestCriticalAnnotationsNeedNoContext verifies that a nil context is accepted: tests for crossplane-runtime and
// provider-runtime pass one.
func TestCriticalAnnotationsNeedNoContext(t *testing.T) {
	var none context.Context
	c := &patchingClient{answer: func() error { return nil }}
	mg := bearing(map[string]string{meta.AnnotationKeyExternalName: "vol-1"})
	if err := NewRetryingCriticalAnnotationUpdater(c).UpdateCriticalAnnotations(none, mg); err != nil ||
		len(c.sent) != 1 {
		t.Errorf("sent %q, error %v", c.sent, err)
	}
}
