package managed_test

import (
	"bytes"
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// An API server whose CRD lacks a field of the status answers a write of it with the object
// as it was. The write is not sent again while it is the same; another one is, and each
// time something else has changed.
func TestAStatusThatIsDroppedIsSentOnce(t *testing.T) {
	w := newWorld(t)
	sent := 0
	pruning := interceptor.NewClient(w.API, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			data, err := patch.Data(o)
			if err != nil {
				return err
			}
			sent++
			if bytes.HasSuffix(data, []byte(`"status":{"pruned":"x"}}`)) || bytes.HasSuffix(data, []byte(`"status":{"pruned":"y"}}`)) {
				return c.Get(ctx, client.ObjectKeyFromObject(o), o)
			}

			return c.SubResource(sub).Patch(ctx, o, client.RawPatch(types.MergePatchType, bytes.ReplaceAll(data, []byte(`"pruned"`), []byte(`"unknown"`))), opts...)
		},
	})
	manager := &fake.Manager{Client: pruning, Scheme: w.API.Scheme()}
	pruned := ""
	w.o = append(w.o, managed.WithCluster(reader{manager, w.listener()}), managed.WithExternalConnecter(managed.ExternalConnectorFn(
		func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
			c, err := w.cloud.Connect(ctx, mg)

			return managed.ExternalClientFns{CreateFn: c.Create, ObserveFn: func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
				o, err := c.Observe(ctx, mg)
				if v, ok := mg.(*volume.Volume); ok {
					v.Status.Pruned = pruned
				}

				return o, err
			}}, err
		})))
	w.restart()
	w.create(nil)
	w.pass()
	steps := []struct {
		reason string
		change func()
		sent   int
	}{
		{"It is news.", func() { pruned = "x" }, 1},
		{"It was dropped.", func() {}, 0},
		{"It was dropped, and nothing has changed.", func() {}, 0},
		{"It is another value.", func() { pruned = "y" }, 1},
		{"That was dropped, too.", func() {}, 0},
		{"Something else is to be told besides.", func() { w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1, UsedBytes: 7}) }, 1},
	}
	for i, s := range steps {
		s.change()
		sent = 0
		w.pass()
		if sent != s.sent {
			t.Errorf("step %d: %s\n%d writes of the status, want %d", i, s.reason, sent, s.sent)
		}
	}
	if v := w.get(); v.Status.UsedBytes != 7 {
		t.Errorf("%d bytes are told, want what was seen last", v.Status.UsedBytes)
	}
}
