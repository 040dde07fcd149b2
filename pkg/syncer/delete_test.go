package syncer_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
)

// A preconditionClient records the preconditions of deletes.
type preconditionClient struct {
	client.Client

	preconditions string
}

func (c *preconditionClient) Delete(_ context.Context, _ client.Object, opts ...client.DeleteOption) error {
	o := client.DeleteOptions{}
	o.ApplyOptions(opts)
	c.preconditions = "anything"
	if p := o.Preconditions; p != nil && p.UID != nil {
		c.preconditions += fmt.Sprintf(" with UID %q", *p.UID)
	}
	if p := o.Preconditions; p != nil && p.ResourceVersion != nil {
		c.preconditions += fmt.Sprintf(" at version %q", *p.ResourceVersion)
	}
	return nil
}

// TestDeletePreconditions verifies that a known UID and version become preconditions and
// empty ones do not: an API server treats an empty UID or version as a conflict.
func TestDeletePreconditions(t *testing.T) {
	cases := map[string]struct {
		reason  string
		uid     types.UID
		version string
		want    string
	}{
		"Read":      {"It was read.", "image", "7", `anything with UID "image" at version "7"`},
		"NoVersion": {"Only the UID is known.", "image", "", `anything with UID "image"`},
		"NoUID":     {"Only the version is known.", "", "7", `anything at version "7"`},
		"Name":      {"Only the name is known.", "", "", "anything"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{})
			host := &preconditionClient{Client: w.p}
			w.reg.PhysicalManager = clientManager{w.reg.PhysicalManager, host}
			obj := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "a", UID: tc.uid, ResourceVersion: tc.version},
			}
			_, err := syncer.DeleteObject(syncer.NewCallContext(t.Context(), w.reg, w.syncer, "a"), obj)
			if err != nil || host.preconditions != tc.want {
				t.Errorf("%s\ngot error %v, deletes %s, want %s", tc.reason, err, host.preconditions, tc.want)
			}
		})
	}
}
