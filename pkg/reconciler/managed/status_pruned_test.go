package managed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestAStatusThatIsDroppedIsSentOnce verifies that a pruned status change is sent once, and again after another
// change.
func TestAStatusThatIsDroppedIsSentOnce(t *testing.T) {
	w := newWorld(t)
	sent := 0
	pruning := interceptor.NewClient(w.API, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption) error {
			data, err := patch.Data(o)
			if err != nil {
				return err
			}
			sent++
			if bytes.HasSuffix(data, []byte(`"status":{"pruned":"x"}}`)) ||
				bytes.HasSuffix(data, []byte(`"status":{"pruned":"y"}}`)) {
				return c.Get(ctx, client.ObjectKeyFromObject(o), o)
			}

			return c.SubResource(sub).Patch(ctx, o,
				client.RawPatch(types.MergePatchType,
					bytes.ReplaceAll(data, []byte(`"pruned"`), []byte(`"unknown"`))), opts...)
		},
	})
	manager := &fake.Manager{Client: pruning, Scheme: w.API.Scheme()}
	pruned := ""
	w.o = append(w.o, managed.WithCluster(reader{manager, w.listener()}),
		managed.WithExternalConnecter(managed.ExternalConnectorFn(
			func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
				c, err := w.cloud.Connect(ctx, mg)

				return managed.ExternalClientFns{CreateFn: c.Create,
					ObserveFn: func(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
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
		{"Something else is to be told besides.",
			func() { w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1, UsedBytes: 7}) }, 1},
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

// TestAKindThatStoresNoConditions verifies that a kind without conditions in its schema reports that by one event,
// with the needed Go type, and that the status is retried with backoff.
func TestAKindThatStoresNoConditions(t *testing.T) {
	w := newWorld(t)
	sent := 0
	pruning := interceptor.NewClient(w.API, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, _ string, o client.Object, _ client.Patch,
			_ ...client.SubResourcePatchOption) error {
			sent++

			return c.Get(ctx, client.ObjectKeyFromObject(o), o)
		},
	})
	w.o = append(w.o, managed.WithCluster(reader{&fake.Manager{Client: pruning, Scheme: w.API.Scheme()}, w.listener()}))
	w.restart()
	w.create(nil)
	events := ""
	for range 20 {
		w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter))
		for _, e := range w.events {
			events += string(e.Type) + "/" + string(e.Reason) + ": " + e.Message + "\n"
		}
		w.taken()
	}
	if sent > 10 {
		t.Errorf("the status was sent %d times", sent)
	}
	if n := strings.Count(events, "Warning/CannotUpdateManagedResource"); n != 1 {
		t.Errorf("told %d times: %s", n, events)
	}
	for _, word := range []string{"stores no conditions", "embed the ConditionedStatus", "apply it"} {
		if !strings.Contains(events, word) {
			t.Errorf("%q is not said: %s", word, events)
		}
	}
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("%d disks, want 1", n)
	}
}

// TestAStatusThatIsNeverStoredIsSentRarely verifies that a status that is never stored is retried with backoff, and
// stored once that works.
func TestAStatusThatIsNeverStoredIsSentRarely(t *testing.T) {
	w := newWorld(t)
	sent, drops := 0, true
	dropping := interceptor.NewClient(w.API, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption) error {
			if sent++; drops {
				return c.Get(ctx, client.ObjectKeyFromObject(o), o)
			}

			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
	w.o = append(w.o, managed.WithCluster(reader{&fake.Manager{Client: dropping, Scheme: w.API.Scheme()},
		w.listener()}))
	w.restart()
	w.create(nil)
	for range 10 { // until it is as asked for
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	sent = 0
	for range 60 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	if sent == 0 || sent > 6 {
		t.Errorf("within an hour of a status that is not stored, %d writes were sent, want 1 to 6", sent)
	}
	drops = false
	for range 128 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
	}
	if c := w.get().GetCondition(commonv1.TypeReady); c.Status != "True" {
		t.Errorf("now that it is stored, the object says %+v", c)
	}
}

// TestConditionsThatAreStoredInPart verifies that a definition without condition fields, such as
// observedGeneration, causes no repeated writes, and one event; a missing observedGeneration is reported by one
// object of the kind.
func TestConditionsThatAreStoredInPart(t *testing.T) {
	cases := map[string]struct {
		options  []managed.ReconcilerOption
		reported []int // by each of two objects
		counts   bool  // what changes by itself is counted
	}{
		"observedGeneration": {reported: []int{1, 0}},
		"reason":             {reported: []int{1, 1}},
		"message":            {reported: []int{1, 1}},
		"status":             {reported: []int{1, 1}},
		"observedGeneration, and a volatile field": {
			options: []managed.ReconcilerOption{managed.WithVolatileStatus("usedBytes"),
				managed.WithVolatileStatusInterval(0)},
			reported: []int{1, 0}, counts: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			field, _, _ := strings.Cut(name, ",")
			w := newWorld(t, tc.options...)
			sent := 0
			pruning := interceptor.NewClient(w.API, interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object,
					patch client.Patch, opts ...client.SubResourcePatchOption) error {
					sent++

					return c.SubResource(sub).Patch(ctx, o, withoutField(t, o, patch, field), opts...)
				},
			})
			w.o = append(w.o, managed.WithCluster(reader{&fake.Manager{Client: pruning, Scheme: w.API.Scheme()},
				w.listener()}))
			w.restart()
			for i, reported := range tc.reported {
				if i > 0 {
					w.delete()
					w.polled(3)
				}
				w.create(func(v *volume.Volume) { v.UID = types.UID(fmt.Sprintf("uid-%d", i+1)) })
				events := w.polled(5)
				sent = 0
				for n := range 60 {
					if tc.counts {
						w.cloud.Put(volume.Disk{ID: w.cloud.Disks()[0].ID, SizeGiB: 1, UsedBytes: int64(n)})
					}
					events += w.polled(1)
				}
				if sent > 6 {
					t.Errorf("object %d: within an hour %d writes of the status were sent", i, sent)
				}
				if n := strings.Count(events, "Warning/"); n != reported ||
					n > 0 && !strings.Contains(events, "status.conditions[]."+field+", ") {
					t.Errorf("object %d: told %d times, want %d: %s", i, n, reported, events)
				}
				if n := len(w.cloud.Disks()); n != 1 {
					t.Errorf("%d disks, want 1", n)
				}
			}
		})
	}
}

// polled makes passes a minute apart, and returns their events.
func (w *world) polled(passes int) (events string) {
	w.Helper()
	for range passes {
		_, _ = w.try()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		for _, e := range w.events {
			events += string(e.Type) + "/" + string(e.Reason) + ": " + e.Message + "\n"
		}
		w.taken()
	}

	return events
}

// withoutField returns a patch that lacks a field of each condition.
func withoutField(t *testing.T, o client.Object, patch client.Patch, field string) client.Patch {
	t.Helper()
	data, err := patch.Data(o)
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Metadata map[string]any `json:"metadata"`
		Status   map[string]any `json:"status"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatal(err)
	}
	conditions, _ := body.Status["conditions"].([]any)
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			delete(c, field)
		}
	}
	if data, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}

	return client.RawPatch(patch.Type(), data)
}
