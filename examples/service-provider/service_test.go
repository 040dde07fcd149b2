package main

import (
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestOnlyItsOwnSecret: a Secret with the name of an account, but without its mark, is neither taken for the
// credentials nor removed with them. A delivered Secret is.
func TestOnlyItsOwnSecret(t *testing.T) {
	keys, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHub()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	s := &service{hub: h}
	blue := &Account{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "blue", UID: "uid-blue"}}
	key := client.ObjectKeyFromObject(delivered(blue))
	foreign := func(annotations map[string]string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, UID: "1", Annotations: annotations,
		}}
	}
	cases := map[string]struct {
		there *corev1.Secret
		own   bool
	}{
		"Nothing":          {nil, true},
		"Delivered":        {foreign(map[string]string{ownerAnnotation: "uid-blue"}), true},
		"Unmarked":         {foreign(nil), false},
		"OfAnotherAccount": {foreign(map[string]string{ownerAnnotation: "uid-red"}), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := ctrlfake.NewClientBuilder().WithScheme(scheme.Scheme)
			if c.there != nil {
				b = b.WithObjects(c.there)
			}
			mcp := b.Build()
			err := s.deliver(t.Context(), blue, keys, mcp)
			if c.own != (err == nil) || !c.own && !strings.Contains(err.Error(), "delete it, or give the account another name") {
				t.Errorf("delivering ends with %v", err)
			}
			_, own, err := find(t.Context(), blue, mcp)
			if err != nil || own != c.own {
				t.Errorf("a Secret of the account is there: %t, want %t (%v)", own, c.own, err)
			}
			if err := s.withdraw(t.Context(), blue, mcp); err != nil {
				t.Error(err)
			}
			if err := mcp.Get(t.Context(), key, &corev1.Secret{}); c.own != resource.IsNotFound(err) {
				t.Errorf("after the credentials were taken back the Secret is gone: %t, want %t (%v)", !c.own, c.own, err)
			}
		})
	}
}
