package kube_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A differential sends the same writes to the client of a store and to the simulated server.
type differential struct {
	*testing.T

	store, server client.Client
}

// answerOf returns what a client answers to a write of the object that it has stored, and what it has stored then.
// What differs from server to server, such as UIDs, is replaced by what it is.
func answerOf(ctx context.Context, c client.Client, read func() client.Object,
	write func(c client.Client, stored client.Object) error) string {
	stored := read()
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	if err := c.Get(ctx, key, stored); client.IgnoreNotFound(err) != nil {
		return err.Error()
	}
	uid, version := string(stored.GetUID()), stored.GetResourceVersion()
	err := write(c, stored)
	answer := "ok"
	var status kerrors.APIStatus
	if errors.As(err, &status) {
		answer = fmt.Sprintf("%d %s: %s", status.Status().Code, status.Status().Reason, status.Status().Message)
	} else if err != nil {
		answer = err.Error()
	}
	if uid != "" {
		answer = strings.ReplaceAll(answer, uid, "UID")
	}
	answer = strings.ReplaceAll(answer, "("+version+")", "(VERSION)")

	now := read()
	if err := c.Get(ctx, key, now); err != nil {
		return fmt.Sprintf("%s\n%s", answer, kerrors.ReasonForError(err))
	}
	if now.GetDeletionTimestamp() != nil {
		now.SetDeletionTimestamp(&metav1.Time{})
	}
	changes := fmt.Sprintf("same UID: %t, same version: %t, created: %t", string(now.GetUID()) == uid,
		now.GetResourceVersion() == version, now.GetCreationTimestamp() != metav1.Time{})
	now.SetUID("")
	now.SetResourceVersion("")
	now.SetCreationTimestamp(metav1.Time{})
	image, err := json.Marshal(now)
	if err != nil {
		return err.Error()
	}

	return fmt.Sprintf("%s\n%s\n%s", answer, changes, image)
}

// same fails the test if the two answer the write differently.
func (d differential) same(reason string, read func() client.Object,
	write func(c client.Client, stored client.Object) error) string {
	d.Helper()
	want, got := answerOf(d.Context(), d.server, read, write), answerOf(d.Context(), d.store, read, write)
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("%s\n-simulated server, +store:\n%s", reason, diff)
	}

	return got
}

// A tableWrite is a write of a stored object, and how its answer begins.
type tableWrite struct {
	reason string
	write  func(ctx context.Context, c client.Client, v *volume.Volume) error
	want   string
}

func create(set func(v *volume.Volume)) func(context.Context, client.Client, *volume.Volume) error {
	return func(ctx context.Context, c client.Client, _ *volume.Volume) error {
		v := newVolume("a")
		set(v)

		return c.Create(ctx, v)
	}
}

func update(set func(v *volume.Volume)) func(context.Context, client.Client, *volume.Volume) error {
	return func(ctx context.Context, c client.Client, v *volume.Volume) error {
		set(v)

		return c.Update(ctx, v)
	}
}

func updateStatus(set func(v *volume.Volume)) func(context.Context, client.Client, *volume.Volume) error {
	return func(ctx context.Context, c client.Client, v *volume.Volume) error {
		set(v)

		return c.Status().Update(ctx, v)
	}
}

func patch(t types.PatchType, data string) func(context.Context, client.Client, *volume.Volume) error {
	return func(ctx context.Context, c client.Client, v *volume.Volume) error {
		return c.Patch(ctx, v, client.RawPatch(t, []byte(data)))
	}
}

func patchStatus(data string) func(context.Context, client.Client, *volume.Volume) error {
	return func(ctx context.Context, c client.Client, v *volume.Volume) error {
		return c.Status().Patch(ctx, v, client.RawPatch(types.MergePatchType, []byte(data)))
	}
}

func deleteIf(set func(p *metav1.Preconditions, v *volume.Volume)) func(context.Context, client.Client,
	*volume.Volume) error {
	return func(ctx context.Context, c client.Client, v *volume.Volume) error {
		p := &metav1.Preconditions{}
		set(p, v)

		return c.Delete(ctx, v, &client.DeleteOptions{Preconditions: p})
	}
}

func newTable() map[string][]tableWrite {
	const merge, operations = types.MergePatchType, types.JSONPatchType
	plain := tableWrite{"", create(func(*volume.Volume) {}), "ok"}
	guarded := tableWrite{"", create(func(v *volume.Volume) { v.Finalizers = []string{"example.org/a"} }), "ok"}
	deleted := tableWrite{"A finalizer keeps the object.", deleteIf(func(*metav1.Preconditions, *volume.Volume) {}), "ok"}

	return map[string][]tableWrite{
		"Create": {
			plain,
			{"The name is taken.", create(func(*volume.Volume) {}), "409 AlreadyExists"},
		},
		"CreateVersion": {
			{"A new object has no version.", create(func(v *volume.Volume) { v.ResourceVersion = "1" }), "500 "},
		},
		"CreateOwned": {
			{"Only a server sets this.", create(func(v *volume.Volume) {
				v.UID, v.Generation = "x", 7
				v.SetSelfLink("/a")
				v.CreationTimestamp, v.DeletionTimestamp = metav1.Unix(1, 0), new(metav1.Unix(1, 0))
				v.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
				v.Status.ID = "vol-1"
				v.Annotations, v.Labels = map[string]string{}, map[string]string{"a": "b"}
			}), "ok"},
		},
		"CreateNameless": {
			{"There is no prefix either.", create(func(v *volume.Volume) { v.Name = "" }), "422 Invalid"},
		},
		"Update": {
			plain,
			{"A change of the spec is a generation.", update(func(v *volume.Volume) { v.Spec.SizeGiB = 2 }), "ok"},
			{"A change of the labels is none.", update(func(v *volume.Volume) { v.Labels = map[string]string{"a": "b"} }), "ok"},
			{"The status is a subresource.", update(func(v *volume.Volume) { v.Status.ID = "vol-1" }), "ok"},
			{"Nothing changes.", update(func(*volume.Volume) {}), "ok"},
			{"Only a server sets this.", update(func(v *volume.Volume) {
				v.Generation, v.GenerateName = 7, "b-"
				v.SetSelfLink("/a")
				v.CreationTimestamp, v.DeletionTimestamp = metav1.Unix(1, 0), new(metav1.Unix(1, 0))
				v.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
			}), "ok"},
		},
		"UpdateRefused": {
			plain,
			{"The version is another one.", update(func(v *volume.Volume) { v.ResourceVersion = "999" }), "409 Conflict"},
			{"A version is required.", update(func(v *volume.Volume) { v.ResourceVersion = "" }), "422 Invalid"},
			{"The UID is another one.", update(func(v *volume.Volume) { v.UID = "x" }), "409 Conflict"},
		},
		"UpdateMissing": {
			{"There is no such object.", func(ctx context.Context, c client.Client, _ *volume.Volume) error {
				v := newVolume("a")
				v.ResourceVersion = "1"

				return c.Update(ctx, v)
			}, "404 NotFound"},
		},
		"UpdateStatus": {
			plain,
			{"Only the status counts.", updateStatus(func(v *volume.Volume) {
				v.Status.ID, v.Spec.SizeGiB, v.Labels = "vol-1", 7, map[string]string{"a": "b"}
			}), "ok"},
			{"The version counts, too.", updateStatus(func(v *volume.Volume) { v.ResourceVersion = "999" }), "409 Conflict"},
			{"The UID of a whole object does as well.", updateStatus(func(v *volume.Volume) { v.UID = "x" }), "409 Conflict"},
		},
		"MergePatch": {
			plain,
			{"The spec changes.", patch(merge, `{"spec":{"sizeGiB":3}}`), "ok"},
			{"Null removes.", patch(merge, `{"metadata":{"labels":null},"spec":{"sizeGiB":null}}`), "ok"},
			{"Nothing changes.", patch(merge, `{}`), "ok"},
			{"A server sets this.", patch(merge, `{"metadata":{"generation":9,"creationTimestamp":null}}`), "ok"},
			{"No version is named.", patch(merge, `{"metadata":{"resourceVersion":"","labels":{"a":"b"}}}`), "ok"},
			{"The version is another one.", patch(merge, `{"metadata":{"resourceVersion":"999"}}`), "409 Conflict"},
			{"The UID is another one.", patch(merge, `{"metadata":{"uid":"x"}}`), "422 Invalid"},
			{"The name is another one.", patch(merge, `{"metadata":{"name":"b"}}`), "400 BadRequest"},
			{"It is no object.", patch(merge, `[1]`), "400 BadRequest"},
		},
		"JSONPatch": {
			plain,
			{"The operations apply.", patch(operations, `[{"op":"replace","path":"/spec/sizeGiB","value":4}]`), "ok"},
			{"A test fails.", patch(operations, `[{"op":"test","path":"/spec/sizeGiB","value":1}]`), "422 Invalid"},
			{"It is no list.", patch(operations, `{}`), "400 BadRequest"},
		},
		"StatusPatch": {
			plain,
			{"Only the status counts.", patchStatus(`{"spec":{"sizeGiB":3},"status":{"id":"vol-1"}}`), "ok"},
			{"The UID does not.", patchStatus(`{"metadata":{"uid":"x"},"status":{"id":"vol-2"}}`), "ok"},
			{"The version does.", patchStatus(`{"metadata":{"resourceVersion":"999"}}`), "409 Conflict"},
			{"The status goes.", patchStatus(`{"status":null}`), "ok"},
		},
		"Delete": {
			plain,
			{"The UID is another one.", deleteIf(func(p *metav1.Preconditions, _ *volume.Volume) {
				p.UID = new(types.UID("x"))
			}), "409 Conflict"},
			{"The version is another one.", deleteIf(func(p *metav1.Preconditions, _ *volume.Volume) {
				p.ResourceVersion = new("999")
			}), "409 Conflict"},
			{"Both are those of the object.", deleteIf(func(p *metav1.Preconditions, v *volume.Volume) {
				p.UID, p.ResourceVersion = new(v.UID), new(v.ResourceVersion)
			}), "ok"},
			{"It is gone.", func(ctx context.Context, c client.Client, _ *volume.Volume) error {
				return c.Delete(ctx, newVolume("a"))
			}, "404 NotFound"},
		},
		"Finalizers": {
			guarded, deleted,
			{"It is being deleted already.", deleted.write, "ok"},
			{"The spec may still change.", update(func(v *volume.Volume) { v.Spec.SizeGiB = 5 }), "ok"},
			{"No finalizer is added any more.", update(func(v *volume.Volume) {
				v.Finalizers = append(v.Finalizers, "example.org/b", "example.org/c")
			}), "422 Invalid"},
			{"The deletion is not taken back.", patch(merge, `{"metadata":{"deletionTimestamp":null}}`), "ok"},
			{"The last finalizer goes, and the object with it.", patch(merge, `{"metadata":{"finalizers":null}}`), "ok"},
		},
	}
}

// TestWritesAnswerAsSimulatedServer verifies that the client of a store and the simulated API server, which share
// internal/apicore, answer writes alike.
func TestWritesAnswerAsSimulatedServer(t *testing.T) {
	for name, writes := range newTable() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := differential{t, w.API, apiserver.New(w.scheme, clock.RealClock{}).Client()}
			for _, tc := range writes {
				got := d.same(tc.reason, func() client.Object { return &volume.Volume{} },
					func(c client.Client, stored client.Object) error {
						return tc.write(t.Context(), c, stored.(*volume.Volume))
					})
				if !strings.HasPrefix(got, tc.want) {
					t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
				}
			}
		})
	}
}

// TestBuiltInWritesAnswerAsSimulatedServer is the same for a kind that is no custom resource: it has no generation,
// and an update without a version replaces any.
func TestBuiltInWritesAnswerAsSimulatedServer(t *testing.T) {
	w := newWorld(t)
	d := differential{t, w.API, apiserver.New(w.scheme, clock.RealClock{}).Client()}
	named := metav1.ObjectMeta{Namespace: "default", Name: "a"}
	for _, tc := range []struct {
		reason string
		write  func(c client.Client, stored client.Object) error
	}{
		{"It is created.", func(c client.Client, _ client.Object) error {
			return c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named, Data: map[string]string{"a": "b"}})
		}},
		{"No version is required.", func(c client.Client, _ client.Object) error {
			return c.Update(t.Context(), &corev1.ConfigMap{ObjectMeta: named, Data: map[string]string{"a": "c"}})
		}},
		{"It is deleted.", func(c client.Client, o client.Object) error { return c.Delete(t.Context(), o) }},
	} {
		got := d.same(tc.reason, func() client.Object { return &corev1.ConfigMap{} }, tc.write)
		if !strings.HasPrefix(got, "ok") {
			t.Errorf("%s\ngot %s", tc.reason, got)
		}
	}
}
