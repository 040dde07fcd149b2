package main

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
)

// TestSecretsThatAreGone: a copy is deleted only if the right host responds that it has no original.
func TestSecretsThatAreGone(t *testing.T) {
	unserved := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "key", "404 page not found", 0,
		true)
	cases := map[string]struct {
		reason  string
		cluster types.UID
		answer  error // of a read of the secret; nil returns what is stored
		there   bool
		want    error
		removed bool
	}{
		"Gone":     {reason: "The host has none.", cluster: "host", removed: true},
		"There":    {reason: "The cache is behind.", cluster: "host", there: true},
		"Other":    {reason: "Another cluster has none.", cluster: "other", want: syncer.ErrHostReplaced},
		"Unserved": {reason: "A proxy knows no such page.", cluster: "host", answer: unserved, want: unserved},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := syncertesting.NewScheme()
			copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: sharedNamespace, Name: "key", UID: "1", Labels: map[string]string{shareLabel: "true"},
			}}
			p, v := syncertesting.NewFakeClient(scheme), syncertesting.NewFakeClient(scheme, copied)
			reg := syncertesting.NewFakeRegisterContext(p, v)
			host := &hostOf{Reader: p, uid: "host"}
			reg.PhysicalManager = liveManager{reg.PhysicalManager, host}
			sync, s := syncertesting.FakeStartSyncer(t, reg,
				func(ctx *synccontext.RegisterContext) (syncer.Base, error) { return newSecrets(ctx) })

			host.uid, host.answer = tc.cluster, tc.answer
			if tc.there {
				original := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: reg.TargetNamespace, Name: "key"}}
				if err := p.Create(t.Context(), original); err != nil {
					t.Fatal(err)
				}
			}
			now := &corev1.Secret{}
			if err := v.Get(t.Context(), client.ObjectKeyFromObject(copied), now); err != nil {
				t.Fatal(err)
			}
			_, err := s.(syncer.Syncer).SyncDown(sync, now)
			if (err == nil) != tc.removed || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%s\ngot error %v, want %v", tc.reason, err, tc.want)
			}
			err = v.Get(t.Context(), client.ObjectKeyFromObject(copied), now)
			if apierrors.IsNotFound(err) != tc.removed {
				t.Errorf("%s\nthe copy: %v", tc.reason, err)
			}
		})
	}
}

// liveManager has an API reader beside its cache.
type liveManager struct {
	ctrl.Manager

	live client.Reader
}

func (m liveManager) GetAPIReader() client.Reader { return m.live }

// hostOf returns a client of an API server with the identity of a cluster.
type hostOf struct {
	client.Reader

	uid    types.UID
	answer error
}

func (h *hostOf) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, system := obj.(*corev1.Namespace); system {
		obj.SetUID(h.uid)
		return nil
	}
	if h.answer != nil {
		return h.answer
	}
	return h.Reader.Get(ctx, key, obj, opts...)
}
