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

// conditional notes under which conditions it is asked to delete.
type conditional struct {
	client.Client

	asked string
}

func (c *conditional) Delete(_ context.Context, _ client.Object, opts ...client.DeleteOption) error {
	o := client.DeleteOptions{}
	o.ApplyOptions(opts)
	c.asked = "anything"
	if p := o.Preconditions; p != nil && p.UID != nil {
		c.asked += fmt.Sprintf(" with UID %q", *p.UID)
	}
	if p := o.Preconditions; p != nil && p.ResourceVersion != nil {
		c.asked += fmt.Sprintf(" at version %q", *p.ResourceVersion)
	}
	return nil
}

// TestConditionsOfADeletion: what is known of a host object is a condition of its deletion, and what is not known is none: an API server takes an empty
// UID or version for a conflict.
func TestConditionsOfADeletion(t *testing.T) {
	cases := map[string]struct {
		reason  string
		uid     types.UID
		version string
		want    string
	}{
		"Read":      {"It was read.", "image", "7", `anything with UID "image" at version "7"`},
		"NoVersion": {"Somebody knows which one, whatever became of it.", "image", "", `anything with UID "image"`},
		"NoUID":     {"Somebody knows no more than its version.", "", "7", `anything at version "7"`},
		"Name":      {"Somebody knows no more than its name.", "", "", "anything"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{})
			host := &conditional{Client: w.p}
			w.reg.PhysicalManager = clientOf{w.reg.PhysicalManager, host}
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "a", UID: tc.uid, ResourceVersion: tc.version}}
			_, err := syncer.DeleteObject(syncer.Outside(t.Context(), w.reg, w.syncer, "a"), obj)
			if err != nil || host.asked != tc.want {
				t.Errorf("%s\ngot error %v, deletes %s, want %s", tc.reason, err, host.asked, tc.want)
			}
		})
	}
}
